//! Errors in the declaration of an attention.

/// Reason why an attention was not started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttentionError {
    /// The query heads cannot be grouped by key and value heads.
    #[error(
        "{heads} query heads cannot share {kv_heads} key and value heads: the first must be a multiple of the second"
    )]
    Heads {
        /// Number of query heads.
        heads: usize,
        /// Number of key and value heads.
        kv_heads: usize,
    },
    /// A size is 0.
    #[error("{what} of attention is 0")]
    Empty {
        /// Name of the size.
        what: &'static str,
    },
    /// Rows of a tensor overlap.
    #[error("tokens or heads of {what} overlap: their strides are less than head_dim {head_dim}")]
    Strides {
        /// Name of the tensor.
        what: &'static str,
        /// Smallest valid stride.
        head_dim: usize,
    },
    /// A buffer is too short.
    #[error("{what} of attention needs {needed} elements, and its buffer has {given}")]
    Length {
        /// Name of the buffer.
        what: &'static str,
        /// Elements from the first to the last one accessed.
        needed: usize,
        /// Number of elements in the buffer.
        given: usize,
    },
    /// A declared buffer is absent.
    #[error("{what} of attention is declared, but not given")]
    Missing {
        /// Name of the buffer.
        what: &'static str,
    },
    /// A buffer is given that is not declared.
    #[error("{what} of attention is given, but not declared")]
    Unused {
        /// Name of the buffer.
        what: &'static str,
    },
    /// The sequence or head does not exist.
    #[error("attention has {count} of {what}, and number {index} is asked for")]
    Index {
        /// "sequence" or "head", for the message.
        what: &'static str,
        /// Requested index, from 0.
        index: usize,
        /// Number of sequences or heads.
        count: usize,
    },
    /// A length is out of range.
    #[error("{what}[{index}] is {value}: the length of a sequence is between 0 and {limit}, and first tokens ascend")]
    Value {
        /// Name of the list of lengths.
        what: &'static str,
        /// Index of the sequence.
        index: usize,
        /// Length given for the sequence.
        value: i32,
        /// Maximum valid length.
        limit: usize,
    },
}
