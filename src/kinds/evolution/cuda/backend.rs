//! Backend of the simulation on a GPU.

use super::{
    forward::Forward,
    generation::Captured,
    kernels::{ShapingKernels, UpdateKernels},
    memory::{State, Work, WorkSizes, state_sizes},
};
use crate::{
    data::text::Corpus,
    gpu::{Buf, Gpu, KernelFacts, Pass, Place},
    kinds::{
        evolution::{
            backend::{
                self as evolution, Batch, Counters, Decoder, GenerationInput, GenerationStats, Outcome, Site,
                StateBuffer, StepStats, TextModel,
            },
            cpu::decoder::{Copied, Decoding, Model},
            model::{Vector, Weights},
            network::Network,
            strategy::{Course, Settings, ternary_of},
        },
        language::{backend as language, cpu::text_copy::TextCopy, cuda::captures::Captures},
    },
    nn::parameters::{ParameterMap, View},
    sim::{Buffers as _, Execution, MemoryReport, Progress, SimError},
};
use std::sync::{Arc, Mutex, OnceLock};

/// A population on a GPU.
pub struct CudaBackend {
    /// Captured launches; declared first, so that they are dropped before the buffers that they reference.
    pub(super) captures: Captures<Captured>,
    /// Settings with which `captures` were made.
    captured: Option<Settings>,
    /// Whether launches are captured.
    pub(super) is_capturing: bool,
    pub(super) gpu: Arc<Gpu>,
    pub(super) network: Network,
    pub(super) map: Arc<ParameterMap>,
    pub(super) forward: Forward,
    pub(super) shaping: ShapingKernels,
    pub(super) kernels: UpdateKernels,
    pub(super) state: State,
    work: Option<Work>,
    pub(super) text: Option<(u64, Buf<u16>)>,
    n_pairs: usize,
    pub(super) updates: u64,
    partial: Option<Partial>,
    waiting: Vec<GenerationStats>,
    collected: Vec<GenerationStats>,
    /// Weights on the host, for texts and inspection; empty after a change.
    copy: OnceLock<Weights>,
}

/// Generation that was stopped after some groups of pairs; their losses are on the device.
struct Partial {
    number: u64,
    settings: Settings,
    course: Course,
    text: u64,
    /// Number of evaluated pairs.
    done: usize,
}

impl CudaBackend {
    /// Creates a population of `pairs` pairs; the rule of the update has `moments` moments. Weights are 0. Fails if the device
    /// fails or has not enough memory.
    pub fn new(
        gpu: &Arc<Gpu>,
        network: Network,
        map: Arc<ParameterMap>,
        (pairs, moments): (usize, usize),
    ) -> Result<Self, SimError> {
        let sizes = state_sizes(&network, &map, pairs, moments);
        let mut state = State::allocate(gpu, &sizes)?;
        let lengths: Vec<u32> = map.views().map(|view| view.len() as u32).collect();
        state.lengths.write(&lengths)?;
        state.mean_squares.write(&vec![-1.0; lengths.len()])?;
        Ok(Self {
            captures: Captures::default(),
            captured: None,
            is_capturing: true,
            forward: Forward::new(gpu, network, &map)?,
            shaping: ShapingKernels::load(gpu)?,
            kernels: UpdateKernels::load(gpu)?,
            gpu: gpu.clone(),
            network,
            map,
            state,
            work: None,
            text: None,
            n_pairs: pairs,
            updates: 0,
            partial: None,
            waiting: vec![],
            collected: vec![],
            copy: OnceLock::new(),
        })
    }

    /// Returns the workspace for the settings, allocated anew if they differ.
    fn workspace(&mut self, settings: &Settings) -> Result<Work, SimError> {
        let sizes = WorkSizes::of(&self.network.sizes, self.map.len(), settings, self.n_pairs);
        if self.captured != Some(*settings) || self.work.as_ref().is_none_or(|work| work.sizes != sizes) {
            self.forget()?;
        }
        self.captured = Some(*settings);
        match self.work.take().filter(|work| work.sizes == sizes) {
            Some(work) => Ok(work),
            None => Ok(Work::allocate(&self.gpu, &sizes)?),
        }
    }

    /// Drops the captured launches, after the device has finished them. Fails if the device fails.
    fn forget(&mut self) -> Result<(), SimError> {
        if self.captured.take().is_some() {
            self.gpu.synchronize()?;
            self.captures.forget(None);
        }
        Ok(())
    }

    /// Copies the training part of a text to the device unless it is there.
    fn upload(&mut self, text: &Corpus) -> Result<(), SimError> {
        if self.text.as_ref().is_some_and(|(hash, _)| *hash == text.hash) {
            return Ok(());
        }
        let Some(tokens) = text.narrow() else {
            return Err(SimError::Input("the vocabulary has more than 65,536 tokens".to_owned()));
        };
        self.forget()?;
        self.text = None;
        self.text = Some((text.hash, Buf::from_slice(&self.gpu, "text", &tokens[text.train()])?));
        Ok(())
    }

    /// Returns the weights on the host, copied once after each change. Fails if the device fails.
    fn copied(&self) -> Result<&Weights, SimError> {
        if let Some(copy) = self.copy.get() {
            return Ok(copy);
        }
        let (weights, shadows) = (self.state.weights.read()?, self.state.shadows.read()?);
        let ranges: Vec<_> = self.map.views().map(View::range).collect();
        let (matrices, vectors) = ranges.split_at(ranges.len() - Vector::ALL.len());
        let matrices = matrices.iter().map(|range| weights[range.clone()].to_vec()).collect();
        let vectors = [0, 1, 2].map(|at| shadows[vectors[at].clone()].to_vec());
        Ok(self.copy.get_or_init(|| Weights { matrices, vectors }))
    }

    fn model(&self) -> Result<Model<'_>, SimError> {
        Ok(Model { network: &self.network, weights: self.copied()? })
    }

    fn buffer(&self, buffer: StateBuffer) -> &Buf<f32> {
        match buffer {
            StateBuffer::Weights => &self.state.shadows,
            StateBuffer::FirstMoment => &self.state.first,
            StateBuffer::SecondMoment => &self.state.second,
        }
    }
}

impl evolution::Backend for CudaBackend {
    fn generation(&mut self, input: &GenerationInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError> {
        let GenerationInput { number, settings, course, text, .. } = *input;
        let is_same = |p: &Partial| (p.number, &p.settings, p.course, p.text) == (number, settings, course, text.hash);
        let done = self.partial.take().filter(is_same).map_or(0, |partial| partial.done);
        if done == 0 {
            self.state.losses.clear()?;
        }
        self.upload(text)?;
        self.state.frozen.write(&input.frozen.iter().map(|f| u8::from(*f)).collect::<Vec<u8>>())?;
        let mut work = self.workspace(settings)?;
        let tensors = self.forward.tensors(settings);
        let evaluated = self.evaluate_pairs(input, (done, &tensors), &mut work, pass);
        let outcome = match evaluated {
            Ok(done) if done < course.pairs => {
                self.partial = Some(Partial { number, settings: *settings, course, text: text.hash, done });
                Ok(Outcome::Stopped)
            }
            Ok(_) => {
                let stats = self.update(input, &tensors, &mut work, pass);
                self.copy = OnceLock::new();
                self.updates += 1;
                stats.map(|stats| {
                    self.waiting.push(stats);
                    Outcome::Done
                })
            }
            Err(error) => Err(error),
        };
        self.work = Some(work);
        outcome
    }

    fn take_generations(&mut self, out: &mut Vec<GenerationStats>) -> Result<(), SimError> {
        out.append(&mut self.collected);
        Ok(())
    }

    fn set_capturing(&mut self, is_capturing: bool) {
        self.is_capturing = is_capturing;
    }

    fn mean_squares(&self) -> Result<Vec<Option<f32>>, SimError> {
        Ok(self.state.mean_squares.read()?.into_iter().map(|square| (square >= 0.0).then_some(square)).collect())
    }

    fn set_mean_squares(&mut self, values: &[Option<f32>]) -> Result<(), SimError> {
        let values: Vec<f32> = values.iter().map(|square| square.unwrap_or(-1.0)).collect();
        Ok(self.state.mean_squares.write(&values)?)
    }

    fn inspect(&self, tokens: &[u32], site: Site, _: &Progress) -> Result<Vec<f32>, SimError> {
        Ok(self.model()?.inspect(tokens, site))
    }
}

impl language::Backend for CudaBackend {
    fn take_stats(&mut self, out: &mut Vec<StepStats>) -> Result<(), SimError> {
        out.extend(self.waiting.iter().map(GenerationStats::common));
        self.collected.append(&mut self.waiting);
        Ok(())
    }

    fn evaluate(&mut self, batches: &[Batch<'_>], losses: &mut [f32], pass: &mut Pass) -> Result<Outcome, SimError> {
        // The workspace of the last generation serves, whatever its settings were.
        let mut work = match self.work.take() {
            Some(work) => work,
            None => Work::allocate(&self.gpu, &WorkSizes::alone(&self.network.sizes, self.map.len()))?,
        };
        let result = self.evaluate_with(batches, losses, &mut work, pass);
        self.work = Some(work);
        result
    }

    fn decoder(&self) -> Result<Box<dyn Decoder + '_>, SimError> {
        Ok(Box::new(Decoding::new(self.model()?)))
    }

    fn text_model(&mut self) -> Result<Option<Arc<Mutex<dyn TextModel>>>, SimError> {
        let copy = Copied { network: self.network, weights: self.copied()?.clone() };
        Ok(Some(Arc::new(Mutex::new(TextCopy::new(copy)))))
    }

    fn read(&self, buffer: StateBuffer, start: usize, to: &mut [f32]) -> Result<(), SimError> {
        let from = self.buffer(buffer);
        if from.len() < start + to.len() {
            to.fill(0.0);
            return Ok(());
        }
        Ok(from.read_into(start, to)?)
    }

    fn write(&mut self, buffer: StateBuffer, start: usize, from: &[f32]) -> Result<(), SimError> {
        let to = match buffer {
            StateBuffer::Weights => {
                let weights: Vec<i8> = from.iter().map(|shadow| ternary_of(*shadow)).collect();
                self.state.weights.write_at(start, &weights)?;
                &mut self.state.shadows
            }
            StateBuffer::FirstMoment => &mut self.state.first,
            StateBuffer::SecondMoment => &mut self.state.second,
        };
        if start + from.len() <= to.len() {
            to.write_at(start, from)?;
        }
        (self.partial, self.copy) = (None, OnceLock::new());
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
        let choices = self.forward.gemm().choices();
        Execution::cuda(&self.gpu).with(choices.iter().map(|(name, by)| (name.as_str(), by.as_str())))
    }

    fn memory(&self) -> MemoryReport {
        let mut report = self.state.held();
        if let Some(work) = &self.work {
            work.report(&mut report);
        }
        if let Some((_, text)) = &self.text {
            report.add("text", "text", Place::Device, text.bytes());
        }
        report.add("gemm", "workspace", Place::Device, self.forward.gemm().bytes());
        report
    }

    fn kernels(&self) -> Vec<KernelFacts> {
        let is_used =
            |file: &str| file.starts_with("nn/gemm") || super::MODULES.iter().any(|module| module.file == file);
        self.gpu.kernel_facts().into_iter().filter(|kernel| is_used(kernel.file)).collect()
    }
}
