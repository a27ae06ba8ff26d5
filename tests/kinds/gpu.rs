//! Needs an NVIDIA GPU, and says so when there is none. The test binary needs no toolkit and no files, so
//! it can be copied to a machine with a driver and run there:
//! `cargo test --test kinds --no-run`, then `kinds-… gpu --nocapture`.

use crate::device::{gpu, gpu_alone};
use neuropil::{
    gpu::{
        Arena, Batch, Buf, Gpu, GpuError, Graph, Grid, Lane, Mark, Pass, Pinned, Place, Stream, allocation,
        ceilings::{self, Limit},
        selftest::{self, DrawWords, Tick, TransposeStack},
    },
    num::elements::{Bf16, E4m3, E5m2, Element, F16},
    sim::{Device, Progress},
};
use std::sync::Arc;

#[test]
fn both_backends_return_the_same_bits() {
    let Some(gpu) = gpu() else { return };
    let report = selftest::run(&gpu).unwrap();
    assert!(report.passed(), "{report}");
    assert!(report.timings.iter().all(|t| t.nanos > 0), "{:?}", report.timings);
    assert!(report.facts.iter().all(|k| k.registers > 0 && k.local_bytes == 0), "{:?}", report.facts);
}

#[test]
fn a_buffer_that_does_not_fit_says_what_is_free() {
    let Some(gpu) = gpu_alone() else { return };
    let Err(GpuError::OutOfMemory { needed, free, total, .. }) = Buf::<u8>::zeros(&gpu, "synapses", 1 << 42) else {
        panic!("4 TiB fitted");
    };
    assert_eq!(needed, 1 << 42);
    assert!(0 < free && free <= total);
    // One that fits the card but not what is free on it, so that the driver itself refuses.
    let memory = gpu.memory().unwrap();
    let half = (memory.total / 5 * 3) as usize;
    let first = Buf::<u8>::zeros(&gpu, "first", half);
    let second = Buf::<u8>::zeros(&gpu, "second", half);
    assert!(first.is_err() || matches!(second, Err(GpuError::OutOfMemory { .. })), "1.2 times the memory fitted");
}

#[test]
fn temporaries_of_an_arena_share_its_memory() {
    let Some(gpu) = gpu() else { return };
    let (before, mut arena) = (gpu.held(Place::Device), Arena::new(&gpu, "workspace", 4000).unwrap());
    assert_eq!((arena.bytes(), gpu.held(Place::Device) - before), (4096, 4096));
    {
        let frame = arena.frame();
        let mut first = frame.take::<f32>("first", [3, 5]).unwrap();
        first.write(&[1.0; 15]).unwrap();
        {
            let inner = frame.frame();
            let mut second = inner.take::<u8>("second", 256).unwrap();
            second.write(&[7; 256]).unwrap();
            assert!(frame.take::<u8>("early", 1).map(drop).unwrap_err().to_string().contains("still open"));
            let error = inner.take::<f64>("third", 1000).map(drop).unwrap_err().to_string();
            let want = "third needs 7.81 KiB, but only 3.50 KiB of the 4.00 KiB of workspace are free; make the model";
            assert!(error.starts_with(want), "{error}");
        }
        let again = frame.take::<f32>("again", 64).unwrap();
        let given_back = again.read().unwrap();
        assert!(!cfg!(debug_assertions) || given_back.iter().all(|x| x.is_nan()), "{given_back:?}");
        assert_eq!(first.read().unwrap(), [1.0; 15]);
        assert_eq!(first.shape().extents(), [3, 5]);
    }
    assert_eq!(arena.peak(), 512);
    drop(arena);
    assert_eq!(gpu.held(Place::Device), before);
}

/// An allocation that fails reports what was asked for, leaves nothing behind, and the next one succeeds.
#[test]
fn an_injected_failure_is_an_error_of_its_allocation() {
    let Some(gpu) = gpu() else { return };
    let held = || (gpu.held(Place::Device), gpu.held(Place::Pinned));
    let before = held();
    allocation::fail_after(Some(1));
    let first = Buf::<u32>::zeros(&gpu, "first", 10).unwrap();
    let Err(GpuError::OutOfMemory { what: "second", needed: 40, .. }) = Buf::<f32>::zeros(&gpu, "second", 10) else {
        panic!("no error");
    };
    assert_eq!(allocation::fail_after(Some(0)), None);
    let pinned = Pinned::<u32>::zeros(&gpu, 10);
    assert!(matches!(&pinned, Err(GpuError::Full { doing, .. }) if doing.contains("10 × 4 B")));
    assert_eq!(held(), (before.0 + 40, before.1));
    let third = (Buf::<f32>::zeros(&gpu, "third", 10).unwrap(), Pinned::<u32>::zeros(&gpu, 10).unwrap());
    assert_eq!(held(), (before.0 + 80, before.1 + 40));
    drop((first, third));
    assert_eq!(held(), before);
}

#[test]
fn buffers_keep_what_they_are_given() {
    let Some(gpu) = gpu() else { return };
    let values: Vec<i32> = (0..100_003).collect();
    let mut buffer = Buf::from_slice(&gpu, "values", &values).unwrap();
    assert_eq!(buffer.read().unwrap(), values);
    let mut pinned = Pinned::zeros(&gpu, 2_000).unwrap();
    buffer.download(100_000..100_003, &mut pinned).unwrap();
    assert_eq!(pinned.get().unwrap()[..4], [100_000, 100_001, 100_002, 0], "only what was asked for is copied");
    buffer.download(500..2_500, &mut pinned).unwrap();
    let mut other = Buf::zeros(&gpu, "other", values.len()).unwrap();
    other.copy_from(&buffer).unwrap();
    other.write_at(1, &[-5, -6]).unwrap();
    assert_eq!(other.read().unwrap()[..4], [0, -5, -6, 3]);
    assert!(other.write_at(100_002, &[1, 2]).is_err());
    buffer.clear().unwrap();
    assert_eq!(pinned.get().unwrap(), &values[500..2_500], "what comes later does not overtake the copy");
    assert!(buffer.download(0..2_001, &mut pinned).is_err());
    assert!(buffer.download(100_000..100_004, &mut pinned).is_err());
    assert!(buffer.read().unwrap().iter().all(|v| *v == 0));
    assert!(matches!(buffer.write(&[1, 2]), Err(GpuError::Length { device: 100_003, host: 2, .. })));
    assert!(Buf::<f32>::zeros(&gpu, "nothing", 0).unwrap().read().unwrap().is_empty());
}

#[test]
fn elements_of_every_type_go_up_and_come_down() {
    let Some(gpu) = gpu() else { return };
    fn check<T: Element + neuropil::gpu::layout::CudaType>(gpu: &Arc<Gpu>) {
        let values: Vec<T> = (0..10_007).map(|i| T::from_f32((i as f32 - 5_000.0) * 0.11)).collect();
        let mut buffer = Buf::<T>::shaped(gpu, T::NAME, [10_007, 1]).unwrap();
        buffer.write(&values).unwrap();
        assert_eq!(buffer.read().unwrap(), values);
        let mut pinned = Pinned::zeros(gpu, 3).unwrap();
        buffer.download(7..10, &mut pinned).unwrap();
        assert_eq!(pinned.get().unwrap(), &values[7..10]);
        assert_eq!(buffer.bytes() as usize, size_of_val(&values[..]));
    }
    check::<f32>(&gpu);
    check::<F16>(&gpu);
    check::<Bf16>(&gpu);
    check::<E4m3>(&gpu);
    check::<E5m2>(&gpu);
    let levels: Vec<i8> = (-128..=127).collect();
    assert_eq!(Buf::from_slice(&gpu, "i8", &levels).unwrap().read().unwrap(), levels);
}

#[test]
fn parts_of_a_buffer_are_read_and_written_by_themselves() {
    let Some(gpu) = gpu() else { return };
    let mut stack = Buf::<i32>::shaped(&gpu, "stack", [4, 3, 2]).unwrap();
    stack.write(&(0..24).collect::<Vec<_>>()).unwrap();
    let matrix = stack.at(2).unwrap();
    assert_eq!((matrix.shape().extents(), matrix.read().unwrap()), (&[3, 2][..], (12..18).collect()));
    assert_eq!(matrix.at(1).unwrap().read().unwrap(), [14, 15]);
    assert_eq!(stack.reshaped([6, 4]).unwrap().part(1..2).unwrap().read().unwrap(), [4, 5, 6, 7]);
    let (mut low, mut high) = stack.split_at_mut(1).unwrap();
    high.part_mut(2..3).unwrap().copy_from(&low).unwrap();
    low.clear().unwrap();
    let expected: Vec<i32> = [0; 6].into_iter().chain(6..18).chain(0..6).collect();
    assert_eq!(stack.read().unwrap(), expected);
    for wrong in [stack.at(4).err(), stack.part(3..5).err(), stack.reshaped([5, 5]).err()] {
        let error = wrong.expect("it is outside").to_string();
        assert!(error.contains("stack has the shape 4 × 3 × 2"), "{error}");
    }
}

#[test]
fn a_grid_that_cannot_run_is_refused() {
    let Some(gpu) = gpu() else { return };
    let kernels = selftest::Kernels::load(&gpu).unwrap();
    let [mut from, mut to] = [0, 1].map(|_| Buf::<u32>::zeros(&gpu, "words", 1024).unwrap());
    let mut launch = |threads, shared_bytes| {
        let grid = Grid::Blocks { blocks: [1; 3], threads, shared_bytes };
        TransposeStack { rows: 32, columns: 32, spare: 0, from: &from, to: &mut to }.launch(
            &kernels,
            &mut Pass::default(),
            grid,
        )
    };
    let too_large = launch([64, 32, 1], 1 << 14).unwrap_err().to_string();
    assert!(too_large.contains("blocks of at most 1024"), "{too_large}");
    let too_much = launch([32, 32, 1], 1 << 20).unwrap_err().to_string();
    assert!(too_much.contains("1048576 B of shared memory per block; this GPU has"), "{too_much}");
    launch([32, 32, 1], 32 * 33 * 4).unwrap();
    from.clear().unwrap();
    gpu.synchronize().unwrap();
}

#[test]
fn a_launch_of_a_graph_is_given_other_arguments() {
    let Some(gpu) = gpu() else { return };
    let kernels = selftest::Kernels::load(&gpu).unwrap();
    let matrix: Vec<u32> = (0..6).collect();
    let from = Buf::from_slice(&gpu, "matrix", &matrix).unwrap();
    let [mut first, mut second] = [0, 1].map(|_| Buf::<u32>::zeros(&gpu, "transposed", 6).unwrap());
    let grid = Grid::Blocks { blocks: [1; 3], threads: [4, 4, 1], shared_bytes: 4 * 4 * 5 };
    let mut clock = Buf::zeros(&gpu, "clock", 1).unwrap();
    // SAFETY: the buffers outlive the graph.
    let mut graph = unsafe {
        Graph::capture_updatable(&gpu, |pass| {
            Tick { clock: &mut clock }.launch(&kernels, pass, 1)?;
            TransposeStack { rows: 2, columns: 3, spare: 0, from: &from, to: &mut first }.launch(&kernels, pass, grid)
        })
    }
    .unwrap();
    graph.launch().unwrap();
    let update = TransposeStack { rows: 3, columns: 2, spare: 0, from: &from, to: &mut second };
    // SAFETY: as before.
    unsafe { update.update(&kernels, &mut graph, 1, grid) }.unwrap();
    graph.launch().unwrap();
    assert_eq!((first.read().unwrap(), second.read().unwrap()), (vec![0, 3, 1, 4, 2, 5], vec![0, 2, 4, 1, 3, 5]));
    assert_eq!(clock.read().unwrap()[0].step, 2);
    // SAFETY: as before; both are refused.
    let wrong = |launch| unsafe { Tick { clock: &mut clock }.update(&kernels, &mut graph, launch, 1) };
    for (error, why) in [1, 2].map(wrong).into_iter().zip(["it is a launch of transpose_stack", "2 launches"]) {
        let error = error.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_second_stream_is_ordered_by_marks() {
    let Some(gpu) = gpu() else { return };
    let kernels = selftest::Kernels::load(&gpu).unwrap();
    let clock = Buf::from_slice(&gpu, "clock", &[selftest::Clock { seed: 1, step: 2, purpose: 3, pad: 0 }]).unwrap();
    let [mut here, mut there] = [0, 1].map(|_| Buf::<u32>::zeros(&gpu, "words", 4 << 20).unwrap());
    let stream = Stream::new(&gpu).unwrap();
    let mut pass = Pass::default();
    stream.wait(&Mark::now(&gpu).unwrap()).unwrap(); // the clock is written
    pass.on(&stream, |pass| DrawWords { clock: &clock, n: 1 << 20, words: &mut there }.launch(&kernels, pass, 1 << 20))
        .unwrap();
    DrawWords { clock: &clock, n: 1 << 20, words: &mut here }.launch(&kernels, &mut pass, 1 << 20).unwrap();
    gpu.wait(&stream.mark().unwrap()).unwrap();
    assert_eq!(here.read().unwrap(), there.read().unwrap());
}

#[test]
fn a_device_is_used_from_another_thread() {
    let Some(gpu) = gpu() else { return };
    let worker = std::thread::Builder::new().name("worker".into()).spawn(move || selftest::run(&gpu).unwrap().passed());
    assert!(worker.unwrap().join().unwrap());
}

/// The project on the GPU, 60 batches; every eighth measured and looked at.
fn profile(gpu: &Arc<Gpu>, project: &str) -> Vec<Batch> {
    let (project, _) = neuropil::project::read(project).expect("it opens");
    let scene = project.build_context(std::path::Path::new("."));
    let device = Device::Cuda(gpu.clone());
    let mut sim = project.model.build(&scene, &device, &Progress::default()).expect("it starts");
    let mut pass = Pass::default();
    for number in 0..60 {
        pass.begin(number, sim.clock().step, number % 8 == 0, true);
        let start = std::time::Instant::now();
        sim.advance(200, &mut pass).expect("it runs");
        pass.end(200, start.elapsed().as_nanos() as u64).expect("it measures");
    }
    gpu.synchronize().expect("it is idle");
    pass.collect().expect("it measures");
    std::mem::take(&mut pass.batches)
}

#[test]
fn a_batch_of_a_gpu_is_told_launch_by_launch() {
    let Some(gpu) = gpu() else { return };
    let projects =
        [("fly", include_str!("../../projects/fly.ron")), ("nuclei", include_str!("../../projects/nuclei.ron"))];
    for (project, text) in projects {
        let batches = profile(&gpu, text);
        assert_eq!(batches.len(), 60, "{project}");
        // The first one also warms up.
        let measured: Vec<_> = batches.iter().filter_map(|b| Some((b, b.measured.as_ref()?))).skip(1).collect();
        assert_eq!(measured.len(), 7);
        for (batch, inside) in &measured {
            let lanes: std::collections::BTreeSet<Lane> = inside.spans.iter().map(|s| s.lane).collect();
            for lane in [Lane::Calls, Lane::Waits, Lane::Compute] {
                assert!(lanes.contains(&lane), "{project}: no span on {lane:?}");
            }
            // Kernels of one stream follow each other; events are good to half a microsecond.
            let kernels: Vec<_> = inside.spans.iter().filter(|s| s.lane == Lane::Compute).collect();
            assert!(kernels.windows(2).all(|w| w[0].end() <= w[1].start + 1_000), "{project}: kernels overlap");
            assert!(kernels.iter().any(|s| s.kernels == 0), "{project}: nothing was launched by itself");
            let end = inside.spans.iter().map(|s| s.end()).max().expect("spans");
            assert!(end <= batch.nanos + batch.nanos / 5 + 100_000, "{project}: {end} of {} ns", batch.nanos);
        }
    }
}

#[test]
fn a_gpu_has_plausible_ceilings() {
    let Some(gpu) = gpu() else { return };
    let ceilings = ceilings::measure_gpu(&gpu).expect("they are measured");
    let best = |limit| ceilings.best(limit).expect("measured").value;
    assert!((1e11..2e13).contains(&best(Limit::Bytes)), "memory of 0.1 to 20 TB/s");
    assert!((1e9..1e12).contains(&best(Limit::Updates)), "atomics");
    let ops: Vec<f64> = ceilings.all(Limit::Ops).map(|c| c.value).collect();
    assert!(ops[0] > 1e12 && ops[1] > 2.0 * ops[0], "tensor units are faster: {ops:?}");
    let launches: Vec<f64> = ceilings.all(Limit::Launch).map(|c| c.value).collect();
    assert!(launches[1] < launches[0] && launches[0] < 1e-4, "graphs are faster: {launches:?}");
}
