//! Stand-in until the shell's list of commands is merged.

/// One UI command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UiCommand {
    /// Run or pause.
    RunPause,
}
