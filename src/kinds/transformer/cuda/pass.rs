//! Passes over a batch in device memory: gradients, losses, and the update of the parameters. The passes consist of launches
//! only and can be captured as CUDA graphs.

use super::{
    buffers::{DeviceBuffers, TransformerBuffers, plan},
    network::{CudaRun, Drops, Network},
};
use crate::{
    gpu::{Pass, Slice, ViewMut},
    kinds::{
        language::{
            cuda::{
                batch::{BatchBuffers, BatchParts},
                blocks::Noise,
                buffers::Trained,
                error::OpError,
                format::ModelFormat,
                kernels::StepKernels,
                layers::{Layers, Loss},
            },
            plan::{BatchShape, HeadTensors, streams},
        },
        transformer::{
            choices::Checkpointing,
            network::{Block, Head},
            plan::{BackwardTensors, BlockTensors, Plan, StreamTensors},
        },
    },
};

/// Activations of a block in an arena.
pub type BlockInArena<'f, T> = BlockTensors<ViewMut<'f, T>, ViewMut<'f, f32>>;
/// Intermediates of the head in an arena.
pub type HeadInArena<'f, T> = HeadTensors<ViewMut<'f, T>, ViewMut<'f, f32>>;

/// Adds the gradients of a batch to the gradient of the step, and its losses to the total. Fails if the sizes do not match
/// or a launch fails.
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
    let (mode, plan) = (network.mode, plan(&network.config, &shape, network.mode, drops.elements));
    let parts = BatchParts::new(shape, (tokens, targets), (lengths, positions))?;
    let batch = parts.at(0);
    let weights = T::weights(weights, copy);
    let noise = Noise {
        elements: drops.elements.then_some(&**noise.buf()),
        probabilities: drops.probabilities.then_some(&**attention_noise.buf()),
    };
    let layers = network.config.layers;
    let frame = arena.frame();
    let mut streams: Vec<ViewMut<'_, T>> = streams(&mut &frame, layers + 1, plan.stream)?;
    let held = (0..layers).map(|_| BlockInArena::<T>::take(&mut &frame, &plan.held));
    let mut held = held.collect::<Result<Vec<_>, _>>()?;
    let mut shared = BlockInArena::<T>::take(&mut &frame, &plan.shared())?;
    let mut branch = frame.take::<T>("output before dropout", plan.branch)?;
    let mut gradients = StreamTensors::<ViewMut<'_, T>>::take(&mut &frame, &plan.gradients)?;
    {
        let frame = frame.frame();
        let mut head = HeadInArena::<T>::take(&mut &frame, &plan.head)?;
        let inner = frame.frame();
        let mut run = network.run(weights, batch, &mut *flag, &inner, &mut *pass);
        (run.ops.noise, run.ops.loss) = (noise, Some(Loss { scale, total }));
        run.forward(&mut streams, &mut held, &mut shared, &mut branch)?;
        run.loss_backward(&plan, &streams[layers], &mut head.refs(), &mut gradients.refs(), gradient)?;
    }
    let frame = frame.frame();
    let mut t = BackwardTensors::<ViewMut<'_, T>>::take(&mut &frame, &plan.backward)?;
    let inner = frame.frame();
    let mut run = network.run(weights, batch, flag, &inner, pass);
    run.ops.noise = noise;
    let (blocks, mut g) = ((&mut held[..], &mut shared), gradients.refs());
    run.blocks_backward(mode, &streams, blocks, &mut g, &mut t.refs(), &mut branch, gradient)
}

/// Computes the losses of a batch without gradients and dropout, for [`BatchBuffers::keep_losses`]. Fails if the sizes do
/// not match or a launch fails.
pub fn losses<T: ModelFormat>(
    network: &Network<T>,
    b: &mut DeviceBuffers<T>,
    shape: BatchShape,
    pass: &mut Pass,
) -> Result<(), OpError> {
    forward_to(network, b, shape, network.config.layers, pass, &mut |run, last, _, plan, head, losses| {
        run.losses(plan, last, head)?;
        Ok(losses.part_mut(0..head.losses.len())?.copy_from(head.losses)?)
    })
}

/// Continuation of a forward pass: receives the pass, the residual stream after the last block, the tensors of that block,
/// the plan, the tensors of the head, and the buffer of losses.
type Then<'a, T> = &'a mut dyn FnMut(
    &mut CudaRun<'_, T>,
    &Slice<T>,
    &Block<'_, Layers<'_, T>>,
    &Plan,
    &mut Head<'_, Layers<'_, T>>,
    &mut Slice<f32>,
) -> Result<(), OpError>;

/// Runs a forward pass through the first `layers` blocks, reusing one block's tensors. Fails if the sizes do not match or a
/// launch fails.
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
    let plan = plan(&network.config, &shape, Checkpointing::Nothing, false);
    let parts = BatchParts::new(shape, (tokens, targets), (lengths, positions))?;
    let (batch, weights) = (parts.at(0), T::weights(weights, copy));
    let frame = arena.frame();
    let [x, next] = [(); 2].map(|()| frame.take::<T>("residual stream", plan.stream));
    let (mut x, mut next) = (x?, next?);
    let mut block = BlockInArena::<T>::take(&mut &frame, &plan.block)?;
    let mut branch = frame.take::<T>("output before dropout", 0)?;
    let mut head = HeadInArena::<T>::take(&mut &frame, &plan.head)?;
    let inner = frame.frame();
    let mut run = network.run(weights, batch, flag, &inner, pass);
    let mut a = block.refs();
    let last = run.through(layers, (&mut x, &mut next), &mut a, &mut branch)?;
    then(&mut run, last, &a, &plan, &mut head.refs(), losses)
}

/// Updates the parameters and records the step. Fails if the sizes do not match or a launch fails.
pub fn update<T: ModelFormat>(
    network: &Network<T>,
    kernels: &StepKernels,
    b: &mut DeviceBuffers<T>,
    pass: &mut Pass,
) -> Result<(), OpError> {
    let DeviceBuffers { trained, batch, .. } = b;
    trained.keep_before()?;
    trained.optimize((&network.ops, &network.layout.map), None, &batch.arena.frame(), pass)?;
    Ok(trained.record_step(kernels, pass)?)
}
