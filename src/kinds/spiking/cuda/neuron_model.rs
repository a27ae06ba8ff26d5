//! Trait of a neuron model on the GPU. Stimuli, delivery and sorting of spikes, measurements and the clock are the same for all
//! models.

use super::{
    buffers::DeviceBuffers,
    kernels::Kernels,
    launch_queue::{LaunchQueue, StepRows},
    launches::GraphVariant,
    sizes::{BufferSizes, Tuning},
    stimuli::DeviceStimuli,
};
use crate::{
    gpu::{Gpu, GpuError, Grid, Pass},
    kinds::spiking::{
        constants::{Constants, Real},
        host_state::{Edit, HostState},
        stimuli::ActiveStimuli,
    },
    sim::{MemoryReport, SimError, Snapshot},
};
use std::sync::Arc;

/// Properties of the step kernels of a model.
pub struct StepSpec {
    /// Rows of the kernels in the timings.
    pub rows: StepRows,
    /// Maximum number of kick sources that the persistent kernel supports.
    pub persistent_sources: u32,
    /// Whether captured launches contain the seed, so that another seed requires other graphs.
    pub captures_seed: bool,
}

/// The neurons of one model: their kernels between delivery and sorting of spikes, their constants and their saved state. The
/// state of the neurons is in [`DeviceBuffers`].
pub trait DeviceNeurons<T: Real>: Send {
    /// Adapts launch parameters to the model. The number of windows per graph is limited afterwards.
    fn tune(tuning: Tuning) -> Tuning
    where
        Self: Sized;

    /// Returns the dynamic shared memory of a persistent block with `span` neurons, bytes.
    fn shared_bytes(sizes: &BufferSizes, span: u32) -> u32
    where
        Self: Sized;

    /// Loads the kernels, uploads the constants that only this model has, and allocates buffers that only it always needs. Fails
    /// if a module cannot be loaded or the device fails.
    fn new(gpu: &Arc<Gpu>, host: &HostState<T>, memory: &mut DeviceBuffers) -> Result<Self, GpuError>
    where
        Self: Sized;

    /// Adds the device memory that only this model has to a report.
    fn report(&self, to: &mut MemoryReport);

    /// Returns the properties of the step kernels.
    fn spec(&self) -> StepSpec;

    /// Whether all blocks of a grid of the persistent kernel are resident at once, as the grid barrier requires. Fails
    /// if the device fails.
    fn fits_persistent(&self, kernels: &Kernels, grid: Grid) -> Result<bool, GpuError>;

    /// Returns the states of all neurons before step 0 as words; `None` if they are zero.
    fn initial_states(&self, host: &HostState<T>) -> Option<Vec<u32>>;

    /// Uploads the values that follow from an edit that the host state already contains. Fails if the device fails.
    fn apply_edit(
        &mut self,
        memory: &mut DeviceBuffers,
        kernels: &Kernels,
        host: &mut HostState<T>,
        edit: Edit<T>,
    ) -> Result<(), GpuError>;

    /// Whether an input is large enough to make a state non-finite, which requires the kernels that check every step.
    fn may_overflow(&self, image: &DeviceStimuli, stimuli: &ActiveStimuli<T>, constants: &Constants<T>) -> bool;

    /// Applies the uploaded stimuli before step `completed`. Fails if the device fails.
    fn apply_stimuli(&self, memory: &mut DeviceBuffers, kernels: &Kernels, completed: u32) -> Result<(), GpuError>;

    /// Advances anchors that are more than one table behind step `completed`. Fails if the device fails.
    fn advance_anchors(
        &self,
        memory: &mut DeviceBuffers,
        kernels: &Kernels,
        completed: u32,
        pass: &mut Pass,
    ) -> Result<(), GpuError>;

    /// Launches the step of a window whose spikes were delivered, and samples traced neurons. Fails if the device
    /// fails.
    fn step_window(
        &self,
        memory: &mut DeviceBuffers,
        kernels: &Kernels,
        index: u32,
        variant: GraphVariant,
        pass: &mut Pass,
    ) -> Result<(), GpuError>;

    /// Launches the persistent kernel for `windows` windows with tags from `first_tag` on, and samples traced neurons.
    /// Fails if the device fails.
    fn step_persistent(
        &self,
        memory: &mut DeviceBuffers,
        kernels: &Kernels,
        grid: Grid,
        windows: u32,
        first_tag: u32,
        pass: &mut Pass,
    ) -> Result<(), GpuError>;

    /// Launches the kernel that steps reached neurons, with `blocks` blocks, for `windows` windows. Fails if the device fails, or
    /// if the model has no such kernel.
    fn step_reached(
        &self,
        memory: &mut DeviceBuffers,
        kernels: &Kernels,
        blocks: u32,
        windows: u32,
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        let _ = (memory, kernels, blocks, windows, pass);
        let (doing, why) = ("stepping reached neurons".to_owned(), "the model has no kernel for it".to_owned());
        Err(GpuError::Driver { doing, why })
    }

    /// Starts copying the potential of every neuron after `completed` steps to page-locked memory. Fails if the device
    /// fails.
    fn start_potentials(&self, memory: &mut DeviceBuffers, kernels: &Kernels, completed: u32) -> Result<(), GpuError>;

    /// Waits for the copy of the potentials that was started last. Returns v of every neuron; empty if no copy was
    /// started. Fails if the device fails.
    fn finish_potentials(&self, memory: &DeviceBuffers) -> Result<Vec<f32>, GpuError>;

    /// Creates a snapshot that suffices to continue bit for bit. Fails if the device fails.
    fn save(&self, host: &HostState<T>, memory: &DeviceBuffers, queue: &LaunchQueue) -> Result<Snapshot, SimError>;

    /// Restores a state. Fails if the snapshot does not fit, which leaves the simulation unchanged, or if the device
    /// fails.
    fn load(
        &self,
        host: &mut HostState<T>,
        memory: &mut DeviceBuffers,
        queue: &mut LaunchQueue,
        from: &Snapshot,
    ) -> Result<(), SimError>;

    /// Launches one window: delivery, then step. Fails if the device fails.
    fn launch_window(
        &self,
        memory: &mut DeviceBuffers,
        kernels: &Kernels,
        index: u32,
        variant: GraphVariant,
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        memory.deliver_spikes(kernels, index, variant, pass)?;
        self.step_window(memory, kernels, index, variant, pass)
    }

    /// Launches the first `windows` windows of the plan at once; all but the last must have full length. Fails if the
    /// device fails.
    fn launch_windows(
        &self,
        memory: &mut DeviceBuffers,
        kernels: &Kernels,
        grid: Grid,
        windows: u32,
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        let first_tag = memory.take_tags(windows)?;
        self.step_persistent(memory, kernels, grid, windows, first_tag, pass)
    }
}
