//! `neuropil new`: writes a project file.

use super::{args::NewArgs, error::CliError, run::here, stdout::print_line};
use crate::{
    data::circuit::config_of,
    kinds::Model,
    project::{self, Project},
    sim::FileValues,
};
use serde_json::json;
use std::path::{Path, PathBuf};

pub(super) fn new(args: &NewArgs) -> Result<(), CliError> {
    let (mut project, left_out, name) = start(&args.from)?;
    let mut taken = (vec![], FileValues::default());
    if let Some(weights) = &args.weights {
        taken = take_weights(&mut project, weights)?;
    }
    for text in &args.set {
        project.set(text, &here())?;
    }
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.ron")));
    if out.exists() && !args.replace {
        let what = format!("{} exists; --replace overwrites it, --out names another file", out.display());
        return Err(CliError::Usage(what));
    }
    project::save(&project, &out)?;
    let (changed, FileValues { notes, .. }) = taken;
    let notes = [left_out, notes].concat();
    if args.json {
        let path = out.display().to_string();
        print_line!(
            "{:#}",
            json!({ "project": path, "kind": project.model.name(), "changed": changed, "notes": notes })
        );
        return Ok(());
    }
    print_line!("{}", out.display());
    changed.iter().for_each(|line| print_line!("  {line}"));
    notes.iter().for_each(|note| eprintln!("neuropil: {note}"));
    Ok(())
}

/// Returns the project of a kind, an example, a file or a SONATA circuit, sentences about what the project does not hold, and the name
/// of a file for it. Fails if there is none of this name.
fn start(from: &str) -> Result<(Project, Vec<String>, String), CliError> {
    if let Some(project) = project::new_project(from) {
        return Ok((project, vec![], from.to_owned()));
    }
    let models = Model::all();
    let mut examples = models.iter().flat_map(|model| model.examples());
    if let Some(example) = examples.find(|example| example.name == from) {
        return Ok((project::read(example.file)?.0, vec![], from.to_owned()));
    }
    let path = Path::new(from);
    if let Some(config) = config_of(path).filter(|config| config.exists()) {
        let (project, notes) = project::of_circuit(&config)?;
        let name = project.name.clone();
        return Ok((project, notes, name));
    }
    if !path.exists() {
        let names = models.iter().flat_map(|model| model.examples()).map(|example| example.name);
        let known: Vec<&str> = models.iter().map(Model::name).chain(names).collect();
        let what =
            format!("there is no kind, example, project file or circuit `{from}`; there are {}", known.join(", "));
        return Err(CliError::Usage(what));
    }
    let (project, warnings) = project::open(path)?;
    warnings.iter().for_each(|warning| eprintln!("{}: {warning}", path.display()));
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    Ok((project, vec![], format!("{stem}-new")))
}

/// Sets the initial weights, and the parameters that follow from their file. Returns a line for each of these parameters that
/// changed. Fails if the kind takes no weights of this form, or the file is unreadable.
fn take_weights(project: &mut Project, weights: &Path) -> Result<(Vec<String>, FileValues), CliError> {
    let parameter = project.model.shape_file();
    if parameter.is_empty() {
        let what = format!("--weights: projects of the kind `{}` take no shape from weights", project.model.name());
        return Err(CliError::Usage(what));
    }
    project.set(&format!("{parameter}={}", weights.display()), &here())?;
    let values = project.model.values_of_file(&project.build_context(&here()))?;
    let changed = values.apply(project.model.params_mut())?;
    Ok((changed, values))
}
