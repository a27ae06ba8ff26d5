//! Backend of the simulation on the CPU.

use super::{
    Buffers, Shared,
    decoder::{Copied, Decoding, Model},
    population::{Generation, State},
};
use crate::{
    gpu::Pass,
    kinds::{
        evolution::{
            backend::{
                self as evolution, Batch, Counters, Decoder, GenerationInput, GenerationStats, IGNORED, LOSS_UNITS,
                Outcome, Site, StateBuffer, StepStats, TextModel,
            },
            model::Vector,
            network::Network,
            strategy::{Course, MeanSquare, Settings, ternary_of},
        },
        language::{
            backend as language,
            cpu::{decoder::Pooled, text_copy::TextCopy},
        },
        shared::threads::Threads,
    },
    nn::parameters::{ParameterMap, View},
    sim::{Execution, MemoryReport, Progress, SimError},
};
use rayon::prelude::*;
use std::{
    ops::Range,
    sync::{Arc, Mutex},
};

/// A population on a thread pool.
pub struct CpuBackend {
    network: Network,
    map: Arc<ParameterMap>,
    state: State,
    updates: u64,
    threads: Threads,
    /// Generation that was stopped.
    partial: Option<Partial>,
    waiting: Vec<GenerationStats>,
    collected: Vec<GenerationStats>,
}

/// Losses of the pairs of a generation that was stopped.
struct Partial {
    number: u64,
    settings: Settings,
    course: Course,
    text: u64,
    losses: Vec<Option<[i64; 2]>>,
}

impl CpuBackend {
    /// Creates a population with initial weights; the rule of the update has `n_moments` moments.
    pub fn new(network: Network, map: Arc<ParameterMap>, n_moments: usize, n_threads: usize) -> Self {
        Self {
            state: State::new(&network.sizes, n_moments),
            network,
            map,
            updates: 0,
            threads: Threads::new(n_threads),
            partial: None,
            waiting: vec![],
            collected: vec![],
        }
    }

    /// Returns the losses that a stopped call for the same generation computed; `None` for the other pairs.
    fn known_losses(&mut self, input: &GenerationInput<'_>) -> Vec<Option<[i64; 2]>> {
        let is_same = |p: &Partial| {
            (p.number, &p.settings, p.course, p.text) == (input.number, input.settings, input.course, input.text.hash)
        };
        let partial = self.partial.take().filter(is_same);
        partial.map_or_else(|| vec![None; input.course.pairs], |partial| partial.losses)
    }

    /// Returns the parts of a buffer that a range of the layout covers: tensor, elements within the tensor, and offset
    /// in the range.
    fn parts(&self, range: Range<usize>) -> Vec<(usize, Range<usize>, usize)> {
        let part = |(tensor, view): (usize, Range<usize>)| {
            let (from, to) = (view.start.max(range.start), view.end.min(range.end));
            (from < to).then(|| (tensor, from - view.start..to - view.start, from - range.start))
        };
        self.map.views().map(View::range).enumerate().filter_map(part).collect()
    }

    fn buffer(&self, buffer: StateBuffer, tensor: usize) -> &[f32] {
        let n = self.state.shadows.len();
        match buffer {
            StateBuffer::Weights if tensor < n => &self.state.shadows[tensor],
            StateBuffer::Weights => &self.state.weights.vectors[tensor - n],
            StateBuffer::FirstMoment => &self.state.moments[tensor][0],
            StateBuffer::SecondMoment => &self.state.moments[tensor][1],
        }
    }

    fn model(&self) -> Model<'_> {
        Model { network: &self.network, weights: &self.state.weights }
    }

    /// Computes the loss of each token of one batch of full sequences.
    fn losses(&self, batch: &Batch<'_>, losses: &mut [f32]) {
        let sequence = batch.seq_len.max(1);
        let (model, shared) = (self.model(), Shared::new(&self.network.sizes, &self.state.weights));
        let rows = batch.tokens.par_chunks(sequence).zip(batch.targets.par_chunks(sequence));
        rows.zip(losses.par_chunks_mut(sequence)).for_each_init(
            Buffers::default,
            |buffers, ((tokens, targets), losses)| {
                let tokens: Vec<u16> = tokens.iter().map(|token| *token as u16).collect();
                let known: Vec<u16> = targets.iter().map(|target| (*target).max(0) as u16).collect();
                let of_rows = self.network.losses_with(&shared, model.members(), (&tokens, &known), buffers);
                for ((loss, units), target) in losses.iter_mut().zip(of_rows).zip(targets) {
                    *loss = if *target == IGNORED { 0.0 } else { units as f32 / LOSS_UNITS };
                }
            },
        );
    }
}

impl evolution::Backend for CpuBackend {
    fn generation(&mut self, input: &GenerationInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError> {
        let mut losses = self.known_losses(input);
        let GenerationInput { number, settings, course, text, frozen } = *input;
        let Some(tokens) = text.narrow() else {
            return Err(SimError::Input("the vocabulary has more than 65,536 tokens".to_owned()));
        };
        let tokens = &tokens[text.train()];
        let Self { network, state, threads, updates, .. } = self;
        let generation = Generation { network, settings, course, number, text: tokens };
        let (rows, stop) = (settings.sequences * network.sizes.steps, pass.stop.clone());
        let missing = losses.iter().filter(|losses| losses.is_none()).count();
        pass.span("members", (2 * missing * rows) as u64, || {
            threads.run(|| {
                generation.evaluate(&state.weights, &mut losses, &stop);
                Ok(())
            })
        })?;
        let known: Option<Vec<[i64; 2]>> = losses.iter().copied().collect();
        let n = losses.len() as u64;
        let changes = match &known {
            Some(known) => pass.span("update", n, || {
                threads.run(|| Ok(generation.update(state, (known, *updates + 1), frozen, &stop)))
            })?,
            None => None,
        };
        match known.zip(changes) {
            Some((known, changes)) => {
                self.updates += 1;
                self.waiting.push(GenerationStats::new(&known, rows, changes));
                Ok(Outcome::Done)
            }
            None => {
                self.partial = Some(Partial { number, settings: *settings, course, text: text.hash, losses });
                Ok(Outcome::Stopped)
            }
        }
    }

    fn take_generations(&mut self, out: &mut Vec<GenerationStats>) -> Result<(), SimError> {
        out.append(&mut self.collected);
        Ok(())
    }

    fn mean_squares(&self) -> Result<Vec<Option<f32>>, SimError> {
        Ok(self.state.mean_squares.iter().map(|mean| mean.0).collect())
    }

    fn set_mean_squares(&mut self, values: &[Option<f32>]) -> Result<(), SimError> {
        self.state.mean_squares = values.iter().map(|mean| MeanSquare(*mean)).collect();
        Ok(())
    }

    fn inspect(&self, tokens: &[u32], site: Site, _: &Progress) -> Result<Vec<f32>, SimError> {
        self.threads.run(|| Ok(self.model().inspect(tokens, site)))
    }
}

impl language::Backend for CpuBackend {
    fn take_stats(&mut self, out: &mut Vec<StepStats>) -> Result<(), SimError> {
        out.extend(self.waiting.iter().map(GenerationStats::common));
        self.collected.append(&mut self.waiting);
        Ok(())
    }

    fn evaluate(&mut self, batches: &[Batch<'_>], losses: &mut [f32], pass: &mut Pass) -> Result<Outcome, SimError> {
        let stop = pass.stop.clone();
        let n: usize = batches.iter().map(Batch::n_tokens).sum();
        pass.span("held-out", n as u64, || {
            let mut rest = losses;
            for batch in batches {
                if stop.is_raised() {
                    return Ok(Outcome::Stopped);
                }
                let (own, others) = rest.split_at_mut(batch.n_tokens());
                self.threads.run(|| {
                    self.losses(batch, own);
                    Ok(())
                })?;
                rest = others;
            }
            Ok(Outcome::Done)
        })
    }

    fn decoder(&self) -> Result<Box<dyn Decoder + '_>, SimError> {
        Ok(Box::new(Pooled { decoder: Decoding::new(self.model()), threads: &self.threads }))
    }

    fn text_model(&mut self) -> Result<Option<Arc<Mutex<dyn TextModel>>>, SimError> {
        if self.threads.number() < 2 {
            return Ok(None);
        }
        let copy = Copied { network: self.network, weights: self.state.weights.clone() };
        Ok(Some(Arc::new(Mutex::new(TextCopy::new(copy)))))
    }

    fn read(&self, buffer: StateBuffer, start: usize, to: &mut [f32]) -> Result<(), SimError> {
        to.fill(0.0);
        for (tensor, elements, at) in self.parts(start..start + to.len()) {
            let n = elements.len();
            if let Some(values) = self.buffer(buffer, tensor).get(elements) {
                to[at..at + n].copy_from_slice(values);
            }
        }
        Ok(())
    }

    fn write(&mut self, buffer: StateBuffer, start: usize, from: &[f32]) -> Result<(), SimError> {
        let parts = self.parts(start..start + from.len());
        let State { weights, shadows, moments, .. } = &mut self.state;
        let n = shadows.len();
        for (tensor, elements, at) in parts {
            let values = &from[at..at + elements.len()];
            let to = match buffer {
                StateBuffer::Weights if tensor < n => {
                    let ternary = weights.matrices[tensor][elements.clone()].iter_mut();
                    ternary.zip(values).for_each(|(weight, shadow)| *weight = ternary_of(*shadow));
                    &mut shadows[tensor]
                }
                StateBuffer::Weights => &mut weights.vectors[tensor - n],
                StateBuffer::FirstMoment => &mut moments[tensor][0],
                StateBuffer::SecondMoment => &mut moments[tensor][1],
            };
            if let Some(to) = to.get_mut(elements) {
                to.copy_from_slice(values);
            }
        }
        self.partial = None;
        Ok(())
    }

    fn counters(&self) -> Result<Counters, SimError> {
        Ok(Counters { updates: self.updates, loss_scale: 1.0, finite_steps: 0 })
    }

    fn set_counters(&mut self, counters: Counters) -> Result<(), SimError> {
        self.updates = counters.updates;
        (self.waiting, self.collected) = (vec![], vec![]);
        Ok(())
    }

    fn execution(&self) -> Execution {
        Execution::cpu()
    }

    fn memory(&self) -> MemoryReport {
        memory(&self.network, self.state.moments.iter().map(|[a, b]| a.len() + b.len()).sum(), self.threads.number())
    }
}

/// Returns the memory of a population on the CPU, by owner.
pub fn memory(network: &Network, n_moments: usize, threads: usize) -> MemoryReport {
    let sizes = &network.sizes;
    let vectors: usize = Vector::ALL.iter().map(|vector| sizes.len(*vector)).sum();
    let matrices = sizes.parameters() - vectors;
    let mut report = MemoryReport::default();
    report.host("parameters", (5 * matrices + 4 * vectors) as u64);
    report.host("moments", 4 * n_moments as u64);
    report.host("rearranged matrices", Shared::bytes(sizes) as u64);
    report.host("weighted sums of perturbations", (8 * sizes.parameters() * threads) as u64);
    report
}
