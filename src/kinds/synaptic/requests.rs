//! Requests: a text after a prompt, the loss of a text; both also with plasticity.

crate::kinds::language::requests::language_requests! {
    /// Whether each token writes, by the rule of the project. Nothing is written before, and all is forgotten afterwards.
    #[param(title = "Plasticity")] plasticity: bool = false,
}
