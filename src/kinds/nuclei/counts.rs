//! Work per generation. The work depends on the population, so the counts are those of the last generation.

use super::{
    choices::{Dynamics, Integrator},
    host_state::HostState,
    params::{Params, Phases},
    probes,
};
use crate::sim::StepCount;

/// Returns the number of coupling sums per generation: those of the integrator, and one with the final phases.
fn sums(phases: &Phases) -> u32 {
    let stages = match (phases.dynamics, phases.integrator) {
        (Dynamics::Still, _) => 0,
        (Dynamics::QkmCompat | Dynamics::QkmCovariant, _) => 1,
        (_, Integrator::Euler) => 1,
        (_, Integrator::Rk4) if phases.noise <= 0.0 => 4,
        _ => 2,
    };
    phases.substeps * stages + 1
}

/// Returns the counts of one generation: pairs of all coupling sums; operations of the coupling if `all_pairs` are evaluated;
/// operations and bytes of the fitness, which reads the weights once for the error and once for the entropy.
pub fn of_generation(host: &HostState, all_pairs: bool) -> Vec<StepCount> {
    let (params, n): (&Params, f64) = (&host.params, host.ledger.n() as f64);
    let pairs = f64::from(sums(&params.phases)) * f64::from(params.coupling.fields.max(1)) * n * n;
    let mut counts = vec![StepCount::items("pairs", pairs)];
    if let Some(work) = probes::WORK.iter().find(|work| all_pairs && work.row == "couple_tiled") {
        counts.push(StepCount::ops("of the coupling", work.ops * pairs));
    }
    if let Some(problem) = &host.setup.problem {
        let dim = host.setup.dim;
        // With more samples than weights, the equations can be compressed to one per weight.
        let rows = problem.samples().min(dim);
        counts.push(StepCount::ops("of the fitness", 2.0 * n * (rows * dim) as f64));
        counts.push(StepCount::bytes("of weights", 8.0 * n * dim as f64));
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::nuclei::task,
        sim::{BuildContext, Progress},
    };
    use std::sync::Arc;

    #[test]
    fn amounts_follow_population_and_integrator() {
        let mut params = Params::default();
        (params.phases.integrator, params.phases.substeps, params.phases.noise) = (Integrator::Rk4, 3, 0.0);
        let context = BuildContext::default();
        let setup = Arc::new(task::prepare(&params, &context, &Progress::default()).expect("a task"));
        let mut host = HostState::new(&params, &context, setup, 100);
        let pairs = |host: &HostState| of_generation(host, true)[0].per_step;
        assert_eq!(pairs(&host), 13.0 * 100.0 * 100.0);
        let names: Vec<&str> = of_generation(&host, true).iter().map(|c| c.name).collect();
        assert_eq!(names, ["pairs", "of the coupling", "of the fitness", "of weights"]);
        assert_eq!(of_generation(&host, false).len(), 3, "an algorithm in N log N steps evaluates fewer pairs");
        host.ledger.children = 100;
        host.params.phases.dynamics = Dynamics::Still;
        assert_eq!(pairs(&host), 200.0 * 200.0);
    }
}
