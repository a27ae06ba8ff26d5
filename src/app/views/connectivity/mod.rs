//! Connectivity: a matrix between categories, a graph of the selection's partners, and a list of its connections. All are
//! computed on the pool from the simulation's connections.

mod blocks;
pub(super) mod ego;
mod graph;
mod list;
mod matrix;

pub use graph::element_name;

use super::{MenuEntry, View, ViewCtx, ViewDeclaration, placeholder, unfit_ui};
use crate::{
    app::{
        document::{color_scales::ColorScales, layout::Page},
        kit::{self, icons, pool::PooledResult},
    },
    engine::SimSchema,
    sim::{Connectivity, ElementSet},
};
use blocks::{BlockQuery, Blocks};
use ego::Ego;
use egui::{Rect, Ui};
use std::sync::Arc;

/// Maximum number of selected elements for graph and list.
const MAX_SELECTED: usize = 5_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Matrix of connections between categories.
    #[default]
    Matrix,
    /// Graph of the selection between its inputs and its outputs.
    Graph,
    /// List of the selection's connections.
    List,
}

/// The connectivity view.
#[derive(Default)]
pub struct ConnectivityView {
    set: Option<Arc<ElementSet>>,
    set_generation: u64,
    mode: Mode,
    matrix: matrix::Matrix,
    blocks: PooledResult<(u64, BlockQuery), Blocks>,
    ego: PooledResult<(u64, Arc<Vec<u32>>), Ego>,
    graph: graph::Graph,
    list: list::List,
}

/// Returns the set and its connections; draws the empty state and returns `None` if there are none.
pub(super) fn wired_ui(ui: &mut Ui, ctx: &ViewCtx<'_>) -> Option<(Arc<ElementSet>, Connectivity)> {
    let found = wired(ctx.schema).map(|(set, wiring)| (set.clone(), wiring.clone()));
    if found.is_none() {
        unfit_ui(ui, ctx, ["No connections", "This simulation publishes no connections"]);
    }
    found
}

/// Returns the connected set and its connections; `None` if the simulation has none.
fn wired(schema: &SimSchema) -> Option<(&Arc<ElementSet>, &Connectivity)> {
    let wiring = schema.connectivity.as_ref()?;
    Some((schema.set(wiring.over)?, wiring))
}

impl ConnectivityView {
    fn update_set(&mut self, schema: &SimSchema) {
        let set = wired(schema).map(|(set, _)| set);
        let is_same = match (&self.set, set) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        if !is_same {
            self.set = set.cloned();
            self.set_generation += 1;
            self.blocks.clear();
            self.ego.clear();
            self.matrix.reset(set.map(|s| &**s));
        }
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &Arc<ElementSet>) {
        for (mode, word, hint) in [
            (Mode::Matrix, "Matrix", "All connections between categories"),
            (Mode::Graph, "Partners", "The selection between its inputs and its outputs"),
            (Mode::List, "Synapses", "The connections of the selection"),
        ] {
            ui.selectable_value(&mut self.mode, mode, word).on_hover_text(hint);
        }
        ui.separator();
        match self.mode {
            Mode::Matrix => self.matrix.toolbar_ui(ui, ctx, set),
            Mode::Graph => self.graph.toolbar_ui(ui, ctx),
            Mode::List => self.list.toolbar_ui(ui),
        }
        match self.mode {
            Mode::Matrix => placeholder::job_status_ui(ui, ctx.tokens, &mut self.blocks),
            Mode::Graph | Mode::List => placeholder::job_status_ui(ui, ctx.tokens, &mut self.ego),
        }
    }

    fn ask(&mut self, ui: &Ui, ctx: &ViewCtx<'_>, set: &Arc<ElementSet>, wiring: &Connectivity) {
        let links = wiring.connections.clone();
        if self.mode == Mode::Matrix {
            let (question, set) = (self.matrix.question(), set.clone());
            let key = (self.set_generation, question.clone());
            self.blocks.want(ui.ctx(), key, move |progress| blocks::sum_blocks(&set, &*links, &question, progress));
        } else {
            let of = ctx.selection.of(set.name);
            if !of.is_empty() && of.len() <= MAX_SELECTED {
                let of = ctx.selection.elements.clone();
                let key = (self.set_generation, of.clone());
                self.ego.want(ui.ctx(), key, move |progress| ego::read_ego(&*links, &of, progress));
            }
        }
    }

    /// Returns the ego network of the selected elements; `None` until it is read.
    fn ego_of(&self, selected: &[u32]) -> Option<&Ego> {
        let (generation, of) = self.ego.key()?;
        let is_current = *generation == self.set_generation && of.as_slice() == selected && !selected.is_empty();
        self.ego.get().map(|ego| &**ego).filter(|_| is_current)
    }

    fn caption(&self, wiring: &Connectivity, set: &ElementSet, selected: &[u32]) -> String {
        let all = kit::counted(wiring.connections.n_connections(), "connections");
        let all = format!("{all} of {}", kit::counted(set.len.into(), &set.noun()));
        match (self.mode, self.blocks.get(), self.ego_of(selected)) {
            (Mode::Matrix, Some(blocks), _) => {
                format!("{all}  |  {}", self.matrix.caption(blocks))
            }
            (Mode::Graph, _, Some(ego)) => graph::caption(ego),
            (Mode::List, _, Some(ego)) => list::caption(ego, wiring),
            _ => all,
        }
    }

    /// Draws the reason why there is no graph or list. Returns whether there is none.
    fn missing_ui(ui: &mut Ui, canvas: Rect, ctx: &ViewCtx<'_>, (set, n): (&ElementSet, usize)) -> bool {
        if n == 0 {
            let how = format!("Select {} in any view to show their inputs and outputs", set.noun());
            kit::empty_ui(ui, canvas, ctx, "Nothing is selected", &how, None);
        } else if n > MAX_SELECTED {
            let how = format!(
                "{} selected; the limit is {}. The matrix includes all.",
                kit::thousands(n as u64),
                kit::thousands(MAX_SELECTED as u64)
            );
            kit::empty_ui(ui, canvas, ctx, "Selection too large", &how, None);
        }
        n == 0 || n > MAX_SELECTED
    }
}

impl ConnectivityView {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "connectivity",
        title: "Connectivity",
        icon: icons::GRID,
        help: "# Connectivity\n\n**Matrix**: all connections summed between categories, from rows to columns. *Σ |w|* counts \
         synapses, *Σ w* counts inhibitory ones as negative, *n* counts connections, *mean* is Σ |w| / n. A click selects \
         the elements connected in the cell, **Ctrl** adds them; a double-click drills down to the next finer \
         category, the path at the top goes back. Where an axis has more categories than are drawn, the weakest are \
         merged: *rest*.\n\n\
         **Partners**: the selection in the middle, the strongest inputs at the left and outputs at the right; width is \
         the square root of Σ |w|, colour the sign of Σ w. A click selects the partner.\n\n\
         **Synapses**: every connection of the selection. A click on an end selects it.\n\n\
         **Path** in the context menu: a shortest chain of connections from one element to another, in this order.",
        pages: &[Page::Explore],
        fits: |schema| schema.connectivity.is_some(),
        menu: Some(MenuEntry::show_in(3, "Connectivity")),
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for ConnectivityView {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn reset(&mut self, schema: &SimSchema) {
        self.update_set(schema);
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        self.update_set(ctx.schema);
        let Some((set, wiring)) = wired_ui(ui, ctx) else { return };
        self.matrix.take_ends(ctx, &set);
        self.ask(ui, ctx, &set, &wiring);
        if let Some((_, question)) = self.blocks.key() {
            self.matrix.drawn = question.clone();
        }
        let caption = self.caption(&wiring, &set, ctx.selection.of(set.name));
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx, &set));
        if !kit::fill_ui(ui, canvas, ctx.tokens) {
            return;
        }
        let (blocks, ego) = (self.blocks.get().cloned(), self.ego.get().cloned());
        let is_missing =
            self.mode != Mode::Matrix && Self::missing_ui(ui, canvas, ctx, (&set, ctx.selection.of(set.name).len()));
        match (self.mode, blocks, ego) {
            (Mode::Matrix, Some(blocks), _) => self.matrix.ui(ui, canvas, ctx, &set, &wiring, &blocks),
            (Mode::Graph, _, Some(ego)) if !is_missing => self.graph.ui(ui, canvas, ctx, &set, &wiring, &ego),
            (Mode::List, _, Some(ego)) if !is_missing => self.list.ui(ui, canvas, ctx, &set, &wiring, &ego),
            _ if is_missing => {}
            (Mode::Matrix, ..) => {
                placeholder::job_ui(ui, canvas, ctx, "Summing connections", &mut self.blocks);
            }
            _ => placeholder::job_ui(ui, canvas, ctx, "Reading connections", &mut self.ego),
        }
    }

    fn toggle_range(&mut self, _: &SimSchema, color_scales: &mut ColorScales) -> Option<bool> {
        if self.mode == Mode::Matrix { self.matrix.toggle_range(color_scales) } else { None }
    }
}
