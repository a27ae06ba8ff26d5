//! Messages to the user: toasts and the log.

use super::{
    log::Log,
    panels::toasts::{ToastAction, Toasts},
};
use crate::{app::kit::level::Level, project::Project};

/// The messages on screen and the log.
#[derive(Default)]
pub struct Messages {
    /// Short messages over the views, and their history.
    pub toasts: Toasts,
    /// Lines of the log panel.
    pub log: Log,
}

impl Messages {
    /// Replaces the paths of parameters in new messages by their titles in the project.
    pub fn title_new(&mut self, project: &Project) {
        let titled = |text: &str| project.titled(text);
        self.toasts.rewrite_new(titled);
        self.log.rewrite_new(titled);
    }

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
