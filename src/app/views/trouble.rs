//! What a view says that has nothing to show: that the model has to run, or why it does not.

use super::{ViewCtx, ViewRequest, kit};
use crate::app::commands::UiCommand;
use std::sync::Arc;

/// The empty state of a view that fills when the model runs.
pub(crate) fn run_ui(ui: &mut egui::Ui, canvas: egui::Rect, ctx: &mut ViewCtx<'_>, title: &str, how: &str) {
    if ctx.time.axis.is_recorded {
        let how = "The run on show holds nothing of this up to here; what is switched on under Probes is recorded";
        kit::empty_ui(ui, canvas, ctx.tokens, title, how, None);
        return;
    }
    if ctx.running {
        kit::empty_ui(ui, canvas, ctx.tokens, title, how, None);
        return;
    }
    let trouble = ui.data(|d| d.get_temp::<Trouble>(trouble_id()));
    let pressed = match &trouble {
        Some(t) => kit::failed_ui(ui, canvas, ctx.tokens, "The simulation stopped", &t.why, Some(t.way_out.0)),
        None => kit::empty_ui(ui, canvas, ctx.tokens, title, how, Some("Run")),
    };
    if pressed {
        let command = trouble.map_or(UiCommand::RunPause, |t| t.way_out.1);
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

fn trouble_id() -> egui::Id {
    egui::Id::unique("views: why there is nothing to show")
}

/// Says what is wrong, for views that have nothing to show.
pub fn set_trouble(ctx: &egui::Context, trouble: Option<&Trouble>) {
    ctx.data_mut(|d| match trouble {
        Some(trouble) => drop(d.insert_temp(trouble_id(), trouble.clone())),
        None => d.remove::<Trouble>(trouble_id()),
    });
}
