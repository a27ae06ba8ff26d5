//! What the user wants of the window, whatever the project: declared like parameters, so the dialog, the palette and
//! the file are read from here.

use super::{
    style,
    text::{self, Decimal, Grouping},
    theme,
};
use crate::{choices, param_tree, params, project};
use egui::ThemePreference;
use std::path::{Path, PathBuf};

/// File name in the settings folder.
pub const FILE: &str = "settings.ron";

choices! {
    /// Colours of the window.
    pub enum Theme {
        /// As the system has it.
        System,
        /// Light figures on a dark ground.
        Dark,
        /// Dark figures on a light ground.
        Light,
    }
}

choices! {
    /// How close rows are.
    pub enum Density {
        /// As much as fits.
        Compact,
        /// The middle way.
        Normal,
        /// Larger targets.
        Comfortable,
    }
}

params! {
    /// Appearance.
    pub struct Appearance {
        /// Colours of the window; plots and the 3D view follow.
        #[param()]
        theme: Theme = Theme::System,

        /// Height of rows and size of text.
        #[param()]
        density: Density = Density::Normal,

        /// Size of everything in the window, in percent of the system's.
        #[param(range = 100.0..=300.0, hard = 50.0..=300.0)]
        zoom_percent: u32 = 100,

        /// Nothing moves that need not.
        #[param()]
        reduced_motion: bool = false,

        /// Colour of excitatory cells and weights, `#RRGGBB`; empty takes the theme's.
        #[param()]
        excitatory: String = String::new(),

        /// Colour of inhibitory cells and weights, `#RRGGBB`; empty takes the theme's.
        #[param()]
        inhibitory: String = String::new(),
    }
}

params! {
    /// Numbers.
    pub struct Numbers {
        /// What stands between thousands.
        #[param()]
        grouping: Grouping = Grouping::Comma,

        /// What stands before decimals; both may be typed.
        #[param()]
        decimal: Decimal = Decimal::Point,
    }
}

params! {
    /// Work in progress.
    pub struct Work {
        /// Lines the log keeps.
        #[param(range = 1000.0..=100_000.0, scale = Log)]
        log_lines: u32 = 100_000,

        /// Steps that can be undone; each holds the whole project.
        #[param(range = 10.0..=1000.0, hard = 1.0..=10_000.0, scale = Log)]
        undo_steps: u32 = 200,

        /// Saves the open project's file this often while it has unsaved changes; 0 leaves saving to you. Unsaved work
        /// survives a crash either way.
        #[param(unit = S, range = 0.0..=600.0, hard = 0.0..=86_400.0)]
        autosave_s: f64 = 0.0,

        /// Messages stay on screen for this long; errors stay until they are closed.
        #[param(unit = Ms, range = 1000.0..=20_000.0)]
        messages_ms: f64 = 4000.0,
    }
}

param_tree! {
    /// Everything that can be set.
    pub struct Settings {
        /// How the window looks.
        appearance: Appearance,
        /// How numbers are written.
        numbers: Numbers,
        /// What is kept.
        work: Work,
    }
}

impl Settings {
    /// Reads the settings: one small file, before the first frame. A damaged file means the defaults.
    pub fn load(config_dir: Option<&Path>) -> Self {
        let text = config_dir.and_then(|d| std::fs::read_to_string(d.join(FILE)).ok());
        let mut settings: Self = text.and_then(|t| project::from_ron(&t).ok()).unwrap_or_default();
        settings.appearance.zoom_percent = settings.appearance.zoom_percent.clamp(50, 300);
        settings
    }

    /// Makes the window as it is set.
    pub fn apply(&self, ctx: &egui::Context) {
        let a = &self.appearance;
        ctx.set_theme(match a.theme {
            Theme::System => ThemePreference::System,
            Theme::Dark => ThemePreference::Dark,
            Theme::Light => ThemePreference::Light,
        });
        ctx.set_zoom_factor(a.zoom_percent as f32 / 100.0);
        theme::set_cell_colors(&a.excitatory, &a.inhibitory);
        style::adapt(ctx, a.density, a.reduced_motion);
        text::set_writing(self.numbers.grouping, self.numbers.decimal);
    }

    /// One step of the zoom.
    pub fn zoom(&mut self, step: i32) {
        let zoom = &mut self.appearance.zoom_percent;
        *zoom = match step {
            0 => 100,
            step => (*zoom as i32 + step * 10).clamp(50, 300) as u32,
        };
    }
}

/// Writes something of the settings folder, on a thread of its own.
pub fn write(file: Option<PathBuf>, text: Option<String>) {
    let (Some(file), Some(text)) = (file, text) else { return };
    let write = move || {
        let made = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        let written = made.and_then(|()| project::write_atomic(&file, text.as_bytes(), false));
        if let Err(e) = written {
            tracing::warn!("{}: {e}", file.display());
        }
    };
    std::thread::Builder::new().name("settings".into()).spawn(write).ok();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;

    #[test]
    fn settings_survive_the_file() {
        let mut settings = Settings::default();
        settings.zoom(3);
        settings.appearance.theme = Theme::Light;
        settings.numbers.decimal = Decimal::Comma;
        let text = project::to_ron(&settings).unwrap();
        assert_eq!(project::from_ron::<Settings>(&text).unwrap(), settings);
        let folder = std::env::temp_dir().join(format!("neuropil-settings-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(FILE), "(appearance: (zoom_percent: 9000))").unwrap();
        assert_eq!(Settings::load(Some(&folder)).appearance.zoom_percent, 300);
        std::fs::write(folder.join(FILE), "not settings").unwrap();
        assert_eq!(Settings::load(Some(&folder)), Settings::default());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn defaults_are_legal_and_documented() {
        let settings = Settings::default();
        for id in settings.ids() {
            let spec = settings.spec(id).unwrap();
            assert!(spec.admits(&settings.get(id)), "{}", settings.path(id));
            assert!(crate::params::reference::flat(spec.docs).ends_with('.'), "{}", settings.path(id));
        }
    }
}
