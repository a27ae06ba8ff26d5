//! `neuropil validate`: makes every check of `run` without allocating the simulation.

use super::{
    args::ValidateArgs, error::CliError, info, progress::ProgressLine, run, session, signal, stdout::print_line,
};
use crate::{
    data::counted,
    experiment::expand,
    project::{self, DeviceChoice, Elements, Project},
    sim::DeviceKind,
};
use serde_json::{Value as Json, json};
use std::path::Path;

/// Findings about a project file.
#[derive(Default)]
struct Report {
    /// Reasons why `run` refuses the project.
    errors: Vec<String>,
    /// Unknown fields and replaced values, each with its line in the file if known.
    warnings: Vec<(Option<u32>, String)>,
    /// Predicted memory, one line per device.
    memory: Vec<String>,
    /// Number of trainable parameters; `None` if the kind trains none, or the input was not read.
    parameters: Option<u64>,
}

pub(super) fn validate(args: &ValidateArgs) -> Result<(), CliError> {
    signal::listen();
    let path = &args.project;
    let (project, warnings) = match project::open(path) {
        Ok(opened) => opened,
        Err(error) if args.json => {
            let report = Report { errors: vec![error.to_string()], ..Report::default() };
            print_line!("{:#}", json_of(path, &report));
            return Err(error.into());
        }
        Err(error) => return Err(error.into()),
    };
    let mut report = Report { memory: info::memory_lines(&project.model), ..Report::default() };
    report.warnings = warnings.iter().map(|w| (Some(w.line), w.what.clone())).collect();
    report.warnings.extend(project.model.warnings().into_iter().map(|warning| (None, warning.text)));
    check(&project, path, args.allow_outside, &mut report)?;
    if args.json {
        print_line!("{:#}", json_of(path, &report));
    } else {
        print(path, &report);
    }
    let place = path.display();
    match (report.errors.len(), report.warnings.len()) {
        (0, 0) => Ok(()),
        (0, n) if args.strict => {
            Err(CliError::Failed(format!("{place} opens with {}", counted(n, "warning", "warnings"))))
        }
        (0, _) => Ok(()),
        _ => Err(CliError::Usage(format!("{place}: `run` refuses this project"))),
    }
}

/// Makes the checks of `run` in the same order. Reads the input files or generates the network. Fails only if cancelled;
/// errors of the project are added to the report.
fn check(project: &Project, path: &Path, allow_outside: bool, report: &mut Report) -> Result<(), CliError> {
    let base = run::base_of(path);
    let (taps, problems) = project.taps();
    report.errors.extend(problems);
    if let Some(experiment) = &project.experiment {
        let elements = Elements { base: Some(&base), ..Elements::default() };
        report.errors.extend(expand(project, experiment, &elements).err().map(|why| format!("experiment: {why}")));
    }
    if let Err(CliError::Usage(why)) = run::check_outside(project, &base, allow_outside) {
        report.errors.push(why);
        return Ok(()); // the files of the project are not read
    }
    let prepared = match session::load(project, project.build_context(&base), false, &ProgressLine::new()) {
        Ok(prepared) => prepared,
        Err(cancelled @ CliError::Cancelled(_)) => return Err(cancelled),
        Err(why) => {
            report.errors.push(why.to_string());
            return Ok(());
        }
    };
    report.parameters = prepared.n_parameters();
    report.warnings.extend(prepared.notices().into_iter().map(|notice| (None, notice)));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let on = match project.run.device {
        DeviceChoice::Cuda => DeviceKind::Cuda,
        DeviceChoice::Auto | DeviceChoice::Cpu => DeviceKind::Cpu { threads },
    };
    if let Err(why) = prepared.check(on, &taps) {
        report.errors.push(why.to_string());
    }
    Ok(())
}

fn print(path: &Path, report: &Report) {
    let place = path.display();
    for (line, what) in &report.warnings {
        match line {
            Some(line) => print_line!("{place}:{line}: warning: {what}"),
            None => print_line!("{place}: warning: {what}"),
        }
    }
    report.errors.iter().for_each(|what| print_line!("{place}: error: {what}"));
    report.parameters.iter().for_each(|n| print_line!("{place}: {}", info::parameters_line(*n)));
    report.memory.iter().for_each(|line| print_line!("{place}: {line}"));
    match (report.errors.len(), report.warnings.len()) {
        (0, 0) => print_line!("{place}: valid"),
        (0, n) => print_line!("{place}: opens with {}", counted(n, "warning", "warnings")),
        (n, _) => print_line!("{place}: {}", counted(n, "error", "errors")),
    }
}

fn json_of(path: &Path, report: &Report) -> Json {
    let warnings = report.warnings.iter().map(|(line, what)| json!({ "line": line, "what": what }));
    json!({
        "project": path.display().to_string(),
        "valid": report.errors.is_empty(),
        "errors": report.errors,
        "warnings": warnings.collect::<Vec<_>>(),
        "memory": report.memory,
        "trainable_parameters": report.parameters,
    })
}
