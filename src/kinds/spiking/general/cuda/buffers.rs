//! Device memory of a network from rules.

use super::{
    kernels::{RulesClock, RulesInput, RulesList, RulesModel, RulesPopulation, RulesProjection},
    tables::{Inputs, Layout, Sizes},
};
use crate::{
    buffers,
    gpu::{Buf, Cell, Gpu, GpuError, Pinned},
    kinds::spiking::{
        cuda::{
            buffers::{fill, start_copy},
            kernels::{Kick, KickSource, Model, WeightGain},
            stimuli::DeviceStimuli,
        },
        general::cpu::step::ARRAYS,
    },
    sim::Buffers as _,
};
use std::sync::Arc;

/// Maximum number of steps per launch of the persistent kernel, and of rows of samples.
pub const MAX_LAUNCH_STEPS: u64 = 256;

buffers! {
    /// Device memory of one simulation. Buffers with one element are replaced by longer ones on demand.
    pub struct RulesBuffers(gpu: Arc<Gpu>, s: Sizes) {
        "connectivity" {
            /// Start of each row, projection by projection.
            pub starts: Buf<u64> = Derived "starts of rows" s.starts;
            /// Number of synapses with the smallest delay of each row, which come first.
            pub splits: Buf<u32> = Derived "synapses with the smallest delay" s.starts;
            /// Target and delay of each synapse.
            pub words: Buf<u32> = Derived "synapses" s.synapses;
            /// Stored weights of all projections, 2 or 4 bytes each.
            pub weights: Buf<u8> = Derived "weights" s.weight_bytes;
            /// Projections of the network.
            pub projections: Buf<RulesProjection> = Derived "projections" s.projections;
            /// Indices of projections by presynaptic population.
            pub outgoing: Buf<u32> = Derived "outgoing projections" s.projections;
            /// Distinct smallest delays above one step, steps.
            pub far_delays: Buf<u32> = Derived "delays" s.projections;
        }
        "neurons" {
            /// Sizes and seed.
            pub model: Cell<RulesModel> = Derived "model" 1;
            /// Populations of the network.
            pub populations: Buf<RulesPopulation> = Derived "populations" s.populations;
            /// Population of each block of neurons.
            pub population_of: Buf<u16> = Derived "population of each block" s.blocks();
            /// Coefficients of the step.
            pub values: Buf<f32> = Derived "coefficients" 1;
            /// State arrays, one after another.
            pub state: Buf<f32> = Saved "state" [ARRAYS, s.stride as usize];
            /// Flags of each neuron, see [`mark`](crate::kinds::spiking::saved_state::mark).
            pub marks: Buf<u32> = Derived "flags" s.n as usize;
        }
        "arrivals and input" {
            /// Sums of arrivals: `[slot][receptor][neuron]`.
            pub sums: Buf<i32> = Saved "arrivals" [s.slots as usize, 2, s.stride as usize];
            /// Poisson inputs by population.
            pub inputs: Buf<RulesInput> = Derived "Poisson inputs" 1;
            /// Distributions of the Poisson counts.
            pub tables: Buf<u32> = Derived "Poisson distributions" 1;
            /// Sizes and seed of the kicks.
            pub kicking: Cell<Model> = Derived "model of kicks" 1;
            /// Index of each neuron's gain.
            pub gain_of: Buf<u16> = Derived "gain of each neuron" 1;
            /// Distinct weight gains.
            pub gains: Buf<WeightGain> = Derived "gains" 1;
            /// Sources of kicks.
            pub sources: Buf<KickSource> = Derived "sources of kicks" 1;
            /// Probabilities of kicks.
            pub chances: Buf<u64> = Derived "kick probabilities" 1;
            /// Targets of trains, one bit per neuron.
            pub masks: Buf<u32> = Derived "targets of trains" 1;
            /// Whether each warp has trains.
            pub trains: Buf<u32> = Derived "warps with trains" s.n.div_ceil(32) as usize;
            /// Listed kicks, sorted.
            pub kicks: Buf<Kick> = Derived "listed kicks" 1;
        }
        "spikes in flight" {
            /// Steps of the running launch.
            pub clock: Cell<RulesClock> = Workspace "steps of a graph" 1;
            /// Range of each step in the ring of spikes.
            pub lists: Buf<RulesList> = Saved "spikes by step" s.list_ring as usize;
            /// Ring of spikes.
            pub spikes: Buf<u32> = Saved "spikes" s.spike_ring as usize;
            /// Step and neuron of the first potential that is not finite.
            pub non_finite: Buf<u64> = Workspace "first non-finite state" 1;
            /// Arrival counter of the grid barrier.
            pub barrier: Buf<u32> = Workspace "barrier" 1;
        }
        "samples" {
            /// Indices in the state arrays of the neurons that are sampled.
            pub traced: Buf<u32> = Derived "traced neurons" 1;
            /// Samples: `[step][neuron][v, current]`, in two halves of a launch each.
            pub samples: Buf<f32> = Readback "samples" 1;
            /// Potential of every neuron.
            pub potentials: Buf<f32> = Readback "potentials" s.n as usize;
            /// Potentials of one step during their transfer.
            potentials_read: Option<Buf<f32>> = Readback "potentials read" 0;
            /// Host copy of the potentials.
            landing: Option<Pinned<f32>> = Readback "copy of potentials" 0;
        }
        plain {
            pub gpu: Arc<Gpu> = gpu.clone();
        }
    }
}

impl RulesBuffers {
    /// Allocates buffers and uploads the layout. All else is 0. Fails if device memory is full or the device fails.
    pub fn new(gpu: &Arc<Gpu>, sizes: &Sizes, layout: &Layout, seed: u64) -> Result<Self, GpuError> {
        let mut new = Self::allocate(gpu, sizes)?;
        new.model.set(RulesModel { seed, ..layout.model })?;
        new.kicking.set(Model { seed, n: sizes.n, n_warps: sizes.n.div_ceil(32), ..Model::default() })?;
        new.population_of.write(&layout.population_of)?;
        new.projections.write_at(0, &layout.projections)?;
        new.outgoing.write_at(0, &layout.outgoing)?;
        new.far_delays.write_at(0, &layout.far_delays)?;
        new.non_finite.write(&[u64::MAX])?;
        Ok(new)
    }

    /// Uploads active stimuli. Returns true if a buffer was replaced. Fails if the device fails.
    pub fn upload_stimuli(&mut self, image: &DeviceStimuli) -> Result<bool, GpuError> {
        let gpu = self.gpu.clone();
        let mut replaced = false;
        replaced |= fill(&gpu, &mut self.sources, &image.sources)?;
        replaced |= fill(&gpu, &mut self.chances, &image.chances)?;
        replaced |= fill(&gpu, &mut self.masks, &image.masks)?;
        replaced |= fill(&gpu, &mut self.kicks, &image.kicks)?;
        replaced |= fill(&gpu, &mut self.gain_of, &image.gain_of)?;
        replaced |= fill(&gpu, &mut self.gains, &image.gains)?;
        self.trains.write_at(0, &image.trains)?;
        self.marks.write_at(0, &image.marks)?;
        let mut kicking = self.kicking.value();
        kicking.n_sources = image.sources.len() as u32;
        self.kicking.set(kicking)?;
        let mut model = self.model.value();
        model.has_gains = u32::from(!image.gains.is_empty());
        // Sources that never draw are not counted.
        model.has_kicks = u32::from(image.masks.iter().any(|m| *m != 0) || !image.kicks.is_empty());
        self.model.set(model)?;
        Ok(replaced)
    }

    /// Uploads populations, coefficients and inputs. Returns true if a buffer was replaced. Fails if the device fails.
    pub fn upload_parameters(
        &mut self,
        populations: &[RulesPopulation],
        values: &[f32],
        inputs: &Inputs,
    ) -> Result<bool, GpuError> {
        let gpu = self.gpu.clone();
        self.populations.write_at(0, populations)?;
        let mut replaced = fill(&gpu, &mut self.values, values)?;
        replaced |= fill(&gpu, &mut self.inputs, &inputs.inputs)?;
        replaced |= fill(&gpu, &mut self.tables, &inputs.tables)?;
        Ok(replaced)
    }

    /// Sets the neurons that are sampled, by index in the state arrays, ascending. Returns true if a buffer was replaced.
    /// Fails if the device fails.
    pub fn set_traced(&mut self, traced: &[u32]) -> Result<bool, GpuError> {
        let gpu = self.gpu.clone();
        let mut replaced = fill(&gpu, &mut self.traced, traced)?;
        let mut model = self.model.value();
        model.n_traced = traced.len() as u32;
        self.model.set(model)?;
        let samples = 2 * MAX_LAUNCH_STEPS as usize * traced.len() * 2;
        if samples > self.samples.len() {
            self.samples = Buf::zeros(&gpu, "samples", samples)?;
            replaced = true;
        }
        Ok(replaced)
    }

    /// Replaces the ring of spikes by one with at least `len` entries. Fails if device memory is full.
    pub fn replace_spikes(&mut self, len: u64) -> Result<(), GpuError> {
        let gpu = self.gpu.clone();
        self.spikes = Buf::zeros(&gpu, "spikes", len.next_power_of_two() as usize)?;
        let mut model = self.model.value();
        model.spike_mask = self.spikes.len() as u32 - 1;
        self.model.set(model)
    }

    /// Sets state and arrivals to 0 and removes all spikes. Fails if the device fails.
    pub fn clear(&mut self) -> Result<(), GpuError> {
        self.state.clear()?;
        self.sums.clear()?;
        self.lists.clear()?;
        self.non_finite.write(&[u64::MAX])
    }

    /// Starts copying the potentials to page-locked memory. Fails if the device fails.
    pub fn start_potentials(&mut self) -> Result<(), GpuError> {
        let n = self.potentials.len();
        start_copy(&self.gpu, &self.potentials, n, "potentials read", &mut self.potentials_read, &mut self.landing)
    }

    /// Waits for the copy of the potentials. Returns the potentials; empty if no copy was started. Fails if the device
    /// fails.
    pub fn finish_potentials(&self) -> Result<Vec<f32>, GpuError> {
        self.landing.as_ref().map_or(Ok(vec![]), |potentials| Ok(potentials.get()?.to_vec()))
    }
}
