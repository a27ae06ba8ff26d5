//! Requests: a text after a prompt, the loss of a text; both also with fast memory.

crate::kinds::language::requests::language_requests! {
    /// Whether fast memory is written after each token. It is empty before and forgotten afterwards.
    #[param(title = "Plasticity")] plasticity: bool = false,
}
