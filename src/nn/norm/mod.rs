//! LayerNorm and RMSNorm.
