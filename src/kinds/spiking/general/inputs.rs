//! External inputs of a plan.

use super::{
    ExternalInput, InputSource,
    delay::delay_steps,
    fixed_point,
    patterns::schedule::PatternPlan,
    plan::{Drive, InputPlan, PopulationPlan, extremes, input, named, receptor},
};
use crate::{num::poisson::PoissonTable, sim::SimError};

/// Checks an external input; returns the index of its population. Fails if the population does not exist, or a value is not finite.
pub fn check<'a>(
    i: usize,
    of: &'a ExternalInput,
    populations: &[PopulationPlan],
) -> Result<(usize, &'a ExternalInput), SimError> {
    let at =
        named(&of.population, populations).map_err(|why| input(format!("external_inputs.{i}: population: {why}")))?;
    let values = match &of.source {
        InputSource::Poisson(p) => vec![p.rate, p.weight, p.delay],
        InputSource::Current(c) => vec![extremes(c.amplitude).0, extremes(c.amplitude).1],
        InputSource::Patterns(p) => vec![p.rate, p.weight_mv, p.present, p.pause],
    };
    match values.iter().all(|x| x.is_finite()) {
        true => Ok((at, of)),
        false => Err(input(format!("external_inputs.{i}: values are finite numbers"))),
    }
}

/// Returns the plan of the presented patterns; `None` if no input presents any. Fails if several do, or they cannot be presented.
pub fn patterns(
    inputs: &[(usize, &ExternalInput)],
    populations: &[PopulationPlan],
    dt_ms: f64,
) -> Result<Option<PatternPlan>, SimError> {
    let mut planned: Option<PatternPlan> = None;
    for (i, (at, of)) in inputs.iter().enumerate() {
        let InputSource::Patterns(of) = &of.source else { continue };
        let refuse = |why: String| input(format!("external_inputs.{i}: {why}"));
        if let Some(first) = &planned {
            return Err(refuse(format!(
                "external_inputs.{} presents patterns already. Remove one of them",
                first.input
            )));
        }
        let range = |i: usize| populations[i].first..populations[i].first + populations[i].n;
        let readout = Some(of.readout.trim()).filter(|name| !name.is_empty());
        let readout = readout.map(|name| named(name, populations).map(range)).transpose();
        let readout = readout.map_err(|why| refuse(format!("source.readout: {why}")))?;
        planned = Some(PatternPlan::new(i, of, range(*at), readout, dt_ms).map_err(refuse)?);
    }
    Ok(planned)
}

/// Returns the plan of a checked input.
pub fn plan(population: usize, of: &ExternalInput, to: &PopulationPlan, dt_ms: f64) -> InputPlan {
    let drive = match &of.source {
        InputSource::Poisson(p) => {
            let receptor = receptor(p.receptor, p.weight);
            Drive::Poisson {
                table: PoissonTable::new(p.rate.max(0.0) * dt_ms * 1e-3),
                weight: fixed_point::rounded(p.weight, to.exponents[receptor]),
                receptor,
                since: delay_steps(p.delay, dt_ms).max(0.0) as u64,
            }
        }
        InputSource::Current(c) => Drive::Current(c.amplitude),
        InputSource::Patterns(_) => Drive::Patterns,
    };
    InputPlan { population, drive }
}
