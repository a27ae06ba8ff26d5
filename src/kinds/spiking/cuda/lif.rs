//! LIF neurons on the GPU. The CPU backend is the definition.

use super::{
    buffers::DeviceBuffers,
    kernels::{
        AdvanceAnchors, ApplyStimuli, Kernels, ReadPotentials, ReanchorNeurons, SampleRecordedTraces, SampleTraces,
        StepLif, StepLifPersistent, StepLifReached,
    },
    launch_queue::{LaunchQueue, StepRows},
    launches::{COUNTING, GraphVariant, persistent_step, step, step_of_window},
    neuron_model::{DeviceNeurons, StepSpec},
    sizes::{BufferSizes, NEURONS_PER_BLOCK, Tuning},
    state,
    stimuli::DeviceStimuli,
    words::words,
};
use crate::{
    gpu::{Buf, Gpu, GpuError, Grid, Mark, Pass, Pinned},
    kinds::spiking::{
        constants::{Constants, Real},
        host_state::{Edit, HostState},
        start,
        stimuli::ActiveStimuli,
    },
    sim::{MemoryReport, SimError, Snapshot},
};
use std::sync::Arc;

/// Threads per block of `step_lif_reached`.
const REACHED_BLOCK: u32 = 640;

/// LIF neurons with exponential synapses. Their kernels and constants are those of every network.
pub struct LifNeurons;

impl<T: Real> DeviceNeurons<T> for LifNeurons {
    fn tune(tuning: Tuning) -> Tuning {
        tuning
    }

    fn shared_bytes(sizes: &BufferSizes, span: u32) -> u32 {
        sizes.hot_state_bytes(span)
    }

    fn new(_: &Arc<Gpu>, _: &HostState<T>, _: &mut DeviceBuffers) -> Result<Self, GpuError> {
        Ok(Self)
    }

    fn report(&self, _: &mut MemoryReport) {}

    fn spec(&self) -> StepSpec {
        StepSpec {
            rows: StepRows { window: "step_lif", persistent: "step_lif_persistent", reached: Some("step_lif_reached") },
            persistent_sources: 1,
            captures_seed: false,
        }
    }

    fn fits_persistent(&self, kernels: &Kernels, grid: Grid) -> Result<bool, GpuError> {
        kernels.fits_persistent(grid)
    }

    fn initial_states(&self, host: &HostState<T>) -> Option<Vec<u32>> {
        let u = start::potentials(&host.params, host.context.seed)?;
        let states = (0..host.setup.n()).flat_map(|lane| [T::of(u(lane)), T::ZERO]);
        Some(words(states).collect())
    }

    fn apply_edit(
        &mut self,
        memory: &mut DeviceBuffers,
        kernels: &Kernels,
        host: &mut HostState<T>,
        edit: Edit<T>,
    ) -> Result<(), GpuError> {
        let Edit::Neurons { shift, .. } = edit else { return Ok(()) };
        // The device still holds the old constants.
        reanchor(memory, kernels, host.step as u32, shift.wide())?;
        memory.upload_constants(&host.constants)?;
        host.stimuli_changed = true; // recomputes the threshold bounds
        Ok(())
    }

    fn may_overflow(&self, image: &DeviceStimuli, stimuli: &ActiveStimuli<T>, constants: &Constants<T>) -> bool {
        image.may_overflow(stimuli, constants)
    }

    fn apply_stimuli(&self, memory: &mut DeviceBuffers, kernels: &Kernels, completed: u32) -> Result<(), GpuError> {
        ApplyStimuli {
            model: memory.model.buf(),
            propagators: &memory.propagators,
            completed,
            has_currents: memory.has_currents().into(),
            new_marks: &memory.reached,
            new_currents: &memory.new_currents,
            marks: &mut memory.marks,
            currents: &mut memory.currents,
            states: &mut memory.states,
            anchors: &mut memory.anchors,
            checks: &mut memory.checks,
            wakes: &mut memory.wakes,
        }
        .launch(kernels, &mut Pass::default(), memory.n)
    }

    fn advance_anchors(
        &self,
        memory: &mut DeviceBuffers,
        kernels: &Kernels,
        completed: u32,
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        AdvanceAnchors {
            model: memory.model.buf(),
            propagators: &memory.propagators,
            completed,
            marks: &memory.marks,
            currents: &memory.currents,
            states: &mut memory.states,
            anchors: &mut memory.anchors,
            checks: &mut memory.checks,
            wakes: &mut memory.wakes,
        }
        .launch(kernels, pass, memory.n)
    }

    fn step_window(
        &self,
        memory: &mut DeviceBuffers,
        kernels: &Kernels,
        index: u32,
        variant: GraphVariant,
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        if variant.traced {
            sample_window(memory, kernels, index, pass)?;
        }
        // A thread steps two neurons.
        step_of_window!(StepLif, memory, index, {
            propagators: &memory.propagators,
            anchors: &mut memory.anchors,
            checks: &mut memory.checks,
            wakes: &mut memory.wakes,
            touched: &mut memory.touched,
        })
        .launch(kernels, pass, memory.n.next_multiple_of(NEURONS_PER_BLOCK) / 2 + COUNTING)
    }

    fn step_persistent(
        &self,
        memory: &mut DeviceBuffers,
        kernels: &Kernels,
        grid: Grid,
        windows: u32,
        first_tag: u32,
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        persistent_step!(StepLifPersistent, memory, windows, first_tag, {
            propagators: &memory.propagators,
            sources: &memory.sources,
            chances: &memory.chances,
            masks: &memory.masks,
            trains: &memory.trains,
            anchors: &mut memory.anchors,
            checks: &mut memory.checks,
            wakes: &mut memory.wakes,
            trace_inputs: &mut memory.trace_inputs,
        })
        .launch(kernels, pass, grid)?;
        if memory.n_traced == 0 { Ok(()) } else { sample_recorded(memory, kernels, windows, pass) }
    }

    fn step_reached(
        &self,
        memory: &mut DeviceBuffers,
        kernels: &Kernels,
        blocks: u32,
        windows: u32,
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        let is_exact = memory.is_exact().into();
        step!(StepLifReached, memory, {
            is_exact,
            propagators: &memory.propagators,
            n_windows: windows,
            segments: &mut memory.segments,
            words: &memory.network.words,
            overflow: &memory.network.overflow,
            gain_of: &memory.gain_of,
            gains: &memory.gains,
            sources: &memory.sources,
            chances: &memory.chances,
            masks: &memory.masks,
            trains: &memory.trains,
            anchors: &mut memory.anchors,
            checks: &mut memory.checks,
            wakes: &mut memory.wakes,
            kick_bits: &mut memory.kick_bits,
            summed: &mut memory.summed,
            reached: &mut memory.reached,
            n_reached: &mut memory.n_reached,
            barrier: &mut memory.barrier,
        })
        .launch(kernels, pass, Grid::Cooperative { blocks, block: REACHED_BLOCK, shared_bytes: 0 })
    }

    /// Computes v of every neuron and starts copying it. Later kernels do not wait for the copy.
    fn start_potentials(&self, memory: &mut DeviceBuffers, kernels: &Kernels, completed: u32) -> Result<(), GpuError> {
        let (gpu, n) = (memory.gpu.clone(), memory.n);
        if memory.potentials.is_none() {
            memory.potentials = Some(Buf::zeros(&gpu, "potentials", n as usize)?);
        }
        if memory.potentials_landing.is_none() {
            memory.potentials_landing = Some(Pinned::zeros(&gpu, n as usize)?);
        }
        let (Some(v), Some(landing)) = (&mut memory.potentials, &mut memory.potentials_landing) else { return Ok(()) };
        landing.hold_kernels(&gpu)?; // the copy before this one ended long ago
        let (states, anchors) = (&memory.states, &memory.anchors);
        let (model, marks, currents) = (memory.model.buf(), &memory.marks, &memory.currents);
        ReadPotentials { model, propagators: &memory.propagators, completed, marks, currents, states, anchors, v }
            .launch(kernels, &mut Pass::default(), n)?;
        v.download_concurrent(0..n as usize, landing, 0, &Mark::now(&gpu)?)
    }

    fn finish_potentials(&self, memory: &DeviceBuffers) -> Result<Vec<f32>, GpuError> {
        memory.potentials_landing.as_ref().map_or(Ok(vec![]), |v| Ok(v.get()?.to_vec()))
    }

    fn save(&self, host: &HostState<T>, memory: &DeviceBuffers, queue: &LaunchQueue) -> Result<Snapshot, SimError> {
        state::write(host, memory, queue)
    }

    fn load(
        &self,
        host: &mut HostState<T>,
        memory: &mut DeviceBuffers,
        queue: &mut LaunchQueue,
        from: &Snapshot,
    ) -> Result<(), SimError> {
        state::read(host, memory, queue, from)
    }
}

/// Re-anchors all neurons with the constants on the device, then shifts u.
fn reanchor(memory: &mut DeviceBuffers, kernels: &Kernels, completed: u32, shift: f64) -> Result<(), GpuError> {
    let (model, states, anchors) = (memory.model.buf(), &mut memory.states, &mut memory.anchors);
    let (marks, currents) = (&memory.marks, &memory.currents);
    let pass = &mut Pass::default();
    ReanchorNeurons { model, propagators: &memory.propagators, completed, shift, marks, currents, states, anchors }
        .launch(kernels, pass, memory.n)
}

/// Samples v and g of traced neurons in a window before it is stepped.
fn sample_window(memory: &mut DeviceBuffers, kernels: &Kernels, index: u32, pass: &mut Pass) -> Result<(), GpuError> {
    SampleTraces {
        model: memory.model.buf(),
        propagators: &memory.propagators,
        windows: &memory.windows,
        index,
        live: &memory.live,
        sources: &memory.sources,
        chances: &memory.chances,
        masks: &memory.masks,
        trains: &memory.trains,
        kicks: &memory.kicks,
        marks: &memory.marks,
        currents: &memory.currents,
        states: &memory.states,
        anchors: &memory.anchors,
        arrivals: &memory.arrivals,
        kick_bits: &memory.kick_bits,
        n_traced: memory.n_traced,
        traced: &memory.traced,
        samples: &mut memory.samples,
    }
    .launch(kernels, pass, 32 * memory.n_traced)
}

/// Samples v and g of traced neurons from the inputs that the persistent kernel recorded in `windows` windows.
fn sample_recorded(
    memory: &mut DeviceBuffers,
    kernels: &Kernels,
    windows: u32,
    pass: &mut Pass,
) -> Result<(), GpuError> {
    SampleRecordedTraces {
        model: memory.model.buf(),
        propagators: &memory.propagators,
        windows: &memory.windows,
        n_windows: windows,
        segments: &memory.segments,
        sources: &memory.sources,
        currents: &memory.currents,
        n_traced: memory.n_traced,
        traced: &memory.traced,
        trace_inputs: &memory.trace_inputs,
        samples: &mut memory.samples,
    }
    .launch(kernels, pass, 32 * windows * memory.n_traced)
}
