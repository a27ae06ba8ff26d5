//! One job at a time on the pool, its progress, and the last result.

use crate::sim::Progress;
use std::{
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

/// A result that is made on the pool whenever what it is made of, the key, changes. The last one stays until the next
/// is there.
pub struct Pooled<K, T> {
    done: Option<(K, Arc<T>)>,
    at: Option<Instant>,
    job: Option<Job<K, T>>,
}

struct Job<K, T> {
    key: K,
    progress: Arc<Progress>,
    since: Instant,
    result: mpsc::Receiver<Option<T>>,
}

impl<K, T> Default for Pooled<K, T> {
    fn default() -> Self {
        Self { done: None, at: None, job: None }
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
    /// Whether the last result is made of something else.
    pub fn is_stale(&self, key: &K) -> bool {
        self.key() != Some(key)
    }

    /// Takes what has come in. `true` when something has.
    pub fn poll(&mut self) -> bool {
        let Some(job) = &self.job else { return false };
        let result = match job.result.try_recv() {
            Err(mpsc::TryRecvError::Empty) => return false,
            Ok(result) => result,
            Err(mpsc::TryRecvError::Disconnected) => None,
        };
        let Some(job) = self.job.take() else { return false };
        self.at = Some(Instant::now());
        let Some(result) = result else { return false };
        self.done = Some((job.key, Arc::new(result)));
        true
    }

    /// Has the pool make what belongs to the key, unless it is there or being made. A job for another key is
    /// cancelled. `make` gives `None` when it was cancelled.
    pub fn want(&mut self, ctx: &egui::Context, key: K, make: impl FnOnce(&Progress) -> Option<T> + Send + 'static) {
        self.poll();
        if self.job.as_ref().is_some_and(|job| job.key == key) || (self.job.is_none() && !self.is_stale(&key)) {
            return;
        }
        self.start(ctx, key, make);
    }

    /// The same although the key has not changed: for what lives.
    pub fn start(&mut self, ctx: &egui::Context, key: K, make: impl FnOnce(&Progress) -> Option<T> + Send + 'static) {
        self.cancel();
        let (sender, result) = mpsc::channel();
        let progress = Arc::new(Progress::default());
        let (theirs, wake) = (progress.clone(), ctx.clone());
        rayon::spawn(move || {
            // Whoever asked may be gone by then.
            sender.send(if theirs.is_cancelled() { None } else { make(&theirs) }).ok();
            wake.request_repaint();
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
