//! The threads of one loop. What a piece of work computes does not depend on who does it, so results do not depend on
//! how many threads there are.

use std::sync::{Mutex, PoisonError};

/// Work of less than this many elementary operations is done alone: a thread costs about as much to start.
const WORTH_THREADS: usize = 100_000;

/// How many threads there are.
#[derive(Clone, Copy, Debug)]
pub struct Crew {
    threads: usize,
}

impl Crew {
    /// At least one.
    pub fn new(threads: usize) -> Self {
        Self { threads: threads.max(1) }
    }

    /// Threads that pieces of work should be cut for.
    pub const fn threads(self) -> usize {
        self.threads
    }

    /// Does all pieces, in any order; `operations` is roughly how much work they are together.
    pub fn each<I>(self, operations: usize, pieces: I, work: impl Fn(I::Item) + Sync)
    where
        I: Iterator<Item: Send> + Send,
    {
        if self.threads < 2 || operations < WORTH_THREADS {
            return pieces.for_each(work);
        }
        let pieces = Mutex::new(pieces);
        let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
        let toil = || std::iter::from_fn(next).for_each(&work);
        std::thread::scope(|scope| {
            for _ in 1..self.threads {
                // A thread that cannot be had is not missed: the others take its pieces.
                drop(std::thread::Builder::new().name("nuclei".to_owned()).spawn_scoped(scope, toil));
            }
            toil();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_done_once() {
        let mut numbers = vec![0_u32; 1000];
        for threads in [1, 2, 5] {
            Crew::new(threads).each(1 << 30, numbers.chunks_mut(7).enumerate(), |(at, piece)| {
                piece.iter_mut().enumerate().for_each(|(i, x)| *x += (at * 7 + i) as u32);
            });
        }
        assert!(numbers.iter().enumerate().all(|(i, x)| *x == 3 * i as u32));
    }
}
