//! The dialog of a sweep.

use super::values::{SweptValues, seeds, values};
use crate::{
    app::{theme::Tokens, widgets},
    params::{ParamId, ParamSpec, Params, Scale, ValueType, path},
};
use egui::{Align, Layout, RichText, TextEdit, Ui};

/// Values named in the preview.
const NAMED: usize = 8;

/// What was typed.
pub struct SweepForm {
    /// Path of the parameter.
    pub path: String,
    spec: &'static ParamSpec,
    text: String,
    seeds: String,
    /// The length of a run; none: it has no end.
    each: Option<String>,
}

/// The answer of the dialog.
pub enum SweepAnswer {
    /// Run these values.
    Start(SweptValues),
    /// Close it.
    Cancel,
}

/// Whether a parameter can be swept.
pub fn can_sweep(spec: &ParamSpec) -> bool {
    matches!(spec.kind, ValueType::Real | ValueType::Int | ValueType::Bool | ValueType::Choice(_))
}

impl SweepForm {
    /// For a parameter, with its present value; `None` where there is none.
    pub fn new(params: &dyn Params, id: ParamId, seed: u64, each: Option<String>) -> Option<Self> {
        let spec = params.spec(id)?;
        let text = format!("{}, ", path::show(spec, &params.get(id)));
        Some(Self { path: params.path(id), spec, text, seeds: seed.to_string(), each })
    }

    /// Draws the dialog below its title.
    pub fn ui(&mut self, ui: &mut Ui) -> Option<SweepAnswer> {
        let t = Tokens::of(ui.ctx());
        ui.label(RichText::new(&self.path).monospace().color(t.text_sub));
        ui.add_space(6.0);
        let field = TextEdit::singleline(&mut self.text).desired_width(f32::INFINITY).hint_text("1, 2, 5 or 1..10/4");
        let field = ui.add(field).accessible_name("Values");
        let entered = field.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
        if ui.memory(|m| m.focused().is_none()) {
            field.request_focus();
        }
        let apart = if self.spec.scale == Scale::Log { "ratios" } else { "distances" };
        let hint = format!("Separated by commas; 1..10/4 gives four values from 1 to 10 at equal {apart}");
        ui.label(widgets::sub(ui, hint).small());
        ui.add_space(6.0);
        let entered = self.seeds_ui(ui) || entered;
        ui.add_space(6.0);
        let values = match &self.each {
            None => Err("A run needs an end: set Run settings › Duration".to_owned()),
            Some(_) => self.swept(),
        };
        let (line, color) = match &values {
            Ok(values) => (self.preview(values), t.text),
            Err(why) => (why.clone(), t.warn),
        };
        ui.label(RichText::new(line).small().color(color));
        ui.add_space(10.0);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let n = values.as_ref().map_or(0, SweptValues::n_runs);
            let verb = if n == 0 { "Run".to_owned() } else { format!("Run {n}") };
            let go = ui.add_enabled_ui(n > 0, |ui| widgets::primary(ui, verb).clicked()).inner;
            match values {
                Ok(values) if go || entered => Some(SweepAnswer::Start(values)),
                _ => ui.button("Cancel").clicked().then_some(SweepAnswer::Cancel),
            }
        })
        .inner
    }

    /// The field of the seeds; whether it was left with Enter.
    fn seeds_ui(&mut self, ui: &mut Ui) -> bool {
        let field = ui
            .horizontal(|ui| {
                ui.label("Seeds");
                ui.add(TextEdit::singleline(&mut self.seeds).desired_width(120.0).hint_text("1..5"))
            })
            .inner
            .accessible_name("Seeds");
        let field =
            field.on_hover_text("Every value is run with each of these seeds; the plot shows their mean and spread");
        ui.label(widgets::sub(ui, "1, 2, 3 or 1..3: each value runs with each seed").small());
        field.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter))
    }

    /// What was typed.
    fn swept(&self) -> Result<SweptValues, String> {
        SweptValues::new(values(self.spec, &self.text)?, seeds(&self.seeds)?)
    }

    /// `4 runs of 1 s, one after another: 10 ms, 20 ms, 30 ms, 40 ms`.
    fn preview(&self, swept: &SweptValues) -> String {
        let (values, n) = (&swept.values, swept.seeds.len());
        let more = if values.len() > NAMED { ", …" } else { "" };
        let named = values[..values.len().min(NAMED)].join(", ");
        let seeds = if n > 1 { format!(", each with {n} seeds") } else { String::new() };
        let each = self.each.as_deref().unwrap_or_default();
        format!("{} runs of {each}, one after another: {named}{more}{seeds}", swept.n_runs())
    }
}
