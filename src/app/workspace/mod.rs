//! The centre: workspaces, each a tree of panels. Layouts are suggested from the shapes of what the simulation can
//! show, rearranged by dragging, and saved with the project or as layouts of their own.

mod one;
mod page;
pub mod saved;
mod shell;
pub mod tabs;

pub use page::Page;
pub use saved::{Layout, Target};

use super::{
    App,
    time::Time,
    views::{self, Selection, View, ViewCtx, brain::Kept, tints::Tints},
};
use crate::{
    engine::SimSchema,
    sim::{Frame, Tap},
};
use egui::{Id, Ui};
use egui_tiles::Tree;
use one::{Arrangement, Workspace};
use page::suggested;
use saved::Saved;
use std::collections::BTreeMap;

/// Which view a panel shows, and which panel with it: `raster`, `raster#2`. Panels of the same name in two workspaces
/// share one view.
type Pane = String;

/// Workspaces with a key of their own.
pub const WITH_KEYS: usize = 6;

/// All workspaces and the views in them.
pub struct Workspaces {
    list: Vec<Workspace>,
    active: usize,
    /// The page to begin with lies over them.
    pub is_home: bool,
    views: BTreeMap<Pane, Box<dyn View>>,
    /// One of each view, for names and titles.
    samples: Vec<Box<dyn View>>,
    /// Panels that keep a selection of their own.
    pins: BTreeMap<Pane, Selection>,
    epoch: u64,
    /// Where the panel that keys are for was drawn last.
    pub focused_area: Option<egui::Rect>,
    /// As the project came with it, and as it was saved last.
    opened: Option<Saved>,
    stored: Option<Saved>,
    /// Layouts kept under a name: those of the project, then those of the user.
    pub layouts: saved::Layouts,
    rename: tabs::Rename,
    /// How the values of variables become colours.
    pub tints: Tints,
    /// Places that spatial views were looked at from.
    pub kept_views: Vec<Kept>,
}

/// How a view is called, by name.
pub fn view_title(app: &App, name: &str) -> String {
    let sample = app.workspace.samples.iter().find(|v| v.name() == name);
    sample.map_or_else(|| name.to_owned(), |v| v.title(&app.session.live.schema))
}

/// Names of all views.
pub fn view_names(app: &App) -> impl Iterator<Item = &'static str> {
    app.workspace.samples.iter().map(|v| v.name())
}

impl Default for Workspaces {
    fn default() -> Self {
        let schema = SimSchema::default();
        let list = Page::ALL.map(|page| Workspace::new(arrangement(page, &schema))).into();
        let mut fresh = Self {
            list,
            active: 0,
            is_home: false,
            views: BTreeMap::new(),
            samples: views::all(),
            pins: BTreeMap::new(),
            epoch: 0,
            focused_area: None,
            opened: None,
            stored: None,
            layouts: saved::Layouts::default(),
            rename: tabs::Rename::default(),
            tints: Tints::default(),
            kept_views: vec![],
        };
        fresh.fetch_views(&schema);
        fresh
    }
}

fn tree_id(title: &str) -> Id {
    Id::unique(("workspace", title))
}

fn view_of(pane: &str) -> &str {
    pane.split('#').next().unwrap_or(pane)
}

fn arrangement(page: Page, schema: &SimSchema) -> Arrangement {
    Arrangement { title: page.title().to_owned(), page, tree: suggested(page, schema) }
}

impl Workspaces {
    /// A new simulation: the saved layout if there is one and it can be read, else one that fits.
    pub fn open(&mut self, saved: Option<&str>, schema: &SimSchema) {
        if let Some(saved) = saved.and_then(saved::read) {
            self.layouts.project.clone_from(&saved.layouts);
            self.tints.clone_from(&saved.tints);
            self.kept_views.clone_from(&saved.views);
            self.arrange(saved.clone());
            self.opened = Some(saved.clone());
            self.stored = Some(saved);
        }
        for workspace in self.list.iter_mut().filter(|w| w.now.tree.is_empty()) {
            *workspace =
                Workspace::new(Arrangement { tree: suggested(workspace.now.page, schema), ..workspace.now.clone() });
        }
        self.fetch_views(schema);
        self.pins.retain(|_, pinned| schema.set(pinned.set).is_some());
        for view in self.views.values_mut() {
            view.reset(schema);
        }
    }

    /// Workspaces as they were saved; what the program has besides them stays.
    fn arrange(&mut self, saved: Saved) {
        let missing = |page: &Page| !saved.workspaces.iter().any(|w| w.page == *page);
        let others: Vec<Page> = Page::ALL.into_iter().filter(missing).collect();
        let empty = SimSchema::default();
        self.list = saved.workspaces.into_iter().map(Workspace::new).collect();
        self.list.extend(others.into_iter().map(|page| Workspace::new(arrangement(page, &empty))));
        self.active = saved.active.min(self.list.len() - 1);
    }

    /// Forgets the layout of a document that was closed; the user's own layouts stay.
    pub fn clear(&mut self) {
        let user = std::mem::take(&mut self.layouts.user);
        *self = Self::default();
        self.layouts.user = user;
    }

    /// The workspace in front.
    fn now(&self) -> &Workspace {
        &self.list[self.active.min(self.list.len() - 1)]
    }

    fn now_mut(&mut self) -> &mut Workspace {
        let at = self.active.min(self.list.len() - 1);
        &mut self.list[at]
    }

    /// Which page is in front.
    pub fn page(&self) -> Page {
        self.now().now.page
    }

    /// Titles of the workspaces, in the order of their tabs.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|w| w.now.title.as_str())
    }

    /// Brings a workspace to the front.
    pub fn show(&mut self, at: usize) {
        if at < self.list.len() {
            (self.active, self.is_home) = (at, false);
        }
    }

    /// Brings the first workspace of a page to the front.
    pub fn show_page(&mut self, page: Page) {
        if let Some(at) = self.list.iter().position(|w| w.now.page == page) {
            self.show(at);
        }
    }

    /// A copy of the workspace in front, to be arranged otherwise.
    pub fn duplicate(&mut self) {
        let now = self.now().now.clone();
        let taken = |title: &str| self.list.iter().any(|w| w.now.title == title);
        let title = (2..).map(|n| format!("{} {n}", now.title)).find(|t| !taken(t)).unwrap_or_default();
        self.list.push(Workspace::new(Arrangement { title, ..now }));
        self.show(self.list.len() - 1);
    }

    /// Whether the workspace in front is a copy that may be closed.
    pub fn can_close(&self) -> bool {
        let page = self.page();
        self.list.iter().filter(|w| w.now.page == page).count() > 1
    }

    /// Closes the workspace in front.
    pub fn close(&mut self) {
        if self.can_close() {
            self.list.remove(self.active);
            self.active = self.active.saturating_sub(1);
        }
    }

    /// Views for the panels there are; those that no panel shows any more are dropped.
    fn fetch_views(&mut self, schema: &SimSchema) {
        let panes: Vec<Pane> = self.list.iter().flat_map(|w| w.panes().cloned()).collect();
        self.views.retain(|pane, _| panes.contains(pane));
        self.pins.retain(|pane, _| panes.contains(pane));
        for pane in panes {
            if !self.views.contains_key(&pane)
                && let Some(mut view) = views::by_name(view_of(&pane))
            {
                view.reset(schema);
                self.views.insert(pane, view);
            }
        }
    }

    /// Hands new data to all views. A new epoch starts them over. While the cursor is in the past they are told no states of
    /// the present.
    pub fn absorb(&mut self, schema: &SimSchema, time: &mut Time, frame: &mut Frame) {
        if std::mem::replace(&mut self.epoch, frame.epoch) != frame.epoch {
            time.reset();
            self.views.values_mut().for_each(|view| view.reset(schema));
        }
        time.absorb(schema, frame);
        if time.axis.cursor().is_some() {
            let is_state = |id: u16| schema.probes.get(usize::from(id)).is_some_and(|p| p.shape.is_state());
            frame.readings.retain(|(id, _)| !is_state(*id));
        }
        self.tell(schema, frame);
    }

    /// Shows the states where the cursor is.
    pub fn follow_cursor(&mut self, schema: &SimSchema, time: &mut Time, clock: crate::sim::Clock) {
        if let Some(frame) = time.states_to_show(schema, clock) {
            self.tell(schema, &frame);
        }
    }

    fn tell(&mut self, schema: &SimSchema, frame: &Frame) {
        self.views.values_mut().for_each(|view| view.absorb(schema, frame));
    }

    /// What the visible views need. A hidden view costs nothing anywhere.
    pub fn taps(&self, schema: &SimSchema, selection: &views::Selection) -> Vec<Tap> {
        let mut union: Vec<Tap> = Vec::new();
        if self.is_home {
            return union;
        }
        let visible = self.now().visible();
        let wanted = visible.iter().filter_map(|id| {
            let pane = self.now().pane(*id)?;
            let selection = self.pins.get(pane).unwrap_or(selection);
            Some(self.views.get(pane)?.taps(schema, selection))
        });
        for tap in wanted.flatten() {
            match union.iter_mut().find(|t| t.probe == tap.probe) {
                Some(known) => {
                    known.elements.extend(&tap.elements);
                    known.elements.sort_unstable();
                    known.elements.dedup();
                }
                None => union.push(tap),
            }
        }
        union.sort_by_key(|t| t.probe);
        union
    }

    /// Whether a visible view shows where the time goes.
    pub fn profiles(&self) -> bool {
        let view = |tile: &egui_tiles::TileId| self.views.get(self.now().pane(*tile)?);
        !self.is_home && self.now().visible().iter().filter_map(view).any(|v| v.profiles())
    }

    /// The view that keys are for: the panel last clicked.
    pub fn focused_view(&mut self) -> Option<&mut dyn View> {
        let pane = self.focused()?.clone();
        self.views.get_mut(&pane).map(|v| &mut **v as &mut dyn View)
    }

    fn focused(&self) -> Option<&Pane> {
        self.now().pane(self.now().focused_tile()?)
    }

    /// What the panel that keys are for can be coloured by, and which of it it is.
    pub fn colorings(&self, schema: &SimSchema) -> (Vec<String>, usize) {
        let view = self.focused().and_then(|pane| self.views.get(pane));
        view.map(|v| v.colorings(schema)).unwrap_or_default()
    }

    /// Colours it by one of them.
    pub fn color_by(&mut self, schema: &SimSchema, at: usize) {
        if let Some(view) = self.focused_view() {
            view.color_by(schema, at);
        }
    }

    /// See [`View::toggle_range`], of the panel that keys are for.
    pub fn toggle_range(&mut self, schema: &SimSchema) -> Option<bool> {
        let mut tints = std::mem::take(&mut self.tints);
        let is_kept = self.focused_view().and_then(|view| view.toggle_range(schema, &mut tints));
        self.tints = tints;
        is_kept
    }

    /// Brings a view to the front: where it is, else in the workspace that is made for it.
    pub fn show_view(&mut self, name: &str, schema: &SimSchema) {
        self.is_home = false;
        let has = |w: &Workspace| w.panel_of(name).is_some();
        let page = views::page_of(name);
        let fits = |w: &Workspace| page.is_none_or(|page| w.now.page == page);
        if !has(self.now()) {
            let there = self.list.iter().position(has).or_else(|| self.list.iter().position(fits));
            self.active = there.unwrap_or(self.active);
        }
        let workspace = self.now_mut();
        match workspace.panel_of(name) {
            Some(pane) => drop(workspace.bring_up(&pane)),
            None => self.add(name.to_owned(), schema),
        }
    }

    /// One more panel with a view, in the workspace in front.
    pub fn open_another(&mut self, name: &str, schema: &SimSchema) {
        self.is_home = false;
        let taken = |pane: &str| self.list.iter().any(|w| w.panes().any(|p| p == pane));
        let more = (2..).map(|n| format!("{name}#{n}")).find(|p| !taken(p));
        let pane = if taken(name) { more.unwrap_or_default() } else { name.to_owned() };
        self.add(pane, schema);
    }

    fn add(&mut self, pane: Pane, schema: &SimSchema) {
        let workspace = self.now_mut();
        let id = tree_id(&workspace.now.title);
        workspace.add(pane, |pane| Tree::new_tabs(id, vec![pane]));
        self.fetch_views(schema);
    }

    /// The panel with the keyboard fills the centre, or goes back to its place.
    pub fn maximise(&mut self) {
        let workspace = self.now_mut();
        workspace.maximised = match workspace.maximised_tile() {
            Some(_) => None,
            None => workspace.focused_tile(),
        };
    }

    /// Hands the keyboard to the next panel, or the one before; `None` past the last.
    pub fn next_panel(&mut self, ctx: &egui::Context, back: bool, from_outside: bool) -> bool {
        if self.is_home {
            return false;
        }
        let workspace = self.now_mut();
        let mut order = workspace.by_place(workspace.visible());
        if back {
            order.reverse();
        }
        let now = workspace.focused_tile().filter(|_| !from_outside);
        let at = now.and_then(|tile| order.iter().position(|t| *t == tile)).map_or(0, |at| at + 1);
        let Some(next) = order.get(at).copied() else { return false };
        workspace.focus = Some(next);
        if let Some(pane) = workspace.pane(next) {
            super::focus::request(ctx, pane);
        }
        true
    }

    /// Layout steps that can be undone and redone.
    pub fn steps(&self) -> (usize, usize) {
        self.now().steps()
    }

    /// One layout step back or forward.
    pub fn travel(&mut self, back: bool, schema: &SimSchema) {
        self.now_mut().travel(back);
        self.fetch_views(schema);
    }

    /// Draws the panels.
    pub fn ui(&mut self, ui: &mut Ui, ctx: ViewCtx<'_>) {
        let schema = ctx.schema;
        let at = self.active.min(self.list.len() - 1);
        let mut wish = shell::Wish::default();
        let panels = shell::Panels { views: &mut self.views, samples: &self.samples, pins: &mut self.pins };
        shell::ui(ui, &mut self.list[at], panels, ctx, &mut wish);
        self.focused_area = wish.focused_area;
        let workspace = &mut self.list[at];
        if let Some(tile) = wish.focus {
            workspace.focus = Some(tile);
        }
        if let Some(tile) = wish.maximise {
            workspace.maximised = if workspace.maximised_tile().is_some() { None } else { Some(tile) };
        }
        if let Some(tile) = wish.close {
            workspace.close(tile);
        }
        if wish.edited {
            workspace.touch();
        }
        if !ui.input(|i| i.pointer.any_down()) {
            workspace.cut();
        }
        if let Some(name) = wish.another {
            self.open_another(&name, schema);
        }
        if wish.close.is_some() {
            self.fetch_views(schema);
        }
    }
}

#[cfg(test)]
mod tests;
