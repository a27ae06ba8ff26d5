//! Facts about a model in training: items per second, share of the peak performance, number of parameters, time to the end of the
//! duration.

use crate::{
    app::{
        document::open_document::Document,
        kit::{text, widgets},
    },
    sim::{Counted, amount_text, share_of_peak},
};
use egui::{Align, Layout, TextStyle, Ui, vec2};

/// Facts about a model in training. Without a speed, only the number of parameters is known.
pub(super) struct TrainingFacts {
    rate: Option<String>,
    share: Option<String>,
    n_parameters: String,
    left: Option<String>,
}

impl TrainingFacts {
    /// Returns the facts; `None` if the simulation has no parameters to train.
    pub(super) fn of(document: &Document) -> Option<Self> {
        let (session, live) = (&document.session, &document.session.live);
        let n = Some(live.schema.n_parameters).filter(|n| *n > 0)?;
        let steps_per_s = live.pace.steps_per_sec().filter(|_| live.running);
        let counts = live.counts(&session.project.model);
        let items = counts.iter().find(|count| count.counted == Counted::Items);
        let peaks = document.profile.machine.ceilings.as_ref();
        let share = steps_per_s.and_then(|speed| share_of_peak(&counts, speed, peaks));
        let left = steps_per_s.zip(steps_left(document)).filter(|(speed, _)| *speed > 0.0);
        Some(Self {
            rate: steps_per_s.zip(items).map(|(speed, items)| items.rate_text(speed, None)),
            share: share.map(|share| format!("{:.1} % of peak", 100.0 * share)),
            n_parameters: amount_text(n, "parameter", "parameters"),
            left: left.map(|(speed, steps)| format!("{} left", text::rough_time(steps as f64 / speed))),
        })
    }

    /// Returns the number of parameters with the remaining time.
    pub(super) fn size(&self) -> String {
        join([Some(&self.n_parameters), self.left.as_ref()])
    }

    /// Returns the lines from the longest to the shortest choice of facts: all; the speed, and the remaining time or the size;
    /// one of these alone.
    fn choices(&self) -> [Vec<String>; 3] {
        let below = self.left.as_ref().unwrap_or(&self.n_parameters).clone();
        let lines = |lines: [String; 2]| lines.into_iter().filter(|line| !line.is_empty()).collect();
        let speed = join([self.rate.as_ref(), self.share.as_ref()]);
        [
            lines([speed, self.size()]),
            lines([self.rate.clone().unwrap_or_default(), below.clone()]),
            lines([below, String::new()]),
        ]
    }
}

fn join(parts: [Option<&String>; 2]) -> String {
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" · ")
}

/// Returns the number of steps to the end of the duration; `None` without a duration, and after it.
fn steps_left(document: &Document) -> Option<u64> {
    let planned = document.session.project.planned_steps()?;
    planned.checked_sub(document.session.live.clock.step).filter(|left| *left > 0)
}

/// Draws as many facts as fit into a width. Their tooltip explains them.
pub(super) fn ui(ui: &mut Ui, document: &Document, room: f32) {
    let Some(facts) = TrainingFacts::of(document) else { return };
    let font = TextStyle::Small.resolve(ui.style());
    let width = |line: &String| ui.painter().layout_no_wrap(line.clone(), font.clone(), egui::Color32::WHITE).size().x;
    let of = |lines: Vec<String>| (lines.iter().map(width).fold(0.0, f32::max) + 2.0, lines);
    let Some((width, lines)) = facts.choices().into_iter().map(of).find(|(width, _)| *width <= room) else { return };
    let shown = ui.allocate_ui_with_layout(vec2(width, 30.0), Layout::top_down(Align::Min), |ui| {
        ui.set_min_width(width);
        ui.spacing_mut().item_spacing.y = 0.0;
        // A single line is in the middle.
        ui.add_space(if lines.len() == 1 { 8.0 } else { 0.0 });
        for line in &lines {
            ui.label(widgets::sub(ui, line.as_str()).small());
        }
    });
    shown.response.on_hover_text(hint(document));
}

/// Returns the tooltip of the facts.
fn hint(document: &Document) -> String {
    let n = document.session.live.schema.n_parameters;
    let measured = match &document.profile.machine.ceilings {
        Some(_) => "Share of the measured peak performance: operations of the model, counted from its sizes",
        None => "Profile › Roofline measures the peak performance of the device, of which the share is then shown",
    };
    format!("{} trainable parameters\n{measured}\nTime left to Run settings › Duration", text::count(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_bar_shows_the_remaining_time_or_the_size() {
        let text = |text: &str| Some(text.to_owned());
        let paused = TrainingFacts { rate: None, share: None, n_parameters: "357 k parameters".into(), left: None };
        assert_eq!(paused.choices(), [(); 3].map(|()| vec!["357 k parameters".to_owned()]));
        let (rate, share, left) = (text("12 k tokens/s"), text("4.0 % of peak"), text("3 min left"));
        let running = TrainingFacts { rate, share, left, ..paused };
        let [all, fewer, one] = running.choices();
        assert_eq!(all, ["12 k tokens/s · 4.0 % of peak", "357 k parameters · 3 min left"]);
        assert_eq!((fewer, one), (vec!["12 k tokens/s".into(), "3 min left".into()], vec!["3 min left".into()]));
    }
}
