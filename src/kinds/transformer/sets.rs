//! Element sets: the layers, and the parameter tensors as a diagram.

use super::{
    model::{Layer, Layout},
    probes::TENSORS,
};
use crate::{
    nn::parameters::ViewId,
    sim::{Column, ElementSet},
};
use std::sync::Arc;

/// Distance between tensors in the diagram.
const STEP: f32 = 10.0;

/// Creates the element sets of layers and of tensors.
pub fn all(layout: &Layout) -> [Arc<ElementSet>; 2] {
    [Arc::new(Layer::set(layout.layer_names())), Arc::new(tensors(layout))]
}

/// Creates the diagram of all tensors with a row per layer.
fn tensors(layout: &Layout) -> ElementSet {
    let n = layout.map.views().len();
    let row = |i: usize| layout.layer(ViewId(i)).index(layout.blocks.len());
    let (mut positions, mut column) = (Vec::with_capacity(n), 0);
    for i in 0..n {
        column = if i > 0 && row(i) == row(i - 1) { column + 1 } else { 0 };
        positions.push([column as f32 * STEP, row(i) as f32 * STEP, 0.0]);
    }
    let views = || layout.map.views();
    let kinds: Vec<String> = views().enumerate().map(|(i, view)| kind(&view.name, layout.layer(ViewId(i)))).collect();
    let layer_names = layout.layer_names();
    let of_layer: Vec<&String> = (0..n).map(|i| &layer_names[row(i)]).collect();
    ElementSet {
        name: TENSORS,
        len: n as u32,
        names: views().map(|view| view.name.clone()).collect(),
        positions,
        is_diagram: true,
        columns: vec![Column::from_texts("type", &kinds), Column::from_texts("layer", &of_layer)],
        ..ElementSet::default()
    }
}

/// Returns the name of a tensor without the block index, such as `attn.qkv.weight`.
fn kind(name: &str, layer: Layer) -> String {
    match layer {
        Layer::Block(_) => name.splitn(3, '.').last().unwrap_or(name).to_owned(),
        _ => name.to_owned(),
    }
}
