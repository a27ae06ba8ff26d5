//! What rates are counted around: the beginnings of stimuli, or edits made while it ran.

use crate::app::{
    time::{Time, spikes::History},
    views::kit,
};
use egui::{DragValue, Ui};
use std::sync::Arc;

/// Onsets at most: the newest.
const MOST: usize = 5_000;

/// What times are counted from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Align {
    /// The beginning of the run.
    #[default]
    Run,
    /// The beginning of every stimulus and of every pulse.
    Stimuli,
    /// The beginning and the pulses of the one with this name.
    One(String),
    /// Edits that were taken up while it ran.
    Edits,
}

/// From how long before an onset to how long after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    before_ms: f64,
    after_ms: f64,
}

impl Default for Window {
    fn default() -> Self {
        Self { before_ms: 50.0, after_ms: 200.0 }
    }
}

/// The onsets that count, and the window around each.
#[derive(Clone, Debug, PartialEq)]
pub struct Around {
    /// Absolute steps, ascending. Their windows lie within what is remembered.
    pub onsets: Arc<[u64]>,
    /// Steps from an onset to the first step of its window; negative before it.
    pub from: i64,
    /// Steps of a window.
    pub len: u64,
}

impl Align {
    /// Whether rates are counted over the run as it went.
    pub fn is_run(&self) -> bool {
        *self == Self::Run
    }

    /// What there is to align to.
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

    /// A choice of it, and the window when there is one.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        time: &Time,
        tokens: &crate::app::theme::Tokens,
        window: &mut Window,
        unit: &str,
    ) {
        kit::choice_ui(ui, tokens, "along", self, &Self::options(time));
        if self.is_run() {
            return;
        }
        let drag = |value, prefix: &'static str| {
            DragValue::new(value).range(0.0..=60_000.0).speed(1.0).prefix(prefix).suffix(unit.to_owned())
        };
        ui.add(drag(&mut window.before_ms, "−")).on_hover_text("From so long before each onset");
        ui.add(drag(&mut window.after_ms, "+")).on_hover_text("To so long after each onset");
    }

    /// What it is aligned to, as a plot says it.
    pub fn words(&self, n: usize) -> String {
        let n = kit::thousands(n as u64);
        match self {
            Self::Run => String::new(),
            Self::Stimuli => format!("around {n} onsets of stimuli"),
            Self::One(name) => format!("around {n} onsets of “{name}”"),
            Self::Edits => format!("around {n} live edits"),
        }
    }

    /// The onsets whose whole window is remembered.
    pub fn around(&self, time: &Time, history: &History, window: Window, steps_per_ms: f64) -> Option<Around> {
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
        onsets.drain(..onsets.len().saturating_sub(MOST));
        Some(Around { onsets: onsets.into(), from: -(before as i64), len: (before + after).max(1) })
    }
}
