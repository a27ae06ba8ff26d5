//! Element sets: pairs of members, layers, and parameter tensors.

use super::{network::Layout, probes::PAIRS};
use crate::{
    kinds::language::model::{Layer, Ranges as _, tensor_set},
    sim::ElementSet,
};
use std::sync::Arc;

/// Distance of neighbouring pairs in the diagram.
const STEP: f32 = 10.0;

/// Creates the element sets of `pairs` pairs, of layers and of tensors.
pub fn all(pairs: usize, layout: &Layout) -> Vec<Arc<ElementSet>> {
    let names = layout.layer_names();
    let row = |tensor| layout.layer(tensor).map_or(0, |layer| layer.index(names.len() - 2));
    let tensors =
        tensor_set(&layout.map, &names, row, |_, name| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned());
    vec![Arc::new(of_pairs(pairs)), Arc::new(Layer::set(names.clone())), Arc::new(tensors)]
}

/// Creates the set of pairs as a square grid.
fn of_pairs(pairs: usize) -> ElementSet {
    let columns = (pairs as f64).sqrt().ceil().max(1.0) as usize;
    let position = |pair: usize| [(pair % columns) as f32 * STEP, (pair / columns) as f32 * STEP, 0.0];
    ElementSet {
        name: PAIRS,
        len: pairs as u32,
        positions: (0..pairs).map(position).collect(),
        is_diagram: true,
        ..ElementSet::default()
    }
}
