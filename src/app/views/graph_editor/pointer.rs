//! Pointer and keyboard of the editor: select, move, connect, and menus.

use super::{GraphEditor, menus, scene, scene::Scene, texts};
use crate::app::{
    document::{
        command::UiCommand,
        graph::{Graph, edit::GraphEdit},
        items::Item,
    },
    views::{ViewCtx, ViewRequest},
};
use egui::{CursorIcon, EventFilter, Key, Modifiers, Pos2, Rect, Response, Sense, Ui, Vec2, WidgetInfo};

/// Distance by which an arrow key moves a circle, as a fraction of the view.
const STEP: f32 = 0.02;

/// Drag in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Gesture {
    /// The pointer is up, or drags nothing.
    #[default]
    None,
    /// A circle is moved; the second value is the vector from the pointer to its centre.
    Move(usize, Vec2),
    /// A line is drawn from a circle.
    Connect(usize),
}

/// Parts of the graph that respond to the pointer in this frame.
#[derive(Default)]
pub struct Seen {
    /// Item under the pointer.
    pub hovered: Option<Item>,
    /// Item with the keyboard focus.
    pub focused: Option<Item>,
    /// Node whose rim is under the pointer, or at which a line would end.
    pub rim: Option<usize>,
}

impl GraphEditor {
    /// Handles the pointer and the keyboard.
    pub(super) fn pointer_ui(
        &mut self,
        ui: &mut Ui,
        canvas: Rect,
        ctx: &mut ViewCtx<'_>,
        graph: &Graph,
        scene: &Scene,
    ) -> Seen {
        let mut seen = Seen::default();
        self.background_ui(ui, canvas, ctx, graph, scene, &mut seen);
        for node in 0..graph.nodes.len() {
            self.node_ui(ui, canvas, ctx, graph, scene, node, &mut seen);
        }
        for attachment in 0..graph.attachments.len() {
            attachment_ui(ui, ctx, graph, scene.marks[attachment], attachment, &mut seen);
        }
        for edge in 0..graph.edges.len() {
            edge_ui(ui, ctx, graph, scene, edge, &mut seen);
        }
        self.mark_target(ui, scene, &mut seen);
        seen
    }

    fn background_ui(
        &mut self,
        ui: &mut Ui,
        canvas: Rect,
        ctx: &mut ViewCtx<'_>,
        graph: &Graph,
        scene: &Scene,
        seen: &mut Seen,
    ) {
        let response = ui.interact(canvas, ui.scope_id().with("background"), Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Image, true, "Network"));
        self.section.gestures(ui, canvas, &response);
        let edge = response.hover_pos().and_then(|at| scene.edge_at(at));
        seen.hovered = edge.map(|edge| graph.edge_item(edge));
        if response.clicked() {
            self.source = None;
            ctx.requests.push(ViewRequest::Graph(GraphEdit::Select(seen.hovered)));
        }
        if response.secondary_clicked() && edge.is_some() {
            ctx.requests.push(ViewRequest::Graph(GraphEdit::Select(seen.hovered)));
        }
        let at = response.interact_pointer_pos();
        if let (true, None, Some(at)) = (response.double_clicked() && !ctx.graph.is_read_only, edge, at) {
            ctx.requests
                .push(ViewRequest::Graph(GraphEdit::AddNode(Some(scene::place_at(self.section.area(canvas), at)))));
        }
        let selected = ctx.graph.selected;
        response.context_menu(|ui| match selected.filter(|(list, _)| *list == graph.lists.edges) {
            Some((_, edge)) => menus::edge_menu_ui(ui, ctx, graph, edge),
            None => menus::background_menu_ui(ui, ctx, graph, (&mut self.section, canvas)),
        });
        if let Some(edge) = edge {
            response.on_hover_ui_at_pointer(|ui| texts::edge_ui(ui, graph, edge));
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn node_ui(
        &mut self,
        ui: &mut Ui,
        canvas: Rect,
        ctx: &mut ViewCtx<'_>,
        graph: &Graph,
        scene: &Scene,
        node: usize,
        seen: &mut Seen,
    ) {
        let disc = scene.discs[node];
        let response = ui.interact(disc.area(), ui.scope_id().with(("node", node)), Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, texts::node_label(graph, node)));
        let item = graph.node_item(node);
        if response.has_focus() {
            move_by_keys(ui, &response, ctx, &graph.nodes[node].name);
        }
        match self.connects {
            true if response.clicked() => self.choose_end(ctx, node),
            _ => respond(&response, ctx, item, seen),
        }
        if response.double_clicked() && !self.connects {
            ctx.requests.push(ViewRequest::Graph(GraphEdit::Select(Some(item))));
            ctx.requests.push(ViewRequest::Command(UiCommand::Rename));
        }
        self.drag(ui, canvas, ctx, (graph, scene), node, &response);
        let is_on_rim = response.hover_pos().is_some_and(|at| disc.has_on_rim(at)) && !ctx.graph.is_read_only;
        if self.gesture == Gesture::None && (is_on_rim || self.connects && response.hovered()) {
            seen.rim = Some(node);
            ui.set_cursor_icon(CursorIcon::Crosshair);
        }
        response.context_menu(|ui| menus::node_menu_ui(ui, ctx, graph, node));
        if self.gesture == Gesture::None {
            response.on_hover_ui_at_pointer(|ui| texts::node_ui(ui, graph, node));
        }
    }

    /// Takes the first or the second end of a connection that is made by clicks.
    fn choose_end(&mut self, ctx: &mut ViewCtx<'_>, node: usize) {
        match self.source.take() {
            Some(from) => self.connect(ctx, from, node),
            None => self.source = Some(node),
        }
    }

    /// Starts, continues or ends a drag from a circle.
    fn drag(
        &mut self,
        ui: &Ui,
        canvas: Rect,
        ctx: &mut ViewCtx<'_>,
        (graph, scene): (&Graph, &Scene),
        node: usize,
        response: &Response,
    ) {
        let disc = scene.discs[node];
        if response.drag_started_by(egui::PointerButton::Primary) {
            let origin = ui.input(|i| i.pointer.press_origin()).unwrap_or(disc.centre);
            let connects = (self.connects || disc.has_on_rim(origin)) && !ctx.graph.is_read_only;
            self.gesture = if connects { Gesture::Connect(node) } else { Gesture::Move(node, disc.centre - origin) };
        }
        let Some(at) = response.interact_pointer_pos() else { return };
        match self.gesture {
            Gesture::Move(of, grab) if of == node && response.dragged() => {
                let place = scene::place_at(self.section.area(canvas), at + grab);
                ctx.graph.places.set(&graph.nodes[node].name, place);
            }
            Gesture::Connect(from) if from == node && response.drag_stopped() => {
                if let Some(to) = scene.node_at(at) {
                    self.connect(ctx, from, to);
                }
            }
            _ => {}
        }
        if response.drag_stopped() {
            self.gesture = Gesture::None;
        }
    }

    /// Marks the circle at which a line that is being drawn would end.
    fn mark_target(&self, ui: &Ui, scene: &Scene, seen: &mut Seen) {
        if matches!(self.gesture, Gesture::Connect(_)) {
            ui.set_cursor_icon(CursorIcon::Crosshair);
            seen.rim = ui.ctx().pointer_latest_pos().and_then(|at| scene.node_at(at));
        }
    }

    /// Returns the circle and the point between which a line is being drawn; `None` without such a gesture.
    pub(super) fn drawn_line(&self, ui: &Ui) -> Option<(usize, Pos2)> {
        let from = match self.gesture {
            Gesture::Connect(from) => from,
            _ => self.source.filter(|_| self.connects)?,
        };
        Some((from, ui.ctx().pointer_latest_pos()?))
    }
}

/// Selects an item that is clicked, and records it in `seen` if it is under the pointer or has the focus.
fn respond(response: &Response, ctx: &mut ViewCtx<'_>, item: Item, seen: &mut Seen) {
    if response.clicked() || response.secondary_clicked() {
        ctx.requests.push(ViewRequest::Graph(GraphEdit::Select(Some(item))));
    }
    if response.hovered() {
        seen.hovered = Some(item);
    }
    if response.has_focus() {
        seen.focused = Some(item);
    }
}

fn edge_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, graph: &Graph, scene: &Scene, edge: usize, seen: &mut Seen) {
    let Some(curve) = &scene.curves[edge] else { return };
    let area = Rect::from_center_size(curve.middle(), Vec2::splat(14.0));
    let response = ui.interact(area, ui.scope_id().with(("edge", edge)), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, texts::edge_label(graph, edge)));
    respond(&response, ctx, graph.edge_item(edge), seen);
    response.context_menu(|ui| menus::edge_menu_ui(ui, ctx, graph, edge));
    response.on_hover_ui_at_pointer(|ui| texts::edge_ui(ui, graph, edge));
}

fn attachment_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, graph: &Graph, at: Pos2, attachment: usize, seen: &mut Seen) {
    let area = Rect::from_center_size(at, Vec2::splat(20.0));
    let response = ui.interact(area, ui.scope_id().with(("attachment", attachment)), Sense::click());
    let label = || texts::attachment_label(graph, attachment);
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, label()));
    respond(&response, ctx, graph.attachments[attachment].item, seen);
    response.context_menu(|ui| menus::item_menu_ui(ui, ctx, false));
    response.on_hover_ui_at_pointer(|ui| texts::attachment_ui(ui, graph, attachment));
}

/// Moves the focused circle by the arrow keys.
fn move_by_keys(ui: &Ui, response: &Response, ctx: &mut ViewCtx<'_>, name: &str) {
    let arrows = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
    ui.memory_mut(|m| m.set_focus_lock_filter(response.id, arrows));
    let pressed = |key: Key| ui.input_mut(|i| i.consume_key(Modifiers::NONE, key));
    let keys = [
        (Key::ArrowLeft, [-1.0, 0.0]),
        (Key::ArrowRight, [1.0, 0.0]),
        (Key::ArrowUp, [0.0, -1.0]),
        (Key::ArrowDown, [0.0, 1.0]),
    ];
    for (_, [x, y]) in keys.into_iter().filter(|(key, _)| pressed(*key)) {
        let place = ctx.graph.places.of(name);
        ctx.graph.places.set(name, [place[0] + STEP * x, place[1] + STEP * y]);
    }
}
