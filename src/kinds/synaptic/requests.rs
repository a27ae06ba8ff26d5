//! Requests: a text that continues a prompt, and the loss of a text; each also with plasticity.

crate::kinds::language::requests::language_requests! {
    /// Whether each token writes, by the rule of the project. Nothing is written before, and all is forgotten afterwards.
    #[param(title = "Plasticity")] plasticity: bool = false,
}
