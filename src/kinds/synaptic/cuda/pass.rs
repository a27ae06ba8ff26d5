//! The passes over a batch in device memory: gradients, losses, and the update of parameters and routers. Each is launches only,
//! and can be captured into a graph.

use super::{
    backward::{Loss, Sums},
    buffers::{DeviceBuffers, SHOWN_TOKENS},
    error::OpError,
    kernels::KeepSelection,
    network::{DeviceBatch, Network, Routers, Run},
    plan::{BackwardTensors, BatchShape, BlockTensors, HeadTensors, Plan, SharedTensors},
};
use crate::{
    gpu::{Frame, Grid, Pass, Slice, ViewMut},
    kinds::{
        synaptic::experts::{
            FEATURES,
            cuda::{DeviceStateMut, STATISTICS},
        },
        transformer::cuda::kernels::{BeginStep, FinishViews, RecordStep, StepKernels, SumViews, VIEW_PARTS},
    },
    nn::optimizer::cuda::{Buffers, Copy, Tables},
};
use std::ops::Range;

/// Residual streams: the embedding, and behind each block.
pub(super) fn streams<'f>(frame: &'f Frame<'_>, plan: &Plan, layers: usize) -> Result<Vec<ViewMut<'f, f32>>, OpError> {
    (0..=layers).map(|_| frame.take::<f32>("residual stream", plan.stream).map_err(OpError::from)).collect()
}

/// Activations of all blocks.
pub(super) fn blocks<'f>(frame: &'f Frame<'_>, plan: &Plan, layers: usize) -> Result<Vec<BlockTensors<'f>>, OpError> {
    (0..layers).map(|_| BlockTensors::take(frame, &plan.block).map_err(OpError::from)).collect()
}

/// Adds the gradients of a batch to the gradient of the step, losses and statistics to their sums.
pub fn accumulate(network: &Network, b: &mut DeviceBuffers, shape: BatchShape, pass: &mut Pass) -> Result<(), OpError> {
    let DeviceBuffers { weights, gradient, tokens, targets, scale, total, flag, arena, .. } = b;
    let DeviceBuffers { embeddings, fatigue, energy, balance, alive, .. } = b;
    let DeviceBuffers { batch: of_batch, draws, statistics, aux, selected, selected_gates, .. } = b;
    let (n, layers) = (shape.n_tokens(), network.config.layers);
    let plan = Plan::new(&network.config, &network.dynamics, &shape, shape.seq_len);
    let (tokens, targets) = (tokens.part(0..n)?, targets.part(0..n)?);
    let batch = DeviceBatch { shape, first: 0, tokens: &tokens, targets: &targets };
    let routers = Routers { embeddings, fatigue, energy, balance, alive };
    let draws = Some(&**draws.buf());
    let frame = arena.frame();
    let mut streams = streams(&frame, &plan, layers)?;
    let mut blocks = blocks(&frame, &plan, layers)?;
    let mut shared = SharedTensors::take(&frame, &plan.shared)?;
    let mut t = BackwardTensors::take(&frame, &plan.backward)?;
    {
        let frame = frame.frame();
        let mut head = HeadTensors::take(&frame, &plan.head)?;
        let inner = frame.frame();
        let (flag, pass) = (&mut *flag, &mut *pass);
        let mut run = Run { network, weights, routers, batch, draws, cache: None, flag, frame: &inner, pass };
        run.forward(&mut streams, &mut blocks, &mut shared.refs())?;
        run.last_norm(&streams[layers], &mut head)?;
        let mut loss = Loss { scale, total };
        run.loss_backward(&plan, &streams[layers], &mut head, &mut loss, &mut t, gradient)?;
    }
    for (layer, a) in blocks.iter().enumerate() {
        keep_selection(network, n, layer, a, (selected, selected_gates), pass)?;
    }
    let inner = frame.frame();
    let mut run = Run { network, weights, routers, batch, draws, cache: None, flag, frame: &inner, pass };
    let mut sums = Sums { batch: of_batch.buf(), experts: statistics, aux };
    run.blocks_backward(&streams, &mut blocks, &mut shared.refs(), &mut t, &mut sums, gradient)
}

/// Keeps what the last tokens selected.
fn keep_selection(
    network: &Network,
    tokens: usize,
    layer: usize,
    a: &BlockTensors<'_>,
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

/// What is done after a forward pass without random draws.
type Then<'a> = &'a mut dyn FnMut(
    &mut Run<'_>,
    &Plan,
    &[ViewMut<'_, f32>],
    &mut [BlockTensors<'_>],
    &mut SharedTensors<'_>,
) -> Result<(), OpError>;

/// A forward pass without random draws.
pub fn forward(
    network: &Network,
    b: &mut DeviceBuffers,
    shape: BatchShape,
    pass: &mut Pass,
    then: Then<'_>,
) -> Result<(), OpError> {
    let DeviceBuffers { weights, tokens, targets, flag, arena, .. } = b;
    let DeviceBuffers { embeddings, fatigue, energy, balance, alive, .. } = b;
    let (n, layers) = (shape.n_tokens(), network.config.layers);
    let plan = Plan::new(&network.config, &network.dynamics, &shape, shape.seq_len);
    let (tokens, targets) = (tokens.part(0..n)?, targets.part(0..n)?);
    let batch = DeviceBatch { shape, first: 0, tokens: &tokens, targets: &targets };
    let routers = Routers { embeddings, fatigue, energy, balance, alive };
    let frame = arena.frame();
    let mut streams = streams(&frame, &plan, layers)?;
    let mut blocks = blocks(&frame, &plan, layers)?;
    let mut shared = SharedTensors::take(&frame, &plan.shared)?;
    let inner = frame.frame();
    let mut run = Run { network, weights, routers, batch, draws: None, cache: None, flag, frame: &inner, pass };
    run.forward(&mut streams, &mut blocks, &mut shared.refs())?;
    then(&mut run, &plan, &streams, &mut blocks, &mut shared)
}

/// Losses of a batch without gradients and random draws, read to the host.
pub fn losses(
    network: &Network,
    b: &mut DeviceBuffers,
    shape: BatchShape,
    to: &mut [f32],
    pass: &mut Pass,
) -> Result<(), OpError> {
    forward(network, b, shape, pass, &mut |run, plan, streams, _, _| {
        let frame = run.frame.frame();
        let mut head = HeadTensors::take(&frame, &plan.head)?;
        let inner = frame.frame();
        let mut run = Run {
            network: run.network,
            weights: run.weights,
            routers: run.routers,
            batch: run.batch,
            draws: None,
            cache: None,
            flag: &mut *run.flag,
            frame: &inner,
            pass: &mut *run.pass,
        };
        run.last_norm(&streams[network.config.layers], &mut head)?;
        run.losses(plan, &mut head)?;
        head.losses.read_into(0, to)?;
        Ok(())
    })
}

/// Clears the sums of a step.
pub fn begin(kernels: &StepKernels, b: &mut DeviceBuffers, pass: &mut Pass) -> Result<(), OpError> {
    let DeviceBuffers { gradient, params, state, total, scale, statistics, aux, .. } = b;
    BeginStep { params: params.buf(), state, total, scale }.launch(kernels, pass, 1)?;
    gradient.clear()?;
    statistics.clear()?;
    aux.clear()?;
    Ok(())
}

/// How an update is computed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpdatePlan {
    /// What frozen experts keep.
    pub kept: Vec<Range<usize>>,
    /// Whether norms of parameters are measured.
    pub measures: bool,
}

impl UpdatePlan {
    /// Elements that frozen experts keep, of one buffer.
    pub fn n_kept(&self) -> usize {
        self.kept.iter().map(|range| range.len()).sum()
    }
}

/// Copies what frozen experts keep: to the memory beside the parameters, or back.
fn copy_kept(plan: &UpdatePlan, b: [&mut Slice<f32>; 3], kept: &mut Slice<f32>, saves: bool) -> Result<(), OpError> {
    let mut at = 0;
    for buffer in b {
        for range in &plan.kept {
            let (mut place, mut of) = (kept.part_mut(at..at + range.len())?, buffer.part_mut(range.clone())?);
            if saves {
                place.copy_from(&of)?
            } else {
                of.copy_from(&place)?
            }
            at += range.len();
        }
    }
    Ok(())
}

/// Updates parameters and routers, and records the step.
pub fn update(
    network: &Network,
    kernels: &StepKernels,
    b: &mut DeviceBuffers,
    plan: &UpdatePlan,
    pass: &mut Pass,
) -> Result<(), OpError> {
    let DeviceBuffers { weights, gradient, means, squares, state, settings, rules, groups, kept, .. } = b;
    let DeviceBuffers { params, scale, total, arena, records, views, partials, norms, before, .. } = b;
    let DeviceBuffers { step_tokens, statistics, expert_records, .. } = b;
    let before = before.as_mut().filter(|_| plan.measures);
    let mut measured = None;
    if let Some(before) = before {
        before.copy_from(weights)?;
        measured = Some(before);
    }
    let kept = kept.as_mut().filter(|_| !plan.kept.is_empty());
    let mut saved = None;
    if let Some(kept) = kept {
        for range in &plan.kept {
            gradient.clear_range(range.clone())?;
        }
        copy_kept(plan, [&mut *weights, &mut *means, &mut *squares], kept, true)?;
        saved = Some(kept);
    }
    let ops = &network.ops;
    let tables = Tables { settings: settings.buf(), groups, rules };
    {
        let frame = arena.frame();
        ops.optimizer.begin(pass, tables, gradient, state, &frame)?;
    }
    let mut to = Buffers { params: &mut *weights, means, squares, copy: Copy::None };
    ops.optimizer.adamw(pass, tables, state, gradient, &mut to)?;
    if let Some(kept) = saved {
        copy_kept(plan, [&mut *weights, &mut *means, &mut *squares], kept, false)?;
    }
    if let Some(before) = measured {
        let n = views.len() as u32;
        let grid = Grid::Blocks { blocks: [n, VIEW_PARTS, 1], threads: [256, 1, 1], shared_bytes: 0 };
        let (weights, before, gradient) = (&**weights, &**before, &**gradient);
        SumViews { views, weights, before, gradient, partials }.launch(kernels, pass, grid)?;
        FinishViews { n_views: n, scale, partials, norms }.launch(kernels, pass, n)?;
    }
    RecordStep { params: params.buf(), state, total, scale, records }.launch(kernels, pass, 1)?;
    ops.life.record(pass, params.buf(), step_tokens.buf(), statistics, expert_records)?;
    update_routers(network, b, pass)
}

/// Metabolism of all blocks.
fn update_routers(network: &Network, b: &mut DeviceBuffers, pass: &mut Pass) -> Result<(), OpError> {
    let DeviceBuffers { weights, embeddings, fatigue, energy, balance, alive, frozen, .. } = b;
    let DeviceBuffers { state, statistics, step_tokens, .. } = b;
    let (op, e) = (&network.dynamics.router, network.config.experts);
    for (layer, block) in network.layout.blocks.iter().enumerate() {
        let of_experts = layer * e..(layer + 1) * e;
        let genome = weights.part(network.range(block.genome))?;
        let of_features = layer * e * FEATURES..(layer + 1) * e * FEATURES;
        let alive = alive.part(of_experts.clone())?;
        let (mut embeddings, mut fatigue) = (embeddings.part_mut(of_features)?, fatigue.part_mut(of_experts.clone())?);
        let (mut energy, mut balance) = (energy.part_mut(of_experts.clone())?, balance.part_mut(of_experts)?);
        let to = DeviceStateMut {
            genome: &genome,
            alive: &alive,
            embeddings: &mut embeddings,
            fatigue: &mut fatigue,
            energy: &mut energy,
            balance: &mut balance,
        };
        let sums = statistics.part(layer * e * STATISTICS..(layer + 1) * e * STATISTICS)?;
        let frozen = frozen.part(layer..layer + 1)?;
        network.ops.experts.update(pass, op, (step_tokens.buf(), state), &frozen, &sums, to)?;
    }
    Ok(())
}
