//! Parallel loops. The result of a chunk does not depend on the thread that computes it, so results do not depend on the
//! number of threads.

use std::sync::{Mutex, PoisonError};

/// Loops of fewer elementary operations run on one thread: starting a thread costs about as much.
const MIN_PARALLEL_OPERATIONS: usize = 100_000;

/// The number of threads of a loop.
#[derive(Clone, Copy, Debug)]
pub struct ThreadPool {
    threads: usize,
}

impl ThreadPool {
    /// At least one.
    pub fn new(threads: usize) -> Self {
        Self { threads: threads.max(1) }
    }

    /// Number of threads.
    pub const fn threads(self) -> usize {
        self.threads
    }

    /// Processes all chunks, in any order; `operations` is the approximate total work.
    pub fn for_each<I>(self, operations: usize, chunks: I, work: impl Fn(I::Item) + Sync)
    where
        I: Iterator<Item: Send> + Send,
    {
        if self.threads < 2 || operations < MIN_PARALLEL_OPERATIONS {
            return chunks.for_each(work);
        }
        let chunks = Mutex::new(chunks);
        let next = || chunks.lock().unwrap_or_else(PoisonError::into_inner).next();
        let worker = || std::iter::from_fn(next).for_each(&work);
        std::thread::scope(|scope| {
            for _ in 1..self.threads {
                // If a thread cannot be started, the others process its chunks.
                drop(std::thread::Builder::new().name("nuclei".to_owned()).spawn_scoped(scope, worker));
            }
            worker();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_is_processed_once() {
        let mut numbers = vec![0_u32; 1000];
        for threads in [1, 2, 5] {
            ThreadPool::new(threads).for_each(1 << 30, numbers.chunks_mut(7).enumerate(), |(at, chunk)| {
                chunk.iter_mut().enumerate().for_each(|(i, x)| *x += (at * 7 + i) as u32);
            });
        }
        assert!(numbers.iter().enumerate().all(|(i, x)| *x == 3 * i as u32));
    }
}
