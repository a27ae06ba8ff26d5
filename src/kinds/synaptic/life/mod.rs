//! The life cycle of experts: scores, health, splits, merges and resets, identities.
