//! Number field, whose value is dragged sideways or typed as an expression with any unit of its dimension. Errors appear below
//! the field during typing.

use crate::{
    app::kit::{
        text,
        theme::{RADIUS, Tokens},
    },
    params::{ParamSpec, Scale, Value, ValueType, path},
};
use egui::{
    Align2, CursorIcon, FontId, Id, Key, Modifiers, PopupAnchor, Rect, Response, RichText, Sense, Stroke, StrokeKind,
    TextEdit, Tooltip, Ui, Vec2, WidgetInfo, text::CCursor, text::CCursorRange, text_edit::TextEditState, vec2,
};

const HEIGHT: f32 = 20.0;
/// Length of a drag over the whole slider range, points.
const DRAG_POINTS: f64 = 400.0;

/// Number field of a declared parameter.
pub struct NumberField<'a> {
    /// Declaration of the parameter: ranges, unit and steps.
    pub spec: &'a ParamSpec,
    /// Name for screen readers.
    pub name: &'a str,
    /// Width of the field, points.
    pub width: f32,
    /// Whether the unit is shown after the value.
    pub with_unit: bool,
}

impl NumberField<'_> {
    /// Draws the field. Returns its response, and the new value after an edit, always within the accepted range.
    pub fn show(&self, ui: &mut Ui, now: &Value) -> (Response, Option<Value>) {
        let id = ui.make_persistent_id(("number", self.name));
        let size = vec2(self.width, HEIGHT);
        match ui.memory(|m| m.has_focus(id)) {
            true => self.typing_ui(ui, id, size, now),
            false => self.resting_ui(ui, id, size, now),
        }
    }

    fn shown(&self, now: &Value) -> String {
        let number = match now {
            _ if real(now) == 0.0 && !self.spec.zero.is_empty() => return self.spec.zero.to_owned(),
            Value::Int(i) => i.to_string(),
            Value::Real(x) => text::number(*x),
            _ => String::new(),
        };
        match self.spec.unit.suffix() {
            suffix if self.with_unit && !suffix.is_empty() => format!("{number} {suffix}"),
            _ => number,
        }
    }

    fn resting_ui(&self, ui: &mut Ui, id: Id, size: Vec2, now: &Value) -> (Response, Option<Value>) {
        let t = Tokens::of(ui.ctx());
        let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
        let response = ui.interact(rect, id, Sense::click_and_drag()).on_hover_cursor(CursorIcon::ResizeHorizontal);
        response.widget_info(|| WidgetInfo::drag_value(ui.is_enabled(), real(now)));
        let stroke = if response.hovered() { Tokens::fade(t.text_sub, 0.6) } else { t.line };
        ui.painter().rect(rect, RADIUS, t.raised, Stroke::new(1.0, stroke), StrokeKind::Inside);
        let ink = if ui.is_enabled() { t.text } else { t.text_sub };
        let at = rect.right_center() - vec2(5.0, 0.0);
        let clip = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
        clip.text(at, Align2::RIGHT_CENTER, self.shown(now), FontId::monospace(12.0), ink);
        if response.clicked() {
            ui.memory_mut(|m| m.request_focus(id));
        }
        let new = self.committed(ui, id, now).or_else(|| self.dragged(ui, &response, now));
        (response.accessible_name(self.name), new)
    }

    /// Returns the value that was typed before the focus was lost; `None` if the value is invalid or unchanged, or after
    /// Escape. Stores a typed formula for [`take_formula`].
    fn committed(&self, ui: &Ui, id: Id, now: &Value) -> Option<Value> {
        let draft = ui.data_mut(|d| d.remove_temp::<String>(id.with("draft")))?;
        if let Some(formula) = formula(&draft).filter(|_| !ui.input(|i| i.key_pressed(Key::Escape))) {
            ui.data_mut(|d| d.insert_temp(formula_id(self.name), formula.to_owned()));
            return None;
        }
        let given_up = ui.input(|i| i.key_pressed(Key::Escape)) || draft == plain(now);
        self.parse(&draft).ok().filter(|v| !given_up && v != now)
    }

    /// Returns the value after a drag; `None` without a drag or change. A drag stays within the slider range, extended to
    /// the present value if that is outside.
    fn dragged(&self, ui: &Ui, response: &Response, now: &Value) -> Option<Value> {
        let exact_id = response.id.with("exact");
        if !response.dragged() {
            return None;
        }
        let fine = if ui.input(|i| i.modifiers.shift) { 0.1 } else { 1.0 };
        let delta = f64::from(response.drag_delta().x) * fine;
        let (before, (low, high)) = (real(now), self.spec.soft);
        let exact = match response.drag_started() {
            true => before,
            false => ui.data(|d| d.get_temp::<f64>(exact_id)).unwrap_or(before),
        };
        let moved = match self.spec.scale {
            Scale::Log => exact * (high / low).powf(delta / DRAG_POINTS),
            Scale::Linear => exact + delta * (high - low) / DRAG_POINTS,
        };
        let moved = moved.clamp(low.min(before), high.max(before));
        ui.data_mut(|d| d.insert_temp(exact_id, moved));
        self.value(moved).filter(|v| v != now)
    }

    fn typing_ui(&self, ui: &mut Ui, id: Id, size: Vec2, now: &Value) -> (Response, Option<Value>) {
        let draft_id = id.with("draft");
        let known = ui.data(|d| d.get_temp::<String>(draft_id));
        let is_new = known.is_none();
        let mut draft = known.unwrap_or_else(|| plain(now));
        let stepped = self.stepped(ui, now);
        if let Some(value) = &stepped {
            draft = plain(value);
        }
        let problem = |draft: &str| self.parse(draft).err().filter(|_| formula(draft).is_none());
        let is_wrong = problem(&draft).is_some();
        let field = TextEdit::singleline(&mut draft).id(id).desired_width(size.x - 8.0).min_size(size);
        let t = Tokens::of(ui.ctx());
        let field =
            field.font(FontId::monospace(12.0)).align(egui::Align2::RIGHT_CENTER).margin(egui::Margin::symmetric(4, 2));
        let field = if is_wrong { field.text_color(t.error) } else { field };
        let response = ui.add_sized(size, field).accessible_name(self.name);
        if is_new || stepped.is_some() {
            select_all(ui, id, &draft);
        }
        let problem = problem(&draft);
        if let Some(why) = &problem {
            error_ui(ui, id, response.rect, why);
        }
        let entered = ui.input(|i| i.key_pressed(Key::Enter));
        if !response.lost_focus() {
            ui.data_mut(|d| d.insert_temp(draft_id, draft));
            return (response, stepped);
        }
        if entered && problem.is_some() {
            ui.data_mut(|d| d.insert_temp(draft_id, draft));
            ui.memory_mut(|m| m.request_focus(id));
            return (response, None);
        }
        ui.data_mut(|d| d.insert_temp(draft_id, draft));
        let new = self.committed(ui, id, now);
        (response, new)
    }

    /// Returns the value after an arrow key: one step, ten with Shift, a tenth with Ctrl. Returns `None` without a key or
    /// change.
    fn stepped(&self, ui: &Ui, now: &Value) -> Option<Value> {
        let keys = [(Key::ArrowUp, 1.0), (Key::ArrowDown, -1.0)];
        let sizes = [(Modifiers::SHIFT, 10.0), (Modifiers::COMMAND, 0.1), (Modifiers::NONE, 1.0)];
        let factor = ui.input_mut(|i| {
            let pressed = |(key, sign): (Key, f64), i: &mut egui::InputState| {
                sizes.iter().find(|(m, _)| i.consume_key(*m, key)).map(|(_, size)| sign * size)
            };
            keys.into_iter().find_map(|key| pressed(key, i))
        })?;
        let before = real(now);
        let step = self.spec.nudge(before) * factor;
        let step = if self.spec.kind == ValueType::Int { step.signum() * step.abs().round().max(1.0) } else { step };
        self.value((before + step).clamp(self.spec.hard.0, self.spec.hard.1)).filter(|v| v != now)
    }

    fn parse(&self, draft: &str) -> Result<Value, String> {
        let value = path::parse_value(self.spec, draft.trim())?;
        self.spec.refusal(&value).map_or(Ok(value), Err)
    }

    fn value(&self, x: f64) -> Option<Value> {
        let value = match self.spec.kind {
            ValueType::Int => Value::Int(x.round() as i64),
            _ => Value::Real(tidy(x, self.spec)),
        };
        self.spec.admits(&value).then_some(value)
    }
}

/// Returns the formula after a leading `=`, which links the parameter to others; `None` if there is no `=`.
fn formula(draft: &str) -> Option<&str> {
    draft.trim_start().strip_prefix('=').map(str::trim)
}

fn formula_id(field: &str) -> Id {
    Id::unique(("formula typed into", field))
}

/// Takes the formula that was just entered in the field of this name; `None` if there is none.
pub fn take_formula(ctx: &egui::Context, field: &str) -> Option<String> {
    ctx.data_mut(|d| d.remove_temp::<String>(formula_id(field)))
}

fn real(value: &Value) -> f64 {
    match value {
        Value::Int(i) => *i as f64,
        Value::Real(x) => *x,
        _ => 0.0,
    }
}

/// Formats a value with all digits for editing.
fn plain(value: &Value) -> String {
    match value {
        Value::Int(i) => i.to_string(),
        other => real(other).to_string(),
    }
}

fn select_all(ui: &Ui, id: Id, draft: &str) {
    let mut state = TextEditState::load(ui.ctx(), id).unwrap_or_default();
    let all = CCursorRange::two(CCursor::default(), CCursor::new(draft.chars().count()));
    state.cursor.set_char_range(Some(all));
    state.store(ui.ctx(), id);
}

/// Draws an error about the text of a field below it.
pub(super) fn error_ui(ui: &Ui, id: Id, below: Rect, why: &str) {
    let ctx = ui.ctx().clone();
    let error = Tokens::of(&ctx).error;
    let tip = Tooltip::always_open(ctx, ui.layer_id(), id.with("why"), PopupAnchor::ParentRect(below));
    tip.width(300.0).show(|ui| ui.label(RichText::new(why).color(error)));
}

/// Rounds to about twelve significant digits of the slider range, so that `0.1 + 0.2` is stored as `0.3`.
pub fn tidy(x: f64, spec: &ParamSpec) -> f64 {
    let span = (spec.soft.1 - spec.soft.0).abs().max(x.abs()).max(1e-12);
    let digits = 10_f64.powf(12.0 - span.log10().ceil());
    let rounded = (x * digits).round() / digits;
    if rounded.is_finite() { rounded } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str) -> ParamSpec {
        let model = crate::kinds::Model::all().remove(0);
        *path::find(model.params(), name).unwrap().1
    }

    #[test]
    fn values_are_rounded() {
        let tau = spec("lif.tau_m");
        assert_eq!(tidy(0.1 + 0.2, &tau), 0.3);
        assert_eq!(tidy(1e9, &tau), 1e9);
    }

    #[test]
    fn a_zero_that_is_no_quantity_has_a_word_that_can_be_typed() {
        let tree = crate::project::PlanTree::default();
        let duration = path::find(&tree, "run.duration_ms").unwrap().1;
        let field = NumberField { spec: duration, name: "", width: 60.0, with_unit: true };
        assert_eq!(field.shown(&Value::Real(0.0)), "Never");
        assert_eq!(field.parse("never"), Ok(Value::Real(0.0)));
        assert_eq!(field.shown(&Value::Real(20.0)), "20 ms");
        assert!(path::parse_value(&spec("lif.tau_m"), "never").is_err());
    }

    #[test]
    fn arrows_take_round_steps() {
        assert_eq!(spec("lif.v_threshold").nudge(-45.0), 0.2, "a hundredth of 40 mV, rounded down");
        assert_eq!(spec("lif.tau_m").nudge(20.0), 2.0, "a tenth of the value on a logarithmic slider");
        assert_eq!(spec("network.in_degree").nudge(5.0), 1.0, "counts never take less than one");
    }
}
