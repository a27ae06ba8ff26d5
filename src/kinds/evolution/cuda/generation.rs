//! A generation: the losses of groups of pairs, and the update. Launches of a group, and those of the update, are captured as CUDA
//! graphs; what changes between groups and generations is in device memory, or in the key of a graph.

use super::{
    activations::InputSums,
    backend::CudaBackend,
    forward::Losses,
    kernels::{Draws, InputRowsArgs, ShiftWeights, TensorArgs},
    memory::Work,
    rows::Rows,
    shaping::shape,
    update::{Update, args},
};
use crate::{
    gpu::{Grid, Mark, Pass},
    kinds::{
        evolution::{
            backend::{GenerationInput, GenerationStats},
            choices::{Generator, TextChoice},
            strategy::{NoiseForm, TensorChange},
        },
        language::cuda::error::OpError,
    },
    sim::SimError,
};
use std::collections::VecDeque;

/// Launches that are captured together, with what they depend on besides the settings and device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Captured {
    /// Losses of the members of pairs, with perturbations scaled by 2^-shift.
    Losses { pairs: usize, shift: u32 },
    /// Weights of pairs from the losses.
    Shape { pairs: usize },
    /// Weighted sums of the perturbations of pairs.
    Sums { pairs: usize },
    /// Change of the weights by the sums.
    Apply,
}

/// Inputs of the launches of a generation.
#[derive(Clone, Copy)]
struct Inputs<'a> {
    input: &'a GenerationInput<'a>,
    tensors: &'a [TensorArgs],
}

impl CudaBackend {
    /// Returns the draws of the pairs from `first_pair` on.
    fn draws(input: &GenerationInput<'_>, first_pair: usize) -> Draws {
        let generator = match input.settings.noise {
            NoiseForm::FullRank(generator) => generator,
            NoiseForm::LowRank(_) | NoiseForm::Activations => Generator::SumOfFour,
        };
        Draws {
            seed: input.settings.seed,
            generation: input.number,
            first_pair: first_pair as u32,
            generator: generator as u32,
            is_low_rank: matches!(input.settings.noise, NoiseForm::LowRank(_)).into(),
            is_shared: (input.settings.texts == TextChoice::Shared).into(),
        }
    }

    /// Runs launches: captured, after their first run, unless capturing is off. Fails if the device fails.
    fn run(
        &mut self,
        what: Captured,
        pass: &mut Pass,
        mut launch: impl FnMut(&mut Self, &mut Pass) -> Result<(), OpError>,
    ) -> Result<(), SimError> {
        if !self.is_capturing {
            return Ok(launch(self, pass)?);
        }
        let (gpu, mut captures) = (self.gpu.clone(), std::mem::take(&mut self.captures));
        let result = captures.run(&gpu, what, pass, |pass| launch(self, pass));
        self.captures = captures;
        Ok(result?)
    }

    /// Evaluates the pairs that are missing. Returns the number of evaluated pairs, fewer than all if stopped.
    pub(super) fn evaluate_pairs(
        &mut self,
        input: &GenerationInput<'_>,
        (first, tensors): (usize, &[TensorArgs]),
        work: &mut Work,
        pass: &mut Pass,
    ) -> Result<usize, SimError> {
        let (course, n, inputs) = (input.course, self.map.len() as u32, Inputs { input, tensors });
        let (weights, shifted) = (&self.state.weights, &mut self.state.shifted);
        ShiftWeights { n, shift: course.shift, weights, shifted }.launch(
            self.forward.population(),
            pass,
            Grid::Threads(n),
        )?;
        let mut in_flight: VecDeque<Mark> = VecDeque::new();
        let mut done = first;
        while done < course.pairs {
            if pass.is_stopping() {
                break;
            }
            if in_flight.len() > 1 {
                in_flight.pop_front().map_or(Ok(()), |mark| mark.wait())?;
            }
            let pairs = work.sizes.pairs.min(course.pairs - done);
            self.state.draws.write(&[Self::draws(input, done)])?;
            let what = Captured::Losses { pairs, shift: course.shift };
            self.run(what, pass, |backend, pass| backend.launch_losses(inputs, pairs, work, pass))?;
            in_flight.push_back(Mark::now(&self.gpu)?);
            done += pairs;
        }
        Ok(done)
    }

    /// Launches the losses of the members of pairs.
    fn launch_losses(
        &mut self,
        Inputs { input, tensors }: Inputs<'_>,
        pairs: usize,
        work: &mut Work,
        pass: &mut Pass,
    ) -> Result<(), OpError> {
        let GenerationInput { settings, course, .. } = *input;
        let Some((_, text)) = &self.text else { return Ok(()) };
        let (steps, state) = (self.network.sizes.steps, &mut self.state);
        self.forward.draw_noise(pass, (&state.draws, pairs), tensors, &state.shifted, work)?;
        for at in (0..settings.sequences).step_by(work.sizes.sequences) {
            let sequences = work.sizes.sequences.min(settings.sequences - at);
            self.forward.draw_text(pass, (&state.draws, pairs), (at, sequences), text, work)?;
            let rows = Rows {
                members: 2 * pairs,
                per_member: sequences * steps,
                perturbed: Some((settings.noise, course.shift)),
                of_pair: settings.sequences * steps,
                first_row: at * steps,
                per_pair: 2,
            };
            let weights = (&*state.shifted, &*state.shadows, &*state.draws);
            self.forward.losses(pass, rows, weights, work, (Losses::Members(&mut state.losses), None))?;
        }
        Ok(())
    }

    /// Changes the weights by the losses of all pairs.
    pub(super) fn update(
        &mut self,
        input: &GenerationInput<'_>,
        tensors: &[TensorArgs],
        work: &mut Work,
        pass: &mut Pass,
    ) -> Result<GenerationStats, SimError> {
        let GenerationInput { settings, course, .. } = *input;
        let (n_pairs, inputs) = (course.pairs, Inputs { input, tensors });
        self.state.steps.write(&settings.steps(course, self.updates + 1).each_ref().map(args))?;
        self.state.z.clear()?;
        self.state.halves.clear()?;
        self.run(Captured::Shape { pairs: n_pairs }, pass, |backend, pass| {
            Ok(shape(&backend.shaping, pass, (settings, n_pairs), &mut backend.state)?)
        })?;
        for first in (0..n_pairs).step_by(work.sizes.pairs) {
            let pairs = work.sizes.pairs.min(n_pairs - first);
            self.state.draws.write(&[Self::draws(input, first)])?;
            self.run(Captured::Sums { pairs }, pass, |backend, pass| backend.launch_sums(inputs, pairs, work, pass))?;
        }
        self.run(Captured::Apply, pass, |backend, pass| {
            Ok(Update { settings, tensors }.apply(pass, &backend.kernels, &mut backend.state)?)
        })?;
        let losses = self.state.losses.read_range(0..2 * n_pairs)?;
        let losses: Vec<[i64; 2]> =
            losses.chunks_exact(2).map(|pair| [pair[0].cast_signed(), pair[1].cast_signed()]).collect();
        let (counts, roots) = (self.state.counts.read()?, self.state.roots.read()?);
        let change =
            |(counts, root): (&[u64], &f32)| TensorChange { changed: counts[0], saturated: counts[1], rms: *root };
        let changes = counts.chunks_exact(2).zip(&roots).map(change).collect();
        Ok(GenerationStats::new(&losses, settings.sequences * self.network.sizes.steps, changes))
    }

    /// Launches the weighted sums of the perturbations of pairs.
    fn launch_sums(
        &mut self,
        Inputs { input, tensors }: Inputs<'_>,
        pairs: usize,
        work: &mut Work,
        pass: &mut Pass,
    ) -> Result<(), OpError> {
        if input.settings.noise == NoiseForm::Activations {
            return self.launch_inputs(Inputs { input, tensors }, pairs, work, pass);
        }
        let update = Update { settings: input.settings, tensors };
        Ok(update.add(pass, (&self.forward, &self.kernels), pairs, (&mut self.state, work))?)
    }

    /// Launches the sums of the inputs of the unperturbed model on the texts of pairs, times the signs of the pairs' activations.
    fn launch_inputs(
        &mut self,
        Inputs { input, tensors }: Inputs<'_>,
        pairs: usize,
        work: &mut Work,
        pass: &mut Pass,
    ) -> Result<(), OpError> {
        let Some((_, text)) = &self.text else { return Ok(()) };
        let (steps, settings, state) = (self.network.sizes.steps, input.settings, &mut self.state);
        self.forward.draw_noise(pass, (&state.draws, pairs), tensors, &state.shifted, work)?;
        for at in (0..settings.sequences).step_by(work.sizes.sequences) {
            let sequences = work.sizes.sequences.min(settings.sequences - at);
            self.forward.draw_text(pass, (&state.draws, pairs), (at, sequences), text, work)?;
            let rows = Rows::unperturbed(pairs, sequences * steps);
            let mut inputs = InputSums {
                kernels: self.forward.activations(),
                sizes: self.network.sizes,
                tensors,
                rows: InputRowsArgs {
                    pairs: pairs as u32,
                    rows: (sequences * steps) as u32,
                    first_row: (at * steps) as u32,
                    words: work.sizes.words as u32,
                },
                draws: &state.draws,
                pair_weights: &state.pair_weights,
                z: &mut state.z,
            };
            let weights = (&*state.weights, &*state.shadows, &*state.draws);
            self.forward.losses(pass, rows, weights, work, (Losses::Rows, Some(&mut inputs)))?;
        }
        Ok(())
    }
}
