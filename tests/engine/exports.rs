//! Exports: whole files with every probe, never in place of a file of the run.

use crate::fake;
use fake::PROBES;
use neuropil::data::npz::NpzArchive;
use neuropil::{
    engine::{RecordingEnd, RecordingStart, Sink as _},
    export::{ExportSettings, Format, export, export_job, offered},
    project::{Project, RunFolder, RunStart, RunWriter},
    sim::{Clock, Frame, Progress, Reading, Series, Simulation as _, Spike, Tap},
};
use neuropil_test_support::temp::TempFolder;
use parquet::{
    file::reader::{FileReader as _, SerializedFileReader},
    record::RowAccessor as _,
};
use std::{fs, path::Path, sync::Arc};

const CLOCK: Clock = Clock::seconds(100, 1e-3);

/// A run of 100 steps: a spike per step, `v` of the elements 3 and 1, two fields.
pub fn record(folder: &Path) -> RunFolder {
    let taps = vec![Tap::of(0), Tap::elements(1, vec![3, 1]), Tap::of(2)];
    let mut project = Project { name: "test".into(), ..Project::default() };
    for text in ["network.source=Balanced", "network.n_neurons=100", "network.in_degree=5"] {
        project.set(text, Path::new(".")).unwrap();
    }
    let sim = fake::new();
    let start = RunStart {
        project: &project,
        base: Path::new("."),
        taps,
        sets: sim.sets(),
        device: "CPU".into(),
        threads: 1,
        command: String::new(),
        trial: None,
        trials: 0,
    };
    let mut writer = Box::new(RunWriter::create(folder, start).unwrap().with_probes(PROBES));
    let start = RecordingStart { clock: Clock { step: 0, ..CLOCK }, ..RecordingStart::default() };
    writer.begin(&start).unwrap();
    for from in [0_u32, 50] {
        let spikes = (from..from + 50).map(|step| Spike { step, lane: step % 50 }).collect();
        let steps: Vec<u64> = (from..from + 50).map(u64::from).collect();
        let values = steps.iter().flat_map(|s| [*s as f32, -(*s as f32)]).collect();
        let series = Series { elements: vec![3, 1], lanes: 2, steps, values };
        let field = (0..50).map(|i| i as f32).collect();
        let readings = vec![
            (0.into(), Reading::Spikes(spikes)),
            (1.into(), Reading::Series(series)),
            (2.into(), Reading::field(field)),
        ];
        let clock = Clock { step: u64::from(from) + 50, ..CLOCK };
        writer.write(&Frame { clock, readings, ..Frame::default() }).unwrap();
    }
    writer.finish(&RecordingEnd { clock: CLOCK, ..RecordingEnd::default() }).unwrap();
    RunFolder::open(folder).unwrap()
}

#[test]
fn npz_names_the_elements_of_probes() {
    let temp = TempFolder::new("npz");
    let run = record(&temp.join("run"));
    let out = temp.join("out.npz");
    assert_eq!(export(&run, Format::Npz, Some(&out)).unwrap(), std::slice::from_ref(&out));
    let mut archive = NpzArchive::open(&out).unwrap();
    let mut numbers = |name: &str| -> (Vec<u64>, Vec<i64>) {
        let file = archive.by_name(name).unwrap().unwrap_or_else(|| panic!("no {name}"));
        (file.shape().to_vec(), file.into_vec().unwrap())
    };
    assert_eq!(numbers("v_elements"), (vec![2], vec![3, 1]));
    assert_eq!(numbers("spike_ids").1.len(), 100);
    let mut archive = NpzArchive::open(&out).unwrap();
    let ids: Vec<u64> = archive.by_name("v_ids").unwrap().unwrap().into_vec().unwrap();
    assert_eq!(ids, [3 << 40, 1 << 40]);
    let v = archive.by_name("v").unwrap().unwrap();
    assert_eq!(v.shape(), [100, 2]);
    assert_eq!(v.into_vec::<f32>().unwrap()[198..], [99.0, -99.0]);
    assert_eq!(archive.by_name("field").unwrap().unwrap().shape(), [2, 50]);
    assert_eq!(archive.by_name("field_ids").unwrap().unwrap().shape(), [50]);
}

#[test]
fn npz_names_the_lanes_of_series() {
    let temp = TempFolder::new("lanes");
    let folder = temp.join("run");
    fs::create_dir_all(&folder).unwrap();
    let stream =
        "(probe: \"class_rates\", file: \"class_rates.f32\", shape: \"series\", width: 2, lanes: [\"ex\", \"größer\"])";
    let manifest =
        format!("(format: 1, kind: \"spiking\", status: Complete, secs_per_step: 0.001, streams: [{stream}])");
    fs::write(folder.join("run.ron"), manifest).unwrap();
    fs::write(folder.join("class_rates.f32"), [5_u64.to_le_bytes(), [0; 8]].concat()).unwrap();
    let out = temp.join("out.npz");
    export(&RunFolder::open(&folder).unwrap(), Format::Npz, Some(&out)).unwrap();
    let mut archive = NpzArchive::open(&out).unwrap();
    let lanes: Vec<String> = archive.by_name("class_rates_lanes").unwrap().unwrap().into_vec().unwrap();
    assert_eq!(lanes, ["ex", "größer"]);
}

#[test]
fn parquet_holds_every_probe() {
    let temp = TempFolder::new("parquet");
    let run = record(&temp.join("run"));
    let files = export(&run, Format::Parquet, Some(&temp.join("out.parquet"))).unwrap();
    let names: Vec<_> = files.iter().map(|f| f.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(names, ["out.parquet", "out.v.parquet", "out.field.parquet"]);
    let open = |name: &str| SerializedFileReader::new(fs::File::open(temp.join(name)).unwrap()).unwrap();
    assert_eq!(open("out.parquet").metadata().file_metadata().num_rows(), 100);
    let v = open("out.v.parquet");
    assert_eq!(v.metadata().file_metadata().num_rows(), 200);
    let last = v.get_row_iter(None).unwrap().last().unwrap().unwrap();
    assert_eq!((last.get_double(0).unwrap(), last.get_long(2).unwrap()), (0.099, 99));
    assert_eq!(
        (last.get_uint(3).unwrap(), last.get_string(4).unwrap().as_str(), last.get_float(5).unwrap()),
        (1, "1", -99.0)
    );
    assert_eq!(open("out.field.parquet").metadata().file_metadata().num_rows(), 100);
}

/// A run without events: an image of it would be white.
#[test]
fn a_run_without_events_has_no_raster_and_files_named_after_its_kind() {
    let temp = TempFolder::new("no-events");
    let folder = temp.join("run");
    fs::create_dir_all(&folder).unwrap();
    let loss = "(probe: \"loss\", file: \"loss.f32\", shape: \"series\", width: 1)";
    let manifest =
        format!("(format: 2, kind: \"transformer\", status: Complete, secs_per_step: 1.0, streams: [{loss}])");
    fs::write(folder.join("run.ron"), manifest).unwrap();
    fs::write(folder.join("loss.f32"), [&5_u64.to_le_bytes()[..], &0.25_f32.to_le_bytes()].concat()).unwrap();
    let run = RunFolder::open(&folder).unwrap();
    let exported = |format: Format, out: Option<&Path>| {
        let files = export(&run, format, out).map_err(|error| error.to_string())?;
        Ok::<_, String>(files.iter().map(|f| f.file_name().unwrap().to_string_lossy().into_owned()).collect::<Vec<_>>())
    };
    let why = exported(Format::Png, None).unwrap_err();
    assert!(why.ends_with("No events (spikes, births) were recorded"), "{why}");
    assert!(!folder.join("spikes.png").exists() && Format::Png.why_not(&[&run.manifest]).is_some());
    assert_eq!(exported(Format::Csv, None).unwrap(), ["loss.csv"]);
    assert_eq!(exported(Format::Csv, Some(&temp.join("out.csv"))).unwrap(), ["out.loss.csv"]);
    assert_eq!(exported(Format::Parquet, None).unwrap(), ["loss.parquet"]);
    assert_eq!(exported(Format::Npz, None).unwrap(), ["transformer.npz"]);
    let mut archive = NpzArchive::open(folder.join("transformer.npz")).unwrap();
    let mut names: Vec<String> = archive.array_names().collect();
    names.sort();
    assert_eq!(names, ["loss", "loss_t", "t_start", "t_stop", "time_unit"]);
    assert!(archive.by_name("loss").unwrap().is_some());
}

/// Births are no spikes: they have their own names in every format.
#[test]
fn other_events_have_their_own_names() {
    let temp = TempFolder::new("births");
    let folder = temp.join("run");
    fs::create_dir_all(&folder).unwrap();
    let births = "(probe: \"births\", file: \"births.u32\", shape: \"spikes\", width: 2)";
    let manifest = format!(
        "(format: 2, kind: \"nuclei\", status: Complete, secs_per_step: 1.0, last_step: 9, streams: [{births}])"
    );
    fs::write(folder.join("run.ron"), manifest).unwrap();
    fs::write(folder.join("births.u32"), [5_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat()).unwrap();
    let run = RunFolder::open(&folder).unwrap();
    let exported = |format: Format| export(&run, format, None).unwrap().remove(0);
    assert!(exported(Format::Csv).ends_with("births.csv") && exported(Format::Parquet).ends_with("births.parquet"));
    assert!(exported(Format::Png).ends_with("births.png"), "a raster of births");
    let mut archive = NpzArchive::open(exported(Format::Npz)).unwrap();
    assert!(archive.by_name("spike_times").unwrap().is_none());
    let steps: Vec<u32> = archive.by_name("births_steps").unwrap().unwrap().into_vec().unwrap();
    assert_eq!(steps, [5]);
}

#[test]
fn formats_are_one_list() {
    for format in Format::ALL {
        let by_name = Format::ALL.into_iter().find(|other| other.name() == format.name());
        assert_eq!(by_name, Some(format));
        assert!(!format.label().is_empty() && !format.docs().ends_with('.'));
    }
}

#[test]
fn a_replaced_run_leaves_no_exports() {
    let temp = TempFolder::new("exports");
    let folder = temp.join("run");
    record(&folder);
    for format in Format::ALL {
        let exported = export(&RunFolder::open(&folder).unwrap(), format, None).map_err(|error| error.to_string());
        let missing = match format {
            Format::Safetensors => "has no checkpoint",
            Format::HuggingFace => "no model of this kind",
            Format::Newick => "No lineage was recorded",
            _ => "",
        };
        match exported {
            Ok(_) => assert!(missing.is_empty(), "{}: wrote a file", format.label()),
            Err(why) => assert!(!missing.is_empty() && why.contains(missing), "{}: {why}", format.label()),
        }
    }
    fs::write(folder.join("spikes.npz"), "changed by its user").unwrap();
    assert!(folder.join("spikes.csv").exists() && folder.join("spikes.parquet").exists());
    record(&folder);
    let mut names: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    assert!(names.contains(&"spikes.npz".to_owned()) && names.contains(&"spikes.u32".to_owned()), "{names:?}");
    assert!(names.iter().all(|n| !n.ends_with("csv") || n == "timings.csv"), "{names:?}");
    let is_export = |n: &String| [".parquet", ".png", ".zarr", ".sonata"].iter().any(|end| n.ends_with(end));
    assert!(!names.iter().any(is_export), "{names:?}");
}

#[test]
fn an_export_never_overwrites_its_run_and_leaves_no_parts() {
    let temp = TempFolder::new("export");
    let folder = temp.join("run");
    let run = record(&folder);
    for name in ["spikes.u32", "run.ron", "project.ron", "run.lock", "commands.ron", "timings.csv"] {
        let before = fs::read(folder.join(name)).unwrap();
        let why = export(&run, Format::Csv, Some(&folder.join(name))).unwrap_err().to_string();
        assert!(why.contains("part of the run"), "{why}");
        assert_eq!(fs::read(folder.join(name)).unwrap(), before, "{name}");
    }
    // A spike stream that ends in mid-record of a file that is gone: the old export stays whole.
    let out = temp.join("out.csv");
    fs::write(&out, "old").unwrap();
    fs::remove_file(folder.join("spikes.u32")).unwrap();
    fs::create_dir(folder.join("spikes.u32")).unwrap();
    let run = RunFolder::open(&folder).unwrap();
    assert!(export(&run, Format::Csv, Some(&out)).is_err());
    assert_eq!(fs::read_to_string(&out).unwrap(), "old");
    let parts =
        fs::read_dir(&temp).unwrap().filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().contains("tmp"));
    assert_eq!(parts.count(), 0);
}

/// An export reports its progress up to the end. One that is cancelled, at any report, leaves neither files nor parts.
#[test]
fn an_export_reports_progress_and_can_be_cancelled() {
    let temp = TempFolder::new("cancel");
    let run = record(&temp.join("run"));
    let exported = |format: Format, progress: Progress| {
        let progress = Arc::new(progress);
        let out = temp.join("out").with_extension(format.extension());
        let files = export_job(&run, format, Some(&out), &ExportSettings::default(), &progress);
        (files, progress)
    };
    for format in [Format::Csv, Format::Npz, Format::Parquet, Format::Png] {
        let before = fs::read_dir(&temp).unwrap().count();
        let (files, progress) = exported(format, Progress::cancelled_at(1));
        assert_eq!(files.unwrap_err().kind(), std::io::ErrorKind::Interrupted, "{format:?}");
        assert_eq!((fs::read_dir(&temp).unwrap().count(), progress.is_cancelled()), (before, true), "{format:?}");
        let (files, progress) = exported(format, Progress::default());
        let files = files.unwrap();
        assert!(files.iter().all(|file| file.n_bytes == fs::metadata(&file.path).unwrap().len() && file.n_bytes > 0));
        assert_eq!(progress.now().0, format!("Writing {}", format.label()));
        assert!(progress.reports() > 0);
    }
}

#[test]
fn a_run_names_the_formats_it_can_be_written_in() {
    let temp = TempFolder::new("offered");
    let run = record(&temp.join("run"));
    let refused: Vec<_> = offered(&run).unwrap().into_iter().filter_map(|(f, why)| Some((f, why?))).collect();
    let expected = [
        (Format::Safetensors, "The run has no checkpoint"),
        (Format::HuggingFace, "`transformers` has no model of this kind"),
        (Format::Newick, "No lineage was recorded"),
    ];
    assert_eq!(refused, expected);
}

/// 16 million spikes: the file alone nearly fills the memory that the program may have.
#[cfg(target_os = "linux")]
#[test]
fn an_export_takes_memory_for_a_part_of_the_run_only() {
    let temp = TempFolder::new("memory");
    let folder = temp.join("run");
    fs::create_dir_all(&folder).unwrap();
    let stream = "(probe: \"spikes\", file: \"spikes.u32\", shape: \"spikes\", width: 2, over: \"neurons\")";
    let head = "format: 1, kind: \"spiking\", status: Complete, secs_per_step: 0.0001, last_step: 1000";
    let manifest = format!("({head}, streams: [{stream}], sets: [(name: \"neurons\", len: 100)])");
    fs::write(folder.join("run.ron"), manifest).unwrap();
    fs::File::create(folder.join("spikes.u32")).unwrap().set_len(128 << 20).unwrap();
    let (program, out) = (env!("CARGO_BIN_EXE_neuropil"), temp.join("out.png"));
    let export = format!("exec {program} export {} --format png --out {}", folder.display(), out.display());
    let output =
        std::process::Command::new("bash").args(["-c", &format!("ulimit -v 190000; {export}")]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(out.exists());
}

/// The unit of times has one name in every format.
#[test]
fn formats_name_the_unit_of_time() {
    for (kind, secs, unit) in [("spiking", "0.001", "s"), ("nuclei", "1.0", "generations")] {
        let temp = TempFolder::new(&format!("unit-{kind}"));
        let folder = temp.join("run");
        fs::create_dir_all(&folder).unwrap();
        let stream = "(probe: \"spikes\", file: \"spikes.u32\", shape: \"spikes\", width: 2)";
        let manifest =
            format!("(format: 2, kind: \"{kind}\", status: Complete, secs_per_step: {secs}, streams: [{stream}])");
        fs::write(folder.join("run.ron"), manifest).unwrap();
        fs::write(folder.join("spikes.u32"), [5_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat()).unwrap();
        let run = RunFolder::open(&folder).unwrap();
        let written = |format: Format| export(&run, format, None).unwrap().remove(0);
        let mut archive = NpzArchive::open(written(Format::Npz)).unwrap();
        let units: Vec<String> = archive.by_name("time_unit").unwrap().unwrap().into_vec().unwrap();
        assert_eq!(units, [unit]);
        let csv = fs::read_to_string(written(Format::Csv)).unwrap();
        assert!(csv.starts_with(&format!("t_{unit},step,idx\n")), "{csv}");
        let file = SerializedFileReader::new(fs::File::open(written(Format::Parquet)).unwrap()).unwrap();
        let metadata = file.metadata().file_metadata().key_value_metadata().expect("metadata").clone();
        assert!(metadata.iter().any(|m| m.key == "time_unit" && m.value.as_deref() == Some(unit)), "{metadata:?}");
    }
}
