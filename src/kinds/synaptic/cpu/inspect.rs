//! Inspects activations, synapses and routing decisions of a text.

use super::{
    activations::Activations,
    network::{Extent, Network, refused, zeros},
};
use crate::{
    gpu::Pass,
    kinds::synaptic::{
        backend::Site,
        experts::Routing,
        presynaptic::{self, KeyState},
    },
    nn::{
        gemm::{Epilogue, Gemm, Layout, cpu::gemm},
        real::Real,
    },
    sim::SimError,
};

impl<R: Real + Default> Network<R> {
    /// Runs one sequence without random draws and returns its activations. Fails if the text exceeds context or vocabulary.
    pub fn activations(&self, tokens: &[u32]) -> Result<Activations<R>, SimError> {
        let c = &self.config;
        if tokens.len() > c.context || tokens.iter().any(|token| *token as usize >= c.vocab) {
            return Err(SimError::Input(format!(
                "a text of {} tokens does not fit a model with a context of {} and a vocabulary of {}",
                tokens.len(),
                c.context,
                c.vocab
            )));
        }
        let mut acts = Activations::default();
        self.forward(tokens, Extent { sequences: 1, seq_len: tokens.len() }, None, &mut acts, &mut Pass::default())?;
        Ok(acts)
    }

    /// Computes the values of a [`Site`] for one sequence. Fails as [`Network::activations`] does, or if there is no such
    /// block or head.
    pub fn inspect(&self, tokens: &[u32], site: Site) -> Result<Vec<R>, SimError> {
        let n = tokens.len();
        let (Site::Attention { layer, .. }
        | Site::Drive { layer, .. }
        | Site::Bias { layer, .. }
        | Site::AttentionOutput(layer)
        | Site::RouterInput(layer)) = site
        else {
            let Site::Residual(block) = site else { return Err(refused("no such place")) };
            let mut acts = self.activations(tokens)?;
            return match acts.streams.get_mut(block) {
                Some(stream) => Ok(std::mem::take(stream)),
                None => Err(refused(format!("there is no block {block}"))),
            };
        };
        let mut acts = self.activations(tokens)?;
        let Some(a) = acts.blocks.get_mut(layer) else { return Err(refused(format!("there is no block {layer}"))) };
        match site {
            Site::Attention { head, .. } => {
                a.probabilities.get(head * n * n..(head + 1) * n * n).map(<[R]>::to_vec).ok_or_else(|| no_head(head))
            }
            Site::Drive { head, .. } => self.drives(&acts, (layer, head), n),
            Site::Bias { head, .. } => {
                let dots = self.drives(&acts, (layer, head), n)?;
                self.bias(&dots, n)
            }
            Site::AttentionOutput(_) => Ok(std::mem::take(&mut a.attention)),
            Site::RouterInput(_) | Site::Residual(_) => Ok(std::mem::take(&mut a.norm_2)),
        }
    }

    /// Computes the attention logits `[n, n]` of a query head before release, which drive its synapses. Fails if the sizes
    /// do not match.
    fn drives(&self, acts: &Activations<R>, (layer, head): (usize, usize), n: usize) -> Result<Vec<R>, SimError> {
        let (c, a) = (&self.config, &acts.blocks[layer]);
        if head >= c.heads {
            return Err(no_head(head));
        }
        let d = c.head_dim();
        let (q, k) = (&a.q[head * d..], &a.k[head / c.group() * d..]);
        let mut dots = zeros("attention logits", n * n)?;
        let (rows, keys) = (Layout::rows(c.width), Layout::rows(c.kv_width()).transposed());
        let op = Gemm { a: rows, b: keys, ..Gemm::new(n, n, d) }.scaled(self.head_scale(layer, head), R::zero());
        gemm(&op, q, k, &mut dots, Epilogue::None).map_err(refused)?;
        Ok(dots)
    }

    /// Computes the presynaptic bias without the barrier, `[n, n]`; 0 for masked edges. Fails if the sizes do not match.
    fn bias(&self, dots: &[R], n: usize) -> Result<Vec<R>, SimError> {
        let mut op = self.presynaptic(None);
        op.constants.bias.barrier = 0.0;
        let mut bias = zeros("presynaptic bias", n * n)?;
        presynaptic::forward(&op, 0, n, dots, &mut bias, None, &mut KeyState::fresh(&op, n), None);
        for (query, (bias, dots)) in bias.chunks_exact_mut(n.max(1)).zip(dots.chunks_exact(n.max(1))).enumerate() {
            bias.iter_mut().zip(dots).take(query + 1).for_each(|(bias, dot)| *bias -= *dot);
            bias[query + 1..].fill(R::zero());
        }
        Ok(bias)
    }

    /// Computes the routing of the tokens of one sequence in a block. Fails under the conditions of
    /// [`Network::activations`], or if there is no such block.
    pub fn decisions(&self, tokens: &[u32], layer: usize) -> Result<Routing<R>, SimError> {
        let mut acts = self.activations(tokens)?;
        let block = acts.blocks.get_mut(layer).ok_or_else(|| refused(format!("there is no block {layer}")))?;
        Ok(std::mem::take(&mut block.routing))
    }
}

fn no_head(head: usize) -> SimError {
    refused(format!("there is no head {head}"))
}
