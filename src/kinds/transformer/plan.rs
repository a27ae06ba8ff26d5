//! Tensors that a pass holds, and the size of the arena they are allocated from, for every backend.
//!
//! The arena is a stack: activations kept for the backward pass, above them the tensors shared by all blocks, above those
//! the temporaries of one operation. Its size is the largest sum over the phases; [`Plan::bytes`] computes it from the same
//! lists by which the tensors are allocated.

use super::{
    choices::{Checkpointing, NormPlacement},
    model::Config,
};
use crate::{
    gpu::Arena,
    kinds::language::plan::{BatchShape, HeadSizes, tensors},
};

tensors! {
    /// Activations of a block.
    BlockTensors<T, S>, BlockSizes {
        /// Output of the first norm, `[tokens, C]`.
        norm_1: T,
        /// Statistics of the first norm, `[tokens, 2]`.
        stats_1: S,
        /// Queries, keys and values after rotation, `[tokens, (n_h + 2 n_kv) d]`.
        qkv: T,
        /// Output of attention, `[tokens, C]`.
        attention: T,
        /// Log-sum-exp of the attention logits of each head and query.
        lse: S,
        /// Sum of the block's input and the projected attention, `[tokens, C]`.
        mid: T,
        /// Output of the second norm, `[tokens, C]`; pre-norm blocks only.
        norm_2: T,
        /// Statistics of the second norm, `[tokens, 2]`.
        stats_2: S,
        /// Input of the activation function, `[tokens, F]`; for SwiGLU `[tokens, 2 F]`.
        fc: T,
        /// Output of the activation function, `[tokens, F]`.
        hidden: T,
        /// Input of the second norm, `[tokens, C]`; post-norm blocks only.
        sum: T,
    }
}

tensors! {
    /// Gradients of the residual stream, from the logits to the end of the backward pass.
    StreamTensors<T>, StreamSizes {
        /// Gradient of a block's output, which the backward pass replaces by the gradient of the block's input.
        d: T,
        /// Gradient of a layer's input within the block.
        other: T,
    }
}

tensors! {
    /// Gradients within a block.
    BackwardTensors<T>, BackwardSizes {
        /// Gradient of the queries, keys and values.
        dqkv: T,
        /// Gradient of the input of the activation function.
        dfc: T,
        /// Gradient of the output of the activation function.
        dhidden: T,
    }
}

/// Sizes of the tensors of a pass over a batch, elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Number of elements of the residual stream.
    pub stream: usize,
    /// Number of elements of a branch's output before dropout; 0 without dropout.
    pub branch: usize,
    /// All activations of one block.
    pub block: BlockSizes,
    /// Activations that each block holds until its backward pass.
    pub held: BlockSizes,
    /// Intermediates of the head.
    pub head: HeadSizes,
    /// Gradients of the residual stream.
    pub gradients: StreamSizes,
    /// Gradients within a block.
    pub backward: BackwardSizes,
    /// Number of tokens whose logits are in memory at a time.
    pub logit_rows: usize,
    /// Number of columns of the logits: the padded vocabulary.
    pub vocab: usize,
    layers: usize,
}

impl Plan {
    /// Plans a pass over a batch of shape `shape`; at most `logit_rows` rows of logits are in memory at a time.
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
            // Post-norm blocks that are recomputed as a whole write their output to `norm_2`.
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

    /// Returns the sizes of the activations that are not held, which all blocks share.
    pub fn shared(&self) -> BlockSizes {
        self.held.others(&self.block)
    }

    /// Returns the size of the arena for training, bytes, with tensors of `T`, statistics of `S`, and `temporaries` bytes
    /// for one operation of a block or of the head.
    pub fn bytes<T, S>(&self, temporaries: usize) -> usize {
        let of = |n: usize| Arena::bytes_of(&[(n, size_of::<T>())]);
        let held = self.layers * self.held.bytes::<T, S>() + (self.layers + 1) * of(self.stream);
        let common = held + self.shared().bytes::<T, S>() + of(self.branch) + self.gradients.bytes::<T>();
        let logits = self.head.bytes::<T, S>() + of(self.logit_rows * self.vocab).max(temporaries);
        common + logits.max(self.backward.bytes::<T>() + temporaries)
    }

    /// Returns the size of the arena for a pass without gradients, bytes.
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

    /// Activation memory is 16 C elements per token and block, of which the activation function needs 4 C and the norms 2
    /// C. If whole blocks are recomputed, activation memory is C per token and block, and the activations of one block.
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
        // Half the memory suffices for bf16, compared with f32.
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
