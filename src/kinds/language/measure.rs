//! Schedules and takes measurements. Measurements that are due after a step are taken before the next step.

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
    text_in_progress::{DueText, TextInProgress},
    writing::{self, Scored},
};
use crate::{
    data::text::HeldOut,
    gpu::Pass,
    sim::{Frame, Reading, ReadingCost, SimError, Tap, TapArgs, TextSample},
};
use std::{mem, sync::Arc, thread, time::Duration};

/// Polling interval while waiting for a text in progress.
const POLL_EVERY: Duration = Duration::from_micros(200);

/// Measurements that are due or in progress.
#[derive(Default)]
pub struct Pending {
    /// Evaluation of the held-out text that is due or in progress; `None` if no evaluation is due.
    held_out: Option<HeldOutLoss>,
    /// Whether a text must be sampled.
    text: bool,
    /// Text that is sampled concurrently with the steps; `None` if no text is in progress.
    in_progress: Option<TextInProgress>,
    histograms: bool,
    /// Time and duration of the last count of histograms; `None` before the first count.
    histogram_cost: Option<ReadingCost>,
    /// Whether the held-out loss was computed since the flag was last taken.
    pub has_result: bool,
    /// Number of steps whose loss is recorded.
    pub counted: u64,
}

impl Pending {
    /// Creates the schedule after `step` steps, in which no measurement is due.
    pub fn after(step: u64) -> Self {
        Self { counted: step, ..Self::default() }
    }

    /// Whether counting histograms again now would exceed the share of the time that readings for the screen may take.
    fn is_histogram_early(&self) -> bool {
        self.histogram_cost.is_some_and(|cost| cost.is_early(std::iter::once(cost)))
    }

    /// Whether a measurement must be taken before the next step.
    const fn is_due(&self) -> bool {
        self.held_out.is_some() || self.text || self.histograms
    }

    /// Whether a text is sampled concurrently with the steps.
    pub const fn is_in_progress(&self) -> bool {
        self.in_progress.is_some()
    }

    /// Schedules the measurements that are due after step `step`.
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
    /// Takes the measurements that are due. A measurement that was stopped continues, or is repeated, in the next call.
    /// Fails if a measurement fails.
    pub(super) fn measure(&mut self, pass: &mut Pass) -> Result<Outcome, SimError> {
        if self.evaluate(pass)? == Outcome::Stopped {
            return Ok(Outcome::Stopped);
        }
        if self.write_periodic(pass)? == Outcome::Stopped {
            return Ok(Outcome::Stopped);
        }
        if mem::take(&mut self.pending.histograms) && !(pass.is_for_screen && self.pending.is_histogram_early()) {
            let (counted, cost) = ReadingCost::of(|| self.count_histograms());
            self.pending.histogram_cost = Some(cost);
            counted?;
        }
        Ok(Outcome::Done)
    }

    /// Adds a row to each tapped histogram. Fails if the device fails.
    fn count_histograms(&mut self) -> Result<(), SimError> {
        for key in self.sampler.histogram_keys() {
            let values = K::histogram(self, &key)?;
            self.sampler.count(&key, self.state.step, &values);
        }
        Ok(())
    }

    /// Collects a finished text, and samples the text that is due, concurrently with the next steps if the backend can copy
    /// the model. Fails if the device fails.
    fn write_periodic(&mut self, pass: &mut Pass) -> Result<Outcome, SimError> {
        if !self.pending.text {
            self.take_text(false)?;
            return Ok(Outcome::Done);
        }
        // At most one text is in progress.
        while self.pending.in_progress.as_ref().is_some_and(|text| !text.is_written()) {
            if pass.is_stopping() {
                return Ok(Outcome::Stopped);
            }
            thread::sleep(POLL_EVERY);
        }
        self.take_text(true)?;
        let due = self.due_text();
        let may_write = K::writes_beside(self, pass.is_for_screen);
        let model = if may_write { self.backend.text_model()? } else { None };
        if let Some(model) = model {
            let size = (self.config.context(), self.config.vocab());
            self.pending.in_progress = Some(TextInProgress::start(due, model, size)?);
            self.pending.text = false;
            return Ok(Outcome::Done);
        }
        let stop = pass.stop.clone();
        let goes_on = |_| if stop.is_raised() { Err(SimError::Cancelled) } else { Ok(()) };
        match pass.span("sample", 1, || self.write(&due, goes_on)) {
            Err(SimError::Cancelled) => return Ok(Outcome::Stopped),
            result => self.finish_text(&due, result)?,
        }
        self.pending.text = false;
        Ok(Outcome::Done)
    }

    /// Collects the text in progress if it is finished, or waits for it if `waits`. Returns whether a text was collected.
    /// Fails if the device fails.
    pub(super) fn take_text(&mut self, waits: bool) -> Result<bool, SimError> {
        match self.pending.in_progress.take_if(|text| waits || text.is_written()).map(TextInProgress::finish) {
            Some((due, written)) => self.finish_text(&due, written).map(|()| true),
            None => Ok(false),
        }
    }

    /// Collects the text in progress. With `waits`, also takes due measurements that a stop has interrupted. Returns
    /// whether there was any measurement. Fails if a measurement fails.
    pub(super) fn finish_measurements(&mut self, waits: bool) -> Result<bool, SimError> {
        let is_due = waits && self.pending.is_due();
        if is_due {
            self.measure(&mut Pass::default())?;
        }
        Ok(self.take_text(waits)? || is_due)
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
            Some(loss) => {
                self.sampler.push(probes::HELD_OUT, self.state.step, &[loss]);
                self.pending.has_result = true;
            }
            None => return Ok(Outcome::Stopped),
        }
        Ok(Outcome::Done)
    }

    /// Computes the mean loss, nats, of the first held-out sequences, as many as a micro-batch has. Fails if the device
    /// fails.
    pub(in crate::kinds) fn fixed_loss(&mut self) -> Result<f32, SimError> {
        let (sequences, seq_len) = (self.params.batches()[0], self.config.context());
        let (mut tokens, mut targets) = (vec![0; sequences * seq_len], vec![0; sequences * seq_len]);
        let n = HeldOut { length: seq_len }.fill(self.corpus(), 0, &mut tokens, &mut targets);
        let batch = Batch { sequences, seq_len, tokens: &tokens, targets: &targets, lengths: Lengths::Full };
        let mut losses = vec![0.0; tokens.len()];
        self.backend.evaluate(&[batch], &mut losses, &mut Pass::default())?;
        Ok((losses.iter().map(|loss| f64::from(*loss)).sum::<f64>() / n.max(1) as f64) as f32)
    }

    /// Computes the mean loss, nats, of the first micro-batch of the last step under the current weights. Fails if the
    /// device fails.
    pub(in crate::kinds) fn last_step_loss(&mut self) -> Result<f64, SimError> {
        let batch = self.batch.first(self.params.batches()[0], self.config.context());
        let mut losses = vec![0.0; batch.n_tokens()];
        self.backend.evaluate(&[batch], &mut losses, &mut Pass::default())?;
        Ok(losses.iter().map(|loss| f64::from(*loss)).sum::<f64>() / losses.len().max(1) as f64)
    }

    /// Returns the periodic text of the current step.
    fn due_text(&self) -> DueText {
        let (measure, step) = (self.params.measure(), self.state.step);
        let writing = text::periodic(self.setup.texts.tokenizer(), measure, self.seed, step);
        DueText { step, prompt: measure.prompt.to_string(), temperature: measure.temperature, writing }
    }

    fn write(&self, due: &DueText, goes_on: impl FnMut(usize) -> Result<(), SimError>) -> Result<Vec<u32>, SimError> {
        writing::write(&mut *K::writer(self)?, self.config.context(), self.config.vocab(), &due.writing, goes_on)
    }

    /// Samples a text synchronously, also while the simulation is paused. Fails if the device fails.
    pub(super) fn write_now(&mut self) -> Result<(), SimError> {
        self.take_text(true)?;
        let due = self.due_text();
        let written = self.write(&due, |_| Ok(()));
        self.finish_text(&due, written)?;
        self.pending.text = false;
        Ok(())
    }

    /// Adds a sampled text to the history. If its logits became NaN, the text is only the prompt and the title contains the
    /// error. Training continues, because its loss is checked separately.
    fn finish_text(&mut self, due: &DueText, written: Result<Vec<u32>, SimError>) -> Result<(), SimError> {
        let (tokens, failed) = match written {
            Err(SimError::Diverged(why)) => (due.writing.prompt.clone(), format!(": {why}")),
            written => (written?, String::new()),
        };
        let step = K::time_base(&self.params).singular();
        let title = format!("{step} {}, temperature {}{failed}", due.step, due.temperature);
        let text = self.setup.texts.tokenizer().decode(&tokens[due.writing.prompt.len()..]);
        let text = format!("{}{text}", due.prompt);
        self.sampler.text(TextSample { step: due.step, title, text });
        self.newest = tokens;
        self.sampler.forget_text();
        K::after_text(self)
    }

    /// Returns the last tokens of the newest sampled text that fit into the context, or the first held-out tokens, at
    /// most 64, if no text was sampled yet.
    pub(in crate::kinds) fn shown_tokens(&self) -> Vec<u32> {
        text::shown(self.corpus(), &self.newest, self.config.context())
    }

    /// Returns the names of tokens as the tokenizer spells them.
    pub(in crate::kinds) fn token_names(&self, tokens: &[u32]) -> Vec<String> {
        tokens.iter().map(|token| self.setup.texts.tokenizer().name(*token)).collect()
    }

    /// Pushes the loss and learning rate of a step, and the norm of its gradient if it has one.
    pub(super) fn record_step(&mut self, step: u64, stats: &StepStats) {
        if !is_due(self.params.measure().every, step) {
            return;
        }
        let rate = self.params.rate_at(step - 1) as f32;
        let sampler = &mut self.sampler;
        sampler.push(probes::LOSS, step, &[stats.loss]);
        sampler.push(probes::LEARNING_RATE, step, &[rate]);
        if let Some(gradient) = stats.gradient {
            sampler.push(probes::GRADIENT_NORM, step, &[gradient.norm]);
        }
        K::record_step(sampler, step, stats);
    }

    /// Reads a tap from its history, from the kind or from the cache. Fails if the device fails.
    pub(super) fn reading(&mut self, tap: &Tap, frame: &Frame) -> Result<Reading, SimError> {
        let lanes = K::lanes(&self.layout, tap.probe).len().max(1);
        if let Some(history) = self.sampler.take(tap, lanes) {
            return Ok(history);
        }
        if let Some(reading) = K::reading(self, tap)? {
            return Ok(reading);
        }
        if !frame.may_lag && K::SAMPLER.of_text.contains(&tap.probe) {
            self.take_text(true)?;
        }
        if let Some(known) = self.sampler.known(tap, frame, self.params.measure().every.max(1)) {
            return Ok(known);
        }
        let (reading, cost) = ReadingCost::of(|| match tap.probe {
            probes::TOKENS => self.token_losses(),
            _ => K::kept_reading(self, tap),
        });
        let reading = reading?;
        self.sampler.keep(tap, self.state.step, &reading, cost);
        Ok(reading)
    }

    /// Computes the losses of the tokens of the scored text, or of the newest text if no scored text is given. Fails if the
    /// device fails.
    fn token_losses(&self) -> Result<Reading, SimError> {
        let tokenizer = self.setup.texts.tokenizer();
        let tokens = text::scored(tokenizer, self.params.measure(), self.shown_tokens());
        let (context, vocab) = (self.config.context(), self.config.vocab());
        let losses: Vec<Scored> = writing::score(&mut *self.backend.decoder()?, context, vocab, &tokens, |_| Ok(()))?;
        Ok(Reading::Tokens(Arc::new(writing::tokens(tokenizer, self.state.step, &tokens, &losses))))
    }
}

/// Checks that taps name existing probes, arguments and elements. Fails with the first mistake.
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

/// Returns the value of a numeric argument; 0 if the argument is missing or not a number.
pub fn number(args: &TapArgs, name: &str) -> usize {
    args.get(name).and_then(|text| text.parse().ok()).unwrap_or(0)
}
