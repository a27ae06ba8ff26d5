//! Simulation of a language model: draws tokens, trains, freezes layers, and schedules measurements.

use super::{
    backend::{Backend as _, MAX_WAITING_STEPS, Outcome, StateBuffer},
    kind::{Config, LanguageKind, Layout},
    measure::{self, Pending},
    model::{ModelParams as _, Ranges as _, Sizes as _},
    probes, requests,
    sampler::Sampler,
    setup::Setup,
    steps::StepTokens,
    text,
};
use crate::{
    data::text::{Batches, Corpus},
    gpu::{KernelFacts, Pass},
    kinds::shared::edit::{Edit, check_change},
    num::hash::StreamHash,
    params::{Change, Params as _},
    sim::{
        Action, ActionSpec, Answer, Clock, Digest, Effect, ElementSet, Execution, Frame, Individuals, InputData, Level,
        LevelUse, MemoryReport, ProbeId, ProbeSpec, Progress, Request, Shape, SimError, Simulation, Snapshot,
        StepCount, Tap,
    },
};
use std::{mem, sync::Arc};

/// Language model in training.
pub struct LanguageSim<K: LanguageKind> {
    pub(in crate::kinds) params: K::Params,
    pub(in crate::kinds) seed: u64,
    pub(in crate::kinds) setup: Arc<Setup>,
    pub(in crate::kinds) config: Config<K>,
    pub(in crate::kinds) layout: Arc<Layout<K>>,
    pub(in crate::kinds) backend: Box<K::Backend>,
    pub(in crate::kinds) state: State,
    /// State that only this kind has.
    pub(in crate::kinds) own: K::Own,
    pub(in crate::kinds) sampler: Sampler,
    pub(super) pending: Pending,
    /// Tokens of the newest sampled text.
    pub(super) newest: Vec<u32>,
    sets: Vec<Arc<ElementSet>>,
    generation: u64,
    pub(super) batch: StepTokens,
}

/// Training state other than parameters, moments and the optimiser's counters.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Number of completed training steps.
    pub step: u64,
    /// Number of tokens trained on.
    pub tokens: u64,
    /// Whether each layer is frozen, `[layers]`.
    pub frozen: Vec<bool>,
    /// Hash of the losses of all steps, and of values that kinds add.
    pub hash: StreamHash,
}

impl State {
    fn new(layers: usize) -> Self {
        Self { step: 0, tokens: 0, frozen: vec![false; layers], hash: StreamHash::default() }
    }
}

/// Returns the indices of the elements for which a flag is set.
pub(in crate::kinds) fn indices(flags: &[bool]) -> Vec<u32> {
    (0..).zip(flags).filter_map(|(i, flag)| flag.then_some(i)).collect()
}

impl<K: LanguageKind> LanguageSim<K> {
    /// Creates the simulation at step 0. Fails if the prompt or the scored text cannot be tokenised, or the device
    /// fails.
    pub fn new(
        params: &K::Params,
        seed: u64,
        setup: Arc<Setup>,
        (config, layout): (Config<K>, Arc<Layout<K>>),
        backend: Box<K::Backend>,
    ) -> Result<Self, SimError> {
        let mut new = Self {
            params: params.clone(),
            seed,
            sets: K::sets(params, &config, &layout),
            state: State::new(layout.layer_names().len()),
            own: K::own(&config),
            setup,
            config,
            layout,
            backend,
            generation: 0,
            sampler: Sampler::new(K::SAMPLER),
            pending: Pending::default(),
            newest: vec![],
            batch: StepTokens::default(),
        };
        text::check(new.setup.texts.tokenizer(), params.measure())?;
        new.begin()?;
        Ok(new)
    }

    /// Resets to step 0 with initial weights and zero moments. Fails if the device fails.
    fn begin(&mut self) -> Result<(), SimError> {
        match &self.setup.weights {
            Some(weights) => self.backend.write(StateBuffer::Weights, 0, weights.values())?,
            None => {
                let weights = K::init(&self.config, &self.layout, self.seed);
                self.backend.write(StateBuffer::Weights, 0, weights.values())?;
            }
        }
        let zeros = vec![0.0; self.layout.map().len()];
        for buffer in K::buffers(&self.params).iter().filter(|buffer| **buffer != StateBuffer::Weights) {
            self.backend.write(*buffer, 0, &zeros)?;
        }
        self.backend.set_counters(K::counters(&self.params))?;
        self.state = State::new(self.state.frozen.len());
        self.restart_measurements();
        K::begin(self)
    }

    /// Clears the histories and the schedule of measurements.
    fn restart_measurements(&mut self) {
        self.sampler.restart();
        K::restart(&mut self.own);
        self.pending = Pending::after(self.state.step);
        self.newest.clear();
    }

    /// Runs one training step. Fails if the device fails or a step has diverged.
    fn train(&mut self, pass: &mut Pass) -> Result<Outcome, SimError> {
        let [sequences, micro_batches] = self.params.batches();
        let batches = Batches { seed: self.seed, sequences, length: self.config.context() };
        let mut tokens = mem::take(&mut self.batch);
        let drawn = tokens.draw(self.setup.texts.of_step(self.state.step), &batches, micro_batches, self.state.step);
        let outcome = K::step(self, &drawn, pass);
        self.batch = tokens;
        let outcome = outcome?;
        if outcome == Outcome::Done {
            self.state.step += 1;
            self.state.tokens += self.params.tokens_per_step(self.config.context()) as u64;
            self.generation += u64::from(self.setup.texts.is_new_at(self.state.step)); // The levels changed.
            self.pending.schedule(self.params.measure(), &self.sampler, self.state.step);
            K::after_step(self, pass)?;
            if self.state.step - self.pending.counted >= MAX_WAITING_STEPS as u64 {
                self.count_steps()?;
            }
        }
        Ok(outcome)
    }

    /// Collects the statistics of the steps since the last call: hashes and records their losses. Fails if one of the steps
    /// diverged.
    pub(in crate::kinds) fn count_steps(&mut self) -> Result<(), SimError> {
        let mut stats = vec![];
        self.backend.take_stats(&mut stats)?;
        let first = self.state.step - stats.len() as u64;
        for (step, stats) in (first + 1..).zip(&stats) {
            self.state.hash.push(stats.loss.to_bits());
            self.record_step(step, stats);
        }
        self.pending.counted = self.state.step;
        K::after_counting(self, first + 1..=self.state.step)?;
        match (first + 1..).zip(&stats).find(|(_, stats)| K::is_lost(&self.params, stats)) {
            Some((step, _)) => {
                Err(SimError::non_finite("the loss or its gradient", step, &format!("lower {}", K::LEARNING_RATE)))
            }
            None => Ok(()),
        }
    }

    /// Freezes or unfreezes the layers that an action names. Fails if the action names no layers or unknown ones.
    pub(in crate::kinds) fn freeze_layers(&mut self, action: &Action, is_frozen: bool) -> Result<(), SimError> {
        let layers = self.state.frozen.len();
        if action.elements.is_empty() || action.elements.iter().any(|e| *e as usize >= layers) {
            return Err(SimError::Input(format!("{}: select {}", action.name, super::model::LAYERS)));
        }
        action.elements.iter().for_each(|e| self.state.frozen[*e as usize] = is_frozen);
        Ok(())
    }

    /// Returns the text that the last step read.
    pub(in crate::kinds) fn corpus(&self) -> &Corpus {
        self.setup.texts.after(self.state.step)
    }

    /// Returns the tokens of the last step in the order of the batch.
    pub(in crate::kinds) fn last_tokens(&self) -> &[u32] {
        self.batch.tokens()
    }

    /// Continues from `state`, whose weights are already in the backend.
    pub(super) fn put(&mut self, state: State) {
        self.state = state;
        self.restart_measurements();
        self.generation += 1;
    }
}

impl<K: LanguageKind> Simulation for LanguageSim<K> {
    fn probes(&self) -> &'static [ProbeSpec] {
        K::PROBES
    }

    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        K::lanes(&self.layout, probe)
    }

    fn choices(&self, probe: ProbeId) -> Vec<Vec<String>> {
        let args = K::PROBES[usize::from(probe)].args.iter();
        args.map(|arg| K::arg_values(&self.config, &self.layout, arg.name).all()).collect()
    }

    fn levels(&self, probe: ProbeId) -> Vec<Level> {
        // The levels are those of the text that the next step reads.
        let text = || self.setup.texts.of_step(self.state.step);
        let mut levels = if probes::is_loss(probe) { text::levels(text()) } else { vec![] };
        if matches!(K::PROBES[usize::from(probe)].shape, Shape::Series { of: "" }) {
            let tokens = self.params.tokens_per_step(self.config.context());
            levels.push(Level::factor(LevelUse::ItemsPerStep, "tokens", tokens as f64));
        }
        levels
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.sets
    }

    fn actions(&self) -> &'static [ActionSpec] {
        K::ACTIONS
    }

    fn elements_in_state(&self, action: &str) -> Vec<u32> {
        K::elements_in_state(self, action)
    }

    fn individuals(&self, set: &str) -> Option<Arc<Individuals>> {
        K::individuals(&self.own, set)
    }

    fn clock(&self) -> Clock {
        Clock { step: self.state.step, base: K::time_base(&self.params) }
    }

    fn params(&self) -> Option<&dyn crate::params::Params> {
        Some(&self.params)
    }

    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        match check_change(&self.params, change)? {
            Edit::Same => {}
            Edit::Rebuild => return Ok(Effect::NeedsRebuild),
            Edit::Live(new) => {
                text::check(self.setup.texts.tokenizer(), new.measure())?;
                let effect = K::before_change(self, &new)?;
                if effect != Effect::Applied {
                    return Ok(effect);
                }
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
        if !setup.texts.tokenizer().is_same(self.setup.texts.tokenizer()) {
            return Ok(Effect::NeedsRebuild);
        }
        setup.check_length(self.config.context())?;
        (self.setup, self.params) = (setup, params);
        self.generation += 1; // The levels changed.
        Ok(Effect::Applied)
    }

    fn act(&mut self, action: &Action) -> Result<(), SimError> {
        match action.name.as_str() {
            "sample_now" => self.write_now(),
            _ => K::act(self, action),
        }
    }

    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        measure::check_taps::<K>(taps, &self.config, &self.layout)?;
        self.sampler.tap(taps);
        K::after_tap(self)
    }

    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        let (mut left, generation) = (steps, self.generation);
        loop {
            let has_changed = pass.ends_at_changes && self.generation != generation;
            let measured = self.measure(pass)?;
            let has_result = std::mem::take(&mut self.pending.has_result) && pass.ends_at_results;
            if measured == Outcome::Stopped || left == 0 || has_changed || has_result || pass.is_stopping() {
                break;
            }
            if self.train(pass)? == Outcome::Stopped {
                break;
            }
            left -= 1;
        }
        self.count_steps()?;
        if !pass.defers_measurements {
            self.take_text(true)?;
        }
        // All steps have finished, so that the launch times are complete.
        Ok(pass.collect()?)
    }

    fn is_measuring(&self) -> bool {
        self.pending.is_in_progress()
    }

    fn finish_measuring(&mut self, waits: bool) -> Result<bool, SimError> {
        self.finish_measurements(waits)
    }

    fn ask(&mut self, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
        let sim = &*self;
        let text = (sim.setup.texts.tokenizer(), sim.config.context());
        requests::answer(request, text, |options| K::decoder(sim, options), progress)
    }

    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        for tap in self.sampler.taps() {
            if frame.wants(K::PROBES[usize::from(tap.probe)].shape) {
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
        self.layout.map().count() as u64 * 4 * K::buffers(&self.params).len() as u64
    }

    fn rewind(&mut self) -> Result<(), SimError> {
        self.begin()?;
        self.generation += 1;
        Ok(())
    }

    fn counts(&self) -> Vec<StepCount> {
        K::step_counts(&self.params, &self.config, &self.layout)
    }

    fn n_parameters(&self) -> u64 {
        self.layout.map().count() as u64
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

    fn digest(&self, _: u32) -> Digest {
        let all = [("steps", self.state.step), ("tokens", self.state.tokens)].into_iter().chain(K::totals(&self.own));
        Digest::new(self.state.hash.hex(), all.map(|(name, n)| (name.to_owned(), n)).collect())
    }

    fn memory(&self) -> MemoryReport {
        let mut report = self.backend.memory();
        report.host("text", self.setup.n_bytes());
        report.host("batches", self.batch.n_bytes());
        report
    }
}
