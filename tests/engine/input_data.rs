//! Input data are replaced while a simulation runs: between two steps, logged with a hash, and read again by a replay.

use neuropil::{
    engine::{Command, Engine, Event, LoggedCommand},
    params::{Change, path::parse},
    project::{
        Project, RunFolder, RunStart, RunWriter, load_data, outside_paths_of_run,
        replay::{ReplayResult, replay},
    },
    sim::{Device, Progress, Simulation},
};
use neuropil_test_support::temp::TempFolder;
use std::{fs, path::Path, time::Duration};

/// A table of samples with this many inputs.
fn table(inputs: usize, factor: f64) -> String {
    let names: Vec<String> = (0..inputs).map(|i| format!("x{i}")).collect();
    let value = |row: usize, i: usize| ((row * 7 + i * 3) % 11) as f64 / 11.0;
    let row = |row: usize| {
        let cells: Vec<String> = (0..inputs).map(|i| value(row, i).to_string()).collect();
        format!("{},{}", cells.join(","), factor * value(row, 0) + value(row, 1))
    };
    let rows: Vec<String> = (0..40).map(row).collect();
    format!("{},y\n{}\n", names.join(","), rows.join("\n"))
}

struct Case {
    project: &'static str,
    /// The parameter, two files, one that cannot be read, and what is said about it.
    parameter: &'static str,
    first: String,
    second: String,
    broken: (String, &'static str),
}

fn cases() -> Vec<Case> {
    let nuclei = Case {
        project: r#"(name: "Task", seed: 5, model: Nuclei((
            population: (capacity: 32, n_start: 24), task: (source: File, path: "a.csv"),
        )), run: (checkpoint_steps: 40, keep_checkpoints: 0), record: ["order", "fitness", "births", "deaths"])"#,
        parameter: "task.path",
        first: table(3, 1.0),
        second: table(3, -2.0),
        broken: (table(3, 1.0).replacen("0.", "o.", 1), "b.csv:2: column"),
    };
    let demo = Case {
        project: r#"(name: "Text", seed: 5, model: Demo((
            experts: (weights_mib: 1), measure: (every: 10), source: (text: "a.csv"),
        )), run: (checkpoint_steps: 40, keep_checkpoints: 0), record: ["loss", "route"])"#,
        parameter: "source.text",
        first: "the quick brown fox\njumps\n".into(),
        second: "over the lazy dog".into(),
        broken: ("all is well\nbut 7\n".into(), "line 2, column 5: `7` is neither a letter nor a space"),
    };
    if cfg!(feature = "demo") { vec![nuclei, demo] } else { vec![nuclei] }
}

fn build(project: &Project, folder: &Path) -> Box<dyn Simulation> {
    let context = project.build_context(folder);
    project.model.build(&context, &Device::Cpu { threads: 1 }, &Progress::default()).unwrap()
}

fn wait(engine: &Engine, is_it: impl Fn(&Event) -> bool) {
    loop {
        let event = engine.events.recv_timeout(Duration::from_secs(60)).expect("an event");
        if is_it(&event) {
            return;
        }
        if let Event::Failed(error) | Event::Rejected { error, .. } = event {
            panic!("{error}");
        }
    }
}

/// Records 200 steps; another file is in use from step 100 on, if there is a change.
fn record(project: &Project, folder: &Path, out: &str, change: Option<&Change>) -> RunFolder {
    let engine = Engine::spawn(|| {}).unwrap();
    let sim = build(project, folder);
    let (taps, problems) = project.taps();
    assert!(problems.is_empty(), "{problems:?}");
    let (base, device, command) = (folder, "CPU".into(), String::new());
    let start = RunStart {
        project,
        base,
        taps: taps.clone(),
        sets: sim.sets(),
        device,
        threads: 1,
        command,
        trial: None,
        trials: 0,
    };
    let writer = RunWriter::create(&folder.join(out), start).unwrap();
    engine.send(Command::Load(sim));
    engine.send(Command::Record(taps, Box::new(writer)));
    engine.send(Command::RunTo(100));
    wait(&engine, |e| matches!(e, Event::Running(false, clock) if clock.step == 100));
    if let Some(change) = change {
        let context = project.build_context(folder);
        let data = load_data(&project.model, &context, change, &Progress::default()).unwrap();
        assert_eq!(data.hash.len(), 16);
        engine.send(Command::Replace(data));
        wait(&engine, |e| matches!(e, Event::Applied(100, LoggedCommand::Data(..))));
        assert!(engine.params().contains(change), "the new path is in effect");
    }
    engine.send(Command::RunTo(200));
    wait(&engine, |e| matches!(e, Event::Running(false, clock) if clock.step == 200));
    engine.send(Command::StopRecording);
    wait(&engine, |e| matches!(e, Event::Recorded(_)));
    RunFolder::open(&folder.join(out)).unwrap()
}

#[test]
fn a_replay_reads_the_files_of_then_and_refuses_others() {
    for (i, case) in cases().iter().enumerate() {
        let temp = TempFolder::new(&format!("replay-{i}"));
        let write = |name: &str, text: &str| fs::write(temp.join(name), text).unwrap();
        write("a.csv", &case.first);
        write("b.csv", &case.second);
        let (project, warnings) = neuropil::project::read(case.project).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        let change = parse(project.model.params(), &format!("{}=b.csv", case.parameter)).unwrap();
        let (plain, run) = (record(&project, &temp, "plain", None), record(&project, &temp, "run", Some(&change)));
        assert_ne!(plain.manifest.data_hash().unwrap(), run.manifest.data_hash().unwrap(), "the data matter");
        let text = fs::read_to_string(run.path.join("commands.ron")).unwrap();
        assert!(text.contains(&format!("(100,Data(\"{}\",Text(\"b.csv\"),\"", case.parameter)), "{text}");
        let again = || replay(&run, &mut *build(&run.project().unwrap(), &temp), &Progress::default());
        assert!(matches!(again().unwrap(), ReplayResult::Identical { .. }));
        // Files that only the log names need consent too.
        let log = run.path.join("commands.ron");
        fs::write(&log, format!("{text}(150,Data(\"{}\",Text(\"/etc/hosts\"),\"0\"))\n", case.parameter)).unwrap();
        let outside = outside_paths_of_run(&run, &run.project().unwrap());
        assert!(
            outside.iter().any(|file| file.path == "/etc/hosts" && file.parameter == case.parameter),
            "{outside:?}"
        );
        fs::write(&log, &text).unwrap();
        // It continues with the new data.
        let from = run.continuation(None, &Progress::default()).unwrap();
        assert_eq!(from.now.model.params().get(change.id), change.value);
        write("b.csv", &case.first);
        let said = again().unwrap_err().to_string();
        let is_named = said.contains(case.parameter) && said.contains("has changed since the run read it");
        assert!(is_named, "{said}");
        let said = run.continuation(Some(160), &Progress::default()).unwrap_err().to_string();
        assert!(said.contains("has changed since the run read it"), "{said}");
        assert!(run.continuation(Some(40), &Progress::default()).is_ok(), "it was not in use then");
    }
}

#[test]
fn a_file_that_does_not_fit_leaves_the_old_data_in_use() {
    for (i, case) in cases().iter().enumerate() {
        let temp = TempFolder::new(&format!("errors-{i}"));
        fs::write(temp.join("a.csv"), &case.first).unwrap();
        fs::write(temp.join("b.csv"), &case.broken.0).unwrap();
        let (project, _) = neuropil::project::read(case.project).unwrap();
        let (context, params) = (project.build_context(&temp), project.model.params());
        let load = |file: &str, progress: &Progress| {
            let change = parse(params, &format!("{}={file}", case.parameter)).unwrap();
            load_data(&project.model, &context, &change, progress)
        };
        let said = load("b.csv", &Progress::default()).unwrap_err().to_string();
        assert!(said.contains("b.csv:") && said.contains(case.broken.1), "{said}");
        assert!(load("c.csv", &Progress::default()).unwrap_err().to_string().contains("c.csv"));
        let cancelled = Progress::default();
        cancelled.cancel();
        assert_eq!(load("a.csv", &cancelled).unwrap_err().to_string(), "cancelled");
    }
    // Other inputs need another population.
    let temp = TempFolder::new("inputs");
    let case = &cases()[0];
    fs::write(temp.join("a.csv"), &case.first).unwrap();
    fs::write(temp.join("b.csv"), table(4, 1.0)).unwrap();
    let (project, _) = neuropil::project::read(case.project).unwrap();
    let change = parse(project.model.params(), "task.path=b.csv").unwrap();
    let data = load_data(&project.model, &project.build_context(&temp), &change, &Progress::default()).unwrap();
    let mut sim = build(&project, &temp);
    assert_eq!(sim.replace(&data).unwrap(), neuropil::sim::Effect::NeedsRebuild);
    assert_eq!(sim.params().unwrap().get(change.id), project.model.params().get(change.id));
    let mut demo_sim = crate::fake::new();
    assert_eq!(demo_sim.replace(&data).unwrap(), neuropil::sim::Effect::NeedsRebuild, "the default");
}
