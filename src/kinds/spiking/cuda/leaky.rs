//! Noisy leaky units on the GPU. [`leaky`](crate::kinds::spiking::leaky) is the definition.

use super::{
    buffers::DeviceBuffers,
    kernels::{Kernels, LeakyConstants, LeakyKernels, Model, SampleTracesLeaky, StepLeaky, StepLeakyPersistent},
    launch_queue::{LaunchQueue, StepRows},
    launches::{COUNTING, GraphVariant, persistent_step, step, step_of_window},
    neuron_model::{DeviceNeurons, StepSpec},
    sizes::{BufferSizes, Tuning},
    state,
    stimuli::DeviceStimuli,
};
use crate::{
    buffers,
    gpu::{Cell, Gpu, GpuError, Grid, Pass},
    kinds::spiking::{
        constants::{Constants, Real},
        cpu::leaky::state as saved,
        host_state::{Edit, HostState},
        leaky::{self, NOISE, mean_count},
        params::Params,
        stimuli::ActiveStimuli,
    },
    sim::{Buffers, MemoryReport, SimError, Snapshot},
};
use std::sync::Arc;

buffers! {
    /// Noisy leaky units: their kernels and constants. Windows are single steps, and every unit is evaluated in every
    /// step.
    pub struct LeakyUnits(gpu: Arc<Gpu>, _sizes: ()) {
        "neurons" {
            /// Constants of the model.
            constants: Cell<LeakyConstants> = Derived "constants of the units" 1;
        }
        plain {
            kernels: LeakyKernels = LeakyKernels::load(gpu)?;
            /// Mean number of synapses per connection.
            mean_count: f64 = 0.0;
        }
    }
}

impl LeakyUnits {
    /// Uploads the constants derived from the parameters.
    fn upload_constants(&mut self, params: &Params) -> Result<(), GpuError> {
        let c = params.leaky.derive(self.mean_count);
        self.constants.set(LeakyConstants { w_unit: c.w_unit, amplitude: c.amplitude, decay: c.decay, noise: NOISE })
    }
}

impl<T: Real> DeviceNeurons<T> for LeakyUnits {
    /// Reached warps are not tracked, because every unit is evaluated in every step. A graph contains more windows, because they
    /// are single steps.
    fn tune(tuning: Tuning) -> Tuning {
        Tuning { graph: 4 * tuning.graph, dense_chunks: 0, ..tuning }
    }

    /// The persistent kernel declares a constant amount of static shared memory.
    fn shared_bytes(_: &BufferSizes, _: u32) -> u32 {
        0
    }

    /// The kernels read the current into every unit.
    fn new(gpu: &Arc<Gpu>, host: &HostState<T>, memory: &mut DeviceBuffers) -> Result<Self, GpuError> {
        memory.reserve_currents()?;
        let mut new = Self::allocate(gpu, &())?;
        new.mean_count = mean_count(&host.setup.connectivity);
        new.upload_constants(&host.params)?;
        Ok(new)
    }

    fn report(&self, to: &mut MemoryReport) {
        Buffers::report(self, to);
    }

    fn spec(&self) -> StepSpec {
        StepSpec {
            rows: StepRows { window: "step_leaky", persistent: "step_leaky_persistent", reached: None },
            persistent_sources: 0,
            captures_seed: true,
        }
    }

    fn fits_persistent(&self, _: &Kernels, grid: Grid) -> Result<bool, GpuError> {
        self.kernels.fits_persistent(grid)
    }

    fn initial_states(&self, host: &HostState<T>) -> Option<Vec<u32>> {
        Some((0..host.setup.n()).map(|i| leaky::start(host.context.seed, i).to_bits()).collect())
    }

    fn apply_edit(
        &mut self,
        _: &mut DeviceBuffers,
        _: &Kernels,
        host: &mut HostState<T>,
        _: Edit<T>,
    ) -> Result<(), GpuError> {
        self.upload_constants(&host.params)
    }

    /// Returns `false`, because the kernels check every unit in every step.
    fn may_overflow(&self, _: &DeviceStimuli, _: &ActiveStimuli<T>, _: &Constants<T>) -> bool {
        false
    }

    fn apply_stimuli(&self, memory: &mut DeviceBuffers, _: &Kernels, _: u32) -> Result<(), GpuError> {
        let units = 0..memory.n as usize;
        memory.marks.part_mut(units.clone())?.copy_from(&*memory.reached.part(units)?)?;
        memory.currents.copy_from(&memory.new_currents)
    }

    /// Units have no anchors.
    fn advance_anchors(&self, _: &mut DeviceBuffers, _: &Kernels, _: u32, _: &mut Pass) -> Result<(), GpuError> {
        Ok(())
    }

    fn step_window(
        &self,
        memory: &mut DeviceBuffers,
        _: &Kernels,
        index: u32,
        variant: GraphVariant,
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        let Model { layout, seed, .. } = memory.model.value(); // constant, as graphs require
        let (n, units) = (memory.n, self.constants.buf());
        step_of_window!(StepLeaky, memory, index, { layout, n, seed, units }).launch(
            &self.kernels,
            pass,
            n.next_multiple_of(256) + COUNTING,
        )?;
        if variant.traced {
            let (n_traced, traced, samples) = (memory.n_traced, &memory.traced, &mut memory.samples);
            let (windows, live, states) = (&memory.windows, &memory.live, &memory.states);
            SampleTracesLeaky { windows, index, live, states, n_traced, traced, samples }.launch(
                &self.kernels,
                pass,
                n_traced,
            )?;
        }
        Ok(())
    }

    fn step_persistent(
        &self,
        memory: &mut DeviceBuffers,
        _: &Kernels,
        grid: Grid,
        windows: u32,
        first_tag: u32,
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        persistent_step!(StepLeakyPersistent, memory, windows, first_tag, {
            units: self.constants.buf(),
            samples: &mut memory.samples,
        })
        .launch(&self.kernels, pass, grid)
    }

    fn start_potentials(&self, memory: &mut DeviceBuffers, _: &Kernels, _: u32) -> Result<(), GpuError> {
        memory.start_states()
    }

    fn finish_potentials(&self, memory: &DeviceBuffers) -> Result<Vec<f32>, GpuError> {
        Ok(memory.finish_states()?.into_iter().map(f32::from_bits).collect())
    }

    fn save(&self, host: &HostState<T>, memory: &DeviceBuffers, queue: &LaunchQueue) -> Result<Snapshot, SimError> {
        let v = potentials(memory)?;
        let (now, sent) = (host.step, host.step.checked_sub(1));
        let last = host.measurements.running.iter().map(|r| {
            let ago = (now as u32).wrapping_sub(r.step);
            if r.hz > 0.0 { now - u64::from(ago) } else { saved::NEVER }
        });
        let in_flight = match sent {
            Some(sent) => state::in_flight(host, memory, queue)?.remove(&sent).unwrap_or_default(),
            None => vec![],
        };
        let manual_kicks: Vec<(u32, f32)> = host.manual_kicks.iter().map(|(i, w)| (*i, w.wide() as f32)).collect();
        let dt_ms = host.params.dt_ms();
        Ok(saved::compose(dt_ms, now, v, last.collect(), in_flight, &manual_kicks, &host.measurements))
    }

    fn load(
        &self,
        host: &mut HostState<T>,
        memory: &mut DeviceBuffers,
        queue: &mut LaunchQueue,
        from: &Snapshot,
    ) -> Result<(), SimError> {
        let saved = saved::parse(host.setup.n(), host.params.dt_ms(), from)?;
        memory.clear()?;
        let v: Vec<u32> = saved.v.iter().map(|v| v.to_bits()).collect();
        memory.states.write_at(0, &v)?;
        let sent = saved.step.checked_sub(1).map(|sent| (sent, saved.in_flight));
        state::queue_spikes(&host.setup.connectivity, memory, queue, sent.as_slice(), saved.step)?;
        host.step = saved.step;
        host.manual_kicks = saved.manual_kicks.into_iter().map(|(i, w)| (i, T::of(f64::from(w)))).collect();
        host.stimuli_changed = true;
        host.measurements.resume(saved.counted, saved.step);
        Ok(())
    }
}

/// Returns the potential v of every unit. Fails if the device fails.
pub fn potentials(memory: &DeviceBuffers) -> Result<Vec<f32>, SimError> {
    let words = memory.states.read_range(0..memory.n as usize)?;
    Ok(words.into_iter().map(f32::from_bits).collect())
}
