//! Dialog of a sweep: its parameters, values and seeds.

use super::sweep_axis::{AxisForm, ParameterList, named};
use crate::app::{
    document::sweep::{
        estimate::Estimate,
        parameter::SweptParameter,
        values::{SweptValues, seeds},
    },
    kit::{text, theme::Tokens, widgets},
};
use egui::{Align, Layout, RichText, TextEdit, Ui};

/// Entries of the dialog.
pub struct SweepForm {
    /// Name of the sweep; empty for the names of its parameters.
    name: String,
    axes: Vec<AxisForm>,
    /// Parameters that can be the second one.
    seconds: ParameterList,
    seeds: String,
    /// Length of a run as text; `None` if the run has no end.
    each: Option<String>,
    /// Estimated duration of a run; `None` if unknown.
    estimate: Option<Estimate>,
}

/// Answer of the dialog.
pub enum SweepAnswer {
    /// Starts a sweep over these values.
    Start(SweptValues),
    Cancel,
}

impl SweepForm {
    /// Creates the form for the ways to sweep a parameter; `None` if there is none. `others` are the parameters that can be
    /// swept together with it.
    pub fn new(ways: Vec<SweptParameter>, others: Vec<SweptParameter>, seed: u64) -> Option<Self> {
        let (axes, seconds) = (vec![AxisForm::new(ways)?], ParameterList::of(others));
        Some(Self { name: String::new(), axes, seconds, seeds: seed.to_string(), each: None, estimate: None })
    }

    /// Sets the length of a run and the estimate of its duration.
    pub fn with_length(self, each: Option<String>, estimate: Option<Estimate>) -> Self {
        Self { each, estimate, ..self }
    }

    /// Draws the dialog below its title. Returns the answer; `None` until a button or Enter is pressed.
    pub fn ui(&mut self, ui: &mut Ui) -> Option<SweepAnswer> {
        let t = Tokens::of(ui.ctx());
        let entered = self.axes_ui(ui);
        ui.add_space(6.0);
        let entered = self.seeds_ui(ui) || entered;
        ui.add_space(6.0);
        self.name_ui(ui);
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
        let duration = values.as_ref().map_or_else(|_| String::new(), |v| Estimate::text(&self.estimate, v.n_runs()));
        ui.label(widgets::sub(ui, duration).small());
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

    /// Draws the parameters. Returns whether Enter was pressed in a field.
    fn axes_ui(&mut self, ui: &mut Ui) -> bool {
        let has_two = self.axes.len() > 1;
        let (mut entered, mut removed) = (false, false);
        for (i, axis) in self.axes.iter_mut().enumerate() {
            let edit = ui.push_id(i, |ui| axis.ui(ui, i > 0)).inner;
            (entered, removed) = (entered || edit.is_entered, removed || edit.is_removed);
            if has_two {
                axis.preview_ui(ui);
                ui.add_space(6.0);
            }
        }
        if self.axes.iter().any(AxisForm::has_numbers) {
            ui.label(widgets::sub(ui, "Separated by commas; 1..10/4 gives four values from 1 to 10").small());
        }
        if removed {
            self.axes.truncate(1);
        } else if !has_two {
            ui.add_space(6.0);
            let chosen = self.seconds.ui(ui, self.axes[0].parameter());
            self.axes.extend(chosen.and_then(|way| AxisForm::new(vec![way])));
        }
        entered
    }

    /// Draws the field of the seeds. Returns whether Enter was pressed in the field.
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

    /// Draws the field of the sweep's name.
    fn name_ui(&mut self, ui: &mut Ui) {
        let labels: Vec<&str> = self.axes.iter().map(|axis| &*axis.parameter().label).collect();
        let field = ui
            .horizontal(|ui| {
                ui.label("Name");
                let field = TextEdit::singleline(&mut self.name).desired_width(f32::INFINITY);
                ui.add(field.hint_text(labels.join(" × ")))
            })
            .inner
            .accessible_name("Name of the sweep");
        field.on_hover_text("Name in the list of sweeps; without one, the names of the parameters");
    }

    /// Returns the entered values. Fails with the first error in a field.
    fn swept(&self) -> Result<SweptValues, String> {
        let axes = self.axes.iter().map(AxisForm::swept).collect::<Result<_, _>>()?;
        let mut swept = SweptValues::new(axes, seeds(&self.seeds)?)?;
        if !self.name.trim().is_empty() {
            self.name.trim().clone_into(&mut swept.name);
        }
        Ok(swept)
    }

    /// Describes the sweep: `4 runs of 1 s, one after another: 10 ms, 20 ms, 30 ms, 40 ms`.
    fn preview(&self, swept: &SweptValues) -> String {
        let each = self.each.as_deref().unwrap_or_default();
        let what = match (&swept.axes[..], swept.seeds.len()) {
            ([axis], 1) => named(axis),
            ([axis], n) => format!("{}, each with {n} seeds", named(axis)),
            _ => swept.product(),
        };
        format!("{} of {each}, one after another: {what}", text::plural(swept.n_runs(), "run", "runs"))
    }
}
