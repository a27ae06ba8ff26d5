//! What is wrong with a declaration.

/// Why an attention was not started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttentionError {
    /// Heads cannot be grouped.
    #[error(
        "{heads} query heads cannot share {kv_heads} key and value heads: the first must be a multiple of the second"
    )]
    Heads {
        /// Of queries.
        heads: usize,
        /// Of keys and values.
        kv_heads: usize,
    },
    /// A size is 0.
    #[error("{what} of attention is 0")]
    Empty {
        /// Which.
        what: &'static str,
    },
    /// Rows overlap.
    #[error("tokens or heads of {what} overlap: their strides are less than head_dim {head_dim}")]
    Strides {
        /// Which tensor.
        what: &'static str,
        /// Least stride.
        head_dim: usize,
    },
    /// A buffer is too short.
    #[error("{what} of attention needs {needed} elements, and its buffer has {given}")]
    Length {
        /// Which buffer.
        what: &'static str,
        /// Elements from the first to the last.
        needed: usize,
        /// Elements of the buffer.
        given: usize,
    },
    /// A buffer is declared and absent.
    #[error("{what} of attention is declared, but not given")]
    Missing {
        /// Which buffer.
        what: &'static str,
    },
    /// A buffer is given and not declared.
    #[error("{what} of attention is given, but not declared")]
    Unused {
        /// Which buffer.
        what: &'static str,
    },
    /// There is no such sequence or head.
    #[error("attention has {count} of {what}, and number {index} is asked for")]
    Index {
        /// Sequence or head.
        what: &'static str,
        /// Asked for, from 0.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A length is out of range.
    #[error("{what}[{index}] is {value}: the length of a sequence is between 0 and {limit}, and first tokens ascend")]
    Value {
        /// Of queries or of keys.
        what: &'static str,
        /// Sequence.
        index: usize,
        /// Given.
        value: i32,
        /// Most.
        limit: usize,
    },
}
