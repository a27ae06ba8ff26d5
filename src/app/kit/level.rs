//! Severity of a message.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Info,
    /// An input was corrected or ignored.
    Warning,
    /// A requested operation failed.
    Error,
}
