//! A build that several conditions share: the prepared model, and the measures of its trials.

use super::setting::Setting;
use crate::{
    engine::SimSchema,
    experiment::measure::{self, Meter, ResolvedMeasure},
    kinds::Prepared,
    project::{Elements, Project, experiment::Experiment, experiment::TrialRecording},
    sim::{BuildContext, Device, Progress, Shape, SimError, Simulation, Tap, tap::TapKey},
};
use std::{path::Path, sync::Arc};

/// Prepared model with the properties that all its trials have.
pub(in crate::experiment) struct Build {
    /// Project of the build. Conditions of the build differ from it in parameters that need no other build.
    pub project: Project,
    pub prepared: Box<dyn Prepared>,
    pub schema: SimSchema,
    pub measures: Arc<[ResolvedMeasure]>,
    /// Probes that are read in every trial.
    pub taps: Vec<Tap>,
    /// Number of steps of a trial.
    pub until: u64,
    /// Key of the first probe of events, and number of elements of its set; `None` if the kind has no events.
    pub events: Option<(TapKey, u32)>,
}

impl Build {
    /// Prepares a project, and starts one simulation of it, which shows whether the device is usable and which elements exist.
    /// Fails if the model or a measure is invalid, the run has no end, or memory does not suffice.
    pub fn new(
        project: &Project,
        base: &Path,
        setting: &Setting,
        progress: &Progress,
    ) -> Result<(Self, Box<dyn Simulation>), SimError> {
        let Some(until) = project.planned_steps() else {
            return Err(SimError::Input("trials need an end: set the duration of a run".to_owned()));
        };
        let context = BuildContext { ignores_memory: setting.ignores_memory, ..project.build_context(base) };
        let prepared = project.model.prepare(&context, progress)?;
        let sim = prepared.start_trials(&[(project.seed, &[])], &setting.device, progress)?;
        let schema = SimSchema::of(&*sim);
        let experiment = project.experiment.clone().unwrap_or_default();
        let measures =
            measure::resolve(project, &experiment.measures, &schema, base, until).map_err(SimError::Input)?;
        let taps = taps(project, &experiment, &schema, base, &measures)?;
        prepared.check(setting.device.kind(), &taps)?;
        let events = schema.probes.iter().zip(0..).find_map(|(probe, id)| match probe.shape {
            Shape::Spikes { over } => Some((TapKey::from(id), schema.sets.iter().find(|set| set.name == over)?.len)),
            _ => None,
        });
        let new = Self { project: project.clone(), prepared, schema, measures, taps, until, events };
        Ok((new, sim))
    }

    /// Returns how many of `n` trials run at a time, and the device of each.
    pub fn workers(&self, n: usize, device: &Device) -> Result<(usize, Device), SimError> {
        let at_once = self.prepared.concurrent_trials(n.max(1), device)?;
        let own = match device {
            Device::Cpu { threads } if at_once > 1 && *threads > 1 => Device::Cpu { threads: 1 },
            other => other.clone(),
        };
        Ok((at_once, own))
    }
}

/// Returns the taps of the measures, and of recorded trials the recorded probes too.
fn taps(
    project: &Project,
    experiment: &Experiment,
    schema: &SimSchema,
    base: &Path,
    measures: &[ResolvedMeasure],
) -> Result<Vec<Tap>, SimError> {
    let mut taps = vec![];
    if experiment.record == TrialRecording::EveryTrial {
        let elements = Elements { sets: &schema.sets, connectivity: schema.connectivity.as_ref(), base: Some(base) };
        let (recorded, problems) = project.taps_in(&elements);
        if let Some(problem) = problems.into_iter().next() {
            return Err(SimError::Input(problem));
        }
        Tap::merge(&mut taps, recorded);
    }
    Tap::merge(&mut taps, Meter::taps(measures));
    Ok(taps)
}
