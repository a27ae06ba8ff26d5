//! Edits of a graph. Each changes the lists of the document and returns the item that it affects.

use super::{GraphLists, at, attachable, places::Place, text};
use crate::{
    app::document::items::{self, Item},
    params::{Change, Distribution, ParamId, Params, Role, Value, interventions::field},
};

/// Weight of a new inhibitory edge relative to the declared weight, so that fewer inhibitory elements balance the others.
const INHIBITION: f64 = -4.0;

/// Edit that a view requests.
#[derive(Clone, Debug, PartialEq)]
pub enum GraphEdit {
    /// Adds a node, at a position if one is given.
    AddNode(Option<Place>),
    /// Adds an item that belongs to a node.
    Attach {
        /// List of the item, by index of the group.
        list: usize,
        /// Index of the node.
        node: usize,
    },
    /// Adds an edge.
    Connect {
        /// Index of the node at which the edge starts.
        from: usize,
        /// Index of the node at which the edge ends.
        to: usize,
        /// Whether the weight is negative.
        inhibits: bool,
    },
    /// Reverses the sign of the weight of the edge with this index.
    Negate(usize),
    /// Selects an item of a list, or none.
    Select(Option<Item>),
}

impl GraphEdit {
    /// Applies the edit. Returns the item to select, and the label of the undo step; `None` if the parameters do not change.
    pub fn apply(&self, params: &mut dyn Params) -> Option<(Item, String)> {
        let lists = GraphLists::of(params)?;
        let item = match *self {
            Self::Negate(edge) => return negate(params, lists, edge),
            Self::AddNode(_) => add_node(params, lists),
            Self::Attach { list, node } => attach(params, lists, (list, node))?,
            Self::Connect { from, to, inhibits } => connect(params, lists, (from, to), inhibits),
            Self::Select(_) => return None,
        };
        let (noun, name) = (items::item_noun(params.groups()[item.0]), items::item_name(params, item.0, item.1));
        Some((item, format!("add {} “{name}”", noun.to_lowercase())))
    }
}

/// Adds a node with a name that no other node has.
fn add_node(params: &mut dyn Params, lists: GraphLists) -> Item {
    let item = (lists.nodes, params.len(lists.nodes as u8));
    params.push(lists.nodes as u8);
    name_node(params, item.1);
    item
}

/// Gives a node without a name the noun of a node and a number as its name: `Population 2`. Has no effect if the
/// parameters describe no graph.
pub fn name_node(params: &mut dyn Params, node: usize) {
    let Some(lists) = GraphLists::of(params) else { return };
    let id = at(lists.nodes, node, lists.name);
    if text(params, id).is_empty() {
        let name = free_name(params, lists, &items::item_noun(params.groups()[lists.nodes]));
        params.set(&Change { id, value: Value::Text(name) });
    }
}

/// Returns the names of all nodes.
pub fn names(params: &dyn Params) -> Vec<String> {
    let Some(lists) = GraphLists::of(params) else { return vec![] };
    (0..params.len(lists.nodes as u8)).map(|i| text(params, at(lists.nodes, i, lists.name))).collect()
}

/// Returns the first of `stem 1`, `stem 2`, … that is not the name of a node. A stem other than the noun begins at 2.
fn free_name(params: &dyn Params, lists: GraphLists, stem: &str) -> String {
    let names = names(params);
    let first = 1 + usize::from(stem != items::item_noun(params.groups()[lists.nodes]));
    (first..).map(|n| format!("{stem} {n}")).find(|name| !names.contains(name)).unwrap_or_default()
}

fn attach(params: &mut dyn Params, lists: GraphLists, (list, node): (usize, usize)) -> Option<Item> {
    let of = field(params, list, Role::OfNode)?;
    let item = params.len(list as u8);
    let name = text(params, at(lists.nodes, node, lists.name));
    params.push(list as u8);
    params.set(&Change { id: at(list, item, of), value: Value::Text(name) });
    Some((list, item))
}

fn connect(params: &mut dyn Params, lists: GraphLists, (from, to): (usize, usize), inhibits: bool) -> Item {
    let item = params.len(lists.edges as u8);
    params.push(lists.edges as u8);
    for (f, node) in [(lists.from, from), (lists.to, to)] {
        let name = text(params, at(lists.nodes, node, lists.name));
        params.set(&Change { id: at(lists.edges, item, f), value: Value::Text(name) });
    }
    if let Some(id) = lists.weight.map(|f| at(lists.edges, item, f)).filter(|_| inhibits) {
        let value = match params.get(id) {
            Value::Distribution(law) => Value::Distribution(Distribution::constant(INHIBITION * law.quantile(0.5))),
            Value::Real(x) => Value::Real(INHIBITION * x),
            other => other,
        };
        params.set(&Change { id, value });
    }
    (lists.edges, item)
}

/// Reverses the sign of the weight of an edge. Returns the edge and the label of the undo step; `None` if edges have no weight.
fn negate(params: &mut dyn Params, lists: GraphLists, edge: usize) -> Option<(Item, String)> {
    let id = at(lists.edges, edge, lists.weight?);
    let (value, inhibits) = match params.get(id) {
        Value::Distribution(law) => (Value::Distribution(law.negated()), law.negated().quantile(0.5) < 0.0),
        Value::Real(x) => (Value::Real(-x), x > 0.0),
        _ => return None,
    };
    params.set(&Change { id, value });
    let (name, sign) =
        (items::item_name(params, lists.edges, edge), if inhibits { "inhibitory" } else { "excitatory" });
    Some(((lists.edges, edge), format!("make “{name}” {sign}")))
}

/// Inserts a copy of an item after the item, and returns the copy. The copy of a node has a free name, and a copy of
/// each edge and of each item that belongs to the node.
pub fn duplicate(params: &mut dyn Params, (group, item): Item) -> Item {
    let copy = (group, item + 1);
    let lists = GraphLists::of(params).filter(|lists| lists.nodes == group);
    let old = lists.map(|lists| text(params, at(group, item, lists.name)));
    change_rows(params, group, |rows| {
        if let Some(row) = rows.get(item).cloned() {
            rows.insert(item + 1, row);
        }
    });
    let (Some(lists), Some(old)) = (lists, old) else { return copy };
    let new = free_name(params, lists, stem(&old));
    params.set(&Change { id: at(group, item + 1, lists.name), value: Value::Text(new.clone()) });
    for (list, ends) in referring(params, lists) {
        change_rows(params, list, |rows| {
            let names_it = |row: &&Vec<Value>| ends.iter().any(|f| is_text(&row[*f], &old));
            let mut copies: Vec<_> = rows.iter().filter(names_it).cloned().collect();
            copies.iter_mut().for_each(|row| replace_text(row, &ends, &old, &new));
            rows.append(&mut copies);
        });
    }
    copy
}

/// Removes an item of a list. A node is removed with its edges and with the items that belong to it.
pub fn remove(params: &mut dyn Params, (group, item): Item) {
    let lists = GraphLists::of(params).filter(|lists| lists.nodes == group);
    let name = lists.map(|lists| text(params, at(group, item, lists.name)));
    change_rows(params, group, |rows| {
        if item < rows.len() {
            rows.remove(item);
        }
    });
    let (Some(lists), Some(name)) = (lists, name) else { return };
    if names(params).contains(&name) {
        return; // another node has the name
    }
    for (list, ends) in referring(params, lists) {
        change_rows(params, list, |rows| rows.retain(|row| !ends.iter().any(|f| is_text(&row[*f], &name))));
    }
}

/// Returns the lists whose items name nodes, with the fields that contain the names.
pub(super) fn referring(params: &dyn Params, lists: GraphLists) -> Vec<(usize, Vec<usize>)> {
    let attached = attachable(params).into_iter();
    let attached = attached.filter_map(|(list, _)| Some((list, vec![field(params, list, Role::OfNode)?])));
    [(lists.edges, vec![lists.from, lists.to])].into_iter().chain(attached).collect()
}

fn change_rows(params: &mut dyn Params, group: usize, change: impl FnOnce(&mut Vec<Vec<Value>>)) {
    let id = ParamId::list(group);
    if let Value::Rows(mut rows) = params.get(id) {
        change(&mut rows);
        params.set(&Change { id, value: Value::Rows(rows) });
    }
}

fn is_text(value: &Value, text: &str) -> bool {
    matches!(value, Value::Text(found) if found == text)
}

fn replace_text(row: &mut [Value], fields: &[usize], old: &str, new: &str) {
    for f in fields {
        if is_text(&row[*f], old) {
            row[*f] = Value::Text(new.to_owned());
        }
    }
}

/// Returns a name without a number at its end.
fn stem(name: &str) -> &str {
    match name.rsplit_once(' ') {
        Some((stem, number)) if !stem.is_empty() && number.chars().all(|c| c.is_ascii_digit()) => stem,
        _ => name,
    }
}
