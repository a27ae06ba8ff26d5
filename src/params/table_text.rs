//! List groups as tab-separated text for spreadsheets: a line per item, a cell per field.

use super::{ParamId, ParamSpec, Params, Value, path};

/// Maximum length of a list after pasting.
const MAX_ITEMS: usize = 10_000;

/// Formats the given fields of items as text: first a line of titles with units, then the values in these units.
pub fn copy(params: &dyn Params, group: usize, items: &[usize], fields: &[usize]) -> String {
    let specs = params.groups()[group].params;
    let mut lines = vec![fields.iter().map(|f| heading(&specs[*f])).collect::<Vec<_>>().join("\t")];
    for item in items {
        let cell = |f: &usize| {
            let id = ParamId { item: *item as u16, ..ParamId::of(group, *f) };
            quoted(match params.get(id) {
                Value::Real(x) => x.to_string(),
                Value::Int(i) => i.to_string(),
                value => path::show(&specs[*f], &value),
            })
        };
        lines.push(fields.iter().map(cell).collect::<Vec<_>>().join("\t"));
    }
    lines.join("\n") + "\n"
}

/// Pastes text at an item and a field. Returns the list and the number of pasted lines. `at` is the item and the position
/// in `fields`. Items beyond the end are appended; empty cells change nothing. A first line of titles or names assigns the
/// cells to fields.
///
/// # Errors
/// Fails with the line and field of the first rejected cell. Nothing is then pasted.
pub fn paste(
    params: &dyn Params,
    group: usize,
    text: &str,
    at: (usize, usize),
    fields: &[usize],
) -> Result<(Value, usize), String> {
    let specs = params.groups()[group].params;
    let Value::Rows(mut rows) = params.get(ParamId::list(group)) else { return Err("that is no list".to_owned()) };
    let default = || -> Vec<Value> {
        let n = params.groups()[group].fields().len();
        (0..n).map(|f| params.get(ParamId { item: u16::MAX, ..ParamId::of(group, f) })).collect()
    };
    let lines = cells(text);
    let titles = lines.first().and_then(|line| line.iter().map(|cell| field_called(specs, fields, cell)).collect());
    let has_titles = titles.is_some();
    let columns: Vec<usize> = titles.unwrap_or_else(|| fields.get(at.1..).unwrap_or_default().to_vec());
    let lines: Vec<_> = lines.into_iter().enumerate().skip(usize::from(has_titles)).collect();
    if at.0 + lines.len() > MAX_ITEMS {
        return Err(format!("{} items; a list has {MAX_ITEMS} at most", at.0 + lines.len()));
    }
    for (k, (line, cells)) in lines.iter().enumerate() {
        if cells.len() > columns.len() {
            return Err(format!("line {}: {} cells for {} columns", line + 1, cells.len(), columns.len()));
        }
        while rows.len() <= at.0 + k {
            rows.push(default());
        }
        for (cell, f) in cells.iter().zip(&columns).filter(|(cell, _)| !cell.trim().is_empty()) {
            let spec = &specs[*f];
            let why = |why: String| format!("line {}, {}: {why}", line + 1, spec.label());
            let value = path::parse_value(spec, cell.trim()).map_err(why)?;
            if let Some(refusal) = spec.refusal(&value) {
                return Err(why(refusal));
            }
            rows[at.0 + k][*f] = value;
        }
    }
    Ok((Value::Rows(rows), lines.len()))
}

/// Returns the column heading: `Rate (Hz)`.
fn heading(spec: &ParamSpec) -> String {
    match spec.unit.suffix() {
        "" => spec.label().into_owned(),
        unit => format!("{} ({unit})", spec.label()),
    }
}

fn field_called(specs: &[ParamSpec], fields: &[usize], cell: &str) -> Option<usize> {
    let is_called = |spec: &ParamSpec| {
        [heading(spec), spec.label().into_owned()].iter().any(|name| name.eq_ignore_ascii_case(cell.trim()))
            || spec.is_called(cell.trim())
    };
    fields.iter().copied().find(|f| is_called(&specs[*f]))
}

/// Quotes a cell that contains tabs, line ends or quotes. Quotes in the cell are doubled.
fn quoted(cell: String) -> String {
    if cell.contains(['\t', '\n', '\r', '"']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

/// Splits text into lines of cells. An empty last line is dropped.
fn cells(text: &str) -> Vec<Vec<String>> {
    let (mut lines, mut line, mut cell) = (vec![], vec![], String::new());
    let mut in_quotes = false;
    let mut chars = text.chars().filter(|c| *c != '\r').peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if in_quotes && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' if in_quotes || cell.is_empty() => in_quotes = !in_quotes,
            '\t' if !in_quotes => line.push(std::mem::take(&mut cell)),
            '\n' if !in_quotes => {
                line.push(std::mem::take(&mut cell));
                lines.push(std::mem::take(&mut line));
            }
            c => cell.push(c),
        }
    }
    if !cell.is_empty() || !line.is_empty() {
        line.push(cell);
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{choices, param_tree, params, params::Change};

    choices! {
        /// Effect of the item.
        enum Effect {
            /// Pulses at random times.
            #[title("Poisson input")]
            Poisson,
            /// Current of constant strength.
            Current,
        }
    }

    params! {
        /// Item of the list.
        struct Item {
            /// Name of the item.
            #[param()]
            name: String = String::new(),
            /// Whether the item applies.
            #[param()]
            enabled: bool = true,
            /// Effect of the item.
            #[param()]
            effect: Effect = Effect::Poisson,
            /// Rate of the pulses.
            #[param(unit = Hz, range = 0.0..=300.0)]
            rate_hz: f64 = 150.0,
        }
    }

    param_tree! {
        /// Tree with one list.
        struct Tree {
            /// Items of the list.
            items: [Item],
        }
    }

    const ALL: [usize; 4] = [0, 1, 2, 3];

    fn pasted(text: &str, at: (usize, usize)) -> Result<Vec<String>, String> {
        let mut tree = Tree { items: vec![Item::default()] };
        let (value, n) = paste(&tree, 0, text, at, &ALL)?;
        assert!(n > 0 && tree.set(&Change { id: ParamId::list(0), value }));
        let lines = copy(&tree, 0, &(0..tree.items.len()).collect::<Vec<_>>(), &ALL);
        Ok(lines.lines().skip(1).map(|line| line.replace('\t', "|")).collect())
    }

    #[test]
    fn cells_of_a_spreadsheet_become_items() {
        let lines = pasted("a\ttrue\tCurrent\t10\r\nb\tfalse\tpoisson input\t0.02 kHz\r\n", (0, 0)).unwrap();
        assert_eq!(lines, ["a|true|Current|10", "b|false|Poisson|20"]);
        let lines = pasted("Rate (Hz)\tName\n10\ta\n\tb\n", (1, 0)).unwrap();
        assert_eq!(lines[1..], ["a|true|Poisson|10", "b|true|Poisson|150"], "titles assign, empty cells leave");
        assert_eq!(pasted("false\tCurrent", (0, 1)).unwrap(), ["|false|Current|150"]);
    }

    #[test]
    fn what_is_not_accepted_is_named_and_nothing_is_pasted() {
        for (text, why) in [
            ("a\ttrue\tCurrent\t10\nb\ttrue\tCurrent\tten", "line 2, Rate: `ten` is not a number"),
            ("a\tperhaps", "line 1, Enabled: `perhaps` is neither true nor false"),
            ("a\ttrue\tCurrent\t-1", "line 1, Rate: -1 is below 0 Hz"),
            ("a\ttrue\tCurrent\t1\t2", "line 1: 5 cells for 4 columns"),
        ] {
            let error = pasted(text, (0, 0)).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn copied_items_are_pasted_as_they_were() {
        let tree = Tree { items: vec![Item { name: "two \"words\"\tand\na line".into(), ..Item::default() }] };
        let text = copy(&tree, 0, &[0], &ALL);
        let (value, n) = paste(&tree, 0, &text, (1, 0), &ALL).unwrap();
        let Value::Rows(rows) = value else { panic!("a list") };
        assert_eq!((n, rows.len(), &rows[0]), (1, 2, &rows[1]));
    }
}
