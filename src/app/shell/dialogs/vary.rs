//! Dialog that varies one or two parameters: values, seeds and name of the experiment that it starts.

use super::{
    answers::Answer,
    title_ui,
    vary_axis::{AxisForm, ParameterList},
};
use crate::{
    app::{
        document::{
            experiment::{Estimate, Variation, Varied, VariedAxis},
            varied::VariedParameter,
        },
        kit::{theme::Tokens, widgets},
    },
    project::Project,
};
use egui::{Align, Layout, RichText, TextEdit, Ui};
use std::path::PathBuf;

/// Document and runs that the dialog reads.
pub struct VaryContext {
    /// Document whose experiment is replaced or extended.
    pub project: Project,
    /// Base folder of relative paths in the document.
    pub base: PathBuf,
    /// Length of a trial as text; `None` if the run has no end.
    pub each: Option<String>,
    /// Estimated duration of a trial; `None` if unknown.
    pub estimate: Option<Estimate>,
}

/// Entries of the dialog.
pub struct VaryForm {
    context: VaryContext,
    /// Name of the experiment; empty for the names of its parameters.
    name: String,
    axes: Vec<AxisForm>,
    /// Parameters that can be the second one.
    seconds: ParameterList,
    seeds: String,
    /// Entries for which `varied` was computed.
    entries: Vec<String>,
    varied: Result<Varied, String>,
}

impl VaryForm {
    /// Creates the form for the ways to vary a parameter; `None` if there is none. `others` are the parameters that can be
    /// varied together with it.
    pub fn new(context: VaryContext, ways: Vec<VariedParameter>, others: Vec<VariedParameter>) -> Option<Self> {
        let (axes, seconds) = (vec![AxisForm::new(ways)?], ParameterList::of(others));
        let (name, seeds, entries) = (String::new(), context.project.seed.to_string(), vec![]);
        Some(Self { context, name, axes, seconds, seeds, entries, varied: Err(String::new()) })
    }

    /// Draws the dialog. Returns the answer; `None` until a button or Enter is pressed.
    pub fn ui(&mut self, ui: &mut Ui) -> Option<Answer> {
        title_ui(ui, "Vary");
        let entered = self.axes_ui(ui);
        ui.add_space(6.0);
        let entered = self.seeds_ui(ui) || entered;
        ui.add_space(6.0);
        self.name_ui(ui);
        ui.add_space(6.0);
        self.update();
        self.preview_ui(ui);
        ui.add_space(10.0);
        self.buttons_ui(ui, entered)
    }

    /// Computes the experiment of the entries if they have changed.
    fn update(&mut self) {
        let axes = self.axes.iter().map(AxisForm::varied).collect::<Result<Vec<_>, _>>();
        let text = |axis: &VariedAxis| [axis.parameter.path.clone(), axis.text.clone()];
        let mut entries: Vec<String> = axes.iter().flatten().flat_map(text).collect();
        entries.extend(axes.as_ref().err().cloned());
        entries.extend([self.seeds.clone(), self.name.clone()]);
        if entries == self.entries {
            return;
        }
        self.entries = entries;
        self.varied = axes.and_then(|axes| {
            let VaryContext { project, base, each, .. } = &self.context;
            each.as_ref().ok_or("A trial needs an end: set Run settings › Duration")?;
            Variation { name: self.name.clone(), axes, seeds: self.seeds.clone() }.varied(project, base)
        });
    }

    /// Draws the number and the values of the trials, or the first error in a field.
    fn preview_ui(&self, ui: &mut Ui) {
        let (t, VaryContext { project, each, estimate, .. }) = (Tokens::of(ui.ctx()), &self.context);
        let (line, color) = match &self.varied {
            Ok(Varied { n_trials, what, .. }) => {
                let each = each.as_deref().unwrap_or_default();
                (format!("{n_trials} trials of {each}: {what}"), t.text)
            }
            Err(why) => (project.titled(why), t.warn),
        };
        ui.label(RichText::new(line).small().color(color));
        let Ok(Varied { n_trials, .. }) = &self.varied else { return };
        ui.label(widgets::sub(ui, Estimate::text(estimate.as_ref(), *n_trials)).small());
        if project.experiment.as_ref().is_some_and(|experiment| !experiment.conditions.is_empty()) {
            let text = "The experiment has conditions: Run replaces them (undo restores them), Add keeps them";
            ui.label(widgets::sub(ui, text).small());
        }
    }

    fn buttons_ui(&self, ui: &mut Ui, entered: bool) -> Option<Answer> {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let varied = self.varied.as_ref();
            let verb = varied.map_or_else(|_| "Run".to_owned(), |varied| format!("Run {}", varied.n_trials));
            let run = ui.add_enabled_ui(varied.is_ok(), |ui| widgets::primary(ui, verb)).inner;
            let run = run.on_hover_text("Runs and records the trials next to the window’s simulation").clicked();
            let add = ui.add_enabled(varied.is_ok(), egui::Button::new("Add to the experiment"));
            let add = add.on_hover_text("Adds the conditions to those of the experiment, without a start").clicked();
            match varied {
                Ok(varied) if run || entered => Some(Answer::RunVaried(varied.experiment.clone())),
                Ok(varied) if add => Some(Answer::AddVaried(varied.experiment.clone())),
                _ => ui.button("Cancel").clicked().then_some(Answer::Cancel),
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
        let hint = "Every value is run with each of these seeds of the random draws; a generated network keeps the seed of the project";
        let field = field.on_hover_text(hint);
        ui.label(widgets::sub(ui, "1, 2, 3 or 1..3: each value runs with each seed").small());
        field.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter))
    }

    /// Draws the field of the experiment's name.
    fn name_ui(&mut self, ui: &mut Ui) {
        let labels: Vec<&str> = self.axes.iter().map(|axis| &*axis.parameter().label).collect();
        let field = ui
            .horizontal(|ui| {
                ui.label("Name");
                let field = TextEdit::singleline(&mut self.name).desired_width(f32::INFINITY);
                ui.add(field.hint_text(labels.join(" × ")))
            })
            .inner
            .accessible_name("Name of the new experiment");
        field.on_hover_text("Name in the list of experiments; without one, the names of the parameters");
    }
}
