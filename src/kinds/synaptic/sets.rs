//! Element sets: expert slots, layers, and the map of experts and tokens.

use super::{
    model::{Config, Layer, Layout},
    probes::{EXPERTS, MAP},
};
use crate::sim::{Column, ElementSet, MotionFields};
use std::sync::Arc;

/// Distance between slots in the diagram.
const STEP: f32 = 10.0;
/// Largest number of tokens of a layer in the map.
pub const MAP_TOKENS: usize = 64;

/// Creates the element sets of experts, layers and the map.
pub fn all(config: &Config, layout: &Layout) -> [Arc<ElementSet>; 3] {
    [Arc::new(experts(config)), Arc::new(Layer::set(layout.layer_names())), Arc::new(map(config))]
}

/// Returns the number of tokens of a layer in the map.
pub fn map_tokens(config: &Config) -> usize {
    config.context.min(MAP_TOKENS)
}

/// Creates the element set of slots, with a row per layer. Individuals are named after their slot and generation (`L0
/// E3.2`).
fn experts(config: &Config) -> ElementSet {
    let slots = (0..config.layers).flat_map(|layer| (0..config.experts).map(move |slot| (layer, slot)));
    let positions = slots.clone().map(|(layer, slot)| [slot as f32 * STEP, layer as f32 * STEP, 0.0]).collect();
    let layers: Vec<String> = slots.clone().map(|(layer, _)| layer.to_string()).collect();
    ElementSet {
        name: EXPERTS,
        len: layers.len() as u32,
        names: slots.map(|(layer, slot)| slot_name(layer, slot)).collect(),
        are_slots: true,
        positions,
        motion: Some(MotionFields::Axes(["axis_1", "axis_2", "axis_3"])),
        size: Some("load"),
        is_diagram: true,
        columns: vec![Column::from_texts("layer", &layers)],
        ..ElementSet::default()
    }
}

/// Returns the name of a slot, a prefix of the names of its individuals.
pub fn slot_name(layer: usize, slot: usize) -> String {
    format!("L{layer} E{slot}")
}

/// Creates the element set of the map: for each layer its experts, then the tokens of the text.
fn map(config: &Config) -> ElementSet {
    let (mut names, mut types, mut layers) = (vec![], vec![], vec![]);
    for layer in 0..config.layers {
        let experts = (0..config.experts).map(|slot| (slot_name(layer, slot), "expert"));
        let tokens = (0..map_tokens(config)).map(|token| (format!("L{layer} token {token}"), "token"));
        for (name, kind) in experts.chain(tokens) {
            names.push(name);
            types.push(kind);
            layers.push(layer.to_string());
        }
    }
    ElementSet {
        name: MAP,
        display_noun: "points of the router map",
        len: names.len() as u32,
        names,
        motion: Some(MotionFields::Axes(["map_1", "map_2", "map_3"])),
        size: Some("map_load"),
        is_diagram: true,
        columns: vec![Column::from_texts("type", &types), Column::from_texts("layer", &layers)],
        ..ElementSet::default()
    }
}
