//! Launches of an update: weighted sums of the perturbations, roots, new weights.

use super::{
    forward::Forward,
    kernels::{
        ADAM, DrawSigns, MOMENTUM, StepArgs, SumFullRank, SumLowRank, SumSquares, SumVectorSigns, TensorArgs,
        UpdateKernels, UpdateRoots, UpdateWeights,
    },
    memory::{State, Work},
};
use crate::{
    gpu::{GpuError, Grid, Pass},
    kinds::evolution::strategy::{NoiseForm, Rule, Settings, Step},
};

/// Pairs per block of a weighted sum, as in `update.cu`.
const PAIRS: u32 = 64;

/// Inputs of an update that are the same for all tensors.
pub struct Update<'a> {
    /// Settings of the strategy.
    pub settings: &'a Settings,
    /// All tensors of the model.
    pub tensors: &'a [TensorArgs],
}

/// Returns a step as the kernels read it.
pub fn args(step: &Step) -> StepArgs {
    let (rule, decay) = match step.rule {
        Rule::Normalised => (0, [0.0; 2]),
        Rule::Momentum { decay } => (MOMENTUM, [decay, 0.0]),
        Rule::Adam { decay } => (ADAM, decay),
    };
    StepArgs {
        rule,
        has_byte_residual: step.has_byte_residual.into(),
        rate: step.rate,
        threshold: step.threshold,
        limit: step.shadow_limit,
        decay1: decay[0],
        decay2: decay[1],
        correction1: step.corrections[0],
        correction2: step.corrections[1],
    }
}

impl Update<'_> {
    /// Adds the perturbations of `n` pairs, of which [`State::draws`] holds the first, times their weights, to the sums. Fails if the
    /// device fails.
    pub fn add(
        &self,
        pass: &mut Pass,
        (forward, kernels): (&Forward, &UpdateKernels),
        n: usize,
        (state, work): (&mut State, &mut Work),
    ) -> Result<(), GpuError> {
        let pairs = n as u32;
        let words_per_pair = work.sizes.words as u32;
        for t in self.tensors.iter().copied() {
            let blocks = [t.len.div_ceil(256), pairs.div_ceil(PAIRS), 1];
            let grid = Grid::Blocks { blocks, threads: [256, 1, 1], shared_bytes: 0 };
            let State { draws, pair_weights, z, .. } = &mut *state;
            match self.settings.noise {
                NoiseForm::FullRank(_) => {
                    SumFullRank { draws, t, pairs, pair_weights, z }.launch(kernels, pass, grid)?;
                }
                // The inputs of the unperturbed model are added by the forward pass.
                NoiseForm::Activations => {}
                NoiseForm::LowRank(_) if t.is_vector != 0 => {
                    SumVectorSigns { draws, t, pairs, pair_weights, z }.launch(kernels, pass, grid)?;
                }
                NoiseForm::LowRank(rank) => {
                    let words = &mut work.signs;
                    let blocks = Grid::Blocks {
                        blocks: [t.words.div_ceil(256), pairs, 1],
                        threads: [256, 1, 1],
                        shared_bytes: 0,
                    };
                    DrawSigns { draws, t, pairs, words_per_pair, words }.launch(forward.population(), pass, blocks)?;
                    let (words, rank) = (&work.signs, rank as u32);
                    let columns = if t.columns.is_multiple_of(4) { 4 } else { 1 };
                    let blocks = [t.len.div_ceil(256 * columns), pairs.div_ceil(PAIRS), 1];
                    let grid = Grid::Blocks { blocks, threads: [256, 1, 1], shared_bytes: 0 };
                    SumLowRank { draws, t, pairs, rank, words_per_pair, words, pair_weights, z }
                        .launch(kernels, pass, grid)?;
                }
            }
        }
        Ok(())
    }

    /// Changes all weights by the sums and [`State::steps`]; [`State::halves`] are 0. Fails if the device fails.
    pub fn apply(&self, pass: &mut Pass, kernels: &UpdateKernels, state: &mut State) -> Result<(), GpuError> {
        for t in self.tensors.iter().copied() {
            let grid = Grid::Threads(t.len.min(256 * 1024));
            SumSquares { t, z: &state.z, halves: &mut state.halves }.launch(kernels, pass, grid)?;
        }
        let State { halves, lengths, mean_squares, roots, counts, .. } = state;
        let n = self.tensors.len() as u32;
        UpdateRoots { n, halves, lengths, mean_squares, roots, counts }.launch(kernels, pass, Grid::Threads(n))?;
        for t in self.tensors.iter().copied() {
            let State { steps, z, roots, frozen, shadows, weights, first, second, counts, .. } = &mut *state;
            let launch = UpdateWeights { steps, t, z, roots, frozen, shadows, weights, first, second, counts };
            launch.launch(kernels, pass, Grid::Threads(t.len))?;
        }
        Ok(())
    }
}
