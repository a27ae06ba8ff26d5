//! Tests of the table of runs with rows of recorded runs.

use super::*;
use crate::{
    kinds::Model,
    project::{
        Manifest, ParamHistory, Project, RunFolder, Status, Stream,
        labels::{Labels, save_tags},
        manifest::record_dtype,
        run::{FORMAT, TAGS as TAGS_FILE},
        writer::save_manifest,
    },
    sim::TimeBase,
};
use neuropil_test_support::temp::TempFolder;
use std::path::{Path, PathBuf};

/// Writes a closed run of a transformer with recorded held-out losses.
fn run(runs: &Path, name: &str, seed: u64, losses: &[(u64, f32)]) -> PathBuf {
    let folder = runs.join(name);
    std::fs::create_dir(&folder).expect("a folder");
    let bytes: Vec<u8> = losses
        .iter()
        .flat_map(|(step, loss)| [step.to_le_bytes().to_vec(), loss.to_le_bytes().to_vec()].concat())
        .collect();
    std::fs::write(folder.join("held_out.f32"), &bytes).expect("written");
    let stream = Stream {
        probe: "held_out".into(),
        file: "held_out.f32".into(),
        shape: "series".into(),
        unit: "nat".into(),
        dtype: record_dtype(1),
        width: 1,
        n_bytes: bytes.len() as u64,
        ..Stream::default()
    };
    let manifest = Manifest {
        format: FORMAT,
        kind: "transformer".into(),
        status: Status::Complete,
        seed,
        started: "2026-11-27T10:00:00Z".into(),
        secs_per_step: 1.0,
        last_step: 400,
        computed_s: 8.0,
        wall_s: 10.0,
        streams: vec![stream],
        ..Manifest::default()
    };
    save_manifest(&folder, &manifest).expect("a manifest");
    folder
}

/// Returns the row of a run whose project has these parameters.
fn row(folder: &Path, sets: &[&str]) -> Row {
    let mut project = Project { model: Model::by_name("transformer").expect("a kind"), ..Project::default() };
    sets.iter().for_each(|set| project.set(set, Path::new(".")).expect("a parameter"));
    let history = ParamHistory::new(project, &[], 0, TimeBase::STEPS);
    let run = RunFolder::open(folder).expect("a run");
    Row::of(&run, &Labels::read(folder).0, Some(&history), &[])
}

/// Three runs: the second is the best at its end, the first was better before.
fn table(runs: &Path) -> Vec<Row> {
    let a = run(runs, "a-usual", 3, &[(0, 5.5), (200, 1.25), (400, 2.5)]);
    let b = run(runs, "b-fast", 3, &[(0, 5.5), (200, 1.75), (400, 1.5)]);
    let c = run(runs, "c-short", 18_446_744_073_709_551_615, &[]);
    save_tags(&b, &["best".into(), "kept".into()]).expect("saved");
    let rates = ["training.learning_rate=0.01", "training.learning_rate=0.02", "training.learning_rate=0.01"];
    let mut rows: Vec<Row> = [a, b, c].iter().zip(rates).map(|(folder, rate)| row(folder, &[rate])).collect();
    for row in &mut rows {
        row.add_summary(&SeriesSummary::read(&row.folder, "held_out").expect("a series"));
    }
    rows
}

fn names(rows: &[Row], filter: &str) -> Vec<String> {
    let filter = Filter::parse(filter, &columns(rows)).unwrap_or_else(|why| panic!("{filter}: {why}"));
    rows.iter().filter(|row| filter.fits(row)).map(|row| row.cell(NAME).text()[..1].to_owned()).collect()
}

#[test]
fn rows_are_sorted_by_a_series_and_rows_without_it_are_last() {
    let runs = TempFolder::new("table-sort");
    let rows = table(&runs);
    let sorted = |by: &str| {
        let mut order = vec![0, 1, 2];
        sort(&rows, &mut order, &Sort::parse(by));
        order
    };
    assert_eq!(sorted("last(held_out)"), [1, 0, 2]);
    assert_eq!(sorted("-last(held_out)"), [0, 1, 2], "a row without a value stays last");
    assert_eq!(sorted("lowest(held_out)"), [0, 1, 2]);
    assert_eq!(Sort::parse("-seed").to_text(), "-seed");
    let cells = ["lowest(held_out)", "step_of_lowest(held_out)", "last(held_out)", "mean(held_out)"];
    assert_eq!(cells.map(|key| rows[1].cell(key).text().into_owned()), ["1.5", "400", "1.5", "2.9166667"]);
    assert_eq!(rows[0].cell("steps_per_s"), &Cell::Number(50.0));
    assert!(rows[0].cell("tokens_per_s").number().is_some_and(|n| n > 50.0), "{:?}", rows[0].cell("tokens_per_s"));
}

#[test]
fn columns_are_data_and_those_of_training_are_shown_by_default() {
    let runs = TempFolder::new("table-columns");
    let rows = table(&runs);
    let all = columns(&rows);
    let shown: Vec<&str> = all.iter().filter(|column| column.is_default).map(|column| &*column.key).collect();
    for key in [NAME, TAGS, "lowest(held_out)", "step_of_lowest(held_out)", "last(held_out)", "tokens_per_s"] {
        assert!(shown.contains(&key), "{key}: {shown:?}");
    }
    let find = |typed: &str| find(&all, typed).map(|column| column.head());
    assert_eq!(find("best(held_out)").as_deref(), Ok("Best held-out loss (nat)"));
    assert_eq!(find("held_out").as_deref(), Ok("Last held-out loss (nat)"));
    assert_eq!(find("LEARNING_RATE"), find("training.learning_rate"));
    assert_eq!(find("sed").expect_err("unknown"), "There is no column `sed`; did you mean `seed`?");
    assert_eq!(differing(&rows).into_iter().collect::<Vec<_>>(), ["training.learning_rate"]);
    assert!(differing(&rows[..1]).is_empty());
    assert_eq!(needed_series(&all, ["seed", "held_out"]).into_iter().collect::<Vec<_>>(), ["held_out"]);
}

#[test]
fn filters_compare_columns_tags_and_words() {
    let runs = TempFolder::new("table-filter");
    let rows = table(&runs);
    for (filter, expected) in [
        ("", "abc"),
        ("fast", "b"),
        ("USUAL complete", "a"),
        ("!fast", "ac"),
        ("tag:kept", "b"),
        ("tag:kep", ""),
        ("!tag:kept", "ac"),
        ("tags!=kept", "ac"),
        ("kind:transformer status:complete", "abc"),
        ("status=complete seed=3", "ab"),
        ("seed:3", "ab"),
        ("held_out<1.6", "b"),
        ("held_out < 1.6", "b"),
        ("held_out<1.6nat", "b"),
        ("best(held_out)<=1.25", "a"),
        ("last(held_out)!=1.5", "a"),
        ("learning_rate>0.015", "b"),
        ("started>=2026-11-27 started<\"2026-11-27 10:30\"", "abc"),
        ("\"a-u\"", "a"),
    ] {
        assert_eq!(names(&rows, filter).concat(), expected, "{filter}");
    }
    let filter = Filter::parse("held_out<2 word seed=3", &columns(&rows)).expect("a filter");
    assert_eq!(filter.keys().collect::<Vec<_>>(), ["last(held_out)", "seed"]);
}

#[test]
fn an_unreadable_filter_says_why() {
    let all = columns(&[]);
    for (filter, expected) in [
        ("sed=3", "There is no column `sed`; did you mean `seed`?"),
        ("12:30", "There is no column `12` (quotation marks search for a text)"),
        ("seed=three", "`three` is not a number: Seed is compared with a number"),
        ("seed<", "Write a value after `seed<`"),
        ("tag: x", "Write a value after `tag:`"),
        ("tag<x", "Tags have no order"),
        ("\"open", "The quotation mark of `\"open` is not closed"),
        ("!", "Write a condition after `!`"),
        ("=3", "There is no column ``"),
    ] {
        let why = Filter::parse(filter, &all).expect_err(filter);
        assert!(why.starts_with(expected), "{filter}: {why}");
    }
}

#[test]
fn the_table_is_written_as_csv_with_all_digits() {
    let runs = TempFolder::new("table-csv");
    let rows = table(&runs);
    let all = columns(&rows);
    let shown: Vec<&Column> = ["name", "tags", "seed", "held_out"].map(|key| find(&all, key).expect(key)).into();
    let text = to_csv(&shown, &rows);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "name,tags,seed,last(held_out)");
    assert_eq!(lines[2..], ["b-fast,best kept,3,1.5", "c-short,,18446744073709551615,"]);
}

#[test]
fn a_run_with_damaged_tags_or_manifest_is_still_a_row() {
    let runs = TempFolder::new("table-damaged");
    let (a, b) = (run(&runs, "a", 1, &[]), run(&runs, "b", 1, &[]));
    std::fs::write(a.join(TAGS_FILE), [0xff, 0xfe]).expect("written");
    std::fs::write(b.join("run.ron"), "(").expect("written");
    let (row, notices) = Row::read(&a);
    assert!(row.cell(STATUS).text() == "complete" && row.cell(TAGS).is_empty(), "{row:?}");
    assert!(notices.iter().any(|notice| notice.starts_with("tags.txt was not read")), "{notices:?}");
    let (row, notices) = Row::read(&b);
    assert!(row.cell(STATUS).text() == "unreadable" && row.cell(NAME).text() == "b" && !notices.is_empty());
}

#[test]
fn a_choice_is_found_by_its_name_and_by_its_title() {
    let runs = TempFolder::new("table-choices");
    let (a, b) = (run(&runs, "a", 1, &[]), run(&runs, "b", 1, &[]));
    let rows = [row(&a, &["model.activation=GeluErf"]), row(&b, &["model.activation=Relu"])];
    let cell = rows[0].cell("model.activation");
    assert_eq!((&*cell.text(), &*cell.title()), ("GeluErf", "GELU (erf)"));
    for filter in ["activation=GeluErf", "activation=\"gelu (erf)\"", "activation:erf", "activation!=ReLU"] {
        assert_eq!(names(&rows, filter).concat(), "a", "{filter}");
    }
}
