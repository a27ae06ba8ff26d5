//! The empty state of views that need a running simulation, and why a simulation stopped.

use super::{ViewCtx, ViewRequest, kit};
use crate::app::commands::UiCommand;
use std::sync::Arc;

/// Beginning of the sentences that say what a run shows; while it runs they begin otherwise.
const RUN: &str = "Run to see ";

/// The empty state of a view that fills while the model runs. `how` begins with [`RUN`] where running is the way.
pub(crate) fn run_ui(ui: &mut egui::Ui, canvas: egui::Rect, ctx: &mut ViewCtx<'_>, title: &str, how: &str) {
    if ctx.time.axis.is_recorded {
        if ctx.unrecorded.is_empty() {
            kit::empty_ui(ui, canvas, ctx, title.trim_end_matches(" yet"), "Nothing happened in this run", None);
            return;
        }
        let how =
            format!("This run has no {}. Switch it on under Probes before a recording", ctx.unrecorded.join(", "));
        kit::empty_ui(ui, canvas, ctx, "Not recorded", &how, None);
        return;
    }
    if ctx.running {
        let how = how.strip_prefix(RUN).map_or_else(|| how.to_owned(), |what| format!("Waiting for {what}"));
        kit::empty_ui(ui, canvas, ctx, title, &how, None);
        return;
    }
    let pressed = match ctx.stop_reason {
        Some(t) => kit::failed_ui(ui, canvas, ctx, "The simulation stopped", &t.why, Some(t.remedy.0)),
        None => kit::empty_ui(ui, canvas, ctx, title, how, Some("Run")),
    };
    if pressed {
        let command = ctx.stop_reason.map_or(UiCommand::RunPause, |t| t.remedy.1.clone());
        ctx.requests.push(ViewRequest::Command(command));
    }
}

/// Why the simulation stopped by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct StopReason {
    /// What failed, and where.
    pub why: Arc<str>,
    /// Label and command of the recovery button.
    pub remedy: (&'static str, UiCommand),
}
