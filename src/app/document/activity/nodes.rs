//! Activity of the nodes of a graph: nodes that are silent or run away, and the parameters to look at.

use super::{ActivityNotice, RUNAWAY_HZ, WINDOW_SECS};
use crate::{
    app::{
        document::graph::{Graph, GraphLists},
        kit::text,
    },
    kinds::Model,
    params::{ParamId, Params},
    sim::{Column, ElementSet},
};

/// Maximum number of nodes with a notice of their own, per problem.
const MAX_NOTICES: usize = 3;
/// Share of the window that is known before a node counts as silent.
const KNOWN: f64 = 0.99;

/// Activity of the elements of a node in a window of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeActivity {
    pub name: String,
    /// Number of elements that are not silenced.
    pub n: u32,
    pub events: u64,
}

impl NodeActivity {
    /// Whether elements that could be active are not.
    fn is_silent(&self, secs: f64) -> bool {
        self.events == 0 && self.n > 0 && secs >= KNOWN * WINDOW_SECS
    }

    /// Returns the mean rate of an element, Hz.
    fn rate(&self, secs: f64) -> f64 {
        self.events as f64 / (f64::from(self.n.max(1)) * secs)
    }
}

/// Returns the index of the column of a set whose categories are the nodes of the graph that the parameters describe; `None` if
/// there is no such column.
pub fn column_of_nodes(set: &ElementSet, params: &dyn Params) -> Option<usize> {
    let names = GraphLists::of(params)?.node_names(params);
    let is_of_nodes = |column: &Column| column.labels.iter().eq(names.iter().map(|name| name.trim()));
    if names.is_empty() { None } else { set.columns.iter().position(is_of_nodes) }
}

/// Returns the notices about nodes that are silent or run away, in the order of the nodes.
pub fn notices(model: &Model, nodes: &[NodeActivity], secs: f64) -> Vec<ActivityNotice> {
    let silent: Vec<usize> = (0..nodes.len()).filter(|i| nodes[*i].is_silent(secs)).collect();
    let runaway: Vec<usize> = (0..nodes.len()).filter(|i| nodes[*i].rate(secs) >= RUNAWAY_HZ).collect();
    if silent.is_empty() && runaway.is_empty() {
        return vec![];
    }
    let Some(graph) = Graph::of(model).filter(|graph| graph.nodes.len() == nodes.len()) else { return vec![] };
    let advisor = Advisor { params: model.params(), graph: &graph };
    let of_silent = |i: usize| advisor.silent(i, &nodes[i].name, secs);
    let of_runaway = |i: usize| advisor.runaway(i, &nodes[i].name, nodes[i].rate(secs));
    let mut all: Vec<ActivityNotice> = runaway.iter().take(MAX_NOTICES).map(|i| of_runaway(*i)).collect();
    all.extend(advisor.others(nodes, &runaway, "run away"));
    all.extend(silent.iter().take(MAX_NOTICES).map(|i| of_silent(*i)));
    all.extend(advisor.others(nodes, &silent, "are silent"));
    all
}

/// Whether a node runs away.
pub fn is_any_runaway(nodes: &[NodeActivity], secs: f64) -> bool {
    nodes.iter().any(|node| node.rate(secs) >= RUNAWAY_HZ)
}

/// Writer of notices with the parameters to look at.
struct Advisor<'a> {
    params: &'a dyn Params,
    graph: &'a Graph,
}

impl Advisor<'_> {
    /// Returns the paths of the items that belong to a node, such as its inputs.
    fn inputs(&self, node: usize) -> Vec<String> {
        let own = self.graph.attachments.iter().filter(|attachment| attachment.node == node);
        own.map(|attachment| self.item_path(attachment.item)).collect()
    }

    fn item_path(&self, (list, item): (usize, usize)) -> String {
        format!("{}.{item}", self.params.groups()[list].name)
    }

    /// Returns the path of the weight of the strongest excitatory edge to a node; `None` without one.
    fn weight(&self, node: usize) -> Option<String> {
        let (lists, edges) = (self.graph.lists, &self.graph.edges);
        let excites = |i: &usize| edges[*i].to == Some(node) && edges[*i].weight > 0.0;
        let strength = |i: &usize| edges[*i].total_weight();
        let strongest = (0..edges.len()).filter(excites).max_by(|a, b| strength(a).total_cmp(&strength(b)))?;
        let id = ParamId { item: strongest as u16, ..ParamId::of(lists.edges, lists.weight?) };
        Some(self.params.path(id))
    }

    /// Returns the noun and the name of a node; the name alone if it begins with the noun.
    fn subject(&self, name: &str) -> String {
        let noun = text::title(&self.graph.nouns[0]);
        if name.starts_with(&noun) { name.to_owned() } else { format!("{noun} {name}") }
    }

    fn silent(&self, node: usize, name: &str, secs: f64) -> ActivityNotice {
        let (inputs, weight) = (self.inputs(node), self.weight(node));
        let edge = &self.graph.nouns[1];
        let advice = match (inputs.is_empty(), &weight) {
            (false, Some(weight)) => {
                format!("Raise its input ({}) or the weight of a {edge} to it ({weight})", inputs.join(", "))
            }
            (false, None) => format!("Raise its input ({})", inputs.join(", ")),
            (true, Some(weight)) => format!("Raise the weight of a {edge} to it ({weight}), or add an input"),
            (true, None) => format!("Nothing excites it: add an input, or a {edge} to it"),
        };
        let text = format!("{} is silent: no spike in the newest {secs:.1} s. {advice}", self.subject(name));
        ActivityNotice { text, parameter: inputs.into_iter().next().or(weight) }
    }

    fn runaway(&self, node: usize, name: &str, rate: f64) -> ActivityNotice {
        let (inputs, weight) = (self.inputs(node), self.weight(node));
        let edge = &self.graph.nouns[1];
        let advice = match (inputs.is_empty(), &weight) {
            (false, Some(weight)) => {
                format!("Lower the weight of a {edge} to it ({weight}) or its input ({})", inputs.join(", "))
            }
            (false, None) => format!("Lower its input ({})", inputs.join(", ")),
            (true, Some(weight)) => format!("Lower the weight of a {edge} to it ({weight})"),
            (true, None) => "Nothing excites it: check its own parameters and the stimuli".to_owned(),
        };
        let text = format!("{} runs away: its mean rate is {rate:.0} Hz. {advice}", self.subject(name));
        ActivityNotice { text, parameter: weight.or_else(|| inputs.into_iter().next()) }
    }

    /// Returns the notice about the nodes that have no notice of their own.
    fn others(&self, nodes: &[NodeActivity], found: &[usize], what: &str) -> Option<ActivityNotice> {
        let names: Vec<&str> = found.iter().skip(MAX_NOTICES).map(|i| nodes[*i].name.as_str()).collect();
        let text = format!("{} more {}s {what}: {}", names.len(), self.graph.nouns[0], names.join(", "));
        (!names.is_empty()).then_some(ActivityNotice { text, parameter: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{app::document::graph::tests::project, params::titles};

    fn active(events: [u64; 2]) -> Vec<NodeActivity> {
        let node = |(i, events)| NodeActivity { name: format!("Population {}", i + 1), n: 100, events };
        events.into_iter().enumerate().map(node).collect()
    }

    /// Two nodes, connected in all four ways; the first has an input, the second inhibits.
    #[test]
    fn silent_and_runaway_nodes_are_named_with_their_parameters() {
        let model = project().model;
        let params = model.params();
        let of = |events, secs| notices(&model, &active(events), secs);
        assert_eq!(of([50, 2000], 1.0), []);
        let [away, silent] = &of([0, 6000], 1.0)[..] else { panic!("two notices") };
        assert!(
            away.text.starts_with("Population 2 runs away: its mean rate is 60 Hz. Lower the weight of a"),
            "{away:?}"
        );
        let expected = "Population 1 is silent: no spike in the newest 1.0 s. Raise its input (";
        assert!(silent.text.starts_with(expected), "{silent:?}");
        let title = |notice: &ActivityNotice| titles::of_path(params, notice.parameter.as_deref().expect("a path"));
        assert_eq!(title(away).as_deref(), Some("Projections › Population 1 → Population 2 › Weight"));
        assert_eq!(title(silent).as_deref(), Some("External input › → Population 1"));
        assert!(
            titles::in_text(params, &silent.text).ends_with("(Projections › Population 1 → Population 1 › Weight)")
        );
    }

    #[test]
    fn a_node_is_silent_only_over_a_whole_window_and_unless_it_is_silenced() {
        let model = project().model;
        assert_eq!(notices(&model, &active([0, 100]), 0.5), []);
        let mut nodes = active([0, 100]);
        nodes[0].n = 0;
        assert_eq!(notices(&model, &nodes, 1.0), []);
    }

    #[test]
    fn the_nodes_are_the_categories_of_a_column_with_their_names() {
        let model = project().model;
        let column = |name: &str, texts: &[&str]| Column::from_texts(name, texts);
        let columns = vec![column("ei", &["e", "i"]), column("group", &["Population 1", "Population 2"])];
        let mut set = ElementSet { name: "neurons", len: 2, columns, ..ElementSet::default() };
        assert_eq!(column_of_nodes(&set, model.params()), Some(1));
        set.columns.pop();
        assert_eq!(column_of_nodes(&set, model.params()), None);
    }
}
