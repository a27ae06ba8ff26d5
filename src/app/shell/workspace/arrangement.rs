//! One workspace: a tree of panels, the focused panel and the undo history of the layout.

use super::{Pane, view_of};
use crate::app::document::layout::Page;
use egui_tiles::{Container, Tile, TileId, Tree};

/// Maximum number of undo steps.
const MAX_STEPS: usize = 50;

/// Workspace as stored in a file.
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Arrangement {
    pub title: String,
    pub page: Page,
    pub tree: Tree<Pane>,
}

pub struct Workspace {
    /// Part of the workspace that is stored.
    pub now: Arrangement,
    /// Maximised panel, which may no longer exist; `None`: no panel is maximised.
    pub maximised: Option<TileId>,
    /// Panel that was last clicked; `None` before a click.
    pub focus: Option<TileId>,
    past: Vec<Tree<Pane>>,
    future: Vec<Tree<Pane>>,
    settled: Tree<Pane>,
    /// Whether the user has changed the layout since the last undo step.
    edited: bool,
}

impl Workspace {
    /// Creates a workspace from a saved or suggested layout.
    pub fn new(now: Arrangement) -> Self {
        let settled = now.tree.clone();
        Self { now, maximised: None, focus: None, past: vec![], future: vec![], settled, edited: false }
    }

    /// Iterates over the names of the panels.
    pub fn panes(&self) -> impl Iterator<Item = &Pane> {
        self.now.tree.tiles.tiles().filter_map(|t| if let Tile::Pane(p) = t { Some(p) } else { None })
    }

    /// Returns the panels on screen.
    pub fn visible(&self) -> Vec<TileId> {
        match self.maximised_tile() {
            Some(tile) => vec![tile],
            None => self.now.tree.active_tiles().into_iter().filter(|t| self.pane(*t).is_some()).collect(),
        }
    }

    /// Returns the name of a panel; `None` for other tiles.
    pub fn pane(&self, tile: TileId) -> Option<&Pane> {
        self.now.tree.tiles.get_pane(&tile)
    }

    /// Returns the maximised panel; `None` if there is none or it no longer exists.
    pub fn maximised_tile(&self) -> Option<TileId> {
        self.maximised.filter(|tile| self.pane(*tile).is_some())
    }

    /// Returns the focused panel: the one last clicked if it is visible, otherwise the first. `None` without panels.
    pub fn focused_tile(&self) -> Option<TileId> {
        let visible = self.visible();
        self.focus.filter(|tile| visible.contains(tile)).or_else(|| self.by_position(visible).first().copied())
    }

    /// Sorts panels by position: left to right, then top to bottom.
    pub fn by_position(&self, mut tiles: Vec<TileId>) -> Vec<TileId> {
        let place = |tile: &TileId| {
            self.now.tree.tiles.rect(*tile).map_or((0, 0), |rect| (rect.left() as i32, rect.top() as i32))
        };
        tiles.sort_by_key(|tile| (place(tile), tile.0));
        tiles
    }

    /// Adds a panel to the tab group with the fewest tabs, where it is visible.
    pub fn add(&mut self, pane: Pane, fresh: impl FnOnce(Pane) -> Tree<Pane>) {
        let tree = &mut self.now.tree;
        let tile = tree.tiles.insert_pane(pane.clone());
        match tree.root() {
            Some(root) => tree.move_tile_to_container(tile, first_tabs(tree, root), usize::MAX, false),
            None => *tree = fresh(pane.clone()),
        }
        self.edited = true;
        self.bring_up(&pane);
    }

    /// Brings a panel to the front. Returns `false` if it does not exist.
    pub fn bring_up(&mut self, pane: &str) -> bool {
        self.maximised = None;
        self.focus = self.now.tree.tiles.find_pane(&pane.to_owned());
        self.now.tree.make_active(|_, tile| matches!(tile, Tile::Pane(p) if p == pane))
    }

    /// Returns the first panel with a view; `None` if there is none.
    pub fn panel_of(&self, view: &str) -> Option<Pane> {
        self.panes().filter(|p| view_of(p) == view).min().cloned()
    }

    /// Closes a panel.
    pub fn close(&mut self, tile: TileId) {
        self.maximised = None;
        self.now.tree.remove_recursively(tile);
        self.edited = true;
    }

    /// Replaces the layout, as one undo step.
    pub fn replace(&mut self, tree: Tree<Pane>) {
        self.maximised = None;
        self.now.tree = tree;
        self.edited = true;
        self.commit();
    }

    /// Marks the layout as changed by the user.
    pub fn mark_edited(&mut self) {
        self.edited = true;
    }

    /// Makes an undo step from a layout change of the user, but not from a switch of tabs. Called once per frame while no button
    /// is down.
    pub fn commit(&mut self) {
        if !std::mem::take(&mut self.edited) {
            if self.settled != self.now.tree {
                self.settled = self.now.tree.clone();
            }
            return;
        }
        if self.settled != self.now.tree {
            self.past.push(std::mem::replace(&mut self.settled, self.now.tree.clone()));
            let excess = self.past.len().saturating_sub(MAX_STEPS);
            self.past.drain(..excess);
            self.future.clear();
        }
    }

    /// Undoes (`back`) or redoes a layout change. Returns `false` if there is none.
    pub fn travel(&mut self, back: bool) -> bool {
        self.commit();
        let (from, to) = if back { (&mut self.past, &mut self.future) } else { (&mut self.future, &mut self.past) };
        let Some(tree) = from.pop() else { return false };
        to.push(std::mem::replace(&mut self.now.tree, tree));
        self.settled = self.now.tree.clone();
        self.maximised = None;
        true
    }

    /// Returns the numbers of layout changes that can be undone and redone.
    pub fn steps(&self) -> (usize, usize) {
        (self.past.len(), self.future.len())
    }
}

/// Returns the tab group with the fewest tabs, or the root if there is none.
fn first_tabs(tree: &Tree<Pane>, root: TileId) -> TileId {
    let tabs = tree.tiles.iter().filter_map(|(id, tile)| match tile {
        Tile::Container(Container::Tabs(tabs)) => Some((tabs.children.len(), *id)),
        _ => None,
    });
    tabs.min_by_key(|(n, id)| (*n, id.0)).map_or(root, |(_, id)| id)
}
