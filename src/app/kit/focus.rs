//! Keyboard focus of panels: F6 cycles through them, and the focused panel has a ring. Rows that are invisible and that no input
//! can reach are not drawn.

use super::theme::Tokens;
use egui::{Event, Id, Popup, Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo};

/// Number of passes after the last input in which invisible rows are still drawn, so that a field that lost the focus
/// commits its text.
const SETTLING: u64 = 3;

fn id_of(panel: &str) -> Id {
    Id::unique(("panel focus", panel))
}

fn request_id() -> Id {
    Id::unique("panel to focus")
}

/// Panels with a filter field.
pub const WITH_FILTER: [&str; 5] = ["tree", "inspector", "log", "runs", "table"];

/// Returns the id of the filter field of a panel.
pub fn filter_id(panel: &str) -> Id {
    Id::unique(("filter of", panel))
}

/// Moves the keyboard focus to a panel the next time it is drawn.
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

/// Whether a row of a scroll area need not be drawn: it is invisible, and no key, drag, menu or screen reader can reach it.
pub fn is_out_of_reach(ui: &Ui, row: Rect) -> bool {
    if ui.is_rect_visible(row) {
        return false;
    }
    let (ctx, id) = (ui.ctx(), Id::unique("last pass with input"));
    let pass = ctx.cumulative_pass_nr();
    let (asked, operated) = ctx.data(|d| d.get_temp::<(u64, u64)>(id)).unwrap_or_default();
    let operated = match asked == pass {
        true => operated,
        // If no row was checked in the previous pass, its input is unknown, and this pass counts as one with input.
        false if asked + 1 != pass || is_operated(ctx) => pass,
        false => operated,
    };
    ctx.data_mut(|d| d.insert_temp(id, (pass, operated)));
    pass > operated + SETTLING
}

/// Whether this pass has input that may reach an invisible row: a key, a pointer button, keyboard focus, an open menu or a
/// screen reader.
fn is_operated(ctx: &egui::Context) -> bool {
    let is_input = |event: &Event| matches!(event, Event::Key { .. } | Event::AccessKitActionRequest(_));
    let has_input =
        |i: &egui::InputState| i.pointer.any_down() || i.pointer.any_released() || i.events.iter().any(is_input);
    ctx.memory(|m| m.focused().is_some())
        || ctx.input(has_input)
        || Popup::is_any_open(ctx)
        || ctx.has_accesskit_node(egui::accesskit_root_id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::{Modifiers, Pos2, RawInput, pos2, vec2};

    /// Draws a pass with a row below the window. Returns whether the row is out of reach.
    fn pass(ctx: &egui::Context, events: Vec<Event>) -> bool {
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, vec2(100.0, 100.0))),
            events,
            ..RawInput::default()
        };
        let mut is_out = false;
        let mut output = ctx.run_ui(input, |ui| {
            assert!(!is_out_of_reach(ui, Rect::from_min_size(pos2(0.0, 50.0), vec2(100.0, 20.0))), "in sight");
            is_out = is_out_of_reach(ui, Rect::from_min_size(pos2(0.0, 150.0), vec2(100.0, 20.0)));
        });
        output.textures_delta.clear();
        is_out
    }

    #[test]
    fn rows_out_of_sight_are_drawn_while_something_may_reach_them() {
        let ctx = egui::Context::default();
        let settle = |ctx: &egui::Context| (0..=SETTLING).map(|_| pass(ctx, vec![])).collect::<Vec<_>>();
        assert_eq!(settle(&ctx), [false, false, false, false]);
        assert!(pass(&ctx, vec![]), "nothing happens");
        let tab = Event::Key {
            key: egui::Key::Tab,
            physical_key: None,
            pressed: true,
            repeat: false,
            modifiers: Modifiers::NONE,
        };
        assert!(!pass(&ctx, vec![tab]), "the Tab key may move to it");
        assert_eq!(settle(&ctx), [false, false, false, true]);
        ctx.memory_mut(|m| m.request_focus(Id::unique("a field")));
        assert!(!pass(&ctx, vec![]), "it may have the focus");
        ctx.enable_accesskit();
        assert_eq!((0..9).filter(|_| pass(&ctx, vec![])).count(), 0, "a screen reader reads all rows");
    }
}
