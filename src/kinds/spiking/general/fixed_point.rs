//! Fixed-point weights. The sums of a receptor are 32-bit integers in units of a power of two, so they do not depend on
//! the order of addition. The unit is the finest for which the largest possible sum of a step fits with headroom.

use super::{
    ConnectionRule, ExternalInput, InputSource, Receptor,
    plan::{PopulationPlan, ProjectionPlan, RECEPTORS, WeightFormat, extremes},
};
use crate::num::{digits::group_digits, poisson::PoissonTable};

/// Factor by which weight factors may enlarge a sum.
const HEADROOM: f64 = 8.0;
/// Smallest number of units in a typical weight, for a precision of 0.2 %.
const LEAST_UNITS: f64 = 256.0;

/// Returns the integer nearest to a weight in units of `2^exponent`.
pub fn rounded(weight: f64, exponent: i32) -> i32 {
    (weight / 2_f64.powi(exponent)).round() as i32
}

/// Largest contribution to the sum of a receptor.
#[derive(Clone, Copy, Default)]
struct Bound {
    sum: f64,
    /// Smallest typical weight; 0 if there is none.
    typical: f64,
    /// Exponent of the largest unit of which the weights of an edge list are multiples.
    of_files: Option<i32>,
}

impl Bound {
    /// Adds a contribution; one that never arrives constrains nothing.
    fn add(&mut self, sum: f64, typical: f64) {
        self.sum += sum;
        if sum > 0.0 && typical > 0.0 && (self.typical == 0.0 || typical < self.typical) {
            self.typical = typical;
        }
    }
}

impl Bound {
    /// Returns the exponent of the unit: the finest one, or a coarser one of the weights of edge lists. A network that was
    /// exported then has its former units.
    fn exponent(&self) -> i32 {
        let finest = exponent(self.sum * HEADROOM);
        let is_fine = |e: &i32| (-100..=100).contains(e) && self.typical >= LEAST_UNITS * 2_f64.powi(*e);
        self.of_files.filter(is_fine).map_or(finest, |of_files| of_files.max(finest))
    }
}

/// Chooses the units of all receptors and the formats of all weights. Fails if 32-bit sums do not hold the range from
/// the smallest weight to the largest sum of a receptor.
pub fn choose(
    populations: &mut [PopulationPlan],
    projections: &mut [ProjectionPlan],
    inputs: &[(usize, &ExternalInput)],
    dt_ms: f64,
) -> Result<(), String> {
    let mut bounds = vec![[Bound::default(); RECEPTORS]; populations.len()];
    for p in projections.iter() {
        let typical = p.weight.quantile(0.5).abs() * p.file.map_or(1.0, |file| file.typical);
        let w_max = p.plasticity.as_ref().and_then(|of| of.rule.w_max());
        // Plastic synapses that begin at 0 have weights of this order later.
        let typical = if typical == 0.0 { w_max.unwrap_or(0.0) / 16.0 } else { typical };
        let is_known = p.file.is_some() || !matches!(p.rule, ConnectionRule::FromFile(_));
        let bound = &mut bounds[p.to][p.receptor];
        let of_start = largest(p) * in_degree(p, populations);
        let of_learning = w_max.map_or(0.0, |w_max| w_max * n_inputs(p, populations));
        bound.add(of_start.max(of_learning), if is_known { typical } else { 0.0 });
        bound.of_files = bound.of_files.max(p.file.and_then(|file| file.exponent));
    }
    for (at, input) in inputs {
        if let InputSource::Poisson(p) = &input.source {
            // A rate of 0 may be raised while the network runs.
            let counts = PoissonTable::new(p.rate.max(0.0) * dt_ms * 1e-3).largest().max(1) as f64;
            let receptor = match p.receptor {
                Receptor::BySign => usize::from(p.weight <= 0.0),
                Receptor::Excitatory => 0,
                Receptor::Inhibitory => 1,
            };
            bounds[*at][receptor].add(p.weight.abs() * counts, p.weight.abs());
        }
    }
    for (population, bounds) in populations.iter_mut().zip(&bounds) {
        for (r, bound) in bounds.iter().enumerate() {
            population.exponents[r] = bound.exponent();
            if bound.typical > 0.0 && bound.typical < LEAST_UNITS * 2_f64.powi(population.exponents[r]) {
                return Err(format!(
                    "the {} input of `{}` overflows: at most {:.3e} {unit} may arrive in a step beside weights of {:.3e} \
                     {unit}, a range of {} that 32-bit sums do not hold. Lower the largest weights or numbers of \
                     synapses",
                    ["excitatory", "inhibitory"][r],
                    population.name,
                    bound.sum,
                    bound.typical,
                    group_digits((bound.sum / bound.typical).min(1e18) as u64),
                    unit = population.model.weight_unit(),
                ));
            }
        }
    }
    for p in projections {
        p.format = format(p, populations[p.to].exponents[p.receptor]);
    }
    Ok(())
}

/// Returns the largest absolute weight of a projection.
fn largest(p: &ProjectionPlan) -> f64 {
    let (low, high) = extremes(p.weight);
    low.abs().max(high.abs())
}

/// Returns the exponent of the finest unit in which a sum fits 31 bits.
fn exponent(sum: f64) -> i32 {
    if sum > 0.0 { (sum.log2().ceil() as i32 - 31).clamp(-100, 100) } else { 0 }
}

/// Returns an upper bound on the inputs of a neuron, exceeded with negligible probability.
fn in_degree(p: &ProjectionPlan, populations: &[PopulationPlan]) -> f64 {
    let random = |mean: f64| mean + 8.0 * mean.sqrt() + 8.0;
    let (from, to) = (f64::from(populations[p.from].n), f64::from(populations[p.to].n));
    match &p.rule {
        ConnectionRule::AllToAll(_) => from,
        ConnectionRule::OneToOne(_) => 1.0,
        ConnectionRule::FixedInDegree(rule) => rule.n as f64,
        ConnectionRule::Bernoulli(rule) => random(from * rule.p).min(from),
        ConnectionRule::ByDistance(rule) => random(from * rule.p).min(from),
        ConnectionRule::FixedOutDegree(_) | ConnectionRule::FixedTotal(_) => random(p.synapses as f64 / to),
        // The values of a file multiply the weight.
        ConnectionRule::FromFile(_) => p.file.map_or(0.0, |file| file.largest_input),
    }
}

/// Returns an upper bound on the number of inputs of a neuron.
fn n_inputs(p: &ProjectionPlan, populations: &[PopulationPlan]) -> f64 {
    match p.rule {
        // A pair of neurons may have several rows in a file.
        ConnectionRule::FromFile(_) => p.synapses as f64,
        _ => in_degree(p, populations),
    }
}

fn format(p: &ProjectionPlan, exponent: i32) -> WeightFormat {
    let is_file = matches!(p.rule, ConnectionRule::FromFile(_));
    if let (Some(weight), false) = (p.weight.as_constant(), is_file) {
        return WeightFormat::Constant(rounded(weight, exponent));
    }
    let units = largest(p) / 2_f64.powi(exponent);
    let shift = (units / f64::from(i16::MAX)).log2().ceil().max(0.0) as u32;
    let typical = p.weight.quantile(0.5).abs() / 2_f64.powi(exponent + shift as i32);
    // 16 bits suffice where a typical weight keeps a precision of 0.05 %.
    if !is_file && typical >= 1024.0 { WeightFormat::Narrow(shift) } else { WeightFormat::Wide }
}
