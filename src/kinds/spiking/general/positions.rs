//! Positions of the neurons of a population.

use super::{Placement, plan::PopulationPlan};
use crate::num::rng::{Draw, Purpose};

/// Number of draws after which a point inside a ball or disc is practically certain.
const TRIES: u64 = 64;

/// Returns the positions of a population, µm; empty if it has none. They depend on the seed and the neurons alone.
pub fn positions(population: &PopulationPlan, seed: u64) -> Vec<[f32; 3]> {
    let n = population.n;
    let draw = |neuron: u32, step: u64| {
        let lane = population.first + neuron;
        let words = Draw { seed, purpose: Purpose::Position, step, lane }.words();
        words.map(|word| (f64::from(word) + 0.5) / 2_147_483_648.0 - 1.0)
    };
    // Takes the first draw whose point is inside; more than half of all points are.
    let inside = |neuron: u32, dimensions: usize| {
        let is_inside = |x: &[f64; 4]| x[..dimensions].iter().map(|x| x * x).sum::<f64>() <= 1.0;
        (0..TRIES).map(|step| draw(neuron, step)).find(is_inside).unwrap_or_default()
    };
    let point = |x: f64, y: f64, z: f64| [x as f32, y as f32, z as f32];
    match &population.placement {
        Placement::Nowhere(_) => vec![],
        Placement::Grid(grid) => {
            let columns = f64::from(n).sqrt().ceil().max(1.0) as u32;
            let middle = f64::from(columns - 1) / 2.0;
            let at = |i: u32| (f64::from(i) - middle) * grid.spacing;
            (0..n).map(|i| point(at(i % columns), at(i / columns), grid.z)).collect()
        }
        Placement::InBox(b) => (0..n)
            .map(|i| draw(i, 0))
            .map(|[x, y, z, _]| point(x * b.width / 2.0, y * b.depth / 2.0, b.z + z * b.height / 2.0))
            .collect(),
        Placement::InBall(b) => (0..n)
            .map(|i| inside(i, 3))
            .map(|[x, y, z, _]| point(x * b.radius, y * b.radius, b.z + z * b.radius))
            .collect(),
        Placement::InLayer(l) => (0..n)
            .map(|i| inside(i, 2))
            .map(|[x, y, z, _]| point(x * l.radius, y * l.radius, l.bottom + (z + 1.0) / 2.0 * l.thickness))
            .collect(),
    }
}
