//! Settings of the program. The settings are declared like parameters; the dialog, the palette and the file follow from the
//! declarations.

use super::{figure_settings::FigureSettings, time};
use crate::{
    app::kit::{
        style::{self, Density},
        text::{self, Decimal, Grouping},
        theme,
    },
    choices, param_tree, params, project,
};
use egui::ThemePreference;
use std::path::Path;

/// File name in the settings folder.
pub const FILE: &str = "settings.ron";

choices! {
    /// Colours of the window.
    pub enum Theme {
        /// Theme of the system.
        System,
        /// Light text on dark.
        Dark,
        /// Dark text on light.
        Light,
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

        /// Turns animations off.
        #[param()]
        reduced_motion: bool = false,

        /// Colour of excitatory cells and weights, `#RRGGBB`; empty: colour of the theme.
        #[param(title = "Excitatory colour")]
        excitatory: String = String::new(),

        /// Colour of inhibitory cells and weights, `#RRGGBB`; empty: colour of the theme.
        #[param(title = "Inhibitory colour")]
        inhibitory: String = String::new(),
    }
}

params! {
    /// Numbers.
    pub struct Numbers {
        /// Thousands separator.
        #[param(title = "Thousands separator")]
        grouping: Grouping = Grouping::Comma,

        /// Decimal separator; both may be typed.
        #[param(title = "Decimal separator")]
        decimal: Decimal = Decimal::Point,
    }
}

params! {
    /// History and saving.
    pub struct Work {
        /// Number of lines kept in the log.
        #[param(range = 1000.0..=100_000.0, scale = Log)]
        log_lines: u32 = 100_000,

        /// Number of undo steps; each stores the whole project.
        #[param(range = 10.0..=1000.0, hard = 1.0..=10_000.0, scale = Log)]
        undo_steps: u32 = 200,

        /// Interval of automatic saving while the project has unsaved changes; 0 turns it off. Unsaved work survives a
        /// crash either way.
        #[param(title = "Autosave interval", unit = S, range = 0.0..=600.0, hard = 0.0..=86_400.0)]
        autosave_s: f64 = 0.0,

        /// Time a message stays on screen; errors stay until they are closed or solved.
        #[param(title = "Notification time", unit = Ms, range = 1000.0..=20_000.0)]
        messages_ms: f64 = 4000.0,

        /// Memory of single spikes in the history, MB, and a quarter as much for a lineage; the oldest are dropped first. Rates
        /// and densities are kept for the whole run.
        #[param(title = "History memory (MB)", range = 16.0..=2048.0, hard = 1.0..=65_536.0, scale = Log)]
        history_mb: u32 = 160,

        /// Disk space for a run that is not recorded, MB: its scalars, sampled texts and last state, from step 0 on. Record and
        /// Keep as run begin with them; after a crash they are offered at the next start. 0 turns it off.
        #[param(title = "Unrecorded run (MB)", range = 0.0..=4096.0, hard = 0.0..=1_000_000.0)]
        unrecorded_mb: u32 = 256,
    }
}

param_tree! {
    /// Everything that can be set.
    pub struct Settings {
        /// Appearance.
        appearance: Appearance,
        /// Numbers.
        numbers: Numbers,
        /// History and saving.
        #[title("History")]
        work: Work,
        /// Size and form of exported figures.
        figures: FigureSettings,
    }
}

impl Settings {
    /// Reads the settings, one small file, before the first frame. If the file is missing or damaged, the defaults apply.
    pub fn load(config_dir: Option<&Path>) -> Self {
        let text = config_dir.and_then(|d| std::fs::read_to_string(d.join(FILE)).ok());
        let mut settings: Self = text.and_then(|t| project::from_ron(&t).ok()).unwrap_or_default();
        settings.appearance.zoom_percent = settings.appearance.zoom_percent.clamp(50, 300);
        settings
    }

    /// Applies the settings to the window.
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
        let history_bytes = self.work.history_mb as usize * 1_000_000;
        time::spikes::set_memory(history_bytes);
        time::lineage_memory::set(history_bytes / 4);
        text::set_writing(self.numbers.grouping, self.numbers.decimal);
    }

    /// Returns the disk space for a run that is not recorded, bytes.
    pub fn unrecorded_bytes(&self) -> u64 {
        u64::from(self.work.unrecorded_mb) * 1_000_000
    }

    /// Zooms by steps of 10 %; 0 resets the zoom.
    pub fn zoom(&mut self, step: i32) {
        let zoom = &mut self.appearance.zoom_percent;
        *zoom = match step {
            0 => 100,
            step => (*zoom as i32 + step * 10).clamp(50, 300) as u32,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use neuropil_test_support::temp::TempFolder;

    #[test]
    fn settings_survive_the_file() {
        let mut settings = Settings::default();
        settings.zoom(3);
        settings.appearance.theme = Theme::Light;
        settings.numbers.decimal = Decimal::Comma;
        let text = project::to_ron(&settings).unwrap();
        assert_eq!(project::from_ron::<Settings>(&text).unwrap(), settings);
        let folder = TempFolder::new("settings");
        std::fs::write(folder.join(FILE), "(appearance: (zoom_percent: 9000))").unwrap();
        assert_eq!(Settings::load(Some(&folder)).appearance.zoom_percent, 300);
        std::fs::write(folder.join(FILE), "not settings").unwrap();
        assert_eq!(Settings::load(Some(&folder)), Settings::default());
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
