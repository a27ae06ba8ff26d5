//! Memory of every kind: failing allocations, and reports of the memory in use.

use super::{SEED, all_taps, backends, cases::Case, prepared};
use neuropil::{
    gpu::{Pass, Place, allocation},
    sim::{Device, Frame, SimError},
};
use neuropil_test_support::allocator::held;

/// Threads of this process; 0 where the system does not tell.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// Bytes held when no more than so many threads are left: those of a pool end, and free their buffers, after it is dropped.
fn held_by(n_threads: usize) -> i64 {
    let waits = (0..60_000).take_while(|_| threads() > n_threads);
    waits.for_each(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
    held()
}

/// Each allocation of a start, its first steps and a first reading fails in turn: an error that names the buffer and what
/// to do, nothing is kept, and the next start succeeds.
pub fn any_allocation_may_fail(case: &Case) {
    let prepared = prepared(&case.model);
    let taps = all_taps(case);
    let runs = |device: &Device| {
        let mut sim = prepared.start(SEED, device)?;
        sim.tap(&taps)?;
        sim.advance(3, &mut Pass::default())?;
        sim.sample(&mut Frame { clock: sim.clock(), ..Frame::default() })?;
        Ok::<_, SimError>(format!("{:?}", sim.digest(0)))
    };
    let n_threads = threads();
    for device in backends(case) {
        let want = runs(&device).expect("it runs");
        let held_now = || match &device {
            Device::Cpu { .. } => (held_by(n_threads), 0, 0),
            Device::Cuda(gpu) => (0, gpu.held(Place::Device), gpu.held(Place::Pinned)),
        };
        let before = held_now();
        let mut n = 0;
        loop {
            allocation::fail_after(Some(n));
            let result = runs(&device);
            if allocation::fail_after(None).is_some() {
                break assert_eq!(result.expect("it runs"), want);
            }
            let Err(error) = result else { panic!("allocation {n} failed without an error") };
            let text = error.to_string();
            let says = |all: &[&str]| all.iter().all(|part| text.contains(part));
            assert!(says(&["needs", "make the model smaller"]) || says(&["page-locking", "full"]), "{text}");
            drop(error);
            n += 1;
        }
        let after = held_now();
        assert_eq!((before.1, before.2), (after.1, after.2), "device memory is kept");
        assert!(after.0 - before.0 < 65_536, "{} B are kept", after.0 - before.0);
        assert_eq!(runs(&device).expect("it runs"), want);
    }
}

/// Memory by owner sums up to what the process allocated for setup and simulation, within 5 % and 128 KiB. On a GPU it
/// is the bytes of all buffers, exactly; the driver rounds up, which is not counted.
pub fn reported_memory_is_allocated_memory(case: &Case) {
    for device in backends(case) {
        match &device {
            Device::Cpu { .. } => reported_host_memory_is_allocated_memory(case),
            Device::Cuda(gpu) => {
                let before = (gpu.held(Place::Device), gpu.held(Place::Pinned));
                let mut sim = prepared(&case.model).start(SEED, &device).expect("it starts");
                for taps in [vec![], all_taps(case)] {
                    sim.tap(&taps).expect("it is tapped");
                    sim.advance(case.steps / 4, &mut Pass::default()).expect("it runs");
                    sim.sample(&mut Frame { clock: sim.clock(), ..Frame::default() }).expect("it is sampled");
                    let report = sim.memory();
                    let reported = (report.on(Place::Device), report.on(Place::Pinned));
                    let held = (gpu.held(Place::Device) - before.0, gpu.held(Place::Pinned) - before.1);
                    assert_eq!(reported, held, "{report:?}");
                }
                drop(sim);
                assert_eq!((gpu.held(Place::Device), gpu.held(Place::Pinned)), before);
            }
        }
    }
}

fn reported_host_memory_is_allocated_memory(case: &Case) {
    let start = || {
        let prepared = prepared(&case.model);
        let mut sim = prepared.start(SEED, &Device::Cpu { threads: 1 }).expect("it starts");
        sim.advance(case.steps / 4, &mut Pass::default()).expect("it runs");
        (prepared, sim)
    };
    // The first start also allocates what the process keeps: the thread pool, which grows with the processor.
    drop(start());
    let before = held();
    let (_prepared, sim) = start();
    let allocated = held() - before;
    let reported: u64 = sim.memory().total();
    let error = (allocated - reported as i64).abs();
    assert!(error < allocated / 20 + 131_072, "reported {reported} B, allocated {allocated} B: {:?}", sim.memory());
}
