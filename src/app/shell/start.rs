//! Options of the start of the window.

use super::keymap;
use crate::{
    app::document::{live::Builder, settings},
    project::Project,
};
use etcetera::BaseStrategy;
use std::path::{Path, PathBuf};

/// Application id for desktops. It equals the file name of the launcher.
pub const APP_ID: &str = "neuropil";

/// Options of the window.
pub struct Start {
    /// Project file to open; `None`: the home page or `project`.
    pub path: Option<PathBuf>,
    /// Document to open instead of a file; `None`: the default project.
    pub project: Option<Project>,
    /// Whether to start the engine. It is off in tests of the window alone.
    pub engine: bool,
    /// Whether to run the project as soon as it is loaded.
    pub run: bool,
    /// Whether to use the system's file dialogs; otherwise a text field asks for paths.
    pub native_dialogs: bool,
    /// Folder of the journal, recent projects and window placement; `None`: they are not saved.
    pub state_dir: Option<PathBuf>,
    /// Folder of settings, shortcuts and layouts; `None`: they are not saved.
    pub config_dir: Option<PathBuf>,
    /// Whether to ignore saved panel layouts and window placement.
    pub reset_layout: bool,
    /// Whether to reset settings and shortcuts; the old files are renamed to `.bak`.
    pub reset_settings: bool,
    /// Whether to ignore saved settings and layouts, and to render in software.
    pub safe_mode: bool,
    /// Opens a project in a second window.
    pub second_window: fn(&Path) -> std::io::Result<()>,
    /// Function that builds simulations; `None`: the default.
    pub builder: Option<Builder>,
}

impl Default for Start {
    fn default() -> Self {
        Self {
            path: None,
            project: None,
            engine: true,
            run: false,
            native_dialogs: true,
            state_dir: None,
            config_dir: None,
            reset_layout: false,
            reset_settings: false,
            safe_mode: false,
            second_window,
            builder: None,
        }
    }
}

impl Start {
    /// Returns the default options with the user's folders for settings and state.
    pub fn of_user() -> Self {
        let dirs = etcetera::choose_base_strategy().ok();
        Self {
            state_dir: dirs.as_ref().map(|d| d.state_dir().unwrap_or_else(|| d.data_dir()).join(APP_ID)),
            config_dir: dirs.map(|d| d.config_dir().join(APP_ID)),
            ..Self::default()
        }
    }

    /// Applies the reset options, before any file is read.
    pub(super) fn prepare(mut self) -> Self {
        if self.safe_mode {
            (self.reset_layout, self.config_dir) = (true, None);
        }
        for name in [settings::FILE, keymap::FILE].iter().filter(|_| self.reset_settings) {
            if let Some(file) = self.config_dir.as_ref().map(|d| d.join(name)).filter(|f| f.exists()) {
                std::fs::rename(&file, file.with_extension("ron.bak")).ok();
            }
        }
        self
    }
}

/// Starts the program again with a project file.
fn second_window(path: &Path) -> std::io::Result<()> {
    let exe = std::env::current_exe()?;
    std::process::Command::new(exe).arg(path).spawn().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    fn files(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn resets_apply_before_files_are_read_and_keep_backups() {
        let folder = TempFolder::new("start");
        for file in [settings::FILE, keymap::FILE] {
            std::fs::write(folder.join(file), "()").unwrap();
        }
        // Tests of the window use these defaults, so they neither read nor write the user's saved data.
        assert_eq!((Start::default().config_dir, Start::default().state_dir), (None, None));
        let fresh = || Start { config_dir: Some(folder.to_path_buf()), ..Start::default() };
        let plain = fresh().prepare();
        assert!(!plain.reset_layout && files(&folder) == ["keymap.ron", "settings.ron"]);
        let safe = Start { safe_mode: true, ..fresh() }.prepare();
        assert!(safe.reset_layout && safe.config_dir.is_none(), "nothing that was kept is read or written");
        assert_eq!(files(&folder), ["keymap.ron", "settings.ron"]);
        let reset = Start { reset_settings: true, ..fresh() }.prepare();
        assert!(reset.config_dir.is_some() && !reset.reset_layout);
        assert_eq!(files(&folder), ["keymap.ron.bak", "settings.ron.bak"], "what was set is kept beside");
    }
}
