//! More streams than the one kernels run on by default: work beside it, ordered by marks.

use super::{Gpu, GpuError, Mark, error::Doing as _};
use cudarc::driver::CudaStream;
use std::sync::Arc;

/// A separate stream: [`Pass::on`](super::Pass::on) launches into it. Nothing orders it with the others but
/// [`Stream::wait`] and [`Gpu::wait`].
pub struct Stream(pub(super) Arc<CudaStream>);

impl Stream {
    /// A new one, idle.
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        gpu.context.new_stream().map(Self).doing(|| "making a stream".to_owned())
    }

    /// Everything issued to this stream so far.
    pub fn mark(&self) -> Result<Mark, GpuError> {
        self.0.record_event(None).map(Mark).doing(|| "marking a moment of a stream".to_owned())
    }

    /// What is issued to this stream from now on runs after the mark. The host does not wait.
    pub fn wait(&self, mark: &Mark) -> Result<(), GpuError> {
        self.0.wait(&mark.0).doing(|| "ordering two streams".to_owned())
    }
}

impl Gpu {
    /// What is issued to the compute stream from now on runs after the mark. The host does not wait.
    pub fn wait(&self, mark: &Mark) -> Result<(), GpuError> {
        self.note_issued();
        self.compute.wait(&mark.0).doing(|| "ordering two streams".to_owned())
    }
}
