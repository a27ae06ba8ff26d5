//! What is measured when: after steps that are due, before the next one.

use super::{
    Params,
    backend::{Outcome, Site, StateBuffer, StepStats, ViewNorms},
    probes::{self, PROBES, SITES},
    simulation::TransformerSim,
};
use crate::{
    gpu::Pass,
    kinds::language::{
        sampler::{self, Sampler},
        steps::{HeldOutLoss, is_due},
        text,
        writing::{self, Writing},
    },
    nn::parameters::ViewId,
    sim::{Frame, ProbeId, Progress, Reading, SimError, Tap, TapArgs, TextSample},
};
use std::sync::Arc;

/// Measurements that are due, and norms of the last one.
#[derive(Default)]
pub struct Pending {
    /// The evaluation of the held-out text in progress.
    held_out: Option<HeldOutLoss>,
    /// Whether a text is written.
    text: bool,
    histograms: bool,
    /// Steps whose loss is recorded.
    pub counted: u64,
    /// Of each parameter.
    norms: Vec<ViewNorms>,
}

impl Pending {
    /// Adds what is due after a step.
    pub fn schedule(&mut self, params: &Params, sampler: &Sampler, step: u64) {
        let measure = &params.measure;
        if is_due(measure.held_out_every, step) && sampler.is_tapped(probes::HELD_OUT) {
            self.held_out = Some(HeldOutLoss::default());
        }
        let is_sampled = is_due(measure.sample_every, step);
        self.text |= is_sampled && sampler.wants_text();
        self.histograms |= is_sampled && !sampler.histogram_keys().is_empty();
    }
}

impl TransformerSim {
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
                result => self.finish_text(&writing, result?),
            }
        }
        if self.pending.histograms {
            for key in self.sampler.histogram_keys() {
                let values = match key.probe {
                    probes::WEIGHTS => self.weights_of(&key.args)?,
                    _ => self.backend.inspect(&self.shown_tokens(), self.site(&key.args), &Progress::default())?,
                };
                self.sampler.count(&key, self.state.step, &values);
            }
            self.pending.histograms = false;
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

    /// The periodic text.
    fn writing(&self) -> Writing {
        text::periodic(&self.setup.corpus, &self.params.measure, self.seed, self.state.step)
    }

    /// Writes a text at once, also of a paused simulation.
    pub(super) fn write_now(&mut self) -> Result<(), SimError> {
        let writing = self.writing();
        let tokens = self.write(&writing, |_| Ok(()))?;
        self.finish_text(&writing, tokens);
        Ok(())
    }

    fn finish_text(&mut self, writing: &Writing, tokens: Vec<u32>) {
        let measure = &self.params.measure;
        let title = format!("step {}, temperature {}", self.state.step, measure.temperature);
        let text = self.setup.corpus.tokenizer.decode(&tokens[writing.prompt.len()..]);
        let text = format!("{}{text}", measure.prompt);
        self.sampler.text(TextSample { step: self.state.step, title, text });
        self.newest = tokens;
        self.sampler.forget_text();
        self.pending.text = false;
    }

    /// Tokens of the newest sampled text that fit into the context; before there is one, the first held-out tokens.
    fn shown_tokens(&self) -> Vec<u32> {
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
        sampler.push(probes::LOSS_SCALE, step, &[stats.loss_scale]);
    }

    /// Norms of the step that was just taken.
    pub(super) fn record_norms(&mut self) -> Result<(), SimError> {
        self.pending.norms = self.backend.norms()?;
        let (step, layers) = (self.state.step, self.layer_norms());
        let of = |f: fn(&ViewNorms) -> f32| layers.iter().map(f).collect::<Vec<f32>>();
        let rows = [
            (probes::WEIGHT_NORMS, of(|n| n.weight)),
            (probes::GRADIENT_NORMS, of(|n| n.gradient)),
            (probes::UPDATE_RATIOS, of(update_ratio)),
        ];
        rows.iter().for_each(|(probe, values)| self.sampler.push(*probe, step, values));
        Ok(())
    }

    /// Norms over all parameters of each layer.
    fn layer_norms(&self) -> Vec<ViewNorms> {
        let mut layers = vec![ViewNorms::default(); self.layout.n_layers()];
        for (i, norms) in self.pending.norms.iter().enumerate() {
            let layer = &mut layers[self.layout.layer(ViewId(i)).index(self.layout.blocks.len())];
            layer.weight = layer.weight.hypot(norms.weight);
            layer.gradient = layer.gradient.hypot(norms.gradient);
            layer.update = layer.update.hypot(norms.update);
        }
        layers
    }

    /// The reading of a tap.
    pub(super) fn reading(&mut self, tap: &Tap, frame: &Frame) -> Result<Reading, SimError> {
        let n_layers = self.layout.n_layers();
        let lanes = match tap.probe {
            probes::WEIGHT_NORMS | probes::GRADIENT_NORMS | probes::UPDATE_RATIOS => n_layers,
            _ => 1,
        };
        if let Some(history) = self.sampler.take(tap, lanes) {
            return Ok(history);
        }
        Ok(match tap.probe {
            probes::LAYER_UPDATE => Reading::field(self.layer_norms().iter().map(update_ratio).collect()),
            probes::FROZEN => Reading::field(self.state.frozen.iter().map(|f| f32::from(u8::from(*f))).collect()),
            probes::TENSOR_RMS | probes::TENSOR_GRADIENT | probes::TENSOR_UPDATE => {
                Reading::field(self.tensor_field(tap.probe))
            }
            _ => {
                let within = self.params.measure.every.max(1);
                if let Some(known) = self.sampler.known(tap, frame, within) {
                    return Ok(known);
                }
                let reading = self.text_reading(tap)?;
                self.sampler.keep(tap, self.state.step, &reading);
                reading
            }
        })
    }

    fn tensor_field(&self, probe: ProbeId) -> Vec<f32> {
        let value = |(i, view): (usize, &crate::nn::parameters::View)| {
            let norms = self.pending.norms.get(i).copied().unwrap_or_default();
            let root = (view.len().max(1) as f32).sqrt();
            match probe {
                probes::TENSOR_RMS => norms.weight / root,
                probes::TENSOR_GRADIENT => norms.gradient / root,
                _ => update_ratio(&norms),
            }
        };
        self.layout.map.views().enumerate().map(value).collect()
    }

    /// Of a text: losses of its tokens, or attention among them.
    fn text_reading(&self, tap: &Tap) -> Result<Reading, SimError> {
        let tokens = self.shown_tokens();
        if tap.probe == probes::ATTENTION {
            let number = |name| tap.args.get(name).and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
            let site = Site::Attention { layer: number("layer"), head: number("head") };
            let values = self.backend.inspect(&tokens, site, &Progress::default())?;
            let labels = tokens.iter().map(|token| self.setup.corpus.tokenizer.name(*token)).collect();
            return Ok(Reading::Matrix(sampler::map(labels, values)));
        }
        let tokens = text::scored(&self.setup.corpus, &self.params.measure, tokens);
        let losses = self.score(&tokens, |_| Ok(()))?;
        Ok(Reading::Tokens(Arc::new(writing::tokens(&self.setup.corpus.tokenizer, self.state.step, &tokens, &losses))))
    }

    fn site(&self, args: &TapArgs) -> Site {
        let layer = args.get("layer").and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
        match args.get("site").as_deref() {
            Some(site) if site == SITES[1] => Site::AttentionOutput(layer),
            Some(site) if site == SITES[2] => Site::Hidden(layer),
            _ => Site::Residual(layer + 1),
        }
    }

    /// Values of a tensor.
    fn weights_of(&self, args: &TapArgs) -> Result<Vec<f32>, SimError> {
        let named = args.get("tensor").and_then(|name| self.layout.map.find(&name));
        let view = self.layout.map.view(named.unwrap_or(self.layout.wte));
        let mut values = vec![0.0; view.len()];
        self.backend.read(StateBuffer::Weights, view.start, &mut values)?;
        Ok(values)
    }

    /// Checks that taps name probes, layers, heads and tensors of this model.
    pub(super) fn check_taps(&self, taps: &[Tap]) -> Result<(), SimError> {
        check_taps(taps, self.config.layers, self.config.heads, |name| self.layout.map.find(name).is_some())
    }
}

/// Checks taps of a model.
pub fn check_taps(taps: &[Tap], layers: usize, heads: usize, is_tensor: impl Fn(&str) -> bool) -> Result<(), SimError> {
    sampler::check(taps, PROBES)?;
    for tap in taps {
        let limits = [("layer", layers), ("head", heads)];
        for (name, limit) in limits {
            let Some(value) = tap.args.get(name) else { continue };
            if !value.parse::<usize>().is_ok_and(|n| n < limit) {
                return Err(SimError::Input(format!("there is no {name} `{value}`: the model has {limit}, from 0")));
            }
        }
        match (tap.args.get("tensor"), tap.args.get("site")) {
            (Some(name), _) if !is_tensor(&name) => {
                return Err(SimError::Input(format!("there is no tensor `{name}`")));
            }
            (_, Some(site)) if !SITES.contains(&&*site) => {
                return Err(SimError::Input(format!("there is no site `{site}`; there are {}", SITES.join(", "))));
            }
            _ => {}
        }
    }
    Ok(())
}

fn update_ratio(norms: &ViewNorms) -> f32 {
    norms.update / norms.weight.max(f32::MIN_POSITIVE)
}
