//! Requests: a text that continues a prompt, and the loss of a text; each also with plasticity.

crate::kinds::language::requests::language_requests! {
    /// Whether each token writes to the fast memory, by the rule of the project. The memory is empty before the text
    /// and is cleared after it.
    #[param(title = "Plasticity")] plasticity: bool = false,
}
