//! `neuropil export`: writes a run in another format, or lists the formats that the run can be written in.

use super::{
    args::ExportArgs,
    error::CliError,
    experiment_info,
    progress::ProgressLine,
    run::{is_own, refuse_outside},
    signal,
    stdout::print_line,
};
use crate::{
    experiment::is_experiment,
    export::{self, About, ExportSettings, Format, PictureSize, WrittenFile},
    project::{RunFolder, outside_paths_of_run, provenance},
    sim::Progress,
};
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// Resolution of a picture without `--dpi`, dots per inch.
const DPI: f64 = 300.0;
/// Interval at which the progress is read.
const POLL: Duration = Duration::from_millis(10);

pub(super) fn export(args: &ExportArgs) -> Result<(), CliError> {
    signal::listen();
    if is_experiment(&args.run) {
        return experiment_info::export(args);
    }
    let run = RunFolder::open(&args.run)?;
    run.notes.iter().for_each(|note| eprintln!("neuropil: {note}"));
    let Some(format) = args.format else { return list(&run, args.json) };
    let settings = ExportSettings { picture: picture_size(args, format)?, about: about(args, format)? };
    if format.remakes_network() {
        check_inputs(&run, args)?;
    }
    let damaged = export::damaged(&run, format, &Progress::default())?;
    match damaged.first() {
        Some(first) if !args.allow_damaged => {
            let more = match damaged.len() - 1 {
                0 => String::new(),
                1 => " (and 1 more file)".to_owned(),
                n => format!(" (and {n} more files)"),
            };
            let what = format!("{}: {first}{more}; --allow-damaged exports what is there", args.run.display());
            return Err(CliError::Failed(what));
        }
        _ => damaged.iter().for_each(|why| eprintln!("neuropil: {why}; it is exported as it is")),
    }
    let files = watched(|progress| export::export_job(&run, format, args.out.as_deref(), &settings, progress))?;
    print(&files, args.json);
    Ok(())
}

/// Checks the input files of a run, which an export of connections reads again. Fails if the run is from another folder and
/// reads files outside its folder.
fn check_inputs(run: &RunFolder, args: &ExportArgs) -> Result<(), CliError> {
    provenance::changed(&run.manifest.data).iter().for_each(|note| eprintln!("neuropil: {note}"));
    if args.allow_outside || is_own(&args.run) {
        return Ok(());
    }
    refuse_outside(&outside_paths_of_run(run, &run.project()?), "run")
}

/// Returns subject and session from the arguments, and names the fields that archives require and that are missing. Fails if a field
/// has another form or the format has no such fields.
pub(super) fn about(args: &ExportArgs, format: Format) -> Result<About, CliError> {
    let mut about = About::default();
    args.about.iter().try_for_each(|text| about.set(text)).map_err(|why| CliError::Usage(format!("--about {why}")))?;
    if format != Format::Nwb {
        return match args.about.is_empty() {
            true => Ok(about),
            false => Err(CliError::Usage(format!("--about describes a session; {} has none", format.label()))),
        };
    }
    let missing = about.missing();
    if !missing.is_empty() {
        eprintln!("neuropil: archives require {}; --about {}=VALUE adds it", missing.join(", "), missing[0]);
    }
    Ok(about)
}

/// Returns the size of the picture from the arguments. Fails if the format is not a picture or the size is not
/// possible.
fn picture_size(args: &ExportArgs, format: Format) -> Result<PictureSize, CliError> {
    let Some(width_mm) = args.width_mm else { return Ok(PictureSize::default()) };
    if format != Format::Png {
        let what = format!("--width-mm is the width of a picture; {} has none", format.label());
        return Err(CliError::Usage(what));
    }
    PictureSize::on_paper(width_mm, args.dpi.unwrap_or(DPI)).map_err(CliError::Usage)
}

/// Runs an export and shows its progress. An interrupt cancels the export, which then leaves no file.
pub(super) fn watched(
    export: impl FnOnce(&Arc<Progress>) -> std::io::Result<Vec<WrittenFile>> + Send,
) -> Result<Vec<WrittenFile>, CliError> {
    let _closing = signal::closing();
    let (progress, line) = (Arc::new(Progress::default()), ProgressLine::new());
    let written = std::thread::scope(|scope| {
        let job = scope.spawn(|| export(&progress));
        while !job.is_finished() {
            let (stage, fraction) = progress.now();
            line.update(fraction.into(), 1.0, || stage);
            if signal::interrupted() {
                progress.cancel();
            }
            std::thread::sleep(POLL);
        }
        job.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    line.clear();
    match written {
        Err(_) if progress.is_cancelled() => Err(CliError::Cancelled(String::new())),
        written => Ok(written?),
    }
}

/// Prints the written files, one per line, or as JSON with their sizes.
pub(super) fn print(files: &[WrittenFile], as_json: bool) {
    if !as_json {
        return files.iter().for_each(|file| print_line!("{}", file.path.display()));
    }
    let file = |file: &WrittenFile| json!({ "file": file.path.display().to_string(), "bytes": file.n_bytes });
    print_line!("{:#}", json!({ "files": files.iter().map(file).collect::<Vec<_>>() }));
}

/// Prints the formats, each with its content or the reason why the run cannot be written in it.
fn list(run: &RunFolder, as_json: bool) -> Result<(), CliError> {
    let offered = export::offered(run)?;
    if as_json {
        let format = |(format, why_not): &(Format, Option<&str>)| {
            json!({
                "format": format.name(), "label": format.label(), "holds": format.docs(),
                "can_export": why_not.is_none(), "why_not": why_not,
            })
        };
        let formats: Vec<_> = offered.iter().map(format).collect();
        print_line!("{:#}", json!({ "run": run.path.display().to_string(), "formats": formats }));
        return Ok(());
    }
    for (format, why_not) in offered {
        match why_not {
            None => print_line!("{:<12} {}", format.name(), format.docs()),
            Some(why) => print_line!("{:<12} not possible: {}", format.name(), why),
        }
    }
    Ok(())
}
