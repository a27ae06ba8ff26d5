//! The passes over a batch in device memory: gradients, losses, and the update of the parameters. Each is launches only,
//! and can be captured into a graph.

use super::{
    buffers::{DeviceBuffers, TransformerBuffers},
    network::{Drops, Network, Noise, Run},
    plan::{BackwardTensors, Block, BlockTensors, Plan, StreamTensors},
};
use crate::{
    gpu::{Pass, Slice},
    kinds::{
        language::cuda::{
            batch::{BatchBuffers, BatchParts},
            buffers::Trained,
            error::OpError,
            format::ModelFormat,
            kernels::StepKernels,
            layers::Loss,
            plan::{BatchShape, Head, HeadTensors, streams},
        },
        transformer::choices::Checkpointing,
    },
};

/// Adds the gradients of the losses of a batch to the gradient of the step, and the losses to their sum.
pub fn accumulate<T: ModelFormat>(
    network: &Network<T>,
    b: &mut DeviceBuffers<T>,
    shape: BatchShape,
    drops: Drops,
    pass: &mut Pass,
) -> Result<(), OpError> {
    let DeviceBuffers { trained, batch, kind } = b;
    let TransformerBuffers { noise, attention_noise, .. } = kind;
    let Trained { weights, copy, gradient, scale, total, .. } = trained;
    let BatchBuffers { tokens, targets, lengths, positions, flag, arena, .. } = batch;
    let (mode, plan) = (network.mode, Plan::new(&network.config, &shape, network.mode, drops.elements));
    let parts = BatchParts::new(shape, (tokens, targets), (lengths, positions))?;
    let batch = parts.at(0);
    let weights = T::weights(weights, copy);
    let noise = Noise {
        elements: drops.elements.then_some(&**noise.buf()),
        probabilities: drops.probabilities.then_some(&**attention_noise.buf()),
    };
    let layers = network.config.layers;
    let frame = arena.frame();
    let mut streams = streams::<T>(&frame, layers + 1, plan.stream)?;
    let held = (0..layers).map(|_| BlockTensors::<T>::take(&frame, &plan.held));
    let mut held = held.collect::<Result<Vec<_>, _>>()?;
    let mut shared = BlockTensors::<T>::take(&frame, &plan.shared())?;
    let mut branch = frame.take::<T>("output before dropout", plan.branch)?;
    let mut gradients = StreamTensors::<T>::take(&frame, &plan.gradients)?;
    {
        let frame = frame.frame();
        let mut head = HeadTensors::<T>::take(&frame, &plan.head)?;
        let mut head = head.refs();
        let inner = frame.frame();
        let mut run =
            Run { network, weights, batch, noise, cache: None, flag: &mut *flag, frame: &inner, pass: &mut *pass };
        run.forward(&mut streams, &mut held, &mut shared, &mut branch)?;
        run.last_norm(&streams[layers], &mut head)?;
        let mut loss = Loss { scale, total };
        let mut g = gradients.refs();
        run.loss_backward(&plan, &streams[layers], &mut head, &mut loss, &mut g, gradient)?;
    }
    let frame = frame.frame();
    let mut temporaries = BackwardTensors::<T>::take(&frame, &plan.backward)?;
    let (mut t, mut g) = (temporaries.refs(), gradients.refs());
    let inner = frame.frame();
    let mut run = Run { network, weights, batch, noise, cache: None, flag, frame: &inner, pass };
    run.blocks_backward(mode, &streams, &mut held, &mut shared, &mut g, &mut t, &mut branch, gradient)
}

/// Losses of a batch without gradients and dropout, for [`BatchBuffers::keep_losses`].
pub fn losses<T: ModelFormat>(
    network: &Network<T>,
    b: &mut DeviceBuffers<T>,
    shape: BatchShape,
    pass: &mut Pass,
) -> Result<(), OpError> {
    forward(network, b, shape, pass, &mut |run, last, _, plan, head, losses| {
        run.last_norm(last, head)?;
        let of = run.head(plan);
        run.layers().losses(of, head)?;
        Ok(losses.part_mut(0..head.losses.len())?.copy_from(head.losses)?)
    })
}

/// What is done after a forward pass: with the residual stream behind the last block, the tensors of the last block, and
/// those of the head; with where losses are kept.
type Then<'a, T> = &'a mut dyn FnMut(
    &mut Run<'_, T>,
    &Slice<T>,
    &mut Block<'_, T>,
    &Plan,
    &mut Head<'_, T>,
    &mut Slice<f32>,
) -> Result<(), OpError>;

/// A forward pass that holds one block at a time.
fn forward<T: ModelFormat>(
    network: &Network<T>,
    b: &mut DeviceBuffers<T>,
    shape: BatchShape,
    pass: &mut Pass,
    then: Then<'_, T>,
) -> Result<(), OpError> {
    forward_to(network, b, shape, network.config.layers, pass, then)
}

/// The same up to a block.
pub fn forward_to<T: ModelFormat>(
    network: &Network<T>,
    b: &mut DeviceBuffers<T>,
    shape: BatchShape,
    layers: usize,
    pass: &mut Pass,
    then: Then<'_, T>,
) -> Result<(), OpError> {
    let Trained { weights, copy, .. } = &b.trained;
    let BatchBuffers { tokens, targets, lengths, positions, flag, arena, losses, .. } = &mut b.batch;
    let plan = Plan::new(&network.config, &shape, Checkpointing::Nothing, false);
    let parts = BatchParts::new(shape, (tokens, targets), (lengths, positions))?;
    let (batch, weights) = (parts.at(0), T::weights(weights, copy));
    let frame = arena.frame();
    let mut streams = streams::<T>(&frame, 2, plan.stream)?;
    let mut block = BlockTensors::<T>::take(&frame, &plan.block)?;
    let mut branch = frame.take::<T>("output before dropout", 0)?;
    let mut head = HeadTensors::<T>::take(&frame, &plan.head)?;
    let inner = frame.frame();
    let mut run = Run { network, weights, batch, noise: Noise::default(), cache: None, flag, frame: &inner, pass };
    let [first, second] = &mut streams[..] else { return Err(OpError::no_matrix()) };
    let (mut x, mut next) = (&mut **first, &mut **second);
    let mut a = block.refs();
    run.embed(x)?;
    for b in 0..layers {
        run.block(b, x, &mut a, Some(&mut *next), &mut branch)?;
        std::mem::swap(&mut x, &mut next);
    }
    then(&mut run, x, &mut a, &plan, &mut head.refs(), losses)
}

/// Updates the parameters, and records the step.
pub fn update<T: ModelFormat>(
    network: &Network<T>,
    kernels: &StepKernels,
    b: &mut DeviceBuffers<T>,
    pass: &mut Pass,
) -> Result<(), OpError> {
    let DeviceBuffers { trained, batch, .. } = b;
    trained.keep_before()?;
    trained.optimize((&network.ops.model, &network.layout.map), None, &batch.arena.frame(), pass)?;
    Ok(trained.record_step(kernels, pass)?)
}
