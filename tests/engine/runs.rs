//! Run folders: the files hold what was simulated, after a crash or a full disk too.

use crate::fake;
use fake::{PROBES, expected};
use neuropil::{
    engine::{Command, Engine, Event, LoggedCommand},
    params::path::parse,
    project::{
        self, Project, RunFolder, RunStart, RunWriter, Status,
        replay::{ReplayResult, replay},
    },
    sim::{Device, Progress, Simulation, Tap},
};
use neuropil_test_support::{Need, PATIENCE, skip, temp::TempFolder};
use std::{
    fs,
    path::Path,
    process::{Command as Process, Stdio},
    time::{Duration, Instant},
};

fn taps() -> Vec<Tap> {
    vec![Tap::of(0), Tap::elements(1, vec![3, 1]), Tap::of(2)]
}

fn start<'a>(
    project: &'a Project,
    sets: &'a [std::sync::Arc<neuropil::sim::ElementSet>],
    taps: Vec<Tap>,
) -> RunStart<'a> {
    RunStart {
        project,
        base: Path::new("."),
        taps,
        sets,
        device: "CPU".into(),
        threads: 1,
        command: String::new(),
        trial: None,
        trials: 0,
    }
}

fn wait_for(engine: &Engine, wanted: impl Fn(&Event) -> bool) -> Event {
    loop {
        let event = engine.events.recv_timeout(PATIENCE).expect("an event in time");
        if let Event::Failed(e) | Event::Rejected { error: e, .. } = &event {
            panic!("{e}");
        }
        if wanted(&event) {
            return event;
        }
    }
}

/// Records the fake for some steps; what the engine said last.
fn record_fake(folder: &Path, steps: u64) -> Event {
    let (sim, project) = (fake::new(), Project::default());
    let writer = RunWriter::create(folder, start(&project, sim.sets(), taps())).unwrap().with_probes(PROBES);
    let engine = Engine::spawn(|| {}).unwrap();
    engine.send(Command::Load(Box::new(sim)));
    engine.send(Command::Batch(Some(16)));
    engine.send(Command::Record(taps(), Box::new(writer)));
    engine.send(Command::RunTo(steps));
    let mut failed = None;
    wait_for(&engine, |e| matches!(e, Event::Running(true, _)));
    loop {
        match engine.events.recv_timeout(PATIENCE).unwrap() {
            Event::RecordingFailed(e, end) => failed = Some((e, end)),
            Event::Running(false, clock) => {
                assert_eq!(clock.step, steps, "the simulation continues without its recording");
                break;
            }
            _ => {}
        }
    }
    engine.send(Command::StopRecording);
    match failed {
        Some((error, end)) => Event::RecordingFailed(error, end),
        None => wait_for(&engine, |e| matches!(e, Event::Recorded(..) | Event::RecordingFailed(..))),
    }
}

#[test]
fn a_run_reads_back_as_it_was() {
    let temp = TempFolder::new("back");
    let folder = temp.join("run");
    assert!(matches!(record_fake(&folder, 500), Event::Recorded(end) if end.clock.step == 500));
    let run = RunFolder::open(&folder).unwrap();
    assert_eq!((run.manifest.status.clone(), run.notes.len()), (Status::Complete, 0));
    assert_eq!((run.manifest.first_step, run.manifest.last_step), (0, 500));
    assert_eq!(run.spikes().unwrap(), expected(0, 500, 3));
    let v = run.rows(&run.manifest.streams[1]).unwrap();
    assert_eq!((v.width, v.steps.clone()), (2, (0..500).collect::<Vec<u64>>()));
    assert_eq!(v.values[998..], [3499.0, 1499.0]);
    let field = run.rows(&run.manifest.streams[2]).unwrap();
    assert!(!field.steps.is_empty() && field.steps.windows(2).all(|s| s[1] >= s[0] + 10), "one per 10 ms at most");
    assert_eq!(field.values[field.width], field.steps[1] as f32);
    assert_eq!(run.ids("cells").unwrap()[49], 49 << 40);
    assert_eq!(run.project().unwrap(), Project::default());
    let timings = fs::read_to_string(folder.join("timings.csv")).unwrap();
    assert!(timings.lines().any(|l| l.contains(",fake,")), "{timings}");
    let times = run.run_times().unwrap();
    assert_eq!((times.first().copied(), times.last().map(|(step, _)| *step)), (Some((0, 0.0)), Some(500)));
    assert!(times.windows(2).all(|t| t[0].0 < t[1].0 && t[0].1 < t[1].1), "{times:?}");
}

#[test]
fn incomplete_records_are_ignored() {
    let temp = TempFolder::new("torn");
    let folder = temp.join("run");
    record_fake(&folder, 100);
    for file in ["spikes.u32", "v.f32", "field.f32"] {
        let bytes = fs::read(folder.join(file)).unwrap();
        fs::write(folder.join(file), &bytes[..bytes.len() - 3]).unwrap();
    }
    fs::write(folder.join("commands.ron"), "// head\n(3, Rewind) // back\n(4, Set((id:").unwrap();
    let run = RunFolder::open(&folder).unwrap();
    let whole = expected(0, 100, 3);
    assert_eq!(run.spikes().unwrap(), whole[..whole.len() - 1]);
    assert_eq!(run.rows(&run.manifest.streams[1]).unwrap().steps.len(), 99);
    assert_eq!(run.commands().unwrap(), [(3, LoggedCommand::Rewind)]);
}

#[test]
fn only_run_folders_are_replaced() {
    let temp = TempFolder::new("own");
    let folder = temp.join("run");
    record_fake(&folder, 100);
    fs::write(folder.join("mine.txt"), "kept").unwrap();
    record_fake(&folder, 50);
    assert_eq!(RunFolder::open(&folder).unwrap().spikes().unwrap(), expected(0, 50, 3));
    assert_eq!(fs::read_to_string(folder.join("mine.txt")).unwrap(), "kept");
    let other = temp.join("other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("thesis.tex"), "").unwrap();
    let project = Project::default();
    let error = RunWriter::create(&other, start(&project, &[], vec![])).err().unwrap();
    assert!(error.to_string().contains("not empty and not a run"), "{error}");
}

#[test]
fn a_full_disk_ends_the_recording_with_an_error() {
    let temp = TempFolder::new("full");
    let disk = temp.join("disk");
    fs::create_dir_all(&disk).unwrap();
    let mount = |args: &[&str]| Process::new(args[0]).args(&args[1..]).stderr(Stdio::null()).status();
    let place = disk.to_str().unwrap();
    if !mount(&["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", place]).is_ok_and(|s| s.success()) {
        skip(Need::Tool, "a full disk needs the right to mount a small tmpfs");
        return;
    }
    let outcome = std::panic::catch_unwind(|| {
        let folder = disk.join("run");
        let Event::RecordingFailed(error, end) = record_fake(&folder, 20_000) else { panic!("the disk was not full") };
        let said = error.to_string();
        assert!(said.contains("disk/run") && said.to_lowercase().contains("the disk is full"), "{said}");
        let run = RunFolder::open(&folder).unwrap();
        let spikes = run.spikes().unwrap();
        assert!(spikes.len() > 100);
        assert_eq!(spikes, expected(0, end.clock.step, 3), "the data end where the manifest says");
        assert_eq!((run.manifest.last_step, &run.manifest.digest), (end.clock.step, &end.digest));
        assert_eq!(run.manifest.digest.totals[0].1, spikes.len() as u64);
        assert!(!run.is_complete() && run.notes.len() == 1, "{:?}", run.notes);
        // Saving a project on the same full disk leaves the old one.
        let path = disk.join("a.ron");
        fs::write(&path, "()").unwrap_or_default();
        let big = Project { notes: "x".repeat(200_000), ..Project::default() };
        let error = project::save(&big, &path).unwrap_err().to_string();
        assert!(error.contains("unchanged"), "{error}");
        assert_ne!(fs::read_to_string(&path).unwrap().len(), 200_000);
        assert!(!fs::read_dir(&disk).unwrap().any(|e| e.unwrap().file_name().to_string_lossy().contains("tmp")));
    });
    mount(&["umount", place]).ok();
    outcome.unwrap();
}

/// A small network that fires at once.
fn small() -> Project {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects/balanced.ron");
    let mut project = project::open(&path).unwrap().0;
    for set in ["network.n_neurons=400", "network.in_degree=40"] {
        project.set(set, Path::new(".")).unwrap();
    }
    project
}

fn build(project: &Project) -> Box<dyn Simulation> {
    let scene = project.build_context(Path::new("."));
    project.model.build(&scene, &Device::Cpu { threads: 1 }, &Progress::default()).unwrap()
}

/// Records `project` for 3000 steps with a few live edits, as the window does.
fn record_with_edits(project: &Project, folder: &Path) {
    let sim = build(project);
    let (taps, problems) = project.taps();
    assert!(problems.is_empty(), "{problems:?}");
    let writer = RunWriter::create(folder, start(project, sim.sets(), taps.clone())).unwrap();
    let engine = Engine::spawn(|| {}).unwrap();
    engine.send(Command::Load(sim));
    engine.send(Command::Record(taps, Box::new(writer)));
    for (step, set) in [(700, "interventions.background.rate_hz=300"), (1500, "lif.w_syn=0.3"), (2222, "lif.tau_m=15")]
    {
        engine.send(Command::RunTo(step));
        wait_for(&engine, |e| matches!(e, Event::Running(false, _)));
        engine.send(Command::Set(parse(project.model.params(), set).unwrap()));
        wait_for(&engine, |e| matches!(e, Event::Applied(..)));
    }
    engine.send(Command::RunTo(3000));
    wait_for(&engine, |e| matches!(e, Event::Running(false, _)));
    engine.send(Command::StopRecording);
    wait_for(&engine, |e| matches!(e, Event::Recorded(..)));
}

#[test]
fn a_run_with_live_edits_replays_bit_for_bit() {
    let (temp, project) = (TempFolder::new("replay"), small());
    let folder = temp.join("run");
    record_with_edits(&project, &folder);
    let run = RunFolder::open(&folder).unwrap();
    assert_eq!(run.commands().unwrap().iter().map(|(s, _)| *s).collect::<Vec<_>>(), [700, 1500, 2222]);
    let again = |run: &RunFolder| replay(run, &mut *build(&run.project().unwrap()), &Progress::default()).unwrap();
    let n = run.spikes().unwrap().len() as u64;
    assert!(n > 100, "{n} spikes");
    let result = again(&run);
    assert!(matches!(result, ReplayResult::Identical { steps: 3000, .. }) && result.n_spikes() == n, "{result:?}");

    let log = fs::read_to_string(folder.join("commands.ron")).unwrap();
    assert!(log.contains("// lif.w_syn = 0.3 mV"), "{log}");
    fs::write(folder.join("commands.ron"), log.replace("Real(0.3)", "Real(0.31)")).unwrap();
    assert!(matches!(again(&run), ReplayResult::Differs(_)), "another edit, another run");
    fs::write(folder.join("commands.ron"), log).unwrap();

    let mut bytes = fs::read(folder.join("spikes.u32")).unwrap();
    bytes[84] ^= 1; // the lane of the 11th event
    fs::write(folder.join("spikes.u32"), bytes).unwrap();
    let ReplayResult::Differs(what) = again(&run) else { panic!("the damage went unnoticed") };
    assert!(what.starts_with("spikes: event 10: "), "{what}");
}

#[test]
fn killed_runs_keep_every_block() {
    let temp = TempFolder::new("kill");
    let path = temp.join("small.ron");
    project::save(&small(), &path).unwrap();
    let run = |args: &[&str], out: &Path| {
        let mut process = Process::new(env!("CARGO_BIN_EXE_neuropil"));
        process.arg("run").arg(&path).args(["--device", "cpu", "--threads", "1", "--out"]).arg(out).args(args);
        process.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let whole = temp.join("whole");
    assert!(run(&["--duration", "5s"], &whole).wait().unwrap().success());
    let whole = RunFolder::open(&whole).unwrap().spikes().unwrap();
    let (mut n_opened, mut n_spikes) = (0, 0);
    for k in 0..20_u64 {
        let out = temp.join(format!("killed{k}"));
        let mut child = run(&["--duration", "0"], &out);
        // From its start, from its first manifest, from its first block: a busy machine gets to each of them in its own time.
        let is_reached = || match k % 3 {
            0 => true,
            1 => out.join("run.ron").exists(),
            _ => out.join("spikes.u32").metadata().is_ok_and(|file| file.len() > 0),
        };
        let began = Instant::now();
        while !is_reached() && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(20 + (k * 7919) % 380));
        child.kill().unwrap();
        child.wait().unwrap();
        if !out.join("run.ron").exists() {
            continue; // killed before the run began
        }
        let killed = RunFolder::open(&out).unwrap();
        let spikes = killed.spikes().unwrap();
        let n = spikes.len().min(whole.len());
        assert_eq!(spikes[..n], whole[..n], "what is there is right");
        assert_eq!(killed.manifest.status, Status::Unclosed);
        assert!(killed.notes[0].contains("not closed"), "{:?}", killed.notes);
        n_opened += 1;
        n_spikes += spikes.len();
    }
    assert!(n_opened >= 5 && n_spikes > 0);
}
