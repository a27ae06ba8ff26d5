//! The keyboard's way around: every panel can be reached with F6 and shows that it was.

use super::theme::Tokens;
use egui::{Id, Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo};

fn id_of(panel: &str) -> Id {
    Id::unique(("panel focus", panel))
}

fn wish_id() -> Id {
    Id::unique("panel to focus")
}

/// Panels with a field that filters what they show.
pub const WITH_FILTER: [&str; 5] = ["tree", "inspector", "log", "runs", "table"];

/// The field that filters a panel.
pub fn filter_id(panel: &str) -> Id {
    Id::unique(("filter of", panel))
}

/// Asks a panel to take the keyboard when it is drawn next.
pub fn ask(ctx: &egui::Context, panel: &str) {
    ctx.data_mut(|d| d.insert_temp(wish_id(), panel.to_owned()));
    ctx.request_repaint();
}

/// Makes the area of a panel reachable, before its content is drawn: Tab goes on to its first control.
pub fn area(ui: &Ui, panel: &str, title: &str, rect: Rect) {
    let response = ui.interact(rect, id_of(panel), Sense::focusable_noninteractive());
    response.widget_info(|| WidgetInfo::labeled(Role::Pane, true, title));
    let is_wanted = ui.data(|d| d.get_temp::<String>(wish_id()).is_some_and(|p| p == panel));
    if is_wanted {
        ui.data_mut(|d| d.remove_temp::<String>(wish_id()));
        response.request_focus();
    }
}

/// Draws the ring of a panel that has the keyboard, over its content.
pub fn ring(ui: &Ui, panel: &str, rect: Rect) {
    if has(ui.ctx(), panel) {
        let stroke = Stroke::new(2.0, Tokens::of(ui.ctx()).accent);
        ui.painter().rect_stroke(rect.shrink(1.0), 0, stroke, StrokeKind::Inside);
    }
}

/// Whether a panel has the keyboard.
pub fn has(ctx: &egui::Context, panel: &str) -> bool {
    ctx.memory(|m| m.has_focus(id_of(panel)))
}
