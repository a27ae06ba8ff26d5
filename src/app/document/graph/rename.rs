//! Renaming of a node: all references follow its new name.

use super::{
    GraphLists, at,
    edit::{names, referring},
    text,
};
use crate::{
    app::document::items,
    params::{Change, Params, Role, Value, ValueType},
    project::{Project, record},
    query::{self, Query},
};
use std::ops::Range;

/// Updates the references to a node that was renamed since `before`: edges, items that belong or refer to the node, queries, recorded
/// probes, links, and interventions that set its parameters. Returns the old and the new name; `None` if no single node was
/// renamed.
pub fn follow(project: &mut Project, before: &Project) -> Option<(String, String)> {
    if project.model == before.model {
        return None;
    }
    let (old, new) = renamed(&names(before.model.params()), &names(project.model.params()))?;
    let params = project.model.params_mut();
    let lists = GraphLists::of(params)?;
    follow_fields(params, lists, &old, &new);
    let column = items::item_noun(params.groups()[lists.nodes]).to_lowercase();
    follow_queries(params, &column, &old, &new);
    let list = params.groups()[lists.nodes].name;
    follow_paths(params, list, &old, &new);
    for link in &mut project.links {
        link.path = with_name(&link.path, list, &old, &new);
        link.formula = with_name(&link.formula, list, &old, &new);
    }
    for entry in &mut project.record {
        if let Some(query) = record::query_of(entry).and_then(|query| in_query(query, &column, &old, &new)) {
            *entry = record::with_query(entry, &query);
        }
    }
    Some((old, new))
}

/// Returns the old and the new name if exactly one differs, the old one is not in `now` and the new one was not in
/// `before`.
fn renamed(before: &[String], now: &[String]) -> Option<(String, String)> {
    let mut differing = before.iter().zip(now).filter(|(a, b)| a != b);
    let ((old, new), None) = (differing.next()?, differing.next()) else { return None };
    let is_unique = before.len() == now.len() && !now.contains(old) && !before.contains(new);
    (is_unique && !old.is_empty() && !new.is_empty()).then(|| (old.clone(), new.clone()))
}

fn follow_fields(params: &mut dyn Params, lists: GraphLists, old: &str, new: &str) {
    for (list, fields) in referring(params, lists) {
        let ids = (0..params.len(list as u8)).flat_map(|item| fields.iter().map(move |f| at(list, item, *f)));
        for id in ids.collect::<Vec<_>>() {
            if text(params, id) == old {
                params.set(&Change { id, value: Value::Text(new.to_owned()) });
            }
        }
    }
    let refers = |id: &_| params.spec(*id).is_some_and(|spec| spec.role == Role::OtherNode) && text(params, *id) == old;
    let ids: Vec<_> = params.ids().into_iter().filter(refers).collect();
    for id in ids {
        params.set(&Change { id, value: Value::Text(new.to_owned()) });
    }
}

/// Updates the queries that compare the column with the name of the nodes' noun.
fn follow_queries(params: &mut dyn Params, column: &str, old: &str, new: &str) {
    let is_query = |id: &_| params.spec(*id).is_some_and(|spec| spec.kind == ValueType::Query);
    let queries: Vec<_> = params.ids().into_iter().filter(is_query).collect();
    for id in queries {
        if let Some(query) = in_query(&text(params, id), column, old, new) {
            params.set(&Change { id, value: Value::Text(query) });
        }
    }
}

/// Updates the interventions that set parameters of the node.
fn follow_paths(params: &mut dyn Params, list: &str, old: &str, new: &str) {
    let is_path = |id: &_| params.spec(*id).is_some_and(|spec| spec.role == Role::Parameter);
    let paths: Vec<_> = params.ids().into_iter().filter(is_path).collect();
    for id in paths {
        let path = text(params, id);
        let value = with_name(&path, list, old, new);
        if value != path {
            params.set(&Change { id, value: Value::Text(value) });
        }
    }
}

/// Returns a query with a label of a column renamed; `None` if the query does not contain the label or is invalid.
fn in_query(text: &str, column: &str, old: &str, new: &str) -> Option<String> {
    let mut places = vec![];
    labels_in(&query::parse(text).ok()?, column, old, &mut places);
    places.sort_by_key(|at| std::cmp::Reverse(at.start));
    let mut out = text.to_owned();
    places.iter().for_each(|at| out.replace_range(at.clone(), &query::quote(new)));
    (!places.is_empty()).then_some(out)
}

fn labels_in(query: &Query, column: &str, label: &str, out: &mut Vec<Range<usize>>) {
    match query {
        Query::Test(of, _, values) if of.text == column => {
            out.extend(values.iter().filter(|value| value.text == label).map(|value| value.at.clone()));
        }
        Query::All | Query::Set(_) | Query::Test(..) => {}
        Query::Not(of) | Query::Choose { of, .. } | Query::Linked { of, .. } => labels_in(of, column, label, out),
        Query::And(all) | Query::Or(all) => all.iter().for_each(|of| labels_in(of, column, label, out)),
    }
}

/// Returns a text in which the paths of an item of a list contain its new name: `nodes.E.size` → `nodes.exc.size`.
fn with_name(text: &str, list: &str, old: &str, new: &str) -> String {
    let (find, replace) = (format!("{list}.{old}."), format!("{list}.{new}."));
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(&find) {
        let is_start = !rest[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
        out += &rest[..start];
        out += if is_start { &replace } else { &find };
        rest = &rest[start + find.len()..];
    }
    out + rest
}
