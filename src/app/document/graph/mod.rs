//! Graph that the lists of a document describe: nodes, edges between them, and items that belong to nodes. The lists and their
//! fields are found by role, so that any kind with such lists has an editor.

pub mod edit;
mod edited;
pub mod places;
pub mod rename;

use super::items::{self, Item};
use crate::{
    kinds::Model,
    params::{
        ParamId, Params, Role, Value,
        interventions::{field, list},
        titles,
    },
    sim::GraphForecast,
};
pub use edited::EditedGraph;

/// Lists and fields that describe a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphLists {
    /// List of the nodes, by index of the group.
    pub nodes: usize,
    /// List of the edges, by index of the group.
    pub edges: usize,
    name: usize,
    from: usize,
    to: usize,
    size: Option<usize>,
    /// Field of the weight of an edge.
    pub weight: Option<usize>,
}

impl GraphLists {
    /// Finds the lists; `None` if the parameters have none, or if the lists do not apply to the current values.
    pub fn of(params: &dyn Params) -> Option<Self> {
        let (nodes, edges) = (list(params, Role::Nodes)?, list(params, Role::Edges)?);
        let is_shown = params.shows_group(nodes as u8) && params.shows_group(edges as u8);
        let found = Self {
            nodes,
            edges,
            name: field(params, nodes, Role::Name)?,
            from: field(params, edges, Role::From)?,
            to: field(params, edges, Role::To)?,
            size: field(params, nodes, Role::Size),
            weight: field(params, edges, Role::Weight),
        };
        is_shown.then_some(found)
    }
}

impl GraphLists {
    /// Returns the names of the nodes, in the order of the list.
    pub fn node_names(&self, params: &dyn Params) -> Vec<String> {
        (0..params.len(self.nodes as u8)).map(|item| text(params, at(self.nodes, item, self.name))).collect()
    }
}

/// Node of a graph, drawn as a circle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    pub name: String,
    /// Number of elements; 1 if nodes have no field for a size.
    pub size: f64,
    /// Reason why the node cannot be built; `None` if it can.
    pub problem: Option<String>,
}

/// Edge of a graph, drawn as a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edge {
    /// Index of the node at which the edge starts; `None` if no node has the name.
    pub from: Option<usize>,
    /// Index of the node at which the edge ends; `None` if no node has the name.
    pub to: Option<usize>,
    /// Names of both nodes: `E → I`.
    pub title: String,
    /// Median weight of a connection; 1 if edges have no field for a weight.
    pub weight: f64,
    /// Predicted number of connections; `None` if it is unknown.
    pub connections: Option<u64>,
    /// Reason why the edge cannot be built; `None` if it can.
    pub problem: Option<String>,
}

impl Edge {
    /// Returns the predicted sum of the absolute weights; the weight of one connection if their number is unknown.
    pub fn total_weight(&self) -> f64 {
        self.weight.abs() * self.connections.unwrap_or(1) as f64
    }
}

/// Item of another list that belongs to a node, such as an input.
#[derive(Clone, Debug, PartialEq)]
pub struct Attachment {
    pub item: Item,
    /// Index of the node to which the item belongs.
    pub node: usize,
    pub title: String,
    /// Reason why the item cannot be built; `None` if it can.
    pub problem: Option<String>,
}

/// Reason why the graph cannot be built.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Item of a list that is the cause; `None` if no single item is.
    pub item: Option<Item>,
    /// Title of the cause and the reason.
    pub text: String,
}

/// Graph that a document describes.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    pub lists: GraphLists,
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
    pub attachments: Vec<Attachment>,
    /// Lists whose items belong to nodes, with the noun of an item in lower case.
    pub attachable: Vec<(usize, String)>,
    pub problems: Vec<Problem>,
    /// Prediction of the kind; `None` if the kind predicts nothing.
    pub forecast: Option<GraphForecast>,
    /// Nouns in lower case: of a node, of an edge, and of the elements of a node in the plural.
    pub nouns: [String; 3],
}

impl Graph {
    /// Reads the graph of a model; `None` if it has none.
    pub fn of(model: &Model) -> Option<Self> {
        let params = model.params();
        let lists = GraphLists::of(params)?;
        let nodes = (0..params.len(lists.nodes as u8)).map(|i| node(params, lists, i)).collect();
        let mut graph = Self {
            lists,
            nodes,
            edges: vec![],
            attachments: vec![],
            attachable: attachable(params),
            problems: vec![],
            forecast: model.forecast(),
            nouns: nouns(params, lists),
        };
        graph.edges = (0..params.len(lists.edges as u8)).map(|i| graph.edge(params, i)).collect();
        graph.attachments = graph.attachable.iter().flat_map(|(list, _)| graph.attachments_of(params, *list)).collect();
        graph.add_problems(params);
        Some(graph)
    }

    /// Returns the sum of the sizes of all nodes.
    pub fn size(&self) -> f64 {
        self.nodes.iter().map(|node| node.size).sum()
    }

    /// Returns the item of a node.
    pub const fn node_item(&self, node: usize) -> Item {
        (self.lists.nodes, node)
    }

    /// Returns the item of an edge.
    pub const fn edge_item(&self, edge: usize) -> Item {
        (self.lists.edges, edge)
    }

    fn index_of(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    fn edge(&self, params: &dyn Params, item: usize) -> Edge {
        let lists = self.lists;
        let weight = lists.weight.map_or(1.0, |f| match params.get(at(lists.edges, item, f)) {
            Value::Distribution(law) => law.quantile(0.5),
            Value::Real(x) => x,
            _ => 1.0,
        });
        let [from, to] = [lists.from, lists.to].map(|f| self.index_of(&text(params, at(lists.edges, item, f))));
        let connections = self.forecast.as_ref().and_then(|found| *found.connections.get(item)?);
        Edge { from, to, title: items::item_name(params, lists.edges, item), weight, connections, problem: None }
    }

    fn attachments_of(&self, params: &dyn Params, list: usize) -> Vec<Attachment> {
        let Some(of) = field(params, list, Role::OfNode) else { return vec![] };
        let attachment = |item: usize| {
            let node = self.index_of(&text(params, at(list, item, of)))?;
            Some(Attachment { item: (list, item), node, title: items::item_name(params, list, item), problem: None })
        };
        (0..params.len(list as u8)).filter_map(attachment).collect()
    }

    /// Takes the problems of the prediction. Without a prediction, edges with an unknown node are problems.
    fn add_problems(&mut self, params: &dyn Params) {
        let Some(found) = &self.forecast else { return self.add_unknown_nodes() };
        for problem in found.problems.clone() {
            let item = item_of_path(params, &problem.path);
            let why = with_field_label(params, item, &titles::in_text(params, &problem.why));
            let title = match item {
                Some((list, at)) => items::item_name(params, list, at),
                None => group_label(params, &problem.path),
            };
            self.set_problem(item, &why);
            let text = if title.is_empty() { why } else { format!("{title}: {why}") };
            self.problems.push(Problem { item, text });
        }
    }

    fn add_unknown_nodes(&mut self) {
        for (i, edge) in self.edges.iter_mut().enumerate().filter(|(_, e)| e.from.is_none() || e.to.is_none()) {
            let why = format!("there is no such {}", self.nouns[0]);
            let text = format!("{}: {why}", edge.title);
            edge.problem = Some(why);
            self.problems.push(Problem { item: Some((self.lists.edges, i)), text });
        }
    }

    fn set_problem(&mut self, item: Option<Item>, why: &str) {
        let Some((list, index)) = item else { return };
        let place = if list == self.lists.nodes {
            self.nodes.get_mut(index).map(|node| &mut node.problem)
        } else if list == self.lists.edges {
            self.edges.get_mut(index).map(|edge| &mut edge.problem)
        } else {
            self.attachments.iter_mut().find(|a| a.item == (list, index)).map(|a| &mut a.problem)
        };
        if let Some(place) = place {
            *place = Some(why.to_owned());
        }
    }
}

/// Returns the reason why the graph of a model cannot be built; `None` if it can, or if the model has no graph.
pub fn refusal(model: &Model) -> Option<String> {
    Graph::of(model)?.problems.first().map(|problem| problem.text.clone())
}

/// Returns the address of a field of an item.
pub(super) fn at(group: usize, item: usize, field: usize) -> ParamId {
    ParamId { item: item as u16, ..ParamId::of(group, field) }
}

/// Reads a text; empty for a parameter of another type.
pub(super) fn text(params: &dyn Params, id: ParamId) -> String {
    match params.get(id) {
        Value::Text(text) => text,
        _ => String::new(),
    }
}

fn node(params: &dyn Params, lists: GraphLists, item: usize) -> Node {
    let size = lists.size.map_or(1.0, |f| match params.get(at(lists.nodes, item, f)) {
        Value::Int(n) => n.max(0) as f64,
        Value::Real(n) => n.max(0.0),
        _ => 1.0,
    });
    Node { name: text(params, at(lists.nodes, item, lists.name)), size, problem: None }
}

/// Returns the lists whose items belong to nodes, with the nouns of their items.
fn attachable(params: &dyn Params) -> Vec<(usize, String)> {
    let lists =
        params.groups().iter().enumerate().filter(|(g, group)| {
            group.list && params.shows_group(*g as u8) && field(params, *g, Role::OfNode).is_some()
        });
    lists.map(|(g, group)| (g, items::item_noun(*group).to_lowercase())).collect()
}

fn nouns(params: &dyn Params, lists: GraphLists) -> [String; 3] {
    let noun = |group: usize| items::item_noun(params.groups()[group]).to_lowercase();
    let size = lists.size.map_or("elements".into(), |f| params.groups()[lists.nodes].params[f].label());
    [noun(lists.nodes), noun(lists.edges), size.to_lowercase()]
}

/// Returns the item that the path of an item or of one of its parameters names: `edges.1`.
fn item_of_path(params: &dyn Params, path: &str) -> Option<Item> {
    let mut parts = path.split('.');
    let (name, index) = (parts.next()?, parts.next()?.parse::<usize>().ok()?);
    let group = params.groups().iter().position(|group| group.list && group.is_called(name))?;
    (index < params.len(group as u8)).then_some((group, index))
}

/// Replaces the name of a field at the start of a reason by its label: `to: …` → `To: …`.
fn with_field_label(params: &dyn Params, item: Option<Item>, why: &str) -> String {
    let field = item.zip(why.split_once(": ")).and_then(|((group, _), (name, rest))| {
        let spec = params.groups()[group].params.iter().find(|spec| spec.is_called(name))?;
        Some(format!("{}: {rest}", spec.label()))
    });
    field.unwrap_or_else(|| why.to_owned())
}

/// Returns the label of the group at the start of a path; empty if there is no such group.
fn group_label(params: &dyn Params, path: &str) -> String {
    let name = path.split('.').next().unwrap_or_default();
    let group = params.groups().iter().find(|group| group.is_called(name));
    group.map(|group| group.label().into_owned()).unwrap_or_default()
}

#[cfg(test)]
pub(in crate::app::document) mod tests;
