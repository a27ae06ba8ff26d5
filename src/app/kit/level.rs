//! Severity of a message.

/// Severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Information.
    Info,
    /// An input was corrected or ignored.
    Warning,
    /// A requested operation failed.
    Error,
}
