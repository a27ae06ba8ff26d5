//! Requests: sampling after a prompt, and scoring of a text.

crate::kinds::language::requests::language_requests! {}
