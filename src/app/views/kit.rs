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

/// A panel: toolbar on top, caption at the bottom, canvas between. Returns the canvas rectangle.
pub fn panel_ui(ui: &mut Ui, tokens: &Tokens, caption: Option<&str>, toolbar: impl FnOnce(&mut Ui)) -> Rect {
    let all = ui.available_rect_before_wrap();
    ui.advance_cursor_after_rect(all);
    let top = Rect::from_min_size(all.min, Vec2::new(all.width(), BAR.min(all.height())));
    ui.painter().rect_filled(top, 0.0, tokens.panel);
    ui.painter().hline(all.x_range(), top.bottom() - 0.5, (1.0, tokens.line));
    let inner = top.shrink2(Vec2::new(8.0, 2.0));
    let mut bar = ui.new_child(UiBuilder::new().max_rect(inner).layout(Layout::left_to_right(Align::Center)));
    bar.set_clip_rect(top.intersect(ui.clip_rect()));
    bar.spacing_mut().item_spacing.x = 6.0;
    toolbar(&mut bar);
    let mut canvas = Rect::from_min_max(Pos2::new(all.left(), top.bottom()), all.max);
    if let Some(text) = caption {
        let bottom = Rect::from_min_max(Pos2::new(all.left(), all.bottom() - CAPTION), all.max);
        canvas.max.y = bottom.top();
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
    canvas
}

/// Whether a canvas is too small for axes and lines.
pub fn is_tiny(canvas: Rect) -> bool {
    canvas.width() < 150.0 || canvas.height() < 60.0
}

/// The font of captions and axis labels.
pub fn small(ui: &Ui) -> FontId {
    TextStyle::Small.resolve(ui.style())
}

/// The font of numbers that change.
pub fn mono(ui: &Ui) -> FontId {
    FontId { size: small(ui).size, ..TextStyle::Monospace.resolve(ui.style()) }
}

fn icon_id() -> egui::Id {
    egui::Id::unique("icon of the view that is drawn")
}

/// Says which view is drawn from now on, for its empty state.
pub fn set_icon(ctx: &egui::Context, glyph: &'static str) {
    ctx.data_mut(|d| d.insert_temp(icon_id(), glyph));
}

/// The state before there is anything to show: what the view shows, how to get data, and a button for it.
/// Returns whether the button was pressed.
pub fn empty_ui(ui: &mut Ui, canvas: Rect, tokens: &Tokens, title: &str, how: &str, button: Option<&str>) -> bool {
    let glyph = ui.data(|d| d.get_temp::<&'static str>(icon_id())).unwrap_or(icons::GRID);
    notice_ui(ui, canvas, tokens, (glyph, Tokens::fade(tokens.text_sub, 0.4)), [title, how], button)
}

/// The same where something has gone wrong: what, and a button for the way out.
pub fn failed_ui(ui: &mut Ui, canvas: Rect, tokens: &Tokens, title: &str, why: &str, button: Option<&str>) -> bool {
    notice_ui(ui, canvas, tokens, (icons::ERROR, tokens.error), [title, why], button)
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
    let marks = ticks(min, max, ((plot.width() / 90.0) as usize).clamp(1, 8));
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
    for v in marks {
        let y = plot.bottom() - ((v - min) / (max - min)) as f32 * plot.height();
        painter.hline(plot.left()..=plot.left() + 3.0, y, (1.0, tokens.line.lerp_to_gamma(tokens.text_sub, 0.5)));
        let at = Pos2::new(plot.left() - 5.0, y.clamp(plot.top() + 5.0, plot.bottom() - 5.0));
        painter.text(at, Align2::RIGHT_CENTER, format!("{v:.digits$}"), font.clone(), tokens.text_sub);
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

/// A legend row that is a button: swatch, label, count. Click and Alt-click are the caller's business.
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
    let number =
        painter.text(rect.right_center() - Vec2::X * 5.0, Align2::RIGHT_CENTER, count, mono(ui), tokens.text_sub);
    let room =
        Rect::from_min_max(Pos2::new(mark.right() + 6.0, rect.top()), Pos2::new(number.left() - 6.0, rect.bottom()));
    let clipped = painter.with_clip_rect(room.intersect(painter.clip_rect()));
    let text = elide(&clipped, &label.replace('_', " "), &small(ui), room.width());
    clipped.text(room.left_center(), Align2::LEFT_CENTER, text, small(ui), text_color);
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
            row(&column.name.replace('_', " "), &column.label(element).replace('_', " "));
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
        assert_eq!(duration(0.0016), "1.6 ms");
        assert_eq!(TimeUnit::of(1e-4, 2.0, 1.0).text(1.2341, 1e-4), "1234.1 ms");
        assert_eq!(TimeUnit::of(1.0, 2.0, 1.0).name, "steps");
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 1.0, 5), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(990.0, 2005.0, 4), [1000.0, 1500.0, 2000.0]);
        assert!(ticks(1.0, 1.0, 4).is_empty());
        assert_eq!(tick_digits(&[0.5, 0.75]), 1);
    }
}
