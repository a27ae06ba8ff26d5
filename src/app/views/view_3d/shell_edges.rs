//! The shell around the points, and lines for connections of the selected elements.

use super::{Coloring, View3d, by_selection::BY_SELECTION, link_lines};
use crate::{
    app::{
        kit::{self, colors, pool::PooledResult},
        views::{
            ViewCtx,
            connectivity::ego::{self, Ego},
        },
    },
    engine::SimSchema,
    sim::{Connectivity, ElementSet, ProbeId},
    view3d::{End, Mesh, Scene, shell},
};
use egui::Ui;
use egui_wgpu::wgpu;
use std::sync::Arc;

/// Maximum number of connections drawn; only the strongest are.
const MAX_EDGES: usize = 20_000;
/// Maximum number of elements whose connections are searched.
const MAX_SELECTED: usize = 5_000;
/// Minimum number of points for a shell by default.
const MIN_SHELL_POINTS: usize = 1_000;

/// Connections of the selected elements, or links, that are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Edges {
    #[default]
    None,
    Inputs,
    Outputs,
    Both,
    /// Links of a probe.
    Links(ProbeId),
}

impl Edges {
    const ALL: [(Self, &'static str); 4] =
        [(Self::None, "none"), (Self::Inputs, "inputs"), (Self::Outputs, "outputs"), (Self::Both, "both")];
}

/// State of the shell and of the connections.
#[derive(Default)]
pub(super) struct ShellEdges {
    /// The user's choice; `None`: a shell for sets with at least [`MIN_SHELL_POINTS`] positions, except diagrams.
    has_shell: Option<bool>,
    shell: PooledResult<u64, Mesh>,
    pub(super) edges: Edges,
    /// Name of the probe of the chosen links, as stored in the project.
    links_name: String,
    ego: PooledResult<(u64, Arc<Vec<u32>>), Ego>,
    /// Versions of the data on the device: the set of the shell, and the key of the connections.
    sent: (Option<u64>, Option<UploadKey>),
    /// Number of drawn connections, and total number.
    shown: Option<(usize, u64)>,
}

/// Set generation, selection, drawn connections, dark theme.
type UploadKey = (u64, Arc<Vec<u32>>, Edges, bool);

impl View3d {
    /// Whether the shell is drawn.
    pub(super) fn has_shell(&self, set: &ElementSet) -> bool {
        let is_worth_it = !set.is_diagram && set.positions.len() >= MIN_SHELL_POINTS;
        self.shell_edges.has_shell.unwrap_or(is_worth_it) && !self.is_in_motion()
    }

    pub(super) fn shell_edges_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, set: &ElementSet) {
        let mut has_shell = self.has_shell(set);
        if ui.toggle_value(&mut has_shell, "Shell").on_hover_text("Surface around all positions").changed() {
            self.shell_edges.has_shell = Some(has_shell);
        }
        let n_edges = if wiring(ctx, set).is_some() { Edges::ALL.len() } else { 1 };
        let mut options: Vec<_> =
            Edges::ALL[..n_edges].iter().map(|(edges, text)| (*edges, (*text).to_owned())).collect();
        let links = link_lines::probes(ctx.schema, set);
        options.extend(links.into_iter().map(|(id, probe)| (Edges::Links(id), probe.label().into_owned())));
        if options.len() > 1 && kit::choice_ui(ui, ctx.tokens, "Edges", &mut self.shell_edges.edges, &options) {
            self.shell_edges.links_name = match self.shell_edges.edges {
                Edges::Links(id) => ctx.schema.probes[usize::from(id)].name.to_owned(),
                _ => String::new(),
            };
            self.clear_links();
        }
    }

    /// Formats the settings that the project stores: positions, sizes, edges, and colours by selection. `None` if all have their
    /// defaults.
    pub(super) fn choice_text(&self) -> Option<String> {
        let by = match self.coloring {
            Some(Coloring::Effect) => Some(super::BY_EFFECT.to_owned()),
            _ => (self.column == BY_SELECTION).then(|| format!("by={}", self.column)),
        };
        let parts: Vec<String> = self.placement.to_text().into_iter().chain(self.edges_text()).chain(by).collect();
        (!parts.is_empty()).then(|| parts.join(";"))
    }

    /// Parses settings; ignores unknown parts.
    pub(super) fn choose_text(&mut self, schema: &SimSchema, text: &str) {
        self.placement.choose(text);
        for (name, value) in text.split(';').filter_map(|part| part.split_once('=')) {
            match (name, value) {
                ("edges", edges) => self.choose_edges(schema, edges),
                ("by", "effect") => self.coloring = Some(Coloring::Effect),
                ("by", BY_SELECTION) => (self.column, self.coloring) = (value.to_owned(), Some(Coloring::Class)),
                _ => {}
            }
        }
    }

    /// Formats the choice of edges; `None` without one.
    fn edges_text(&self) -> Option<String> {
        let (edges, links) = (self.shell_edges.edges, &self.shell_edges.links_name);
        let known = Edges::ALL.iter().find(|(known, _)| *known == edges && edges != Edges::None);
        let links = matches!(edges, Edges::Links(_)).then(|| format!("edges=links:{links}"));
        links.or_else(|| known.map(|(_, text)| format!("edges={text}")))
    }

    /// Parses the choice of edges; ignores links that the simulation does not declare.
    fn choose_edges(&mut self, schema: &SimSchema, text: &str) {
        if let Some(name) = text.strip_prefix("links:") {
            if let Some(id) = schema.probe(name) {
                (self.shell_edges.edges, self.shell_edges.links_name) = (Edges::Links(id), name.to_owned());
            }
        } else if let Some((edges, _)) = Edges::ALL.iter().find(|(_, known)| *known == text) {
            self.shell_edges.edges = *edges;
        }
    }

    /// Returns the part of the caption about connections or links; `None` if none are chosen.
    pub(super) fn edges_caption(&self, ctx: &ViewCtx<'_>) -> Option<String> {
        let selected = ctx.selection.of(self.set.as_ref()?.name).len();
        match (self.shell_edges.edges, self.shell_edges.shown) {
            (Edges::None, _) => None,
            (Edges::Links(_), _) => Some(self.links_caption()),
            _ if selected == 0 => Some(format!("select {} to see their connections", self.set.as_ref()?.noun())),
            _ if selected > MAX_SELECTED => {
                Some(format!("connections of up to {} selected", kit::thousands(MAX_SELECTED as u64)))
            }
            (_, Some((n, of))) if (n as u64) < of => {
                Some(format!("the {} strongest of {}", kit::thousands(n as u64), kit::counted(of, "connections")))
            }
            (_, Some((n, _))) => Some(kit::counted(n as u64, "connections")),
            (_, None) => Some("loading connections".to_owned()),
        }
    }

    /// Computes missing connections and shell on the pool.
    pub(super) fn fetch_shell_edges(&mut self, ui: &Ui, set: &Arc<ElementSet>, ctx: &ViewCtx<'_>) {
        if self.has_shell(set) {
            let of = set.clone();
            self.shell_edges.shell.want(ui.ctx(), self.set_generation, move |_| Some(shell(&of.positions)));
        }
        let n = ctx.selection.of(set.name).len();
        let has_connections = !matches!(self.shell_edges.edges, Edges::None | Edges::Links(_));
        let Some(wiring) = wiring(ctx, set).filter(|_| has_connections) else { return };
        if (1..=MAX_SELECTED).contains(&n) {
            let (links, of) = (wiring.connections.clone(), ctx.selection.elements.clone());
            let key = (self.set_generation, of.clone());
            self.shell_edges.ego.want(ui.ctx(), key, move |progress| ego::read_ego(&*links, &of, progress));
        }
    }

    /// Uploads the shell and the lines to the device if they have changed.
    pub(super) fn upload_shell_edges(
        &mut self,
        scene: &mut Scene,
        device: &wgpu::Device,
        set: &ElementSet,
        ctx: &ViewCtx<'_>,
    ) {
        let made = self.shell_edges.shell.key().copied().filter(|of| *of == self.set_generation);
        if self.shell_edges.sent.0 != made {
            let none = Mesh::default();
            scene.set_shell(device, self.shell_edges.shell.get().filter(|_| made.is_some()).map_or(&none, |mesh| mesh));
            self.shell_edges.sent.0 = made;
        }
        if let Edges::Links(probe) = self.shell_edges.edges {
            self.shell_edges.sent.1 = None;
            return self.upload_links(scene, device, probe, set, ctx);
        }
        if self.drop_link_lines() {
            scene.set_lines(device, &[]);
        }
        let key = self.shell_edges.ego.key().filter(|(of, selected)| {
            *of == self.set_generation && **selected == *ctx.selection.elements && self.shell_edges.edges != Edges::None
        });
        let wanted = key.map(|(of, selected)| (*of, selected.clone(), self.shell_edges.edges, ctx.tokens.dark));
        if self.shell_edges.sent.1 != wanted || self.is_in_motion() {
            let ego = self.shell_edges.ego.get().filter(|_| wanted.is_some() && !self.is_in_motion()).cloned();
            let drawn = ego.map(|ego| (lines(&ego, self.shell_edges.edges, set, ctx), ego));
            scene.set_lines(device, drawn.as_ref().map_or(&[], |((ends, _), _)| ends));
            self.shell_edges.shown = drawn.map(|((ends, of), _)| (ends.len() / 2, of));
            self.shell_edges.sent.1 = wanted;
        }
    }
}

/// Returns the connectivity over the elements of a set; `None` if the simulation has none for this set.
fn wiring<'a>(ctx: &ViewCtx<'a>, set: &ElementSet) -> Option<&'a Connectivity> {
    ctx.schema.connectivity.as_ref().filter(|w| w.over == set.name)
}

/// Returns the strongest connections as lines, which are faint at the source end, and the total number of connections.
fn lines(ego: &Ego, edges: Edges, set: &ElementSet, ctx: &ViewCtx<'_>) -> (Vec<End>, u64) {
    let is_mine = |e: u32| ctx.selection.contains(set.name, e);
    let is_wanted = |s: &&ego::Synapse| match edges {
        Edges::None | Edges::Links(_) => false,
        Edges::Inputs => is_mine(s.post),
        Edges::Outputs => is_mine(s.pre),
        Edges::Both => true,
    };
    let count = |partners: &[ego::Partner]| partners.iter().map(|p| u64::from(p.n)).sum::<u64>() + ego.inner;
    let total = match edges {
        Edges::None | Edges::Links(_) => 0,
        Edges::Inputs => count(&ego.inputs),
        Edges::Outputs => count(&ego.outputs),
        Edges::Both => ego.n_synapses,
    };
    let strongest = ego.synapses.iter().find(is_wanted).map_or(1.0, |s| s.weight.abs()).max(1e-12);
    let ends = ego.synapses.iter().filter(is_wanted).take(MAX_EDGES).flat_map(|s| {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::views::View as _;

    #[test]
    fn colours_and_edges_are_kept_as_text() {
        let (mut view, schema) = (View3d::default(), SimSchema::default());
        assert_eq!(view.choice(), None);
        for text in ["places=a,b,c;size=d;edges=both;by=selection", "edges=inputs"] {
            view = View3d::default();
            view.choose(&schema, text);
            assert_eq!(view.choice().as_deref(), Some(text));
        }
        view.choose(&schema, "edges=links:lost;other");
        assert_eq!(view.choice().as_deref(), Some("edges=inputs"));
    }
}
