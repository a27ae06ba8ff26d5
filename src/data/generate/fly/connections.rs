//! Draws connections and their synapse counts.
//!
//! A connection is drawn by choosing one of the population's links, a position on the target's map near the corresponding
//! position, and the neuron at that position; neurons with many inputs occupy more of their map. Every draw has an address
//! (neuron, attempt), so rows can be drawn in any order, on any thread.

use super::{
    N_NEURONS,
    cell_types::{CellTypeTable, Group, normal, uniforms},
    populations::Link,
};
use crate::{
    data::{Csr, DataError, ProgressFn, report},
    num::{
        exact::{exp, ln, unit},
        rng::{Draw, Purpose},
    },
};
use rayon::prelude::*;

/// Number of rows between two progress reports.
const STRETCH: usize = 512;

/// Draws all connections. Fails if `watch` cancels.
pub fn connect(table: &CellTypeTable, out_degrees: &[u32], watch: &ProgressFn) -> Result<Csr, DataError> {
    let maps: Vec<Vec<u32>> = table.groups.par_iter().map(|g| map(table, g)).collect();
    let routes: Vec<Vec<Route>> = table.groups.iter().map(|g| routes(table, g)).collect();
    let mut rows = Vec::with_capacity(out_degrees.len() + 1);
    let mut at = 0;
    rows.push(at);
    rows.extend(out_degrees.iter().map(|d| {
        at += d;
        at
    }));
    let mut words = vec![0_u32; at as usize];
    let target_bits = Csr::target_bits_for(N_NEURONS);
    let mut jobs = Vec::new();
    let mut rest = words.as_mut_slice();
    for first in (0..out_degrees.len()).step_by(STRETCH) {
        let end = (first + STRETCH).min(out_degrees.len());
        let (mine, more) = rest.split_at_mut((rows[end] - rows[first]) as usize);
        jobs.push((first, end, mine));
        rest = more;
    }
    let done = std::sync::atomic::AtomicUsize::new(0);
    jobs.into_par_iter().try_for_each_init(
        || Scratch { drawn_by: vec![u32::MAX; out_degrees.len()], row: Vec::new() },
        |scratch, (first, end, mut mine)| {
            let part =
                done.fetch_add(end - first, std::sync::atomic::Ordering::Relaxed) as f32 / out_degrees.len() as f32;
            report(watch, "Connections", 0.1 + 0.85 * part)?;
            for (neuron, degree) in (first..end).zip(&out_degrees[first..end]) {
                let (row, more) = mine.split_at_mut(*degree as usize);
                mine = more;
                let group = usize::from(table.group_of[neuron]);
                scratch.draw_row(table, &maps, &routes[group], neuron as u32, row.len());
                for (word, (target, count)) in row.iter_mut().zip(&scratch.row) {
                    *word = Csr::pack(target_bits, *target, *count);
                }
            }
            Ok(())
        },
    )?;
    Ok(Csr { rows, words, target_bits, overflow: Vec::new() })
}

/// Link with the data of its draw.
struct Route {
    link: &'static Link,
    /// Upper bound of this link's random words, on the scale of 2^32.
    bound: u64,
    /// Index of the target's group on the same side, and on the other side.
    groups: [usize; 2],
}

fn routes(table: &CellTypeTable, group: &Group) -> Vec<Route> {
    let all: f64 = group.population.links.iter().map(|l| f64::from(l.share)).sum();
    let mut so_far = 0.0;
    let route = |link: &'static Link| {
        so_far += f64::from(link.share);
        let groups = [false, true].map(|crossed| table.group_at(link.to, group, crossed));
        Route { link, bound: (so_far / all * 4_294_967_296.0) as u64, groups }
    };
    group.population.links.iter().map(route).collect()
}

/// Returns a group's map: its neurons in order, each repeated in proportion to its in-degree.
fn map(table: &CellTypeTable, group: &Group) -> Vec<u32> {
    const MEAN: f32 = 16.0;
    let mut slots = Vec::with_capacity(group.neurons.len() * 24);
    for neuron in group.neurons.clone() {
        if table.has_no_inputs(neuron) {
            continue;
        }
        let c = uniforms(table.seed, neuron, 3);
        let z = normal(c);
        let popularity = (MEAN * exp(z * (0.62 + 0.06 * z.abs())) + 0.5).clamp(3.0, MEAN * 60.0) as usize;
        slots.extend(std::iter::repeat_n(neuron, popularity));
    }
    slots
}

/// Scratch memory for one row.
struct Scratch {
    /// Last neuron that drew each target.
    drawn_by: Vec<u32>,
    row: Vec<(u32, i32)>,
}

impl Scratch {
    /// Draws `degree` different targets, sorted.
    fn draw_row(&mut self, table: &CellTypeTable, maps: &[Vec<u32>], routes: &[Route], neuron: u32, degree: usize) {
        self.row.clear();
        if degree == 0 {
            return;
        }
        let sign = if table.inhibits[neuron as usize] { -1 } else { 1 };
        let place = table.place(neuron);
        self.drawn_by[neuron as usize] = neuron;
        let patience = 6 * degree as u64 + 64;
        let mut attempt = 0;
        while self.row.len() < degree {
            let words = Draw { seed: table.seed, purpose: Purpose::Connectivity, step: attempt, lane: neuron }.words();
            // A neuron that is connected to all near targets draws from a growing distance, finally from all neurons.
            let wider = if attempt < patience { 1.0 + 3.0 * attempt as f32 / degree as f32 } else { f32::INFINITY };
            attempt += 1;
            let route = &routes[routes.partition_point(|r| r.bound <= u64::from(words[0])).min(routes.len() - 1)];
            let target = if wider.is_finite() {
                target(route, maps, place, wider, words)
            } else {
                ((u64::from(words[1]) * u64::from(N_NEURONS)) >> 32) as u32
            };
            let Some(stamp) = self.drawn_by.get_mut(target as usize) else { continue };
            if *stamp == neuron || (wider.is_infinite() && table.has_no_inputs(target)) {
                continue;
            }
            *stamp = neuron;
            self.row.push((target, sign * count(route.link, words[3])));
        }
        self.row.sort_unstable();
    }
}

/// Returns the neuron at the drawn position; `u32::MAX` if there is none.
fn target(route: &Route, maps: &[Vec<u32>], place: f32, wider: f32, words: [u32; 4]) -> u32 {
    let map = &maps[route.groups[usize::from(unit(words[2] << 16) < route.link.crossed)]];
    let spread = route.link.spread * wider;
    let x = 2.0 * unit(words[1]) - 1.0;
    // Near positions are more probable than far positions.
    let at = if spread >= 1.0 { 0.5 + 0.5 * x } else { place + spread * x * (0.3 + 0.7 * x * x) };
    let at = at - at.floor();
    map.get((at * map.len() as f32) as usize).copied().unwrap_or(u32::MAX)
}

/// Draws the number of synapses of a connection: mostly one to three, in a few cases hundreds, at most about 2,000.
fn count(link: &Link, word: u32) -> i32 {
    let q = unit(word);
    if let Some((least, most)) = link.strong {
        return (least as f32 + q * (most - least) as f32) as i32;
    }
    let x = 2.231 * exp(-0.57 * ln(q)) - 1.1;
    ((x / (1.0 + x / 2_600.0)) as i32).max(1)
}
