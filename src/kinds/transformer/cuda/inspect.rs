//! Inspects activations of one sequence.

use super::{network::Network, pass};
use crate::{
    gpu::Pass,
    kinds::{
        language::{
            cuda::{CudaBackend, format::ModelFormat, layers::widened},
            plan::BatchShape,
        },
        transformer::backend::Site,
    },
    nn::attention::Inputs,
    sim::SimError,
};

impl<T: ModelFormat> CudaBackend<Network<T>> {
    /// Runs one sequence up to the block of `site`, and returns its activations in f32. Fails if the sequence exceeds
    /// buffers or context.
    pub fn read_activations(&self, tokens: &[u32], site: Site) -> Result<Vec<f32>, SimError> {
        let network = &self.network;
        let (n, layers) = (tokens.len(), network.config.layers);
        if n > self.sizes.batch.tokens || n > network.config.context {
            return Err(SimError::Input(format!("{n} tokens exceed the context of {}", network.config.context)));
        }
        let mut b = self.workspace()?;
        b.batch.tokens.write_at(0, tokens)?;
        let (shape, mut values) = (BatchShape::full(1, n), vec![]);
        let depth = match site {
            Site::Residual(block) => block.min(layers),
            Site::AttentionOutput(block) | Site::Hidden(block) | Site::Attention { layer: block, .. } => {
                (block + 1).min(layers)
            }
        };
        pass::forward_to(network, &mut b, shape, depth, &mut Pass::default(), &mut |run, x, a, _, _, _| {
            values = match site {
                Site::Residual(_) => widened(&x.read()?),
                Site::AttentionOutput(_) => widened(&a.attention.read()?),
                Site::Hidden(_) => widened(&a.hidden.read()?),
                Site::Attention { head, .. } => {
                    let mut map = run.ops.frame.take::<f32>("attention map", n * n)?;
                    let (op, inputs) = (network.config.attention(&shape), Inputs::packed(&*a.qkv));
                    network.ops.blocks.attention.map(run.ops.pass, &op, &inputs, (0, head), a.lse, &mut map)?;
                    map.read()?
                }
            };
            Ok(())
        })?;
        Ok(values)
    }
}
