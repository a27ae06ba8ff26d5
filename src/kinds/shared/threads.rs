//! Threads of a CPU backend.

use crate::{num::digits::counted, sim::SimError};
use rayon::{
    ThreadPool, ThreadPoolBuilder,
    iter::{ParallelBridge as _, ParallelIterator as _},
};
use std::sync::{Arc, OnceLock};

/// Minimum number of elementary operations for a parallel loop; waking the threads costs about as much.
const MIN_PARALLEL_OPERATIONS: usize = 100_000;

/// Threads that start with the first work. A simulation is built on one thread and stepped on another, and threads inherit the
/// priority of the thread that starts them; therefore the stepping thread starts them. Copies share the threads.
#[derive(Clone)]
pub struct Threads {
    n: usize,
    pool: Arc<OnceLock<Result<ThreadPool, String>>>,
}

impl Threads {
    /// Creates a handle of `n` threads, at least one; starts none.
    pub fn new(n: usize) -> Self {
        Self { n: n.max(1), pool: Arc::default() }
    }

    /// Returns the number of threads.
    pub const fn number(&self) -> usize {
        self.n
    }

    /// Runs work on the threads.
    ///
    /// # Errors
    /// Returns the error of the work, or an error if the system cannot start the threads.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> Result<R, SimError> + Send) -> Result<R, SimError> {
        match self.pool() {
            Ok(pool) => pool.install(work),
            Err(why) => Err(SimError::Input(why.clone())),
        }
    }

    /// Processes all chunks, in any order; `operations` is the approximate total work. The result of a chunk must not depend
    /// on the thread that computes it, so that results do not depend on the number of threads. If the threads cannot be
    /// started, the calling thread processes all chunks.
    pub fn for_each<I>(&self, operations: usize, chunks: I, work: impl Fn(I::Item) + Send + Sync)
    where
        I: Iterator<Item: Send> + Send,
    {
        let is_parallel = self.n > 1 && operations >= MIN_PARALLEL_OPERATIONS;
        match is_parallel.then(|| self.pool()) {
            Some(Ok(pool)) => pool.install(|| chunks.par_bridge().for_each(work)),
            _ => chunks.for_each(work),
        }
    }

    fn pool(&self) -> &Result<ThreadPool, String> {
        self.pool.get_or_init(|| {
            let pool = ThreadPoolBuilder::new().num_threads(self.n).thread_name(|_| NAME.to_owned()).build();
            pool.map_err(|e| {
                let threads = counted(self.n, "thread", "threads");
                format!("run.threads: cannot start {threads} ({e}); take fewer")
            })
        })
    }
}

/// Name of the threads.
const NAME: &str = "simulation";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_is_processed_once() {
        let mut numbers = vec![0_u32; 1000];
        for threads in [1, 2, 5] {
            Threads::new(threads).for_each(1 << 30, numbers.chunks_mut(7).enumerate(), |(at, chunk)| {
                chunk.iter_mut().enumerate().for_each(|(i, x)| *x += (at * 7 + i) as u32);
            });
        }
        assert!(numbers.iter().enumerate().all(|(i, x)| *x == 3 * i as u32));
    }
}
