//! One job at a time on the pool, its progress, and the last result.

use crate::{
    engine::{give_way, why_of},
    sim::Progress,
};
use rayon::ThreadPool;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

/// How far the pool's threads give way to the window's, at 0: on two cores a job that sorts or counts would else take
/// turns of 4 ms out of every frame.
const NICE: i32 = 10;

/// Runs a job on the pool of the views, and has the window look what came of it. A job that panics gives no result.
pub fn spawn(ctx: &egui::Context, job: impl FnOnce() + Send + 'static) {
    let (wake, left) = (ctx.clone(), jobs_of(ctx));
    left.fetch_add(1, Ordering::AcqRel);
    run(move || {
        // A panic on the pool would end the program.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(job)) {
            tracing::error!("a job of a view met a fault inside the program: {}", why_of(&*panic));
        }
        left.fetch_sub(1, Ordering::AcqRel);
        wake.request_repaint();
    });
}

/// Whether the pool still works for this window.
pub fn is_busy(ctx: &egui::Context) -> bool {
    jobs_of(ctx).load(Ordering::Acquire) > 0
}

/// How many jobs of a window are not done.
fn jobs_of(ctx: &egui::Context) -> Arc<AtomicUsize> {
    let id = egui::Id::unique("views: jobs on the pool");
    ctx.data_mut(|d| d.get_temp_mut_or_default::<Arc<AtomicUsize>>(id).clone())
}

/// Frees what is large on the pool: giving back a hundred megabytes takes longer than drawing a frame.
pub fn discard(what: impl Send + 'static) {
    run(move || drop(what));
}

fn run(job: impl FnOnce() + Send + 'static) {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let make = || {
        let builder = rayon::ThreadPoolBuilder::new().thread_name(|i| format!("views {i}"));
        builder.start_handler(|_| give_way(NICE)).build().ok()
    };
    match POOL.get_or_init(make) {
        Some(pool) => pool.spawn(job),
        None => rayon::spawn(job), // no threads for one more pool
    }
}

/// One job on the pool at a time, for whoever keeps the results. A key whose job failed is not worked on again by itself.
pub struct Errand<K, T> {
    job: Option<(K, mpsc::Receiver<T>)>,
    failed: Option<K>,
}

impl<K, T> Default for Errand<K, T> {
    fn default() -> Self {
        Self { job: None, failed: None }
    }
}

impl<K: PartialEq, T: Send + 'static> Errand<K, T> {
    /// What is finished since this was asked last.
    pub fn arrived(&mut self) -> Option<(K, T)> {
        let (key, receiver) = self.job.take()?;
        match receiver.try_recv() {
            Ok(result) => return Some((key, result)),
            Err(mpsc::TryRecvError::Empty) => self.job = Some((key, receiver)),
            Err(mpsc::TryRecvError::Disconnected) => self.failed = Some(key),
        }
        None
    }

    /// Whether a job for that key may begin.
    pub fn is_free(&self, key: &K) -> bool {
        self.job.is_none() && self.failed.as_ref() != Some(key)
    }

    /// Begins a job, in place of the one that is on its way.
    pub fn begin(&mut self, ctx: &egui::Context, key: K, job: impl FnOnce() -> T + Send + 'static) {
        let (sender, receiver) = mpsc::channel();
        spawn(ctx, move || {
            sender.send(job()).ok(); // the view may be gone by then
        });
        (self.job, self.failed) = (Some((key, receiver)), None);
    }

    /// Whether a job is on its way.
    pub fn is_busy(&self) -> bool {
        self.job.is_some()
    }
}

/// A result that is made on the pool whenever what it is made of, the key, changes. The last one stays until the next
/// is there.
pub struct Pooled<K, T> {
    done: Option<(K, Arc<T>)>,
    at: Option<Instant>,
    job: Option<Job<K, T>>,
    /// The key whose job came to nothing, and why: it is not started again by itself.
    ended: Option<(K, Ended)>,
}

/// Why a job came to nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// The user stopped it.
    Stopped,
    /// A fault inside the program, in words.
    Failed(String),
}

struct Job<K, T> {
    key: K,
    progress: Arc<Progress>,
    since: Instant,
    /// None when it was cancelled; what it died of otherwise.
    result: mpsc::Receiver<Result<Option<T>, String>>,
}

impl<K, T> Default for Pooled<K, T> {
    fn default() -> Self {
        Self { done: None, at: None, job: None, ended: None }
    }
}

impl<K, T> Drop for Pooled<K, T> {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl<K, T> Pooled<K, T> {
    /// The last result.
    pub fn get(&self) -> Option<&Arc<T>> {
        self.done.as_ref().map(|(_, result)| result)
    }

    /// What the last result was made of.
    pub fn key(&self) -> Option<&K> {
        self.done.as_ref().map(|(key, _)| key)
    }

    /// When the last result came in.
    pub fn age(&self) -> Duration {
        self.at.map_or(Duration::MAX, |at| at.elapsed())
    }

    /// Stops the job at its next look.
    pub fn cancel(&mut self) {
        if let Some(job) = self.job.take() {
            job.progress.cancel();
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// How far the job is, once it has taken long enough to be worth telling.
    pub fn progress(&self) -> Option<f32> {
        let job = self.job.as_ref().filter(|job| job.since.elapsed() > Duration::from_millis(100))?;
        Some(job.progress.now().1)
    }
}

impl<K: Clone + PartialEq, T: Send + Sync + 'static> Pooled<K, T> {
    /// Stops the job for good: the same is not started again before [`Pooled::retry`].
    pub fn stop(&mut self) {
        if let Some(job) = &self.job {
            self.ended = Some((job.key.clone(), Ended::Stopped));
        }
        self.cancel();
    }

    /// What has become of the last job, when it came to nothing.
    pub fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref().map(|(_, ended)| ended)
    }

    /// What came to nothing is started again.
    pub fn retry(&mut self) {
        self.ended = None;
    }

    /// Whether the last result is made of something else.
    pub fn is_stale(&self, key: &K) -> bool {
        self.key() != Some(key)
    }

    /// Takes what has come in. `true` when something has.
    pub fn poll(&mut self) -> bool {
        let Some(job) = &self.job else { return false };
        let result = match job.result.try_recv() {
            Err(mpsc::TryRecvError::Empty) => return false,
            Ok(Ok(result)) => result,
            Ok(Err(why)) => {
                self.ended = Some((job.key.clone(), Ended::Failed(why)));
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

    /// Has the pool make what belongs to the key, unless it is there or being made. A job for another key is
    /// cancelled. `make` gives `None` when it was cancelled.
    pub fn want(&mut self, ctx: &egui::Context, key: K, make: impl FnOnce(&Progress) -> Option<T> + Send + 'static) {
        self.poll();
        if self.job.as_ref().is_some_and(|job| job.key == key) || (self.job.is_none() && !self.is_stale(&key)) {
            return;
        }
        if self.ended.as_ref().is_some_and(|(ended, _)| *ended == key) {
            return;
        }
        self.start(ctx, key, make);
    }

    /// The same although the key has not changed: for what lives.
    pub fn start(&mut self, ctx: &egui::Context, key: K, make: impl FnOnce(&Progress) -> Option<T> + Send + 'static) {
        self.cancel();
        let (sender, result) = mpsc::channel();
        let progress = Arc::new(Progress::default());
        let theirs = progress.clone();
        spawn(ctx, move || {
            // Here it is known whose panic it is.
            let made = catch_unwind(AssertUnwindSafe(|| if theirs.is_cancelled() { None } else { make(&theirs) }));
            // Whoever asked may be gone by then.
            sender.send(made.map_err(|panic| format!("a fault inside the program: {}", why_of(&*panic)))).ok();
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

    fn wait<K: Clone + PartialEq>(pooled: &mut Pooled<K, u32>) {
        let since = Instant::now();
        while pooled.is_busy() && since.elapsed().as_secs() < 20 {
            pooled.poll();
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_job_that_panics_ends_alone() {
        let ctx = egui::Context::default();
        spawn(&ctx, || panic!("on purpose"));
        let since = Instant::now();
        while is_busy(&ctx) {
            assert!(since.elapsed() < Duration::from_secs(10), "nobody waits for it for ever");
            std::thread::yield_now();
        }
    }

    #[test]
    fn an_errand_that_failed_is_over() {
        let ctx = egui::Context::default();
        let mut errand = Errand::default();
        let mut run = |key: u32, job: fn() -> u32| {
            assert!(errand.is_free(&key));
            errand.begin(&ctx, key, job);
            assert!(!errand.is_free(&key));
            let since = Instant::now();
            while errand.is_busy() && since.elapsed() < Duration::from_secs(10) {
                if let Some(arrived) = errand.arrived() {
                    return (Some(arrived), errand.is_free(&key));
                }
            }
            (None, errand.is_free(&key))
        };
        assert_eq!(run(1, || 7), (Some((1, 7)), true));
        assert_eq!(run(2, || panic!("a test")), (None, false), "the same again would fail again");
        assert_eq!(run(3, || 8), (Some((3, 8)), true), "another may be tried");
    }

    #[test]
    fn what_was_stopped_or_failed_is_not_started_again_by_itself() {
        let ctx = egui::Context::default();
        let mut pooled = Pooled::default();
        pooled.want(&ctx, 1, |progress| {
            while progress.report("", 0.5).is_ok() {
                std::thread::yield_now();
            }
            None
        });
        pooled.stop();
        pooled.want(&ctx, 1, |_| unreachable!("it was stopped"));
        assert_eq!((pooled.is_busy(), pooled.ended()), (false, Some(&Ended::Stopped)));
        pooled.retry();
        pooled.want(&ctx, 1, |_| panic!("on purpose"));
        wait(&mut pooled);
        assert!(matches!(pooled.ended(), Some(Ended::Failed(_))));
        pooled.want(&ctx, 1, |_| unreachable!("it has failed"));
        pooled.want(&ctx, 2, |_| Some(20));
        wait(&mut pooled);
        assert_eq!((pooled.get().map(|r| **r), pooled.ended()), (Some(20), None), "another is another matter");
    }

    #[test]
    fn the_last_wish_wins_and_the_last_result_stays() {
        let ctx = egui::Context::default();
        let mut pooled = Pooled::default();
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
