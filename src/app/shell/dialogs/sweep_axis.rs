//! Parameter in the dialog of a sweep: its values, and the scale of a range.

use crate::{
    app::{
        document::sweep::values::{SweptAxis, values},
        kit::{icons, theme::Tokens, widgets},
    },
    params::{ParamId, ParamSpec, Params, Scale, ValueType, path, titles},
};
use egui::{Align, ComboBox, Layout, PopupCloseBehavior, RichText, TextEdit, Ui};

/// Maximum number of values named below a field.
const NAMED: usize = 8;

/// Whether a parameter can be swept.
pub fn can_sweep(spec: &ParamSpec) -> bool {
    matches!(spec.kind, ValueType::Real | ValueType::Int | ValueType::Bool | ValueType::Choice(_))
}

/// Parameter that can be swept, with its present value.
#[derive(Clone)]
pub(super) struct Candidate {
    pub path: String,
    title: String,
    pub spec: &'static ParamSpec,
    now: String,
}

impl Candidate {
    /// Creates a candidate; `None` if there is no such parameter.
    pub fn of(params: &dyn Params, id: ParamId) -> Option<Self> {
        let spec = params.spec(id)?;
        let (path, title) = (params.path(id), titles::title(params, id));
        Some(Self { path, title, spec, now: path::show(spec, &params.get(id)) })
    }

    /// Whether all words occur in the title or the path.
    fn matches(&self, words: &str) -> bool {
        let text = format!("{} {}", self.title, self.path).to_lowercase();
        words.split_whitespace().all(|word| text.contains(word))
    }
}

/// Form for the values of one parameter.
pub(super) struct AxisForm {
    pub parameter: Candidate,
    text: String,
    scale: Scale,
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
    /// Creates a form with the present value and the declared scale of a parameter.
    pub fn new(parameter: Candidate) -> Self {
        Self { text: format!("{}, ", parameter.now), scale: parameter.spec.scale, is_new: true, parameter }
    }

    pub fn swept(&self) -> Result<SweptAxis, String> {
        let values = values(self.parameter.spec, &self.text, self.scale)?;
        Ok(SweptAxis { path: self.parameter.path.clone(), title: self.parameter.title.clone(), values })
    }

    /// Draws the form. With `is_second`, the parameter can be removed.
    pub fn ui(&mut self, ui: &mut Ui, is_second: bool) -> AxisEdit {
        let mut edit = AxisEdit::default();
        ui.horizontal(|ui| {
            let t = Tokens::of(ui.ctx());
            ui.label(RichText::new(&self.parameter.title).color(t.text_sub));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if is_second {
                    edit.is_removed = widgets::icon_button(ui, icons::CLOSE, "Remove the second parameter").clicked();
                }
                self.scale_ui(ui);
            });
        });
        let field = TextEdit::singleline(&mut self.text).desired_width(f32::INFINITY).hint_text("1, 2, 5 or 1..10/4");
        let field = ui.add(field).accessible_name(if is_second { "Values of the second parameter" } else { "Values" });
        edit.is_entered = field.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
        if std::mem::take(&mut self.is_new) || ui.memory(|m| m.focused().is_none()) {
            field.request_focus();
        }
        edit
    }

    /// Draws the choice of the scale that divides a range; only numbers have ranges.
    fn scale_ui(&mut self, ui: &mut Ui) {
        if !matches!(self.parameter.spec.kind, ValueType::Real | ValueType::Int) {
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
        let (line, color) = match self.swept() {
            Ok(axis) => (format!("{}: {}", count(&axis), named(&axis)), t.text_sub),
            Err(why) => (why, t.warn),
        };
        ui.label(RichText::new(line).small().color(color));
    }
}

fn count(axis: &SweptAxis) -> String {
    crate::app::kit::text::plural(axis.values.len(), "value", "values")
}

/// Formats the first values of an axis as a list.
pub(super) fn named(axis: &SweptAxis) -> String {
    let more = if axis.values.len() > NAMED { ", …" } else { "" };
    axis.values[..axis.values.len().min(NAMED)].join(", ") + more
}

/// List of the parameters that can be swept together with the first one.
#[derive(Default)]
pub(super) struct ParameterList {
    candidates: Vec<Candidate>,
    filter: String,
    is_open: bool,
}

impl ParameterList {
    /// Creates a list of the given parameters.
    pub fn of(candidates: Vec<Candidate>) -> Self {
        Self { candidates, ..Self::default() }
    }

    /// Draws the list without the parameter `taken`. Returns the clicked parameter; `None` without a click.
    pub fn ui(&mut self, ui: &mut Ui, taken: &str) -> Option<Candidate> {
        let list = ComboBox::from_id_salt("second parameter").width(ui.available_width()).height(260.0);
        let list = list.close_behavior(PopupCloseBehavior::CloseOnClickOutside).selected_text("Second parameter…");
        let is_new = !self.is_open;
        let shown = list.show_ui(ui, |ui| {
            widgets::raise_list(ui);
            let field = TextEdit::singleline(&mut self.filter).desired_width(f32::INFINITY);
            let field = ui.add(field.hint_text("Filter parameters")).accessible_name("Filter parameters to sweep");
            if is_new {
                field.request_focus();
            }
            let words = self.filter.to_lowercase();
            let listed = self.candidates.iter().filter(|c| c.path != taken && c.matches(&words));
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
