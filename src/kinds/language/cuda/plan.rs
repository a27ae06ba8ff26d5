//! Groups of tensors that a pass holds, and the sizes of batches. Bytes of an arena are computed from the same lists that the
//! tensors are taken by.

use super::error::OpError;
use crate::{
    gpu::{Frame, ViewMut, layout::CudaType},
    kinds::language::backend::{Batch, Lengths},
};
use std::ops::Range;

/// Declares a group of tensors: their sizes, the tensors taken from a frame, and references to them. The module names `Arena`,
/// `Frame`, `GpuError`, `Slice`, `ViewMut`, and `CudaType` for a group with a format.
macro_rules! tensors {
    (
        $(#[doc = $docs:literal])*
        $Tensors:ident $(<$T:ident>)?, $Sizes:ident, $Refs:ident {
            $( $(#[doc = $fdocs:literal])* $field:ident : $E:ident ),* $(,)?
        }
    ) => {
        $(#[doc = $docs])*
        /// Numbers of elements; 0: not held.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $Sizes { $( $(#[doc = $fdocs])* pub $field: usize, )* }

        #[allow(dead_code, reason = "not every group is shared")]
        impl $Sizes {
            /// Bytes in an arena.
            pub fn bytes $(<$T: CudaType>)? (&self) -> usize {
                Arena::bytes_of(&[ $( (self.$field, size_of::<$E>()), )* ])
            }

            /// Those of `all` that are not held here.
            #[must_use]
            pub fn others(&self, all: &Self) -> Self {
                Self { $( $field: if self.$field == 0 { all.$field } else { 0 }, )* }
            }
        }

        $(#[doc = $docs])*
        pub struct $Tensors<'f $(, $T: CudaType)?> { $( $(#[doc = $fdocs])* pub $field: ViewMut<'f, $E>, )* }

        #[allow(dead_code, reason = "not every group is lent")]
        impl<'f $(, $T: CudaType)?> $Tensors<'f $(, $T)?> {
            /// References to all of them.
            pub fn refs(&mut self) -> $Refs<'_ $(, $T)?> {
                $Refs { $( $field: &mut *self.$field, )* }
            }

            /// Takes them from a frame; their contents are not initialised.
            pub fn take(frame: &'f Frame<'_>, sizes: &$Sizes) -> Result<Self, GpuError> {
                Ok(Self { $( $field: frame.take::<$E>(stringify!($field), sizes.$field)?, )* })
            }
        }

        $(#[doc = $docs])*
        pub struct $Refs<'a $(, $T: CudaType)?> { $( $(#[doc = $fdocs])* pub $field: &'a mut Slice<$E>, )* }

        #[allow(dead_code, reason = "not every group is shared")]
        impl<'a $(, $T: CudaType)?> $Refs<'a $(, $T)?> {
            /// The tensors that are held, and for the others the shared ones.
            pub fn of(held: &'a mut $Tensors<'_ $(, $T)?>, shared: &'a mut $Tensors<'_ $(, $T)?>) -> Self {
                Self { $( $field: if held.$field.is_empty() { &mut *shared.$field } else { &mut *held.$field }, )* }
            }
        }
    };
}
pub(crate) use tensors;

mod head {
    use crate::gpu::{Arena, Frame, GpuError, Slice, ViewMut, layout::CudaType};

    tensors! {
        /// What the logits of a batch need.
        HeadTensors<T>, HeadSizes, Head {
            /// Input of the logits.
            norm_f: T,
            /// Statistics of the last norm.
            stats_f: f32,
            /// Loss of each token.
            losses: f32,
            /// Logarithm of the sum of the softmax over the vocabulary.
            lse: f32,
        }
    }
}
pub use head::{Head, HeadSizes, HeadTensors};

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
pub fn streams<'f, T: CudaType>(frame: &'f Frame<'_>, n: usize, len: usize) -> Result<Vec<ViewMut<'f, T>>, OpError> {
    (0..n).map(|_| frame.take::<T>("residual stream", len).map_err(OpError::from)).collect()
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

impl BatchShape {
    /// Rows of full sequences.
    pub const fn full(sequences: usize, seq_len: usize) -> Self {
        Self { sequences, seq_len, division: Division::Full }
    }

    /// Some sequences of a batch, or all of a packed one. Without `is_divided` lengths change nothing but the targets, and
    /// packed batches are refused.
    pub fn of(batch: &Batch<'_>, rows: Range<usize>, is_divided: bool) -> Result<Self, OpError> {
        let division = match batch.lengths {
            Lengths::Padded(_) if is_divided => Division::Padded,
            Lengths::Full | Lengths::Padded(_) => Division::Full,
            Lengths::Packed(offsets) if is_divided => {
                let longest = offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0);
                Division::Packed { sequences: offsets.len() - 1, longest }
            }
            Lengths::Packed(_) => {
                let why = "sequences of different lengths in one row are not possible here";
                return Err(OpError::Refused(why.to_owned()));
            }
        };
        Ok(Self { division, ..Self::full(rows.len(), batch.seq_len) })
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
