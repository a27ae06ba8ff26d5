//! Tables of a network in the layout of the kernels, and the sizes of the buffers.

use super::{
    buffers::MAX_LAUNCH_STEPS,
    kernels::{
        RulesInput, RulesModel, RulesPopulation, RulesProjection, RulesTables, SYNAPSES_ALPHA, SYNAPSES_DELTA,
        SYNAPSES_EXPONENTIAL, WEIGHT_CONSTANT, WEIGHT_NARROW, WEIGHT_WIDE,
    },
    plastic_tables::incoming,
};
use crate::{
    kinds::spiking::general::{
        PointNeuron, RefractoryInput,
        coefficients::{Coefficients, index::REFRACTORY},
        plan::{self, BLOCK, Drive, Plan, WeightFormat},
        saved::in_transit,
    },
    num::{rng::Purpose, trains::address},
};

/// Largest number of entries of the ring of spikes, unless one step per launch needs more.
const MAX_SPIKE_RING: u64 = 1 << 26;

/// Sizes of the buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sizes {
    /// Number of neurons.
    pub n: u32,
    /// Number of entries of a state array.
    pub stride: u32,
    /// Number of slots of the sums.
    pub slots: u32,
    /// Number of populations.
    pub populations: usize,
    /// Number of projections, at least 1.
    pub projections: usize,
    /// Number of starts of rows.
    pub starts: usize,
    /// Number of synapses.
    pub synapses: usize,
    /// Size of the stored weights, bytes.
    pub weight_bytes: usize,
    /// Number of steps in the list of spikes.
    pub list_ring: u32,
    /// Number of entries of the ring of spikes.
    pub spike_ring: u32,
}

impl Sizes {
    /// Computes the sizes for `synapses` per projection, with rings for the refractory periods of `coefficients`.
    pub fn new(plan: &Plan, synapses: &[u64], coefficients: &Coefficients) -> Self {
        let starts = plan.projections.iter().map(|p| plan.populations[p.from].n as usize + 1).sum();
        let weights = plan.projections.iter().zip(synapses).map(|(p, n)| p.format.bytes() * n.next_multiple_of(2));
        // The ring has one slot more than there are delays, because the next step receives while one is read.
        let delays = plan.projections.iter().map(|p| p.delays).max().unwrap_or(1);
        let most = |steps| most_spikes(plan, coefficients, window(plan, steps));
        let ring = most(MAX_LAUNCH_STEPS).min(MAX_SPIKE_RING).max(most(1)).max(1);
        Self {
            n: plan.n,
            stride: plan.stride,
            slots: (delays + 1).next_power_of_two(),
            populations: plan.populations.len(),
            projections: plan.projections.len().max(1),
            starts,
            synapses: synapses.iter().sum::<u64>() as usize,
            weight_bytes: weights.sum::<u64>() as usize,
            list_ring: (in_transit(plan) + 2 * MAX_LAUNCH_STEPS + 4).next_power_of_two() as u32,
            spike_ring: ring.next_power_of_two().min(1 << 31) as u32,
        }
    }

    /// Returns the number of blocks of neurons.
    pub const fn blocks(&self) -> usize {
        (self.stride / BLOCK) as usize
    }
}

/// Returns the number of steps whose spikes are kept with launches of `steps` steps, because they are in transit or not
/// yet read.
pub fn window(plan: &Plan, steps: u64) -> u64 {
    in_transit(plan).max(2 * steps) + 1
}

/// Returns an upper bound on the spikes of a number of steps, from the refractory periods.
pub fn most_spikes(plan: &Plan, coefficients: &Coefficients, steps: u64) -> u64 {
    let of = |population: usize, neuron: u32| {
        let refractory = coefficients.value(population, REFRACTORY, neuron);
        steps.div_ceil(refractory as u64 + 1)
    };
    let sum = |(i, population): (usize, &plan::PopulationPlan)| match coefficients.places[i][REFRACTORY].stride {
        0 => of(i, 0) * u64::from(population.n),
        _ => (0..population.n).map(|neuron| of(i, neuron)).sum(),
    };
    plan.populations.iter().enumerate().map(sum).sum()
}

/// Layout of the connections.
pub struct Layout {
    /// Sizes; the seed is 0.
    pub model: RulesModel,
    /// Population of each block of neurons.
    pub population_of: Vec<u16>,
    /// Projections of the network.
    pub projections: Vec<RulesProjection>,
    /// Indices of projections: by presynaptic population, those with a delay of one step first.
    pub outgoing: Vec<u32>,
    /// First projection of each population in `outgoing`, first one with a longer delay, and end.
    pub ranges: Vec<[u32; 3]>,
    /// Distinct smallest delays above one step, steps.
    pub far_delays: Vec<u32>,
}

impl Layout {
    /// Arranges projections with the given numbers of synapses.
    pub fn new(plan: &Plan, synapses: &[u64], sizes: &Sizes) -> Self {
        let (mut projections, mut starts, mut words, mut weights) = (vec![], 0, 0, 0);
        let mut plastic = 0;
        for (p, n) in plan.projections.iter().zip(synapses) {
            plastic += u32::from(p.plasticity.is_some());
            let (format, constant, shift) = match p.format {
                WeightFormat::Constant(weight) => (WEIGHT_CONSTANT, weight, 0),
                WeightFormat::Narrow(shift) => (WEIGHT_NARROW, 0, shift),
                WeightFormat::Wide => (WEIGHT_WIDE, 0, 0),
            };
            let target = plan.populations[p.to].state + p.receptor as u32 * plan.stride;
            let delay_min = p.delay_min;
            projections.push(RulesProjection {
                starts,
                words,
                weights,
                target,
                delay_min,
                format,
                constant,
                shift,
                plastic: if p.plasticity.is_some() { plastic } else { 0 },
            });
            starts += u64::from(plan.populations[p.from].n) + 1;
            words += n;
            weights += p.format.bytes() * n.next_multiple_of(2); // four bytes, so that all formats are aligned
        }
        let (mut outgoing, mut ranges) = (vec![], vec![]);
        for population in 0..plan.populations.len() {
            let own = |is_near: bool| {
                let of =
                    move |p: &(usize, &plan::ProjectionPlan)| p.1.from == population && (p.1.delay_min == 1) == is_near;
                plan.projections.iter().enumerate().filter(of).map(|(i, _)| i as u32)
            };
            let from = outgoing.len() as u32;
            outgoing.extend(own(true));
            let far = outgoing.len() as u32;
            outgoing.extend(own(false));
            ranges.push([from, far, outgoing.len() as u32]);
        }
        let mut far_delays: Vec<u32> = plan.projections.iter().map(|p| p.delay_min).filter(|d| *d > 1).collect();
        far_delays.sort_unstable();
        far_delays.dedup();
        let most = |from: usize| ranges.iter().map(|r| r[from + 1] - r[from]).max().unwrap_or(0);
        let model = RulesModel {
            n: sizes.n,
            stride: sizes.stride,
            n_populations: sizes.populations as u32,
            slot_mask: sizes.slots - 1,
            list_mask: sizes.list_ring - 1,
            spike_mask: sizes.spike_ring - 1,
            near: most(0),
            far: most(1),
            n_far: far_delays.len() as u32,
            has_longer: plan.projections.iter().any(|p| p.delay_min == 1 && p.delays > 1).into(),
            ..RulesModel::default()
        };
        let block =
            |(i, p): (usize, &plan::PopulationPlan)| std::iter::repeat_n(i as u16, p.n.div_ceil(BLOCK) as usize);
        let population_of = plan.populations.iter().enumerate().flat_map(block).collect();
        Self { model, population_of, projections, outgoing, ranges, far_delays }
    }
}

/// Poisson inputs of a network.
pub struct Inputs {
    /// Inputs by population.
    pub inputs: Vec<RulesInput>,
    /// Distributions of the counts.
    pub tables: Vec<u32>,
    /// First input of each population, and end.
    pub ranges: Vec<[u32; 2]>,
}

/// Returns the Poisson inputs by population.
pub fn inputs(plan: &Plan) -> Inputs {
    let (mut inputs, mut tables, mut ranges) = (vec![], vec![], vec![]);
    for population in 0..plan.populations.len() {
        let from = inputs.len() as u32;
        for (i, input) in plan.inputs.iter().enumerate().filter(|(_, input)| input.population == population) {
            let Drive::Poisson { table, weight, receptor, since } = &input.drive else { continue };
            if table.is_never() {
                continue;
            }
            inputs.push(RulesInput {
                since: *since,
                table: tables.len() as u32,
                entries: table.largest(),
                weight: *weight,
                receptor: *receptor as u32,
                address: address(Purpose::Poisson, i as u32),
                pad: 0,
            });
            tables.extend_from_slice(&table.at_most);
        }
        ranges.push([from, inputs.len() as u32]);
    }
    Inputs { inputs, tables, ranges }
}

/// Returns the sizes of the tables that every step reads.
pub fn table_sizes(plan: &Plan, inputs: &Inputs) -> RulesTables {
    let [projections, inputs, entries] = [plan.projections.len(), inputs.inputs.len(), inputs.tables.len()];
    RulesTables {
        cached: 0,
        projections: projections as u32,
        inputs: inputs as u32,
        entries: entries as u32,
        span: 0,
        decays: 0,
    }
}

/// Returns the shared memory for the tables, each aligned to 16 bytes, bytes.
pub fn shared_bytes(plan: &Plan, of: &RulesTables) -> u32 {
    let bytes = |n: u32, size: usize| (u64::from(n) * size as u64).next_multiple_of(16);
    let all = bytes(plan.populations.len() as u32, size_of::<RulesPopulation>())
        + bytes(of.projections, size_of::<RulesProjection>())
        + bytes(of.projections, 4)
        + bytes(of.inputs, size_of::<RulesInput>())
        + bytes(of.entries, 4)
        + bytes(of.decays, 4);
    all.min(u64::from(u32::MAX / 2)) as u32
}

/// Returns the populations with their coefficients and inputs.
pub fn populations(
    plan: &Plan,
    coefficients: &Coefficients,
    inputs: &[[u32; 2]],
    outgoing: &[[u32; 3]],
) -> Vec<RulesPopulation> {
    let plastic = incoming(plan).1;
    let of = |(i, p): (usize, &plan::PopulationPlan)| {
        let places = &coefficients.places[i];
        RulesPopulation {
            state: p.state,
            first: p.first,
            n: p.n,
            synapses: match p.model {
                PointNeuron::IafPscExp(_) | PointNeuron::Cuba(_) => SYNAPSES_EXPONENTIAL,
                PointNeuron::IafPscAlpha(_) => SYNAPSES_ALPHA,
                PointNeuron::IafPscDelta(_) => SYNAPSES_DELTA,
            },
            drops: u32::from(p.model.refractory_input() == RefractoryInput::Drop),
            values: places[0].offset,
            pitch: places[1].offset - places[0].offset,
            varies: places[0].stride,
            inputs_from: inputs[i][0],
            inputs_to: inputs[i][1],
            near_from: outgoing[i][0],
            far_from: outgoing[i][1],
            far_to: outgoing[i][2],
            plastic_from: plastic[i][0],
            plastic_to: plastic[i][1],
        }
    };
    plan.populations.iter().enumerate().map(of).collect()
}
