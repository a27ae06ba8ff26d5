//! What is measured when: after steps that are due, before the next one.

use super::{
    backend::{Backend as _, Batch, Lengths, Outcome, StepStats},
    kind::{Config, LanguageKind, Layout},
    model::{ModelParams as _, Sizes as _},
    params::Measure,
    probes,
    sampler::{self, Sampler},
    simulation::LanguageSim,
    steps::{HeldOutLoss, is_due},
    text,
    writing::{self, Scored, Writing},
};
use crate::{
    data::text::HeldOut,
    gpu::Pass,
    sim::{Frame, Reading, SimError, Tap, TapArgs, TextSample},
};
use std::sync::Arc;

/// Measurements that are due.
#[derive(Default)]
pub struct Pending {
    /// The evaluation of the held-out text in progress.
    held_out: Option<HeldOutLoss>,
    /// Whether a text is written.
    text: bool,
    histograms: bool,
    /// Steps whose loss is recorded.
    pub counted: u64,
}

impl Pending {
    /// None, after so many steps.
    pub fn after(step: u64) -> Self {
        Self { counted: step, ..Self::default() }
    }

    /// Adds what is due after a step.
    pub fn schedule(&mut self, measure: &Measure, sampler: &Sampler, step: u64) {
        if is_due(measure.held_out_every, step) && sampler.is_tapped(probes::HELD_OUT) {
            self.held_out = Some(HeldOutLoss::default());
        }
        let is_sampled = is_due(measure.sample_every, step);
        self.text |= is_sampled && sampler.wants_text();
        self.histograms |= is_sampled && !sampler.histogram_keys().is_empty();
    }
}

impl<K: LanguageKind> LanguageSim<K> {
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
                result => self.finish_text(&writing, result)?,
            }
        }
        if self.pending.histograms {
            for key in self.sampler.histogram_keys() {
                let values = K::histogram(self, &key)?;
                self.sampler.count(&key, self.state.step, &values);
            }
            self.pending.histograms = false;
        }
        Ok(Outcome::Done)
    }

    fn evaluate(&mut self, pass: &mut Pass) -> Result<Outcome, SimError> {
        let Some(mut held_out) = self.pending.held_out else { return Ok(Outcome::Done) };
        let backend = &mut self.backend;
        let size = (self.config.context(), self.params.batches()[0], backend.batches_at_once());
        let loss = held_out.run(self.setup.texts.after(self.state.step), size, pass, |batches, losses, pass| {
            backend.evaluate(batches, losses, pass)
        })?;
        self.pending.held_out = loss.is_none().then_some(held_out);
        match loss {
            Some(loss) => self.sampler.push(probes::HELD_OUT, self.state.step, &[loss]),
            None => return Ok(Outcome::Stopped),
        }
        Ok(Outcome::Done)
    }

    /// Mean loss of the first held-out sequences, as many as a batch has.
    pub(in crate::kinds) fn fixed_loss(&mut self) -> Result<f32, SimError> {
        let (sequences, seq_len) = (self.params.batches()[0], self.config.context());
        let (mut tokens, mut targets) = (vec![0; sequences * seq_len], vec![0; sequences * seq_len]);
        let n = HeldOut { length: seq_len }.fill(self.corpus(), 0, &mut tokens, &mut targets);
        let batch = Batch { sequences, seq_len, tokens: &tokens, targets: &targets, lengths: Lengths::Full };
        let mut losses = vec![0.0; tokens.len()];
        self.backend.evaluate(&[batch], &mut losses, &mut Pass::default())?;
        Ok((losses.iter().map(|loss| f64::from(*loss)).sum::<f64>() / n.max(1) as f64) as f32)
    }

    /// Mean loss of the first micro-batch of the last step, with the model as it is now.
    pub(in crate::kinds) fn last_step_loss(&mut self) -> Result<f64, SimError> {
        let batch = self.batch.first(self.params.batches()[0], self.config.context());
        let mut losses = vec![0.0; batch.n_tokens()];
        self.backend.evaluate(&[batch], &mut losses, &mut Pass::default())?;
        Ok(losses.iter().map(|loss| f64::from(*loss)).sum::<f64>() / losses.len().max(1) as f64)
    }

    /// The periodic text.
    fn writing(&self) -> Writing {
        text::periodic(self.setup.texts.tokenizer(), self.params.measure(), self.seed, self.state.step)
    }

    fn write(
        &self,
        writing: &Writing,
        goes_on: impl FnMut(usize) -> Result<(), SimError>,
    ) -> Result<Vec<u32>, SimError> {
        writing::write(&mut *K::writer(self)?, self.config.context(), self.config.vocab(), writing, goes_on)
    }

    /// Writes a text at once, also of a paused simulation.
    pub(super) fn write_now(&mut self) -> Result<(), SimError> {
        let writing = self.writing();
        let written = self.write(&writing, |_| Ok(()));
        self.finish_text(&writing, written)
    }

    /// Keeps a text that was written. One whose logits became NaN is its prompt, and its title says so: training goes on, whose loss
    /// is watched by itself.
    fn finish_text(&mut self, writing: &Writing, written: Result<Vec<u32>, SimError>) -> Result<(), SimError> {
        let (tokens, failed) = match written {
            Err(SimError::Diverged(why)) => (writing.prompt.clone(), format!(": {why}")),
            written => (written?, String::new()),
        };
        let measure = self.params.measure();
        let title = format!("step {}, temperature {}{failed}", self.state.step, measure.temperature);
        let text = self.setup.texts.tokenizer().decode(&tokens[writing.prompt.len()..]);
        let text = format!("{}{text}", measure.prompt);
        self.sampler.text(TextSample { step: self.state.step, title, text });
        self.newest = tokens;
        self.sampler.forget_text();
        self.pending.text = false;
        K::after_text(self)
    }

    /// Tokens of the newest sampled text that fit into the context; before there is one, the first held-out tokens.
    pub(in crate::kinds) fn shown_tokens(&self) -> Vec<u32> {
        text::shown(self.corpus(), &self.newest, self.config.context())
    }

    /// Names of tokens.
    pub(in crate::kinds) fn token_names(&self, tokens: &[u32]) -> Vec<String> {
        tokens.iter().map(|token| self.setup.texts.tokenizer().name(*token)).collect()
    }

    /// The loss of a step and what belongs to it.
    pub(super) fn record_step(&mut self, step: u64, stats: &StepStats) {
        if !is_due(self.params.measure().every, step) {
            return;
        }
        let rate = self.params.rate_at(step - 1) as f32;
        let sampler = &mut self.sampler;
        sampler.push(probes::LOSS, step, &[stats.loss]);
        sampler.push(probes::LEARNING_RATE, step, &[rate]);
        sampler.push(probes::GRADIENT_NORM, step, &[stats.gradient_norm]);
        K::record_step(sampler, step, stats);
    }

    /// The reading of a tap.
    pub(super) fn reading(&mut self, tap: &Tap, frame: &Frame) -> Result<Reading, SimError> {
        let lanes = K::lanes(&self.layout, tap.probe).len().max(1);
        if let Some(history) = self.sampler.take(tap, lanes) {
            return Ok(history);
        }
        if let Some(reading) = K::reading(self, tap)? {
            return Ok(reading);
        }
        if let Some(known) = self.sampler.known(tap, frame, self.params.measure().every.max(1)) {
            return Ok(known);
        }
        let reading = match tap.probe {
            probes::TOKENS => self.token_losses()?,
            _ => K::kept_reading(self, tap)?,
        };
        self.sampler.keep(tap, self.state.step, &reading);
        Ok(reading)
    }

    /// Losses of the tokens of the scored or shown text.
    fn token_losses(&self) -> Result<Reading, SimError> {
        let tokenizer = self.setup.texts.tokenizer();
        let tokens = text::scored(tokenizer, self.params.measure(), self.shown_tokens());
        let (context, vocab) = (self.config.context(), self.config.vocab());
        let losses: Vec<Scored> = writing::score(&mut *self.backend.decoder()?, context, vocab, &tokens, |_| Ok(()))?;
        Ok(Reading::Tokens(Arc::new(writing::tokens(tokenizer, self.state.step, &tokens, &losses))))
    }
}

/// Checks that taps name probes, arguments and elements of a model.
pub fn check_taps<K: LanguageKind>(taps: &[Tap], config: &Config<K>, layout: &Layout<K>) -> Result<(), SimError> {
    sampler::check(taps, K::PROBES)?;
    for tap in taps {
        for arg in K::PROBES[usize::from(tap.probe)].args {
            let Some(value) = tap.args.get(arg.name) else { continue };
            if let Some(why) = K::arg_values(config, layout, arg.name).refusal(arg.name, &value) {
                return Err(SimError::Input(why));
            }
        }
        K::check_tap(config, tap)?;
    }
    Ok(())
}

/// The value of an argument that is a number; of a missing one 0.
pub fn number(args: &TapArgs, name: &str) -> usize {
    args.get(name).and_then(|text| text.parse().ok()).unwrap_or(0)
}
