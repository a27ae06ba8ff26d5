//! Activations of one sequence.

use super::{
    backend::{CudaBackend, in_use},
    format::ModelFormat,
    pass,
    plan::BatchShape,
};
use crate::{
    gpu::Pass,
    kinds::transformer::backend::Site,
    nn::{attention::Inputs, storage::Storage},
    sim::SimError,
};

impl<T: ModelFormat> CudaBackend<T> {
    /// Runs a sequence up to a block and reads a tensor.
    pub fn read_activations(&self, tokens: &[u32], site: Site) -> Result<Vec<f32>, SimError> {
        let network = &self.network;
        let (n, layers) = (tokens.len(), network.config.layers);
        if n > self.sizes.tokens || n > network.config.context {
            return Err(SimError::Input(format!("{n} tokens exceed the context of {}", network.config.context)));
        }
        let mut b = self.buffers.try_borrow_mut().map_err(|_| in_use())?;
        b.tokens.write_at(0, tokens)?;
        let (shape, mut values) = (BatchShape::full(1, n), vec![]);
        let depth = match site {
            Site::Residual(block) => block.min(layers),
            Site::AttentionOutput(block) | Site::Hidden(block) | Site::Attention { layer: block, .. } => {
                (block + 1).min(layers)
            }
        };
        pass::forward_to(network, &mut b, shape, depth, &mut Pass::default(), &mut |run, x, a, _, _| {
            values = match site {
                Site::Residual(_) => wide(&x.read()?),
                Site::AttentionOutput(_) => wide(&a.attention.read()?),
                Site::Hidden(_) => wide(&a.hidden.read()?),
                Site::Attention { head, .. } => {
                    let mut map = run.frame.take::<f32>("attention map", n * n)?;
                    let (op, inputs) = (network.attention(&shape), Inputs::packed(&*a.qkv));
                    network.ops.attention.map(run.pass, &op, &inputs, (0, head), a.lse, &mut map)?;
                    map.read()?
                }
            };
            Ok(())
        })?;
        Ok(values)
    }
}

fn wide<T: Storage>(x: &[T]) -> Vec<f32> {
    x.iter().map(|x| x.widen()).collect()
}
