//! Run folders under hostile conditions: damaged and crafted files, two writers, killed writers, files of gigabytes.

use crate::fake;
use fake::PROBES;
use neuropil::{
    engine::{RecordingEnd, RecordingStart, Sink},
    export::{Format, export},
    project::{
        self, Project, RunFolder, RunStart, RunWriter, Status,
        check::{FileCheck, Finding, check},
        playback::PlaybackReader,
        replay::{ReplayResult, replay},
    },
    sim::{Clock, Device, Frame, Progress, Reading, Simulation, Spike, Tap},
};
use neuropil_test_support::temp::TempFolder;
use std::{
    fs::{self, OpenOptions},
    io::{Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn neuropil(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_neuropil")).args(args).output().unwrap()
}

fn start<'a>(project: &'a Project, sim: &'a dyn Simulation, taps: Vec<Tap>) -> RunStart<'a> {
    RunStart {
        project,
        base: Path::new("."),
        taps,
        sets: sim.sets(),
        device: "CPU".into(),
        threads: 1,
        command: String::new(),
        trial: None,
        trials: 0,
    }
}

fn build(project: &Project) -> Box<dyn Simulation> {
    let context = project.build_context(Path::new("."));
    project.model.build(&context, &Device::Cpu { threads: 1 }, &Progress::default()).unwrap()
}

/// A small project of a kind that records every probe that the model uses.
fn every_probe(file: &str, set: &[&str]) -> Project {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects").join(file);
    let mut project = project::open(&path).unwrap().0;
    for set in set {
        project.set(set, Path::new(".")).unwrap();
    }
    let name = |p: &neuropil::sim::ProbeSpec| match p.shape {
        neuropil::sim::Shape::Series { of } if !of.is_empty() => format!("{}[3, 1, 20]", p.name),
        _ => p.name.to_owned(),
    };
    let unused = project.model.unused_probes();
    let used = (0..).zip(project.model.probes()).filter(|(id, _)| !unused.contains(id));
    project.record = used.map(|(_, probe)| name(probe)).collect();
    project
}

/// Records steps `first..end` in batches of uneven length.
fn record(project: &Project, folder: &Path, first: u64, end: u64) -> RunFolder {
    let mut sim = build(project);
    let (taps, problems) = project.taps();
    assert!(problems.is_empty(), "{problems:?}");
    let mut pass = neuropil::gpu::Pass::default();
    while sim.clock().step < first {
        sim.advance(50.min(first - sim.clock().step) as u32, &mut pass).unwrap();
    }
    let mut writer = Box::new(RunWriter::create(folder, start(project, &*sim, taps.clone())).unwrap());
    let lanes: Vec<_> = taps.iter().map(|t| (t.probe, sim.lanes(t.probe))).collect();
    writer.begin(&RecordingStart { clock: sim.clock(), lanes, ..RecordingStart::default() }).unwrap();
    sim.tap(&taps).unwrap();
    for batch in 1.. {
        let steps = (batch * 7 % 40 + 1).min(end - sim.clock().step);
        if steps == 0 {
            break;
        }
        sim.advance(steps as u32, &mut pass).unwrap();
        let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
        sim.sample(&mut frame).unwrap();
        writer.write(&frame).unwrap();
    }
    writer.finish(&RecordingEnd { digest: sim.digest(0), clock: sim.clock(), ..RecordingEnd::default() }).unwrap();
    RunFolder::open(folder).unwrap()
}

fn again(run: &RunFolder) -> ReplayResult {
    replay(run, &mut *build(&run.project().unwrap()), &Progress::default()).unwrap()
}

fn spiking() -> Project {
    every_probe("balanced.ron", &["network.n_neurons=400", "network.in_degree=40"])
}

#[test]
fn replay_compares_every_stream() {
    let temp = TempFolder::new("every");
    let cases = [
        ("spiking", spiking(), 0, 600),
        ("spiking from step 250", spiking(), 250, 900),
        (
            "leaky",
            every_probe("fastfly.ron", &["network.source=Balanced", "network.n_neurons=400", "network.in_degree=40"]),
            0,
            200,
        ),
        (
            "plastic",
            every_probe(
                "hpc-stdp.ron",
                &[
                    "populations.0.size=100",
                    "populations.1.size=25",
                    "projections.0.rule.n=20",
                    "projections.1.rule.n=20",
                    "projections.2.rule.n=5",
                    "projections.3.rule.n=5",
                    "rules.weight_interval_ms=5",
                ],
            ),
            0,
            600,
        ),
        ("nuclei", every_probe("nuclei.ron", &[]), 0, 60),
        ("nuclei from step 40", every_probe("nuclei.ron", &[]), 40, 100),
    ];
    for (name, project, first, end) in cases {
        let run = record(&project, &temp.join(name), first, end);
        match again(&run) {
            ReplayResult::Identical { compared, not_compared, .. } => {
                assert_eq!(compared.len(), project.record.len(), "{name}: {compared:?}");
                assert!(not_compared.is_empty(), "{name}: {not_compared:?}");
                let empty: Vec<_> = compared.iter().filter(|c| c.n == 0).collect();
                assert!(empty.len() <= 1, "{name}: nothing in {empty:?}");
            }
            ReplayResult::Differs(what) => panic!("{name}: {what}"),
        }
        assert!(check(&run, &Progress::default()).unwrap().iter().all(|f| f.finding == Finding::Intact));
    }
}

/// Spikes have the same bits with any kernels; what does not is named with the reason.
#[test]
fn a_replay_with_other_kernels_compares_what_does_not_depend_on_them() {
    let temp = TempFolder::new("kernels");
    let mut run = record(&spiking(), &temp.join("spiking"), 0, 200);
    run.manifest.execution.kernels = [("step", "by_hand")].into_iter().collect();
    let ReplayResult::Identical { not_compared, .. } = again(&run) else { panic!("it differs") };
    assert!(not_compared.is_empty(), "{not_compared:?}");
    let mut run = record(&every_probe("nuclei.ron", &[]), &temp.join("nuclei"), 0, 20);
    run.manifest.execution.kernels = [("coupling", "by_hand")].into_iter().collect();
    assert_eq!(run.build_context(&run.project().unwrap()).kernels, run.manifest.execution.kernels);
    let refused = replay(&run, &mut *build(&run.project().unwrap()), &Progress::default()).unwrap_err().to_string();
    assert!(refused.contains("coupling is fast here and was by_hand"), "{refused}");
}

/// The lanes of a probe change while it is recorded: its data continue in another file.
#[test]
fn segments_of_a_probe_are_played_back_one_after_the_other() {
    let temp = TempFolder::new("segments");
    let folder = temp.join("run");
    fs::create_dir_all(&folder).unwrap();
    let stream = |file: &str, width: u32, from: u64| {
        format!("(probe: \"class_rates\", file: \"{file}\", shape: \"series\", width: {width}, from_step: {from})")
    };
    let streams = [stream("class_rates.f32", 1, 0), stream("class_rates-2.f32", 2, 50)].join(", ");
    let head = "format: 1, kind: \"spiking\", status: Complete, secs_per_step: 0.001, last_step: 100";
    fs::write(folder.join("run.ron"), format!("({head}, streams: [{streams}])")).unwrap();
    let rows = |steps: [u64; 5], width: usize| -> Vec<u8> {
        steps.into_iter().flat_map(|s| s.to_le_bytes().into_iter().chain(vec![0; 4 * width])).collect()
    };
    fs::write(folder.join("class_rates.f32"), rows([10, 20, 30, 40, 50], 1)).unwrap();
    fs::write(folder.join("class_rates-2.f32"), rows([60, 70, 80, 90, 100], 2)).unwrap();
    let run = RunFolder::open(&folder).unwrap();
    let probes = neuropil::kinds::Model::by_name("spiking").unwrap().probes();
    let mut reader = PlaybackReader::open(&run, probes).unwrap();
    let mut found = vec![];
    while let Some(frame) = reader.next_frame().unwrap() {
        assert!(frame.readings.len() <= 1, "one segment at a time: {frame:?}");
        for (_, reading) in frame.readings {
            let Reading::Series(series) = reading else { panic!("{reading:?}") };
            found.extend(series.steps.iter().map(|s| (*s, series.lanes)));
        }
    }
    let expected: Vec<(u64, u32)> = (1..=10).map(|k| (k * 10, if k <= 5 { 1 } else { 2 })).collect();
    assert_eq!(found, expected);
}

#[test]
fn damage_to_any_stream_is_found_by_replay_and_check() {
    let temp = TempFolder::new("damage");
    let folder = temp.join("run");
    let run = record(&spiking(), &folder, 0, 400);
    let path = folder.to_str().unwrap();
    for stream in run.manifest.streams.clone() {
        let file = folder.join(&stream.file);
        let intact = fs::read(&file).unwrap();
        assert!(intact.len() > 20 && stream.n_bytes == intact.len() as u64, "{}", stream.file);
        let mut flipped = intact.clone();
        flipped[intact.len() / 2] ^= 1;
        let longer = [&intact[..], &intact[..intact.len() / 2]].concat();
        for (damage, bytes) in
            [("flipped", flipped), ("cut", intact[..intact.len() / 2].to_vec()), ("empty", vec![]), ("longer", longer)]
        {
            fs::write(&file, bytes).unwrap();
            let run = RunFolder::open(&folder).unwrap();
            assert_eq!(run.notes.is_empty(), damage == "flipped", "{} {damage}: {:?}", stream.file, run.notes);
            let ReplayResult::Differs(what) = again(&run) else { panic!("{} {damage}: identical", stream.file) };
            assert!(what.contains(&stream.probe), "{what}");
            let damaged: Vec<FileCheck> =
                check(&run, &Progress::default()).unwrap().into_iter().filter(FileCheck::is_damaged).collect();
            assert!(damaged.len() == 1 && damaged[0].name == stream.file, "{damage}: {damaged:?}");
        }
        fs::remove_file(&file).unwrap();
        let run = RunFolder::open(&folder).unwrap();
        assert!(matches!(again(&run), ReplayResult::Differs(_)), "{} is missing", stream.file);
        let out = neuropil(&["check", path]);
        assert_eq!(out.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&out.stdout).contains(&format!("{}: missing", stream.file)));
        fs::write(&file, intact).unwrap();
    }
    assert_eq!(neuropil(&["check", path]).status.code(), Some(0));
    let info = String::from_utf8_lossy(&neuropil(&["info", path]).stdout).into_owned();
    assert!(info.contains("match their hashes") && info.contains("complete"), "{info}");
}

#[test]
fn a_run_without_streams_is_not_identical_by_no_spikes() {
    let temp = TempFolder::new("nothing");
    let folder = temp.join("run");
    record(&spiking(), &folder, 0, 100);
    // A run of an older version, killed, whose only stream is not a probe of its kind.
    let mut manifest = RunFolder::open(&folder).unwrap().manifest;
    (manifest.status, manifest.id) = (Status::Running, String::new());
    manifest.streams.truncate(1);
    manifest.streams[0].probe = "gone".into();
    fs::write(folder.join("run.ron"), project::to_ron(&manifest).unwrap()).unwrap();
    let ReplayResult::Differs(what) = again(&RunFolder::open(&folder).unwrap()) else { panic!("identical") };
    assert!(what.contains("nothing was compared"), "{what}");
}

fn fake_taps() -> Vec<Tap> {
    vec![Tap::of(0), Tap::elements(1, vec![3, 1]), Tap::of(2)]
}

fn fake_writer(folder: &Path) -> std::io::Result<Box<RunWriter>> {
    let (sim, project) = (fake::new(), Project::default());
    let mut writer = RunWriter::create(folder, start(&project, &sim, fake_taps()))?.with_probes(PROBES);
    writer.begin(&RecordingStart { clock: Clock::seconds(0, 1e-3), ..RecordingStart::default() })?;
    Ok(Box::new(writer))
}

/// A block with one spike per step.
fn block(from: u32, to: u32) -> Frame {
    let spikes = (from..to).map(|step| Spike { step, lane: step % 50 }).collect();
    let clock = Clock::seconds(to.into(), 1e-3);
    Frame { clock, readings: vec![(0.into(), Reading::Spikes(spikes))], ..Frame::default() }
}

#[test]
fn a_folder_has_one_writer() {
    let temp = TempFolder::new("lock");
    let folder = temp.join("run");
    let mut writer = fake_writer(&folder).unwrap();
    writer.write(&block(0, 100)).unwrap();
    let refused = fake_writer(&folder).err().unwrap().to_string();
    assert!(refused.contains("is being written by another recording (process "), "{refused}");
    let run = RunFolder::open(&folder).unwrap();
    assert_eq!((run.manifest.status.clone(), run.manifest.last_step), (Status::Running, 100));
    assert!(run.notes[0].contains("still being written by process"), "{:?}", run.notes);
    let refused = replay(&run, &mut fake::new(), &Progress::default()).unwrap_err().to_string();
    assert!(refused.contains("still being written"), "{refused}");
    writer.write(&block(100, 200)).unwrap();
    writer.finish(&RecordingEnd { clock: Clock::seconds(200, 1e-3), ..RecordingEnd::default() }).unwrap();
    let run = RunFolder::open(&folder).unwrap();
    assert_eq!((run.spikes().unwrap().len(), run.notes.len()), (200, 0));
    assert!(fake_writer(&folder).is_ok(), "a closed run may be replaced");
}

#[test]
fn a_run_ends_complete_interrupted_failed_or_not_closed() {
    let temp = TempFolder::new("ends");
    let status = |name: &str| RunFolder::open(&temp.join(name)).unwrap().manifest.status;
    let mut writer = fake_writer(&temp.join("interrupted")).unwrap();
    writer.write(&block(0, 100)).unwrap();
    writer.interrupt(100).unwrap();
    assert_eq!(status("interrupted"), Status::Interrupted { step: 100 });
    fake_writer(&temp.join("failed")).unwrap().fail("the disk is full").unwrap();
    assert_eq!(status("failed"), Status::Failed("the disk is full".into()));
    drop(fake_writer(&temp.join("killed")).unwrap());
    assert_eq!(status("killed"), Status::Unclosed);
    let old = "(format: 1, kind: \"spiking\", status: Failed(\"disk\"), secs_per_step: 0.001)";
    fs::create_dir_all(temp.join("old")).unwrap();
    fs::write(temp.join("old/run.ron"), old).unwrap();
    assert_eq!(status("old"), Status::Failed("disk".into()));
}

#[test]
fn a_failed_block_is_in_no_stream() {
    let temp = TempFolder::new("block");
    let mut writer = fake_writer(&temp.join("run")).unwrap();
    writer.write(&block(0, 100)).unwrap();
    let mut bad = block(100, 200);
    bad.readings.push((2.into(), Reading::field(vec![0.0; 3])));
    assert!(writer.write(&bad).is_err());
    writer.finish(&RecordingEnd { clock: Clock::seconds(300, 1e-3), ..RecordingEnd::default() }).unwrap();
    let run = RunFolder::open(&temp.join("run")).unwrap();
    assert!(
        matches!(&run.manifest.status, Status::Failed(why) if why.contains("3 values instead of")),
        "{:?}",
        run.notes
    );
    assert_eq!((run.spikes().unwrap().len(), run.manifest.last_step), (100, 100));
    assert!(check(&run, &Progress::default()).unwrap().iter().all(|f| f.finding == Finding::Intact));
}

#[test]
fn garbage_behind_a_killed_run_is_no_step() {
    let temp = TempFolder::new("garbage");
    let folder = temp.join("run");
    let mut writer = fake_writer(&folder).unwrap();
    for k in 0..10 {
        writer.write(&block(k * 100, k * 100 + 100)).unwrap();
    }
    drop(writer);
    let garbage = |step: u32| {
        let mut file = OpenOptions::new().append(true).open(folder.join("spikes.u32")).unwrap();
        file.write_all(&[step, 3].map(u32::to_le_bytes).concat()).unwrap();
    };
    garbage(3_000_000_000);
    garbage(7);
    let run = RunFolder::open(&folder).unwrap();
    assert_eq!((run.manifest.last_step, run.spikes().unwrap().len()), (1000, 1000));
    // Without its lock file, as older versions left it.
    fs::remove_file(folder.join("run.lock")).unwrap();
    let run = RunFolder::open(&folder).unwrap();
    assert_eq!((run.manifest.last_step, run.spikes().unwrap().len()), (1000, 1000), "{:?}", run.notes);
}

#[test]
fn streams_of_gigabytes_are_not_read_to_open_a_run() {
    let temp = TempFolder::new("large");
    let folder = temp.join("run");
    let mut writer = fake_writer(&folder).unwrap();
    writer.write(&block(0, 100)).unwrap();
    drop(writer);
    // 4 GB of spikes of step 0, then 1,000 at later steps, without a lock file.
    let mut file = OpenOptions::new().write(true).open(folder.join("spikes.u32")).unwrap();
    file.seek(SeekFrom::Start(4 << 30)).unwrap();
    let end: Vec<u8> = (0..1000_u32).flat_map(|k| [5000 + k, k % 50]).flat_map(u32::to_le_bytes).collect();
    file.write_all(&end).unwrap();
    fs::remove_file(folder.join("run.lock")).unwrap();
    let limited = |command: &str| {
        let script =
            format!("ulimit -v 3000000; exec {} {command} {}", env!("CARGO_BIN_EXE_neuropil"), folder.display());
        Command::new("bash").args(["-c", &script]).output().unwrap()
    };
    let info = limited("info");
    let text = String::from_utf8_lossy(&info.stdout).into_owned();
    assert!(info.status.success() && text.contains("not closed"), "{text}{}", String::from_utf8_lossy(&info.stderr));
    let run = RunFolder::open(&folder).unwrap();
    assert_eq!(run.manifest.last_step, 6000);
    assert_eq!(run.n_records(&run.manifest.streams[0]), (4 << 27) + 1000);
    let mut frames = PlaybackReader::open(&run, PROBES).unwrap();
    assert!(frames.fraction() == 0.0);
    drop(frames.next_frame());
}

/// A folder with a manifest of this text.
fn crafted(temp: &TempFolder, name: &str, manifest: &str) -> PathBuf {
    let folder = temp.join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("project.ron"), "()").unwrap();
    fs::write(folder.join("commands.ron"), "").unwrap();
    let head = "format: 1, kind: \"spiking\", status: Complete, secs_per_step: 0.001";
    fs::write(folder.join("run.ron"), format!("({head}, {manifest})")).unwrap();
    folder
}

#[test]
fn crafted_runs_harm_nothing() {
    let temp = TempFolder::new("crafted");
    let refuses = |folder: &Path, want: &str| {
        let why = RunFolder::open(folder).err().unwrap_or_else(|| panic!("{} opens", folder.display())).to_string();
        assert!(why.contains(want), "{why}");
    };
    let stream = |file: &str, shape: &str, width: u64| {
        format!("streams: [(probe: \"spikes\", file: \"{file}\", shape: \"{shape}\", width: {width})]")
    };
    refuses(&crafted(&temp, "outside", &stream("/etc/passwd", "spikes", 2)), "not a file name in the run folder");
    refuses(&crafted(&temp, "above", &stream("../x", "text", 0)), "not a file name in the run folder");
    refuses(&crafted(&temp, "wide", &stream("v.f32", "series", 4_294_967_295)), "too many");
    refuses(&crafted(&temp, "set", "sets: [(name: \"neurons\", len: 4294967295)]"), "more than this program allows");

    // Files that the writer did not make stay, whatever the manifest lists.
    let folder = crafted(&temp, "sibling", &stream("thesis.tex", "spikes", 2));
    fs::write(folder.join("thesis.tex"), "years of work").unwrap();
    drop(fake_writer(&folder).unwrap());
    assert_eq!(fs::read_to_string(folder.join("thesis.tex")).unwrap(), "years of work");

    // Trials are those that are there.
    let folder = crafted(&temp, "trials", "trials: 4000000000");
    assert!(RunFolder::open(&folder).unwrap().trials().is_err());
    drop(fake_writer(&folder).unwrap());
}

#[cfg(unix)]
#[test]
fn links_and_pipes_are_not_followed() {
    use std::os::unix::fs::symlink;
    let temp = TempFolder::new("links");
    let target = temp.join("target");
    fs::write(&target, "not ours").unwrap();
    let list = "streams: [(probe: \"spikes\", file: \"spikes.u32\", shape: \"spikes\", width: 2)]";
    let folder = crafted(&temp, "link", list);
    symlink(&target, folder.join("spikes.u32")).unwrap();
    let run = RunFolder::open(&folder).unwrap();
    assert!(run.spikes().is_err() || run.spikes().unwrap().is_empty());
    assert!(export(&run, Format::Csv, Some(&temp.join("out.csv"))).is_err() || !temp.join("out.csv").exists());
    let refused = fake_writer(&folder).err().unwrap().to_string();
    assert!(refused.contains("not part of the run"), "{refused}");
    assert_eq!(fs::read_to_string(&target).unwrap(), "not ours");

    let folder = temp.join("pipe");
    fs::create_dir_all(&folder).unwrap();
    assert!(Command::new("mkfifo").arg(folder.join("run.ron")).status().unwrap().success());
    assert!(RunFolder::open(&folder).err().unwrap().to_string().contains("not a regular file"));
    let folder = crafted(&temp, "data", list);
    assert!(Command::new("mkfifo").arg(folder.join("spikes.u32")).status().unwrap().success());
    let run = RunFolder::open(&folder).unwrap();
    assert!(run.spikes().unwrap_or_default().is_empty());
    assert!(!run.notes.is_empty());
}
