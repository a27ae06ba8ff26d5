//! Keyboard focus of panels: F6 reaches every panel, and the focused panel has a ring.

use super::theme::Tokens;
use egui::{Id, Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo};

fn id_of(panel: &str) -> Id {
    Id::unique(("panel focus", panel))
}

fn request_id() -> Id {
    Id::unique("panel to focus")
}

/// Panels with a field that filters what they show.
pub const WITH_FILTER: [&str; 5] = ["tree", "inspector", "log", "runs", "table"];

/// The field that filters a panel.
pub fn filter_id(panel: &str) -> Id {
    Id::unique(("filter of", panel))
}

/// Moves the keyboard focus to a panel when it is drawn next.
pub fn request(ctx: &egui::Context, panel: &str) {
    ctx.data_mut(|d| d.insert_temp(request_id(), panel.to_owned()));
    ctx.request_repaint();
}

/// Makes the area of a panel focusable before its content is drawn: Tab moves to its first control.
pub fn area(ui: &Ui, panel: &str, title: &str, rect: Rect) {
    let response = ui.interact(rect, id_of(panel), Sense::focusable_noninteractive());
    response.widget_info(|| WidgetInfo::labeled(Role::Pane, true, title));
    let is_requested = ui.data(|d| d.get_temp::<String>(request_id()).is_some_and(|p| p == panel));
    if is_requested {
        ui.data_mut(|d| d.remove_temp::<String>(request_id()));
        response.request_focus();
    }
}

/// Draws the focus ring of a panel over its content.
pub fn ring(ui: &Ui, panel: &str, rect: Rect) {
    if has(ui.ctx(), panel) {
        let stroke = Stroke::new(2.0, Tokens::of(ui.ctx()).accent);
        ui.painter().rect_stroke(rect.shrink(1.0), 0, stroke, StrokeKind::Inside);
    }
}

/// Whether a panel has the keyboard focus.
pub fn has(ctx: &egui::Context, panel: &str) -> bool {
    ctx.memory(|m| m.has_focus(id_of(panel)))
}
