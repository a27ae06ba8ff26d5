//! Texts of the editor: caption, labels for screen readers, tooltips, and the list of problems.

use crate::app::{
    document::graph::{Graph, Node, edit::GraphEdit},
    kit::{self, icons, text, widgets},
    views::{ViewCtx, ViewRequest},
};
use egui::{Align, Layout, Rect, RichText, Sense, Ui, UiBuilder, Vec2};

/// Maximum number of problems that are listed.
const MAX_PROBLEMS: usize = 3;
/// Height of a line of the list of problems, points.
const LINE: f32 = 22.0;

/// Describes the network that a build would create: `1,000 neurons  |  100,000 connections  |  0.8 MB`. A narrow panel
/// omits the last items.
pub fn caption(graph: &Graph) -> String {
    let [node, edge, elements] = &graph.nouns;
    let count = |n: usize, noun: &str| text::counted(n as u64, &format!("{noun}s"));
    let mut parts = vec![text::counted(graph.size() as u64, elements)];
    if let Some(forecast) = &graph.forecast {
        parts.push(text::counted(forecast.total(), "connections"));
        if forecast.bytes > 0 {
            parts.push(text::bytes(forecast.bytes));
            parts.push(build_time(forecast.seconds));
        }
    }
    parts.extend([count(graph.nodes.len(), node), count(graph.edges.len(), edge)]);
    parts.join("  |  ")
}

fn build_time(secs: f64) -> String {
    match secs {
        s if s < 1.0 => "built in less than 1 s".to_owned(),
        s => format!("built in about {} by one CPU core", text::rough_time(s)),
    }
}

fn size(graph: &Graph, node: &Node) -> String {
    text::counted(node.size as u64, &graph.nouns[2])
}

/// Describes a node in a line.
pub fn node_label(graph: &Graph, node: usize) -> String {
    let node = &graph.nodes[node];
    with_problem(format!("Circle {}: {}", node.name, size(graph, node)), node.problem.as_deref())
}

/// Describes an edge in a line.
pub fn edge_label(graph: &Graph, edge: usize) -> String {
    let edge = &graph.edges[edge];
    let sign = if edge.weight < 0.0 { "inhibitory" } else { "excitatory" };
    with_problem(format!("Line {}: {sign}", edge.title), edge.problem.as_deref())
}

/// Describes an item that belongs to a node.
pub fn attachment_label(graph: &Graph, attachment: usize) -> String {
    let attachment = &graph.attachments[attachment];
    let noun = graph.attachable.iter().find(|(list, _)| *list == attachment.item.0);
    let noun = text::title(noun.map_or("item", |(_, noun)| noun));
    with_problem(format!("{noun} {}", attachment.title), attachment.problem.as_deref())
}

fn with_problem(label: String, problem: Option<&str>) -> String {
    match problem {
        Some(why) => format!("{label}; {why}"),
        None => label,
    }
}

fn problem_ui(ui: &mut Ui, problem: Option<&str>) {
    if let Some(why) = problem {
        let warn = crate::app::kit::theme::Tokens::of(ui.ctx()).warn;
        ui.label(RichText::new(why).color(warn));
    }
}

/// Draws the tooltip of a node.
pub fn node_ui(ui: &mut Ui, graph: &Graph, at: usize) {
    let node = &graph.nodes[at];
    ui.label(RichText::new(&node.name).family(widgets::semibold()));
    ui.label(size(graph, node));
    let n = |is_in: bool| {
        let edges = graph.edges.iter().filter(|edge| if is_in { edge.to } else { edge.from } == Some(at));
        text::plural(edges.count(), &graph.nouns[1], &format!("{}s", graph.nouns[1]))
    };
    ui.label(format!("{} in, {} out", n(true), n(false)));
    problem_ui(ui, node.problem.as_deref());
    ui.label(widgets::sub(ui, "Drag it, or drag from its rim to connect").small());
}

/// Draws the tooltip of an edge.
pub fn edge_ui(ui: &mut Ui, graph: &Graph, edge: usize) {
    let edge = &graph.edges[edge];
    ui.label(RichText::new(&edge.title).family(widgets::semibold()));
    ui.label(format!("median weight {}", text::number(edge.weight)));
    if let Some(n) = edge.connections {
        ui.label(text::counted(n, "connections"));
    }
    problem_ui(ui, edge.problem.as_deref());
}

/// Draws the tooltip of an item that belongs to a node.
pub fn attachment_ui(ui: &mut Ui, graph: &Graph, attachment: usize) {
    ui.label(attachment_label(graph, attachment));
}

/// Lists the reasons why the graph cannot be built at the bottom of the canvas. A click selects the item. Returns the canvas
/// above the list.
pub fn problems_ui(ui: &mut Ui, canvas: Rect, ctx: &mut ViewCtx<'_>, graph: &Graph) -> Rect {
    let fits = ((canvas.height() * 0.35) / LINE) as usize;
    let shown = graph.problems.len().min(MAX_PROBLEMS).min(fits);
    if shown == 0 || kit::panel::is_staged(ui.ctx()) {
        return canvas;
    }
    let (above, list) = canvas.split_top_bottom_at_y(canvas.bottom() - LINE * shown as f32 - 4.0);
    let area = UiBuilder::new().max_rect(list.shrink2(Vec2::new(8.0, 2.0))).layout(Layout::top_down(Align::Min));
    ui.painter().rect_filled(list, 0.0, ctx.tokens.panel);
    ui.scope_builder(area, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        for (i, problem) in graph.problems.iter().take(shown).enumerate() {
            let more = graph.problems.len() - shown;
            let text = match more {
                n if n > 0 && i + 1 == shown => format!("{}  (and {n} more)", problem.text),
                _ => problem.text.clone(),
            };
            if line_ui(ui, ctx, &text).clicked() {
                ctx.requests.push(ViewRequest::Graph(GraphEdit::Select(problem.item)));
            }
        }
    });
    above
}

fn line_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, text: &str) -> egui::Response {
    let row =
        ui.allocate_ui_with_layout(Vec2::new(ui.available_width(), LINE), Layout::left_to_right(Align::Center), |ui| {
            ui.label(icons::rich(icons::WARNING).color(ctx.tokens.warn));
            ui.add(egui::Label::new(RichText::new(text).color(ctx.tokens.text)).truncate().sense(Sense::click()))
        });
    row.inner.on_hover_text("Click to select the cause")
}
