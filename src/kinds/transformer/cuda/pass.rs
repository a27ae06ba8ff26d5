//! The passes over a batch in device memory: gradients, losses, and the update of the parameters. Each is launches only,
//! and can be captured into a graph.

use super::{
    backward::Loss,
    buffers::DeviceBuffers,
    error::OpError,
    format::ModelFormat,
    kernels::{BeginStep, FinishViews, RecordStep, StepKernels, SumViews, VIEW_PARTS},
    network::{DeviceBatch, Drops, Network, Noise, Run},
    plan::{BackwardTensors, BatchShape, Block, BlockTensors, Division, HeadTensors, Plan, StreamTensors},
};
use crate::{
    gpu::{Frame, Grid, Pass, Slice, View, ViewMut},
    kinds::transformer::choices::Checkpointing,
    nn::{
        optimizer::{
            Matrix,
            cuda::{Buffers, Tables},
        },
        storage::Storage,
    },
};

/// Parts of the buffers of a batch that are in use.
struct Parts<'a> {
    tokens: View<'a, u32>,
    targets: View<'a, i32>,
    lengths: Option<View<'a, i32>>,
    positions: Option<View<'a, u32>>,
}

impl Parts<'_> {
    fn batch(&self, shape: BatchShape, offset: usize) -> DeviceBatch<'_> {
        let (lengths, positions) = (self.lengths.as_deref(), self.positions.as_deref());
        DeviceBatch { shape, offset, tokens: &self.tokens, targets: &self.targets, lengths, positions }
    }
}

/// The parts that a batch of this shape uses.
fn parts<'a>(
    shape: &BatchShape,
    (tokens, targets): (&'a Slice<u32>, &'a Slice<i32>),
    lengths: &'a Slice<i32>,
    positions: &'a Slice<u32>,
) -> Result<Parts<'a>, OpError> {
    let n = shape.n_tokens();
    let lengths = match shape.division {
        Division::Full => None,
        Division::Padded => Some(lengths.part(0..shape.sequences)?),
        Division::Packed { sequences, .. } => Some(lengths.part(0..sequences + 1)?),
    };
    let is_packed = matches!(shape.division, Division::Packed { .. });
    let positions = if is_packed { Some(positions.part(0..n)?) } else { None };
    Ok(Parts { tokens: tokens.part(0..n)?, targets: targets.part(0..n)?, lengths, positions })
}

/// Tensors of that many elements, of each block and one more.
fn streams<'f, T: Storage>(frame: &'f Frame<'_>, n: usize, len: usize) -> Result<Vec<ViewMut<'f, T>>, OpError> {
    (0..n).map(|_| frame.take::<T>("residual stream", len).map_err(OpError::from)).collect()
}

/// Adds the gradients of the losses of a batch to the gradient of the step, and the losses to their sum.
pub fn accumulate<T: ModelFormat>(
    network: &Network<T>,
    b: &mut DeviceBuffers<T>,
    shape: BatchShape,
    mode: Checkpointing,
    drops: Drops,
    pass: &mut Pass,
) -> Result<(), OpError> {
    let DeviceBuffers { weights, copy, gradient, tokens, targets, lengths, positions, .. } = b;
    let DeviceBuffers { noise, attention_noise, scale, total, flag, arena, .. } = b;
    let plan = Plan::new(&network.config, &shape, mode, drops.elements);
    let parts = parts(&shape, (tokens, targets), lengths, positions)?;
    let batch = parts.batch(shape, 0);
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

/// Losses of a batch without gradients and dropout, read to the host.
pub fn losses<T: ModelFormat>(
    network: &Network<T>,
    b: &mut DeviceBuffers<T>,
    shape: BatchShape,
    to: &mut [f32],
    pass: &mut Pass,
) -> Result<(), OpError> {
    forward(network, b, shape, pass, &mut |run, last, _, plan, head| {
        run.last_norm(last, head)?;
        run.losses(plan, head)?;
        head.losses.read_into(0, to)?;
        Ok(())
    })
}

/// What is done after a forward pass: with the residual stream behind the last block, the tensors of the last block, and
/// those of the head.
type Then<'a, T> = &'a mut dyn FnMut(
    &mut Run<'_, T>,
    &Slice<T>,
    &mut Block<'_, T>,
    &Plan,
    &mut super::plan::Head<'_, T>,
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
    let DeviceBuffers { weights, copy, tokens, targets, lengths, positions, flag, arena, .. } = b;
    let plan = Plan::new(&network.config, &shape, Checkpointing::Nothing, false);
    let parts = parts(&shape, (tokens, targets), lengths, positions)?;
    let (batch, weights) = (parts.batch(shape, 0), T::weights(weights, copy));
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
    then(&mut run, x, &mut a, &plan, &mut head.refs())
}

/// Clears the loss and the gradient of a step.
pub fn begin<T: ModelFormat>(kernels: &StepKernels, b: &mut DeviceBuffers<T>, pass: &mut Pass) -> Result<(), OpError> {
    let DeviceBuffers { gradient, params, state, total, scale, .. } = b;
    BeginStep { params: params.buf(), state, total, scale }.launch(kernels, pass, 1)?;
    gradient.clear()?;
    Ok(())
}

/// How an update is computed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpdatePlan {
    /// Matrices of Muon.
    pub matrices: Vec<Matrix>,
    /// Newton-Schulz iterations.
    pub iterations: u32,
    /// Whether norms of parameters are measured.
    pub measures: bool,
}

/// Updates the parameters, and records the step.
pub fn update<T: ModelFormat>(
    network: &Network<T>,
    kernels: &StepKernels,
    b: &mut DeviceBuffers<T>,
    plan: &UpdatePlan,
    pass: &mut Pass,
) -> Result<(), OpError> {
    let DeviceBuffers { weights, copy, gradient, means, squares, state, settings, rules, groups, .. } = b;
    let DeviceBuffers { params, scale, total, arena, records, views, partials, norms, before, .. } = b;
    let before = before.as_mut().filter(|_| plan.measures);
    let mut measured = None;
    if let Some(before) = before {
        before.copy_from(weights)?;
        measured = Some(before);
    }
    let ops = &network.ops;
    let frame = arena.frame();
    let tables = Tables { settings: settings.buf(), groups, rules };
    {
        let frame = frame.frame();
        ops.optimizer.begin(pass, tables, gradient, state, &frame)?;
    }
    let mut to = Buffers { params: &mut *weights, means, squares, copy: T::copy(copy) };
    ops.optimizer.adamw(pass, tables, state, gradient, &mut to)?;
    if !plan.matrices.is_empty() {
        let (gemm, matrices) = ((&ops.gemm, ops.options), &plan.matrices[..]);
        ops.optimizer.muon(pass, gemm, matrices, plan.iterations, tables, state, gradient, &mut to, &frame)?;
    }
    if let Some(before) = measured {
        let n = views.len() as u32;
        let grid = Grid::Blocks { blocks: [n, VIEW_PARTS, 1], threads: [256, 1, 1], shared_bytes: 0 };
        let (weights, before, gradient) = (&**weights, &**before, &**gradient);
        SumViews { views, weights, before, gradient, partials }.launch(kernels, pass, grid)?;
        FinishViews { n_views: n, scale, partials, norms }.launch(kernels, pass, n)?;
    }
    RecordStep { params: params.buf(), state, total, scale, records }.launch(kernels, pass, 1)?;
    Ok(())
}
