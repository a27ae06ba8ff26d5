//! Requests: a text after a prompt, the loss of a text.

crate::kinds::language::requests::language_requests! {}
