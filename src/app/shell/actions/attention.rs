//! Request for attention when a long task ends while the window is in the background.

use crate::app::{
    document::open_document::Document,
    host::attention::{LongTask, notify_desktop},
    shell::{host::Host, panels::toasts::Toasts},
};
use std::time::{Duration, Instant};

/// Maximum age of a message that the notification shows.
const FRESH: Duration = Duration::from_secs(3);

/// Requests attention and shows a desktop notification when a long task ends while the window is in the background.
pub fn request(document: &Document, host: &mut Host, toasts: &Toasts, ctx: &egui::Context) {
    let busy_with = busy_with(document);
    let is_away = ctx.input(|i| i.viewport().focused) == Some(false);
    if let Some(task) = host.attention.ended(busy_with, Instant::now())
        && is_away
    {
        let attention = egui::UserAttentionType::Informational;
        ctx.send_viewport_cmd(egui::ViewportCommand::RequestUserAttention(attention));
        if host.native_dialogs {
            notify_desktop(end_message(document, toasts, task, Instant::now()));
        }
    }
}

/// Returns the current long task; `None` without one.
fn busy_with(document: &Document) -> Option<LongTask> {
    let live = &document.session.live;
    let all = [
        (live.running, LongTask::Run),
        (live.progress().is_some(), LongTask::Build),
        (document.profile.comparison.progress.is_some(), LongTask::Comparison),
        (document.library.replaying.is_some(), LongTask::Replay),
    ];
    all.into_iter().find(|(is_busy, _)| *is_busy).map(|(_, task)| task)
}

/// Returns the text of the notification: the latest message if it is recent, otherwise a default.
fn end_message(document: &Document, toasts: &Toasts, task: LongTask, now: Instant) -> String {
    let is_fresh = |at: Instant| now.saturating_duration_since(at) < FRESH;
    match toasts.history.back().filter(|notice| is_fresh(notice.at)) {
        Some(notice) => notice.text.clone(),
        None => match task {
            LongTask::Run => {
                format!("Run stopped at {}", document.time_text(document.session.live.clock.step as f64))
            }
            LongTask::Build => "Simulation ready".to_owned(),
            LongTask::Comparison => "Device comparison finished".to_owned(),
            LongTask::Replay => "Replay finished".to_owned(),
        },
    }
}
