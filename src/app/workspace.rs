//! The centre: views in tiles. A layout is a tree of view names; it is suggested from the shapes of what the
//! simulation can show, rearranged by dragging, and saved with the project.

use super::{
    App, icons,
    views::{self, View, ViewCtx, ViewRequest},
    widgets,
};
use crate::{
    engine::Exhibit,
    project,
    sim::{Frame, Tap},
};
use egui::{Color32, Id, Popup, RichText, Stroke, Ui, WidgetText};
use egui_tiles::{Behavior, Container, SimplificationOptions, TabState, Tile, TileId, Tiles, Tree, UiResponse};
use std::collections::BTreeMap;

/// Height of a panel header, points.
const HEADER: f32 = 26.0;

/// Which view a tile shows. A view appears at most once.
type Pane = String;

/// The views and where they are.
pub struct Workspace {
    tree: Tree<Pane>,
    views: BTreeMap<Pane, Box<dyn View>>,
    /// One of each view, for names and titles.
    samples: Vec<Box<dyn View>>,
    maximised: Option<TileId>,
    epoch: u64,
}

/// How a view is called, by name.
pub fn view_title(app: &App, name: &str) -> String {
    let sample = app.workspace.samples.iter().find(|v| v.name() == name);
    sample.map_or_else(|| name.to_owned(), |v| v.title(&app.session.live.exhibit))
}

/// Names of all views.
pub fn view_names(app: &App) -> impl Iterator<Item = &'static str> {
    app.workspace.samples.iter().map(|v| v.name())
}

impl Default for Workspace {
    fn default() -> Self {
        Self { tree: Tree::empty(tree_id()), views: BTreeMap::new(), samples: views::all(), maximised: None, epoch: 0 }
    }
}

fn tree_id() -> Id {
    Id::unique("workspace")
}

impl Workspace {
    /// A new simulation: the saved layout if there is one and it can be read, else one that fits.
    pub fn open(&mut self, saved: Option<&str>, exhibit: &Exhibit) {
        let known =
            |tree: &Tree<Pane>| tree.tiles.tiles().any(|t| matches!(t, Tile::Pane(p) if views::by_name(p).is_some()));
        let saved = saved.and_then(|text| project::from_ron::<Tree<Pane>>(text).ok()).filter(known);
        match saved {
            Some(tree) => self.tree = tree,
            None if self.tree.is_empty() => self.tree = suggested(exhibit),
            None => {}
        }
        self.fetch_views();
        self.reset(exhibit);
    }

    /// Back to the layout that fits.
    pub fn reset_layout(&mut self, exhibit: &Exhibit) {
        self.tree = suggested(exhibit);
        self.maximised = None;
        self.fetch_views();
    }

    /// Forgets the layout of a document that was closed.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    fn fetch_views(&mut self) {
        let names: Vec<Pane> = self
            .tree
            .tiles
            .tiles()
            .filter_map(|t| if let Tile::Pane(p) = t { Some(p.clone()) } else { None })
            .collect();
        for name in names {
            if !self.views.contains_key(&name)
                && let Some(view) = views::by_name(&name)
            {
                self.views.insert(name, view);
            }
        }
    }

    fn reset(&mut self, exhibit: &Exhibit) {
        for view in self.views.values_mut() {
            view.reset(exhibit);
        }
    }

    /// Hands new data to all views. A new epoch starts them over.
    pub fn absorb(&mut self, exhibit: &Exhibit, frame: &Frame) {
        if frame.epoch != self.epoch {
            self.epoch = frame.epoch;
            self.reset(exhibit);
        }
        for view in self.views.values_mut() {
            view.absorb(exhibit, frame);
        }
    }

    /// What the visible views need. A hidden view costs nothing anywhere.
    pub fn taps(&self, exhibit: &Exhibit, selection: &views::Selection) -> Vec<Tap> {
        let visible = match self.maximised {
            Some(tile) => vec![tile],
            None => self.tree.active_tiles(),
        };
        let mut union: Vec<Tap> = Vec::new();
        for tap in visible.iter().filter_map(|id| self.view(*id)).flat_map(|v| v.taps(exhibit, selection)) {
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

    fn view(&self, tile: TileId) -> Option<&dyn View> {
        self.tree.tiles.get_pane(&tile).and_then(|p| self.views.get(p)).map(|v| &**v)
    }

    /// Brings a view to the front, adding it when it is not there.
    pub fn show_view(&mut self, name: &str, exhibit: &Exhibit) {
        self.maximised = None;
        let wanted = name.to_owned();
        if self.tree.tiles.find_pane(&wanted).is_none() {
            let pane = self.tree.tiles.insert_pane(wanted.clone());
            match self.tree.root() {
                Some(root) => self.tree.move_tile_to_container(pane, first_tabs(&self.tree, root), usize::MAX, false),
                None => self.tree = Tree::new_tabs(tree_id(), vec![wanted.clone()]),
            }
            self.fetch_views();
            if let Some(view) = self.views.get_mut(&wanted) {
                view.reset(exhibit);
            }
        }
        self.tree.make_active(|_, tile| matches!(tile, Tile::Pane(p) if *p == wanted));
    }

    /// The layout as it is saved.
    pub fn to_text(&self) -> Option<String> {
        if self.tree.is_empty() { None } else { project::to_ron(&self.tree).ok() }
    }

    /// Draws the tiles.
    pub fn ui(&mut self, ui: &mut Ui, ctx: ViewCtx<'_>) {
        let mut closed = None;
        let mut maximise = None;
        let mut shell = Shell {
            views: &mut self.views,
            ctx,
            closed: &mut closed,
            maximise: &mut maximise,
            maximised: self.maximised,
        };
        match self.maximised.filter(|id| self.tree.tiles.get_pane(id).is_some()) {
            Some(tile) => maximised_ui(ui, &self.tree, &mut shell, tile),
            None => self.tree.ui(&mut shell, ui),
        }
        if let Some(tile) = maximise {
            self.maximised = if self.maximised.is_some() { None } else { Some(tile) };
        }
        if let Some(tile) = closed {
            self.maximised = None;
            self.tree.remove_recursively(tile);
        }
    }
}

/// A maximised view fills the centre under the same header.
fn maximised_ui(ui: &mut Ui, tree: &Tree<Pane>, shell: &mut Shell<'_>, tile: TileId) {
    let Some(pane) = tree.tiles.get_pane(&tile) else { return };
    let (bar, _) = ui.allocate_exact_size(egui::vec2(ui.available_width(), HEADER), egui::Sense::hover());
    let title = shell.title(pane);
    ui.scope_builder(egui::UiBuilder::new().max_rect(bar.shrink2(egui::vec2(8.0, 0.0))), |ui| {
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            shell.buttons_ui(ui, tile, pane);
            ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| ui.heading(title));
        });
    });
    widgets::hairline_below(ui, bar);
    shell.view_ui(ui, pane);
}

/// The tabs a new view is added to: those with the fewest, so that it is seen.
fn first_tabs(tree: &Tree<Pane>, root: TileId) -> TileId {
    let tabs = tree.tiles.iter().filter_map(|(id, tile)| match tile {
        Tile::Container(Container::Tabs(tabs)) => Some((tabs.children.len(), *id)),
        _ => None,
    });
    tabs.min_by_key(|(n, id)| (*n, id.0)).map_or(root, |(_, id)| id)
}

/// The layout that fits: the first view large at the left with the rest as tabs below it, the second and third at the
/// right.
fn suggested(exhibit: &Exhibit) -> Tree<Pane> {
    let names = views::suggest(exhibit);
    let mut tiles = Tiles::default();
    let panes: Vec<TileId> = names.iter().map(|n| tiles.insert_pane((*n).to_owned())).collect();
    let tabs: Vec<TileId> = match panes.as_slice() {
        [] => return Tree::empty(tree_id()),
        [only] => return Tree::new(tree_id(), tiles.insert_tab_tile(vec![*only]), tiles),
        [a, b] => vec![tiles.insert_tab_tile(vec![*a]), tiles.insert_tab_tile(vec![*b])],
        [a, b, c, rest @ ..] => {
            let (a, b, c) =
                (tiles.insert_tab_tile(vec![*a]), tiles.insert_tab_tile(vec![*b]), tiles.insert_tab_tile(vec![*c]));
            let left = if rest.is_empty() {
                a
            } else {
                let below = tiles.insert_tab_tile(rest.to_vec());
                column(&mut tiles, a, below, 0.58)
            };
            vec![left, column(&mut tiles, b, c, 0.68)]
        }
    };
    let root = tiles.insert_horizontal_tile(tabs);
    Tree::new(tree_id(), root, tiles)
}

fn column(tiles: &mut Tiles<Pane>, top: TileId, bottom: TileId, share: f32) -> TileId {
    let id = tiles.insert_vertical_tile(vec![top, bottom]);
    if let Some(Tile::Container(Container::Linear(linear))) = tiles.get_mut(id) {
        linear.shares.set_share(top, share);
        linear.shares.set_share(bottom, 1.0 - share);
    }
    id
}

/// What the tiles are drawn with.
struct Shell<'a> {
    views: &'a mut BTreeMap<Pane, Box<dyn View>>,
    ctx: ViewCtx<'a>,
    closed: &'a mut Option<TileId>,
    maximise: &'a mut Option<TileId>,
    maximised: Option<TileId>,
}

impl Shell<'_> {
    fn title(&self, pane: &Pane) -> String {
        self.views.get(pane).map_or_else(|| pane.clone(), |v| v.title(self.ctx.exhibit))
    }

    fn view_ui(&mut self, ui: &mut Ui, pane: &Pane) {
        match self.views.get_mut(pane) {
            Some(view) => view.ui(ui, &mut self.ctx),
            None => widgets::empty_state(
                ui,
                icons::GRID,
                &format!("There is no view `{pane}`"),
                "The layout is from another version: close this panel",
            ),
        }
    }

    /// Help, maximise, close; from the right.
    fn buttons_ui(&mut self, ui: &mut Ui, tile: TileId, pane: &Pane) {
        let title = self.title(pane);
        ui.spacing_mut().item_spacing.x = 0.0;
        if widgets::icon_button(ui, icons::CLOSE, &format!("Close {title}")).clicked() {
            *self.closed = Some(tile);
        }
        let (glyph, verb) = match self.maximised {
            Some(_) => (icons::RESTORE, "Restore"),
            None => (icons::MAXIMISE, "Maximise"),
        };
        if widgets::icon_button(ui, glyph, &format!("{verb} {title}")).clicked() {
            *self.maximise = Some(tile);
        }
        let help = widgets::icon_button(ui, icons::HELP, &format!("Help on {title}"));
        if let Some(view) = self.views.get(pane) {
            Popup::menu(&help).show(|ui| {
                ui.set_width(340.0);
                super::help::markdown_ui(ui, view.help());
            });
        }
    }
}

impl Behavior<Pane> for Shell<'_> {
    fn pane_ui(&mut self, ui: &mut Ui, _tile: TileId, pane: &mut Pane) -> UiResponse {
        self.view_ui(ui, pane);
        UiResponse::None
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> WidgetText {
        RichText::new(self.title(pane)).family(widgets::semibold()).into()
    }

    fn top_bar_right_ui(
        &mut self,
        tiles: &Tiles<Pane>,
        ui: &mut Ui,
        _tile: TileId,
        tabs: &egui_tiles::Tabs,
        _scroll: &mut f32,
    ) {
        let Some((tile, pane)) = tabs.active.and_then(|id| Some((id, tiles.get_pane(&id)?.clone()))) else { return };
        ui.add_space(4.0);
        self.buttons_ui(ui, tile, &pane);
    }

    fn tab_bar_height(&self, _: &egui::Style) -> f32 {
        HEADER
    }

    fn tab_bar_color(&self, _: &egui::Visuals) -> Color32 {
        self.ctx.tokens.panel
    }

    fn tab_bg_color(&self, _: &egui::Visuals, _: &Tiles<Pane>, _: TileId, _: &TabState) -> Color32 {
        Color32::TRANSPARENT
    }

    fn tab_outline_stroke(&self, _: &egui::Visuals, _: &Tiles<Pane>, _: TileId, _: &TabState) -> Stroke {
        Stroke::NONE
    }

    fn tab_bar_hline_stroke(&self, _: &egui::Visuals) -> Stroke {
        Stroke::new(1.0, self.ctx.tokens.line)
    }

    fn tab_text_color(&self, _: &egui::Visuals, tiles: &Tiles<Pane>, tile: TileId, state: &TabState) -> Color32 {
        let alone = tiles.parent_of(tile).and_then(|p| tiles.get_container(p)).is_some_and(|c| c.num_children() == 1);
        if state.active && !alone {
            self.ctx.tokens.text_strong
        } else if alone {
            self.ctx.tokens.text
        } else {
            self.ctx.tokens.text_sub
        }
    }

    fn tab_title_spacing(&self, _: &egui::Visuals) -> f32 {
        10.0
    }

    fn gap_width(&self, _: &egui::Style) -> f32 {
        1.0
    }

    fn resize_stroke(&self, _: &egui::Style, state: egui_tiles::ResizeState) -> Stroke {
        match state {
            egui_tiles::ResizeState::Idle => Stroke::new(1.0, self.ctx.tokens.line),
            _ => Stroke::new(2.0, self.ctx.tokens.accent),
        }
    }

    fn min_size(&self) -> f32 {
        80.0
    }

    fn simplification_options(&self) -> SimplificationOptions {
        SimplificationOptions { all_panes_must_have_tabs: true, ..SimplificationOptions::default() }
    }
}

/// Turns what views asked for into commands and messages.
pub fn commands_of(requests: Vec<ViewRequest>) -> (Vec<super::commands::UiCommand>, Vec<String>) {
    use super::commands::UiCommand;
    let (mut commands, mut messages) = (vec![], vec![]);
    for request in requests {
        match request {
            ViewRequest::Command(command) => commands.push(command),
            ViewRequest::Stimulate => commands.push(UiCommand::Stimulate),
            ViewRequest::Silence => commands.push(UiCommand::Silence),
            ViewRequest::Toast(text) => messages.push(text),
        }
    }
    (commands, messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_survives_the_file() {
        let mut w = Workspace::default();
        w.reset_layout(&Exhibit::default());
        let text = w.to_text().unwrap();
        let tree: Tree<Pane> = project::from_ron(&text).unwrap();
        assert_eq!(tree.tiles.len(), w.tree.tiles.len());
        let mut again = Workspace::default();
        again.open(Some("not a layout"), &Exhibit::default());
        assert!(!again.tree.is_empty());
    }
}
