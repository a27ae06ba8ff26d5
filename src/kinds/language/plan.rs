//! Groups of tensors that a pass holds, and the sizes of batches. The bytes of a workspace are computed from the same lists that
//! the tensors are taken by.

use crate::kinds::language::backend::{Batch, Lengths};
use std::ops::Range;

/// Memory that tensors are taken from.
pub trait Memory {
    /// Why a tensor does not fit.
    type Error;
}

/// A tensor of some memory.
pub trait TakeFrom<M: Memory>: Sized {
    /// Takes so many elements; their contents are not initialised.
    fn take_from(memory: &mut M, name: &'static str, len: usize) -> Result<Self, M::Error>;
}

/// Declares a group of tensors over the types that hold them, and their sizes.
macro_rules! tensors {
    (
        $(#[doc = $docs:literal])*
        $Tensors:ident < $($P:ident),* >, $Sizes:ident {
            $( $(#[doc = $fdocs:literal])* $field:ident : $E:ident ),* $(,)?
        }
    ) => {
        $(#[doc = $docs])*
        /// Numbers of elements; 0: not held.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $Sizes { $( $(#[doc = $fdocs])* pub $field: usize, )* }

        #[allow(dead_code, reason = "not every group is shared")]
        impl $Sizes {
            /// Bytes in an arena, for elements of these types.
            pub fn bytes<$($P),*>(&self) -> usize {
                $crate::gpu::Arena::bytes_of(&[ $( (self.$field, size_of::<$E>()), )* ])
            }

            /// Those of `all` that are not held here.
            #[must_use]
            pub fn others(&self, all: &Self) -> Self {
                Self { $( $field: if self.$field == 0 { all.$field } else { 0 }, )* }
            }
        }

        $(#[doc = $docs])*
        pub struct $Tensors<$($P),*> { $( $(#[doc = $fdocs])* pub $field: $E, )* }

        #[allow(dead_code, reason = "not every group is lent and shared")]
        impl<$($P: ::std::ops::DerefMut),*> $Tensors<$($P),*> {
            /// Takes them from memory; their contents are not initialised.
            pub fn take<M: $crate::kinds::language::plan::Memory>(memory: &mut M, sizes: &$Sizes) -> Result<Self, M::Error>
            where
                $( $P: $crate::kinds::language::plan::TakeFrom<M>, )*
            {
                Ok(Self { $( $field: <$E>::take_from(memory, stringify!($field), sizes.$field)?, )* })
            }

            /// References to all of them.
            pub fn refs(&mut self) -> $Tensors<$( &mut $P::Target ),*> {
                $Tensors { $( $field: &mut *self.$field, )* }
            }

            /// The tensors that are held, and for the others the shared ones.
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
    /// What the logits of a batch need.
    HeadTensors<T, S>, HeadSizes {
        /// Input of the logits.
        norm_f: T,
        /// Statistics of the last norm.
        stats_f: S,
        /// Loss of each token.
        losses: S,
        /// Logarithm of the sum of the softmax over the vocabulary.
        lse: S,
    }
}

impl HeadSizes {
    /// Of that many tokens.
    pub const fn of(tokens: usize, width: usize) -> Self {
        Self { norm_f: tokens * width, stats_f: 2 * tokens, losses: tokens, lse: tokens }
    }
}

/// Tokens whose logits are in memory at a time: about `most` numbers.
pub fn logit_rows(most: usize, padded_vocab: usize, tokens: usize) -> usize {
    (most / padded_vocab / 64 * 64).max(64).min(tokens)
}

/// Ranges of at most `most`.
pub fn chunks(n: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let most = most.max(1);
    (0..n).step_by(most).map(move |from| from..(from + most).min(n))
}

/// Residual streams, of that many elements each.
pub fn streams<M: Memory, T: TakeFrom<M>>(memory: &mut M, n: usize, len: usize) -> Result<Vec<T>, M::Error> {
    (0..n).map(|_| T::take_from(memory, "residual stream", len)).collect()
}

/// How sequences of a batch are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Division {
    /// All sequences are full.
    Full,
    /// The first tokens of each sequence.
    Padded,
    /// Sequences one behind the other.
    Packed {
        /// How many.
        sequences: usize,
        /// Tokens of the longest.
        longest: usize,
    },
}

/// Sizes of a batch that a captured pass is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BatchShape {
    /// Rows of tokens.
    pub sequences: usize,
    /// Tokens of a row.
    pub seq_len: usize,
    /// What belongs together.
    pub division: Division,
}

/// Why a batch has no shape.
pub const UNDIVIDED: &str = "sequences of different lengths in one row are not possible here";

impl BatchShape {
    /// Rows of full sequences.
    pub const fn full(sequences: usize, seq_len: usize) -> Self {
        Self { sequences, seq_len, division: Division::Full }
    }

    /// Some sequences of a batch, or all of a packed one. Without `is_divided` lengths change nothing but the targets, and
    /// packed batches have no shape; see [`UNDIVIDED`].
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

    /// Tokens.
    pub const fn n_tokens(&self) -> usize {
        self.sequences * self.seq_len
    }

    /// Sequences and their longest length, as attention sees them.
    pub const fn attended(&self) -> (usize, usize) {
        match self.division {
            Division::Packed { sequences, longest } => (sequences, longest),
            _ => (self.sequences, self.seq_len),
        }
    }
}

/// Positions of the tokens of packed sequences.
pub fn packed_positions(offsets: &[i32]) -> Vec<u32> {
    offsets.windows(2).flat_map(|pair| 0..(pair[1] - pair[0]) as u32).collect()
}

/// A batch in the memory of a backend: `U` holds u32, `I` i32.
#[derive(Debug)]
pub struct BatchView<'a, U: ?Sized, I: ?Sized> {
    /// Its sizes.
    pub shape: BatchShape,
    /// Position of the first token of every sequence.
    pub offset: usize,
    /// `[tokens]`
    pub tokens: &'a U,
    /// `[tokens]`
    pub targets: &'a I,
    /// Lengths of padded sequences, or offsets of packed ones.
    pub lengths: Option<&'a I>,
    /// Positions of packed tokens.
    pub positions: Option<&'a U>,
}

impl<U: ?Sized, I: ?Sized> Clone for BatchView<'_, U, I> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<U: ?Sized, I: ?Sized> Copy for BatchView<'_, U, I> {}
