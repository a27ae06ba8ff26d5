//! The threads of a backend.

use crate::sim::SimError;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::OnceLock;

/// Threads that start with the first work. A simulation is built on another thread than it is stepped on, and threads
/// inherit the priority of the thread that starts them: theirs is that of the thread that steps.
pub struct Threads {
    n: usize,
    pool: OnceLock<Result<ThreadPool, String>>,
}

impl Threads {
    /// So many threads, at least one.
    pub fn new(n: usize) -> Self {
        Self { n: n.max(1), pool: OnceLock::new() }
    }

    /// Number of threads.
    pub const fn number(&self) -> usize {
        self.n
    }

    /// Runs work on the threads.
    ///
    /// # Errors
    /// Of the work; the system has no threads left.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> Result<R, SimError> + Send) -> Result<R, SimError> {
        match self.pool.get_or_init(|| self.start()) {
            Ok(pool) => pool.install(work),
            Err(why) => Err(SimError::Input(why.clone())),
        }
    }

    fn start(&self) -> Result<ThreadPool, String> {
        let pool = ThreadPoolBuilder::new().num_threads(self.n).thread_name(|_| NAME.to_owned()).build();
        pool.map_err(|e| format!("run.threads: cannot start {} threads ({e}); take fewer", self.n))
    }
}

/// Name of the threads.
const NAME: &str = "language";
