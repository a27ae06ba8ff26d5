//! Metadata of an NWB file: session, subject, project and hashes.

use super::objects::{Nwb, attributes};
use crate::{
    export::{About, trial::time_unit},
    project::{RunFolder, run::PROJECT},
    sim::TimeBase,
};
use serde_json::json;
use std::{fmt::Write as _, io};

/// Fields of the session that are written as they are given.
const PLAIN: [&str; 2] = ["institution", "lab"];
/// Fields of the subject.
const SUBJECT: [&str; 6] = ["subject_id", "species", "sex", "age", "strain", "genotype"];
/// Largest project that is included.
const MAX_PROJECT: u64 = 16 << 20;

/// Writes the metadata. `no_elements` is the reason why positions and categories are not included. Fails if a file cannot be
/// written.
pub(super) fn write(nwb: &mut Nwb, run: &RunFolder, about: &About, no_elements: Option<&str>) -> io::Result<()> {
    let manifest = &run.manifest;
    let none = || attributes(json!({}));
    nwb.store.texts("file_create_date", [&manifest.stopped], none())?;
    nwb.text("identifier", &identifier(run), none())?;
    nwb.text("session_description", &description(run), none())?;
    let start = about.get("session_start_time").unwrap_or(&manifest.started);
    nwb.text("session_start_time", start, none())?;
    nwb.text("timestamps_reference_time", start, none())?;
    let folder = run.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    nwb.text("general/session_id", about.get("session_id").unwrap_or(&folder), none())?;
    let notes = run.project().map(|project| project.notes).unwrap_or_default();
    let experiment =
        about.get("experiment_description").unwrap_or(if notes.is_empty() { &manifest.name } else { &notes });
    nwb.text("general/experiment_description", experiment, none())?;
    for field in PLAIN {
        if let Some(value) = about.get(field) {
            nwb.text(&format!("general/{field}"), value, none())?;
        }
    }
    let experimenters = about.list("experimenter");
    if !experimenters.is_empty() {
        nwb.store.texts("general/experimenter", experimenters, none())?;
    }
    let mut keywords = about.list("keywords");
    keywords.extend(["simulation", &manifest.kind].iter().filter(|word| !about.list("keywords").contains(word)));
    nwb.store.texts("general/keywords", keywords, none())?;
    nwb.text("general/notes", &notes_of(run, no_elements), none())?;
    let project = crate::data::read_text_at_most(&run.path.join(PROJECT), MAX_PROJECT, &|_, _| true);
    if let Ok(project) = project {
        nwb.text("general/source_script", &project, attributes(json!({ "file_name": PROJECT })))?;
    }
    subject(nwb, about)
}

fn subject(nwb: &mut Nwb, about: &About) -> io::Result<()> {
    if !about.has_subject() {
        return Ok(());
    }
    let path = "general/subject";
    let typed = nwb.typed(path, "Subject");
    nwb.store.group(path, typed)?;
    for field in SUBJECT {
        let Some(value) = about.get(field) else { continue };
        let more = if field == "age" { json!({ "reference": "birth" }) } else { json!({}) };
        nwb.text(&format!("{path}/{field}"), value, attributes(more))?;
    }
    Ok(())
}

/// Returns a text that no other run has.
fn identifier(run: &RunFolder) -> String {
    let manifest = &run.manifest;
    let id = if manifest.id.is_empty() { &manifest.started } else { &manifest.id };
    format!("{} {id}", manifest.kind)
}

fn description(run: &RunFolder) -> String {
    let manifest = &run.manifest;
    let time = match manifest.time_base() {
        TimeBase::Seconds { .. } => String::new(),
        TimeBase::Count { .. } => format!(" Times count {}: 1 s in this file is one of them.", time_unit(manifest)),
    };
    format!("Simulation of {} ({}), recorded by {}.{time}", manifest.name, manifest.kind, manifest.app)
}

/// Lists what identifies and repeats the run, one line each.
fn notes_of(run: &RunFolder, no_elements: Option<&str>) -> String {
    let m = &run.manifest;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name}: {value}");
        }
    };
    line("program", &m.app);
    line("kind", &m.kind);
    line("run", &m.id);
    line("status", m.status.word());
    line("seed", &m.seed.to_string());
    line("seed of generated data", &m.setup_seed.to_string());
    line("random numbers", &m.rng);
    line("device", &m.device);
    line("seconds per step", &m.secs_per_step.to_string());
    line("steps", &format!("{} to {}", m.first_step, m.last_step));
    line("hash", &m.digest.hash);
    line("data hash", &m.data_hash().unwrap_or_default());
    line("totals", &m.digest.totals_text());
    for file in &m.files {
        line(&format!("XXH64 of {}", file.name), &file.hash);
    }
    for file in &m.data {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        line(
            &format!("input file {name} ({})", file.parameter),
            &format!("{} bytes, hash {}", file.n_bytes, file.hash),
        );
    }
    line("positions and categories are missing", no_elements.unwrap_or(""));
    text
}
