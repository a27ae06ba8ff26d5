//! Weights and tables of the model, and the passes over a batch in host memory.

use super::decoder::CpuDecoder;
pub use crate::kinds::language::cpu::{refused, zeros};
use crate::{
    gpu::{Pass, StopFlag},
    kinds::{
        language::{
            backend::Decoder,
            cpu::{
                arena::HostArena,
                backend::TextNetwork,
                blocks::{Cache, Noise, Tables},
                copy,
                head::LOGIT_ROWS,
                layers::{HostBatch, Layers, Loss},
            },
            plan::{BatchShape, HeadTensors, TakeFrom as _, streams},
        },
        transformer::{
            backend::Site,
            choices::Checkpointing,
            model::{Config, Layout, Position},
            network::{Block, Head, Run},
            plan::{BackwardTensors, BlockTensors, Plan, StreamTensors},
        },
    },
    nn::{
        attention::{self, Inputs},
        embedding::sinusoid,
        real::Real,
        rope::RopeTable,
    },
    sim::SimError,
};
use std::sync::Arc;

/// Weights of a model, and tables computed from its sizes.
pub struct Network<R> {
    /// Sizes and options of the model.
    pub config: Config,
    /// Parameter layout of the model.
    pub layout: Arc<Layout>,
    /// All weights, in the layout of the parameter map.
    pub weights: Vec<R>,
    /// Angles of rotary positions; `None` for other positions.
    pub rope: Option<RopeTable<R>>,
    /// Vectors of sinusoidal positions, `[T, C]`; `None` for other positions.
    pub sinusoid: Option<Vec<R>>,
}

/// Pass over a batch on the CPU.
pub type CpuRun<'a, R> = Run<'a, Layers<'a, R>>;

impl<R: Real + Default> TextNetwork for Network<R> {
    fn decoder(&self) -> Result<impl Decoder + Send + '_, SimError> {
        CpuDecoder::new(self)
    }
}

/// Returns the tensor sizes of a pass that holds the activations of all blocks.
pub fn plan(config: &Config, shape: &BatchShape, has_dropout: bool) -> Plan {
    Plan::new(config, shape, (Checkpointing::Nothing, has_dropout), LOGIT_ROWS)
}

impl<R: Real + Default> Network<R> {
    /// Copies the network. Fails if memory is exhausted.
    pub fn copied(&self) -> Result<Self, SimError> {
        let weights = copy("copy of the weights", &self.weights)?;
        let (config, layout) = (self.config.clone(), self.layout.clone());
        Ok(Self { config, layout, weights, rope: self.rope.clone(), sinusoid: self.sinusoid.clone() })
    }

    /// Creates a network with zero weights. Fails if memory is exhausted.
    pub fn new(config: &Config, layout: &Arc<Layout>) -> Result<Self, SimError> {
        let rope = match config.positions {
            Position::Rope { base, .. } => Some(RopeTable::new(config.context, config.head_dim(), base)),
            _ => None,
        };
        let sinusoid = (config.positions == Position::Sinusoidal).then(|| {
            let table = sinusoid::table(config.context, config.width, sinusoid::BASE);
            table.into_iter().map(R::of).collect()
        });
        let weights = zeros("weights", layout.map.len())?;
        Ok(Self { config: config.clone(), layout: layout.clone(), weights, rope, sinusoid })
    }

    /// Returns the memory of weights and tables in bytes.
    pub fn n_bytes(&self) -> u64 {
        let rope = self.rope.as_ref().map_or(0, |rope| rope.cos.len() + rope.sin.len());
        let sinusoid = self.sinusoid.as_ref().map_or(0, Vec::len);
        ((self.weights.len() + rope + sinusoid) * size_of::<R>()) as u64
    }

    /// Returns the size in bytes of the arena for a training step, which also suffices for losses.
    pub fn arena_bytes(config: &Config, shape: &BatchShape) -> usize {
        let plan = plan(config, shape, true);
        plan.bytes::<R, R>(0).max(plan.forward_bytes::<R, R>(0))
    }

    /// Creates a pass over a batch, without dropout.
    pub fn run<'a>(&'a self, batch: HostBatch<'a>, stop: &'a StopFlag) -> CpuRun<'a, R> {
        let Self { config, layout, weights, rope, sinusoid } = self;
        let tables = Tables { rope: rope.as_ref(), positions: sinusoid.as_deref() };
        let ops = Layers { tables, ..Layers::new(&layout.map, weights, batch, stop) };
        Run { config, layout, shape: batch.shape, offset: batch.offset, ops }
    }

    fn training_run<'a>(
        &'a self,
        input: &GradientInput<'a, R>,
        logits: &'a mut [R],
        pass: &'a mut Pass,
    ) -> CpuRun<'a, R> {
        let GradientInput { batch, noise, scale, frozen, stop } = *input;
        let Run { config, layout, shape, offset, ops } = self.run(batch, stop);
        let ops = Layers { noise, frozen, loss: Loss { scale, total: 0.0, logits }, pass: Some(pass), ..ops };
        Run { config, layout, shape, offset, ops }
    }

    /// Adds the gradients of the losses of a batch to `gradient`. Returns the sum of the losses. `pass` collects the times of
    /// the operations. Fails if the sizes do not match, memory is exhausted, or the pass is stopped.
    pub fn gradients(
        &self,
        input: &GradientInput<'_, R>,
        arena: &mut HostArena<R>,
        gradient: &mut [R],
        pass: &mut Pass,
    ) -> Result<f64, SimError> {
        let plan = plan(&self.config, &input.batch.shape, input.noise.is_some());
        let layers = self.config.layers;
        let mut room = arena.frame();
        let mut streams: Vec<&mut [R]> = streams(&mut room, layers + 1, plan.stream)?;
        let held = (0..layers).map(|_| BlockTensors::take(&mut room, &plan.held));
        let mut held: Vec<BlockTensors<&mut [R], &mut [R]>> = held.collect::<Result<_, SimError>>()?;
        let mut shared = BlockTensors::take(&mut room, &plan.shared())?;
        let branch = <&mut [R]>::take_from(&mut room, "output before dropout", plan.branch)?;
        let mut gradients = StreamTensors::<&mut [R]>::take(&mut room, &plan.gradients)?;
        let total = {
            let mut room = room.frame();
            let mut head = HeadTensors::<&mut [R], &mut [R]>::take(&mut room, &plan.head)?;
            let logits = <&mut [R]>::take_from(&mut room, "logits", plan.logit_rows * plan.vocab)?;
            let mut run = self.training_run(input, logits, pass);
            run.forward(&mut streams, &mut held, &mut shared, branch)?;
            run.loss_backward(&plan, streams[layers], &mut head.refs(), &mut gradients.refs(), gradient)?;
            run.ops.loss.total
        };
        let mut t = BackwardTensors::<&mut [R]>::take(&mut room, &plan.backward)?;
        let (blocks, mut g, mut run) =
            ((&mut held[..], &mut shared), gradients.refs(), self.training_run(input, &mut [], pass));
        run.blocks_backward(Checkpointing::Nothing, &streams, blocks, &mut g, &mut t.refs(), branch, gradient)?;
        Ok(total)
    }

    /// Runs a forward pass without dropout through the first `layers` blocks, reusing one block's tensors. Then calls
    /// `then` with the pass, the residual stream after these blocks, the tensors of the last block, the plan, and the
    /// tensors of the head. Fails if the sizes do not match, memory is exhausted, or the pass is stopped.
    pub fn forward_to<T>(
        &self,
        batch: HostBatch<'_>,
        layers: usize,
        (arena, stop): (&mut HostArena<R>, &StopFlag),
        then: impl FnOnce(
            &mut CpuRun<'_, R>,
            &[R],
            &Block<'_, Layers<'_, R>>,
            &Plan,
            Head<'_, Layers<'_, R>>,
        ) -> Result<T, SimError>,
    ) -> Result<T, SimError> {
        let plan = plan(&self.config, &batch.shape, false);
        let mut room = arena.frame();
        let [x, next] = [(); 2].map(|()| <&mut [R]>::take_from(&mut room, "residual stream", plan.stream));
        let mut block = BlockTensors::<&mut [R], &mut [R]>::take(&mut room, &plan.block)?;
        let mut head = HeadTensors::<&mut [R], &mut [R]>::take(&mut room, &plan.head)?;
        let logits = <&mut [R]>::take_from(&mut room, "logits", plan.logit_rows * plan.vocab)?;
        let mut run = self.run(batch, stop);
        run.ops.loss.logits = logits;
        let mut a = block.refs();
        let last = run.through(layers, (x?, next?), &mut a, &mut [])?;
        then(&mut run, last, &a, &plan, head.refs())
    }

    /// Writes the loss of each token of a batch. Fails if the sizes do not match, memory is exhausted, or the pass is
    /// stopped.
    pub fn losses(
        &self,
        batch: HostBatch<'_>,
        on: (&mut HostArena<R>, &StopFlag),
        losses: &mut [f32],
    ) -> Result<(), SimError> {
        self.forward_to(batch, self.config.layers, on, |run, last, _, plan, mut head| {
            run.losses(plan, last, &mut head)?;
            losses.iter_mut().zip(&*head.losses).for_each(|(to, loss)| *to = loss.f64() as f32);
            Ok(())
        })
    }

    /// Runs a batch up to the block of `site` and returns its activations. Fails if the batch does not fit the model, or
    /// memory is exhausted.
    pub fn read(&self, batch: HostBatch<'_>, site: Site) -> Result<Vec<R>, SimError> {
        let (layers, shape) = (self.config.layers, batch.shape);
        let depth = match site {
            Site::Residual(block) => block.min(layers),
            Site::AttentionOutput(block) | Site::Hidden(block) | Site::Attention { layer: block, .. } => {
                (block + 1).min(layers)
            }
        };
        let bytes = plan(&self.config, &shape, false).forward_bytes::<R, R>(0);
        let (mut arena, stop) = (HostArena::new(bytes)?, StopFlag::default());
        self.forward_to(batch, depth, (&mut arena, &stop), |_, x, a, _, _| {
            Ok(match site {
                Site::Residual(_) => x.to_vec(),
                Site::AttentionOutput(_) => a.attention.to_vec(),
                Site::Hidden(_) => a.hidden.to_vec(),
                Site::Attention { head, .. } => {
                    let (op, n) = (self.config.attention(&shape), shape.seq_len);
                    let mut map = zeros("attention map", n * n)?;
                    attention::cpu::map(&op, &Inputs::packed(&*a.qkv), (0, head), a.lse, &mut map).map_err(refused)?;
                    map
                }
            })
        })
    }

    /// Computes the logits of a batch, `[tokens, padded vocabulary]`. With a cache, the batch continues a text and is
    /// appended to the cache. Fails if the batch does not fit the model, or memory is exhausted.
    pub fn logits(&self, batch: HostBatch<'_>, cache: Option<Cache<'_, R>>) -> Result<Vec<R>, SimError> {
        let c = &self.config;
        let mut logits = zeros("logits", batch.shape.n_tokens() * c.padded_vocab())?;
        let plan = plan(c, &batch.shape, false);
        let (mut arena, stop) = (HostArena::new(plan.forward_bytes::<R, R>(0))?, StopFlag::default());
        let mut room = arena.frame();
        let [x, next] = [(); 2].map(|()| <&mut [R]>::take_from(&mut room, "residual stream", plan.stream));
        let mut block = BlockTensors::<&mut [R], &mut [R]>::take(&mut room, &plan.block)?;
        let mut head = HeadTensors::<&mut [R], &mut [R]>::take(&mut room, &plan.head)?;
        let mut run = self.run(batch, &stop);
        run.ops.cache = cache;
        run.predict((x?, next?), &mut block.refs(), &mut [], &mut head.refs(), &mut logits)?;
        Ok(logits)
    }
}

/// Inputs of a gradient computation other than the weights.
#[derive(Clone, Copy)]
pub struct GradientInput<'a, R> {
    /// Batch with its targets.
    pub batch: HostBatch<'a>,
    /// Dropout of the step; `None` for a pass without dropout.
    pub noise: Option<Noise>,
    /// Gradient of the loss with respect to the loss of one target.
    pub scale: R,
    /// Whether each parameter is frozen; empty if none is. Gradients of frozen matrices and embeddings are not computed.
    pub frozen: &'a [bool],
    /// Stop flag, checked between layers.
    pub stop: &'a StopFlag,
}
