//! State of the panels around the views.

use super::{inspector::Inspector, sets::Sets, side::OpenPanels, time_panel::TimePanel, tree::Outline};
use crate::{
    app::{
        host::recent::Recent,
        shell::{commands::Around, flow::Flow, keymap::Keymap, pacing::Pacing, workspace::Workspaces},
    },
    params::Params,
};

/// State of all panels. A closed panel keeps its state.
pub struct Panels {
    /// Whether the side panels, the log and the developer window are open.
    pub open: OpenPanels,
    /// Project tree at the left.
    pub tree: Outline,
    /// Named selections in the tree.
    pub sets: Sets,
    pub inspector: Inspector,
    pub time: TimePanel,
    /// Size of a step, and whether the display is paused.
    pub pacing: Pacing,
    /// Area of the views, for overlays over them.
    pub centre: egui::Rect,
    /// Area of the docked project tree, which messages may cover; `None` if they have a strip of their own.
    pub messages: Option<egui::Rect>,
}

impl Default for Panels {
    fn default() -> Self {
        Self {
            open: OpenPanels::default(),
            tree: Outline::default(),
            sets: Sets::default(),
            inspector: Inspector::default(),
            time: TimePanel::default(),
            pacing: Pacing::default(),
            centre: egui::Rect::EVERYTHING,
            messages: None,
        }
    }
}

impl Panels {
    /// Combines the state of the panels with other parts to the state that commands depend on. `params` are the parameters of
    /// the open document.
    pub fn around<'a>(
        &self,
        params: &dyn Params,
        workspace: &'a Workspaces,
        flow: &'a Flow,
        recent: &'a Recent,
        keymap: &'a Keymap,
    ) -> Around<'a> {
        let has_item = self.tree.item(&self.sets, params).is_some();
        Around { workspace, recent, keymap, flow, pacing: self.pacing, has_item }
    }

    /// Shows the parameters in the inspector that match a text.
    pub fn find_parameter(&mut self, text: &str) {
        self.open.inspector = true;
        self.inspector.find(text);
    }

    /// Shows a group of parameters in the inspector.
    pub fn show_group(&mut self, name: &'static str) {
        self.open.inspector = true;
        self.inspector.show_group(name);
    }
}
