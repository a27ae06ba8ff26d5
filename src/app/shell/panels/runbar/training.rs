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

/// Returns the facts in two lines: speed, and size with the remaining time. `None` if the simulation has no parameters to train.
pub(super) fn lines(document: &Document) -> Option<[String; 2]> {
    let (session, live) = (&document.session, &document.session.live);
    let n = Some(live.schema.n_parameters).filter(|n| *n > 0)?;
    let steps_per_s = live.pace.steps_per_sec().filter(|_| live.running);
    let counts = live.counts(&session.project.model);
    let items = counts.iter().find(|count| count.counted == Counted::Items);
    let rate = steps_per_s.zip(items).map(|(speed, items)| items.rate_text(speed, None));
    let peaks = document.profile.machine.ceilings.as_ref();
    let share = steps_per_s.and_then(|speed| share_of_peak(&counts, speed, peaks));
    let share = share.map(|share| format!("{:.1} % of peak", 100.0 * share));
    let left = steps_per_s.zip(steps_left(document)).filter(|(speed, _)| *speed > 0.0);
    let left = left.map(|(speed, steps)| format!("{} left", text::rough_time(steps as f64 / speed)));
    let join = |parts: [Option<String>; 2]| parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    Some([join([rate, share]), join([Some(amount_text(n, "parameter", "parameters")), left])])
}

/// Returns the number of steps to the end of the duration; `None` without a duration, and after it.
fn steps_left(document: &Document) -> Option<u64> {
    let planned = document.session.project.planned_steps()?;
    planned.checked_sub(document.session.live.clock.step).filter(|left| *left > 0)
}

/// Draws the facts if they fit into a width. Their tooltip explains them.
pub(super) fn ui(ui: &mut Ui, document: &Document, room: f32) {
    let Some(lines) = lines(document) else { return };
    let font = TextStyle::Small.resolve(ui.style());
    let width = |line: &String| ui.painter().layout_no_wrap(line.clone(), font.clone(), egui::Color32::WHITE).size().x;
    let width = lines.iter().map(width).fold(0.0, f32::max) + 2.0;
    if width > room {
        return;
    }
    let shown = ui.allocate_ui_with_layout(vec2(width, 30.0), Layout::top_down(Align::Min), |ui| {
        ui.set_min_width(width);
        ui.spacing_mut().item_spacing.y = 0.0;
        // Without a speed there is one line, in the middle.
        let shown: Vec<&String> = lines.iter().filter(|line| !line.is_empty()).collect();
        ui.add_space(if shown.len() == 1 { 8.0 } else { 0.0 });
        for line in shown {
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
