//! Readings: series of a generation and of the model, fields, and matrices.

use super::{
    backend::{GenerationStats, Site, StateBuffer, bias_loss},
    probes,
    simulation::EvolutionSim,
    strategy::{TensorChange, ternary_of},
};
use crate::{
    kinds::language::measure::number,
    nn::parameters::ViewId,
    sim::{Axis, Matrix, ProbeId, Progress, SimError, Tap, TapArgs},
};
use std::sync::Arc;

/// State and measurements that only this kind has.
#[derive(Default)]
pub struct Own {
    /// Statistics of the last generation.
    pub last: GenerationStats,
    /// Hash of a text, and number of occurrences of each token in its held-out part; `None` before it is counted.
    counted: Option<(u64, Vec<u64>)>,
}

impl EvolutionSim {
    /// Pushes the series of a generation.
    pub(super) fn record_generation(&mut self, step: u64, generation: &GenerationStats) {
        let matrices = self.layout.n_matrices();
        let [changed, saturated] = self.shares(&generation.changes);
        let rms: Vec<f32> = generation.changes.iter().map(|change| change.rms).collect();
        let course = self.params.strategy.course(step - 1);
        let threshold = course.threshold * (course.pairs as f32).sqrt();
        let sampler = &mut self.sampler;
        sampler.push(probes::FITNESS_QUANTILES, step, &quantiles(&generation.fitness));
        sampler.push(probes::CORRELATION, step, &[generation.correlation]);
        sampler.push(probes::CHANGED, step, &changed[..matrices]);
        sampler.push(probes::SATURATION, step, &saturated[..matrices]);
        sampler.push(probes::SUM_RMS, step, &rms);
        sampler.push(probes::SIGMA, step, &[1.0 / (1_u32 << course.shift) as f32]);
        sampler.push(probes::THRESHOLD, step, &[threshold]);
    }

    /// Pushes the tapped series of the unperturbed model. Fails if the device fails.
    pub(super) fn record_model(&mut self) -> Result<(), SimError> {
        let step = self.state.step;
        if self.sampler.is_tapped(probes::BIAS_LOSS) {
            self.count_held_out();
            let counts = self.own.counted.as_ref().map_or(&[][..], |(_, counts)| counts);
            let loss = bias_loss(&self.biases()?, counts);
            self.sampler.push(probes::BIAS_LOSS, step, &[loss]);
        }
        if self.sampler.is_any_tapped(&[probes::LIVE_ATTENTION, probes::OVERWRITTEN]) {
            let [live, overwritten] = self.liveness()?;
            self.sampler.push(probes::LIVE_ATTENTION, step, &live);
            self.sampler.push(probes::OVERWRITTEN, step, &overwritten);
        }
        Ok(())
    }

    /// Counts the tokens of the held-out text unless it is counted already.
    fn count_held_out(&mut self) {
        let text = self.setup.texts.after(self.state.step);
        if self.own.counted.as_ref().is_some_and(|(hash, _)| *hash == text.hash) {
            return;
        }
        let (held_out, mut counts) = (text.held_out(), vec![0; text.n_vocab()]);
        let mut tokens = vec![0; held_out.len()];
        text.copy(held_out.start, &mut tokens);
        tokens.iter().for_each(|token| counts[*token as usize] += 1);
        self.own.counted = Some((text.hash, counts));
    }

    /// Returns the shares of changed weights and of weights at their limit of each tensor, in percent.
    fn shares(&self, changes: &[TensorChange]) -> [Vec<f32>; 2] {
        let lengths: Vec<usize> = self.layout.map.views().map(|view| view.len()).collect();
        let share = |of: fn(&TensorChange) -> u64| {
            let percent = |(i, len): (usize, &usize)| {
                changes.get(i).map_or(0.0, |change| 100.0 * of(change) as f32 / (*len).max(1) as f32)
            };
            lengths.iter().enumerate().map(percent).collect()
        };
        [share(|change| change.changed), share(|change| change.saturated)]
    }

    /// Computes the values of a field; `None` for other probes.
    pub(super) fn field(&self, probe: ProbeId) -> Option<Vec<f32>> {
        let changes = &self.own.last.changes;
        let n = self.layout.map.views().len();
        Some(match probe {
            probes::FITNESS => {
                let mut fitness = self.own.last.fitness.clone();
                fitness.resize(self.params.strategy.pairs(), f32::NAN);
                fitness
            }
            probes::TENSOR_CHANGED => self.shares(changes)[0].clone(),
            probes::TENSOR_SUM => (0..n).map(|i| changes.get(i).map_or(0.0, |change| change.rms)).collect(),
            probes::FROZEN => self.state.frozen.iter().map(|f| f32::from(u8::from(*f))).collect(),
            _ => return None,
        })
    }

    /// Reads a tensor before it is rounded: the one that a tap names, or the first. Fails if the device fails.
    pub(super) fn weights_of(&self, args: &TapArgs) -> Result<(ViewId, Vec<f32>), SimError> {
        let id = args.get("tensor").and_then(|name| self.layout.map.find(&name)).unwrap_or(ViewId(0));
        let view = self.layout.map.view(id);
        let mut values = vec![0.0; view.len()];
        self.backend.read(StateBuffer::Weights, view.start, &mut values)?;
        Ok((id, values))
    }

    /// Computes the matrix that a tap requests. Fails if the device fails.
    pub(super) fn matrix(&self, tap: &Tap) -> Result<Matrix, SimError> {
        if tap.probe == probes::WEIGHTS {
            let (id, mut values) = self.weights_of(&tap.args)?;
            if id.0 < self.layout.n_matrices() {
                values.iter_mut().for_each(|value| *value = ternary_of(*value).into());
            }
            let shape = &self.layout.map.view(id).shape;
            let [rows, columns] = [if shape.len() > 1 { shape[0] } else { 1 }, shape[shape.len() - 1]];
            let axes = [rows, columns].map(|len| Axis::numbered(len as u32));
            return Ok(of_axes(axes, values));
        }
        let (mut tokens, layer) = (self.shown_tokens(), number(&tap.args, "layer"));
        tokens.truncate(self.config.sizes.steps);
        let labels = Axis::named(self.token_names(&tokens));
        let (site, columns) = match tap.probe {
            probes::ATTENTION => (Site::Attention(layer), labels.clone()),
            _ => (Site::Writes(layer), Axis::numbered(self.config.sizes.width as u32)),
        };
        let values = self.backend.inspect(&tokens, site, &Progress::default())?;
        Ok(of_axes([labels, columns], values))
    }
}

fn of_axes([rows, columns]: [Axis; 2], values: Vec<f32>) -> Matrix {
    Matrix { rows, columns, values: Arc::new(values) }
}

/// Returns the quantiles [`probes::QUANTILES`] of values; NaN without values.
fn quantiles(values: &[f32]) -> [f32; probes::QUANTILES.len()] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f32::total_cmp);
    let last = sorted.len().saturating_sub(1) as f64;
    probes::QUANTILES.map(|(_, share)| sorted.get((share * last).round() as usize).copied().unwrap_or(f32::NAN))
}
