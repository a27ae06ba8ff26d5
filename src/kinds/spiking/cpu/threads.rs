//! Threads of a run of windows, and their barrier, which spins for a while, then sleeps.

use crate::sim::SimError;
use std::{
    ops::Range,
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

/// Runs all partitions through the steps on one thread, window by window. `run` advances one partition, `collect` reads a
/// finished window.
pub fn run_serial<P>(
    partitions: &mut [P],
    steps: Range<u64>,
    window: u64,
    run: impl Fn(&mut P, Range<u64>),
    mut collect: impl FnMut(Range<u64>),
) {
    windows(steps, window, |window| {
        partitions.iter_mut().for_each(|partition| run(partition, window.clone()));
        collect(window);
        true
    });
}

/// Runs all partitions through the steps with one thread per partition and a barrier after each window. The thread of the first
/// partition (the calling thread) also collects, while the others continue. Fails if a thread cannot be started.
pub fn run_parallel<P: Send>(
    partitions: &mut [P],
    steps: Range<u64>,
    window: u64,
    run: impl Fn(&mut P, Range<u64>) + Sync,
    mut collect: impl FnMut(Range<u64>),
) -> Result<(), SimError> {
    let barrier = SpinBarrier::new(partitions.len());
    let Some((mine, others)) = partitions.split_first_mut() else { return Ok(()) };
    let whole = std::thread::scope(|scope| {
        let mut whole = true;
        for partition in others {
            let (barrier, run, steps) = (&barrier, &run, steps.clone());
            let work = move || {
                let _guard = barrier.check_finite();
                windows(steps, window, |window| {
                    run(partition, window);
                    barrier.wait()
                });
            };
            if std::thread::Builder::new().name("spiking".to_owned()).spawn_scoped(scope, work).is_err() {
                barrier.abort();
                whole = false;
            }
        }
        let _guard = barrier.check_finite();
        windows(steps, window, |window| {
            run(mine, window.clone());
            whole &= barrier.wait();
            if whole {
                collect(window);
            }
            whole
        });
        whole
    });
    if whole {
        Ok(())
    } else {
        Err(SimError::Input("run.threads: a thread could not be started; take fewer".to_owned()))
    }
}

/// Calls `work` for each window until it returns `false`.
fn windows(steps: Range<u64>, window: u64, mut work: impl FnMut(Range<u64>) -> bool) {
    let mut from = steps.start;
    while from < steps.end {
        let to = steps.end.min(from + window);
        if !work(from..to) {
            return;
        }
        from = to;
    }
}

/// Number of iterations of the barrier before the thread yields, and number of yields before it sleeps.
const SPIN: u32 = 2_000;
const YIELD: u32 = 200;

/// A reusable barrier for a fixed number of threads.
pub struct SpinBarrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
    sleepers: Mutex<usize>,
    condvar: Condvar,
}

impl SpinBarrier {
    /// Creates a barrier for `threads` threads.
    pub fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            sleepers: Mutex::new(0),
            condvar: Condvar::new(),
        }
    }

    /// Waits for all threads. Returns false after [`Self::abort`].
    #[must_use]
    pub fn wait(&self) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::SeqCst);
            self.notify();
            return !self.broken.load(Ordering::Acquire);
        }
        let over = || self.round.load(Ordering::SeqCst) != round || self.broken.load(Ordering::SeqCst);
        for turn in 0..SPIN + YIELD {
            if over() {
                return !self.broken.load(Ordering::Acquire);
            }
            if turn < SPIN { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        *sleepers += 1;
        while !over() {
            sleepers = self.condvar.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        }
        *sleepers -= 1;
        !self.broken.load(Ordering::Acquire)
    }

    fn notify(&self) {
        // A sleeper holds the lock from its last check until it sleeps, so that no notification falls between them.
        if *self.sleepers.lock().unwrap_or_else(PoisonError::into_inner) > 0 {
            self.condvar.notify_all();
        }
    }

    /// Releases all waiting threads.
    pub fn abort(&self) {
        self.broken.store(true, Ordering::SeqCst);
        self.notify();
    }

    /// Returns a guard that aborts the barrier if its thread panics while holding it.
    pub fn check_finite(&self) -> AbortOnPanic<'_> {
        AbortOnPanic(self)
    }
}

/// Guard that aborts a barrier if its thread panics, see [`SpinBarrier::check_finite`].
pub struct AbortOnPanic<'a>(&'a SpinBarrier);

impl Drop for AbortOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_stay_in_step() {
        let (barrier, count) = (SpinBarrier::new(3), AtomicUsize::new(0));
        std::thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    for round in 0..2000 {
                        count.fetch_add(1, Ordering::SeqCst);
                        assert!(barrier.wait());
                        assert_eq!(count.load(Ordering::SeqCst), 3 * (round + 1));
                        assert!(barrier.wait());
                    }
                });
            }
        });
    }

    #[test]
    fn an_aborted_barrier_releases_threads() {
        let barrier = SpinBarrier::new(2);
        std::thread::scope(|s| {
            s.spawn(|| assert!(!barrier.wait()));
            std::thread::sleep(std::time::Duration::from_millis(20));
            barrier.abort();
        });
    }
}
