//! Parameter in the dialog *Vary*: its values, and the scale of a range.

use crate::{
    app::{
        document::{
            experiment::{MAX_TRIALS, VariedAxis},
            varied::{VariedOption, VariedParameter},
        },
        kit::{icons, text, theme::Tokens, widgets},
    },
    experiment::values::values,
    params::{Scale, ValueType},
};
use egui::{Align, ComboBox, Layout, PopupCloseBehavior, RichText, TextEdit, Ui};

/// Form for the values of one parameter.
pub(super) struct AxisForm {
    /// Ways to vary the parameter: its value, and the arguments of its distribution.
    ways: Vec<VariedParameter>,
    /// Index of the chosen way.
    way: usize,
    text: String,
    scale: Scale,
    /// Values of a switch or choice, with whether each is chosen; empty for numbers.
    options: Vec<(VariedOption, bool)>,
    /// Whether the field has not been drawn yet.
    is_new: bool,
}

/// Result of drawing the form of one parameter.
#[derive(Default)]
pub(super) struct AxisEdit {
    /// Whether Enter was pressed in the field.
    pub is_entered: bool,
    /// Whether the parameter was removed.
    pub is_removed: bool,
}

impl AxisForm {
    /// Creates a form with the present value and the declared scale of a parameter. Of a distribution, the first argument is
    /// varied, such as the mean. `None` without a way to vary the parameter.
    pub fn new(ways: Vec<VariedParameter>) -> Option<Self> {
        let way = ways.iter().position(|way| way.is_argument).unwrap_or(0);
        let parameter = ways.get(way)?;
        let (scale, is_switch) = (parameter.spec.scale, parameter.spec.kind == ValueType::Bool);
        let is_chosen = |option: &VariedOption| is_switch || option.text == parameter.now;
        let options = parameter.options().into_iter().map(|option| (option.clone(), is_chosen(&option))).collect();
        Some(Self { text: format!("{}, ", parameter.now), scale, way, options, is_new: true, ways })
    }

    /// Returns the varied parameter or argument.
    pub fn parameter(&self) -> &VariedParameter {
        &self.ways[self.way]
    }

    /// Whether values are typed rather than chosen.
    pub fn has_numbers(&self) -> bool {
        self.options.is_empty()
    }

    /// Returns the entered values. Fails if a value is not accepted, or there is none.
    pub fn varied(&self) -> Result<VariedAxis, String> {
        let parameter = self.parameter().clone();
        if !self.options.is_empty() {
            let chosen: Vec<&VariedOption> =
                self.options.iter().filter(|(_, is)| *is).map(|(option, _)| option).collect();
            if chosen.is_empty() {
                return Err(format!("{}: choose at least two values", parameter.title));
            }
            let labels = chosen.iter().map(|option| option.label.clone()).collect();
            let texts: Vec<&str> = chosen.iter().map(|option| option.text.as_str()).collect();
            return Ok(VariedAxis { text: texts.join(", "), labels, parameter });
        }
        let labels = values(&parameter.spec, &self.text, self.scale, MAX_TRIALS)?;
        // Ranges in an experiment are spaced by the declared scale.
        let text = match self.scale == parameter.spec.scale {
            true => self.text.trim_matches([' ', ',', ';']).to_owned(),
            false => labels.join(", "),
        };
        Ok(VariedAxis { text, labels, parameter })
    }

    /// Draws the form. With `is_second`, the parameter can be removed.
    pub fn ui(&mut self, ui: &mut Ui, is_second: bool) -> AxisEdit {
        let mut edit = AxisEdit::default();
        ui.horizontal(|ui| {
            match self.ways.len() {
                1 => drop(ui.label(RichText::new(&self.ways[0].title).strong())),
                _ => self.way_ui(ui),
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if is_second {
                    edit.is_removed = widgets::icon_button(ui, icons::CLOSE, "Remove the second parameter").clicked();
                }
                self.scale_ui(ui);
            });
        });
        let name = if is_second { "Values of the second parameter" } else { "Values of the parameter" };
        if !self.options.is_empty() {
            self.options_ui(ui, name);
            return edit;
        }
        let field = TextEdit::singleline(&mut self.text).desired_width(f32::INFINITY).hint_text("1, 2, 5 or 1..10/4");
        let field = ui.add(field).accessible_name(name);
        edit.is_entered = field.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
        if std::mem::take(&mut self.is_new) || ui.memory(|m| m.focused().is_none()) {
            field.request_focus();
        }
        edit
    }

    /// Draws the choice between the value of a parameter and the arguments of its distribution.
    fn way_ui(&mut self, ui: &mut Ui) {
        let before = self.way;
        let list = ComboBox::from_id_salt("varied argument").width(260.0).selected_text(&self.parameter().title);
        let shown = list.show_ui(ui, |ui| {
            widgets::raise_list(ui);
            for (i, way) in self.ways.iter().enumerate() {
                ui.selectable_value(&mut self.way, i, &way.title);
            }
        });
        let hint = "Varies the whole value, or one argument of its distribution";
        shown.response.accessible_name("Varied argument").on_hover_text(hint);
        if self.way != before {
            let parameter = self.parameter();
            (self.text, self.scale) = (format!("{}, ", parameter.now), parameter.spec.scale);
        }
    }

    /// Draws a switch per value of a choice.
    fn options_ui(&mut self, ui: &mut Ui, name: &str) {
        let row = ui.horizontal_wrapped(|ui| {
            for (option, is_chosen) in &mut self.options {
                let hint = if option.docs.is_empty() { "Runs the project with this value" } else { option.docs };
                ui.checkbox(is_chosen, &option.label).on_hover_text(text::unwrap(hint));
            }
        });
        row.response.accessible_name(name);
    }

    /// Draws the choice of the scale that divides a range; only numbers have ranges.
    fn scale_ui(&mut self, ui: &mut Ui) {
        if !matches!(self.parameter().spec.kind, ValueType::Real | ValueType::Int | ValueType::Distribution) {
            return;
        }
        for (scale, name, hint) in [
            (Scale::Log, "log", "The values of a range have equal ratios"),
            (Scale::Linear, "linear", "The values of a range have equal distances"),
        ] {
            ui.selectable_value(&mut self.scale, scale, name).on_hover_text(hint);
        }
    }

    /// Draws the preview `4 values: 10 ms, 20 ms, …`, or the reason why there are no values.
    pub fn preview_ui(&self, ui: &mut Ui) {
        let t = Tokens::of(ui.ctx());
        let (line, color) = match self.varied() {
            Ok(axis) => {
                let n = text::plural(axis.labels.len(), "value", "values");
                (format!("{n}: {}", axis.named()), t.text_sub)
            }
            Err(why) => (why, t.warn),
        };
        ui.label(RichText::new(line).small().color(color));
    }
}

/// List of the parameters that can be varied together with the first one.
#[derive(Default)]
pub(super) struct ParameterList {
    candidates: Vec<VariedParameter>,
    filter: String,
    is_open: bool,
}

impl ParameterList {
    /// Creates a list of the given parameters.
    pub fn of(candidates: Vec<VariedParameter>) -> Self {
        Self { candidates, ..Self::default() }
    }

    /// Draws the list without the parameter `taken`. Returns the clicked parameter; `None` without a click.
    pub fn ui(&mut self, ui: &mut Ui, taken: &VariedParameter) -> Option<VariedParameter> {
        let list = ComboBox::from_id_salt("second parameter").width(ui.available_width()).height(260.0);
        let list = list.close_behavior(PopupCloseBehavior::CloseOnClickOutside).selected_text("Second parameter…");
        let is_new = !self.is_open;
        let shown = list.show_ui(ui, |ui| {
            widgets::raise_list(ui);
            let field = TextEdit::singleline(&mut self.filter).desired_width(f32::INFINITY);
            let field = ui
                .add(field.hint_text("Filter parameters").margin(widgets::FIELD_MARGIN))
                .accessible_name("Filter parameters to vary");
            if is_new {
                field.request_focus();
            }
            let words = self.filter.to_lowercase();
            let fits = |of: &VariedParameter| {
                let text = format!("{} {}", of.title, of.path).to_lowercase();
                words.split_whitespace().all(|word| text.contains(word))
            };
            let listed = self.candidates.iter().filter(|c| !c.overlaps(taken) && fits(c));
            let clicked = listed.filter(|c| ui.selectable_label(false, &c.title).clicked()).last();
            if clicked.is_some() {
                ui.close();
            }
            clicked.cloned()
        });
        self.is_open = shown.inner.is_some();
        let combo = shown.response.accessible_name("Second parameter");
        combo.on_hover_text("Every value of one is run with every value of the other; the plot is a heat map");
        shown.inner.flatten()
    }
}
