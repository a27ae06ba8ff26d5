//! The simulation: which tokens a step reads, what is frozen, and what is measured when.

use super::{
    Params,
    backend::{Backend, Outcome, StateBuffer, StepInput, StepStats},
    choices::Precision,
    measure::Pending,
    model::{self, Config, Layout},
    probes::{self, PROBES},
    sampler, sets,
    setup::Setup,
};
use crate::{
    data::text::Batches,
    gpu::{KernelFacts, Pass},
    kinds::{
        edit::{Edit, check_change},
        language::{
            sampler::Sampler,
            steps::{StepTokens, is_due},
            text,
            writing::{self, Scored, Writing},
        },
    },
    num::hash::StreamHash,
    params::{Change, Params as _},
    sim::{
        Action, Answer, Clock, Digest, Effect, ElementSet, Execution, Frame, InputData, Level, MemoryReport, ProbeId,
        ProbeSpec, Progress, Request, SimError, Simulation, Snapshot, StepCount, Tap,
    },
};
use std::sync::Arc;

/// A model in training.
pub struct TransformerSim {
    pub(super) params: Params,
    pub(super) seed: u64,
    pub(super) setup: Arc<Setup>,
    pub(super) config: Config,
    pub(super) layout: Arc<Layout>,
    pub(super) backend: Box<dyn Backend>,
    pub(super) state: State,
    pub(super) sets: [Arc<ElementSet>; 2],
    pub(super) generation: u64,
    pub(super) sampler: Sampler,
    pub(super) pending: Pending,
    /// Tokens of the newest sampled text.
    pub(super) newest: Vec<u32>,
    batch: StepTokens,
}

/// The state beside parameters and moments.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Steps taken.
    pub step: u64,
    /// Tokens trained on.
    pub tokens: u64,
    /// For each layer whether it is frozen.
    pub frozen: Vec<bool>,
    /// Hash of the losses of all steps.
    pub hash: StreamHash,
}

impl State {
    fn new(layout: &Layout) -> Self {
        Self { step: 0, tokens: 0, frozen: vec![false; layout.n_layers()], hash: StreamHash::default() }
    }
}

impl TransformerSim {
    /// At step 0.
    pub fn new(
        params: &Params,
        seed: u64,
        setup: Arc<Setup>,
        (config, layout): (Config, Arc<Layout>),
        backend: Box<dyn Backend>,
    ) -> Result<Self, SimError> {
        let mut new = Self {
            params: params.clone(),
            seed,
            sets: sets::all(&layout),
            state: State::new(&layout),
            setup,
            config,
            layout,
            backend,
            generation: 0,
            sampler: sampler::new(),
            pending: Pending::default(),
            newest: vec![],
            batch: StepTokens::default(),
        };
        text::check(&new.setup.corpus, &params.measure)?;
        new.begin()?;
        Ok(new)
    }

    /// Initial weights, empty moments.
    fn begin(&mut self) -> Result<(), SimError> {
        match &self.setup.weights {
            Some(weights) => self.backend.write(StateBuffer::Weights, weights.values())?,
            None => {
                let weights = model::init(&self.config, &self.layout, self.seed);
                self.backend.write(StateBuffer::Weights, weights.values())?;
            }
        }
        let zeros = vec![0.0; self.layout.map.len()];
        self.backend.write(StateBuffer::FirstMoment, &zeros)?;
        self.backend.write(StateBuffer::SecondMoment, &zeros)?;
        let loss_scale = if self.params.compute.precision == Precision::F16 { 65_536.0 } else { 1.0 };
        self.backend.set_counters(super::backend::Counters { loss_scale, ..Default::default() })?;
        self.state = State::new(&self.layout);
        self.restart_measurements();
        Ok(())
    }

    /// Forgets what was measured.
    pub(super) fn restart_measurements(&mut self) {
        self.sampler.restart();
        self.pending = Pending::default();
        self.newest.clear();
    }

    /// One step of training.
    fn train(&mut self, pass: &mut Pass) -> Result<Outcome, SimError> {
        let (training, length) = (&self.params.training, self.config.context);
        let batches = Batches { seed: self.seed, sequences: training.batch as usize, length };
        let batches = self.batch.draw(&self.setup.corpus, &batches, training.micro_batches as usize, self.state.step);
        let n_tokens: usize = batches.iter().map(|batch| batch.n_tokens()).sum();
        let measures =
            self.sampler.is_any_tapped(sampler::OF_NORMS) && is_due(self.params.measure.every, self.state.step + 1);
        let input = StepInput {
            step: self.state.step,
            batches: &batches,
            hyper: &training.hyper(self.state.step),
            frozen: &self.state.frozen,
            measures,
        };
        let outcome = self.backend.step(&input, pass)?;
        if outcome == Outcome::Done {
            self.state.step += 1;
            self.state.tokens += n_tokens as u64;
            self.pending.schedule(&self.params, &self.sampler, self.state.step);
            if measures || self.state.step - self.pending.counted >= super::backend::MAX_WAITING_STEPS as u64 {
                self.count_steps()?;
            }
            if measures {
                self.record_norms()?;
            }
        }
        Ok(outcome)
    }

    /// Takes in what the last steps were.
    fn count_steps(&mut self) -> Result<(), SimError> {
        let mut stats = vec![];
        self.backend.take_stats(&mut stats)?;
        let first = self.state.step - stats.len() as u64;
        for (step, stats) in (first + 1..).zip(&stats) {
            self.state.hash.push(stats.loss.to_bits());
            self.record_step(step, stats);
        }
        self.pending.counted = self.state.step;
        match (first + 1..).zip(&stats).find(|(_, stats)| self.is_lost(stats)) {
            Some((step, _)) => {
                Err(SimError::non_finite("the loss or its gradient", step, "lower training.learning_rate"))
            }
            None => Ok(()),
        }
    }

    /// Whether training cannot continue: in fp16, a skipped step lowers the loss scale.
    fn is_lost(&self, stats: &StepStats) -> bool {
        let is_f16 = self.params.compute.precision == Precision::F16 && stats.loss_scale > 1.0;
        stats.is_skipped && !is_f16 || stats.loss.is_nan()
    }

    /// Writes a text.
    pub(super) fn write(
        &self,
        writing: &Writing,
        goes_on: impl FnMut(usize) -> Result<(), SimError>,
    ) -> Result<Vec<u32>, SimError> {
        writing::write(&mut *self.backend.decoder()?, self.config.context, self.config.vocab, writing, goes_on)
    }

    /// Scores a text.
    pub(super) fn score(
        &self,
        text: &[u32],
        goes_on: impl FnMut(usize) -> Result<(), SimError>,
    ) -> Result<Vec<Scored>, SimError> {
        writing::score(&mut *self.backend.decoder()?, self.config.context, self.config.vocab, text, goes_on)
    }

    fn put(&mut self, state: State) {
        self.state = state;
        self.restart_measurements();
        self.pending.counted = self.state.step;
        self.generation += 1;
    }
}

impl Simulation for TransformerSim {
    fn probes(&self) -> &'static [ProbeSpec] {
        PROBES
    }

    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        match probe {
            probes::WEIGHT_NORMS | probes::GRADIENT_NORMS | probes::UPDATE_RATIOS => self.layout.layer_names(),
            _ => vec![],
        }
    }

    fn choices(&self, probe: ProbeId) -> Vec<Vec<String>> {
        let numbers = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
        match probe {
            probes::ATTENTION => vec![numbers(self.config.layers), numbers(self.config.heads)],
            probes::ACTIVATIONS => {
                vec![numbers(self.config.layers), probes::SITES.iter().map(|s| (*s).to_owned()).collect()]
            }
            probes::WEIGHTS => vec![self.layout.map.views().map(|view| view.name.clone()).collect()],
            _ => vec![],
        }
    }

    fn levels(&self, probe: ProbeId) -> Vec<Level> {
        match probe {
            probes::LOSS | probes::HELD_OUT => text::levels(&self.setup.corpus),
            _ => vec![],
        }
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.sets
    }

    fn clock(&self) -> Clock {
        Clock { step: self.state.step, base: super::STEPS }
    }

    fn params(&self) -> Option<&dyn crate::params::Params> {
        Some(&self.params)
    }

    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        match check_change(&self.params, change)? {
            Edit::Same => {}
            Edit::Rebuild => return Ok(Effect::NeedsRebuild),
            Edit::Live(new) => {
                text::check(&self.setup.corpus, &new.measure)?;
                self.sampler.forget_text();
                self.params = *new;
            }
        }
        Ok(Effect::Applied)
    }

    fn replace(&mut self, data: &InputData) -> Result<Effect, SimError> {
        let (setup, mut params) = (data.setup::<Setup>()?, self.params.clone());
        if !params.set(&data.change) {
            return Err(SimError::Input("there is no such input file".to_owned()));
        }
        if !setup.corpus.tokenizer.is_same(&self.setup.corpus.tokenizer) {
            return Ok(Effect::NeedsRebuild);
        }
        setup.corpus.check_length(self.config.context).map_err(SimError::Input)?;
        (self.setup, self.params) = (setup, params);
        self.generation += 1; // the levels
        Ok(Effect::Applied)
    }

    fn act(&mut self, action: &Action) -> Result<(), SimError> {
        let layers = self.state.frozen.len();
        let freezes = match action.name.as_str() {
            "sample_now" => {
                return self.write_now();
            }
            "freeze" => true,
            "unfreeze" => false,
            other => {
                return Err(SimError::Input(format!(
                    "there is no action {other}; there are freeze, unfreeze, sample_now"
                )));
            }
        };
        if action.elements.is_empty() || action.elements.iter().any(|e| *e as usize >= layers) {
            return Err(SimError::Input(format!("{}: select layers", action.name)));
        }
        for element in &action.elements {
            self.state.frozen[*element as usize] = freezes;
        }
        Ok(())
    }

    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.check_taps(taps)?;
        self.sampler.tap(taps);
        Ok(())
    }

    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        let mut left = steps;
        loop {
            if self.measure(pass)? == Outcome::Stopped || left == 0 || pass.is_stopping() {
                break;
            }
            if self.train(pass)? == Outcome::Stopped {
                break;
            }
            left -= 1;
        }
        self.count_steps()
    }

    fn ask(&self, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
        self.answer(request, progress)
    }

    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        for tap in self.sampler.taps() {
            if frame.wants(PROBES[usize::from(tap.probe)].shape) {
                let reading = self.reading(&tap, frame)?;
                frame.readings.push((tap.key(), reading));
            }
        }
        Ok(())
    }

    fn save(&mut self) -> Result<Snapshot, SimError> {
        self.saved()
    }

    fn load(&mut self, from: &Snapshot) -> Result<(), SimError> {
        let state = self.restore(from)?;
        self.put(state);
        Ok(())
    }

    fn snapshot_bytes(&self) -> u64 {
        self.layout.map.count() as u64 * 12
    }

    fn rewind(&mut self) -> Result<(), SimError> {
        self.begin()?;
        self.generation += 1;
        Ok(())
    }

    fn counts(&self) -> Vec<StepCount> {
        super::counts(&self.params, &self.config, &self.layout)
    }

    fn execution(&self) -> Execution {
        self.backend.execution()
    }

    fn notices(&self) -> Vec<String> {
        self.backend.notices()
    }

    fn kernels(&self) -> Vec<KernelFacts> {
        self.backend.kernels()
    }

    fn digest(&self) -> Digest {
        let totals = vec![("steps".to_owned(), self.state.step), ("tokens".to_owned(), self.state.tokens)];
        Digest { hash: self.state.hash.hex(), totals }
    }

    fn memory(&self) -> MemoryReport {
        let mut report = self.backend.memory();
        report.host("text", self.setup.n_bytes());
        report.host("batches", self.batch.n_bytes());
        report
    }
}
