//! Beside a window, simulations are built on one thread and stepped on another, of a lower priority.

use super::{SEED, run};
use crate::conformance::cases::Case;
use neuropil::{
    engine::lower_priority,
    sim::{Device, Simulation},
};
use std::{collections::BTreeMap, path::Path};

/// Nice value of the thread that steps.
const NICE: i32 = 9;

/// Nice value and nanoseconds on a processor, by the id of a thread.
type Threads = BTreeMap<String, (i32, u64)>;

/// All threads of this process.
fn threads() -> Threads {
    let read = |id: &Path| {
        let stat = std::fs::read_to_string(id.join("stat")).ok()?;
        // `id (name) state …`: the nice value is the 17th number after the name.
        let nice = stat.rsplit_once(')')?.1.split_whitespace().nth(16)?.parse().ok()?;
        let nanos = std::fs::read_to_string(id.join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()?;
        Some((nice, nanos))
    };
    let all = std::fs::read_dir("/proc/self/task").expect("threads").flatten();
    all.filter_map(|id| Some((id.file_name().into_string().ok()?, read(&id.path())?))).collect()
}

/// All threads that compute a step have the priority of the thread that takes it.
pub fn computing_threads_have_the_priority_of_the_engine(case: &Case) {
    let mut sim = std::thread::scope(|scope| {
        let build = || super::prepared(&case.model).start(SEED, &Device::Cpu { threads: 3 }).expect("it starts");
        scope.spawn(build).join().expect("it is built")
    });
    let steps = || step(&mut *sim, case.steps);
    let (before, after) = std::thread::scope(|scope| scope.spawn(steps).join().expect("it runs"));
    let used = |(id, (nice, nanos)): (&String, &(i32, u64))| (*nice, nanos - before.get(id).map_or(0, |(_, n)| *n));
    let (low, others): (Vec<_>, Vec<_>) = after.iter().map(used).partition(|(nice, _)| *nice == NICE);
    let sum = |threads: &[(i32, u64)]| threads.iter().map(|(_, nanos)| nanos).sum::<u64>();
    assert!(sum(&low) > 0, "the thread that steps is known");
    assert!(sum(&others) < sum(&low) / 4, "other threads: {others:?}, of the priority: {low:?}");
}

/// Steps at the priority of an engine; the threads before and after, while those of the simulation exist. Threads that built
/// it look for more work during the first steps.
fn step(sim: &mut dyn Simulation, steps: u32) -> (Threads, Threads) {
    lower_priority(NICE);
    run(sim, steps, 10);
    let before = threads();
    run(sim, steps, 10);
    (before, threads())
}
