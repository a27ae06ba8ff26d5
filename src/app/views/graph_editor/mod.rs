//! Editor of the graph that the parameters describe: nodes are circles, edges are lines. It fits any kind with lists of
//! nodes and edges, and also draws incomplete graphs.

mod menus;
mod paint;
mod pointer;
mod scene;
mod section;
mod texts;

use super::{View, ViewCtx, ViewDeclaration, ViewRequest, unfit_ui};
use crate::app::{
    document::{
        command::UiCommand,
        graph::{Graph, edit::GraphEdit},
        layout::Page,
    },
    kit::{self, icons},
};
use egui::{Rect, Ui};
use pointer::Gesture;
use scene::Scene;
use section::Section;
use std::sync::Arc;

/// The editor of the graph.
#[derive(Default)]
pub struct GraphEditor {
    gesture: Gesture,
    /// Whether a click on two circles connects them.
    connects: bool,
    /// Node at which the next edge starts, with the tool; `None` before the first click.
    source: Option<usize>,
    /// Whether new edges inhibit.
    inhibits: bool,
    section: Section,
}

impl GraphEditor {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "graph_editor",
        title: "Network",
        icon: icons::TREE,
        help: "# Network\n\nThe populations of the project as circles, their projections as lines. The area of a circle follows \
         the number of neurons, the width of a line the sum of the weights that it makes. An arrow excites, a dot inhibits. \
         The bolt at a circle is an external input. The line below shows what a build would make; a cause that prevents the \
         build is marked with a warning sign and listed.\n\n\
         - double-click on the background: add a circle\n\
         - drag a circle: move it\n\
         - drag from the rim of a circle to a circle: connect; back to the same circle: connect it to itself\n\
         - *Connect*: click the first circle, then the second\n\
         - *Excitatory*, *Inhibitory*: sign of new connections\n\
         - click: select, and show in the inspector · right-click: actions, also to reverse the sign of a line\n\
         - wheel: enlarge · drag on the background: move the section · *Show all*: the whole network\n\
         - F2 or double-click: rename with all references · Ctrl+D: duplicate with connections and inputs · Delete: remove\n\
         - keyboard: Tab moves between circles and lines, Enter selects, arrow keys move a circle\n\n\
         Every edit is one undo step. Positions belong to the layout of the project.",
        gestures: &[
            ("click", "select"),
            ("drag", "move"),
            ("drag from the rim", "connect"),
            ("wheel", "zoom"),
            ("double-click", "add or rename"),
            ("right-click", "actions"),
        ],
        pages: &[Page::Explore, Page::Simulate],
        fits: |schema| schema.has_graph,
        can_repeat: false,
        ..ViewDeclaration::of::<Self>()
    };
}

/// Room for the choice of a sign in the toolbar, points.
const SIGNS: f32 = 165.0;

impl View for GraphEditor {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let Some(graph) = ctx.graph.graph.clone() else {
            return unfit_ui(ui, ctx, ["No network to draw", "The parameters of this project list no populations"]);
        };
        ctx.graph.places.arrange(graph.nodes.iter().map(|node| node.name.as_str()));
        let caption = texts::caption(&graph);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx, &graph));
        if !kit::fill_ui(ui, canvas, ctx.tokens) {
            return;
        }
        if graph.nodes.is_empty() && graph.edges.is_empty() {
            return empty_ui(ui, canvas, ctx, &graph);
        }
        let canvas = texts::problems_ui(ui, canvas, ctx, &graph);
        // Parts of the enlarged graph outside the canvas are neither drawn nor clicked.
        ui.scope(|ui| {
            ui.shrink_clip_rect(canvas);
            let scene = Scene::new(&graph, &ctx.graph.places, self.section.area(canvas));
            let seen = self.pointer_ui(ui, canvas, ctx, &graph, &scene);
            paint::graph(ui, canvas, ctx, &graph, &scene, &seen);
            self.paint_gesture(ui, canvas, ctx, &scene);
        });
    }
}

impl GraphEditor {
    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, graph: &Graph) {
        if ctx.graph.is_read_only {
            ui.label(egui::RichText::new("A finished run is read-only").small().color(ctx.tokens.text_sub));
            return;
        }
        let [noun, ..] = &graph.nouns;
        if ui.button(format!("Add {noun}")).on_hover_text("Or double-click on the background").clicked() {
            ctx.requests.push(ViewRequest::Command(UiCommand::AddNode));
        }
        self.attach_ui(ui, ctx, graph);
        if !self.section.is_whole() && ui.button("Show all").on_hover_text("Shows the whole network").clicked() {
            self.section = Section::default();
        }
        let connect = ui.selectable_label(self.connects, "Connect");
        let hint = "Click the first circle, then the second. Or drag from the rim of a circle";
        if connect.on_hover_text(hint).clicked() {
            self.connects = !self.connects;
            // The connection starts at the selected circle, so that the keyboard suffices to choose it.
            let selected = ctx.graph.selected.filter(|(list, _)| *list == graph.lists.nodes);
            self.source = selected.map(|(_, node)| node).filter(|_| self.connects);
        }
        kit::overflow_ui(ui, SIGNS, |ui| self.signs_ui(ui));
    }

    /// Draws the choice of the sign of new connections.
    fn signs_ui(&mut self, ui: &mut Ui) {
        for (inhibits, word, effect) in [(false, "Excitatory", "positive"), (true, "Inhibitory", "negative")] {
            let option = ui.selectable_label(self.inhibits == inhibits, word);
            if option.on_hover_text(format!("New connections have a {effect} weight")).clicked() {
                self.inhibits = inhibits;
            }
        }
    }

    /// Draws a button per list whose items belong to nodes. It adds an item to the selected node.
    fn attach_ui(&self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, graph: &Graph) {
        let selected = ctx.graph.selected.filter(|(list, _)| *list == graph.lists.nodes);
        for (list, noun) in &graph.attachable {
            let button = ui.add_enabled(selected.is_some(), egui::Button::new(format!("Add {noun}")));
            let button = button.on_hover_text("Adds it to the selected circle");
            if button.on_disabled_hover_text("Select a circle first").clicked()
                && let Some((_, node)) = selected
            {
                ctx.requests.push(ViewRequest::Graph(GraphEdit::Attach { list: *list, node }));
            }
        }
    }

    /// Requests an edge with the chosen sign.
    fn connect(&self, ctx: &mut ViewCtx<'_>, from: usize, to: usize) {
        ctx.requests.push(ViewRequest::Graph(GraphEdit::Connect { from, to, inhibits: self.inhibits }));
    }
}

/// Draws the notice of a graph without nodes. A double-click adds a node, as on the background of other graphs.
fn empty_ui(ui: &mut Ui, canvas: Rect, ctx: &mut ViewCtx<'_>, graph: &Arc<Graph>) {
    let [noun, edge, _] = &graph.nouns;
    let title = format!("No {noun}s yet");
    let how = format!("Add circles, then drag from the rim of one to another to add a {edge}");
    let button = format!("Add {noun}").replacen("Add", "Add a", 1);
    let background = ui.interact(canvas, ui.scope_id().with("background"), egui::Sense::click());
    background.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Network without circles"));
    let is_pressed = kit::empty_ui(
        ui,
        canvas,
        ctx,
        &title,
        &how,
        Some(&button).filter(|_| !ctx.graph.is_read_only).map(|b| b.as_str()),
    );
    if is_pressed {
        ctx.requests.push(ViewRequest::Command(UiCommand::AddNode));
    }
    if background.double_clicked()
        && let Some(at) = background.interact_pointer_pos()
    {
        ctx.requests.push(ViewRequest::Graph(GraphEdit::AddNode(Some(scene::place_at(canvas, at)))));
    }
}

#[cfg(test)]
mod tests;
