//! The network of the earlier model, for comparisons alone: in f64, on its own semantics.
//!
//! | | reference | shipped |
//! | --- | --- | --- |
//! | attention | [`self_attention`](crate::kinds::synaptic::presynaptic::reference::self_attention) | all keys, a step of state per query |
//! | experts | two `SynapticLinear` layers with fast weights and gains | two linear layers |
//! | last norm | none | LayerNorm |

mod network;

pub use network::{Block, NetworkGradients, ReferenceNetwork};

/// `x Wᵀ`, W `[outputs, inputs]`.
fn linear(x: &[f64], weight: &[f64], inputs: usize) -> Vec<f64> {
    let rows = x.chunks_exact(inputs);
    rows.flat_map(|x| weight.chunks_exact(inputs).map(|w| x.iter().zip(w).map(|(x, w)| x * w).sum())).collect()
}

/// `dy W` and `dyᵀ x`.
fn linear_backward(dy: &[f64], x: &[f64], weight: &[f64], inputs: usize) -> (Vec<f64>, Vec<f64>) {
    let outputs = weight.len() / inputs;
    let (mut dx, mut dweight) = (vec![0.0; x.len()], vec![0.0; weight.len()]);
    let rows = dy.chunks_exact(outputs).zip(x.chunks_exact(inputs)).zip(dx.chunks_exact_mut(inputs));
    for ((dy, x), dx) in rows {
        let of_output = weight.chunks_exact(inputs).zip(dweight.chunks_exact_mut(inputs));
        for (d, (w, dw)) in dy.iter().zip(of_output) {
            dx.iter_mut().zip(w).for_each(|(dx, w)| *dx += d * w);
            dw.iter_mut().zip(x).for_each(|(dw, x)| *dw += d * x);
        }
    }
    (dx, dweight)
}

/// Adds to the elements.
fn add(to: &mut [f64], from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}
