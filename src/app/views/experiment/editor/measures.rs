//! Measures of the experiment.

use super::{
    fields::{card_ui, row_ui, text_ui},
    menus,
};
use crate::{
    app::{
        document::experiment::edit,
        kit::{icons, text},
        views::ViewCtx,
    },
    params::{ChoiceSpec, ParamValue, ValueType},
    project::{
        experiment::{Measure, Reduction},
        record,
    },
};
use egui::{ComboBox, DragValue, Ui};

/// Draws all measures and the button that adds one.
pub fn ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    let Some(mut measures) = ctx.experiments.edited.as_mut().map(|e| std::mem::take(&mut e.measures)) else { return };
    let mut removed = None;
    for (i, measure) in measures.iter_mut().enumerate() {
        if ui.push_id(("experiment measure", i), |ui| measure_ui(ui, ctx, measure)).inner {
            removed = Some(i);
        }
    }
    removed.into_iter().for_each(|i| drop(measures.remove(i)));
    if ui.button("Add a measure").on_hover_text("A number that is computed from every trial").clicked() {
        let usual = edit::usual(ctx.experiments.model).unwrap_or_default();
        let name = format!("measure {}", measures.len() + 1);
        let is_taken = measures.iter().any(|measure| measure.name == usual.name);
        measures.push(if is_taken { Measure { name, ..usual } } else { usual });
    }
    if let Some(experiment) = ctx.experiments.edited {
        experiment.measures = measures;
    }
}

/// Draws a measure. Returns whether it was removed.
fn measure_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, measure: &mut Measure) -> bool {
    let title = crate::experiment::measure::show(measure);
    card_ui(ui, ctx.tokens, (icons::GAUGE, &title), |ui| {
        let about = ("rate of MN9", "Name of the measure in tables and plots, unique in the experiment");
        text_ui(ui, ("Name", "Name of the measure"), &mut measure.name, about, None);
        row_ui(ui, "Reduction", |ui| reduction_ui(ui, &mut measure.reduce));
        row_ui(ui, "Probe", |ui| probe_ui(ui, ctx, measure));
        elements_ui(ui, ctx, measure);
        row_ui(ui, "Time", |ui| span_ui(ui, ctx, measure));
    })
}

/// Returns the declarations of the reductions.
fn reductions() -> &'static [ChoiceSpec] {
    match <Reduction as ParamValue>::TYPE {
        ValueType::Choice(choices) => choices,
        _ => &[],
    }
}

fn reduction_ui(ui: &mut Ui, reduce: &mut Reduction) {
    let label = |reduce: Reduction| {
        let at = Reduction::ALL.iter().position(|known| *known == reduce).unwrap_or(0);
        reductions().get(at).map_or_else(String::new, |choice| choice.label().into_owned())
    };
    let list = ComboBox::from_id_salt("reduction")
        .selected_text(label(*reduce))
        .width(ui.available_width())
        .truncate()
        .show_ui(ui, |ui| {
            for (known, choice) in Reduction::ALL.iter().zip(reductions()) {
                ui.selectable_value(reduce, *known, choice.label().into_owned())
                    .on_hover_text(text::unwrap(choice.docs));
            }
        });
    list.response.accessible_name("Reduction").on_hover_text("How the samples or events become one number");
}

fn probe_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, measure: &mut Measure) {
    let probes = ctx.experiments.model.probes();
    let title = |name: &str| {
        let probe = probes.iter().find(|probe| probe.name == name);
        probe.map_or_else(|| name.to_owned(), text::probe_title)
    };
    let now = record::probe_of(&measure.read).to_owned();
    let mut chosen = now.clone();
    let list = ComboBox::from_id_salt("probe")
        .selected_text(title(&now))
        .width(ui.available_width())
        .truncate()
        .show_ui(ui, |ui| {
            for name in edit::measurable(ctx.experiments.model) {
                ui.selectable_value(&mut chosen, name.to_owned(), title(name));
            }
        });
    list.response.accessible_name("Probe").on_hover_text("Quantity that is measured");
    if chosen != now {
        measure.read = match record::element_query(&measure.read) {
            Some(query) => record::with_query(&chosen, &query),
            None => chosen,
        };
    }
}

fn elements_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, measure: &mut Measure) {
    let before = record::element_query(&measure.read).unwrap_or_default();
    let (mut query, about) =
        (before.clone(), "Group or query of the measured elements; empty for all. For a curve with names, its name");
    let mut menu = |ui: &mut Ui| menus::query_ui(ui, ctx);
    text_ui(ui, ("Elements", "Measured elements"), &mut query, ("all", about), Some(&mut menu));
    if query != before {
        // A name is written as a query, because brackets may also hold the name of a curve.
        let is_group = ctx.features.named.iter().any(|named| named.name == query);
        let query = if is_group { format!("in {}", crate::query::quote(&query)) } else { query };
        let probe = record::probe_of(&measure.read).to_owned();
        measure.read = if query.is_empty() { probe } else { record::with_query(&probe, &query) };
    }
}

fn span_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, measure: &mut Measure) {
    let base = ctx.experiments.model.time_base();
    let suffix = if base.is_count() { "" } else { " ms" };
    let drag = |value, suffix| DragValue::new(value).range(0.0..=1e12).speed(1.0).suffix(suffix);
    let suffix_of_end = if measure.to > 0.0 { suffix } else { "" };
    ui.add(drag(&mut measure.from, suffix)).on_hover_text("Start of the span").accessible_name("Start of the span");
    ui.label("to");
    let end = drag(&mut measure.to, suffix_of_end)
        .custom_formatter(|to, _| if to > 0.0 { to.to_string() } else { "end".to_owned() });
    ui.add(end).on_hover_text("End of the span; 0 for the end of the trial").accessible_name("End of the span");
    if matches!(measure.reduce, Reduction::Last | Reduction::Lowest | Reduction::Highest) {
        ui.label("bin");
        let about = "Width of the time bins in which events are counted; 0 for the whole span";
        ui.add(drag(&mut measure.bin, suffix)).on_hover_text(about).accessible_name("Width of time bins");
    }
}
