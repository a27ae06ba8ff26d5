//! Update rules of parameters, and frozen experts.

use super::{
    backend::SynapticBackend,
    buffers::{DeviceBuffers, SynapticBuffers},
};
use crate::{
    gpu::{Buf, Slice},
    kinds::{
        language::{
            backend::Hyper,
            cuda::{buffers::UpdatePlan, error::OpError, format::ModelFormat},
            model::Layer,
        },
        synaptic::{
            backend::StepInput,
            cpu::update::frozen_ranges,
            experts::cuda::{COUNT, STATISTICS},
            model::{Layout, Role},
        },
    },
    nn::{
        optimizer::{Matrix, MatrixRun, Mode, ParameterGroups},
        parameters::{View, ViewId},
    },
    sim::SimError,
};

impl<T: ModelFormat> SynapticBackend<T> {
    /// Sets the rules, matrices and frozen experts of the next update. Fails if the device fails.
    pub(super) fn set_update(&mut self, input: &StepInput<'_>) -> Result<(), SimError> {
        let (layout, layers, gpu) = (self.network.layout.clone(), self.sizes.kind.layers, self.gpu.clone());
        let groups = groups(&layout, input.hyper, input.frozen)?;
        let is_frozen = |l: usize| u32::from(input.frozen.get(1 + l).copied().unwrap_or(false));
        let frozen: Vec<u32> = (0..layers).map(is_frozen).collect();
        let ranges = frozen_ranges(&layout, input.frozen_experts, self.network.config.experts);
        let b = &mut self.buffers_mut().kind;
        if b.known_frozen.as_ref() != Some(&frozen) {
            b.frozen.write(&frozen)?;
            b.known_frozen = Some(frozen);
        }
        if b.frozen_ranges != ranges {
            self.forget_updates()?;
            let b = &mut self.buffers_mut().kind;
            let needed = 3 * ranges.iter().map(ExactSizeIterator::len).sum::<usize>();
            if b.kept.as_ref().map_or(0, |kept| kept.len()) < needed {
                b.kept = Some(Buf::zeros(&gpu, "frozen experts", needed)?);
            }
            b.frozen_ranges = ranges;
        }
        let is_of_muon = |(id, _): &(ViewId, MatrixRun)| groups.rule(*id).mode() == Mode::Muon;
        let matrices = matrices(&layout, self.network.config.experts).filter(is_of_muon).map(|(_, run)| run).collect();
        let update = UpdatePlan { matrices, iterations: input.hyper.muon().iterations };
        self.set_optimizer(input.hyper, groups, update, input.measures)
    }
}

/// Saves the parameters and moments of frozen experts and clears their gradient, or restores them after the update. Fails
/// if the device fails.
pub(super) fn copy_frozen<T: ModelFormat>(b: &mut DeviceBuffers<T>, saves: bool) -> Result<(), OpError> {
    let DeviceBuffers { trained, kind, .. } = b;
    let SynapticBuffers { kept, frozen_ranges, .. } = kind;
    let (Some(kept), mut at) = (kept.as_mut().filter(|_| !frozen_ranges.is_empty()), 0) else { return Ok(()) };
    if saves {
        for range in &*frozen_ranges {
            trained.gradient.clear_range(range.clone())?;
        }
    }
    let all: [&mut Slice<f32>; 3] = [&mut trained.weights, &mut trained.means, &mut trained.squares];
    for buffer in all {
        for range in &*frozen_ranges {
            let (mut place, mut of) = (kept.part_mut(at..at + range.len())?, buffer.part_mut(range.clone())?);
            if saves {
                place.copy_from(&of)?
            } else {
                of.copy_from(&place)?
            }
            at += range.len();
        }
    }
    Ok(())
}

/// Returns the parameter groups with their update rules; genomes are not trained. Fails if the groups are invalid.
fn groups(layout: &Layout, hyper: &Hyper, frozen: &[bool]) -> Result<ParameterGroups, SimError> {
    let rule = |view: &View| {
        let id = layout.map.find(&view.name).unwrap_or(layout.wte);
        let role = layout.role(id);
        let is_frozen = frozen.get(layout.layer(id).index(layout.blocks.len())).copied().unwrap_or(false);
        hyper.rule(role.decays(), role.is_hidden_matrix(), is_frozen || role == Role::Genome)
    };
    ParameterGroups::new(&layout.map, rule).map_err(|why| SimError::Input(why.to_string()))
}

/// Iterates over the matrices within blocks, separately for each expert, because an update skips experts without tokens.
pub(super) fn matrices(layout: &Layout, experts: usize) -> impl Iterator<Item = (ViewId, MatrixRun)> + '_ {
    let of_view = move |(i, view): (usize, &View)| {
        let id = ViewId(i);
        let (Layer::Block(block), true) = (layout.layer(id), layout.role(id).is_hidden_matrix()) else { return None };
        let run = match view.shape[..] {
            [rows, columns] => MatrixRun::from(Matrix { start: view.start, rows, columns }),
            [count, rows, columns] => MatrixRun {
                first: Matrix { start: view.start, rows, columns },
                count,
                used: Some(block * experts * STATISTICS + COUNT as usize),
            },
            _ => return None,
        };
        Some((id, run))
    };
    layout.map.views().enumerate().filter_map(of_view)
}
