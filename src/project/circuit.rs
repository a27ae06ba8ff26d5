//! Projects from SONATA circuits.

use super::{Project, RunPlan};
use crate::{
    kinds::Model,
    sim::{ImportedNetwork, Shape, SimError},
};
use std::path::Path;

/// Returns a project with the network of a SONATA circuit, which records spikes, and sentences about parts of the circuit that it does
/// not hold. `path` is a `circuit_config.json` or a `simulation_config.json`; the project names the files of the circuit by absolute
/// paths.
///
/// # Errors
/// Fails with the file and the place in it if the configuration or a file that it names is missing or damaged.
pub fn of_circuit(path: &Path) -> Result<(Project, Vec<String>), SimError> {
    let ImportedNetwork { params: model, name, duration_ms, seed, notes } = Model::of_circuit(path)?;
    let mut project = Project { name, model, ..Project::default() };
    let probes = project.model.probes().iter();
    project.record = probes.filter(|p| matches!(p.shape, Shape::Spikes { .. })).map(|p| p.name.to_owned()).collect();
    project.seed = seed.unwrap_or(project.seed);
    project.run = RunPlan { duration_ms: duration_ms.unwrap_or(project.run.duration_ms), ..project.run };
    Ok((project, notes))
}
