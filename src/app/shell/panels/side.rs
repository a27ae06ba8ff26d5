//! Side panels: docked if there is room, otherwise drawers over the centre. The inspector becomes a drawer first.

use crate::app::kit::{focus, theme::Tokens};
use egui::{Align2, Area, Frame, Id, Order, Panel, Rect, Stroke, Ui, vec2};

/// Width of the window below which the inspector is a drawer, points.
const INSPECTOR_FITS: f32 = 1200.0;
/// Width of the window below which the docked panels are initially narrower, points.
const WIDE: f32 = 1400.0;
/// Width of the inspector as a drawer, points.
const INSPECTOR_DRAWER: f32 = 380.0;
/// Width of the window below which the project tree is also a drawer, points.
const TREE_FITS: f32 = 1020.0;

/// State of the panels: whether each one is open and whether it is a drawer.
pub struct OpenPanels {
    pub tree: bool,
    pub inspector: bool,
    pub log: bool,
    pub dev: bool,
    narrow_tree: Narrow,
    narrow_inspector: Narrow,
}

/// State of a panel in a narrow window: whether the panel is a drawer, and whether it was open before it became one.
#[derive(Default)]
pub struct Narrow {
    is: bool,
    was_open: bool,
}

impl Narrow {
    /// Closes a panel that becomes a drawer, and restores its state when it is docked again.
    pub fn fit(&mut self, is: bool, open: &mut bool) {
        match (self.is, is) {
            (false, true) => self.was_open = std::mem::take(open),
            (true, false) => *open |= self.was_open,
            _ => {}
        }
        self.is = is;
    }
}

impl Default for OpenPanels {
    fn default() -> Self {
        let (narrow_tree, narrow_inspector) = Default::default();
        Self { tree: true, inspector: true, log: false, dev: false, narrow_tree, narrow_inspector }
    }
}

impl OpenPanels {
    /// Whether the project tree is docked in a window of this width.
    pub fn has_docked_tree(&self, width: f32) -> bool {
        self.tree && width >= TREE_FITS
    }

    fn fit(&mut self, width: f32) {
        self.narrow_tree.fit(width < TREE_FITS, &mut self.tree);
        self.narrow_inspector.fit(width < INSPECTOR_FITS, &mut self.inspector);
    }
}

/// Panel at a side of the views.
#[derive(Clone, Copy)]
pub enum Side {
    Tree,
    Inspector,
}

impl Side {
    /// Returns the name for the keyboard focus, and the title.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Tree => ("tree", "Project"),
            Self::Inspector => ("inspector", "Inspector"),
        }
    }
}

/// Draws the docked panels with their `content`, unless `are_hidden`.
pub fn docked_ui(ui: &mut Ui, open: &mut OpenPanels, are_hidden: bool, mut content: impl FnMut(&mut Ui, Side)) {
    let width = ui.ctx().content_rect().width();
    open.fit(width);
    let is_wide = width >= WIDE;
    if are_hidden {
        return;
    }
    let frame = Frame::new().fill(Tokens::of(ui.ctx()).panel);
    if open.tree && !open.narrow_tree.is {
        let size = if is_wide { 232.0 } else { 200.0 };
        let panel = Panel::left("tree").default_size(size).size_range(180.0..=400.0).resizable(true).frame(frame);
        panel.show(ui, |ui| side_ui(ui, Side::Tree, &mut content));
    }
    if open.inspector && !open.narrow_inspector.is {
        let size = if is_wide { 380.0 } else { 340.0 };
        let panel = Panel::right("inspector").default_size(size).size_range(340.0..=560.0).resizable(true).frame(frame);
        panel.show(ui, |ui| side_ui(ui, Side::Inspector, &mut content));
    }
}

fn side_ui(ui: &mut Ui, side: Side, content: &mut impl FnMut(&mut Ui, Side)) {
    let (name, title) = side.names();
    reachable(ui, name, title, |ui| content(ui, side));
}

/// Returns the part of the centre that the inspector drawer does not cover.
pub fn uncovered(centre: Rect, open: &OpenPanels, is_home: bool) -> Rect {
    let is_covered = open.inspector && open.narrow_inspector.is && !is_home;
    let width = if is_covered { INSPECTOR_DRAWER.min(centre.width() / 2.0) } else { 0.0 };
    centre.with_max_x(centre.right() - width)
}

/// Draws the drawers over the centre with their `content`.
pub fn drawers_ui(ui: &Ui, centre: Rect, open: &OpenPanels, mut content: impl FnMut(&mut Ui, Side)) {
    if open.tree && open.narrow_tree.is {
        drawer(ui, "tree", centre, Align2::LEFT_TOP, 260.0, |ui| side_ui(ui, Side::Tree, &mut content));
    }
    if open.inspector && open.narrow_inspector.is {
        drawer(ui, "inspector", centre, Align2::RIGHT_TOP, INSPECTOR_DRAWER, |ui| {
            side_ui(ui, Side::Inspector, &mut content);
        });
    }
}

fn drawer(ui: &Ui, name: &str, centre: Rect, side: Align2, width: f32, content: impl FnOnce(&mut Ui)) {
    let t = Tokens::of(ui.ctx());
    let size = vec2(width.min(centre.width()), centre.height());
    let place = side.align_size_within_rect(size, centre);
    let area = Area::new(Id::unique(("drawer", name))).order(Order::Middle).fixed_pos(place.min).constrain(false);
    area.show(ui.ctx(), |ui| {
        let frame = Frame::new().fill(t.panel).shadow(ui.visuals().popup_shadow).stroke(Stroke::new(1.0, t.line));
        frame.show(ui, |ui| {
            ui.set_clip_rect(place.expand(24.0));
            ui.set_min_size(place.size());
            ui.set_max_size(place.size());
            content(ui);
        });
    });
}

/// Draws the content of a panel that F6 can focus.
pub fn reachable(ui: &mut Ui, panel: &str, title: &str, content: impl FnOnce(&mut Ui)) {
    let all = ui.available_rect_before_wrap();
    focus::area(ui, panel, title, all);
    content(ui);
    focus::ring(ui, panel, all);
}
