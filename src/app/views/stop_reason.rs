//! Empty states of views that need a running simulation, with the reason why a simulation stopped or is silent.

use super::{ViewCtx, ViewRequest};
use crate::{
    app::{
        document::{command::UiCommand, time::Span},
        kit,
    },
    sim::{Clock, ProbeId},
};

/// Beginning of the messages that name the contents of a view. While the simulation runs, "Waiting for" replaces it.
const RUN: &str = "Run to see ";

/// Draws the empty state of a view that shows data of a running simulation. `how` begins with [`RUN`] if the view only needs a
/// run.
pub(crate) fn run_ui(ui: &mut egui::Ui, canvas: egui::Rect, ctx: &mut ViewCtx<'_>, title: &str, how: &str) {
    if ctx.time.axis.is_recorded {
        if ctx.unrecorded.is_empty() {
            kit::empty_ui(ui, canvas, ctx, title.trim_end_matches(" yet"), "Nothing happened in this run", None);
            return;
        }
        let how =
            format!("This run has no {}. Switch it on under Probes before a recording", ctx.unrecorded.join(", "));
        kit::empty_ui(ui, canvas, ctx, "Not recorded", &how, None);
        return;
    }
    if ctx.running {
        let how = how.strip_prefix(RUN).map_or_else(|| how.to_owned(), |what| format!("Waiting for {what}"));
        kit::empty_ui(ui, canvas, ctx, title, &how, None);
        return;
    }
    let pressed = match ctx.stop_reason {
        Some(t) => kit::failed_ui(ui, canvas, ctx, "The simulation stopped", &t.why, Some(t.remedy.0)),
        None => kit::empty_ui(ui, canvas, ctx, title, how, Some("Run")),
    };
    if pressed {
        let command = ctx.stop_reason.map_or(UiCommand::RunPause, |t| t.remedy.1.clone());
        ctx.requests.push(ViewRequest::Command(command));
    }
}

/// Draws the empty state of a view of elements that have no values. If the filter hides some elements, it names the hidden
/// values; otherwise it is that of [`run_ui`].
pub(crate) fn no_values_ui(
    ui: &mut egui::Ui,
    canvas: egui::Rect,
    ctx: &mut ViewCtx<'_>,
    (n_hidden, hidden): (u32, &str),
    [title, how]: [&str; 2],
) {
    if n_hidden == 0 {
        return run_ui(ui, canvas, ctx, title, how);
    }
    let why = format!("The filter hides everything with {hidden}");
    kit::empty_ui(ui, canvas, ctx, "All filtered out", &why, None);
}

/// Formats the number of hidden elements for a caption; empty without any.
pub(crate) fn hidden_text(n_hidden: u32) -> String {
    match n_hidden {
        0 => String::new(),
        n => format!("  |  {} hidden by the filter", kit::thousands(n.into())),
    }
}

/// Draws the empty state of a view whose data the simulation does not publish.
pub(crate) fn unfit_ui(ui: &mut egui::Ui, ctx: &ViewCtx<'_>, [title, why]: [&str; 2]) {
    let canvas = ui.available_rect_before_wrap();
    kit::empty_ui(ui, canvas, ctx, title, why, None);
}

/// Draws the empty state of a view of events. If the simulation has sampled steps without an event, the empty state
/// gives the reason; otherwise it is that of [`run_ui`].
pub(crate) fn no_events_ui(ui: &mut egui::Ui, canvas: egui::Rect, ctx: &mut ViewCtx<'_>, probe: ProbeId, how: &str) {
    let noun = ctx.schema.probes.get(usize::from(probe)).map_or_else(String::new, |spec| kit::spaced(spec.name));
    let past = &ctx.time.past;
    let seen = past.newest().saturating_sub(past.first()) as f64;
    let unseen: f64 = past.gaps(probe, past.first() as f64, past.newest() as f64).iter().map(|(a, b)| b - a).sum();
    if ctx.time.axis.is_recorded || ctx.stop_reason.is_some() || unseen > 0.5 * seen || seen == 0.0 {
        return run_ui(ui, canvas, ctx, &format!("No {noun} yet"), how);
    }
    let title = format!("No {noun} in {}", kit::steps(seen, ctx.clock.base));
    let why = silence(&ctx.time.spans, &ctx.time.disabled_stimuli, ctx.clock, &noun);
    kit::empty_ui(ui, canvas, ctx, &title, &why, None);
}

/// Returns the reason why a run is silent, from its stimuli.
fn silence(spans: &[Span], disabled: &[String], clock: Clock, noun: &str) -> String {
    let now = clock.step as f64;
    let stimuli = || spans.iter().filter(|span| !span.is_lesion);
    let next = stimuli().filter(|s| s.start() >= now).min_by(|a, b| a.start().total_cmp(&b.start()));
    match (stimuli().any(|span| span.start() < now), next) {
        (true, _) => {
            format!("The run is silent: its stimuli evoke no {noun}. Raise their strength, or choose other targets")
        }
        (false, Some(next)) => {
            let start = kit::steps(next.start(), clock.base);
            format!("The run is silent: its first stimulus, “{}”, begins at {start}", next.label)
        }
        (false, None) => match disabled {
            [] => "The run is silent: it has no stimulus. Select targets in any view and stimulate them (S)".to_owned(),
            [one] => format!("The run is silent: its stimulus, “{one}”, is disabled. Enable it"),
            all => format!("The run is silent: its {} stimuli are disabled. Enable one", all.len()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_run_says_why() {
        let clock = Clock::seconds(3_000, 1e-4);
        let span = |label: &str, from: f64, is_lesion| Span {
            label: label.into(),
            from,
            to: f64::INFINITY,
            since: 0.0,
            is_lesion,
            pulses: None,
        };
        let why = |spans: &[Span]| silence(spans, &[], clock, "spikes");
        assert!(
            why(&[]).contains("it has no stimulus") && why(&[span("cut", 0.0, true)]).contains("it has no stimulus")
        );
        let off =
            |names: &[&str]| silence(&[], &names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>(), clock, "spikes");
        assert!(off(&["sugar"]).ends_with("its stimulus, “sugar”, is disabled. Enable it"), "{}", off(&["sugar"]));
        assert!(off(&["a", "b"]).contains("its 2 stimuli are disabled"));
        let late = [span("late", 9_000.0, false), span("next", 5_000.0, false)];
        assert!(why(&late).ends_with("its first stimulus, “next”, begins at 500 ms"), "{}", why(&late));
        assert!(why(&[span("weak", 100.0, false)]).contains("evoke no spikes"));
    }
}
