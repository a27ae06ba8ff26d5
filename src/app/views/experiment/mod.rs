//! Experiments: the editor of conditions and measures, the table of effects, and its plots.

mod editor;
mod plot;
mod results_bar;
mod table;
mod texts;

pub use editor::ExperimentEditor;
pub use plot::EffectPlot;
pub use table::EffectTable;

use super::{ViewCtx, ViewRequest, placeholder};
use crate::{
    app::{document::experiment::Results, kit},
    sim::ElementSet,
};
use egui::{Rect, Ui};
use std::sync::Arc;

/// Draws the state of a view without results: busy, unreadable, or none yet.
fn without_results_ui(ui: &mut Ui, canvas: Rect, ctx: &mut ViewCtx<'_>) {
    match ctx.experiments.state.opened() {
        Some(Err(why)) => {
            let (why, title) = (why.clone(), "Experiment unreadable");
            if kit::failed_ui(ui, canvas, ctx, title, &why, Some("Read again")) {
                ctx.experiments.state.refresh();
            }
        }
        None if ctx.experiments.state.folder().is_some() => {
            placeholder::busy_ui(ui, canvas, ctx.tokens, "", None);
        }
        _ => {
            let how = "Add conditions in the editor and start the experiment; results appear here while it runs";
            kit::empty_ui(ui, canvas, ctx, "No experiment", how, None);
        }
    }
}

/// Handles a click on a condition: marks it, selects its element, and shows its runs if its trials were recorded.
fn click(ctx: &mut ViewCtx<'_>, results: &Results, condition: usize) {
    let Some(planned) = results.folder.plan.conditions.get(condition) else { return };
    ctx.experiments.state.selected = Some(planned.name.clone());
    if let Some((set, element)) = &planned.element
        && let Some(set) = set_of(ctx, set).filter(|set| *element < set.len)
    {
        ctx.selection.replace(set.name, vec![*element]);
    }
    let trials = results.recorded(condition);
    if !trials.is_empty() {
        ctx.requests.push(ViewRequest::ShowTrials(results.folder.path.clone(), trials));
    }
}

/// Returns a set of the running simulation by name; `None` if it has no such set.
fn set_of(ctx: &ViewCtx<'_>, name: &str) -> Option<Arc<ElementSet>> {
    ctx.schema.sets.iter().find(|set| set.name == name).cloned()
}

/// Whether a condition is the one that was clicked last.
fn is_selected(ctx: &ViewCtx<'_>, results: &Results, condition: usize) -> bool {
    let name = results.table.conditions.get(condition);
    name.is_some() && name == ctx.experiments.state.selected.as_ref()
}
