//! Element sets: the layers, and the parameter tensors as a diagram.

use super::model::{Layer, Layout};
use crate::{kinds::language::model::tensor_set, nn::parameters::ViewId, sim::ElementSet};
use std::sync::Arc;

/// Creates the element sets of layers and of tensors.
pub fn all(layout: &Layout) -> [Arc<ElementSet>; 2] {
    let layer = |i: usize| layout.layer(ViewId(i));
    let row = |i: usize| layer(i).index(layout.blocks.len());
    let tensors = tensor_set(&layout.map, &layout.layer_names(), row, |i, name| kind(name, layer(i)));
    [Arc::new(Layer::set(layout.layer_names())), Arc::new(tensors)]
}

/// Returns the name of a tensor without the block index, such as `attn.qkv.weight`.
fn kind(name: &str, layer: Layer) -> String {
    match layer {
        Layer::Block(_) => name.splitn(3, '.').last().unwrap_or(name).to_owned(),
        _ => name.to_owned(),
    }
}
