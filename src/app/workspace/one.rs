//! One workspace: a tree of panels, which of them has the keyboard, and what was done to the arrangement.

use super::{Page, Pane, view_of};
use egui_tiles::{Container, Tile, TileId, Tree};

/// Layout steps kept.
const MAX_STEPS: usize = 50;

/// A workspace as it is written to a file.
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Arrangement {
    /// On the tab.
    pub title: String,
    /// What it is for.
    pub page: Page,
    /// Its panels.
    pub tree: Tree<Pane>,
}

/// A workspace.
pub struct Workspace {
    /// What is saved of it.
    pub now: Arrangement,
    /// The panel that fills the centre.
    pub maximised: Option<TileId>,
    /// The panel that keys are for.
    pub focus: Option<TileId>,
    past: Vec<Tree<Pane>>,
    future: Vec<Tree<Pane>>,
    settled: Tree<Pane>,
    /// The arrangement was changed by hand since the last step was cut.
    edited: bool,
}

impl Workspace {
    /// A workspace as it was saved or suggested.
    pub fn new(now: Arrangement) -> Self {
        let settled = now.tree.clone();
        Self { now, maximised: None, focus: None, past: vec![], future: vec![], settled, edited: false }
    }

    /// Names of its panels.
    pub fn panes(&self) -> impl Iterator<Item = &Pane> {
        self.now.tree.tiles.tiles().filter_map(|t| if let Tile::Pane(p) = t { Some(p) } else { None })
    }

    /// The panels on screen.
    pub fn visible(&self) -> Vec<TileId> {
        match self.maximised_tile() {
            Some(tile) => vec![tile],
            None => self.now.tree.active_tiles().into_iter().filter(|t| self.pane(*t).is_some()).collect(),
        }
    }

    /// The name of a panel.
    pub fn pane(&self, tile: TileId) -> Option<&Pane> {
        self.now.tree.tiles.get_pane(&tile)
    }

    /// The panel that fills the centre, if it is still there.
    pub fn maximised_tile(&self) -> Option<TileId> {
        self.maximised.filter(|tile| self.pane(*tile).is_some())
    }

    /// The panel that keys are for: the one last clicked, else the first.
    pub fn focused_tile(&self) -> Option<TileId> {
        let visible = self.visible();
        self.focus.filter(|tile| visible.contains(tile)).or_else(|| self.by_place(visible).first().copied())
    }

    /// From left to right and from top to bottom, as they are on screen.
    pub fn by_place(&self, mut tiles: Vec<TileId>) -> Vec<TileId> {
        let place = |tile: &TileId| {
            self.now.tree.tiles.rect(*tile).map_or((0, 0), |rect| (rect.left() as i32, rect.top() as i32))
        };
        tiles.sort_by_key(|tile| (place(tile), tile.0));
        tiles
    }

    /// Adds a panel to the tabs with the fewest, so that it is seen.
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

    /// Brings a panel to the front. Says whether it is there.
    pub fn bring_up(&mut self, pane: &str) -> bool {
        self.maximised = None;
        self.focus = self.now.tree.tiles.find_pane(&pane.to_owned());
        self.now.tree.make_active(|_, tile| matches!(tile, Tile::Pane(p) if p == pane))
    }

    /// The first panel with a view.
    pub fn panel_of(&self, view: &str) -> Option<Pane> {
        self.panes().filter(|p| view_of(p) == view).min().cloned()
    }

    /// Closes a panel.
    pub fn close(&mut self, tile: TileId) {
        self.maximised = None;
        self.now.tree.remove_recursively(tile);
        self.edited = true;
    }

    /// Another arrangement in place of this one; a step of its own.
    pub fn replace(&mut self, tree: Tree<Pane>) {
        self.maximised = None;
        self.now.tree = tree;
        self.edited = true;
        self.cut();
    }

    /// The arrangement was changed by hand.
    pub fn touch(&mut self) {
        self.edited = true;
    }

    /// Once a frame in which no button is down: a change by hand becomes a step. A tab that was chosen is none.
    pub fn cut(&mut self) {
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

    /// One layout step back or forward. Says whether there was one.
    pub fn travel(&mut self, back: bool) -> bool {
        self.cut();
        let (from, to) = if back { (&mut self.past, &mut self.future) } else { (&mut self.future, &mut self.past) };
        let Some(tree) = from.pop() else { return false };
        to.push(std::mem::replace(&mut self.now.tree, tree));
        self.settled = self.now.tree.clone();
        self.maximised = None;
        true
    }

    /// How many layout steps can be undone and redone.
    pub fn steps(&self) -> (usize, usize) {
        (self.past.len(), self.future.len())
    }
}

/// The tabs a new view is added to: those with the fewest, so that it is seen.
fn first_tabs(tree: &Tree<Pane>, root: TileId) -> TileId {
    let tabs = tree.tiles.iter().filter_map(|(id, tile)| match tile {
        Tile::Container(Container::Tabs(tabs)) => Some((tabs.children.len(), *id)),
        _ => None,
    });
    tabs.min_by_key(|(n, id)| (*n, id.0)).map_or(root, |(_, id)| id)
}
