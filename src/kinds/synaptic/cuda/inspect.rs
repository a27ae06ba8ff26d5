//! Inspects activations and routing decisions of one sequence, and reads the statistics of experts.

use super::{backend::SynapticBackend, buffers::SHOWN_TOKENS, pass};
use crate::{
    gpu::Pass,
    kinds::{
        language::{
            cuda::{error::OpError, format::ModelFormat, layers::widened},
            plan::BatchShape,
        },
        synaptic::{
            backend::{Backend as _, ExpertStep, Selection, Site},
            experts::{
                self, Routing,
                cuda::{STATISTICS, statistics},
                router::RouterWeights,
            },
            presynaptic::{self, KeyState, Presynaptic, Release},
        },
    },
    nn::gemm::Epilogue,
    sim::SimError,
};

impl<T: ModelFormat> SynapticBackend<T> {
    /// Reads the statistics of the experts of each block in the last step; empty before the first step. Fails if the device
    /// fails.
    pub(super) fn read_experts(&self) -> Result<Vec<ExpertStep>, SimError> {
        let Some((tokens, last)) = self.host.last_tokens else { return Ok(vec![]) };
        let b = self.buffers()?;
        let (e, k) = (self.sizes.kind.experts, self.sizes.kind.top_k);
        let (sums, aux) = (b.kind.statistics.read()?, b.kind.aux.read()?);
        let (experts, gates) = (b.kind.selected.read()?, b.kind.selected_gates.read()?);
        let room = SHOWN_TOKENS * k;
        let of_layer = |layer: usize| {
            let (load, contribution) = statistics(tokens, &sums[layer * e * STATISTICS..(layer + 1) * e * STATISTICS]);
            let slots = layer * room..layer * room + last.min(SHOWN_TOKENS) * k;
            let selection =
                Selection { top_k: k, experts: experts[slots.clone()].to_vec(), gates: gates[slots].to_vec() };
            ExpertStep { load, contribution, aux: aux[layer], selection }
        };
        Ok((0..self.sizes.kind.layers).map(of_layer).collect())
    }

    /// Runs one sequence and returns the values of `site`. Fails if the text exceeds context, vocabulary or buffers, or
    /// there is no such block or head.
    pub(super) fn read_activations(&self, tokens: &[u32], site: Site) -> Result<Vec<f32>, SimError> {
        let (network, n) = (&self.network, tokens.len());
        let c = &network.config;
        let no = |what: &str, i: usize| Err(OpError::Refused(format!("there is no {what} {i}")).into());
        if n > self.sizes.batch.tokens || n > c.context || tokens.iter().any(|token| *token as usize >= c.vocab) {
            return Err(SimError::Input(format!(
                "a text of {n} tokens does not fit a model with a context of {} and a vocabulary of {}",
                c.context, c.vocab
            )));
        }
        let (depth, most, head) = match site {
            Site::Residual(block) => (block, c.layers + 1, 0),
            Site::AttentionOutput(block) | Site::RouterInput(block) => (block, c.layers, 0),
            Site::Attention { layer, head } | Site::Drive { layer, head } | Site::Bias { layer, head } => {
                (layer, c.layers, head)
            }
        };
        if depth >= most {
            return no("block", depth);
        }
        if head >= c.heads {
            return no("head", head);
        }
        let mut b = self.workspace()?;
        b.batch.tokens.write_at(0, tokens)?;
        let (shape, mut read) = (BatchShape::full(1, n), vec![]);
        let edges = head * n * n..(head + 1) * n * n;
        pass::forward(network, &mut b, shape, &mut Pass::default(), &mut |run, _, streams, blocks, shared, _| {
            read = match site {
                Site::Residual(block) => streams[block].read()?,
                Site::AttentionOutput(block) => widened(&blocks[block].attention.read()?),
                Site::RouterInput(block) => blocks[block].norm_2.read()?,
                Site::Attention { layer, .. } => blocks[layer].probabilities.read_range(edges.clone())?,
                Site::Drive { layer, .. } | Site::Bias { layer, .. } => {
                    let (op, ops) = (run.products(n).edges(network.scale()), &network.ops);
                    let (a, to) = (&blocks[layer], &mut *shared.edges);
                    ops.model.gemm.run(run.pass, &op, (&*a.q, &*a.k), to, Epilogue::None, ops.model.options)?;
                    to.read_range(edges.clone())?
                }
            };
            Ok(())
        })?;
        if matches!(site, Site::Bias { .. }) {
            return Ok(bias(&network.dynamics.presynaptic, &read, n));
        }
        Ok(read)
    }

    /// Computes the routing of a block: its input is read from the device, the decision is computed on the CPU. Fails if
    /// the text does not fit the model or the device fails.
    pub(super) fn read_decisions(&self, tokens: &[u32], layer: usize) -> Result<Routing<f32>, SimError> {
        let x = self.read_activations(tokens, Site::RouterInput(layer))?;
        let (state, network) = (self.router(layer)?, &self.network);
        let block = network.layout.blocks[layer];
        let weights = {
            let b = self.buffers()?;
            let read = |id| b.trained.weights.read_range(network.range(id));
            [read(block.router)?, read(block.probe)?, read(block.genome)?]
        };
        let [router, probe, genome] = &weights;
        let (weights, mut routing) = (RouterWeights { router, probe, genome }, Routing::default());
        experts::forward(&network.dynamics.router, &x, weights, &state, &mut routing)
            .map_err(|why| OpError::Refused(why.to_string()))?;
        Ok(routing)
    }
}

/// Computes the presynaptic bias of a head from its logits `[n, n]`, without the barrier; 0 for masked edges.
fn bias(op: &Presynaptic, dots: &[f32], n: usize) -> Vec<f32> {
    let mut op = Presynaptic { release: Release::Deterministic, ..*op };
    op.constants.bias.barrier = 0.0;
    let mut bias = vec![0.0; n * n];
    presynaptic::forward(&op, 0, n, dots, &mut bias, None, &mut KeyState::fresh(&op, n), None);
    for (query, (bias, dots)) in bias.chunks_exact_mut(n.max(1)).zip(dots.chunks_exact(n.max(1))).enumerate() {
        bias.iter_mut().zip(dots).take(query + 1).for_each(|(bias, dot)| *bias -= *dot);
        bias[query + 1..].fill(0.0);
    }
    bias
}
