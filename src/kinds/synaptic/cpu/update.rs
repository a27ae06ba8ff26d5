//! Optimiser: AdamW, and Muon for matrices within blocks, separately for each expert.
//!
//! Genomes are not trained. Frozen blocks and experts keep parameters and moments, and their gradients do not count in the
//! norm. Muon skips experts without tokens, whose gradient is zero and has no direction.

use super::network::{Network, refused};
use crate::{
    kinds::synaptic::{
        backend::{ExpertStep, StepInput},
        model::{Layer, Layout, Role},
    },
    nn::{
        optimizer::{
            Clip, Matrix, Method, Update,
            cpu::{Buffers, Outcome, adamw, muon, sum_of_squares},
        },
        parameters::ViewId,
        real::Real,
    },
    sim::SimError,
};
use std::ops::Range;

/// Updates the weights and the moments `(m, v)`; `t` is the index of this update from 1. Sets the gradient of frozen
/// experts to 0. Fails if the sizes do not match.
pub fn apply<R: Real + Default>(
    network: &mut Network<R>,
    (m, v): (&mut [R], &mut [R]),
    gradient: &mut [R],
    t: u64,
    input: &StepInput<'_>,
    experts: &[ExpertStep],
) -> Result<Outcome, SimError> {
    let (layout, hyper, p) = (&network.layout, input.hyper, &mut network.weights[..]);
    let kept = frozen_ranges(layout, input.frozen_experts, network.config.experts);
    kept.iter().for_each(|range| gradient[range.clone()].fill(R::zero()));
    let trained: Vec<ViewId> = (0..layout.map.views().len())
        .map(ViewId)
        .filter(|view| {
            let is_frozen = input.frozen.get(layout.layer(*view).index(layout.blocks.len())).copied().unwrap_or(false);
            layout.role(*view) != Role::Genome && !is_frozen
        })
        .collect();
    let squares = trained.iter().map(|view| sum_of_squares(&gradient[layout.map.view(*view).range()]));
    let norm = squares.sum::<f64>().sqrt();
    if !norm.is_finite() {
        return Ok(Outcome { norm, is_applied: false });
    }
    let save = |x: &[R]| kept.iter().flat_map(|range| x[range.clone()].iter().copied()).collect::<Vec<R>>();
    let saved = [save(p), save(m), save(v)];
    let grad_scale = Clip(hyper.clip.into()).factor(norm);
    let update = Update { t, learning_rate: hyper.learning_rate.into(), grad_scale };
    for view in trained {
        let role = layout.role(view);
        let rule = hyper.rule(role.decays(), role.is_hidden_matrix(), false);
        match rule.method {
            Method::AdamW => {
                let range = layout.map.view(view).range();
                let to = Buffers { p: &mut p[range.clone()], m: &mut m[range.clone()], v: &mut v[range.clone()] };
                adamw(&hyper.adamw(), &update, &rule, to, &gradient[range]);
            }
            Method::Muon => {
                let op = hyper.muon();
                for matrix in matrices(layout, view, experts) {
                    let range = matrix.range();
                    let (p, m) = (&mut p[range.clone()], &mut m[range.clone()]);
                    muon(&op, &update, &rule, &matrix, p, m, &gradient[range]).map_err(refused)?;
                }
            }
        }
    }
    for (buffer, saved) in [p, m, v].into_iter().zip(saved) {
        let mut saved = &saved[..];
        for range in &kept {
            let (values, rest) = saved.split_at(range.len());
            buffer[range.clone()].copy_from_slice(values);
            saved = rest;
        }
    }
    Ok(Outcome { norm, is_applied: true })
}

/// Returns the matrices of a view that have a gradient.
fn matrices(layout: &Layout, id: ViewId, experts: &[ExpertStep]) -> Vec<Matrix> {
    let view = layout.map.view(id);
    match view.shape[..] {
        [rows, columns] => vec![Matrix { start: view.start, rows, columns }],
        [n, rows, columns] => {
            let Layer::Block(block) = layout.layer(id) else { return vec![] };
            let has_tokens = |e: &usize| experts.get(block).is_none_or(|step| step.load.counts[*e] > 0);
            let start = |e| view.start + e * rows * columns;
            (0..n).filter(has_tokens).map(|e| Matrix { start: start(e), rows, columns }).collect()
        }
        _ => vec![],
    }
}

/// Returns the ranges of the parameters of frozen experts.
pub fn frozen_ranges(layout: &Layout, frozen: &[bool], experts: usize) -> Vec<Range<usize>> {
    let all = (0..frozen.len()).filter(|i| frozen[*i]);
    let ranges = all.filter_map(|i| Some((layout.blocks.get(i / experts)?, i % experts)));
    ranges.flat_map(|(block, e)| block.of_experts().map(|view| layout.expert_range(view, e))).collect()
}
