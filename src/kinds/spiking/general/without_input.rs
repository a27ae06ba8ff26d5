//! Warnings about populations that receive no input and cannot spike without it.

use super::{PointNeuron, Population, plan::extremes};
use crate::{
    kinds::spiking::params::Params,
    params::{ParamValue as _, ParamWarning, Role},
};
use std::collections::BTreeSet;

/// Returns a warning per population to which neither a projection nor an external input leads, unless neurons reach the threshold
/// without input. There is none if a stimulus is enabled, because its targets are not known before the build.
pub fn warnings(params: &Params) -> Vec<ParamWarning> {
    let drives = |role: Role| matches!(role, Role::Excites | Role::ExcitesFromFile | Role::SetsParameter);
    let has_files = [&params.stimulus.kicks, &params.stimulus.poisson].iter().any(|file| !file.0.trim().is_empty());
    if has_files || params.interventions.iter().any(|v| v.enabled && drives(v.effect.role())) {
        return vec![];
    }
    let of_projections = params.projections.iter().map(|projection| projection.to.trim());
    let of_inputs = params.external_inputs.iter().map(|input| input.population.trim());
    let driven: BTreeSet<&str> = of_projections.chain(of_inputs).collect();
    let is_idle = |(_, p): &(usize, &Population)| !driven.contains(p.name.trim()) && !reaches_threshold(p);
    let warning = |(i, _): (usize, &Population)| ParamWarning {
        path: format!("populations.{i}.name").into(),
        text: format!(
            "populations.{i} receives no input, and its start potential and constant current are below the threshold: it \
             does not spike. Add an external input, or a projection to it"
        ),
    };
    params.populations.iter().enumerate().filter(is_idle).map(warning).collect()
}

/// Whether the start potential, or the potential to which the constant current leads, may reach the threshold.
fn reaches_threshold(population: &Population) -> bool {
    let (e_l, v_th, v_reset, gain, current) = match &population.model {
        PointNeuron::IafPscExp(m) => (m.e_l, m.v_th, m.v_reset, largest_ratio(m.tau_m, m.c_m), m.i_e),
        PointNeuron::IafPscAlpha(m) => (m.e_l, m.v_th, m.v_reset, largest_ratio(m.tau_m, m.c_m), m.i_e),
        PointNeuron::IafPscDelta(m) => (m.e_l, m.v_th, m.v_reset, largest_ratio(m.tau_m, m.c_m), m.i_e),
        PointNeuron::Cuba(m) => (m.e_l, m.v_th, m.v_reset, 1.0, m.i_e),
    };
    let most = |of: crate::params::Distribution| extremes(of).1;
    let steady = most(e_l) + gain * most(current).max(0.0);
    // An unknown value counts as one that reaches the threshold.
    let highest = steady.max(most(population.v_start)).max(most(v_reset));
    // A threshold that is not a number may be reached.
    highest.partial_cmp(&extremes(v_th).0).is_none_or(std::cmp::Ordering::is_ge)
}

/// Returns the largest quotient of two positive parameters.
fn largest_ratio(above: crate::params::Distribution, below: crate::params::Distribution) -> f64 {
    extremes(above).1 / extremes(below).0.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::spiking::Source,
        params::{Params as _, path},
    };

    /// Returns the paths of the warnings about three populations: `a` has an input, `b` a projection from `a`, `c` nothing.
    fn warned(edits: &[&str]) -> Vec<String> {
        let mut params = Params::default();
        params.network.source = Source::Rules;
        for name in ["a", "b", "c"] {
            params.populations.push(Population { name: name.into(), ..Population::default() });
        }
        let projection = super::super::Projection { from: "a".into(), to: " b".into(), ..Default::default() };
        params.projections.push(projection);
        let input = super::super::ExternalInput { population: "a".into(), ..Default::default() };
        params.external_inputs.push(input);
        for edit in edits {
            let change = path::parse(&params, edit).unwrap_or_else(|why| panic!("{edit}: {why}"));
            assert!(params.set(&change), "{edit}");
        }
        params.warnings().into_iter().map(|warning| warning.path.into_owned()).collect()
    }

    #[test]
    fn populations_without_input_are_named() {
        assert_eq!(warned(&[]), ["populations.2.name"]);
        assert_eq!(warned(&["projections.0.to=c"]), ["populations.1.name"]);
        assert_eq!(warned(&["external_inputs.0.population=c"]), ["populations.0.name"]);
        assert_eq!(warned(&["external_inputs.0.population=b"]), ["populations.0.name", "populations.2.name"]);
    }

    #[test]
    fn populations_that_spike_without_input_are_not_named() {
        let none = Vec::<String>::new();
        for edit in [
            "populations.2.v_start=uniform(-70, -49)",
            "populations.2.model=Cuba",
            "populations.2.model.e_l=-49",
            // 15 mV above rest need 375 pA at 10 ms and 250 pF.
            "populations.2.model.i_e=normal(380, 1)",
            "stimulus.poisson=targets.csv",
        ] {
            assert_eq!(warned(&[edit]), none, "{edit}");
        }
        assert_eq!(warned(&["populations.2.model.i_e=370"]), ["populations.2.name"]);
    }
}
