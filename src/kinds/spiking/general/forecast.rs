//! Prediction of the network that a build makes from populations and projections, or all reasons why it cannot be
//! built.

use super::{
    Population,
    plan::{self, Plan},
};
use crate::{
    kinds::spiking::params::Params,
    sim::{GraphForecast, GraphProblem, SimError},
};

/// Largest number of items that are checked one by one. Of longer lists only the first problem is returned.
const MAX_CHECKED: usize = 200;

/// Approximate number of synapses that one CPU core makes per second, for the network of Brunel (2000).
const SYNAPSES_PER_SECOND: f64 = 9e6;

/// Predicts the network of the parameters.
pub fn forecast(params: &Params) -> GraphForecast {
    match plan::plan(params) {
        Ok(plan) => of_plan(&plan),
        Err(error) => {
            let first = problem(&error);
            let n = params.populations.len() + params.projections.len() + params.external_inputs.len();
            let mut checked = if n <= MAX_CHECKED { item_by_item(params) } else { GraphForecast::default() };
            checked.connections.resize(params.projections.len(), None);
            if checked.problems.is_empty() {
                checked.problems.push(first);
            }
            checked
        }
    }
}

fn of_plan(plan: &Plan) -> GraphForecast {
    GraphForecast {
        connections: plan.projections.iter().map(|projection| Some(projection.synapses)).collect(),
        bytes: plan.connection_bytes(),
        seconds: plan.synapses() as f64 / SYNAPSES_PER_SECOND,
        problems: vec![],
    }
}

/// Checks each item with only those items that it refers to.
fn item_by_item(params: &Params) -> GraphForecast {
    let mut out = GraphForecast::default();
    let mut alone = Params { projections: vec![], external_inputs: vec![], ..params.clone() };
    alone.populations = valid_populations(params, &mut out.problems);
    for (i, projection) in params.projections.iter().enumerate() {
        alone.projections = vec![projection.clone()];
        let planned = plan::plan(&alone);
        out.connections.push(planned.as_ref().ok().map(Plan::synapses));
        out.problems.extend(planned.err().map(|error| problem_of(&error, "projections", i)));
    }
    alone.projections.clear();
    for (i, input) in params.external_inputs.iter().enumerate() {
        alone.external_inputs = vec![input.clone()];
        out.problems.extend(plan::plan(&alone).err().map(|error| problem_of(&error, "external_inputs", i)));
    }
    out
}

/// Returns the populations, with those that cannot be made replaced by the smallest possible ones.
fn valid_populations(params: &Params, problems: &mut Vec<GraphProblem>) -> Vec<Population> {
    let mut checked = Params { projections: vec![], external_inputs: vec![], populations: vec![], ..params.clone() };
    for (i, population) in params.populations.iter().enumerate() {
        checked.populations.push(population.clone());
        let Err(error) = plan::plan(&checked) else { continue };
        let problem = problem(&error);
        if problem.path != format!("populations.{i}") {
            problems.push(problem); // the cause is no population
            return params.populations.clone();
        }
        problems.push(problem);
        let with_name = |name: String| Population { name, size: 1, ..Population::default() };
        checked.populations[i] = with_name(population.name.clone());
        if plan::plan(&checked).is_err() {
            checked.populations[i] = with_name(format!("\u{0}{i}"));
        }
    }
    checked.populations
}

/// Splits an error at the path with which it begins: `projections.1 (e → i): delay: …`.
fn problem(error: &SimError) -> GraphProblem {
    let text = error.to_string();
    let (head, why) = text.split_once(": ").unwrap_or(("", &text));
    let path = head.split(" (").next().unwrap_or_default();
    let is_path = !path.is_empty() && path.chars().all(|c| c.is_ascii_alphanumeric() || "._".contains(c));
    match is_path {
        true => GraphProblem { path: path.to_owned(), why: why.to_owned() },
        false => GraphProblem { path: String::new(), why: text.clone() },
    }
}

/// Returns the problem of an item that was planned alone.
fn problem_of(error: &SimError, list: &str, item: usize) -> GraphProblem {
    GraphProblem { path: format!("{list}.{item}"), ..problem(error) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::spiking::{Source, general::Projection},
        params::{Params as _, path},
    };

    fn with(edits: &[&str]) -> GraphForecast {
        let mut params = Params::default();
        params.network.source = Source::Rules;
        for (name, size) in [("e", 800), ("i", 200)] {
            params.populations.push(Population { name: name.into(), size, ..Population::default() });
        }
        for (from, to) in [("e", "i"), ("i", "e")] {
            let (from, to) = (from.into(), to.into());
            params.projections.push(Projection { from, to, ..Projection::default() });
        }
        for edit in edits {
            let change = path::parse(&params, edit).unwrap_or_else(|why| panic!("{edit}: {why}"));
            assert!(params.set(&change), "{edit}");
        }
        forecast(&params)
    }

    #[test]
    fn a_network_is_predicted_edge_by_edge() {
        let found = with(&["projections.1.rule=AllToAll"]);
        assert_eq!(found.connections, [Some(16_000), Some(160_000)]);
        assert_eq!((found.total(), found.problems.len()), (176_000, 0));
        assert!(found.bytes >= 4 * 176_000, "{} bytes", found.bytes);
    }

    #[test]
    fn every_item_that_cannot_be_made_is_named() {
        for (edits, paths, connections) in [
            (&["projections.1.from=x"][..], &["projections.1"][..], [Some(16_000), None]),
            (&["projections.0.to=y", "projections.1.delay=0.01"], &["projections.0", "projections.1"], [None, None]),
            (&["populations.1.name=e"], &["populations.1", "projections.0", "projections.1"], [None, None]),
        ] {
            let found = with(edits);
            let named: Vec<&str> = found.problems.iter().map(|problem| problem.path.as_str()).collect();
            assert_eq!((named.as_slice(), found.connections.as_slice()), (paths, &connections[..]), "{found:?}");
            assert_eq!(found.bytes, 0);
        }
        assert_eq!(with(&["projections.1.from=x"]).problems[0].why, "from: there is no population `x`; there is e, i");
        let empty = forecast(&Params::default());
        assert_eq!((empty.problems[0].path.as_str(), empty.connections.len()), ("populations", 0));
    }
}
