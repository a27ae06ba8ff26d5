//! Draws out-degrees of neurons: heavy-tailed, with exactly the published totals of excitatory and inhibitory connections.

use super::{
    N_EXCITATORY, N_INHIBITORY, N_NEURONS,
    cell_types::{CellTypeTable, normal, uniforms},
};
use crate::num::exact::exp;

/// Largest published out-degree.
const LARGEST: u32 = 9_783;

/// Returns the out-degree of every neuron.
pub fn out_degrees(table: &CellTypeTable) -> Vec<u32> {
    let out_degree: Vec<f32> = (0..N_NEURONS).map(|i| out_degree(table, i)).collect();
    let mut degrees = vec![0; N_NEURONS as usize];
    for (inhibits, total) in [(false, N_EXCITATORY), (true, N_INHIBITORY)] {
        let members: Vec<usize> =
            (0..N_NEURONS as usize).filter(|i| out_degree[*i] > 0.0 && table.inhibits[*i] == inhibits).collect();
        scale(&members, &out_degree, total, &mut degrees);
    }
    degrees
}

/// Returns the out-degree before scaling. It is log-normal with a heavier tail.
fn out_degree(table: &CellTypeTable, neuron: u32) -> f32 {
    if table.has_no_outputs(neuron) {
        return 0.0;
    }
    let group = table.group(neuron);
    let c = uniforms(table.seed, neuron, 2);
    let z = normal(c);
    // The wide-field neuron of each optic lobe reaches nearly all neurons.
    let wide =
        if group.population.super_class == "visual_centrifugal" && neuron == group.neurons.start { 100.0 } else { 1.0 };
    group.population.out_degree * exp(z * (0.66 + 0.05 * z.abs())) * wide
}

/// Scales out-degrees so that those of the members add up to exactly `total`.
fn scale(members: &[usize], out_degree: &[f32], total: u32, degrees: &mut [u32]) {
    let degree = |i: usize, factor: f64| ((f64::from(out_degree[i]) * factor) as u32).clamp(1, LARGEST);
    let sum = |factor: f64| members.iter().map(|i| u64::from(degree(*i, factor))).sum::<u64>();
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if sum(middle) <= u64::from(total) { low = middle } else { high = middle }
    }
    members.iter().for_each(|i| degrees[*i] = degree(*i, low));
    // The remainder of rounding is distributed, one connection each.
    let mut missing = u64::from(total).saturating_sub(sum(low));
    for i in members.iter().cycle().take(members.len() * 64) {
        if missing == 0 {
            break;
        }
        if degrees[*i] < LARGEST {
            degrees[*i] += 1;
            missing -= 1;
        }
    }
}
