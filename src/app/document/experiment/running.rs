//! Experiment in progress.

use crate::{app::kit::text, experiment::run::Counters, sim::Progress};
use crossbeam_channel::Receiver;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Maximum time that a closing window waits until the folder is closed.
const CLOSING: Duration = Duration::from_secs(5);
/// Time of computing before which no remaining time is estimated.
const SETTLED: Duration = Duration::from_millis(1500);

/// Experiment that runs on a thread of this window.
pub struct Running {
    /// Stage of the preparation, and the request to cancel.
    pub progress: Arc<Progress>,
    /// Numbers of trials and steps.
    pub counters: Arc<Counters>,
    /// Time at which the first trial began; `None` while the model is prepared.
    since: Option<Instant>,
    /// Channel that disconnects when the experiment has ended.
    is_ended: Receiver<()>,
}

impl Running {
    /// Creates the state of an experiment that starts. `is_ended` disconnects when it has ended.
    pub fn new(progress: Arc<Progress>, counters: Arc<Counters>, is_ended: Receiver<()>) -> Self {
        Self { progress, counters, since: None, is_ended }
    }

    /// Returns the share of the work that is done, 0 to 1, and a line about it: `12 of 22 trials, 1 failed, about 4 s left`.
    pub fn now(&mut self) -> (f32, String) {
        let read = Counters::read;
        let (n, done) = (read(&self.counters.n_trials), read(&self.counters.n_done));
        if self.progress.is_cancelled() {
            return (1.0, "Cancelling".to_owned());
        }
        if n == 0 {
            let (stage, share) = self.progress.now();
            return (share, if stage.is_empty() { "Preparing".to_owned() } else { stage });
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        let (steps, planned) = (read(&self.counters.n_steps), read(&self.counters.n_planned_steps));
        let share = if planned > 0 { (steps as f32 / planned as f32).min(1.0) } else { done as f32 / n as f32 };
        let failed = match read(&self.counters.n_failed) {
            0 => String::new(),
            n => format!(", {} failed", text::count(n)),
        };
        let left = time_left(since.elapsed(), share).map_or_else(String::new, |left| format!(", about {left} left"));
        (share, format!("{} of {}{failed}{left}", text::count(done), text::plural(n as usize, "trial", "trials")))
    }

    /// Cancels the experiment and waits until its folder is closed.
    pub fn end(self) {
        self.progress.cancel();
        self.is_ended.recv_timeout(CLOSING).ok();
    }
}

/// Estimates the remaining time from the share of the work done; `None` before enough is known.
fn time_left(elapsed: Duration, share: f32) -> Option<String> {
    let is_known = elapsed >= SETTLED && share > 0.0 && share < 1.0;
    is_known.then(|| text::rough_time(elapsed.as_secs_f64() * f64::from((1.0 - share) / share)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn progress_counts_trials_and_estimates_the_rest() {
        let (counters, progress) = (Arc::new(Counters::default()), Arc::new(Progress::default()));
        let (_ending, is_ended) = crossbeam_channel::bounded(1);
        let mut running = Running::new(progress.clone(), counters.clone(), is_ended);
        assert_eq!(running.now(), (0.0, "Preparing".to_owned()));
        for (counter, n) in [(&counters.n_trials, 22), (&counters.n_done, 11), (&counters.n_failed, 1)] {
            counter.store(n, Ordering::Relaxed);
        }
        assert_eq!(running.now(), (0.5, "11 of 22 trials, 1 failed".to_owned()));
        assert_eq!(time_left(Duration::from_secs(10), 0.5).as_deref(), Some("10 s"));
        assert_eq!(time_left(Duration::from_millis(10), 0.5), None);
        progress.cancel();
        assert_eq!(running.now().1, "Cancelling");
    }
}
