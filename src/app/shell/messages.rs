//! Messages to the user: toasts and the log.

use super::{
    log::Log,
    panels::toasts::{ToastAction, Toasts},
};
use crate::app::kit::level::Level;

/// The messages on screen and the log.
#[derive(Default)]
pub struct Messages {
    /// Short messages over the views, and their history.
    pub toasts: Toasts,
    /// Lines of the log panel.
    pub log: Log,
}

impl Messages {
    /// Shows a toast and adds a line to the log.
    pub fn notify(&mut self, level: Level, text: impl Into<String>) {
        let text = text.into();
        self.toasts.add(level, text.clone());
        self.log.add(level, text);
    }

    /// Shows a toast with a button, and adds a line to the log.
    pub fn notify_with(&mut self, level: Level, text: impl Into<String>, action: ToastAction) {
        let text = text.into();
        self.toasts.add_with(level, text.clone(), Some(action));
        self.log.add(level, text);
    }
}
