//! Default layouts of the pages of the window.

use super::{Pane, tree_id};
use crate::{
    app::{document::layout::Page, views},
    engine::SimSchema,
};
use egui_tiles::{Container, Tile, TileId, Tiles, Tree};

/// Minimum number of tabs in the group below the first panel, if there are enough views.
const TABS: usize = 4;

/// Fraction of the page's height that the table of runs takes.
const RUNS: f32 = 0.4;

/// Fraction of the page's width that the editor of an experiment takes.
const EDITOR: f32 = 0.33;

/// Returns the default layout of a page. The profile page has three rows: steps; timeline and kernels; summaries. The Runs page
/// has the table above the plots, and the Experiment page the editor beside such a column. On other pages the first view is large at the left, with most of the others as tabs below it;
/// the second and the third are at the right. If there are many views, half of the others are tabs next to the third.
pub fn suggested(page: Page, schema: &SimSchema) -> Tree<Pane> {
    let id = tree_id(page.title());
    let names = views::suggest_for(page, schema);
    let mut tiles = Tiles::default();
    let panes: Vec<TileId> = names.iter().map(|n| tiles.insert_pane((*n).to_owned())).collect();
    if let ([first, second, third, rest @ ..], Page::Profile) = (panes.as_slice(), page) {
        let root = rows(&mut tiles, &[&[*first], &[*second, *third], rest], &[0.24, 0.42, 0.34]);
        return Tree::new(id, root, tiles);
    }
    if let ([editor, table, plots @ ..], Page::Experiment) = (panes.as_slice(), page) {
        return Tree::new(id, beside_editor(&mut tiles, *editor, *table, plots), tiles);
    }
    let tabs: Vec<TileId> = match panes.as_slice() {
        [] => return Tree::empty(id),
        [only] => return Tree::new(id, tiles.insert_tab_tile(vec![*only]), tiles),
        [table, plots @ ..] if page == Page::Runs => {
            let (table, plots) = (tiles.insert_tab_tile(vec![*table]), tiles.insert_tab_tile(plots.to_vec()));
            let root = column(&mut tiles, table, plots, RUNS);
            return Tree::new(id, root, tiles);
        }
        [a, b] => vec![tiles.insert_tab_tile(vec![*a]), tiles.insert_tab_tile(vec![*b])],
        [a, b, c, rest @ ..] => {
            let (below, behind) = rest.split_at(rest.len().min(TABS.max(rest.len().div_ceil(2))));
            let [a, b] = [*a, *b].map(|pane| tiles.insert_tab_tile(vec![pane]));
            let c = tiles.insert_tab_tile([&[*c], behind].concat());
            let left = if below.is_empty() {
                a
            } else {
                let below = tiles.insert_tab_tile(below.to_vec());
                column(&mut tiles, a, below, 0.58)
            };
            vec![left, column(&mut tiles, b, c, 0.68)]
        }
    };
    let root = tiles.insert_horizontal_tile(tabs);
    Tree::new(id, root, tiles)
}

/// Arranges the editor of an experiment at the left, and the table of its effects above their plots at the right.
fn beside_editor(tiles: &mut Tiles<Pane>, editor: TileId, table: TileId, plots: &[TileId]) -> TileId {
    let [editor, table] = [editor, table].map(|pane| tiles.insert_tab_tile(vec![pane]));
    let plots = tiles.insert_tab_tile(plots.to_vec());
    let results = column(tiles, table, plots, RUNS);
    let root = tiles.insert_horizontal_tile(vec![editor, results]);
    if let Some(Tile::Container(Container::Linear(linear))) = tiles.get_mut(root) {
        linear.shares.set_share(editor, EDITOR);
        linear.shares.set_share(results, 1.0 - EDITOR);
    }
    root
}

/// Arranges panels in rows of these fractions of the height.
fn rows(tiles: &mut Tiles<Pane>, panes: &[&[TileId]], shares: &[f32]) -> TileId {
    let mut row = |panes: &&[TileId]| {
        let tabs = panes.iter().map(|pane| tiles.insert_tab_tile(vec![*pane])).collect();
        tiles.insert_horizontal_tile(tabs)
    };
    let rows: Vec<TileId> = panes.iter().filter(|panes| !panes.is_empty()).map(&mut row).collect();
    let root = tiles.insert_vertical_tile(rows.clone());
    if let Some(Tile::Container(Container::Linear(linear))) = tiles.get_mut(root) {
        rows.iter().zip(shares).for_each(|(row, share)| linear.shares.set_share(*row, *share));
    }
    root
}

fn column(tiles: &mut Tiles<Pane>, top: TileId, bottom: TileId, share: f32) -> TileId {
    let id = tiles.insert_vertical_tile(vec![top, bottom]);
    if let Some(Tile::Container(Container::Linear(linear))) = tiles.get_mut(id) {
        linear.shares.set_share(top, share);
        linear.shares.set_share(bottom, 1.0 - share);
    }
    id
}
