//! Clicks and keys of the table.

use super::Table;
use crate::{
    app::views::{ViewCtx, ask_focus},
    sim::ElementSet,
};
use egui::{Key, Ui};

impl Table {
    pub(super) fn click(&mut self, ui: &Ui, set: &ElementSet, rows: &[u32], index: usize, ctx: &mut ViewCtx<'_>) {
        let modifiers = ui.input(|i| i.modifiers);
        let element = rows[index];
        if modifiers.shift
            && let Some(from) = self.cursor
        {
            let (a, b) = (from.min(index), from.max(index).min(rows.len() - 1));
            ctx.selection.extend(set.name, &rows[a..=b]);
        } else if modifiers.command {
            ctx.selection.toggle(set.name, element);
        } else {
            ctx.selection.replace(set.name, vec![element]);
        }
        self.cursor = Some(index);
    }

    /// Handles keys: up and down move the selection, Enter frames it in the 3D view.
    pub(super) fn keys(&mut self, ui: &Ui, set: &ElementSet, hovered: bool, ctx: &mut ViewCtx<'_>) {
        if !hovered || ui.ctx().text_edit_focused() {
            return;
        }
        let (up, down, enter) =
            ui.input(|i| (i.num_presses(Key::ArrowUp), i.num_presses(Key::ArrowDown), i.key_pressed(Key::Enter)));
        let rows = self.order.rows();
        if (up > 0 || down > 0) && !rows.is_empty() {
            let at = self.cursor.map_or(0, |c| (c + down).saturating_sub(up)).min(rows.len() - 1);
            (self.cursor, self.scroll_to) = (Some(at), Some(at));
            ctx.selection.replace(set.name, vec![rows[at]]);
        }
        if enter {
            ask_focus(ui.ctx());
        }
    }
}
