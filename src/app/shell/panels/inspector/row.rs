//! Parameter row, drawn from its declaration: label, slider, value, unit and state dot.

use super::{
    choice, distribution,
    label::{Badge, LONGEST_UNIT, excerpt_ui, label_height, label_ui, tooltip_ui},
    linked,
    number::{self, NumberField, tidy},
    parameter, query,
    rows::Rows,
    shape, value_text,
};
use crate::{
    app::kit::{
        focus, icons,
        level::Level,
        text,
        theme::{ROW, Tokens},
        widgets,
    },
    params::{Change, ChoiceSpec, Distribution, ParamId, ParamSpec, Role, Scale, Value, ValueType, path, titles},
    project::clipboard,
};
use egui::{
    Align, Event, Label, Layout, Rect, Response, RichText, Sense, Slider, SliderClamping, TextEdit, Ui, UiBuilder, vec2,
};

const LABEL: f32 = 0.48;
/// Space above and below a label of several lines together, points.
const LABEL_MARGIN: f32 = 6.0;
const VALUE: f32 = 58.0;
const UNIT: f32 = 28.0;
const DOT: f32 = 14.0;
const GAP: f32 = 6.0;
/// Indentation of the parameters of a chosen group, points.
const INDENT: f32 = 12.0;

/// Areas of the parts of a row.
#[derive(Clone, Copy)]
pub(super) struct Cells {
    label: Rect,
    pub slider: Rect,
    value: Rect,
    unit: Rect,
    dot: Rect,
}

impl Cells {
    fn of(row: Rect, is_part: bool) -> Self {
        let cut = |left: f32, right: f32| Rect::from_x_y_ranges(left..=right, row.y_range());
        let dot = cut(row.right() - DOT, row.right());
        let unit = cut(dot.left() - 2.0 - UNIT, dot.left() - 2.0);
        let value = cut(unit.left() - 4.0 - VALUE, unit.left() - 4.0);
        let left = row.left() + if is_part { INDENT } else { 0.0 };
        let label = cut(left, row.left() + row.width() * LABEL);
        let slider = cut(label.right() + GAP, value.left() - GAP);
        Self { label, slider, value, unit, dot }
    }

    /// Returns the area of slider, value and unit, for rows without a slider.
    fn wide(&self) -> Rect {
        self.slider.union(self.unit)
    }
}

fn cell<R>(ui: &mut Ui, rect: Rect, layout: Layout, add: impl FnOnce(&mut Ui) -> R) -> R {
    ui.scope_builder(UiBuilder::new().max_rect(rect).layout(layout), add).inner
}

fn left() -> Layout {
    Layout::left_to_right(Align::Center)
}

fn right() -> Layout {
    Layout::right_to_left(Align::Center)
}

/// Draws the row of a parameter.
pub fn ui(ui: &mut Ui, rows: &mut Rows<'_>, id: ParamId) {
    let Some(spec) = rows.params.spec(id) else { return };
    let name = rows.params.path(id);
    let width = ui.available_width();
    let label = Cells::of(Rect::from_min_size(ui.cursor().min, vec2(width, ROW)), spec.part.is_some()).label;
    let badge = Badge { apply: rows.apply(id), is_pending: rows.pending.contains(&id), cost: rows.cost };
    let height = label_height(ui, spec, badge, label.width()) + LABEL_MARGIN;
    let (rect, _) = ui.allocate_exact_size(vec2(width, height.max(ROW)), Sense::hover());
    if focus::is_out_of_reach(ui, rect) && is_one_line(rows, id, spec, &name) {
        return;
    }
    // The scope id is the path of the parameter, so that a drag continues when rows above are added or removed.
    let row = UiBuilder::new().max_rect(rect).scope_id(egui::Id::unique(("row", &name)));
    let is_read_only = rows.live.is_some_and(|live| live.playback.is_some());
    ui.scope_builder(row, |ui| {
        if is_read_only {
            ui.disable();
        }
        cells_ui(ui, rows, id, spec, &name, &Cells::of(rect, spec.part.is_some()));
    });
    if let Some(excerpt) = rows.search.excerpt(spec) {
        excerpt_ui(ui, &excerpt, &rows.search);
    }
    // An empty scope would take the space between two rows.
    if distribution::has_arguments(&rows.params.get(id)) {
        let arguments = UiBuilder::new().scope_id(egui::Id::unique(("arguments", &name)));
        ui.scope_builder(arguments, |ui| {
            if is_read_only {
                ui.disable();
            }
            distribution::arguments_ui(ui, rows, id, spec, &name);
        });
    }
    if is_read_only {
        return;
    }
    shape::ui(ui, rows, id, &name);
    if let Some(note) = rows.note(&name) {
        ui.add(Label::new(widgets::sub(ui, note).small()).wrap());
    }
    if let Some(why) = query::problem(ui.ctx(), &name).filter(|_| spec.kind == ValueType::Query) {
        let error = Tokens::of(ui.ctx()).error;
        ui.add(Label::new(RichText::new(why).small().color(error)).wrap());
    }
    for warning in rows.warnings.iter().filter(|warning| warning.path == name) {
        let color = Tokens::of(ui.ctx()).warn;
        let text = titles::in_text(rows.params, &warning.text);
        ui.add(Label::new(RichText::new(text).small().color(color)).wrap());
    }
    if ui.rect_contains_pointer(rect) && !ui.ctx().text_edit_focused() {
        hover_keys(ui, rows, id);
    }
}

/// Whether a row has nothing below its label and its value; nothing is drawn.
fn is_one_line(rows: &Rows<'_>, id: ParamId, spec: &ParamSpec, name: &str) -> bool {
    let has_warning = rows.warnings.iter().any(|warning| warning.path == name);
    let has_more = rows.search.excerpt(spec).is_some() || shape::is_below(rows, id, name) || rows.note(name).is_some();
    spec.kind != ValueType::Query && !has_warning && !has_more && !distribution::has_arguments(&rows.params.get(id))
}

/// Handles keys while the pointer is over a row: Backspace resets the value, Ctrl+C copies it with its unit, Ctrl+V pastes
/// a value.
fn hover_keys(ui: &Ui, rows: &mut Rows<'_>, id: ParamId) {
    if ui.input_mut(|i| i.consume_key(egui::Modifiers::NONE, egui::Key::Backspace)) {
        let value = rows.defaults.get(id);
        query::set_value(rows.params, &Change { id, value });
    }
    let mut pasted = None;
    let copied = ui.input_mut(|i| {
        let before = i.events.len();
        i.events.retain(|e| !matches!(e, Event::Copy));
        let copied = i.events.len() < before;
        i.events.retain(|e| match e {
            Event::Paste(text) => {
                pasted = Some(text.clone());
                false
            }
            _ => true,
        });
        copied
    });
    if copied {
        let text = clipboard::copy_one(rows.params, id);
        rows.messages.push((Level::Info, format!("Copied {text}")));
        ui.ctx().copy_text(text);
    }
    if let Some(text) = pasted {
        match clipboard::paste_one(rows.params, id, &text) {
            Ok(change) => query::set_value(rows.params, &change),
            Err(why) => {
                let title = titles::title(rows.params, id);
                rows.messages.push((Level::Warning, format!("{title}: {why}")));
            }
        }
    }
}

fn cells_ui(ui: &mut Ui, rows: &mut Rows<'_>, id: ParamId, spec: &'static ParamSpec, name: &str, cells: &Cells) {
    let (changed, old) = (rows.is_changed(id), rows.params.get(id));
    let badge = Badge { apply: rows.apply(id), is_pending: rows.pending.contains(&id), cost: rows.cost };
    let label = cell(ui, cells.label, left(), |ui| label_ui(ui, spec, badge, &rows.search));
    let label = label.on_hover_ui(|ui| tooltip_ui(ui, spec, name, &rows.defaults.get(id), badge));
    linked::menu_ui(&label, rows, id, spec);
    let is_linked = rows.link(id).is_some();
    let new = match (&old, spec.kind) {
        (Value::Real(_) | Value::Int(_) | Value::Distribution(_), _) if is_linked => {
            linked_ui(ui, rows, id, cells, spec, name);
            None
        }
        (Value::Variant(i, _), ValueType::OneOf(variants)) => {
            let choices: Vec<ChoiceSpec> = variants.iter().map(|v| v.choice).collect();
            let chosen = cell(ui, cells.wide(), left(), |ui| choice::ui(ui, name, *i, &choices));
            chosen.map(|chosen| choice::switch(rows, id, &old, chosen))
        }
        (Value::Text(now), _) if parameter::is_picked(spec.role) => {
            cell(ui, cells.wide(), left(), |ui| parameter::picker_ui(ui, rows, id, name, now))
        }
        (Value::Text(now), _) if spec.role == Role::ParameterValue => {
            set_value_ui(ui, parameter::target(rows.params, id), cells, name, now)
        }
        (Value::Text(text), ValueType::Path) => cell(ui, cells.wide(), right(), |ui| {
            let title = titles::title(rows.params, id);
            if widgets::icon_button(ui, icons::FOLDER, &format!("Choose {title}")).clicked() {
                rows.browse = Some(id);
            }
            text_ui(ui, name, text, "path")
        }),
        (Value::Text(text), ValueType::Query) if rows.queries.is_some() => {
            cell(ui, cells.wide(), right(), |ui| query::ui(ui, rows, name, text))
        }
        (Value::Text(text), _) => cell(ui, cells.wide(), left(), |ui| text_ui(ui, name, text, "")),
        _ => scalar_ui(ui, cells, spec, name, &old, changed),
    };
    if is_linked {
        unit_ui(ui, cells, spec);
    }
    if let Some(formula) = number::take_formula(ui.ctx(), &format!("{name} value")) {
        rows.follow(id, &formula);
    }
    let reset = match is_linked {
        true => linked::unlink_ui(ui, rows, id, cells.dot),
        false => cell(ui, cells.dot, left(), |ui| dot_ui(ui, rows, id, spec, name)),
    };
    if is_linked && reset {
        return rows.unlink(id);
    }
    let value = if reset && changed { Some(rows.defaults.get(id)) } else { new };
    if let Some(value) = value.filter(|v| *v != old && spec.admits(v)) {
        query::set_value(rows.params, &Change { id, value });
    }
}

/// Draws a value from its declaration alone. Returns the new value; `None` without an edit.
fn scalar_ui(ui: &mut Ui, cells: &Cells, spec: &ParamSpec, name: &str, old: &Value, changed: bool) -> Option<Value> {
    match (old, spec.kind) {
        (Value::Real(_) | Value::Int(_), _) => {
            unit_ui(ui, cells, spec);
            number_ui(ui, cells, spec, name, old, changed)
        }
        (Value::Distribution(now), _) => distribution_ui(ui, cells, spec, name, *now, changed),
        (Value::List(values), _) => {
            let (response, new) = cell(ui, cells.wide(), left(), |ui| value_text::ui(ui, name, spec, old));
            widgets::hover_text(response, || {
                let n = text::plural(values.len(), "number", "numbers");
                format!("{n}: {}", path::show(spec, old))
            });
            new
        }
        (Value::Bool(on), _) => cell(ui, cells.slider, left(), |ui| {
            let mut on = *on;
            widgets::switch(ui, &mut on, name).changed().then_some(Value::Bool(on))
        }),
        (Value::Choice(i), ValueType::Choice(choices)) => {
            cell(ui, cells.wide(), left(), |ui| choice::ui(ui, name, *i, choices)).map(Value::Choice)
        }
        _ => None,
    }
}

/// Draws the value of the parameter that an intervention sets: like the parameter if the text is a valid value, otherwise
/// as a text field. Returns the new value; `None` without an edit.
fn set_value_ui(
    ui: &mut Ui,
    target: Option<&'static ParamSpec>,
    cells: &Cells,
    name: &str,
    now: &str,
) -> Option<Value> {
    let value = target.and_then(|spec| Some((spec, path::parse_value(spec, now.trim()).ok()?)));
    let Some((spec, value)) = value else {
        return cell(ui, cells.wide(), left(), |ui| text_ui(ui, name, now, "value"));
    };
    let new = scalar_ui(ui, cells, spec, name, &value, true).filter(|new| *new != value && spec.admits(new))?;
    Some(Value::Text(path::show(spec, &new)))
}

/// Draws the state dot, which shows whether the value differs from the default and whether the simulation has applied the
/// value. Returns whether the dot was clicked.
fn dot_ui(ui: &mut Ui, rows: &Rows<'_>, id: ParamId, spec: &ParamSpec, name: &str) -> bool {
    let (changed, taken) = (rows.is_changed(id), rows.live.map(|live| &live.acks));
    let pending = taken.is_some_and(|taken| taken.is_pending(id));
    let rejection = rows.live.and_then(|live| live.rejection(id)).map(|rejection| rejection.why.clone());
    let dot = widgets::state_dot(ui, changed, pending, &format!("Reset {name}"));
    if rejection.is_some() {
        let stroke = egui::Stroke::new(1.5, Tokens::of(ui.ctx()).error);
        ui.painter().circle_stroke(dot.rect.center(), 5.5, stroke);
    }
    let dot = dot.on_hover_ui(|ui| {
        ui.label(match changed {
            true => format!("Changed. Click to reset to {}", titles::shown(spec, &rows.defaults.get(id))),
            false => "Default value".to_owned(),
        });
        if let Some(why) = rejection {
            ui.colored_label(Tokens::of(ui.ctx()).error, format!("Not applied: {why}"));
            return;
        }
        let what = match taken.and_then(|taken| taken.applied_at(id)) {
            _ if pending => "Sent to the simulation, not applied yet".to_owned(),
            Some(step) => format!("Applied before step {}", text::count(step + 1)),
            None => return,
        };
        ui.label(widgets::sub(ui, what).small());
    });
    dot.clicked()
}

/// Draws the row of a value that is not a declared parameter.
pub fn plain(ui: &mut Ui, label: &str, add: impl FnOnce(&mut Ui) -> Response) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::hover());
    let cells = Cells::of(rect, false);
    cell(ui, cells.label, left(), |ui| ui.label(label));
    cell(ui, cells.wide(), left(), add);
}

/// Draws the formula of a linked parameter and its value.
fn linked_ui(ui: &mut Ui, rows: &mut Rows<'_>, id: ParamId, cells: &Cells, spec: &ParamSpec, name: &str) {
    let (field, value) = (cells.slider.with_max_x(cells.value.left() - 2.0), cells.value);
    cell(ui, field, left(), |ui| linked::formula_ui(ui, rows, id, name));
    let text = match rows.params.get(id) {
        Value::Real(x) => text::number(x),
        Value::Int(i) => i.to_string(),
        Value::Distribution(law) => law.as_constant().map(text::number).unwrap_or_default(),
        _ => String::new(),
    };
    let label = cell(ui, value, right(), |ui| ui.label(RichText::new(text).monospace()));
    widgets::hover_text(label, || path::show(spec, &rows.params.get(id)));
}

/// Draws the unit after a value.
pub(super) fn unit_ui(ui: &mut Ui, cells: &Cells, spec: &ParamSpec) {
    let unit = spec.unit.suffix();
    if unit.chars().count() <= LONGEST_UNIT {
        cell(ui, cells.unit, left(), |ui| ui.label(widgets::sub(ui, unit).small()));
    }
}

/// Adds a widget at the position of the slider.
pub(super) fn in_slider<R>(ui: &mut Ui, cells: &Cells, add: impl FnOnce(&mut Ui) -> R) -> R {
    cell(ui, cells.slider, left(), add)
}

/// Adds a widget over the areas of slider, value and unit.
pub(super) fn in_wide<R>(ui: &mut Ui, cells: &Cells, add: impl FnOnce(&mut Ui) -> R) -> R {
    cell(ui, cells.wide(), left(), add)
}

/// Draws a row below a parameter for a part of its value.
pub(super) fn part(ui: &mut Ui, label: &str, add: impl FnOnce(&mut Ui, &Cells)) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::hover());
    let cells = Cells::of(rect, true);
    cell(ui, cells.label, left(), |ui| ui.add(Label::new(widgets::sub(ui, label)).truncate()));
    add(ui, &cells);
}

/// Draws a constant as a number with its slider, and any other distribution as its density and its text. Returns the new
/// value; `None` without an edit.
fn distribution_ui(
    ui: &mut Ui,
    cells: &Cells,
    spec: &ParamSpec,
    name: &str,
    now: Distribution,
    changed: bool,
) -> Option<Value> {
    const MENU: f32 = 24.0;
    let menu = cells.slider.with_max_x(cells.slider.left() + MENU);
    let chosen = cell(ui, menu, left(), |ui| distribution::menu_ui(ui, spec, now)).map(Value::Distribution);
    let beside = Cells { slider: cells.slider.with_min_x(menu.right()), ..*cells };
    let Some(value) = now.as_constant() else {
        distribution::preview_ui(ui, beside.slider, now);
        let (field, name) = (beside.value.union(beside.unit), format!("{name} value"));
        let text = cell(ui, field, left(), |ui| value_text::ui(ui, &name, spec, &Value::Distribution(now)));
        widgets::hover_text(text.0, || now.show(spec));
        return chosen.or(text.1);
    };
    let typed = number_ui(ui, &beside, spec, name, &Value::Real(value), changed);
    unit_ui(ui, cells, spec);
    chosen.or(typed)
}

pub(super) fn number_ui(
    ui: &mut Ui,
    cells: &Cells,
    spec: &ParamSpec,
    name: &str,
    old: &Value,
    changed: bool,
) -> Option<Value> {
    let whole = matches!(old, Value::Int(_));
    let now = match old {
        Value::Int(i) => *i as f64,
        Value::Real(x) => *x,
        _ => return None,
    };
    let mut slid = now;
    cell(ui, cells.slider, left(), |ui| slider_ui(ui, spec, name, &mut slid, whole, changed));
    let typed = cell(ui, cells.value, left(), |ui| {
        let name = format!("{name} value");
        let field = NumberField { spec, name: &name, width: VALUE, with_unit: false };
        let (response, typed) = field.show(ui, old);
        response.on_hover_ui(|ui| {
            ui.label(RichText::new(path::show(spec, old)).monospace());
            ui.label(
                widgets::sub(ui, "Drag, or click and type: 0.02 s, 1/3, 2*pi, = parameter / 4. Arrow keys step")
                    .small(),
            );
        });
        typed
    });
    typed.or_else(|| match whole {
        _ if slid == now || slid.is_nan() => None,
        true => Some(Value::Int(slid.round() as i64)),
        false => Some(Value::Real(tidy(slid, spec))),
    })
}

fn slider_ui(ui: &mut Ui, spec: &ParamSpec, name: &str, value: &mut f64, whole: bool, changed: bool) {
    let t = Tokens::of(ui.ctx());
    ui.spacing_mut().slider_width = ui.available_width();
    ui.spacing_mut().interact_size.y = 14.0;
    let ink = if changed { t.accent } else { Tokens::fade(t.text_sub, 0.8) };
    let visuals = ui.visuals_mut();
    visuals.selection.bg_fill = ink;
    visuals.widgets.inactive.bg_fill = if t.dark { t.line } else { Tokens::fade(t.text_sub, 0.35) };
    visuals.widgets.inactive.fg_stroke.color = ink;
    let slider = Slider::new(value, spec.soft.0..=spec.soft.1)
        .show_value(false)
        .logarithmic(spec.scale == Scale::Log)
        .clamping(SliderClamping::Never)
        .smart_aim(true);
    let response = ui.add(if whole { slider.integer() } else { slider });
    response.accessible_name(name);
}

/// Draws a text field. A text is applied on Enter or when the field loses the focus, so that an incomplete query is not sent to
/// the engine.
fn text_ui(ui: &mut Ui, name: &str, now: &str, hint: &str) -> Option<Value> {
    let draft_id = ui.scope_id().with(("draft", name));
    let mut text = ui.data(|d| d.get_temp::<String>(draft_id)).unwrap_or_else(|| now.to_owned());
    let field = TextEdit::singleline(&mut text).hint_text(hint).desired_width(ui.available_width()).clip_text(true);
    let response = ui.add(field).accessible_name(name);
    let response = if now.len() > 20 { response.on_hover_text(now) } else { response };
    if response.has_focus() {
        ui.data_mut(|d| d.insert_temp(draft_id, text));
        return None;
    }
    ui.data_mut(|d| d.remove::<String>(draft_id));
    (response.lost_focus() && text != now).then_some(Value::Text(text))
}
