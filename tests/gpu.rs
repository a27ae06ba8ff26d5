//! Needs an NVIDIA GPU, and says so when there is none. The test binary needs no toolkit and no files, so
//! it can be copied to a machine with a driver and run there:
//! `cargo test --test gpu --no-run`, then `gpu-… --nocapture`.

use neuropil::gpu::{Buf, Gpu, GpuError, OpenError, Pinned, selftest};
use std::{io::Write as _, sync::Arc};

/// Says so on the terminal even when the test runner keeps the output of passing tests to itself.
fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

fn gpu() -> Option<Arc<Gpu>> {
    match Gpu::open(0) {
        Ok(gpu) => Some(gpu),
        Err(why @ (OpenError::NoDriver(_) | OpenError::NoDevice { .. })) => {
            skipped(&format!("nothing ran on a GPU: {why}"));
            None
        }
        Err(why) => panic!("{why}"),
    }
}

#[test]
fn both_backends_return_the_same_bits() {
    let Some(gpu) = gpu() else { return };
    let report = selftest::run(&gpu).unwrap();
    println!("{report}");
    assert!(report.passed(), "{report}");
    assert!(report.timings.iter().all(|t| t.nanos > 0), "{:?}", report.timings);
    assert!(report.facts.iter().all(|k| k.registers > 0 && k.local_bytes == 0), "{:?}", report.facts);
}

#[test]
fn a_buffer_that_does_not_fit_says_what_is_free() {
    let Some(gpu) = gpu() else { return };
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
fn a_device_is_used_from_another_thread() {
    let Some(gpu) = gpu() else { return };
    let worker = std::thread::Builder::new().name("worker".into()).spawn(move || selftest::run(&gpu).unwrap().passed());
    assert!(worker.unwrap().join().unwrap());
}
