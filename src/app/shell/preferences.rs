//! Preferences of the user for the window, which apply to all projects.

use super::keymap::Keymap;
use crate::app::document::settings::Settings;

/// Settings and shortcuts of the user.
pub struct Preferences {
    /// The settings as edited.
    pub settings: Settings,
    /// The settings in effect.
    pub applied: Settings,
    pub keymap: Keymap,
    /// Whether layouts saved with projects are ignored.
    pub reset_layout: bool,
}
