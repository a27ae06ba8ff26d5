//! Requests from commands to views, stored in egui's memory for a few passes: pin elements, or frame the selection.

use std::sync::Arc;

fn pin_id() -> egui::Id {
    egui::Id::unique("views: pin the selection")
}

/// Elements to pin, and the pass of the request.
type Pin = (u64, Arc<Vec<u32>>);

/// Requests that the traces view pins elements.
pub fn ask_pin(ctx: &egui::Context, elements: Vec<u32>) {
    let pin: Pin = (ctx.cumulative_pass_nr(), Arc::new(elements));
    ctx.data_mut(|d| d.insert_temp(pin_id(), pin));
    ctx.request_repaint();
}

/// Takes the elements to pin. `None` if no pin was requested in this pass or the last three, or it was already taken.
pub(crate) fn take_pin(ctx: &egui::Context) -> Option<Arc<Vec<u32>>> {
    let now = ctx.cumulative_pass_nr();
    let pin = ctx.data_mut(|d| d.remove_temp::<Pin>(pin_id()));
    pin.filter(|(since, _)| now.saturating_sub(*since) <= 3).map(|(_, elements)| elements)
}

fn focus_id() -> egui::Id {
    egui::Id::unique("views: focus the selection")
}

/// Requests that spatial views frame the selection.
pub(crate) fn ask_focus(ctx: &egui::Context) {
    let now = ctx.cumulative_pass_nr();
    ctx.data_mut(|d| d.insert_temp(focus_id(), now));
    ctx.request_repaint();
}

/// Whether framing was requested in this pass or the previous one.
pub(crate) fn is_focus_asked(ctx: &egui::Context) -> bool {
    let now = ctx.cumulative_pass_nr();
    ctx.data(|d| d.get_temp::<u64>(focus_id())).is_some_and(|since| now.saturating_sub(since) <= 1)
}
