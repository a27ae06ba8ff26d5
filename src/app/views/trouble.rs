//! What a view says that has nothing to show: that the model has to run, or why it does not.

use super::{ViewCtx, ViewRequest, kit};
use crate::app::commands::UiCommand;
use std::sync::Arc;

/// The empty state of a view that fills when the model runs.
pub(crate) fn run_ui(ui: &mut egui::Ui, canvas: egui::Rect, ctx: &mut ViewCtx<'_>, title: &str, how: &str) {
    if ctx.time.axis.is_recorded {
        let how = "The run on show holds nothing of this up to here; what is switched on under Probes is recorded";
        kit::empty_ui(ui, canvas, ctx, title, how, None);
        return;
    }
    if ctx.running {
        kit::empty_ui(ui, canvas, ctx, title, how, None);
        return;
    }
    let pressed = match ctx.trouble {
        Some(t) => kit::failed_ui(ui, canvas, ctx, "The simulation stopped", &t.why, Some(t.way_out.0)),
        None => kit::empty_ui(ui, canvas, ctx, title, how, Some("Run")),
    };
    if pressed {
        let command = ctx.trouble.map_or(UiCommand::RunPause, |t| t.way_out.1.clone());
        ctx.requests.push(ViewRequest::Command(command));
    }
}

/// Why the simulation does not go on by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Trouble {
    /// What has failed, and where.
    pub why: Arc<str>,
    /// What may help: on a button, and what it does.
    pub way_out: (&'static str, UiCommand),
}
