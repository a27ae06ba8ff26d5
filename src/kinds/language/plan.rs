//! Tensor groups that a pass holds, and batch sizes. The size of a workspace is computed from the same lists from which its
//! tensors are allocated.

use crate::kinds::language::backend::{Batch, Lengths};
use std::ops::Range;

/// Memory from which tensors are allocated.
pub trait Memory {
    /// Error if a tensor does not fit.
    type Error;
}

/// Tensor that is allocated from memory `M`.
pub trait TakeFrom<M: Memory>: Sized {
    /// Allocates `len` uninitialised elements. Fails if the elements do not fit into the memory.
    fn take_from(memory: &mut M, name: &'static str, len: usize) -> Result<Self, M::Error>;
}

/// Declares a group of tensors that is generic over the tensor types, and a struct of their sizes.
macro_rules! tensors {
    (
        $(#[doc = $docs:literal])*
        $Tensors:ident < $($P:ident),* >, $Sizes:ident {
            $( $(#[doc = $fdocs:literal])* $field:ident : $E:ident ),* $(,)?
        }
    ) => {
        $(#[doc = $docs])*
        /// Number of elements of each tensor; 0 for a tensor that is not held.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $Sizes { $( $(#[doc = $fdocs])* pub $field: usize, )* }

        #[allow(dead_code, reason = "not every group is shared")]
        impl $Sizes {
            /// Returns the size of an arena for elements of the given types, bytes.
            pub fn bytes<$($P),*>(&self) -> usize {
                $crate::gpu::Arena::bytes_of(&[ $( (self.$field, size_of::<$E>()), )* ])
            }

            /// Returns the sizes in `all` of the tensors that are not held in `self`.
            #[must_use]
            pub fn others(&self, all: &Self) -> Self {
                Self { $( $field: if self.$field == 0 { all.$field } else { 0 }, )* }
            }
        }

        $(#[doc = $docs])*
        pub struct $Tensors<$($P),*> { $( $(#[doc = $fdocs])* pub $field: $E, )* }

        #[allow(dead_code, reason = "not every group is lent and shared")]
        impl<$($P: ::std::ops::DerefMut),*> $Tensors<$($P),*> {
            /// Allocates the tensors without initialising them. Fails if they do not fit into the memory.
            pub fn take<M: $crate::kinds::language::plan::Memory>(memory: &mut M, sizes: &$Sizes) -> Result<Self, M::Error>
            where
                $( $P: $crate::kinds::language::plan::TakeFrom<M>, )*
            {
                Ok(Self { $( $field: <$E>::take_from(memory, stringify!($field), sizes.$field)?, )* })
            }

            /// Borrows all tensors mutably.
            pub fn refs(&mut self) -> $Tensors<$( &mut $P::Target ),*> {
                $Tensors { $( $field: &mut *self.$field, )* }
            }

            /// Returns the held tensors, and those of `shared` for tensors that are not held.
            pub fn of<'a>(held: &'a mut Self, shared: &'a mut Self) -> $Tensors<$( &'a mut $P::Target ),*>
            where
                $( $P::Target: $crate::nn::layers::Elements, )*
            {
                use $crate::nn::layers::Elements as _;
                $Tensors { $( $field: if held.$field.n_elements() == 0 { &mut *shared.$field } else { &mut *held.$field }, )* }
            }
        }
    };
}
pub(crate) use tensors;

tensors! {
    /// Intermediates of the head for a batch: final norm, logits and losses.
    HeadTensors<T, S>, HeadSizes {
        /// Output of the final norm, `[tokens, width]`.
        norm_f: T,
        /// Statistics of the final norm, `[tokens, 2]`.
        stats_f: S,
        /// Loss of each token, nats, `[tokens]`.
        losses: S,
        /// Log-sum-exp of the logits over the vocabulary, `[tokens]`.
        lse: S,
    }
}

impl HeadSizes {
    /// Returns the sizes for a batch of `tokens` tokens.
    pub const fn of(tokens: usize, width: usize) -> Self {
        Self { norm_f: tokens * width, stats_f: 2 * tokens, losses: tokens, lse: tokens }
    }
}

/// Returns the number of tokens whose logits are in memory at a time: a multiple of 64, or all tokens, so that the
/// logits have about `most` elements.
pub fn logit_rows(most: usize, padded_vocab: usize, tokens: usize) -> usize {
    (most / padded_vocab / 64 * 64).max(64).min(tokens)
}

/// Splits `0..n` into ranges of at most `most` elements.
pub fn chunks(n: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let most = most.max(1);
    (0..n).step_by(most).map(move |from| from..(from + most).min(n))
}

/// Allocates `n` residual streams of `len` elements each. Fails if they do not fit into the memory.
pub fn streams<M: Memory, T: TakeFrom<M>>(memory: &mut M, n: usize, len: usize) -> Result<Vec<T>, M::Error> {
    (0..n).map(|_| T::take_from(memory, "residual stream", len)).collect()
}

/// Layout of the sequences of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Division {
    /// All sequences are full.
    Full,
    /// Only the first tokens of each sequence are valid; the others are padding.
    Padded,
    /// Sequences are concatenated without padding.
    Packed {
        /// Number of sequences.
        sequences: usize,
        /// Number of tokens of the longest sequence.
        longest: usize,
    },
}

/// Batch sizes for which a pass is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BatchShape {
    /// Number of rows.
    pub sequences: usize,
    /// Number of tokens per row.
    pub seq_len: usize,
    /// Layout of the sequences in the rows.
    pub division: Division,
}

/// Message for a batch of padded or packed sequences in a model that supports only full ones.
pub const UNDIVIDED: &str = "sequences of different lengths in one row are not possible here";

impl BatchShape {
    /// Returns the shape of rows that are full sequences.
    pub const fn full(sequences: usize, seq_len: usize) -> Self {
        Self { sequences, seq_len, division: Division::Full }
    }

    /// Returns the shape of the sequences `rows` of a batch, or of a whole packed batch. Unless `is_divided`, padded
    /// batches count as full, and packed batches have no shape (`None`, see [`UNDIVIDED`]).
    pub fn of(batch: &Batch<'_>, rows: Range<usize>, is_divided: bool) -> Option<Self> {
        let division = match batch.lengths {
            Lengths::Padded(_) if is_divided => Division::Padded,
            Lengths::Full | Lengths::Padded(_) => Division::Full,
            Lengths::Packed(offsets) if is_divided => {
                let longest = offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0);
                Division::Packed { sequences: offsets.len() - 1, longest }
            }
            Lengths::Packed(_) => return None,
        };
        Some(Self { division, ..Self::full(rows.len(), batch.seq_len) })
    }

    /// Returns the number of tokens, including padding.
    pub const fn n_tokens(&self) -> usize {
        self.sequences * self.seq_len
    }

    /// Returns the number of sequences and the length of the longest one, for attention.
    pub const fn attended(&self) -> (usize, usize) {
        match self.division {
            Division::Packed { sequences, longest } => (sequences, longest),
            _ => (self.sequences, self.seq_len),
        }
    }
}

/// Returns the position of each token within its packed sequence.
pub fn packed_positions(offsets: &[i32]) -> Vec<u32> {
    offsets.windows(2).flat_map(|pair| 0..(pair[1] - pair[0]) as u32).collect()
}

/// Batch in the memory of a backend; `U` contains u32 and `I` contains i32.
#[derive(Debug)]
pub struct BatchView<'a, U: ?Sized, I: ?Sized> {
    /// Sizes of the batch.
    pub shape: BatchShape,
    /// Position of the first token of every sequence: the number of cached tokens.
    pub offset: usize,
    /// Token ids, `[tokens]`.
    pub tokens: &'a U,
    /// Target ids, `[tokens]`.
    pub targets: &'a I,
    /// Lengths of padded sequences, or offsets of packed ones; `None` for full sequences.
    pub lengths: Option<&'a I>,
    /// Positions of packed tokens, `[tokens]`; `None` for other sequences.
    pub positions: Option<&'a U>,
}

impl<U: ?Sized, I: ?Sized> Clone for BatchView<'_, U, I> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<U: ?Sized, I: ?Sized> Copy for BatchView<'_, U, I> {}
