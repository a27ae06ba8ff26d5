//! Blocks, loss and gradients of the earlier model, in f64. Attention and experts are those of the modules beside this one, and
//! there is no norm behind the last block.

use super::{
    mixture::{MixtureGradients, ReferenceMixture},
    self_attention::{Projections, RopeTable, SelfAttention},
};
use neuropil::kinds::{
    language::backend::IGNORED,
    synaptic::{
        cpu::network::EPS,
        experts::{ExpertsError, aux_loss},
    },
};

/// Weights of a block. Norms are weight and bias, `[C]` each.
#[derive(Clone, Debug)]
pub struct Block {
    /// The norm before attention.
    pub norm_1: [Vec<f64>; 2],
    /// Attention.
    pub attention: SelfAttention,
    /// Its weights.
    pub projections: Projections,
    /// Running mean of the effect of its synapses; every call changes it.
    pub ema: f64,
    /// The norm before the mixture of experts.
    pub norm_2: [Vec<f64>; 2],
    /// Experts.
    pub mixture: ReferenceMixture<f32>,
}

/// A network.
#[derive(Clone, Debug)]
pub struct ReferenceNetwork {
    /// Vectors of tokens, `[V, C]`.
    pub wte: Vec<f64>,
    /// Blocks.
    pub blocks: Vec<Block>,
    /// Matrix of logits, `[V, C]`.
    pub lm_head: Vec<f64>,
    /// Features of a token, C.
    pub width: usize,
    /// Rotary angles.
    pub rope: RopeTable,
    /// Weight of the auxiliary loss of each block.
    pub aux_weight: f64,
}

/// Gradients of the mean loss with the auxiliary losses.
#[derive(Clone, Debug)]
pub struct NetworkGradients {
    /// Loss.
    pub loss: f64,
    /// Logits, `[B, T, V]`.
    pub logits: Vec<f64>,
    /// Of the vectors of tokens.
    pub wte: Vec<f64>,
    /// Of the matrix of logits.
    pub lm_head: Vec<f64>,
    /// By block.
    pub blocks: Vec<BlockGradients>,
}

/// Of the first norm (weight and bias), attention, the second norm, the mixture.
pub type BlockGradients = ([Vec<f64>; 2], Projections, [Vec<f64>; 2], MixtureGradients<f32>);

fn f32s(values: &[f64]) -> Vec<f32> {
    values.iter().map(|x| *x as f32).collect()
}

fn f64s(values: &[f32]) -> Vec<f64> {
    values.iter().map(|x| f64::from(*x)).collect()
}

/// Mean and scale of a row.
fn statistics(row: &[f64]) -> (f64, f64) {
    let n = row.len() as f64;
    let mean = row.iter().sum::<f64>() / n;
    let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    (mean, 1.0 / (variance + EPS).sqrt())
}

fn layer_norm(x: &[f64], [weight, bias]: &[Vec<f64>; 2]) -> Vec<f64> {
    let row = |row: &[f64]| {
        let (mean, scale) = statistics(row);
        let terms = row.iter().zip(weight).zip(bias);
        terms.map(|((x, w), b)| (x - mean) * scale * w + b).collect::<Vec<_>>()
    };
    x.chunks_exact(weight.len()).flat_map(row).collect()
}

/// Adds the gradient of the input to `dx`; returns those of weight and bias.
fn layer_norm_backward(dy: &[f64], x: &[f64], [weight, _]: &[Vec<f64>; 2], dx: &mut [f64]) -> [Vec<f64>; 2] {
    let n = weight.len();
    let [mut dweight, mut dbias] = [vec![0.0; n], vec![0.0; n]];
    for ((dy, x), dx) in dy.chunks_exact(n).zip(x.chunks_exact(n)).zip(dx.chunks_exact_mut(n)) {
        let (mean, scale) = statistics(x);
        let normal: Vec<f64> = x.iter().map(|x| (x - mean) * scale).collect();
        let d: Vec<f64> = dy.iter().zip(weight).map(|(dy, w)| dy * w).collect();
        let of_mean = d.iter().sum::<f64>() / n as f64;
        let of_scale = d.iter().zip(&normal).map(|(d, x)| d * x).sum::<f64>() / n as f64;
        for i in 0..n {
            dx[i] += scale * (d[i] - of_mean - normal[i] * of_scale);
            dweight[i] += dy[i] * normal[i];
            dbias[i] += dy[i];
        }
    }
    [dweight, dbias]
}

impl ReferenceNetwork {
    /// Loss, a mean over targets that are not [`IGNORED`], and gradients of sequences. Running means of release change; the states of routers do not.
    pub fn gradients(
        &mut self,
        tokens: &[usize],
        targets: &[i32],
        sequences: usize,
    ) -> Result<NetworkGradients, ExpertsError> {
        let is_counted = |target: &&i32| **target != IGNORED;
        let (width, n) = (self.width, targets.iter().filter(is_counted).count().max(1) as f64);
        let mut x: Vec<f64> = tokens.iter().flat_map(|token| &self.wte[token * width..][..width]).copied().collect();
        let (mut passes, mut aux) = (vec![], 0.0);
        for block in &mut self.blocks {
            let (before, normed) = (x.clone(), layer_norm(&x, &block.norm_1));
            let mut memory = block.attention.memory(sequences);
            let to = (&mut memory, &mut block.ema);
            let (y, attention) = block.attention.forward(&normed, &block.projections, &self.rope, to.0, to.1);
            add(&mut x, &y);
            let (mid, routed) = (x.clone(), f32s(&layer_norm(&x, &block.norm_2)));
            let mixture = block.mixture.forward(&routed)?;
            add(&mut x, &f64s(&mixture.out));
            aux += aux_loss(&mixture.routing);
            passes.push((before, attention, mid, routed, mixture));
        }
        let logits = linear(&x, &self.lm_head, width);
        let vocab = self.lm_head.len() / width;
        let (mut loss, mut dlogits) = (self.aux_weight * aux, logits.clone());
        for (row, target) in dlogits.chunks_exact_mut(vocab).zip(targets) {
            let Ok(target) = usize::try_from(*target) else {
                row.fill(0.0);
                continue;
            };
            let sum: f64 = row.iter().map(|z| z.exp()).sum();
            loss += (sum.ln() - row[target]) / n;
            row.iter_mut().for_each(|z| *z = z.exp() / sum / n);
            row[target] -= 1.0 / n;
        }
        let (mut d, lm_head) = linear_backward(&dlogits, &x, &self.lm_head, width);
        let mut blocks = vec![];
        for (block, (before, attention, mid, routed, mixture)) in self.blocks.iter().zip(passes).rev() {
            let of_mixture = block.mixture.backward(&routed, &mixture, &f32s(&d), self.aux_weight)?;
            let norm_2 = layer_norm_backward(&f64s(&of_mixture.x), &mid, &block.norm_2, &mut d);
            let (dx, of_attention) = block.attention.backward(&block.projections, &self.rope, &attention, &d);
            let norm_1 = layer_norm_backward(&dx, &before, &block.norm_1, &mut d);
            blocks.push((norm_1, of_attention, norm_2, of_mixture));
        }
        blocks.reverse();
        let mut wte = vec![0.0; self.wte.len()];
        for (token, d) in tokens.iter().zip(d.chunks_exact(width)) {
            add(&mut wte[token * width..][..width], d);
        }
        Ok(NetworkGradients { loss, logits, wte, lm_head, blocks })
    }
}

/// `x Wᵀ`, W `[outputs, inputs]`.
fn linear(x: &[f64], weight: &[f64], inputs: usize) -> Vec<f64> {
    let rows = x.chunks_exact(inputs);
    rows.flat_map(|x| weight.chunks_exact(inputs).map(|w| x.iter().zip(w).map(|(x, w)| x * w).sum())).collect()
}

/// `dy W` and `dyᵀ x`.
fn linear_backward(dy: &[f64], x: &[f64], weight: &[f64], inputs: usize) -> (Vec<f64>, Vec<f64>) {
    let outputs = weight.len() / inputs;
    let (mut dx, mut dweight) = (vec![0.0; x.len()], vec![0.0; weight.len()]);
    let rows = dy.chunks_exact(outputs).zip(x.chunks_exact(inputs)).zip(dx.chunks_exact_mut(inputs));
    for ((dy, x), dx) in rows {
        let of_output = weight.chunks_exact(inputs).zip(dweight.chunks_exact_mut(inputs));
        for (d, (w, dw)) in dy.iter().zip(of_output) {
            dx.iter_mut().zip(w).for_each(|(dx, w)| *dx += d * w);
            dw.iter_mut().zip(x).for_each(|(dw, x)| *dw += d * x);
        }
    }
    (dx, dweight)
}

/// Adds to the elements.
fn add(to: &mut [f64], from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}
