//! Alignment of rates to stimulus onsets, or to edits applied during the simulation.

use crate::app::{
    document::time::{Time, spikes::History},
    kit,
};
use egui::{DragValue, Ui};
use std::sync::Arc;

/// Maximum number of onsets; only the newest are used.
const MAX_ONSETS: usize = 5_000;

/// The alignment of rates.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Align {
    /// Aligned to the start of the run.
    #[default]
    Run,
    /// Aligned to the onset of every stimulus and pulse, without lesions.
    Stimuli,
    /// Aligned to the onset and the pulses of the intervention with this name.
    One(String),
    /// Aligned to edits applied during the simulation.
    Edits,
}

/// Time before and after an onset, ms, or steps if the clock counts steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnsetWindow {
    before_ms: f64,
    after_ms: f64,
}

impl Default for OnsetWindow {
    fn default() -> Self {
        Self { before_ms: 50.0, after_ms: 200.0 }
    }
}

/// Onsets, and the window around each.
#[derive(Clone, Debug, PartialEq)]
pub struct OnsetWindows {
    /// Absolute steps of the onsets, ascending. Their windows are within the history.
    pub onsets: Arc<[u64]>,
    /// Steps from an onset to the first step of its window; negative if the window begins before the onset.
    pub from: i64,
    /// Length of a window, steps.
    pub len: u64,
}

impl Align {
    /// Whether rates are not aligned.
    pub fn is_run(&self) -> bool {
        *self == Self::Run
    }

    /// Returns the alignment options with their labels.
    fn options(time: &Time) -> Vec<(Self, String)> {
        let mut options = vec![(Self::Run, "the run".to_owned()), (Self::Stimuli, "all stimuli".to_owned())];
        for span in time.spans.iter().filter(|s| s.is_bounded()) {
            let one = Self::One(span.label.clone());
            if options.iter().all(|(known, _)| *known != one) {
                options.push((one, span.label.clone()));
            }
        }
        options.push((Self::Edits, "live edits".to_owned()));
        options
    }

    /// Draws the menu of alignments, and the fields of the window if rates are aligned to onsets.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        time: &Time,
        tokens: &crate::app::kit::theme::Tokens,
        window: &mut OnsetWindow,
        unit: &str,
    ) {
        kit::choice_ui(ui, tokens, "Align to", self, &Self::options(time));
        if self.is_run() {
            return;
        }
        let drag = |value, prefix: &'static str| {
            DragValue::new(value).range(0.0..=60_000.0).speed(1.0).prefix(prefix).suffix(unit.to_owned())
        };
        ui.add(drag(&mut window.before_ms, "−")).on_hover_text("Time before each onset");
        ui.add(drag(&mut window.after_ms, "+")).on_hover_text("Time after each onset");
    }

    /// Describes the alignment to `n` onsets for the title; empty if rates are not aligned.
    pub fn description(&self, n: usize) -> String {
        match self {
            Self::Run => String::new(),
            Self::Stimuli => format!("around {} of stimuli", kit::counted(n as u64, "onsets")),
            Self::One(name) => format!("around {} of “{name}”", kit::counted(n as u64, "onsets")),
            Self::Edits => format!("around {}", kit::plural(n, "live edit", "live edits")),
        }
    }

    /// Returns the newest onsets whose whole window is in the history. `None` if rates are not aligned or the history is empty.
    pub fn around(
        &self,
        time: &Time,
        history: &History,
        window: OnsetWindow,
        steps_per_ms: f64,
    ) -> Option<OnsetWindows> {
        let [before, after] = [window.before_ms, window.after_ms].map(|ms| (ms * steps_per_ms).round() as u64);
        let newest = history.origin() + u64::from(history.last_step()?);
        let oldest = history.origin() + u64::from(history.first_step().filter(|_| history.dropped() > 0).unwrap_or(0));
        let of_spans = |wanted: &dyn Fn(&str) -> bool| -> Vec<u64> {
            let spans = time.spans.iter().filter(|s| !s.is_lesion || *self != Self::Stimuli);
            spans.filter(|s| s.is_bounded() && wanted(&s.label)).flat_map(|s| s.onsets(newest as f64)).collect()
        };
        let mut onsets = match self {
            Self::Run => return None,
            Self::Stimuli => of_spans(&|_| true),
            Self::One(name) => of_spans(&|label| label == name),
            Self::Edits => time.edits.iter().map(|edit| edit.step).collect(),
        };
        onsets.sort_unstable();
        onsets.dedup();
        onsets.retain(|at| *at >= oldest + before && at + after <= newest);
        onsets.drain(..onsets.len().saturating_sub(MAX_ONSETS));
        Some(OnsetWindows { onsets: onsets.into(), from: -(before as i64), len: (before + after).max(1) })
    }
}
