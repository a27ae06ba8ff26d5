//! Resources of the desktop and the machine that the window uses.

use super::{frame_times::FrameTimes, jobs::Done};
use crate::app::host::{
    attention::Attention,
    consent::Consent,
    device::Devices,
    file_watch::FileWatch,
    jobs::Jobs,
    kept_about::KeptAbout,
    placement::Placement,
    recent::{Recent, RecentCommands},
    system::ProcessMemory,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Threads, devices, folders, the native window, and data kept between sessions.
pub struct Host {
    pub jobs: Jobs<Done>,
    pub devices: Arc<Devices>,
    /// Most recently opened projects.
    pub recent: Recent,
    /// Most recently used entries of the palette.
    pub used: RecentCommands,
    /// Files that projects may read outside their folders.
    pub consent: Consent,
    /// Subject and session that are proposed for the next NWB export.
    pub about: KeptAbout,
    /// Watches the project's file for changes by other programs.
    pub file_watch: FileWatch,
    /// Folder of settings, shortcuts and layouts; `None`: they are not saved.
    pub config_dir: Option<PathBuf>,
    /// Folder of the journal, recent projects and window placement; `None`: they are not saved.
    pub state_dir: Option<PathBuf>,
    pub placement: Placement,
    pub process_memory: ProcessMemory,
    /// Graphics device; `None` in tests without one.
    pub render_state: Option<egui_wgpu::RenderState>,
    /// Opens a project in a second window.
    pub second_window: fn(&Path) -> std::io::Result<()>,
    /// Whether the system's file dialogs are used.
    pub native_dialogs: bool,
    /// Long task whose end is reported to the desktop.
    pub attention: Attention,
    /// Times of the frames.
    pub frames: FrameTimes,
    /// Title of the window that was last sent.
    pub title: String,
}
