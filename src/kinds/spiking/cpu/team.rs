//! The threads of one stretch of steps, and their meeting point, which spins for a while, then sleeps.

use crate::sim::SimError;
use std::{
    ops::Range,
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

/// Takes all parts through the steps, in windows. `run` works on one part, `collect` reads what a window left.
pub fn alone<P>(
    parts: &mut [P],
    steps: Range<u64>,
    window: u64,
    run: impl Fn(&mut P, Range<u64>),
    mut collect: impl FnMut(Range<u64>),
) {
    windows(steps, window, |window| {
        parts.iter_mut().for_each(|part| run(part, window.clone()));
        collect(window);
        true
    });
}

/// The same with one thread per part; all have run a window before one of them runs the next. The first part's
/// thread, this one, also collects, while the others run on.
pub fn together<P: Send>(
    parts: &mut [P],
    steps: Range<u64>,
    window: u64,
    run: impl Fn(&mut P, Range<u64>) + Sync,
    mut collect: impl FnMut(Range<u64>),
) -> Result<(), SimError> {
    let meeting = Meeting::new(parts.len());
    let Some((mine, others)) = parts.split_first_mut() else { return Ok(()) };
    let whole = std::thread::scope(|scope| {
        let mut whole = true;
        for part in others {
            let (meeting, run, steps) = (&meeting, &run, steps.clone());
            let work = move || {
                let _guard = meeting.guard();
                windows(steps, window, |window| {
                    run(part, window);
                    meeting.wait()
                });
            };
            if std::thread::Builder::new().name("spiking".to_owned()).spawn_scoped(scope, work).is_err() {
                meeting.break_up();
                whole = false;
            }
        }
        let _guard = meeting.guard();
        windows(steps, window, |window| {
            run(mine, window.clone());
            whole &= meeting.wait();
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

/// Calls `work` for one window after the other until it returns `false`.
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

/// Turns to wait before giving the processor away, and before going to sleep.
const SPIN: u32 = 2_000;
const YIELD: u32 = 200;

/// Where a fixed number of threads wait for each other, many times.
pub struct Meeting {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
    sleepers: Mutex<usize>,
    bell: Condvar,
}

impl Meeting {
    /// For this many threads.
    pub fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            sleepers: Mutex::new(0),
            bell: Condvar::new(),
        }
    }

    /// Waits until all have come. `false` when one of them never will.
    #[must_use]
    pub fn wait(&self) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::SeqCst);
            self.ring();
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
            sleepers = self.bell.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        }
        *sleepers -= 1;
        !self.broken.load(Ordering::Acquire)
    }

    fn ring(&self) {
        // The lock orders this after a sleeper's last look and before its sleep.
        if *self.sleepers.lock().unwrap_or_else(PoisonError::into_inner) > 0 {
            self.bell.notify_all();
        }
    }

    /// Nobody is to wait any more.
    pub fn break_up(&self) {
        self.broken.store(true, Ordering::SeqCst);
        self.ring();
    }

    /// Breaks the meeting up if the thread that holds this panics.
    pub fn guard(&self) -> Guard<'_> {
        Guard(self)
    }
}

/// See [`Meeting::guard`].
pub struct Guard<'a>(&'a Meeting);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.break_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_runs_ahead() {
        let (meeting, count) = (Meeting::new(3), AtomicUsize::new(0));
        std::thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    for round in 0..2000 {
                        count.fetch_add(1, Ordering::SeqCst);
                        assert!(meeting.wait());
                        assert_eq!(count.load(Ordering::SeqCst), 3 * (round + 1));
                        assert!(meeting.wait());
                    }
                });
            }
        });
    }

    #[test]
    fn a_broken_meeting_lets_go() {
        let meeting = Meeting::new(2);
        std::thread::scope(|s| {
            s.spawn(|| assert!(!meeting.wait()));
            std::thread::sleep(std::time::Duration::from_millis(20));
            meeting.break_up();
        });
    }
}
