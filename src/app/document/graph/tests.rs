//! Tests of the graph of a document, with the lists of a kind that has them.

use super::{
    edit::{GraphEdit, duplicate, names, remove},
    *,
};
use crate::{
    params::{Change, link::Link, path},
    project::{Project, new_project},
};

/// A project with a graph, and two nodes that are connected in all four ways; the second inhibits.
pub(in crate::app::document) fn project() -> Project {
    let mut projects = Model::all().into_iter().flat_map(|model| model.templates());
    let mut project = projects
        .find_map(|template| new_project(template.name).filter(|project| Graph::of(&project.model).is_some()))
        .expect("a kind with a graph");
    let params = project.model.params_mut();
    for edit in [GraphEdit::AddNode(None), GraphEdit::AddNode(None)] {
        edit.apply(params).expect("a node");
    }
    for (from, to) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        GraphEdit::Connect { from, to, inhibits: from == 1 }.apply(params).expect("an edge");
    }
    let (list, _) = attachable(params)[0].clone();
    GraphEdit::Attach { list, node: 0 }.apply(params).expect("an input");
    project
}

fn rename(project: &mut Project, node: usize, name: &str) {
    let before = project.clone();
    let params = project.model.params_mut();
    let lists = GraphLists::of(params).expect("lists");
    params.set(&Change { id: at(lists.nodes, node, lists.name), value: Value::Text(name.into()) });
    rename::follow(project, &before);
}

#[test]
fn a_drawn_graph_can_be_built() {
    let graph = Graph::of(&project().model).expect("a graph");
    assert_eq!(graph.problems, [], "it is complete");
    let ends: Vec<_> = graph.edges.iter().map(|edge| (edge.from, edge.to, edge.weight < 0.0)).collect();
    let all = [(0, 0, false), (0, 1, false), (1, 0, true), (1, 1, true)];
    assert_eq!(ends, all.map(|(from, to, inhibits)| (Some(from), Some(to), inhibits)));
    assert_eq!(graph.edges[1].title, "Population 1 → Population 2");
    assert!(graph.edges.iter().all(|edge| edge.connections.is_some_and(|n| n > 0)));
    assert_eq!((graph.attachments.len(), graph.attachments[0].node), (1, 0));
    assert_eq!(graph.nouns.join(" "), "population projection neurons");
}

#[test]
fn a_node_is_removed_and_duplicated_with_its_edges() {
    let mut project = project();
    let params = project.model.params_mut();
    let lists = GraphLists::of(params).expect("lists");
    let counts = |params: &dyn Params| {
        let n = |group: usize| params.len(group as u8);
        [n(lists.nodes), n(lists.edges), n(attachable(params)[0].0)]
    };
    let copy = duplicate(params, (lists.nodes, 0));
    assert_eq!((copy, counts(params)), ((lists.nodes, 1), [3, 7, 2]));
    assert_eq!(names(params), ["Population 1", "Population 3", "Population 2"]);
    let graph = Graph::of(&project.model).expect("a graph");
    let of_copy: Vec<_> = graph.edges[4..].iter().map(|edge| (edge.from, edge.to)).collect();
    assert_eq!(of_copy, [(Some(1), Some(1)), (Some(1), Some(2)), (Some(2), Some(1))]);
    let params = project.model.params_mut();
    remove(params, (lists.nodes, 1));
    assert_eq!(counts(params), [2, 4, 1]);
    remove(params, (lists.nodes, 0));
    assert_eq!(counts(params), [1, 1, 0], "the edge of the other node to itself is left");
}

#[test]
fn all_references_follow_a_name() {
    let mut project = project();
    rename(&mut project, 0, "E");
    let [column, ..] = Graph::of(&project.model).expect("a graph").nouns;
    let params = project.model.params_mut();
    let list = params.groups()[GraphLists::of(params).expect("lists").nodes].name;
    let rule = path::parse(params, "projections.0.plasticity=RewardStdp").expect("a rule");
    assert!(params.set(&rule));
    let of_other = path::parse(params, "projections.0.plasticity.modulator=E").expect("a population");
    assert!(params.set(&of_other));
    for group in [list_of(params, Role::Selections), list_of(params, Role::Interventions)] {
        params.push(group as u8);
    }
    let query = |name: &str| format!("{column} = {name}, \"Population 2\" and not ei = E");
    for (role, text) in [(Role::Query, query("E")), (Role::Parameter, format!("{list}.E.size"))] {
        let ids = params.ids().into_iter().filter(|id| params.spec(*id).is_some_and(|spec| spec.role == role));
        for id in ids.collect::<Vec<_>>() {
            params.set(&Change { id, value: Value::Text(text.clone()) });
        }
    }
    project.record.push(format!("v[{}]", query("E")));
    let link =
        |name: &str| Link { path: format!("{list}.{name}.size"), formula: format!("2 * {list}.{name}.size + 0") };
    project.links = vec![link("E")];
    rename(&mut project, 0, "exc 1");
    let params = project.model.params();
    let said = |role: Role| {
        let ids = params.ids().into_iter().filter(|id| params.spec(*id).is_some_and(|spec| spec.role == role));
        ids.map(|id| text(params, id)).collect::<Vec<_>>()
    };
    assert_eq!(said(Role::From), ["exc 1", "exc 1", "Population 2", "Population 2"]);
    assert_eq!(said(Role::To), ["exc 1", "Population 2", "exc 1", "Population 2"]);
    assert_eq!(said(Role::OfNode), ["exc 1"]);
    assert_eq!(said(Role::OtherNode), ["exc 1"]);
    assert_eq!(said(Role::Query), [query("\"exc 1\"")]);
    assert_eq!(said(Role::Parameter), [format!("{list}.exc 1.size")]);
    assert_eq!(
        (project.record.last(), &project.links),
        (Some(&format!("v[{}]", query("\"exc 1\""))), &vec![link("exc 1")])
    );
}

fn list_of(params: &dyn Params, role: Role) -> usize {
    list(params, role).expect("a list")
}

#[test]
fn a_name_of_another_node_and_swapped_rows_rename_nothing() {
    let mut project = project();
    let edges = |project: &Project| Graph::of(&project.model).expect("a graph").edges;
    let before = edges(&project);
    rename(&mut project, 0, "Population 2");
    assert_eq!(edges(&project)[3].title, before[3].title);
    assert_eq!(edges(&project)[1].from, None, "the edge keeps the old name");
}

#[test]
fn an_inconsistent_graph_is_read_and_its_items_are_named() {
    let mut project = project();
    let params = project.model.params_mut();
    let lists = GraphLists::of(params).expect("lists");
    params.set(&Change { id: at(lists.edges, 1, lists.to), value: Value::Text("x".into()) });
    let name = params.groups()[lists.edges].name;
    params.set(&path::parse(params, &format!("{name}.2.delay=0.01")).expect("a delay"));
    let graph = Graph::of(&project.model).expect("a graph");
    assert_eq!((graph.edges[1].from, graph.edges[1].to), (Some(0), None));
    assert_eq!(
        graph.problems.iter().map(|p| p.item).collect::<Vec<_>>(),
        [Some((lists.edges, 1)), Some((lists.edges, 2))]
    );
    assert!(graph.problems[0].text.starts_with("Population 1 → x: "), "{:?}", graph.problems);
    assert!(graph.edges[1].problem.is_some() && graph.edges[0].problem.is_none());
    assert!(refusal(&project.model).is_some());
    assert_eq!(refusal(&Project::default().model), None, "no graph");
}
