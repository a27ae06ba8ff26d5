//! The simulation: which tokens a step reads, what is frozen, when experts split and merge, and what is measured when.

use super::{
    Params,
    backend::{Backend, StepInput},
    dynamics,
    life_cycle::Lives,
    measure::Pending,
    model::{self, Config, Layout},
    probes::{self, EXPERTS, PROBES},
    sampler,
    scores::Scores,
    sets,
    setup::Setup,
};
use crate::{
    data::text::Batches,
    gpu::{KernelFacts, Pass},
    kinds::{
        edit::{Edit, check_change},
        language::{
            backend::{Counters, Decoder, MAX_WAITING_STEPS, Outcome, StateBuffer, StepStats},
            sampler::Sampler,
            steps::{StepTokens, is_due},
            text,
            writing::{self, Scored, Writing},
        },
    },
    num::hash::StreamHash,
    params::{Change, Params as _},
    sim::{
        Action, Answer, Clock, Digest, Effect, ElementSet, Execution, Frame, Individuals, InputData, Level,
        MemoryReport, ProbeId, ProbeSpec, Progress, Request, SimError, Simulation, Snapshot, StepCount, Tap,
    },
};
use std::sync::Arc;

/// A model in training.
pub struct SynapticSim {
    pub(super) params: Params,
    pub(super) seed: u64,
    pub(super) setup: Arc<Setup>,
    pub(super) config: Config,
    pub(super) layout: Arc<Layout>,
    pub(super) backend: Box<dyn Backend>,
    pub(super) state: State,
    pub(super) lives: Lives,
    pub(super) scores: Scores,
    sets: [Arc<ElementSet>; 3],
    generation: u64,
    pub(super) sampler: Sampler,
    pub(super) pending: Pending,
    /// Tokens of the newest sampled text.
    pub(super) newest: Vec<u32>,
    batch: StepTokens,
}

/// The state beside parameters, moments and what the routers keep.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Steps taken.
    pub step: u64,
    /// Tokens trained on.
    pub tokens: u64,
    /// For each layer whether it is frozen.
    pub frozen: Vec<bool>,
    /// Hash of the losses of all steps, and of all moves of experts.
    pub hash: StreamHash,
}

impl State {
    fn new(layout: &Layout) -> Self {
        Self { step: 0, tokens: 0, frozen: vec![false; layout.n_layers()], hash: StreamHash::default() }
    }
}

impl SynapticSim {
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
            sets: sets::all(&config, &layout),
            state: State::new(&layout),
            lives: Lives::new(&config),
            scores: Scores::default(),
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

    /// Initial weights, empty moments, rested routers.
    fn begin(&mut self) -> Result<(), SimError> {
        self.backend.set_dynamics(&self.params.dynamics(&self.config))?;
        let drawn;
        let weights = match &self.setup.weights {
            Some(weights) => weights,
            None => {
                drawn = model::init(&self.config, &self.layout, self.seed);
                &drawn
            }
        };
        self.backend.write(StateBuffer::Weights, 0, weights.values())?;
        let zeros = vec![0.0; self.layout.map.len()];
        self.backend.write(StateBuffer::FirstMoment, 0, &zeros)?;
        self.backend.write(StateBuffer::SecondMoment, 0, &zeros)?;
        for layer in 0..self.config.layers {
            self.backend.set_router(layer, &dynamics::rested(&self.config, layer, self.seed))?;
        }
        self.backend.set_counters(Counters { loss_scale: 1.0, ..Counters::default() })?;
        self.state = State::new(&self.layout);
        self.drop_records()?;
        self.scores = self.no_scores();
        self.restart_measurements();
        self.begin_lives()?;
        Ok(())
    }

    /// Forgets what was measured.
    pub(super) fn restart_measurements(&mut self) {
        self.sampler.restart();
        self.lives.take_log();
        self.pending = Pending::default();
        self.newest.clear();
    }

    /// One step of training, and the life cycle after it.
    fn train(&mut self, pass: &mut Pass) -> Result<Outcome, SimError> {
        let training = &self.params.training;
        let batches = Batches { seed: self.seed, sequences: training.batch as usize, length: self.config.context };
        let batches = self.batch.draw(&self.setup.corpus, &batches, training.micro_batches as usize, self.state.step);
        let n_tokens: usize = batches.iter().map(|batch| batch.n_tokens()).sum();
        let input = StepInput {
            step: self.state.step,
            batches: &batches,
            hyper: &training.hyper(self.state.step),
            frozen: &self.state.frozen,
            frozen_experts: &self.lives.identities.frozen(),
            measures: false,
        };
        let outcome = self.backend.step(&input, pass)?;
        if outcome == Outcome::Done {
            self.state.step += 1;
            self.state.tokens += n_tokens as u64;
            self.pending.schedule(&self.params, &self.sampler, self.state.step);
            self.score_step()?;
            self.live(pass)?;
            if is_due(self.params.measure.every, self.state.step) {
                self.record_experts()?;
            }
            if self.state.step - self.pending.counted >= MAX_WAITING_STEPS as u64 {
                self.count_steps()?;
            }
        }
        Ok(outcome)
    }

    /// Takes in what the last steps were.
    pub(super) fn count_steps(&mut self) -> Result<(), SimError> {
        let mut stats = vec![];
        self.backend.take_stats(&mut stats)?;
        let first = self.state.step - stats.len() as u64;
        for (step, stats) in (first + 1..).zip(&stats) {
            self.state.hash.push(stats.loss.to_bits());
            self.record_step(step, stats);
        }
        self.pending.counted = self.state.step;
        let is_lost = |stats: &StepStats| stats.is_skipped || !stats.loss.is_finite();
        match (first + 1..).zip(&stats).find(|(_, stats)| is_lost(stats)) {
            Some((step, _)) => {
                Err(SimError::non_finite("the loss or its gradient", step, "lower training.learning_rate"))
            }
            None => Ok(()),
        }
    }

    /// A decoder, which writes fast memory if it is plastic.
    pub(super) fn decoder(&self, is_plastic: bool) -> Result<Box<dyn Decoder + '_>, SimError> {
        match is_plastic {
            true => self.backend.plastic_decoder(&self.params.fast_memory(&self.config)),
            false => self.backend.decoder(),
        }
    }

    /// Writes a text.
    pub(super) fn write(
        &self,
        writing: &Writing,
        goes_on: impl FnMut(usize) -> Result<(), SimError>,
    ) -> Result<Vec<u32>, SimError> {
        let mut decoder = self.decoder(self.params.plasticity.sampling)?;
        writing::write(&mut *decoder, self.config.context, self.config.vocab, writing, goes_on)
    }

    /// Scores a text.
    pub(super) fn score(
        &self,
        text: &[u32],
        goes_on: impl FnMut(usize) -> Result<(), SimError>,
    ) -> Result<Vec<Scored>, SimError> {
        writing::score(&mut *self.backend.decoder()?, self.config.context, self.config.vocab, text, goes_on)
    }

    pub(super) fn put(&mut self, state: State) {
        self.state = state;
        self.restart_measurements();
        (self.pending.counted, self.pending.scored) = (self.state.step, self.state.step);
        self.generation += 1;
    }

    fn freeze_layers(&mut self, action: &Action, is_frozen: bool) -> Result<(), SimError> {
        let layers = self.state.frozen.len();
        if action.elements.is_empty() || action.elements.iter().any(|e| *e as usize >= layers) {
            return Err(SimError::Input(format!("{}: select layers", action.name)));
        }
        action.elements.iter().for_each(|e| self.state.frozen[*e as usize] = is_frozen);
        Ok(())
    }

    /// Tokens of the last step, the newest last.
    pub(super) fn last_tokens(&self) -> &[u32] {
        self.batch.tokens()
    }
}

impl Simulation for SynapticSim {
    fn probes(&self) -> &'static [ProbeSpec] {
        PROBES
    }

    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        super::measure::lanes(probe).iter().map(|lane| (*lane).to_owned()).collect()
    }

    fn choices(&self, probe: ProbeId) -> Vec<Vec<String>> {
        let numbers = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
        let Config { layers, heads, context, .. } = self.config;
        let values = |name: &str| {
            numbers(match name {
                "layer" => layers,
                "head" => heads,
                _ => context,
            })
        };
        PROBES[usize::from(probe)].args.iter().map(|arg| values(arg.name)).collect()
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

    fn individuals(&self, set: &str) -> Option<Arc<Individuals>> {
        if set == EXPERTS { Some(self.lives.identities.individuals()) } else { None }
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
                // The control experiment has parameters of its own.
                if new.config(self.config.vocab)? != self.config {
                    return Ok(Effect::NeedsRebuild);
                }
                self.backend.set_dynamics(&new.dynamics(&self.config))?;
                self.sampler.forget_text();
                self.pending.routed.clear();
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
        match action.name.as_str() {
            "sample_now" => self.write_now(),
            "freeze" => self.freeze_experts(action, true),
            "unfreeze" => self.freeze_experts(action, false),
            "freeze_layers" => self.freeze_layers(action, true),
            "unfreeze_layers" => self.freeze_layers(action, false),
            _ => self.wish(action),
        }
    }

    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        super::measure::check_taps(taps, &self.config)?;
        self.sampler.tap(taps);
        self.tap_lives(self.sampler.is_tapped(probes::LINEAGE), self.sampler.is_tapped(probes::LOG))
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

    fn kernels(&self) -> Vec<KernelFacts> {
        self.backend.kernels()
    }

    fn digest(&self) -> Digest {
        let [splits, merges, removals] = self.lives.events;
        let totals = [
            ("steps", self.state.step),
            ("tokens", self.state.tokens),
            ("splits", splits),
            ("merges", merges),
            ("removals", removals),
        ];
        let totals = totals.map(|(name, n)| (name.to_owned(), n)).to_vec();
        Digest { hash: self.state.hash.hex(), totals }
    }

    fn memory(&self) -> MemoryReport {
        let mut report = self.backend.memory();
        report.host("text", self.setup.n_bytes());
        report.host("batches", self.batch.n_bytes());
        report
    }
}
