//! Background jobs of views: a thread pool, and one job at a time per owner with its progress and last result.

use crate::{
    engine::{lower_priority, panic_message},
    sim::Progress,
};
use rayon::ThreadPool;
use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc},
    time::{Duration, Instant},
};

/// Nice value of the pool's threads; the window has 0. On a machine with few cores, a job with the priority of the window
/// would delay every frame.
const NICE: i32 = 10;

/// Runs a job on the pool, and requests a repaint when it ends. A panic is logged, and the job has no result.
pub fn spawn(ctx: &egui::Context, job: impl FnOnce() + Send + 'static) {
    let (wake, jobs) = (ctx.clone(), jobs_of(ctx));
    let number = lock(&jobs).begin();
    run(move || {
        end_safely(job);
        lock(&jobs).pending.remove(&number);
        wake.request_repaint();
    });
}

/// Runs a job on the pool as [`spawn`] does. Without a window, nothing is repainted at the end.
pub fn spawn_for(window: Option<&egui::Context>, job: impl FnOnce() + Send + 'static) {
    match window {
        Some(ctx) => spawn(ctx, job),
        None => run(move || end_safely(job)),
    }
}

/// Whether jobs of this window are pending.
pub fn is_busy(ctx: &egui::Context) -> bool {
    !lock(&jobs_of(ctx)).pending.is_empty()
}

/// Returns the number of jobs of this window started so far.
pub fn n_started(ctx: &egui::Context) -> u64 {
    lock(&jobs_of(ctx)).n_started
}

/// Whether the first `n` jobs of this window have ended.
pub fn have_ended(ctx: &egui::Context, n: u64) -> bool {
    lock(&jobs_of(ctx)).pending.first().is_none_or(|number| *number >= n)
}

/// Jobs of a window, numbered from 0.
#[derive(Default)]
struct Jobs {
    n_started: u64,
    pending: BTreeSet<u64>,
}

impl Jobs {
    fn begin(&mut self) -> u64 {
        let number = self.n_started;
        self.n_started += 1;
        self.pending.insert(number);
        number
    }
}

fn jobs_of(ctx: &egui::Context) -> Arc<Mutex<Jobs>> {
    let id = egui::Id::unique("views: jobs on the pool");
    ctx.data_mut(|d| d.get_temp_mut_or_default::<Arc<Mutex<Jobs>>>(id).clone())
}

fn lock(jobs: &Mutex<Jobs>) -> MutexGuard<'_, Jobs> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a job and logs its panic, because an unwinding pool thread would abort the program.
fn end_safely(job: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(job)) {
        tracing::error!("a background job failed with an internal error: {}", panic_message(&*panic));
    }
}

/// Drops a large value on the pool, because freeing it takes longer than drawing a frame.
pub fn discard(value: impl Send + 'static) {
    run(move || drop(value));
}

fn run(job: impl FnOnce() + Send + 'static) {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let make = || {
        let builder = rayon::ThreadPoolBuilder::new().thread_name(|i| format!("views {i}"));
        builder.start_handler(|_| lower_priority(NICE)).build().ok()
    };
    match POOL.get_or_init(make) {
        Some(pool) => pool.spawn(job),
        None => rayon::spawn(job), // the pool could not be created
    }
}

/// A job on the pool with its key; there is at most one at a time. The caller stores the results. The key of a failed job
/// is not started again automatically.
pub struct PoolJob<K, T> {
    job: Option<(K, mpsc::Receiver<T>)>,
    failed: Option<K>,
}

impl<K, T> Default for PoolJob<K, T> {
    fn default() -> Self {
        Self { job: None, failed: None }
    }
}

impl<K: PartialEq, T: Send + 'static> PoolJob<K, T> {
    /// Takes the key and result of a job that has ended since the last call; `None` if no job has ended or the job failed.
    pub fn poll(&mut self) -> Option<(K, T)> {
        let (key, receiver) = self.job.take()?;
        match receiver.try_recv() {
            Ok(result) => return Some((key, result)),
            Err(mpsc::TryRecvError::Empty) => self.job = Some((key, receiver)),
            Err(mpsc::TryRecvError::Disconnected) => self.failed = Some(key),
        }
        None
    }

    /// Whether a job for this key may start: no job is running, and the last job did not fail with this key.
    pub fn is_free(&self, key: &K) -> bool {
        self.job.is_none() && self.failed.as_ref() != Some(key)
    }

    /// Starts a job. The result of a job that is still running is discarded.
    pub fn start(&mut self, ctx: &egui::Context, key: K, job: impl FnOnce() -> T + Send + 'static) {
        let (sender, receiver) = mpsc::channel();
        spawn(ctx, move || {
            sender.send(job()).ok(); // the view may have been dropped
        });
        (self.job, self.failed) = (Some((key, receiver)), None);
    }

    /// Whether a job is running.
    pub fn is_busy(&self) -> bool {
        self.job.is_some()
    }
}

/// A result that is recomputed on the pool whenever its key changes, which identifies the inputs. The last result is kept
/// until the next one is ready.
pub struct PooledResult<K, T> {
    done: Option<(K, Arc<T>)>,
    at: Option<Instant>,
    job: Option<Job<K, T>>,
    /// Key of a job that was stopped or failed, and the reason. Such a job is not restarted automatically.
    ended: Option<(K, JobEnd)>,
    /// Whether a result has arrived that [`PooledResult::poll`] has not reported yet.
    is_new: bool,
}

/// Reasons why a job ended without a result.
#[derive(Clone, Debug, PartialEq)]
pub enum JobEnd {
    /// The user stopped the job.
    Stopped,
    /// The job panicked; contains the message.
    Failed(String),
}

struct Job<K, T> {
    key: K,
    progress: Arc<Progress>,
    since: Instant,
    /// Result of the job: `Ok(None)` if it was cancelled, `Err` with the message if it panicked.
    result: mpsc::Receiver<Result<Option<T>, String>>,
}

impl<K, T> Default for PooledResult<K, T> {
    fn default() -> Self {
        Self { done: None, at: None, job: None, ended: None, is_new: false }
    }
}

impl<K, T> Drop for PooledResult<K, T> {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl<K, T> PooledResult<K, T> {
    /// Returns the last result; `None` if there is none.
    pub fn get(&self) -> Option<&Arc<T>> {
        self.done.as_ref().map(|(_, result)| result)
    }

    /// Returns the key of the last result; `None` if there is none.
    pub fn key(&self) -> Option<&K> {
        self.done.as_ref().map(|(key, _)| key)
    }

    /// Returns the time since the last job ended; `Duration::MAX` if no job has ended.
    pub fn age(&self) -> Duration {
        self.at.map_or(Duration::MAX, |at| at.elapsed())
    }

    /// Cancels the running job, which ends at its next progress report.
    pub fn cancel(&mut self) {
        if let Some(job) = self.job.take() {
            job.progress.cancel();
        }
    }

    /// Clears the result, and cancels the running job.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the progress of the job from 0 to 1; `None` if no job is running or the job has taken less than 100 ms.
    pub fn progress(&self) -> Option<f32> {
        let job = self.job.as_ref().filter(|job| job.since.elapsed() > Duration::from_millis(100))?;
        Some(job.progress.now().1)
    }
}

impl<K: Clone + PartialEq, T: Send + Sync + 'static> PooledResult<K, T> {
    /// Stops the job. Its key is not restarted before [`PooledResult::retry`] is called.
    pub fn stop(&mut self) {
        if let Some(job) = &self.job {
            self.ended = Some((job.key.clone(), JobEnd::Stopped));
        }
        self.cancel();
    }

    /// Returns the reason why the last job ended without a result; `None` if the job had a result.
    pub fn ended(&self) -> Option<&JobEnd> {
        self.ended.as_ref().map(|(_, ended)| ended)
    }

    /// Allows a stopped or failed job to restart.
    pub fn retry(&mut self) {
        self.ended = None;
    }

    /// Whether there is no result or the last result has another key.
    pub fn is_stale(&self, key: &K) -> bool {
        self.key() != Some(key)
    }

    /// Takes over a finished result. Returns whether a result has arrived since the last call, also one that
    /// [`PooledResult::want`] has taken over.
    pub fn poll(&mut self) -> bool {
        self.is_new |= self.take_over();
        std::mem::take(&mut self.is_new)
    }

    /// Takes over a finished result. Returns whether there was one.
    fn take_over(&mut self) -> bool {
        let Some(job) = &self.job else { return false };
        let result = match job.result.try_recv() {
            Err(mpsc::TryRecvError::Empty) => return false,
            Ok(Ok(result)) => result,
            Ok(Err(why)) => {
                self.ended = Some((job.key.clone(), JobEnd::Failed(why)));
                None
            }
            Err(mpsc::TryRecvError::Disconnected) => None,
        };
        let Some(job) = self.job.take() else { return false };
        self.at = Some(Instant::now());
        let Some(result) = result else { return false };
        self.done = Some((job.key, Arc::new(result)));
        self.ended = None;
        true
    }

    /// Starts a job for `key`, unless its result is present or its job is running, was stopped or has failed. A job for
    /// another key is cancelled. `make` returns `None` if its job is cancelled.
    pub fn want(&mut self, ctx: &egui::Context, key: K, make: impl FnOnce(&Progress) -> Option<T> + Send + 'static) {
        self.is_new |= self.take_over();
        if self.job.as_ref().is_some_and(|job| job.key == key) || (self.job.is_none() && !self.is_stale(&key)) {
            return;
        }
        if self.ended.as_ref().is_some_and(|(ended, _)| *ended == key) {
            return;
        }
        self.start(ctx, key, make);
    }

    /// Starts the job even if the key has not changed, for live data. A running job is cancelled.
    pub fn start(&mut self, ctx: &egui::Context, key: K, make: impl FnOnce(&Progress) -> Option<T> + Send + 'static) {
        self.cancel();
        let (sender, result) = mpsc::channel();
        let progress = Arc::new(Progress::default());
        let of_job = progress.clone();
        spawn(ctx, move || {
            let made = catch_unwind(AssertUnwindSafe(|| if of_job.is_cancelled() { None } else { make(&of_job) }));
            // The receiver may have been dropped.
            sender.send(made.map_err(|panic| format!("internal error: {}", panic_message(&*panic)))).ok();
        });
        self.job = Some(Job { key, progress, since: Instant::now(), result });
    }

    /// Whether a job is running.
    pub fn is_busy(&self) -> bool {
        self.job.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait<K: Clone + PartialEq>(pooled: &mut PooledResult<K, u32>) {
        let since = Instant::now();
        while pooled.is_busy() && since.elapsed().as_secs() < 20 {
            pooled.poll();
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_result_that_arrives_while_it_is_wanted_again_is_reported() {
        let (ctx, mut pooled) = (egui::Context::default(), PooledResult::default());
        pooled.want(&ctx, "a", |_| Some(1));
        let since = Instant::now();
        while is_busy(&ctx) {
            assert!(since.elapsed() < Duration::from_secs(10), "the job ends");
            std::thread::yield_now();
        }
        pooled.want(&ctx, "a", |_| Some(2));
        assert!(pooled.poll(), "the result that `want` has taken over");
        assert!(!pooled.poll(), "it is reported once");
        assert_eq!(pooled.get().map(|n| **n), Some(1));
    }

    #[test]
    fn a_panicking_job_is_isolated() {
        let ctx = egui::Context::default();
        spawn(&ctx, || panic!("on purpose"));
        let since = Instant::now();
        while is_busy(&ctx) {
            assert!(since.elapsed() < Duration::from_secs(10), "the job ends");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_failed_pool_job_is_not_retried() {
        let ctx = egui::Context::default();
        let mut job = PoolJob::default();
        let mut run = |key: u32, make: fn() -> u32| {
            assert!(job.is_free(&key));
            job.start(&ctx, key, make);
            assert!(!job.is_free(&key));
            let since = Instant::now();
            while job.is_busy() && since.elapsed() < Duration::from_secs(10) {
                if let Some(arrived) = job.poll() {
                    return (Some(arrived), job.is_free(&key));
                }
            }
            (None, job.is_free(&key))
        };
        assert_eq!(run(1, || 7), (Some((1, 7)), true));
        assert_eq!(run(2, || panic!("a test")), (None, false), "the same again would fail again");
        assert_eq!(run(3, || 8), (Some((3, 8)), true), "another may be tried");
    }

    #[test]
    fn stopped_and_failed_jobs_are_not_restarted() {
        let ctx = egui::Context::default();
        let mut pooled = PooledResult::default();
        pooled.want(&ctx, 1, |progress| {
            while progress.report("", 0.5).is_ok() {
                std::thread::yield_now();
            }
            None
        });
        pooled.stop();
        pooled.want(&ctx, 1, |_| unreachable!("it was stopped"));
        assert_eq!((pooled.is_busy(), pooled.ended()), (false, Some(&JobEnd::Stopped)));
        pooled.retry();
        pooled.want(&ctx, 1, |_| panic!("on purpose"));
        wait(&mut pooled);
        assert!(matches!(pooled.ended(), Some(JobEnd::Failed(_))));
        pooled.want(&ctx, 1, |_| unreachable!("it has failed"));
        pooled.want(&ctx, 2, |_| Some(20));
        wait(&mut pooled);
        assert_eq!((pooled.get().map(|r| **r), pooled.ended()), (Some(20), None), "another key starts");
    }

    #[test]
    fn the_last_request_wins_and_the_last_result_stays() {
        let ctx = egui::Context::default();
        let mut pooled = PooledResult::default();
        pooled.want(&ctx, 1, |_| Some(10));
        wait(&mut pooled);
        assert_eq!(pooled.get().map(|r| **r), Some(10));
        pooled.want(&ctx, 2, |progress| {
            while progress.report("", 0.5).is_ok() {
                std::thread::yield_now();
            }
            None
        });
        assert_eq!((pooled.get().map(|r| **r), pooled.is_stale(&2)), (Some(10), true));
        pooled.want(&ctx, 3, |_| Some(30));
        wait(&mut pooled);
        assert_eq!((pooled.get().map(|r| **r), pooled.key()), (Some(30), Some(&3)));
        pooled.want(&ctx, 3, |_| unreachable!("it is there already"));
        assert!(!pooled.is_busy());
    }
}
