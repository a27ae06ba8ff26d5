//! Readings of synapses: attention, release, the state of one key along a text, vesicles, and the parity of
//! implementations.

use super::{
    backend::Site,
    presynaptic::{
        self, KeyState, Mode, Presynaptic,
        parity::{self, Parity},
        trace::{TraceStep, trace},
    },
    probes,
    simulation::SynapticSim,
};
use crate::{
    gpu::Pass,
    kinds::language::{
        backend::{Batch, Lengths},
        measure::number,
        sampler,
        writing::of_token,
    },
    sim::{Axis, Matrix, Progress, SimError, Tap},
};
use std::sync::Arc;

/// Tolerance relative to 1 + the value, above which a difference is divergent.
const TOLERANCE: f64 = 1e-4;
/// Whether the mode has a quantity of [`TraceStep::columns`].
const fn is_shown(mode: Mode, quantity: usize) -> bool {
    match mode {
        Mode::Scan => quantity < 12,
        Mode::Static => matches!(quantity, 0 | 9 | 10 | 11),
        Mode::TsodyksMarkram => matches!(quantity, 0 | 11 | 12 | 13),
        Mode::Off => false,
    }
}

impl SynapticSim {
    /// Reads attention, release bias, the synapse of a key, or parity, for the shown text. Fails if the device fails.
    pub(super) fn synapse_reading(&mut self, tap: &Tap, tokens: &[u32]) -> Result<Matrix, SimError> {
        let (layer, head) = (number(&tap.args, "layer"), number(&tap.args, "head"));
        let inspect = |site| self.backend.inspect(tokens, site, &Progress::default());
        let op = self.params.dynamics(&self.config).presynaptic;
        match tap.probe {
            probes::ATTENTION => Ok(sampler::map(self.token_names(tokens), inspect(Site::Attention { layer, head })?)),
            probes::RELEASE_BIAS => Ok(sampler::map(self.token_names(tokens), inspect(Site::Bias { layer, head })?)),
            probes::SYNAPSE => {
                let drive = inspect(Site::Drive { layer, head })?;
                let key = number(&tap.args, "key").min(tokens.len().saturating_sub(1));
                Ok(self.synapse(&op, tokens, &drive, key))
            }
            _ => {
                let drive = inspect(Site::Drive { layer, head })?;
                let mut compared = parity::compare(&op, tokens.len(), &drive, None, TOLERANCE);
                self.compare_decoding(tokens, &mut compared)?;
                Ok(table(&compared))
            }
        }
    }

    /// Returns the quantities of a key as rows over the tokens, from the key on.
    fn synapse(&self, op: &Presynaptic, tokens: &[u32], drive: &[f32], key: usize) -> Matrix {
        let steps = trace(op, tokens.len(), drive, key, None);
        let names = TraceStep::default().columns().map(|(name, ..)| name);
        let shown: Vec<usize> = (0..names.len()).filter(|quantity| is_shown(op.mode, *quantity)).collect();
        let row = |quantity: &usize| {
            let quantity = *quantity;
            steps.iter().map(move |step| step.columns()[quantity].2 as f32)
        };
        Matrix {
            rows: Axis::named(shown.iter().map(|quantity| names[*quantity].to_owned()).collect()),
            columns: Axis::named(self.token_names(&tokens[tokens.len() - steps.len()..])),
            values: Arc::new(shown.iter().flat_map(row).collect()),
        }
    }

    /// Returns the mean over the keys of layer 0 at the end of the shown text: ready, reserve, in endocytosis, total. Fails
    /// if the device fails.
    pub(super) fn vesicles(&self) -> Result<[f32; 4], SimError> {
        let (tokens, op) = (self.shown_tokens(), self.params.dynamics(&self.config).presynaptic);
        let (n, mut sums) = (tokens.len(), [0.0; 4]);
        for head in 0..self.config.heads {
            let drive = self.backend.inspect(&tokens, Site::Drive { layer: 0, head }, &Progress::default())?;
            let (mut end, mut logits) = (KeyState::fresh(&op, n), vec![0.0; n * n]);
            presynaptic::forward(&op, 0, n, &drive, &mut logits, None, &mut end, None);
            for key in 0..end.n_keys() {
                let (now, waiting) = (end.key(key), end.under_endocytosis(key));
                let pools = [now.rrp, now.reserve, waiting, end.vesicles(key)];
                sums.iter_mut().zip(pools).for_each(|(sum, pool)| *sum += pool);
            }
        }
        Ok(sums.map(|sum| (sum / (self.config.heads * n).max(1) as f64) as f32))
    }

    /// Compares the losses of the text computed as a whole sequence, as in training, and token by token. Adds the
    /// differences to `to`. Fails if the device fails.
    fn compare_decoding(&mut self, tokens: &[u32], to: &mut Parity) -> Result<(), SimError> {
        let n = tokens.len().saturating_sub(1);
        if n == 0 {
            return Ok(());
        }
        let targets: Vec<i32> = tokens.iter().skip(1).map(|token| *token as i32).collect();
        let batch = Batch { sequences: 1, seq_len: n, tokens: &tokens[..n], targets: &targets, lengths: Lengths::Full };
        let mut losses = vec![0.0; n];
        self.backend.evaluate(&[batch], &mut losses, &mut Pass::default())?;
        let mut decoder = self.backend.decoder()?;
        for (i, loss) in losses.iter().enumerate() {
            let logits = &decoder.push(&tokens[i..=i])?[..self.config.vocab];
            to.add("Loss, decoded", i, f64::from(*loss), of_token(logits, tokens[i + 1]).loss.into());
        }
        Ok(())
    }
}

/// Returns a table of the quantities: largest absolute and relative difference, and first divergent token; NaN if none
/// diverges.
fn table(parity: &Parity) -> Matrix {
    let value = |row: &parity::ParityRow| {
        let first = row.first_divergent.map_or(f32::NAN, |step| step as f32);
        [row.max_abs as f32, row.max_rel as f32, first]
    };
    Matrix {
        rows: Axis::named(parity.rows.iter().map(|row| row.name.to_owned()).collect()),
        columns: Axis::named(probes::PARITY_COLUMNS.iter().map(|name| (*name).to_owned()).collect()),
        values: Arc::new(parity.rows.iter().flat_map(value).collect()),
    }
}
