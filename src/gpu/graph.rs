//! A step captured once and replayed with one call.

use super::{Gpu, GpuError, Pass, error::Doing as _};
use cudarc::driver::{CudaGraph, sys};

/// Captured kernel launches. Scalars are frozen in it; what changes between steps lives in buffers.
pub struct Graph {
    graph: CudaGraph,
}

// SAFETY: a graph belongs to the context, not to a thread, and `&mut self` keeps its use in one place.
unsafe impl Send for Graph {}

impl Graph {
    /// Runs `record`, whose launches are captured instead of run. It may only launch kernels: copies
    /// between host and device cannot be captured.
    ///
    /// # Safety
    /// The graph keeps the addresses of the buffers, not the buffers: they outlive it and are not replaced.
    pub unsafe fn capture(gpu: &Gpu, record: impl FnOnce(&mut Pass) -> Result<(), GpuError>) -> Result<Self, GpuError> {
        let doing = || "capturing a step as a CUDA graph".to_owned();
        gpu.compute.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).doing(doing)?;
        let recorded = record(&mut Pass::default());
        // Ends the capture even if recording failed, so that the stream stays usable.
        let captured = gpu.compute.end_capture(sys::CUgraphInstantiate_flags(0));
        recorded?;
        let empty = || GpuError::Driver { doing: doing(), why: "no kernel was launched".into() };
        let graph = captured.doing(doing)?.ok_or_else(empty)?;
        graph.upload().doing(doing)?;
        Ok(Self { graph })
    }

    /// Launches everything captured, in order, after the kernels so far.
    pub fn launch(&mut self) -> Result<(), GpuError> {
        self.graph.launch().doing(|| "launching a captured step".to_owned())
    }
}
