//! Requests attention when a long task ends while the window is in the background.

use crate::app::{
    host::attention::{LongTask, notify_desktop},
    shell::App,
};
use std::time::{Duration, Instant};

/// A message younger than this is used for the notification.
const FRESH: Duration = Duration::from_secs(3);

impl App {
    /// Requests attention and shows a desktop notification when a long task ends while the window is in the background.
    pub(crate) fn request_attention(&mut self, ctx: &egui::Context) {
        let busy_with = self.busy_with();
        let is_away = ctx.input(|i| i.viewport().focused) == Some(false);
        if let Some(task) = self.host.attention.ended(busy_with, Instant::now())
            && is_away
        {
            let attention = egui::UserAttentionType::Informational;
            ctx.send_viewport_cmd(egui::ViewportCommand::RequestUserAttention(attention));
            if self.host.native_dialogs {
                notify_desktop(self.end_message(task, Instant::now()));
            }
        }
    }

    /// The current long task.
    fn busy_with(&self) -> Option<LongTask> {
        let live = &self.document.session.live;
        let all = [
            (live.running, LongTask::Run),
            (live.progress().is_some(), LongTask::Build),
            (self.document.profile.comparison.progress.is_some(), LongTask::Comparison),
            (self.document.library.replaying.is_some(), LongTask::Replay),
        ];
        all.into_iter().find(|(is_busy, _)| *is_busy).map(|(_, task)| task)
    }

    /// Text of the notification: the latest message, or a default.
    fn end_message(&self, task: LongTask, now: Instant) -> String {
        let is_fresh = |at: Instant| now.saturating_duration_since(at) < FRESH;
        match self.messages.toasts.history.back().filter(|notice| is_fresh(notice.at)) {
            Some(notice) => notice.text.clone(),
            None => match task {
                LongTask::Run => {
                    format!("Run stopped at {}", self.time_text(self.document.session.live.clock.step as f64))
                }
                LongTask::Build => "Simulation ready".to_owned(),
                LongTask::Comparison => "Device comparison finished".to_owned(),
                LongTask::Replay => "Replay finished".to_owned(),
            },
        }
    }
}
