//! Peak performance of a GPU, by one kernel per limit.

use super::{Ceiling, Ceilings, Limit, median};
use crate::{
    gpu::{
        Buf, Compile, Gpu, GpuError, Graph, Pass,
        kernel::{In, InOut, Size},
        launch_cost::{self, DoNothing},
    },
    kernels,
};
use std::{sync::Arc, time::Instant};

kernels! {
    /// One kernel per ceiling.
    pub struct Kernels in "common/ceilings.cu" compiled (Compile::EXACT.on(Compile::PER_GENERATION)) {
        /// A grid of threads sums a buffer, 16 bytes at a time. Items: words.
        #[block(256)]
        fn read_all as ReadAll(n: Size<u32>, words: In<u32>, sums: InOut<u32>);

        /// A grid of threads copies a buffer, 16 bytes at a time. Items: words.
        #[block(256)]
        fn copy_all as CopyAll(n: Size<u32>, words: In<u32>, copy: InOut<u32>);

        /// Each thread adds one to random targets, by atomics whose result is unused.
        #[block(256)]
        fn add_scattered as AddScattered(n_targets: Size<u32>, rounds: Size<u32>, targets: InOut<i32>);

        /// Each thread multiplies and adds in registers: eight independent f32 sums.
        #[block(256)]
        fn multiply_add as MultiplyAdd(rounds: Size<u32>, sums: InOut<f32>);

        /// Each warp multiplies 16 × 16 by 16 × 8 tiles of f16 into four independent f32 tiles.
        #[block(256)]
        fn multiply_tiles as MultiplyTiles(rounds: Size<u32>, sums: InOut<f32>);
    }
}

/// Number of bytes streamed: much more than any cache; less if a quarter of the free memory is smaller.
const STREAMED: u64 = 1 << 30;
/// Targets of scattered additions: the number of neurons of the fly connectome.
const TARGETS: u32 = 138_639;
const ROUNDS: u32 = 256;
/// Number of threads per multiprocessor.
const THREADS: u32 = 2048;
const REPEATS: usize = 7;
/// Number of consecutive launches.
const LAUNCHES: u32 = 1000;

/// Measures all limits, which takes about a second.
pub fn measure(gpu: &Arc<Gpu>) -> Result<Ceilings, GpuError> {
    let kernels = Kernels::load(gpu)?;
    let mut list = streams(gpu, &kernels)?;
    list.extend(arithmetic(gpu, &kernels)?);
    list.extend(launches(gpu)?);
    Ok(Ceilings::of(gpu.name.clone(), list))
}

/// Returns the median device time of a launch, seconds, without the first launch.
fn timed(gpu: &Gpu, mut launch: impl FnMut(&mut Pass) -> Result<(), GpuError>) -> Result<f64, GpuError> {
    launch(&mut Pass::default())?;
    let mut secs = vec![];
    for _ in 0..REPEATS {
        let mut pass = Pass::measuring();
        launch(&mut pass)?;
        gpu.synchronize()?;
        pass.collect()?;
        secs.push(pass.timings.iter().map(|t| t.nanos).sum::<u64>() as f64 * 1e-9);
    }
    Ok(median(secs))
}

fn streams(gpu: &Arc<Gpu>, kernels: &Kernels) -> Result<Vec<Ceiling>, GpuError> {
    let bytes = STREAMED.min(gpu.memory()?.free / 4);
    let n = (bytes / 4 / 1024 * 1024) as u32;
    let from = Buf::<u32>::zeros(gpu, "ceiling: source", n as usize)?;
    let mut to = Buf::<u32>::zeros(gpu, "ceiling: copy", n as usize)?;
    let threads = gpu.multiprocessors * THREADS;
    let mut sums = Buf::<u32>::zeros(gpu, "ceiling: sums", threads as usize)?;
    let read = timed(gpu, |pass| ReadAll { n, words: &from, sums: &mut sums }.launch(kernels, pass, threads))?;
    let copy = timed(gpu, |pass| CopyAll { n, words: &from, copy: &mut to }.launch(kernels, pass, threads))?;
    let bytes = 4.0 * f64::from(n);
    Ok(vec![
        Ceiling::new("read", "A kernel reads 1 GiB, 16 bytes per load", Limit::Bytes, bytes / read),
        Ceiling::new("copy", "A kernel copies 1 GiB; read and write are counted", Limit::Bytes, 2.0 * bytes / copy),
    ])
}

fn arithmetic(gpu: &Arc<Gpu>, kernels: &Kernels) -> Result<Vec<Ceiling>, GpuError> {
    let threads = gpu.multiprocessors * THREADS;
    let mut targets = Buf::<i32>::zeros(gpu, "ceiling: targets", TARGETS as usize)?;
    let mut sums = Buf::<f32>::zeros(gpu, "ceiling: sums", threads as usize)?;
    let adds = timed(gpu, |pass| {
        AddScattered { n_targets: TARGETS, rounds: ROUNDS, targets: &mut targets }.launch(kernels, pass, threads)
    })?;
    let fma = timed(gpu, |pass| MultiplyAdd { rounds: 16 * ROUNDS, sums: &mut sums }.launch(kernels, pass, threads))?;
    let tiles =
        timed(gpu, |pass| MultiplyTiles { rounds: 4 * ROUNDS, sums: &mut sums }.launch(kernels, pass, threads))?;
    let (threads, rounds) = (f64::from(threads), f64::from(ROUNDS));
    // The factors are eight accumulators with two operations each, and four tiles of 16 × 16 × 8 multiply-adds per warp of 32.
    let (fma_ops, tile_ops) = (threads * 16.0 * rounds * 16.0, threads / 32.0 * 4.0 * rounds * 4.0 * 4096.0);
    Ok(vec![
        Ceiling::new(
            "scattered s32 atomics",
            "Random targets among 138,639 in the L2, results unused",
            Limit::Updates,
            threads * rounds / adds,
        ),
        Ceiling::new("f32 multiply-add", "Eight independent sums per thread", Limit::Ops, fma_ops / fma),
        Ceiling::new(
            "f16 tensor, f32 sums",
            "mma.sync; the newest instructions of Hopper and Blackwell reach more",
            Limit::Ops,
            tile_ops / tiles,
        ),
    ])
}

fn launches(gpu: &Arc<Gpu>) -> Result<Vec<Ceiling>, GpuError> {
    let kernels = launch_cost::Kernels::load(gpu)?;
    let mut in_stream = vec![];
    for _ in 0..REPEATS {
        gpu.synchronize()?;
        let start = Instant::now();
        for _ in 0..LAUNCHES {
            DoNothing { unused: 0 }.launch(&kernels, &mut Pass::default(), 32)?;
        }
        gpu.synchronize()?;
        in_stream.push(start.elapsed().as_secs_f64() / f64::from(LAUNCHES));
    }
    // SAFETY: no buffer is captured.
    let mut graph = unsafe {
        Graph::capture(gpu, |pass| (0..LAUNCHES).try_for_each(|_| DoNothing { unused: 0 }.launch(&kernels, pass, 32)))
    }?;
    graph.launch()?;
    let mut in_graph = vec![];
    for _ in 0..REPEATS {
        gpu.synchronize()?;
        let start = Instant::now();
        graph.launch()?;
        gpu.synchronize()?;
        in_graph.push(start.elapsed().as_secs_f64() / f64::from(LAUNCHES));
    }
    Ok(vec![
        Ceiling::new("launch in a stream", "Mean of 1000 empty kernels", Limit::Launch, median(in_stream)),
        Ceiling::new("launch in a graph", "Mean of 1000 empty kernels of one graph", Limit::Launch, median(in_graph)),
    ])
}
