//! CUDA graphs: a step captured once and replayed with one call.

use super::{
    Gpu, GpuError, Pass,
    error::Doing as _,
    trace::{self, Lane, Span},
};
use cudarc::driver::{CudaGraph, CudaStream, LaunchConfig, result, sys};
use std::{
    ffi::c_void,
    ptr::{null, null_mut},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Executable graph of captured kernel launches. Scalars are fixed at capture; values that change between steps are
/// read from buffers, or the launch is updated: see [`Graph::capture_updatable`].
pub struct Graph {
    graph: CudaGraph,
    stream: Arc<CudaStream>,
    /// Counter of work issued to the compute stream, shared with [`Gpu`].
    issued: Arc<AtomicU64>,
    kernels: u32,
    /// Names and nodes of the launches; empty unless the launches can be updated.
    nodes: Vec<(&'static str, usize)>,
}

// SAFETY: a graph belongs to the context, not to a thread, and `&mut self` allows only one user at a time.
unsafe impl Send for Graph {}

impl Graph {
    /// Captures the launches of `record` without executing them. `record` may only launch kernels: copies between host and
    /// device cannot be captured. Fails if `record` launches no kernel.
    ///
    /// # Safety
    /// The graph keeps the addresses of the buffers, not the buffers: the buffers must outlive the graph and must not be
    /// replaced.
    pub unsafe fn capture(gpu: &Gpu, record: impl FnOnce(&mut Pass) -> Result<(), GpuError>) -> Result<Self, GpuError> {
        // SAFETY: the caller guarantees it.
        unsafe { Self::capture_into(gpu, Pass::default(), record) }
    }

    /// Captures launches like [`Graph::capture`], for a graph whose launches can receive other arguments:
    /// `Integrate { .. }.update(&kernels, &mut graph, launch, grid)`, where `launch` counts the launches from 0 in the order of
    /// `record`.
    ///
    /// # Safety
    /// The buffers must outlive the graph and must not be replaced, as for [`Graph::capture`].
    pub unsafe fn capture_updatable(
        gpu: &Gpu,
        record: impl FnOnce(&mut Pass) -> Result<(), GpuError>,
    ) -> Result<Self, GpuError> {
        let mut pass = Pass::default();
        pass.nodes = Some(vec![]);
        // SAFETY: the caller guarantees it.
        unsafe { Self::capture_into(gpu, pass, record) }
    }

    unsafe fn capture_into(
        gpu: &Gpu,
        mut pass: Pass,
        record: impl FnOnce(&mut Pass) -> Result<(), GpuError>,
    ) -> Result<Self, GpuError> {
        let doing = || "capturing a step as a CUDA graph".to_owned();
        gpu.compute.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).doing(doing)?;
        if let Err(failed) = record(&mut pass) {
            abandon_capture(gpu);
            return Err(failed);
        }
        let captured = gpu.compute.end_capture(sys::CUgraphInstantiate_flags(0));
        let empty = || GpuError::Driver { doing: doing(), why: "no kernel was launched".into() };
        let graph = captured.doing(doing)?.ok_or_else(empty)?;
        graph.upload().doing(doing)?;
        let nodes = pass.nodes.unwrap_or_default();
        Ok(Self { graph, stream: gpu.compute.clone(), issued: gpu.issued.clone(), kernels: pass.captured, nodes })
    }

    /// Replaces grid and arguments of the launch with index `launch`, which must be a launch of `kernel` in an updatable graph.
    /// Otherwise returns an error.
    pub(super) fn update(
        &mut self,
        launch: usize,
        kernel: &'static str,
        function: sys::CUfunction,
        config: &LaunchConfig,
        arguments: &mut [*mut c_void],
    ) -> Result<(), GpuError> {
        let doing = || format!("updating launch {launch} of a graph, kernel {kernel}");
        let refused = |why: String| GpuError::Driver { doing: doing(), why };
        let node = match self.nodes.get(launch) {
            Some((name, node)) if *name == kernel && *node != 0 => *node,
            Some((name, _)) => return Err(refused(format!("it is a launch of {name}"))),
            None => return Err(refused(format!("{} launches can be updated", self.nodes.len()))),
        };
        let ([x, y, z], [bx, by, bz]): ([u32; 3], [u32; 3]) = (config.grid_dim.into(), config.block_dim.into());
        let parameters = sys::CUDA_KERNEL_NODE_PARAMS_v2_st {
            func: function,
            gridDimX: x,
            gridDimY: y,
            gridDimZ: z,
            blockDimX: bx,
            blockDimY: by,
            blockDimZ: bz,
            sharedMemBytes: config.shared_mem_bytes,
            kernelParams: arguments.as_mut_ptr(),
            extra: null_mut(),
            kern: null_mut(),
            ctx: null_mut(),
        };
        self.stream.context().bind_to_thread().doing(doing)?;
        // SAFETY: the node belongs to the graph that this executable graph was made from, which lives as long; the driver
        // copies the arguments before the call returns.
        unsafe { sys::cuGraphExecKernelNodeSetParams_v2(self.graph.cu_graph_exec(), node as _, &parameters) }
            .result()
            .doing(doing)
    }

    /// Launches the graph, ordered after the work issued so far.
    pub fn launch(&mut self) -> Result<(), GpuError> {
        let span = Span { name: "graph", lane: Lane::Compute, kernels: self.kernels, ..Span::default() };
        let Self { graph, stream, issued, .. } = self;
        issued.fetch_add(1, Ordering::Relaxed);
        trace::device(stream, span, || graph.launch().doing(|| "launching a captured step".to_owned()))
    }
}

/// Ends a capture in which a launch failed, so that the stream stays usable.
fn abandon_capture(gpu: &Gpu) {
    // SAFETY: this thread captures the stream; the graph is destroyed once. Errors are those of the failed launch.
    unsafe {
        if let Ok(graph) = result::stream::end_capture(gpu.compute.cu_stream())
            && !graph.is_null()
        {
            let _ = result::graph::destroy(graph);
        }
    }
}

/// Executes `work` in relaxed capture mode. A library loads its kernels at their first launch, which a capture on this thread
/// forbids otherwise.
pub(super) fn relaxed<T>(work: impl FnOnce() -> T) -> T {
    let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: both calls exchange the capture mode of this thread with the one in `mode`.
    let is_relaxed = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) }.result().is_ok();
    let out = work();
    if is_relaxed {
        // SAFETY: `mode` is a valid capture mode, which the first call wrote.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) }.result();
    }
    out
}

/// Counts a launch and stores its node if the graph being captured is updatable.
pub(super) fn note_launch(pass: &mut Pass, name: &'static str, stream: &CudaStream) -> Result<(), GpuError> {
    pass.captured += 1;
    let Some(nodes) = &mut pass.nodes else { return Ok(()) };
    let mut status = sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
    let (mut dependencies, mut n) = (null(), 0);
    let (id, graph) = (null_mut(), null_mut());
    // SAFETY: this thread captures the stream; the last captured node is the dependency of the next launch.
    let node = unsafe {
        sys::cuStreamGetCaptureInfo_v2(stream.cu_stream(), &mut status, id, graph, &mut dependencies, &mut n)
            .result()
            .doing(|| format!("capturing {name}"))?;
        if n == 1 { *dependencies as usize } else { 0 }
    };
    nodes.push((name, node));
    Ok(())
}
