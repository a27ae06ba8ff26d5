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

/// Time on a processor that is read with an error of a few percent.
const ENOUGH_NANOS: u64 = 200_000_000;

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
    let used = std::thread::scope(|scope| scope.spawn(steps).join().expect("it runs"));
    let (low, others): (Vec<_>, Vec<_>) = used.iter().partition(|(nice, _)| *nice == NICE);
    assert!(sum(&others) < sum(&low) / 4, "other threads: {others:?}, of the priority: {low:?}");
}

/// Steps at the priority of an engine; what the threads used that exist then. Threads that built the simulation look for more
/// work during the first steps. The kernel adds a running thread's time at its ticks, 1 to 10 ms apart: few steps may count
/// nothing.
fn step(sim: &mut dyn Simulation, steps: u32) -> Vec<(i32, u64)> {
    lower_priority(NICE);
    run(sim, steps, 10);
    let before = threads();
    loop {
        run(sim, steps, 10);
        let since = |(id, (nice, nanos)): (&String, &(i32, u64))| {
            (*nice, nanos.saturating_sub(before.get(id).map_or(0, |(_, n)| *n)))
        };
        let used: Vec<_> = threads().iter().map(since).collect();
        if sum(&used) > ENOUGH_NANOS {
            return used;
        }
    }
}

fn sum<'a>(threads: impl IntoIterator<Item = &'a (i32, u64)>) -> u64 {
    threads.into_iter().map(|(_, nanos)| nanos).sum()
}
