//! Network of a SONATA circuit: populations and projections from files, or a network of synapse counts.

use super::{
    cell_models,
    general::{ConnectionRule, Cuba, FromFile, PointNeuron, Population, Projection, PscExp},
    params::{Params, Source},
};
use crate::{
    data::circuit::{Circuit, CircuitFiles, EdgePopulation, NodePopulation},
    params::{Distribution, ParamValue as _, PathText, Value},
    sim::{ImportedNetwork, SimError},
};
use std::path::Path;

/// Range of time steps of networks from rules, ms.
const STEPS_MS: std::ops::RangeInclusive<f64> = 0.001..=10.0;
/// Range of durations, ms.
const DURATIONS_MS: std::ops::RangeInclusive<f64> = 0.0..=1e12;
/// Maximum number of templates in a sentence.
const NAMED: usize = 6;

/// Reads the configuration of a circuit or of a simulation. Numbers of synapses within one population make a network from files;
/// other circuits are networks from rules with one projection per population of edges. Neurons have the parameters that the circuit
/// names.
///
/// # Errors
/// Fails with the file and the place if the configuration or a file that it names is damaged, or no population has dynamics.
pub fn read(path: &Path) -> Result<ImportedNetwork<Params>, SimError> {
    let circuit = CircuitFiles::read(path).and_then(CircuitFiles::open);
    let circuit = circuit.map_err(|why| SimError::Input(why.to_string()))?;
    let mut notes = circuit.notes.clone();
    let nodes: Vec<&NodePopulation> = circuit.nodes.iter().filter(|node| has_dynamics(node, &mut notes)).collect();
    if nodes.is_empty() {
        let what = "no population has neurons with dynamics: all are empty or virtual";
        return Err(SimError::Input(format!("{}: {what}", circuit.path.display())));
    }
    let is_taken = |edges: &&EdgePopulation| {
        let ends = [&edges.source, &edges.target];
        let lost = ends.into_iter().find(|end| nodes.iter().all(|node| node.name != **end));
        if let Some(lost) = lost {
            notes.push(format!("Edges `{}` are left out with their population `{lost}`", edges.name));
        }
        lost.is_none()
    };
    let edges: Vec<&EdgePopulation> = circuit.edges.iter().filter(is_taken).collect();
    let mut params = match (&nodes[..], &edges[..]) {
        ([node], [edges]) if edges.counts_synapses => of_counts(node, edges, &mut notes)?,
        _ => of_rules(&nodes, &edges, &mut notes)?,
    };
    let within = |value: f64, range: std::ops::RangeInclusive<f64>, what: &str| {
        let error = || {
            let file = path.display();
            SimError::Input(format!(
                "{file}: run.{what}: {value} ms is not possible; {} to {} ms",
                range.start(),
                range.end()
            ))
        };
        if range.contains(&value) { Ok(value) } else { Err(error()) }
    };
    if let Some(dt) = circuit.run.dt_ms {
        params.rules.dt = within(dt, STEPS_MS, "dt")?;
        params.lif.dt = params.rules.dt;
    }
    let duration_ms = circuit.run.duration_ms.map(|ms| within(ms, DURATIONS_MS, "tstop")).transpose()?;
    Ok(ImportedNetwork { params, name: name_of(&circuit), duration_ms, seed: circuit.run.seed, notes })
}

/// Returns the name of the folder of a circuit.
fn name_of(circuit: &Circuit) -> String {
    let folder = circuit.path.parent().and_then(Path::file_stem);
    folder.map_or_else(|| "circuit".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Whether a population has neurons to simulate; if not, adds a sentence about it.
fn has_dynamics(node: &NodePopulation, notes: &mut Vec<String>) -> bool {
    let name = &node.name;
    if node.is_virtual {
        notes.push(format!(
            "Population `{name}` is left out: its nodes are virtual, with spikes from a file. Add an external input to its targets"
        ));
    } else if node.n == 0 {
        notes.push(format!("Population `{name}` is left out: it has no nodes"));
    }
    !node.is_virtual && node.n > 0
}

fn of_counts(node: &NodePopulation, edges: &EdgePopulation, notes: &mut Vec<String>) -> Result<Params, SimError> {
    let mut params = Params::default();
    params.network.source = Source::Files;
    params.network.path = text(&edges.file);
    params.network.neurons = text(&node.file);
    cell_models::read_counts(&mut params, node, notes)?;
    Ok(params)
}

fn of_rules(nodes: &[&NodePopulation], edges: &[&EdgePopulation], notes: &mut Vec<String>) -> Result<Params, SimError> {
    let mut params = Params::default();
    params.network.source = Source::Rules;
    "population".clone_into(&mut params.measure.group_by);
    params.populations = nodes.iter().map(|node| population(node, edges, notes)).collect();
    params.projections = edges.iter().map(|edges| projection(edges, notes)).collect();
    for (i, node) in nodes.iter().enumerate().filter(|(_, node)| model_of(node).is_some()) {
        cell_models::read_population(&mut params, i, node, notes)?;
    }
    Ok(params)
}

fn population(node: &NodePopulation, edges: &[&EdgePopulation], notes: &mut Vec<String>) -> Population {
    let unit = edges.iter().find(|edges| edges.target == node.name).and_then(|edges| edges.unit.as_deref());
    let known = model_of(node);
    let is_known = known.is_some();
    let of_unit = || match unit {
        Some("mV") => PointNeuron::Cuba(Cuba::default()),
        _ => PointNeuron::IafPscExp(PscExp::default()),
    };
    let model = known.unwrap_or_else(of_unit);
    if !is_known || node.has_dynamics && node.model_file.is_none() {
        let named: Vec<&str> = node.templates.iter().take(NAMED).map(String::as_str).collect();
        let of_file = match (named.is_empty(), node.templates.len() > NAMED) {
            (true, _) => "no model".to_owned(),
            (false, more) => format!("{}{}", named.join(", "), if more { ", …" } else { "" }),
        };
        notes.push(format!(
            "Population `{}` has the model {} with default values; the circuit names {of_file}. Set Populations › Neuron model",
            node.name,
            title_of(&model)
        ));
    }
    Population { name: node.name.clone(), size: node.n.into(), model, ..Population::default() }
}

/// Returns the neuron model that all node types of a population name, with default values; `None` if they name none, several or an
/// unknown one.
fn model_of(node: &NodePopulation) -> Option<PointNeuron> {
    let only = node.templates.first().filter(|_| node.templates.len() == 1)?;
    model_titled(only.rsplit(':').next()?)
}

/// Returns the neuron model with a title, which is the name that NEST gives it, with default values; `None` if there is none.
fn model_titled(title: &str) -> Option<PointNeuron> {
    let variants = PointNeuron::TYPE.variants();
    let at = variants.iter().position(|variant| variant.choice.title == title)?;
    PointNeuron::from_value(&Value::Variant(at as u16, (variants[at].defaults)()))
}

/// Returns the title of a neuron model.
pub(super) fn title_of(model: &PointNeuron) -> &'static str {
    match model.to_value() {
        Value::Variant(at, _) => PointNeuron::TYPE.variants()[usize::from(at)].choice.title,
        _ => "",
    }
}

fn projection(edges: &EdgePopulation, notes: &mut Vec<String>) -> Projection {
    let projection = Projection {
        from: edges.source.clone(),
        to: edges.target.clone(),
        rule: ConnectionRule::FromFile(FromFile { path: text(&edges.file) }),
        weight: Distribution::constant(1.0),
        ..Projection::default()
    };
    if !edges.has_delays {
        let delay = projection.delay.as_constant().unwrap_or_default();
        notes.push(format!(
            "Edges `{}` have no delays: the projection has {delay} ms. Set Projections › Delay",
            edges.name
        ));
    }
    projection
}

fn text(path: &Path) -> PathText {
    PathText(path.display().to_string())
}
