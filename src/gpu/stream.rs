//! Additional streams, concurrent with the compute stream and ordered by marks.

use super::{Gpu, GpuError, Mark, error::Doing as _, events::Events};
use cudarc::driver::CudaStream;
use std::sync::Arc;

/// Additional stream, into which [`Pass::on`](super::Pass::on) launches. Only [`Stream::wait`] and [`Gpu::wait`] order its work
/// with other streams.
pub struct Stream(pub(super) Arc<CudaStream>, Arc<Events>);

impl Stream {
    /// Creates an idle stream.
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let stream = gpu.context.new_stream().doing(|| "making a stream".to_owned())?;
        Ok(Self(stream, gpu.events.clone()))
    }

    /// Records a mark at the current end of this stream.
    pub fn mark(&self) -> Result<Mark, GpuError> {
        let event = self.1.mark(&self.0).doing(|| "marking a moment of a stream".to_owned())?;
        Ok(Mark { event, is_shared: false })
    }

    /// Orders later work of this stream after the mark. The host does not wait.
    pub fn wait(&self, mark: &Mark) -> Result<(), GpuError> {
        self.0.wait(&mark.event).doing(|| "ordering two streams".to_owned())
    }
}

impl Gpu {
    /// Orders later work of the compute stream after the mark. The host does not wait.
    pub fn wait(&self, mark: &Mark) -> Result<(), GpuError> {
        self.note_issued();
        self.compute.wait(&mark.event).doing(|| "ordering two streams".to_owned())
    }
}
