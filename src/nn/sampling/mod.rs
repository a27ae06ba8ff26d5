//! Drawing a token from logits.
