//! The flat list of conditions in the folder of an experiment, as CSV: the order of the table, and what each condition changes.

use super::{Plan, Planned, expand::MAX_SEEDS, values};
use crate::{
    data::{csv_text, io_reason},
    project::{from_ron, to_line},
};
use std::path::Path;

/// File name of the list.
pub const CONDITIONS: &str = "conditions.csv";
/// Columns of the list. Changes and factors are in RON.
const COLUMNS: [&str; 6] = ["condition", "seeds", "changes", "factors", "set", "element"];

/// Formats the conditions of a plan.
///
/// # Errors
/// Fails if a change cannot be written.
pub fn text(plan: &Plan) -> Result<String, String> {
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    for condition in &plan.conditions {
        let wrong = |e: crate::project::ReadError| e.to_string();
        let (set, element) = condition.element.clone().map_or_else(Default::default, |(s, e)| (s, e.to_string()));
        rows.push([
            condition.name.clone(),
            ranges(&condition.seeds),
            to_line(&condition.changes).map_err(wrong)?,
            to_line(&condition.factors).map_err(wrong)?,
            set,
            element,
        ]);
    }
    Ok(csv_text(rows))
}

/// Reads the conditions of a plan; `control` is the name of the control.
///
/// # Errors
/// Fails with the line of the first mistake.
pub fn open(file: &Path, control: &str) -> Result<Plan, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {}", file.display(), io_reason(&e)))?;
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let wrong = |line: u64, what: String| format!("{} line {line}: {what}", file.display());
    if reader.headers().map_err(|e| wrong(1, e.to_string()))?.iter().ne(COLUMNS) {
        return Err(wrong(1, format!("the columns are not {}", COLUMNS.join(","))));
    }
    let mut conditions = vec![];
    for record in reader.records() {
        let record = record.map_err(|e| wrong(e.position().map_or(0, csv::Position::line), e.to_string()))?;
        let line = record.position().map_or(0, csv::Position::line);
        conditions.push(planned(&record).map_err(|what| wrong(line, what))?);
    }
    let missing = || format!("{}: there is no condition `{control}`, the control", file.display());
    let control = conditions.iter().position(|condition| condition.name == control).ok_or_else(missing)?;
    Ok(Plan { conditions, control })
}

fn planned(record: &csv::StringRecord) -> Result<Planned, String> {
    if record.len() != COLUMNS.len() {
        return Err(format!("{} cells in place of {}", record.len(), COLUMNS.len()));
    }
    let wrong = |e: crate::project::ReadError| e.to_string();
    let element = match &record[5] {
        "" => None,
        index => {
            let index = index.parse().map_err(|_| format!("element `{index}` is not a whole number"))?;
            Some((record[4].to_owned(), index))
        }
    };
    Ok(Planned {
        name: record[0].to_owned(),
        seeds: values::seeds(&record[1], MAX_SEEDS)?,
        changes: from_ron(&record[2]).map_err(wrong)?,
        factors: from_ron(&record[3]).map_err(wrong)?,
        element,
    })
}

/// Formats seeds in their order: `1..30, 7`.
fn ranges(seeds: &[u64]) -> String {
    let mut parts = vec![];
    let mut rest = seeds;
    while let Some(first) = rest.first() {
        let follows = |(i, seed): &(usize, &u64)| first.checked_add(*i as u64) == Some(**seed);
        let n = rest.iter().enumerate().take_while(follows).count();
        let last = rest[n - 1];
        parts.push(if n > 2 { format!("{first}..{last}") } else { first.to_string() });
        rest = &rest[if n > 2 { n } else { 1 }..];
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::experiment::ConditionChange;
    use neuropil_test_support::temp::TempFolder;

    #[test]
    fn conditions_are_read_back_and_mistakes_have_a_line() {
        let temp = TempFolder::new("conditions");
        let file = temp.join(CONDITIONS);
        let control = Planned { name: "control".into(), seeds: vec![1, 2, 3, 9, 8, u64::MAX], ..Planned::default() };
        let silenced = Planned {
            name: "silence \"a\", b".into(),
            seeds: vec![4, 5],
            changes: vec![
                ConditionChange::Silence("idx = 5".into()),
                ConditionChange::Set("a.b".into(), "1, 2".into()),
            ],
            factors: vec![("a.b".into(), "1, 2".into())],
            element: Some(("neurons".into(), 5)),
        };
        let plan = Plan { conditions: vec![control, silenced], control: 0 };
        let written = text(&plan).expect("text");
        assert!(written.contains("\"1..3, 9, 8, 18446744073709551615\""), "{written}");
        std::fs::write(&file, &written).expect("a file");
        assert_eq!(open(&file, "control").as_ref(), Ok(&plan));
        assert!(open(&file, "none").expect_err("no control").contains("there is no condition `none`"));
        std::fs::write(&file, written.replace("neurons,5", "neurons,x")).expect("a file");
        let said = open(&file, "control").expect_err("damage");
        assert!(said.contains("conditions.csv line 3: element `x`"), "{said}");
    }
}
