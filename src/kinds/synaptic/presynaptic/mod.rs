//! Release of vesicles: how attention logits of a key change with the use of that key.
