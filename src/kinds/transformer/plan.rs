//! Which tensors a pass holds, and the bytes of the arena that they are taken from, on every backend.
//!
//! The arena is a stack: what the forward pass leaves for the backward pass, above it what is shared by all blocks, above
//! that the temporaries of one operation. Its size is the largest sum over the phases, which [`Plan::bytes`] computes from the
//! same lists that the tensors are taken by.

use super::{
    choices::{Checkpointing, NormPlacement},
    model::Config,
};
use crate::{
    gpu::Arena,
    kinds::language::plan::{BatchShape, HeadSizes, tensors},
};

tensors! {
    /// Activations of a block, `[tokens, …]`.
    BlockTensors<T, S>, BlockSizes {
        /// Output of the first norm.
        norm_1: T,
        /// Its statistics.
        stats_1: S,
        /// Queries, keys and values, rotated.
        qkv: T,
        /// Output of attention.
        attention: T,
        /// Logarithms of the sums of its softmax, per head and query.
        lse: S,
        /// Input plus projected attention.
        mid: T,
        /// Output of the second norm, of pre-norm blocks.
        norm_2: T,
        /// Its statistics.
        stats_2: S,
        /// Input of the activation function.
        fc: T,
        /// Its output.
        hidden: T,
        /// Input of the second norm, of post-norm blocks.
        sum: T,
    }
}

tensors! {
    /// Gradients of the residual stream, from the logits to the end of the backward pass.
    StreamTensors<T>, StreamSizes {
        /// Of the output of a block, then of its input.
        d: T,
        /// Of the input of a layer.
        other: T,
    }
}

tensors! {
    /// Gradients within a block.
    BackwardTensors<T>, BackwardSizes {
        /// Gradient of queries, keys and values.
        dqkv: T,
        /// Gradient of the input of the activation function.
        dfc: T,
        /// Gradient of its output.
        dhidden: T,
    }
}

/// The tensors of the passes over a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Elements of the residual stream.
    pub stream: usize,
    /// Elements of an output before dropout; 0 without dropout.
    pub branch: usize,
    /// Of one block.
    pub block: BlockSizes,
    /// Of those, what each block holds until its backward pass.
    pub held: BlockSizes,
    /// Of the head.
    pub head: HeadSizes,
    /// Of the residual stream.
    pub gradients: StreamSizes,
    /// Within a block.
    pub backward: BackwardSizes,
    /// Tokens whose logits are in memory at a time.
    pub logit_rows: usize,
    /// Columns of logits.
    pub vocab: usize,
    layers: usize,
}

impl Plan {
    /// Of a model, for a batch; `logit_rows`: tokens whose logits are in memory at a time, at most.
    pub fn new(
        config: &Config,
        shape: &BatchShape,
        (mode, has_dropout): (Checkpointing, bool),
        logit_rows: usize,
    ) -> Self {
        let n = shape.n_tokens();
        let is_post = config.placement == NormPlacement::Post;
        let (sequences, longest) = shape.attended();
        let block = BlockSizes {
            norm_1: n * config.width,
            stats_1: 2 * n,
            qkv: n * config.qkv_width(),
            attention: n * config.width,
            lse: sequences * config.heads * longest,
            mid: n * config.width,
            // Post-norm blocks that are computed again write their output to it.
            norm_2: if is_post && mode != Checkpointing::Blocks { 0 } else { n * config.width },
            stats_2: 2 * n,
            fc: n * config.fc_width(),
            hidden: n * config.hidden,
            sum: if is_post { n * config.width } else { 0 },
        };
        let mut held = block;
        match mode {
            Checkpointing::Nothing => {}
            Checkpointing::Activation => held.hidden = 0,
            Checkpointing::Norms => (held.hidden, held.norm_1, held.norm_2) = (0, 0, 0),
            Checkpointing::Blocks => held = BlockSizes::default(),
        }
        let stream = n * config.width;
        let backward =
            BackwardSizes { dqkv: n * config.qkv_width(), dfc: n * config.fc_width(), dhidden: n * config.hidden };
        let head = HeadSizes::of(n, config.width);
        let logit_rows = logit_rows.min(n);
        let branch = if has_dropout { stream } else { 0 };
        let gradients = StreamSizes { d: stream, other: stream };
        Self {
            stream,
            branch,
            block,
            held,
            head,
            gradients,
            backward,
            logit_rows,
            vocab: config.padded_vocab(),
            layers: config.layers,
        }
    }

    /// What all blocks share.
    pub fn shared(&self) -> BlockSizes {
        self.held.others(&self.block)
    }

    /// Bytes of an arena for training, of tensors of `T` and statistics of `S`, with this many for the temporaries of one operation of blocks and of one of the
    /// head.
    pub fn bytes<T, S>(&self, temporaries: usize) -> usize {
        let of = |n: usize| Arena::bytes_of(&[(n, size_of::<T>())]);
        let held = self.layers * self.held.bytes::<T, S>() + (self.layers + 1) * of(self.stream);
        let common = held + self.shared().bytes::<T, S>() + of(self.branch) + self.gradients.bytes::<T>();
        let logits = self.head.bytes::<T, S>() + of(self.logit_rows * self.vocab).max(temporaries);
        common + logits.max(self.backward.bytes::<T>() + temporaries)
    }

    /// The same for a pass without gradients.
    pub fn forward_bytes<T, S>(&self, temporaries: usize) -> usize {
        let of = |n: usize| Arena::bytes_of(&[(n, size_of::<T>())]);
        let logits = of(self.logit_rows * self.vocab);
        2 * of(self.stream) + self.block.bytes::<T, S>() + self.head.bytes::<T, S>() + logits.max(temporaries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::{
            language::plan::Division,
            transformer::{Params, choices::ActivationFunction, model::Position},
        },
        num::elements::Bf16,
    };

    fn gpt2() -> Config {
        Config {
            layers: 12,
            heads: 12,
            kv_heads: 12,
            width: 768,
            hidden: 3072,
            context: 1024,
            positions: Position::Learned,
            activation: ActivationFunction::GeluTanh,
            ..Config::new(&Params::default(), 50_257).expect("a model")
        }
    }

    /// The figures of section 4 of the specification: 16 C elements per token and block, 4 of them for the activation
    /// function, 2 for norms; with whole blocks only C per token and one block.
    #[test]
    fn a_model_of_124_million_parameters_holds_what_is_specified() {
        let (config, shape) = (gpt2(), BatchShape::full(64, 1024));
        let modes = [Checkpointing::Nothing, Checkpointing::Activation, Checkpointing::Norms, Checkpointing::Blocks];
        let gigabytes = modes.map(|mode| {
            let plan = Plan::new(&config, &shape, (mode, false), 4096);
            let held = 12 * plan.held.bytes::<Bf16, f32>() + 13 * Arena::bytes_of(&[(plan.stream, 2)]);
            (held as f64 * 1e-9, plan.bytes::<Bf16, f32>(0) as f64 * 1e-9)
        });
        let want = [19.3, 19.3 * 0.75, 19.3 * 0.625, 1.2];
        for ((held, all), want) in gigabytes.into_iter().zip(want) {
            assert!((held / want - 1.0).abs() < 0.1, "{held} GB instead of {want}");
            assert!(all < held + 4.0, "{all} GB in all");
        }
        // 0x5E6F71: bf16 takes half of the memory of f32.
        for mode in modes {
            let plan = Plan::new(&config, &shape, (mode, true), 4096);
            let ratio = plan.bytes::<Bf16, f32>(0) as f64 / plan.bytes::<f32, f32>(0) as f64;
            assert!((ratio / 0.5 - 1.0).abs() < 0.1, "{mode:?}: {ratio}");
        }
    }

    #[test]
    fn what_is_not_held_is_shared() {
        let (config, shape) = (gpt2(), BatchShape::full(2, 64));
        let plan = Plan::new(&config, &shape, (Checkpointing::Norms, true), 4096);
        assert_eq!((plan.held.norm_1, plan.shared().norm_1), (0, 2 * 64 * 768));
        assert_eq!((plan.held.qkv, plan.shared().qkv), (3 * 2 * 64 * 768, 0));
        assert_eq!((plan.branch, plan.logit_rows), (2 * 64 * 768, 128));
        let packed = BatchShape { division: Division::Packed { sequences: 5, longest: 40 }, ..shape };
        assert_eq!(Plan::new(&config, &packed, (Checkpointing::Nothing, false), 4096).block.lse, 5 * 12 * 40);
    }
}
