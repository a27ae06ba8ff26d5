//! Project files: what opens, with which warnings and errors.

use neuropil::{
    kinds::Model,
    project::{self, Project, read, read_bytes, write},
};
use neuropil_test_support::temp::TempFolder;
use std::path::{Path, PathBuf};

fn example(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("projects").join(name)).unwrap()
}

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects");
    let files = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    files.filter(|p| p.extension().is_some_and(|e| e == "ron")).collect()
}

#[test]
fn every_example_opens_without_warnings_and_round_trips() {
    assert!(examples().len() >= 3);
    for path in examples() {
        let (project, warnings) = project::open(&path).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(warnings, [], "{}", path.display());
        let text = write(&project).unwrap();
        let (again, warnings) = read(&text).unwrap_or_else(|e| panic!("{}: {e}\n{text}", path.display()));
        assert_eq!((again, warnings), (project.clone(), vec![]), "{text}");
        assert_eq!(write(&project).unwrap(), text, "the order is stable");
        let (kind, duration) = (project.model.name(), project.run.duration_ms);
        assert!(kind != "spiking" || text.contains("tau_m: 20.0, // ms"), "units follow the values:\n{text}");
        assert!(text.contains(&format!("duration_ms: {duration:.1}, // ms")), "{text}");
    }
}

/// Share of the steps' time that texts and held-out losses of a language model take on a GPU, estimated: in the smallest models a
/// token of a text takes 1/25 of a step, and a held-out loss is the forward pass of every batch, 1/3 of its training.
fn readings_share(project: &Project) -> Option<f64> {
    let (data, measure, sequences, context) = match &project.model {
        Model::Transformer(p) => (&p.data, &p.measure, p.training.sequences(), p.model.context),
        Model::Synaptic(p) => (&p.data, &p.measure, p.training.sequences(), p.model.context),
        _ => return None,
    };
    let tokens_of_step = sequences as f64 * f64::from(context);
    let held_out = f64::from(data.grammar_bytes) / 10.0 / tokens_of_step / 3.0;
    let per_step = |cost: f64, every: u32| if every == 0 { 0.0 } else { cost / f64::from(every) };
    Some(per_step(f64::from(measure.length) / 25.0, measure.sample_every) + per_step(held_out, measure.held_out_every))
}

#[test]
fn readings_of_examples_and_new_projects_take_a_twentieth_of_the_time() {
    let new = ["transformer", "synaptic"].map(|kind| (format!("new {kind}"), project::new_project(kind).unwrap()));
    let named = examples().into_iter().map(|path| (path.display().to_string(), project::open(&path).unwrap().0));
    let shares: Vec<_> = named.chain(new).filter_map(|(name, p)| Some((name, readings_share(&p)?))).collect();
    assert!(shares.len() >= 8, "{shares:?}");
    for (name, share) in shares {
        assert!(share <= 0.05, "{name}: {:.1} %", share * 100.0);
    }
}

#[test]
fn the_default_project_is_the_fly() {
    assert_eq!(project::default_project().name, "Fly brain");
    assert_eq!(project::default_project(), read(&example("fly.ron")).unwrap().0);
}

#[test]
fn an_empty_project_takes_defaults() {
    let (project, warnings) = read("()").unwrap();
    assert_eq!((project, warnings), (Project::default(), vec![]));
    let (project, _) = read("(workspace: \"tabs\", model: Spiking((lif: (tau_m: 15))))").unwrap();
    assert_eq!(project.workspace.as_deref(), Some("tabs"));
}

/// (file, what the only warning must say)
const ODD: &[(&str, &str)] = &[
    ("(\n sede: 3,\n)", "line 2: unknown field `sede` is ignored; did you mean `seed`?"),
    ("(run: (\n\n duration: 3))", "line 3: unknown field `duration` is ignored"),
    ("(model: Spiking((lif: (\n tau_n: 3.0))))", "line 2: unknown field `tau_n` is ignored; did you mean `tau_m`?"),
    ("(model: Spiking((\n liv: ())))", "line 2: unknown field `liv` is ignored; did you mean `lif`?"),
    (
        "(model: Spiking((selections: [\n(name: \"a\"),\n(nme: \"b\")])))",
        "line 3: unknown field `nme` is ignored; did you mean `name`?",
    ),
    (
        "(model: Spiking((lif: (\n dt: 1.0,\n tau_m: 1e9))))",
        "line 3: lif.tau_m: 1000000000 ms is out of range (0.1 to 10000); 10000 ms is used",
    ),
    ("(model: Spiking((lif: (dt: -1))))", "line 1: lif.dt: -1 ms is out of range (0.001 to 10); 0.001 ms is used"),
    ("(model: Spiking((lif: (dt: NaN))))", "line 1: lif.dt: NaN ms is out of range"),
    ("(model: Spiking((network: (n_neurons: 4000000000))))", "line 1: network.n_neurons: 4000000000 is out of range"),
    (
        "(model: Spiking((interventions: [(),\n(rate_hz: -3)])))",
        "line 2: interventions.1.rate_hz: -3 Hz is out of range",
    ),
    ("(run: (speed: inf))", "line 1: run.speed: inf is out of range"),
    ("(gone: {\"a\": [(1, \"x)\")]}, seed: 2)", "line 1: unknown field `gone` is ignored"),
];

#[test]
fn odd_projects_open_with_a_warning() {
    for (text, want) in ODD {
        let (_, warnings) = read(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let said: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert!(said.len() == 1 && said[0].starts_with(want), "{text}\nwanted {want}\ngot {said:?}");
    }
}

/// (file, line, what the error must contain)
const BROKEN: &[(&str, usize, &str)] = &[
    ("", 1, "this is not a project file"),
    ("hello", 1, "this is not a project file"),
    ("(\n seed: 1\n name: \"a\")", 3, "xpected"),
    ("(\n seed: -1)", 2, "negative or too large"),
    ("(\n seed: \"one\")", 2, "xpected"),
    ("(seed: 1, seed: 2)", 1, "seed"),
    ("(name: \"open", 1, "xpected"),
    ("(model: Spiking((lif: (tau_m: \"20\"))))", 1, "xpected"),
    ("(model: Spikin(()))", 1, "did you mean `Spiking`?"),
    ("(model: Spiking((network: (\nsource: FlyStandin))))", 2, "did you mean `FlyStandIn`?"),
    ("(run: (threads: 1.5))", 1, "xpected"),
    ("(version: 99)", 0, "version 99"),
    ("(version: 0)", 0, "version 0"),
    ("()\n)", 2, "expected the end of the file"),
];

#[test]
fn broken_projects_say_where_and_why() {
    for (text, line, want) in BROKEN {
        let error = read(text).expect_err(text);
        assert!(error.what.contains(want), "{text:?}: {error}");
        assert_eq!(error.line, *line, "{text:?}: {error}");
        let placed = error.in_file(Path::new("a.ron")).to_string();
        let start = if *line == 0 { "a.ron: ".into() } else { format!("a.ron:{line}:") };
        assert!(placed.starts_with(&start), "{placed}");
    }
    let error = read_bytes(b"(seed: 1,\n name: \"\xff\")").unwrap_err();
    assert_eq!((error.line, error.column), (2, 9), "{error}");
}

#[test]
fn no_bytes_make_the_reader_panic() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |n: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % n.max(1) as u64) as usize
    };
    let seeds: Vec<Vec<u8>> = examples().iter().map(|p| std::fs::read(p).unwrap()).collect();
    let alphabet = b"()[]{},:\"'\\/*#r\n0-.eE_ NaSome\xff\xc3";
    for round in 0..3000 {
        let mut bytes = seeds[round % seeds.len()].clone();
        for _ in 0..=next(6) {
            let at = next(bytes.len());
            match next(4) {
                0 => bytes[at] = alphabet[next(alphabet.len())],
                1 => bytes.insert(at, alphabet[next(alphabet.len())]),
                2 => bytes.truncate(at.max(1)),
                _ => drop(bytes.drain(at..(at + next(40)).min(bytes.len()))),
            }
            if bytes.is_empty() {
                bytes.push(b'(');
            }
        }
        read_bytes(&bytes).ok();
    }
    for deep in ["(", "[", "{", "(a:", "Some(", "/*", "r#\"", "(model: Spiking("] {
        read_bytes(deep.repeat(5000).as_bytes()).ok();
    }
}

#[test]
fn set_accepts_every_shown_parameter() {
    let here = Path::new("/somewhere");
    for path in examples() {
        let (mut project, _) = project::open(&path).unwrap();
        let before = project.clone();
        let params = project.model.params();
        let said: Vec<(String, String)> = (params.ids().into_iter())
            .filter(|id| !project.links.iter().any(|link| link.path == params.path(*id)))
            .filter_map(|id| {
                let value = match params.get(id) {
                    neuropil::params::Value::Text(t) if t.is_empty() => return None,
                    value => neuropil::params::path::show(params.spec(id)?, &value),
                };
                Some((params.path(id), value))
            })
            .collect();
        assert!(said.len() > 20);
        for (path, value) in said {
            project.set(&format!("{path}={value}"), here).unwrap_or_else(|e| panic!("{e}"));
        }
        assert_eq!(project, before, "{}", path.display());
    }
}

#[test]
fn set_handles_seed_run_and_paths() {
    let mut project = Project::default();
    let here = Path::new("/here");
    for text in
        ["seed=7", "name=A b", "run.duration_ms=2 s", "run.device=cpu", "network.path=data/x", "lif.tau_m=0.015 s"]
    {
        project.set(text, here).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
    assert_eq!((project.seed, project.name.as_str(), project.run.duration_ms), (7, "A b", 2000.0));
    assert_eq!(project.planned_steps(), Some(20_000));
    assert_eq!(project.paths().iter().map(|(_, p)| p.0.as_str()).collect::<Vec<_>>(), ["/here/data/x"]);
    for (text, want) in [
        ("lif.tau_n=3", "did you mean `lif.tau_m`?"),
        ("run.treads=3", "did you mean `run.threads`?"),
        ("seed=-1", "whole number"),
        ("lif.tau_m=1e9", "out of range"),
        ("lif.tau_m=20 mV", "is a voltage; expected a time in ms"),
        ("lif.tau_m", "no `=`"),
        ("network.source=Nowhere", "none of"),
    ] {
        let error = project.set(text, here).expect_err(text).to_string();
        assert!(error.contains(want), "{text}: {error}");
    }
}

#[test]
fn saving_keeps_a_backup() {
    let folder = TempFolder::new("projects");
    let path = folder.join("a.ron");
    let first = project::default_project();
    let second = Project { seed: 99, ..first.clone() };
    project::save(&first, &path).unwrap();
    project::save(&second, &path).unwrap();
    assert_eq!(project::open(&path).unwrap().0, second);
    assert_eq!(project::open(&folder.join("a.ron.bak")).unwrap().0, first);
}
