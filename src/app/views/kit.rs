//! What every view is made of: toolbar, caption, empty state, numbers and axes.

use super::ViewCtx;
use crate::app::{icons, theme::Tokens};
use egui::{
    Align, Align2, Color32, FontId, Layout, Painter, Pos2, Rect, RichText, Sense, TextStyle, Ui, UiBuilder, Vec2,
};

/// Height of a toolbar and of a caption, points.
pub const BAR: f32 = 28.0;
/// Height of a caption, points.
pub const CAPTION: f32 = 20.0;

/// Labels of an axis nearer to each other would overlap, points.
pub const LINE: f32 = 11.0;
/// A canvas as low as this has the room of the caption, and as low as the second, that of the toolbar.
const LOW: (f32, f32) = (60.0, 34.0);

/// Toolbar, canvas and caption of a panel. What frames the canvas gives way when there is little room.
fn parts(all: Rect, has_caption: bool) -> (Option<Rect>, Rect, Option<Rect>) {
    let has_bar = all.height() >= BAR + LOW.1;
    let has_caption = has_caption && all.height() >= BAR + LOW.0 + CAPTION;
    let (top, below) = all.split_top_bottom_at_y(all.top() + if has_bar { BAR } else { 0.0 });
    let (canvas, bottom) = below.split_top_bottom_at_y(below.bottom() - if has_caption { CAPTION } else { 0.0 });
    (has_bar.then_some(top), canvas, has_caption.then_some(bottom))
}

/// A panel: toolbar on top, caption at the bottom, canvas between. Returns the canvas rectangle; nothing that is drawn
/// from then on leaves it.
pub fn panel_ui(ui: &mut Ui, tokens: &Tokens, caption: Option<&str>, toolbar: impl FnOnce(&mut Ui)) -> Rect {
    let all = ui.available_rect_before_wrap();
    ui.advance_cursor_after_rect(all);
    let (top, mut canvas, bottom) = parts(all, caption.is_some());
    if let Some(top) = top {
        ui.painter().rect_filled(top, 0.0, tokens.panel);
        ui.painter().hline(all.x_range(), top.bottom() - 0.5, (1.0, tokens.line));
        if let (Some(text), None) = (caption, bottom) {
            ui.interact(top, ui.scope_id().with("caption"), Sense::hover()).on_hover_text(text);
        }
        toolbar_ui(ui, tokens, top, toolbar);
    }
    if let (Some(text), Some(bottom)) = (caption, bottom) {
        ui.painter().rect_filled(bottom, 0.0, tokens.panel);
        ui.painter().hline(all.x_range(), bottom.top() + 0.5, (1.0, tokens.line));
        let area = UiBuilder::new().max_rect(bottom.shrink2(Vec2::new(8.0, 1.0)));
        ui.scope_builder(area.layout(Layout::left_to_right(Align::Center)), |ui| {
            // What is cut off is in the tooltip.
            let text = RichText::new(text).small().color(tokens.text_sub);
            ui.add(egui::Label::new(text).selectable(false).truncate());
        });
    }
    if canvas.height() < 1.0 {
        canvas.max.y = canvas.min.y + 1.0;
    }
    ui.set_clip_rect(canvas.intersect(ui.clip_rect()));
    canvas
}

/// Points at the end of a toolbar for the button that moves it.
const ARROW: f32 = 20.0;

/// A toolbar. One longer than its panel is moved by a button at its end, or by the wheel.
fn toolbar_ui(ui: &mut Ui, tokens: &Tokens, top: Rect, toolbar: impl FnOnce(&mut Ui)) {
    let inner = top.shrink2(Vec2::new(8.0, 2.0));
    let id = ui.scope_id().with("toolbar");
    let (is_long, moved) = ui.data(|d| d.get_temp::<(bool, f32)>(id)).unwrap_or_default();
    let end = if is_long { inner.right() - ARROW } else { top.right() };
    let area = inner.translate(Vec2::new(-moved, 0.0));
    let mut bar = ui.new_child(UiBuilder::new().max_rect(area).layout(Layout::left_to_right(Align::Center)));
    bar.set_clip_rect(top.with_max_x(end).intersect(ui.clip_rect()));
    bar.spacing_mut().item_spacing.x = 6.0;
    toolbar(&mut bar);
    let needs = bar.min_rect().right() + moved;
    let most = (needs - inner.right() + ARROW).max(0.0);
    let is_long = needs > inner.right() + 1.0;
    let moved = if is_long { arrow_ui(ui, tokens, inner, (moved, most)) } else { 0.0 };
    ui.data_mut(|d| d.insert_temp(id, (is_long, moved)));
}

/// The button at the end of a long toolbar; how far that is moved now.
fn arrow_ui(ui: &mut Ui, tokens: &Tokens, inner: Rect, (moved, most): (f32, f32)) -> f32 {
    let at_end = moved >= most - 1.0;
    let (text, name) = if at_end { ("«", "Start of this toolbar") } else { ("»", "Rest of this toolbar") };
    let area = inner.with_min_x(inner.right() - ARROW + 2.0);
    let button = egui::Button::new(RichText::new(text).color(tokens.text_strong)).frame(false);
    if ui.put(area, button).accessible_name(name).on_hover_text(name).clicked() {
        return if at_end { 0.0 } else { (moved + (inner.width() - ARROW) * 0.8).min(most) };
    }
    let wheel = if ui.rect_contains_pointer(inner) { ui.input(|i| i.smooth_scroll_delta()) } else { Vec2::ZERO };
    (moved - wheel.x - wheel.y).clamp(0.0, most)
}

/// Whether a canvas is too small for axes and lines.
pub fn is_tiny(canvas: Rect) -> bool {
    canvas.width() < 150.0 || canvas.height() < 60.0
}

/// Where a canvas is too small, that is said in place of the picture; whether it is.
pub fn tiny_ui(ui: &Ui, canvas: Rect, tokens: &Tokens) -> bool {
    if !is_tiny(canvas) {
        return false;
    }
    let painter = ui.painter_at(canvas);
    painter.rect_filled(canvas, 0.0, tokens.canvas);
    let text = elide(&painter, "Too small to draw: enlarge or maximise", &small(ui), canvas.width() - 16.0);
    painter.text(canvas.center(), Align2::CENTER_CENTER, text, small(ui), tokens.text_sub);
    true
}

/// The font of captions and axis labels.
pub fn small(ui: &Ui) -> FontId {
    TextStyle::Small.resolve(ui.style())
}

/// The font of numbers that change.
pub fn mono(ui: &Ui) -> FontId {
    FontId { size: small(ui).size, ..TextStyle::Monospace.resolve(ui.style()) }
}

/// The state before there is anything to show: what the view shows, how to get data, and a button for it.
/// Returns whether the button was pressed.
pub fn empty_ui(ui: &mut Ui, canvas: Rect, ctx: &ViewCtx<'_>, title: &str, how: &str, button: Option<&str>) -> bool {
    let ink = Tokens::fade(ctx.tokens.text_sub, 0.4);
    notice_ui(ui, canvas, ctx.tokens, (ctx.icon, ink), [title, how], button)
}

/// The same where something has gone wrong: what, and a button for the way out.
pub fn failed_ui(ui: &mut Ui, canvas: Rect, ctx: &ViewCtx<'_>, title: &str, why: &str, button: Option<&str>) -> bool {
    notice_ui(ui, canvas, ctx.tokens, (icons::ERROR, ctx.tokens.error), [title, why], button)
}

fn notice_ui(
    ui: &mut Ui,
    canvas: Rect,
    tokens: &Tokens,
    (glyph, ink): (&str, Color32),
    [title, text]: [&str; 2],
    button: Option<&str>,
) -> bool {
    ui.painter().rect_filled(canvas, 0.0, tokens.canvas);
    let has_room = canvas.height() > 190.0;
    let height = if button.is_some() { 96.0 } else { 64.0 } + if has_room { 56.0 } else { 0.0 };
    if canvas.height() < height - 8.0 {
        return low_notice_ui(ui, canvas, tokens, [title, text], button);
    }
    let area = Rect::from_center_size(canvas.center(), Vec2::new(canvas.width() - 24.0, height)).intersect(canvas);
    let mut pressed = false;
    ui.scope_builder(UiBuilder::new().max_rect(area).layout(Layout::top_down(Align::Center)), |ui| {
        if has_room {
            ui.label(icons::rich(glyph).size(40.0).color(ink));
            ui.add_space(4.0);
        }
        ui.label(RichText::new(title).text_style(TextStyle::Heading).color(tokens.text));
        ui.add_space(2.0);
        ui.label(RichText::new(text).color(tokens.text_sub));
        if let Some(button) = button {
            ui.add_space(8.0);
            pressed = ui.button(button).clicked();
        }
    });
    pressed
}

/// The same in one line, where there is no room for more.
fn low_notice_ui(ui: &mut Ui, canvas: Rect, tokens: &Tokens, [title, text]: [&str; 2], button: Option<&str>) -> bool {
    let size = Vec2::new(canvas.width() - 24.0, 24.0);
    let area = UiBuilder::new().max_rect(Rect::from_center_size(canvas.center(), size).intersect(canvas));
    let row = ui.scope_builder(area.layout(Layout::right_to_left(Align::Center)), |ui| {
        let pressed = button.is_some_and(|button| ui.button(button).clicked());
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            let title = RichText::new(title).text_style(TextStyle::Heading).color(tokens.text);
            ui.add(egui::Label::new(title).truncate()).on_hover_text(text);
        });
        pressed
    });
    row.inner
}

/// A choice in a toolbar: a small label and a drop-down.
pub fn choice_ui<T: PartialEq + Clone>(
    ui: &mut Ui,
    tokens: &Tokens,
    label: &str,
    value: &mut T,
    options: &[(T, String)],
) -> bool {
    let before = value.clone();
    // In a narrow toolbar the value speaks for itself.
    let is_narrow = ui.max_rect().width() < 460.0 && ui.layout().is_horizontal();
    if !is_narrow {
        ui.label(RichText::new(label).small().color(tokens.text_sub));
    }
    let shown = options.iter().find(|(v, _)| v == value).map_or("—", |(_, text)| text.as_str());
    let response = egui::ComboBox::from_id_salt(label).selected_text(shown).width(72.0).show_ui(ui, |ui| {
        for (option, text) in options {
            ui.selectable_value(value, option.clone(), text);
        }
    });
    response.response.accessible_name(label).on_hover_text(label);
    *value != before
}

/// The rest of a toolbar: in place when this many points are left for it, else behind a `…` button.
pub fn overflow_ui(ui: &mut Ui, needs: f32, add: impl FnOnce(&mut Ui)) {
    if ui.available_width() >= needs {
        return add(ui);
    }
    let button = ui.button("…").on_hover_text("More of this toolbar");
    button.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "More of this toolbar"));
    egui::Popup::menu(&button).close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside).show(|ui| {
        ui.spacing_mut().item_spacing.y = 4.0;
        add(ui);
    });
}

/// The LIVE toggle of a time view: green and filled while it follows.
pub fn live_ui(ui: &mut Ui, tokens: &Tokens, follow: &mut bool, running: bool) {
    let color = if *follow { tokens.live } else { tokens.text_sub };
    let text = RichText::new(if *follow { "● LIVE" } else { "○ LIVE" }).small().color(color);
    let hint = if *follow { "Following the newest data" } else { "Follow the newest data (End)" };
    let hint = if running { hint.to_owned() } else { format!("{hint}; the run is paused") };
    if ui.add(egui::Button::new(text).frame(false)).on_hover_text(hint).clicked() {
        *follow = true;
    }
}

/// LIVE and link of a time view: whether it follows the newest data, and whether it shares the axis of the others.
pub fn time_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, link: &mut crate::app::time::Link) {
    let (axis, tokens) = (&mut ctx.time.axis, ctx.tokens);
    let mut follow = link.line(axis).follow;
    if !axis.is_recorded {
        live_ui(ui, tokens, &mut follow, ctx.running);
    }
    if follow && !link.line(axis).follow {
        match link.is_linked() {
            true => axis.go_live(),
            false => link.line_mut(axis).follow = true,
        }
    }
    let (glyph, name) = match link.is_linked() {
        true => (crate::app::icons::LINK, "Unlink times: this view keeps its own"),
        false => (crate::app::icons::UNLINK, "Link times: the same as the other views"),
    };
    let ink = if link.is_linked() { tokens.text_sub } else { tokens.warn };
    let button = egui::Button::new(crate::app::icons::rich(glyph).color(ink)).frame(false);
    if ui.add(button).accessible_name(name).on_hover_text(name).clicked() {
        link.toggle(axis);
    }
}

/// A number with thousands separated: `138,639`.
pub use crate::app::text::count as thousands;
pub use crate::app::text::{spaced, unwrap};

/// A value with three to four significant digits and no needless zeros.
pub fn value(v: f64) -> String {
    let a = v.abs();
    if a == 0.0 {
        "0".into()
    } else if !v.is_finite() {
        "—".into()
    } else if !(1e-3..1e6).contains(&a) {
        crate::app::text::localised(format!("{v:.2e}"))
    } else {
        let digits = (3 - a.log10().floor() as i32).clamp(0, 6) as usize;
        let text = format!("{v:.digits$}");
        let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
        crate::app::text::localised(text)
    }
}

/// A value that changes: three significant digits, of large ones all before the point.
pub fn reading(v: f32) -> String {
    let v = f64::from(v);
    value(if v.abs() < 100.0 { round3(v) } else { v.round() })
}

/// A value with its unit.
pub fn with_unit(v: f64, unit: &str) -> String {
    if unit.is_empty() { value(v) } else { format!("{} {unit}", value(v)) }
}

/// How a simulation counts: in seconds, or in steps when a step has no length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeUnit {
    /// What a second (or step) is multiplied by.
    pub scale: f64,
    /// `ms`, `s` or `steps`.
    pub name: &'static str,
}

impl TimeUnit {
    /// The unit for a window that ends at `end_secs` and is `span_secs` long: milliseconds below 10 s.
    pub fn of(secs_per_step: f64, end_secs: f64, span_secs: f64) -> Self {
        if secs_per_step >= 1.0 {
            Self { scale: 1.0, name: "steps" }
        } else if end_secs < 10.0 || span_secs < 0.05 {
            Self { scale: 1e3, name: "ms" }
        } else {
            Self { scale: 1.0, name: "s" }
        }
    }

    /// A time with this unit and enough digits to tell steps of `resolution_secs` apart.
    pub fn text(self, secs: f64, resolution_secs: f64) -> String {
        let digits = (-(resolution_secs * self.scale).max(1e-9).log10()).ceil().clamp(0.0, 6.0) as usize;
        format!("{:.digits$} {}", secs * self.scale, self.name)
    }
}

/// A duration in its natural unit: `1.6 ms`.
pub fn duration(secs: f64) -> String {
    match secs.abs() {
        a if a < 1e-3 => format!("{} µs", value(round3(secs * 1e6))),
        a if a < 1.0 => format!("{} ms", value(round3(secs * 1e3))),
        _ => format!("{} s", value(round3(secs))),
    }
}

/// What seconds are multiplied by to be read at this size, and the unit.
pub fn duration_unit(secs: f64) -> (f64, &'static str) {
    match secs.abs() {
        a if a < 1e-6 => (1e9, "ns"),
        a if a < 1e-3 => (1e6, "µs"),
        a if a < 1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    }
}

fn round3(v: f64) -> f64 {
    let scale = 10f64.powi(2 - v.abs().max(1e-9).log10().floor() as i32);
    (v * scale).round() / scale
}

/// At most `most` round values between two bounds.
pub fn ticks(min: f64, max: f64, most: usize) -> Vec<f64> {
    let span = max - min;
    if span <= 0.0 || !span.is_finite() || most == 0 {
        return vec![];
    }
    let raw = span / most as f64;
    let magnitude = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * magnitude).find(|s| *s >= raw * 0.999).unwrap_or(raw);
    let first = (min / step - 1e-9).ceil() as i64;
    (first..).map(|i| i as f64 * step).take_while(|v| *v <= max + step * 1e-9).collect()
}

/// Digits after the point that a list of ticks needs.
pub fn tick_digits(ticks: &[f64]) -> usize {
    let step = ticks.windows(2).map(|w| w[1] - w[0]).fold(f64::INFINITY, f64::min);
    if step.is_finite() { (-step.log10() - 1e-9).ceil().clamp(0.0, 6.0) as usize } else { 0 }
}

/// A horizontal axis under a plot: line, ticks inside, labels, and the title at the right end.
pub fn x_axis(painter: &Painter, plot: Rect, font: &FontId, tokens: &Tokens, min: f64, max: f64, title: &str) {
    painter.hline(plot.x_range(), plot.bottom(), (1.0, tokens.line));
    let title_rect = painter.text(
        Pos2::new(plot.right(), plot.bottom() + 4.0),
        Align2::RIGHT_TOP,
        title,
        font.clone(),
        tokens.text_sub,
    );
    let marks = ticks(min, max, ((plot.width() / 64.0) as usize).clamp(1, 8));
    let digits = tick_digits(&marks);
    for v in marks {
        let x = plot.left() + ((v - min) / (max - min)) as f32 * plot.width();
        painter.vline(x, plot.bottom() - 3.0..=plot.bottom(), (1.0, tokens.line.lerp_to_gamma(tokens.text_sub, 0.5)));
        let text = format!("{v:.digits$}");
        let galley = painter.layout_no_wrap(text, font.clone(), tokens.text_sub);
        let left = (x - galley.size().x / 2.0).max(plot.left());
        if left + galley.size().x + 8.0 < title_rect.left() {
            painter.galley(Pos2::new(left, plot.bottom() + 4.0), galley, tokens.text_sub);
        }
    }
}

/// A vertical axis left of a plot.
pub fn y_axis(painter: &Painter, plot: Rect, font: &FontId, tokens: &Tokens, min: f64, max: f64, title: &str) {
    if plot.height() < 14.0 {
        return;
    }
    painter.vline(plot.left(), plot.y_range(), (1.0, tokens.line));
    let marks = ticks(min, max, ((plot.height() / 28.0) as usize).clamp(1, 6));
    let digits = tick_digits(&marks);
    // One number is no scale: of a low plot the ends are told.
    let is_low = marks.len() < 2 && plot.height() > 2.0 * LINE;
    let told = |v: f64| if is_low { reading(v as f32) } else { format!("{v:.digits$}") };
    for v in if is_low { vec![min, max] } else { marks } {
        let y = plot.bottom() - ((v - min) / (max - min)) as f32 * plot.height();
        painter.hline(plot.left()..=plot.left() + 3.0, y, (1.0, tokens.line.lerp_to_gamma(tokens.text_sub, 0.5)));
        let at = Pos2::new(plot.left() - 5.0, y.clamp(plot.top() + 5.0, plot.bottom() - 5.0));
        painter.text(at, Align2::RIGHT_CENTER, told(v), font.clone(), tokens.text_sub);
    }
    if !title.is_empty() {
        painter.text(plot.left_top() + Vec2::new(6.0, 2.0), Align2::LEFT_TOP, title, font.clone(), tokens.text_sub);
    }
}

/// A colour swatch in a legend; returns its response.
pub fn swatch_ui(ui: &mut Ui, color: Color32, filled: bool) -> egui::Response {
    let (rect, response) = ui.allocate_exact_size(Vec2::splat(10.0), Sense::hover());
    if filled {
        ui.painter().rect_filled(rect, 2.0, color);
    } else {
        ui.painter().rect_stroke(rect, 2.0, (1.0, color), egui::StrokeKind::Inside);
    }
    response
}

/// A legend row that is a button: swatch, label, count; where there is no room for both, the label. Click and Alt-click
/// are the caller's business.
pub fn legend_row_ui(
    ui: &mut Ui,
    tokens: &Tokens,
    color: Color32,
    label: &str,
    count: &str,
    shown: bool,
    width: f32,
) -> egui::Response {
    let (rect, response) = ui.allocate_exact_size(Vec2::new(width, 17.0), Sense::click());
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::CheckBox, true, shown, label));
    let painter = ui.painter();
    if response.hovered() {
        painter.rect_filled(rect, 3.0, tokens.hover);
    }
    let mark = Rect::from_center_size(Pos2::new(rect.left() + 9.0, rect.center().y), Vec2::splat(8.0));
    let text_color = if shown { tokens.text } else { tokens.text_sub.gamma_multiply(0.6) };
    if shown {
        painter.circle_filled(mark.center(), 4.0, color);
    } else {
        painter.circle_stroke(mark.center(), 3.5, (1.0, tokens.text_sub));
    }
    let number = painter.layout_no_wrap(count.to_owned(), mono(ui), tokens.text_sub);
    let mut room = Rect::from_min_max(Pos2::new(rect.left() + 18.0, rect.top()), rect.max - Vec2::new(5.0, 0.0));
    let beside = room.right() - number.size().x - 6.0;
    // All rows of a legend are alike.
    if rect.width() > 118.0 {
        let at = Pos2::new(room.right() - number.size().x, rect.center().y - number.size().y / 2.0);
        painter.galley(at, number, tokens.text_sub);
        room.max.x = beside;
    }
    let text = elide(painter, &spaced(label), &small(ui), room.width());
    painter.text(room.left_center(), Align2::LEFT_CENTER, text, small(ui), text_color);
    response
}

/// A text cut to a width, with an ellipsis when something is missing.
pub fn elide(painter: &Painter, text: &str, font: &egui::FontId, width: f32) -> String {
    let measure = |t: &str| painter.layout_no_wrap(t.to_owned(), font.clone(), Color32::WHITE).size().x;
    if measure(text) <= width {
        return text.to_owned();
    }
    let mut kept: Vec<char> = text.chars().collect();
    while !kept.is_empty() {
        kept.pop();
        let short: String = kept.iter().collect::<String>() + "…";
        if measure(&short) <= width {
            return short;
        }
    }
    String::new()
}

/// What a tooltip says of an element: its name, and its categories.
pub fn element_ui(
    ui: &mut Ui,
    ctx: &ViewCtx<'_>,
    set: &crate::sim::ElementSet,
    element: u32,
    values: &[(String, String)],
) {
    ui.label(RichText::new(set.label(element)).strong().color(ctx.tokens.text_strong));
    egui::Grid::new("element").num_columns(2).spacing([12.0, 2.0]).show(ui, |ui| {
        let mut row = |name: &str, text: &str| {
            ui.label(RichText::new(name).small().color(ctx.tokens.text_sub));
            ui.label(RichText::new(text).small().color(ctx.tokens.text));
            ui.end_row();
        };
        row("index", &thousands(u64::from(element)));
        for column in set.columns.iter().filter(|c| !c.label(element).is_empty()).take(6) {
            row(&spaced(&column.name), &spaced(column.label(element)));
        }
        for (name, text) in values {
            row(name, text);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(thousands(138_639), "138,639");
        assert_eq!(thousands(7), "7");
        assert_eq!(value(0.0125), "0.0125");
        assert_eq!(value(-52.0), "-52");
        assert_eq!(value(1234.5), "1234");
        assert_eq!([0.003_123, 26.784, 255_006.4, 0.0].map(reading), ["0.00312", "26.8", "255006", "0"]);
        assert_eq!(duration(0.0016), "1.6 ms");
        assert_eq!(TimeUnit::of(1e-4, 2.0, 1.0).text(1.2341, 1e-4), "1234.1 ms");
        assert_eq!(TimeUnit::of(1.0, 2.0, 1.0).name, "steps");
    }

    #[test]
    fn a_low_panel_has_less_around_its_canvas() {
        let parts = |height| {
            let (top, canvas, bottom) = parts(Rect::from_min_size(Pos2::new(5.0, 7.0), Vec2::new(300.0, height)), true);
            assert_eq!(
                canvas.height() + [top, bottom].map(|r| r.map_or(0.0, |r| r.height())).iter().sum::<f32>(),
                height
            );
            (top.is_some(), bottom.is_some(), canvas.height())
        };
        assert_eq!(parts(200.0), (true, true, 152.0));
        assert_eq!(parts(108.0), (true, true, 60.0));
        assert_eq!(parts(107.0), (true, false, 79.0));
        assert_eq!(parts(62.0), (true, false, 34.0));
        assert_eq!(parts(54.0), (false, false, 54.0));
        assert_eq!(parts(0.0), (false, false, 0.0));
    }

    #[test]
    fn what_is_drawn_in_a_panel_stays_between_its_bars() {
        egui::__run_test_ui(|ui| {
            let all = ui.available_rect_before_wrap();
            let canvas = panel_ui(ui, &Tokens::dark(), Some("n = 5"), |_| {});
            assert!(canvas.height() < all.height() - BAR && canvas.contains_rect(ui.clip_rect()));
        });
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 1.0, 5), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(990.0, 2005.0, 4), [1000.0, 1500.0, 2000.0]);
        assert!(ticks(1.0, 1.0, 4).is_empty());
        assert_eq!(tick_digits(&[0.5, 0.75]), 1);
    }
}
