//! What is measured when: after steps that are due, before the next one.

use super::{
    Params,
    experts::projection::Axes,
    model::Config,
    probes::{self, PROBES},
    readings::Routed,
    sampler::OF_EXPERTS,
    simulation::SynapticSim,
};
use crate::{
    data::text::HeldOut,
    gpu::Pass,
    kinds::language::{
        backend::{Batch, Lengths, Outcome, StepStats},
        sampler::{self, Sampler},
        steps::{HeldOutLoss, is_due},
        text,
        writing::Writing,
    },
    sim::{ProbeId, SimError, Tap, TextSample},
};
use std::sync::Arc;

/// Measurements that are due.
#[derive(Default)]
pub struct Pending {
    /// The evaluation of the held-out text in progress.
    held_out: Option<HeldOutLoss>,
    /// Whether a text is written.
    text: bool,
    /// Steps whose loss is recorded.
    pub counted: u64,
    /// Steps that scores took in.
    pub scored: u64,
    /// Axes of the map, by layer.
    pub axes: Vec<Option<Axes>>,
    /// Decisions of the routers that readings of this step share.
    pub routed: Vec<Arc<Routed>>,
}

impl Pending {
    /// Adds what is due after a step.
    pub fn schedule(&mut self, params: &Params, sampler: &Sampler, step: u64) {
        let measure = &params.measure;
        if is_due(measure.held_out_every, step) && sampler.is_tapped(probes::HELD_OUT) {
            self.held_out = Some(HeldOutLoss::default());
        }
        self.text |= is_due(measure.sample_every, step) && sampler.wants_text();
    }
}

/// Names of the lanes of a series.
pub fn lanes(probe: ProbeId) -> &'static [&'static str] {
    match probe {
        probes::VESICLES => probes::POOLS,
        probes::EVENTS => probes::EVENT_LANES,
        _ => &[],
    }
}

impl SynapticSim {
    /// Takes the measurements that are due. One that is stopped continues, or is repeated, in the next call.
    pub(super) fn measure(&mut self, pass: &mut Pass) -> Result<Outcome, SimError> {
        if self.evaluate(pass)? == Outcome::Stopped {
            return Ok(Outcome::Stopped);
        }
        if self.pending.text {
            let stop = pass.stop.clone();
            let writing = self.writing();
            let goes_on = |_| if stop.is_raised() { Err(SimError::Cancelled) } else { Ok(()) };
            match pass.span("sample", 1, || self.write(&writing, goes_on)) {
                Err(SimError::Cancelled) => return Ok(Outcome::Stopped),
                result => self.finish_text(&writing, result?)?,
            }
        }
        Ok(Outcome::Done)
    }

    fn evaluate(&mut self, pass: &mut Pass) -> Result<Outcome, SimError> {
        let Some(mut held_out) = self.pending.held_out else { return Ok(Outcome::Done) };
        let size = (self.config.context, self.params.training.batch as usize);
        let backend = &mut self.backend;
        let loss = held_out
            .run(&self.setup.corpus, size, pass, |batch, losses, pass| backend.evaluate(batch, losses, pass))?;
        self.pending.held_out = loss.is_none().then_some(held_out);
        match loss {
            Some(loss) => self.sampler.push(probes::HELD_OUT, self.state.step, &[loss]),
            None => return Ok(Outcome::Stopped),
        }
        Ok(Outcome::Done)
    }

    /// Mean loss of the first held-out sequences, as many as a batch has.
    pub(super) fn fixed_loss(&mut self) -> Result<f32, SimError> {
        let (sequences, seq_len) = (self.params.training.batch as usize, self.config.context);
        let (mut tokens, mut targets) = (vec![0; sequences * seq_len], vec![0; sequences * seq_len]);
        let n = HeldOut { length: seq_len }.fill(&self.setup.corpus, 0, &mut tokens, &mut targets);
        let batch = Batch { sequences, seq_len, tokens: &tokens, targets: &targets, lengths: Lengths::Full };
        let mut losses = vec![0.0; tokens.len()];
        self.backend.evaluate(&batch, &mut losses, &mut Pass::default())?;
        Ok((losses.iter().map(|loss| f64::from(*loss)).sum::<f64>() / n.max(1) as f64) as f32)
    }

    /// The periodic text.
    fn writing(&self) -> Writing {
        text::periodic(&self.setup.corpus, &self.params.measure, self.seed, self.state.step)
    }

    /// Writes a text at once, also of a paused simulation.
    pub(super) fn write_now(&mut self) -> Result<(), SimError> {
        let writing = self.writing();
        let tokens = self.write(&writing, |_| Ok(()))?;
        self.finish_text(&writing, tokens)
    }

    fn finish_text(&mut self, writing: &Writing, tokens: Vec<u32>) -> Result<(), SimError> {
        let measure = &self.params.measure;
        let title = format!("step {}, temperature {}", self.state.step, measure.temperature);
        let text = self.setup.corpus.tokenizer.decode(&tokens[writing.prompt.len()..]);
        let text = format!("{}{text}", measure.prompt);
        self.sampler.text(TextSample { step: self.state.step, title, text });
        self.newest = tokens;
        self.sampler.forget_text();
        self.pending.text = false;
        if self.sampler.is_tapped(probes::VESICLES) {
            let pools = self.vesicles()?;
            self.sampler.push(probes::VESICLES, self.state.step, &pools);
        }
        Ok(())
    }

    /// Tokens of the newest sampled text that fit into the context; before there is one, the first held-out tokens.
    pub(super) fn shown_tokens(&self) -> Vec<u32> {
        text::shown(&self.setup.corpus, &self.newest, self.config.context)
    }

    /// The loss of a step and what belongs to it.
    pub(super) fn record_step(&mut self, step: u64, stats: &StepStats) {
        if !is_due(self.params.measure.every, step) {
            return;
        }
        let rate = self.params.training.rate_at(step - 1) as f32;
        let sampler = &mut self.sampler;
        sampler.push(probes::LOSS, step, &[stats.loss]);
        sampler.push(probes::LEARNING_RATE, step, &[rate]);
        sampler.push(probes::GRADIENT_NORM, step, &[stats.gradient_norm]);
    }

    /// Series of experts at the step that was just taken.
    pub(super) fn record_experts(&mut self) -> Result<(), SimError> {
        let step = self.state.step;
        self.sampler.push(probes::EVENTS, step, &self.lives.events.map(|n| n as f32));
        if self.sampler.is_any_tapped(OF_EXPERTS) {
            let experts = self.expert_values()?;
            self.sampler.push_elements(probes::LOAD_OF, step, &experts.load);
            self.sampler.push_elements(probes::ENERGY_OF, step, &experts.energy);
            self.sampler.push_elements(probes::HEALTH_OF, step, &experts.health);
        }
        Ok(())
    }
}

/// Checks that taps name probes, layers, heads, keys and experts of a model.
pub fn check_taps(taps: &[Tap], config: &Config) -> Result<(), SimError> {
    sampler::check(taps, PROBES)?;
    let limits = [("layer", config.layers), ("head", config.heads), ("key", config.context), ("token", config.context)];
    for tap in taps {
        for (name, limit) in limits {
            let Some(value) = tap.args.get(name) else { continue };
            if !value.parse::<usize>().is_ok_and(|n| n < limit) {
                return Err(SimError::Input(format!("there is no {name} `{value}`: the model has {limit}, from 0")));
            }
        }
        let experts = config.layers * config.experts;
        if let Some(element) = tap.elements.iter().find(|e| **e as usize >= experts) {
            return Err(SimError::Input(format!("there is no expert slot {element}: the model has {experts}, from 0")));
        }
    }
    Ok(())
}
