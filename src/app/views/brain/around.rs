//! What is drawn around the points: the surface that encloses them, and the connections of the selected.

use super::Brain;
use crate::{
    app::views::{
        ViewCtx, colors,
        connectivity::ego::{self, Ego},
        kit,
        pool::PooledResult,
    },
    sim::{Connectivity, ElementSet},
    view3d::{End, Mesh, Scene, shell},
};
use egui::Ui;
use egui_wgpu::wgpu;
use std::sync::Arc;

/// Connections drawn at most; the strongest are.
const MOST_LINES: usize = 20_000;
/// Elements whose connections are looked up, at most.
const MOST_SELECTED: usize = 5_000;
/// Of fewer points the surface would say less than the points.
const SHELL_FROM: usize = 1_000;

/// Which connections of the selected are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Edges {
    #[default]
    None,
    Inputs,
    Outputs,
    Both,
}

impl Edges {
    const ALL: [(Self, &'static str); 4] =
        [(Self::None, "none"), (Self::Inputs, "inputs"), (Self::Outputs, "outputs"), (Self::Both, "both")];
}

/// What is around the points.
#[derive(Default)]
pub(super) struct Around {
    /// As chosen; else where there are enough points at places of their own.
    has_shell: Option<bool>,
    shell: PooledResult<u64, Mesh>,
    edges: Edges,
    ego: PooledResult<(u64, Arc<Vec<u32>>), Ego>,
    /// What is on the device: the set of the surface, and whose connections.
    sent: (Option<u64>, Option<Sent>),
    /// Connections drawn, of how many.
    shown: Option<(usize, u64)>,
}

/// Set, selection, which connections, and whether the ground is dark.
type Sent = (u64, Arc<Vec<u32>>, Edges, bool);

impl Brain {
    /// Whether the surface is to be seen.
    pub(super) fn has_shell(&self, set: &ElementSet) -> bool {
        let is_worth_it = !set.is_diagram && set.positions.len() >= SHELL_FROM;
        self.around.has_shell.unwrap_or(is_worth_it) && !self.is_on_course()
    }

    /// What there is to choose.
    pub(super) fn around_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, set: &ElementSet) {
        let mut has_shell = self.has_shell(set);
        if ui.toggle_value(&mut has_shell, "Shell").on_hover_text("The surface around all elements").changed() {
            self.around.has_shell = Some(has_shell);
        }
        if wiring(ctx, set).is_some() {
            let options = Edges::ALL.map(|(edges, text)| (edges, text.to_owned()));
            kit::choice_ui(ui, ctx.tokens, "edges", &mut self.around.edges, &options);
        }
    }

    /// What the caption says of the connections.
    pub(super) fn edges_caption(&self, ctx: &ViewCtx<'_>) -> Option<String> {
        let selected = ctx.selection.of(self.set.as_ref()?.name).len();
        match (self.around.edges, self.around.shown) {
            (Edges::None, _) => None,
            _ if selected == 0 => Some("select elements to see their connections".to_owned()),
            _ if selected > MOST_SELECTED => {
                Some(format!("connections of up to {} selected", kit::thousands(MOST_SELECTED as u64)))
            }
            (_, Some((n, of))) if (n as u64) < of => {
                Some(format!("the {} strongest of {} connections", kit::thousands(n as u64), kit::thousands(of)))
            }
            (_, Some((n, _))) => Some(format!("{} connections", kit::thousands(n as u64))),
            (_, None) => Some("looking up connections".to_owned()),
        }
    }

    /// Has made on the pool what is wanted and not there.
    pub(super) fn fetch_around(&mut self, ui: &Ui, set: &Arc<ElementSet>, ctx: &ViewCtx<'_>) {
        if self.has_shell(set) {
            let of = set.clone();
            self.around.shell.want(ui.ctx(), self.set_generation, move |_| Some(shell(&of.positions)));
        }
        let n = ctx.selection.of(set.name).len();
        let Some(wiring) = wiring(ctx, set).filter(|_| self.around.edges != Edges::None) else { return };
        if (1..=MOST_SELECTED).contains(&n) {
            let (links, of) = (wiring.connections.clone(), ctx.selection.elements.clone());
            let key = (self.set_generation, of.clone());
            self.around.ego.want(ui.ctx(), key, move |progress| ego::read_ego(&*links, &of, progress));
        }
    }

    /// Sends what is new to the device.
    pub(super) fn send_around(
        &mut self,
        scene: &mut Scene,
        device: &wgpu::Device,
        set: &ElementSet,
        ctx: &ViewCtx<'_>,
    ) {
        let made = self.around.shell.key().copied().filter(|of| *of == self.set_generation);
        if self.around.sent.0 != made {
            let none = Mesh::default();
            scene.set_shell(device, self.around.shell.get().filter(|_| made.is_some()).map_or(&none, |mesh| mesh));
            self.around.sent.0 = made;
        }
        let key = self.around.ego.key().filter(|(of, selected)| {
            *of == self.set_generation && **selected == *ctx.selection.elements && self.around.edges != Edges::None
        });
        let wanted = key.map(|(of, selected)| (*of, selected.clone(), self.around.edges, ctx.tokens.dark));
        if self.around.sent.1 != wanted || self.is_on_course() {
            let ego = self.around.ego.get().filter(|_| wanted.is_some() && !self.is_on_course()).cloned();
            let drawn = ego.map(|ego| (lines(&ego, self.around.edges, set, ctx), ego));
            scene.set_lines(device, drawn.as_ref().map_or(&[], |((ends, _), _)| ends));
            self.around.shown = drawn.map(|((ends, of), _)| (ends.len() / 2, of));
            self.around.sent.1 = wanted;
        }
    }
}

/// The connections among the elements of a set, when it is these that are connected.
fn wiring<'a>(ctx: &ViewCtx<'a>, set: &ElementSet) -> Option<&'a Connectivity> {
    ctx.schema.connectivity.as_ref().filter(|w| w.over == set.name)
}

/// The strongest connections as lines, faint where they come from; and how many there are.
fn lines(ego: &Ego, edges: Edges, set: &ElementSet, ctx: &ViewCtx<'_>) -> (Vec<End>, u64) {
    let is_mine = |e: u32| ctx.selection.contains(set.name, e);
    let is_wanted = |s: &&ego::Synapse| match edges {
        Edges::None => false,
        Edges::Inputs => is_mine(s.post),
        Edges::Outputs => is_mine(s.pre),
        Edges::Both => true,
    };
    let count = |partners: &[ego::Partner]| partners.iter().map(|p| u64::from(p.n)).sum::<u64>() + ego.inner;
    let total = match edges {
        Edges::None => 0,
        Edges::Inputs => count(&ego.inputs),
        Edges::Outputs => count(&ego.outputs),
        Edges::Both => ego.n_synapses,
    };
    let strongest = ego.synapses.iter().find(is_wanted).map_or(1.0, |s| s.weight.abs()).max(1e-12);
    let ends = ego.synapses.iter().filter(is_wanted).take(MOST_LINES).flat_map(|s| {
        let color = if s.weight < 0.0 { ctx.tokens.inhibitory } else { ctx.tokens.excitatory };
        let [r, g, b, _] = colors::rgba(color).map(|c| (c * 255.0) as u8);
        let strength = 0.2 + 0.6 * (s.weight.abs() / strongest).sqrt();
        [(s.pre, 0.35), (s.post, 1.0)].map(|(element, share)| End {
            position: set.positions.get(element as usize).copied().unwrap_or_default(),
            color: [r, g, b, (255.0 * strength * share) as u8],
        })
    });
    (ends.collect(), total)
}
