//! The desktop and the machine, as the window uses them.

use super::{frame_times::FrameTimes, jobs::Done};
use crate::app::host::{
    attention::Attention,
    consent::Consent,
    device::Devices,
    file_watch::FileWatch,
    jobs::Jobs,
    placement::Placement,
    recent::{Recent, RecentCommands},
    system::ProcessMemory,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Threads, devices, folders, the window itself, and what is kept between sessions.
pub struct Host {
    pub jobs: Jobs<Done>,
    pub devices: Arc<Devices>,
    /// Projects opened last.
    pub recent: Recent,
    /// Entries of the palette used last.
    pub used: RecentCommands,
    /// The files that projects may read outside their folders.
    pub consent: Consent,
    /// Watches the project's file.
    pub file_watch: FileWatch,
    /// Folder of settings, shortcuts and layouts; none: not saved.
    pub config_dir: Option<PathBuf>,
    /// Folder of the journal, recent projects and window placement; none: not saved.
    pub state_dir: Option<PathBuf>,
    pub placement: Placement,
    pub process_memory: ProcessMemory,
    /// The graphics device; none in tests without one.
    pub render_state: Option<egui_wgpu::RenderState>,
    /// The program that runs the parts of a sweep; none: this one.
    pub program: Option<PathBuf>,
    /// Opens a project in a second window.
    pub second_window: fn(&Path) -> std::io::Result<()>,
    /// Whether the system's file dialogs are used.
    pub native_dialogs: bool,
    /// The long task whose end is reported to the desktop.
    pub attention: Attention,
    /// Times of the frames.
    pub frames: FrameTimes,
    /// The title of the window, as sent last.
    pub title: String,
}
