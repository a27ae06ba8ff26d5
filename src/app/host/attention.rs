//! Long tasks, whose end is reported to the desktop while the window is in the background.

use std::time::{Duration, Instant};

/// Duration above which a task requests attention when it ends.
pub const LONG: Duration = Duration::from_secs(30);

/// A task the user may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongTask {
    Run,
    /// The simulation is built.
    Build,
    /// The device is compared with the reference.
    Comparison,
    /// A recorded run is replayed.
    Replay,
}

/// Start time of an uninterrupted sequence of tasks, and the latest task; `None` without a task.
#[derive(Default)]
pub struct Attention(Option<(Instant, LongTask)>);

impl Attention {
    /// Returns the last task of a sequence that has just ended; `None` if no sequence longer than [`LONG`] has. Each
    /// frame calls this once with the current task.
    pub fn ended(&mut self, busy_with: Option<LongTask>, now: Instant) -> Option<LongTask> {
        if let Some(task) = busy_with {
            self.0 = Some((self.0.map_or(now, |(since, _)| since), task));
            return None;
        }
        let (since, task) = self.0.take()?;
        (now.saturating_duration_since(since) > LONG).then_some(task)
    }
}

/// Shows a desktop notification. The message is also in the window.
pub fn notify_desktop(what: String) {
    let show = move || {
        let notice = notify_rust::Notification::new().appname("Neuropil").summary("Neuropil").body(&what).show();
        if let Err(e) = notice {
            tracing::debug!("no desktop notification: {e}");
        }
    };
    // The request runs on its own thread, because the desktop may be slow to answer.
    if let Err(e) = std::thread::Builder::new().name("notice".to_owned()).spawn(show) {
        tracing::debug!("no thread for a desktop notification: {e}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_tasks_request_attention() {
        let mut attention = Attention::default();
        let start = Instant::now();
        let after = |secs| start + Duration::from_secs(secs);
        for (busy, secs, ends) in [
            (Some(LongTask::Run), 0, None),
            (None, 20, None),
            (Some(LongTask::Build), 21, None),
            (Some(LongTask::Run), 40, None),
            (None, 60, Some(LongTask::Run)),
            (None, 99, None),
        ] {
            assert_eq!(attention.ended(busy, after(secs)), ends, "at {secs} s");
        }
    }
}
