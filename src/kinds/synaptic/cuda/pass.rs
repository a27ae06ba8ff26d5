//! Passes over a batch in device memory: gradients, losses, and the update of parameters and routers. The passes consist
//! of launches only and can be captured as CUDA graphs.

use super::{
    backward::Sums,
    buffers::{DeviceBuffers, SHOWN_TOKENS, SynapticBuffers},
    kernels::KeepSelection,
    network::{Network, Routers, Run},
    optimizer::copy_frozen,
    plan::{BackwardTensors, BlockTensors, HeadTensors, Plan, SharedTensors},
};
use crate::{
    gpu::{Frame, Pass, Slice, ViewMut},
    kinds::{
        language::{
            cuda::{
                batch::{BatchBuffers, BatchParts},
                buffers::Trained,
                error::OpError,
                format::ModelFormat,
                kernels::StepKernels,
                layers::Loss,
            },
            plan::{BatchShape, streams},
        },
        synaptic::{
            experts::cuda::{DeviceStateMut, MatrixGradients, STATISTICS},
            network::{self, Forward as _},
        },
    },
    nn::optimizer::cuda::Used,
};

/// Allocates the activations of all blocks. Fails if the arena is too small.
pub(super) fn blocks<'f, T: ModelFormat>(
    frame: &'f Frame<'_>,
    plan: &Plan,
    layers: usize,
) -> Result<Vec<BlockTensors<'f, T>>, OpError> {
    (0..layers).map(|_| BlockTensors::take(&mut &*frame, &plan.block).map_err(OpError::from)).collect()
}

/// Adds the gradients of a batch to the gradient of the step, and its losses and statistics to their sums. Fails if the
/// sizes do not match or a launch fails.
pub fn accumulate<T: ModelFormat>(
    network: &Network<T>,
    b: &mut DeviceBuffers<T>,
    (shape, of_matrices): (BatchShape, MatrixGradients),
    pass: &mut Pass,
) -> Result<(), OpError> {
    let DeviceBuffers { trained, batch, kind } = b;
    let SynapticBuffers { embeddings, fatigue, energy, balance, alive, .. } = kind;
    let SynapticBuffers { micro_batch, draws, statistics, aux, selected, selected_gates, .. } = kind;
    let Trained { weights, copy, gradient, scale, total, .. } = trained;
    let matrices = T::weights(weights, copy);
    let BatchBuffers { tokens, targets, lengths, positions, flag, arena, .. } = batch;
    let (n, layers) = (shape.n_tokens(), network.config.layers);
    let plan = Plan::new::<T>(&network.config, &network.dynamics, &shape, shape.seq_len);
    let parts = BatchParts::new(shape, (tokens, targets), (lengths, positions))?;
    let batch = parts.at(0);
    let routers = Routers { embeddings, fatigue, energy, balance, alive };
    let draws = Some(&**draws.buf());
    let of = (&**weights, matrices, routers);
    let frame = arena.frame();
    let mut streams: Vec<ViewMut<'_, f32>> = streams(&mut &frame, layers + 1, plan.stream)?;
    let mut blocks = blocks(&frame, &plan, layers)?;
    let mut shared = SharedTensors::take(&mut &frame, &plan.shared)?;
    let mut t = BackwardTensors::take(&mut &frame, &plan.backward)?;
    {
        let frame = frame.frame();
        let mut head = HeadTensors::take(&mut &frame, &plan.head)?;
        let inner = frame.frame();
        let mut run = Run::new((network, &plan), of, batch, &mut *flag, &inner, &mut *pass);
        (run.draws, run.loss) = (draws, Some(Loss { scale, total }));
        let s = &mut shared.refs();
        network::forward(&mut run, &mut streams, &mut blocks, s)?;
        run.last_norm(&streams[layers], &mut head, s)?;
        network::loss_backward(&mut run, &streams[layers], &mut head, &mut t, gradient)?;
    }
    for (layer, a) in blocks.iter().enumerate() {
        keep_selection(network, n, layer, a, (selected, selected_gates), pass)?;
    }
    let inner = frame.frame();
    let mut run = Run::new((network, &plan), of, batch, flag, &inner, pass);
    let sums = Sums { batch: micro_batch.buf(), experts: statistics, aux, matrices: of_matrices };
    (run.draws, run.sums) = (draws, Some(sums));
    network::blocks_backward(&mut run, &streams, &mut blocks, &mut shared.refs(), &mut t, gradient)
}

/// Keeps the experts and gates that the last tokens selected. Fails if the sizes do not match or a launch fails.
fn keep_selection<T: ModelFormat>(
    network: &Network<T>,
    tokens: usize,
    layer: usize,
    a: &BlockTensors<'_, T>,
    (experts, gates): (&mut Slice<u32>, &mut Slice<f32>),
    pass: &mut Pass,
) -> Result<(), OpError> {
    let k = network.config.top_k;
    let (kept, room) = (tokens.min(SHOWN_TOKENS), SHOWN_TOKENS * k);
    let mut experts = experts.part_mut(layer * room..layer * room + kept * k)?;
    let mut of_gates = gates.part_mut(layer * room..layer * room + kept * k)?;
    let (first, n) = (((tokens - kept) * k) as u32, (kept * k) as u32);
    let kernel =
        KeepSelection { first, n, indices: &a.indices, gates: &a.gates, experts: &mut experts, kept: &mut of_gates };
    Ok(kernel.launch(&network.ops.heads, pass, n)?)
}

/// Continuation of a forward pass without random draws; its last argument is the buffer of losses.
type Then<'a, T> = &'a mut dyn FnMut(
    &mut Run<'_, T>,
    &Plan,
    &[ViewMut<'_, f32>],
    &mut [BlockTensors<'_, T>],
    &mut SharedTensors<'_, T>,
    &mut Slice<f32>,
) -> Result<(), OpError>;

/// Runs a forward pass without random draws, then calls `then`. Fails if the sizes do not match or a launch fails.
pub fn forward<T: ModelFormat>(
    network: &Network<T>,
    b: &mut DeviceBuffers<T>,
    shape: BatchShape,
    pass: &mut Pass,
    then: Then<'_, T>,
) -> Result<(), OpError> {
    let DeviceBuffers { trained, batch, kind } = b;
    let SynapticBuffers { embeddings, fatigue, energy, balance, alive, .. } = kind;
    let BatchBuffers { tokens, targets, lengths, positions, flag, arena, losses, .. } = batch;
    let (weights, layers) = (&*trained.weights, network.config.layers);
    let matrices = T::weights(&trained.weights, &trained.copy);
    let plan = Plan::new::<T>(&network.config, &network.dynamics, &shape, shape.seq_len);
    let parts = BatchParts::new(shape, (tokens, targets), (lengths, positions))?;
    let batch = parts.at(0);
    let routers = Routers { embeddings, fatigue, energy, balance, alive };
    let frame = arena.frame();
    let mut streams: Vec<ViewMut<'_, f32>> = streams(&mut &frame, layers + 1, plan.stream)?;
    let mut blocks = blocks(&frame, &plan, layers)?;
    let mut shared = SharedTensors::take(&mut &frame, &plan.shared)?;
    let inner = frame.frame();
    let mut run = Run::new((network, &plan), (weights, matrices, routers), batch, flag, &inner, pass);
    network::forward(&mut run, &mut streams, &mut blocks, &mut shared.refs())?;
    then(&mut run, &plan, &streams, &mut blocks, &mut shared, losses)
}

/// Computes the losses of a batch without gradients and random draws, for [`BatchBuffers::keep_losses`]. Fails if the sizes
/// do not match or a launch fails.
pub fn losses<T: ModelFormat>(
    network: &Network<T>,
    b: &mut DeviceBuffers<T>,
    shape: BatchShape,
    pass: &mut Pass,
) -> Result<(), OpError> {
    forward(network, b, shape, pass, &mut |run, plan, streams, _, shared, losses| {
        let frame = run.frame.frame();
        let mut head = HeadTensors::take(&mut &frame, &plan.head)?;
        let inner = frame.frame();
        let of = (run.weights, run.matrices, run.routers);
        let mut run = Run::new((run.network, plan), of, run.batch, &mut *run.flag, &inner, &mut *run.pass);
        run.last_norm(&streams[network.config.layers], &mut head, &mut shared.refs())?;
        run.losses(&mut head)?;
        Ok(losses.part_mut(0..head.losses.len())?.copy_from(&head.losses)?)
    })
}

/// Updates parameters and routers, and records the step. Fails if the sizes do not match or a launch fails.
pub fn update<T: ModelFormat>(
    network: &Network<T>,
    kernels: &StepKernels,
    b: &mut DeviceBuffers<T>,
    pass: &mut Pass,
) -> Result<(), OpError> {
    b.trained.keep_before()?;
    copy_frozen(b, true)?;
    let used = Some(Used { numbers: &b.kind.statistics, stride: STATISTICS });
    b.trained.optimize((&network.ops.model, &network.layout.map), used, &b.batch.arena.frame(), pass)?;
    copy_frozen(b, false)?;
    // Frozen experts keep their weights, but their rounded copy was updated.
    if !b.kind.frozen_ranges.is_empty() {
        b.trained.round(&network.ops.model.optimizer, pass)?;
    }
    b.trained.record_step(kernels, pass)?;
    let DeviceBuffers { trained, kind, .. } = b;
    let SynapticBuffers { step_tokens, statistics, expert_records, .. } = kind;
    network.ops.life.record(pass, trained.params.buf(), step_tokens.buf(), statistics, expert_records)?;
    update_routers(network, b, pass)
}

/// Updates the router states of all blocks. Fails if the sizes do not match or a launch fails.
fn update_routers<T: ModelFormat>(
    network: &Network<T>,
    b: &mut DeviceBuffers<T>,
    pass: &mut Pass,
) -> Result<(), OpError> {
    let DeviceBuffers { trained, kind, .. } = b;
    let SynapticBuffers { embeddings, next_embeddings: next, fatigue, energy, balance, alive, frozen, .. } = kind;
    let SynapticBuffers { statistics, step_tokens, .. } = kind;
    let Trained { weights, state, .. } = trained;
    let genomes: Vec<_> = network.layout.blocks.iter().map(|block| network.range(block.genome)).collect();
    let (Some(first), Some(last)) = (genomes.first(), genomes.last()) else { return Ok(()) };
    let genome = weights.part(first.start..last.end)?;
    let to = DeviceStateMut { genome: &genome, alive, embeddings, next, fatigue, energy, balance };
    let counts = (&**step_tokens.buf(), &**state);
    network.ops.experts.update(pass, &network.dynamics.router, counts, frozen, statistics, to)?;
    Ok(())
}
