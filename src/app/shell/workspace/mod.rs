//! Workspaces in the centre of the window, each a tree of panels. Default layouts are chosen by the shapes of the simulation's
//! probes. The user rearranges panels by dragging, and saves layouts with the project or as named layouts.

mod arrangement;
mod editor;
mod focused;
mod page;
pub mod saved;
mod subscriptions;
mod tiles;
mod titles;

pub use saved::Layout;
pub use titles::TabRename;

use crate::{
    app::{
        document::{
            color_scales::ColorScales, graph::EditedGraph, layout::Page, saved_view::SavedView, selection::Selection,
        },
        views::{self, View, ViewCtx},
    },
    engine::{SchemaChanges, SimSchema},
    sim::Frame,
};
use arrangement::{Arrangement, Workspace};
use egui::{Id, Ui};
use egui_tiles::Tree;
use page::suggested;
use saved::Saved;
use std::collections::BTreeMap;

/// Name of a panel: its view and, from the second panel on, a number: `raster`, `raster#2`. Panels of equal name in two
/// workspaces share one view.
type Pane = String;

/// Number of workspaces with a shortcut.
pub const WITH_KEYS: usize = 6;

/// All workspaces, and the views in them.
pub struct Workspaces {
    list: Vec<Workspace>,
    active: usize,
    /// Whether the home page covers the workspaces.
    pub is_home: bool,
    views: BTreeMap<Pane, Box<dyn View>>,
    /// Panels whose views were opened or changed after data arrived.
    pub unfed: Vec<Pane>,
    /// One instance of each view, for its title without data.
    samples: Vec<Box<dyn View>>,
    /// Pinned selections of panels.
    pins: BTreeMap<Pane, Selection>,
    /// Area in which the focused panel is drawn alone for a figure; `None` without one.
    pub figure_area: Option<egui::Rect>,
    /// Area of the focused panel in the last frame.
    pub focused_area: Option<egui::Rect>,
    /// Layout that was opened with the project; `stored` is the one that was last saved.
    opened: Option<Saved>,
    stored: Option<Saved>,
    /// Named layouts of the project and of the user.
    pub layouts: saved::Layouts,
    /// Tab that is being renamed.
    pub rename: TabRename,
    /// Ranges and colormaps of variables.
    pub color_scales: ColorScales,
    /// Saved camera positions of spatial views.
    pub saved_views: Vec<SavedView>,
    /// Graph that the document describes, and the positions of its nodes.
    pub graph: EditedGraph,
    /// Editor of the graph, which fills the centre before a simulation is built.
    editor: editor::Editor,
    /// Choices of panels from the project, for views that do not exist yet.
    choices: BTreeMap<Pane, String>,
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
            unfed: vec![],
            samples: views::ALL.iter().map(|view| (view.create)()).collect(),
            pins: BTreeMap::new(),
            figure_area: None,
            focused_area: None,
            opened: None,
            stored: None,
            layouts: saved::Layouts::default(),
            rename: TabRename::default(),
            color_scales: ColorScales::default(),
            saved_views: vec![],
            graph: EditedGraph::default(),
            editor: editor::Editor::default(),
            choices: BTreeMap::new(),
        };
        fresh.sync_views(&schema);
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
    /// Applies the layout for a new simulation: the saved one if it is readable, otherwise the suggested one.
    pub fn open(&mut self, saved: Option<&str>, schema: &SimSchema) {
        self.read_places(saved);
        if let Some(saved) = saved.and_then(saved::read) {
            self.layouts.project.clone_from(&saved.layouts);
            self.color_scales.clone_from(&saved.color_scales);
            self.saved_views.clone_from(&saved.views);
            self.choices.clone_from(&saved.choices);
            // Views that need no simulation already exist.
            let drawn = self.views.iter_mut().filter_map(|(pane, view)| Some((view, saved.choices.get(pane)?)));
            drawn.for_each(|(view, choice)| view.choose(schema, choice));
            self.arrange(saved.clone());
            self.opened = Some(saved.clone());
            self.stored = Some(saved);
        }
        for workspace in self.list.iter_mut().filter(|w| w.now.tree.is_empty()) {
            *workspace =
                Workspace::new(Arrangement { tree: suggested(workspace.now.page, schema), ..workspace.now.clone() });
        }
        self.sync_views(schema);
        self.pins.retain(|_, pinned| schema.set(pinned.set).is_some());
        for view in self.views.values_mut() {
            view.reset(schema);
        }
    }

    /// Restores saved workspaces. Pages that are missing there get their default workspace.
    fn arrange(&mut self, saved: Saved) {
        let missing = |page: &Page| !saved.workspaces.iter().any(|w| w.page == *page);
        let others: Vec<Page> = Page::ALL.into_iter().filter(missing).collect();
        let empty = SimSchema::default();
        self.list = saved.workspaces.into_iter().map(Workspace::new).collect();
        self.list.extend(others.into_iter().map(|page| Workspace::new(arrangement(page, &empty))));
        self.active = saved.active.min(self.list.len() - 1);
    }

    /// Removes the layout of a closed document; the user's named layouts are kept.
    pub fn clear(&mut self) {
        let user = std::mem::take(&mut self.layouts.user);
        *self = Self::default();
        self.layouts.user = user;
    }

    /// Returns the active workspace.
    fn now(&self) -> &Workspace {
        &self.list[self.active.min(self.list.len() - 1)]
    }

    fn now_mut(&mut self) -> &mut Workspace {
        let at = self.active.min(self.list.len() - 1);
        &mut self.list[at]
    }

    /// Returns the page of the active workspace.
    pub fn page(&self) -> Page {
        self.now().now.page
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

    /// Adds a copy of the active workspace, and shows it.
    pub fn duplicate(&mut self) {
        let now = self.now().now.clone();
        let taken = |title: &str| self.list.iter().any(|w| w.now.title == title);
        let title = (2..).map(|n| format!("{} {n}", now.title)).find(|t| !taken(t)).unwrap_or_default();
        self.list.push(Workspace::new(Arrangement { title, ..now }));
        self.show(self.list.len() - 1);
    }

    /// Whether the active workspace can be closed, because there is another one of its page.
    pub fn can_close(&self) -> bool {
        let page = self.page();
        self.list.iter().filter(|w| w.now.page == page).count() > 1
    }

    /// Closes the active workspace if another one of its page exists.
    pub fn close(&mut self) {
        if self.can_close() {
            self.list.remove(self.active);
            self.active = self.active.saturating_sub(1);
        }
    }

    /// Creates views for new panels and drops views without a panel.
    fn sync_views(&mut self, schema: &SimSchema) {
        let panes: Vec<Pane> = self.list.iter().flat_map(|w| w.panes().cloned()).collect();
        self.views.retain(|pane, _| panes.contains(pane));
        self.pins.retain(|pane, _| panes.contains(pane));
        for pane in panes {
            if !self.views.contains_key(&pane)
                && let Some(mut view) = views::by_name(view_of(&pane))
            {
                view.reset(schema);
                if let Some(choice) = self.choices.get(&pane) {
                    view.choose(schema, choice);
                }
                self.unfed.push(pane.clone());
                self.views.insert(pane, view);
            }
        }
    }

    /// Adds the panels whose views need data again to [`Self::unfed`].
    pub fn list_stale_views(&mut self) {
        let stale = self.views.iter_mut().filter_map(|(pane, view)| view.take_needs_refresh().then(|| pane.clone()));
        self.unfed.extend(stale);
    }

    /// Resets the views of some panels.
    pub fn reset_views(&mut self, panes: &[Pane], schema: &SimSchema) {
        let views = self.views.iter_mut().filter(|(pane, _)| panes.contains(pane));
        views.for_each(|(_, view)| view.reset(schema));
    }

    /// Passes data to the views of some panels.
    pub fn absorb_into(&mut self, panes: &[Pane], schema: &SimSchema, frame: &Frame) {
        let views = self.views.iter_mut().filter(|(pane, _)| panes.contains(pane));
        views.for_each(|(_, view)| view.absorb(schema, frame));
    }

    /// Passes new data to all views. A new epoch resets them.
    pub fn absorb(&mut self, schema: &SimSchema, frame: &Frame, is_new_epoch: bool) {
        if is_new_epoch {
            self.views.values_mut().for_each(|view| view.reset(schema));
        }
        self.views.values_mut().for_each(|view| view.absorb(schema, frame));
    }

    /// Updates pinned selections and views after a change of the schema.
    pub fn schema_changed(&mut self, schema: &SimSchema, changes: &SchemaChanges) {
        self.pins.values_mut().for_each(|pinned| changes.sets.iter().for_each(|set| pinned.follow(set)));
        self.views.values_mut().for_each(|view| view.schema_changed(schema, changes));
    }

    /// Whether a visible view shows the profile.
    pub fn profiles(&self) -> bool {
        let view = |tile: &egui_tiles::TileId| self.views.get(self.now().pane(*tile)?);
        !self.is_home && self.now().visible().iter().filter_map(view).any(|v| v.declaration().profiles)
    }

    /// Returns the view of the focused panel; `None` without panels.
    pub fn focused_view(&mut self) -> Option<&mut dyn View> {
        if self.editor.is_alone {
            return Some(&mut *self.editor.view);
        }
        let pane = self.focused()?.clone();
        self.views.get_mut(&pane).map(|v| &mut **v as &mut dyn View)
    }

    fn focused(&self) -> Option<&Pane> {
        self.now().pane(self.now().focused_tile()?)
    }

    /// Brings a view to the front in the workspace that has it. Adds a panel if there is none.
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

    /// Shows a view with a probe or a set.
    pub fn show_in(&mut self, name: &str, schema: &SimSchema, shows: impl FnOnce(&mut dyn View)) {
        self.show_view(name, schema);
        self.sync_views(schema);
        let Some(pane) = self.now().panel_of(name) else { return };
        if let Some(view) = self.views.get_mut(&pane) {
            shows(&mut **view);
            self.unfed.push(pane);
        }
    }

    /// Adds a panel with a view to the active workspace, even if the view already has one.
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
        self.sync_views(schema);
    }

    /// Maximises or restores the focused panel.
    pub fn maximise(&mut self) {
        let workspace = self.now_mut();
        workspace.maximised = match workspace.maximised_tile() {
            Some(_) => None,
            None => workspace.focused_tile(),
        };
    }

    /// Focuses the next or previous panel. Returns `false` after the last one.
    pub fn next_panel(&mut self, ctx: &egui::Context, back: bool, from_outside: bool) -> bool {
        if self.is_home {
            return false;
        }
        let workspace = self.now_mut();
        let mut order = workspace.by_position(workspace.visible());
        if back {
            order.reverse();
        }
        let now = workspace.focused_tile().filter(|_| !from_outside);
        let at = now.and_then(|tile| order.iter().position(|t| *t == tile)).map_or(0, |at| at + 1);
        let Some(next) = order.get(at).copied() else { return false };
        workspace.focus = Some(next);
        if let Some(pane) = workspace.pane(next) {
            crate::app::kit::focus::request(ctx, pane);
        }
        true
    }

    /// Returns the numbers of layout changes that can be undone and redone.
    pub fn steps(&self) -> (usize, usize) {
        self.now().steps()
    }

    /// Undoes (`back`) or redoes a layout change of the active workspace.
    pub fn travel(&mut self, back: bool, schema: &SimSchema) {
        self.now_mut().travel(back);
        self.sync_views(schema);
    }

    /// Draws the panels.
    pub fn ui(&mut self, ui: &mut Ui, ctx: ViewCtx<'_>) {
        if let Some(area) = self.figure_area {
            return self.figure_ui(ui, ctx, area);
        }
        let schema = ctx.schema;
        let at = self.active.min(self.list.len() - 1);
        let mut requests = tiles::TileRequests::default();
        let panels = tiles::Panels { views: &mut self.views, samples: &self.samples, pins: &mut self.pins };
        tiles::ui(ui, &mut self.list[at], panels, ctx, &mut requests);
        self.focused_area = requests.focused_area;
        let workspace = &mut self.list[at];
        if let Some(tile) = requests.focus {
            workspace.focus = Some(tile);
        }
        if let Some(tile) = requests.maximise {
            workspace.maximised = if workspace.maximised_tile().is_some() { None } else { Some(tile) };
        }
        if let Some(tile) = requests.close {
            workspace.close(tile);
        }
        if requests.edited {
            workspace.mark_edited();
        }
        if !ui.input(|i| i.pointer.any_down()) {
            workspace.commit();
        }
        if let Some(name) = requests.another {
            self.open_another(&name, schema);
        }
        if requests.close.is_some() {
            self.sync_views(schema);
        }
    }
}

#[cfg(test)]
mod tests;
