//! Cell type table: groups, signs, transmitters, sides, types and names.

use super::{
    N_NEURONS,
    populations::{self, P, Population},
};
use crate::{
    data::{Category, NeuronTable},
    num::{
        exact::{ln, unit},
        rng::{Draw, Purpose},
    },
};
use rayon::prelude::*;
use std::ops::Range;

/// First step address of draws per neuron; draws per connection have smaller step addresses.
const OF_NEURON: u64 = 1 << 48;
/// Number of photoreceptors without outgoing connections.
const N_MUTE_RECEPTORS: u32 = 448;
/// Number of photoreceptors without inputs.
const N_UNREACHED: u32 = 1_549;

/// Neurons of one population on one side, numbered without gaps.
pub struct Group {
    pub population: &'static Population,
    /// Indices of the neurons.
    pub neurons: Range<u32>,
    /// `left`, `right` or `center`.
    pub side: &'static str,
}

/// All neurons of the synthetic fly network.
pub struct CellTypeTable {
    /// Seed of all draws.
    pub seed: u64,
    /// Groups in the order of their neurons.
    pub groups: Vec<Group>,
    /// Group of each neuron.
    pub group_of: Vec<u8>,
    /// Whether each neuron inhibits.
    pub inhibits: Vec<bool>,
    /// First group of each population.
    first_group: Vec<usize>,
}

impl CellTypeTable {
    /// Numbers the neurons and draws their signs.
    pub fn new(seed: u64) -> Self {
        let (mut groups, mut first_group) = (Vec::new(), Vec::new());
        let mut at = 0;
        for population in populations::all() {
            debug_assert_eq!(population.id as usize, first_group.len(), "the table is in the order of the names");
            first_group.push(groups.len());
            let mut add = |count: u32, side| {
                groups.push(Group { population, neurons: at..at + count, side });
                at += count;
            };
            if population.region.has_sides() {
                add(population.count.div_ceil(2), "left");
                add(population.count / 2, "right");
            } else {
                add(population.count, "center");
            }
        }
        let of_group = |(g, group): (usize, &Group)| std::iter::repeat_n(g as u8, group.neurons.len());
        let group_of: Vec<u8> = groups.iter().enumerate().flat_map(of_group).collect();
        let sign = |(i, g): (u32, &u8)| uniforms(seed, i, 0)[0] < groups[usize::from(*g)].population.inhibitory;
        let inhibits = (0..N_NEURONS).zip(&group_of).map(sign).collect();
        Self { seed, groups, group_of, inhibits, first_group }
    }

    /// Returns the group of a neuron.
    pub fn group(&self, neuron: u32) -> &Group {
        &self.groups[usize::from(self.group_of[neuron as usize])]
    }

    /// Returns the index of a population's group on the side of `group`, or on the other side if `crossed`.
    pub fn group_at(&self, population: P, group: &Group, crossed: bool) -> usize {
        let first = self.first_group[population as usize];
        let sides = usize::from(populations::all()[population as usize].region.has_sides());
        first + usize::from((group.side == "right") != crossed) * sides
    }

    /// Returns the position of a neuron on its group's map, 0 to 1.
    pub fn place(&self, neuron: u32) -> f32 {
        let range = &self.group(neuron).neurons;
        ((neuron - range.start) as f32 + 0.5) / range.len() as f32
    }

    /// Whether a neuron has no outgoing connections.
    pub fn has_no_outputs(&self, neuron: u32) -> bool {
        self.group(neuron).population.links.is_empty() || every(neuron, self.receptors(), N_MUTE_RECEPTORS)
    }

    /// Whether a neuron has no presynaptic neurons.
    pub fn has_no_inputs(&self, neuron: u32) -> bool {
        every(neuron.wrapping_add(3), self.receptors(), N_UNREACHED)
    }

    fn receptors(&self) -> u32 {
        populations::all()[P::Photoreceptor as usize].count
    }

    /// Returns the neuron table of the network.
    pub fn neuron_table(&self) -> NeuronTable {
        let texts = |name: &str, text: &(dyn Fn(u32) -> &'static str + Sync)| Category {
            name: name.to_owned(),
            texts: (0..N_NEURONS).into_par_iter().map(|i| text(i).to_owned()).collect(),
        };
        NeuronTable {
            len: N_NEURONS,
            ids: Vec::new(),
            names: (0..N_NEURONS).map(|i| self.name(i)).collect(),
            positions: (0..N_NEURONS).into_par_iter().map(|i| self.position(i)).collect(),
            categories: vec![
                texts("super_class", &|i| &self.group(i).population.super_class),
                texts("class", &|i| &self.group(i).population.class),
                texts("cell_type", &|i| self.cell_type(i)),
                texts("side", &|i| self.group(i).side),
                texts("nt", &|i| self.transmitter(i)),
            ],
        }
    }

    fn position(&self, neuron: u32) -> [f32; 3] {
        let group = self.group(neuron);
        // The fly's left is on the right of a viewer who faces the fly.
        group.population.region.point(self.place(neuron), uniforms(self.seed, neuron, 1), group.side == "right")
    }

    fn cell_type(&self, neuron: u32) -> &'static str {
        let group = self.group(neuron);
        let mut left = neuron - group.neurons.start;
        for (name, count) in &group.population.cell_types {
            if *count == 0 || left < *count {
                return name;
            }
            left -= count;
        }
        ""
    }

    /// Draws a transmitter in the proportions published for the neuron's sign.
    fn transmitter(&self, neuron: u32) -> &'static str {
        let c = uniforms(self.seed, neuron, 0)[1];
        let group = self.group(neuron);
        if self.inhibits[neuron as usize] {
            return if c < 0.45 { "GABA" } else { "GLUT" };
        }
        match group.population.class.as_str() {
            "DAN" => "DA",
            "visual" => "ACH",
            _ if c < 0.009 => "SER",
            _ if c < 0.0115 => "DA",
            _ if c < 0.0122 => "OCT",
            _ => "ACH",
        }
    }

    /// Returns the name of a neuron. Cell types of one or two neurons per side have names; the names of others are empty.
    fn name(&self, neuron: u32) -> String {
        let group = self.group(neuron);
        let cell_type = self.cell_type(neuron);
        let few = group.population.cell_types.iter().any(|(name, n)| *name == cell_type && (1..=2).contains(n));
        if few { format!("{cell_type}_{}", &group.side[..1]) } else { String::new() }
    }
}

/// Returns four numbers in (0, 1) at a neuron's address.
pub fn uniforms(seed: u64, neuron: u32, which: u64) -> [f32; 4] {
    Draw { seed, purpose: Purpose::Connectivity, step: OF_NEURON + which, lane: neuron }.words().map(unit)
}

/// Returns a nearly normal deviate of variance 1: the scaled sum of three logistic deviates, which has variance π².
pub fn normal(c: [f32; 4]) -> f32 {
    (0..3).map(|k| ln(c[k] / (1.0 - c[k]))).sum::<f32>() / std::f32::consts::PI
}

/// Whether `i` is one of `m` numbers spread evenly over the first `n`.
fn every(i: u32, n: u32, m: u32) -> bool {
    let mark = |i: u32| u64::from(i) * u64::from(m) / u64::from(n);
    i < n && mark(i + 1) != mark(i)
}
