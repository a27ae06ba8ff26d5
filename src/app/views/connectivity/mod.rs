//! Who is connected to whom: all categories at once as a matrix, the surroundings of the selection as a graph, its
//! connections as a list. All of it is added up on the pool from the simulation's own connections.

mod blocks;
pub(super) mod ego;
mod graph;
mod list;
mod matrix;

pub use graph::called;

use super::{Selection, View, ViewCtx, kit, pool::Pooled, states, tints::Tints};
use crate::{
    engine::SimSchema,
    sim::{Connectivity, ElementSet, Frame, Tap},
};
use blocks::{Blocks, Question};
use ego::Ego;
use egui::{Rect, Ui};
use std::sync::Arc;

/// Elements whose surroundings are looked at, at most.
const MOST_SELECTED: usize = 5_000;

/// What is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Categories by categories.
    #[default]
    Matrix,
    /// The selection between its inputs and its outputs.
    Graph,
    /// The connections of the selection.
    List,
}

/// The connectivity view.
#[derive(Default)]
pub struct ConnectivityView {
    set: Option<Arc<ElementSet>>,
    set_generation: u64,
    mode: Mode,
    matrix: matrix::Matrix,
    blocks: Pooled<(u64, Question), Blocks>,
    ego: Pooled<(u64, Arc<Vec<u32>>), Ego>,
    graph: graph::Graph,
    list: list::List,
}

/// What there is to look at; where there is nothing, the panel says so.
pub(super) fn wired_ui(ui: &mut Ui, ctx: &ViewCtx<'_>) -> Option<(Arc<ElementSet>, Connectivity)> {
    let found = wired(ctx.schema).map(|(set, wiring)| (set.clone(), wiring.clone()));
    if found.is_none() {
        let (canvas, how) = (ui.available_rect_before_wrap(), "This simulation publishes no connections");
        kit::empty_ui(ui, canvas, ctx, "Nothing is connected", how, None);
    }
    found
}

/// The set that is wired, and its connections.
fn wired(schema: &SimSchema) -> Option<(&Arc<ElementSet>, &Connectivity)> {
    let wiring = schema.connectivity.as_ref()?;
    Some((schema.set(wiring.over)?, wiring))
}

impl ConnectivityView {
    fn settle(&mut self, schema: &SimSchema) {
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
            self.matrix.start_over(set.map(|s| &**s));
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
            Mode::Matrix => states::work_ui(ui, ctx.tokens, &mut self.blocks),
            Mode::Graph | Mode::List => states::work_ui(ui, ctx.tokens, &mut self.ego),
        }
    }

    fn ask(&mut self, ui: &Ui, ctx: &ViewCtx<'_>, set: &Arc<ElementSet>, wiring: &Connectivity) {
        let links = wiring.connections.clone();
        if self.mode == Mode::Matrix {
            let (question, set) = (self.matrix.question(), set.clone());
            let key = (self.set_generation, question.clone());
            self.blocks.want(ui.ctx(), key, move |progress| blocks::add_up(&set, &*links, &question, progress));
        } else {
            let of = ctx.selection.of(set.name);
            if !of.is_empty() && of.len() <= MOST_SELECTED {
                let of = ctx.selection.elements.clone();
                let key = (self.set_generation, of.clone());
                self.ego.want(ui.ctx(), key, move |progress| ego::look(&*links, &of, progress));
            }
        }
    }

    fn caption(&self, wiring: &Connectivity, set: &ElementSet) -> String {
        let all = kit::thousands(wiring.connections.n_connections());
        match (self.mode, self.blocks.get(), self.ego.get()) {
            (Mode::Matrix, Some(blocks), _) => {
                format!(
                    "{all} connections of {} {}  |  {}",
                    kit::thousands(set.len.into()),
                    set.name,
                    self.matrix.caption(blocks)
                )
            }
            (Mode::Graph, _, Some(ego)) => graph::caption(ego),
            (Mode::List, _, Some(ego)) => list::caption(ego, wiring),
            _ => format!("{all} connections of {} {}", kit::thousands(set.len.into()), set.name),
        }
    }

    /// What has to be done before there is a graph or a list.
    fn missing_ui(ui: &mut Ui, canvas: Rect, ctx: &ViewCtx<'_>, n: usize) -> bool {
        if n == 0 {
            let how = "Select elements in any view to see what leads to them and where they lead";
            kit::empty_ui(ui, canvas, ctx, "Nothing is selected", how, None);
        } else if n > MOST_SELECTED {
            let how = format!(
                "{} are selected; up to {} are looked at. The matrix takes all.",
                kit::thousands(n as u64),
                kit::thousands(MOST_SELECTED as u64)
            );
            kit::empty_ui(ui, canvas, ctx, "Too many to draw", &how, None);
        }
        n == 0 || n > MOST_SELECTED
    }
}

impl View for ConnectivityView {
    fn name(&self) -> &'static str {
        "connectivity"
    }

    fn title(&self, _: &SimSchema) -> String {
        "Connectivity".into()
    }

    fn taps(&self, _: &SimSchema, _: &Selection) -> Vec<Tap> {
        vec![]
    }

    fn reset(&mut self, schema: &SimSchema) {
        self.settle(schema);
    }

    fn absorb(&mut self, _: &SimSchema, _: &Frame) {}

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        self.settle(ctx.schema);
        let Some((set, wiring)) = wired_ui(ui, ctx) else { return };
        self.matrix.take_ends(ctx, &set);
        self.ask(ui, ctx, &set, &wiring);
        if let Some((_, question)) = self.blocks.key() {
            self.matrix.drawn = question.clone();
        }
        let caption = self.caption(&wiring, &set);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx, &set));
        ui.painter().rect_filled(canvas, 0.0, ctx.tokens.canvas);
        if kit::tiny_ui(ui, canvas, ctx.tokens) {
            return;
        }
        let (blocks, ego) = (self.blocks.get().cloned(), self.ego.get().cloned());
        let is_missing =
            self.mode != Mode::Matrix && Self::missing_ui(ui, canvas, ctx, ctx.selection.of(set.name).len());
        match (self.mode, blocks, ego) {
            (Mode::Matrix, Some(blocks), _) => self.matrix.ui(ui, canvas, ctx, &set, &wiring, &blocks),
            (Mode::Graph, _, Some(ego)) if !is_missing => self.graph.ui(ui, canvas, ctx, &set, &wiring, &ego),
            (Mode::List, _, Some(ego)) if !is_missing => self.list.ui(ui, canvas, ctx, &set, &wiring, &ego),
            _ if is_missing => {}
            (Mode::Matrix, ..) => {
                states::pooled_ui(ui, canvas, ctx, "Adding up the connections", &mut self.blocks);
            }
            _ => states::pooled_ui(ui, canvas, ctx, "Looking up the connections", &mut self.ego),
        }
    }

    fn toggle_range(&mut self, _: &SimSchema, tints: &mut Tints) -> Option<bool> {
        if self.mode == Mode::Matrix { self.matrix.toggle_range(tints) } else { None }
    }

    fn help(&self) -> &'static str {
        "# Connectivity\n\n**Matrix**: all connections added up between categories; rows lead to columns. *Σ |w|* counts \
         synapses, *Σ w* counts inhibitory ones as negative, *n* counts connections, *mean* is Σ |w| / n. A click selects \
         everyone with a connection in the cell, **Ctrl** adds them; a double click looks into it by the next finer \
         category, and the path at the top leads back. Where an axis has more categories than are drawn, the weakest are \
         one row: *rest*.\n\n\
         **Partners**: the selection in the middle, the strongest inputs at the left and outputs at the right; widths go \
         with the square root of Σ |w|, colours with the sign of Σ w. A click goes there.\n\n\
         **Synapses**: every connection of the selection. A click on an end selects it."
    }
}
