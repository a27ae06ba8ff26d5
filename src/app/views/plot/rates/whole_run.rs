//! Display of the whole run: the view is unlinked and shows all steps until the user moves or zooms it.

use crate::app::document::time::{TimeAxis, TimeLink};
use egui::{RichText, Ui};

/// Whether the whole run is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct WholeRun {
    /// Choice of the user; `None`: as the shown series suggest.
    wish: Option<bool>,
    /// Whether the shown series suggest it.
    by_default: bool,
    /// Whether the user has moved or zoomed the view, until a double-click.
    has_strayed: bool,
    was_following: bool,
    /// Visible span while the whole run is shown, steps.
    span: f64,
}

impl WholeRun {
    fn is_on(&self) -> bool {
        self.wish.unwrap_or(self.by_default)
    }

    /// Begins a frame: shows the steps from the first to the last one. `by_default` is the suggestion of the shown series.
    pub(super) fn begin(&mut self, link: &mut TimeLink, by_default: bool, (first, last): (f64, f64)) {
        self.by_default = by_default;
        if self.is_on() && !self.has_strayed {
            link.show_all(first, last);
            self.span = link.own_span();
        }
    }

    /// Draws the switch.
    pub(super) fn toggle_ui(&mut self, ui: &mut Ui, link: &mut TimeLink) {
        // A click on the link has linked the view.
        if self.is_on() && link.is_linked() {
            self.choose(false);
        }
        let mut on = self.is_on() && !self.has_strayed;
        let hint = "Shows all steps of the run; off: the times that the views share. Drag or wheel: other times, \
                    double-click: all steps again";
        if ui.toggle_value(&mut on, RichText::new("Whole run").small()).on_hover_text(hint).changed() {
            self.choose(on);
            if !on {
                link.link();
            }
        }
    }

    fn choose(&mut self, on: bool) {
        self.wish = (on != self.by_default).then_some(on);
        self.has_strayed = false;
    }

    /// Ends a frame after the gestures.
    pub(super) fn end(&mut self, link: &mut TimeLink, axis: &TimeAxis, is_double_click: bool) {
        let line = link.line(axis);
        let (is_whole, follows) = (line.follow && line.span == self.span, line.follow);
        if self.has_strayed {
            self.has_strayed = !is_double_click && (self.was_following || !follows);
        } else if self.is_on() && !link.is_linked() {
            self.has_strayed = !is_whole;
        }
        self.was_following = follows;
    }

    /// Formats the choice as a part of a stored text: `whole=0`. `None` without a choice.
    pub(super) fn to_part(&self) -> Option<String> {
        self.wish.map(|on| format!("whole={}", u8::from(on)))
    }

    /// Reads a part of a stored text; ignores other parts.
    pub(super) fn read_part(&mut self, name: &str, value: &str) {
        if name == "whole" {
            self.wish = Some(value == "1");
        }
    }
}
