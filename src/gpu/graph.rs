//! CUDA graphs: a step captured once and replayed with one call.

use super::{
    Gpu, GpuError, Pass,
    error::Doing as _,
    trace::{self, Lane, Span},
};
use cudarc::driver::{CudaGraph, CudaStream, sys};
use std::sync::Arc;

/// Captured kernel launches. Scalars are fixed at capture; values that change between steps are in buffers.
pub struct Graph {
    graph: CudaGraph,
    stream: Arc<CudaStream>,
    kernels: u32,
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
        let mut pass = Pass::default();
        let recorded = record(&mut pass);
        // Ends the capture even if recording failed, so that the stream stays usable.
        let captured = gpu.compute.end_capture(sys::CUgraphInstantiate_flags(0));
        recorded?;
        let empty = || GpuError::Driver { doing: doing(), why: "no kernel was launched".into() };
        let graph = captured.doing(doing)?.ok_or_else(empty)?;
        graph.upload().doing(doing)?;
        Ok(Self { graph, stream: gpu.compute.clone(), kernels: pass.captured })
    }

    /// Launches everything captured, in order, after the kernels so far.
    pub fn launch(&mut self) -> Result<(), GpuError> {
        let span = Span { name: "graph", lane: Lane::Compute, kernels: self.kernels, ..Span::default() };
        let Self { graph, stream, .. } = self;
        trace::device(stream, span, || graph.launch().doing(|| "launching a captured step".to_owned()))
    }
}
