//! Building blocks of views: toolbar, caption, empty state, legend rows; re-exports numbers and axes.

use super::{theme::Tokens, widgets};
use egui::Id;
use egui::{
    Align, Align2, Color32, FontId, Layout, Painter, Pos2, Rect, RichText, Sense, TextStyle, Ui, UiBuilder, Vec2,
};

/// Height of a toolbar, points.
pub const BAR: f32 = 28.0;
/// Height of a caption, points.
pub const CAPTION: f32 = 20.0;

/// Minimum distance of axis labels, points.
pub const LINE: f32 = 11.0;
/// Minimum canvas heights, points: a panel below the first has no caption, a panel below the second no toolbar.
const LOW: (f32, f32) = (60.0, 34.0);

/// Splits a panel into toolbar, canvas and caption. A low panel has no caption; an even lower one has no toolbar either.
fn parts(all: Rect, has_caption: bool) -> (Option<Rect>, Rect, Option<Rect>) {
    let has_bar = all.height() >= BAR + LOW.1;
    let has_caption = has_caption && all.height() >= BAR + LOW.0 + CAPTION;
    let (top, below) = all.split_top_bottom_at_y(all.top() + if has_bar { BAR } else { 0.0 });
    let (canvas, bottom) = below.split_top_bottom_at_y(below.bottom() - if has_caption { CAPTION } else { 0.0 });
    (has_bar.then_some(top), canvas, has_caption.then_some(bottom))
}

/// Draws a panel with a toolbar on top, a caption at the bottom and a canvas between them. Returns the canvas rectangle and clips
/// to it. A figure has the canvas, and the whole caption below it if the user wants one.
pub fn panel_ui(ui: &mut Ui, tokens: &Tokens, caption: Option<&str>, toolbar: impl FnOnce(&mut Ui)) -> Rect {
    let all = ui.available_rect_before_wrap();
    ui.advance_cursor_after_rect(all);
    let (top, mut canvas, bottom) = match staging(ui.ctx()) {
        Some(staging) => (None, figure_caption_ui(ui, tokens, all, caption.filter(|_| staging.has_caption)), None),
        None => parts(all, caption.is_some()),
    };
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
            let lay_out = |text: &str| ui.painter().layout_no_wrap(text.to_owned(), small(ui), tokens.text_sub);
            let room = ui.available_width();
            let kept = fitting_items(text, room, |text| lay_out(text).size().x);
            let galley = lay_out(kept);
            let label = match galley.size().x <= room {
                true => egui::Label::new(galley),
                false => egui::Label::new(RichText::new(kept).small().color(tokens.text_sub)).truncate(),
            };
            let label = ui.add(label.selectable(false));
            if kept.len() < text.len() {
                // Screen readers receive the whole caption.
                label.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, text));
                label.on_hover_text(text);
            }
        });
    }
    if canvas.height() < 1.0 {
        canvas.max.y = canvas.min.y + 1.0;
    }
    ui.set_clip_rect(canvas.intersect(ui.clip_rect()));
    canvas
}

/// Maximum fraction of a figure's height that its caption takes.
const FIGURE_CAPTION: f32 = 0.4;

/// Draws the caption of a figure at its lower edge, in as many lines as it needs. Returns the area above it.
fn figure_caption_ui(ui: &Ui, tokens: &Tokens, all: Rect, caption: Option<&str>) -> Rect {
    let Some(caption) = caption.filter(|text| !text.is_empty()) else { return all };
    let text = caption.replace(SEPARATOR, " · ");
    let galley = ui.painter().layout(text, small(ui), tokens.text_sub, (all.width() - 16.0).max(1.0));
    let height = galley.size().y + 6.0;
    if height > all.height() * FIGURE_CAPTION {
        return all;
    }
    let (canvas, strip) = all.split_top_bottom_at_y(all.bottom() - height);
    ui.painter().rect_filled(strip, 0.0, tokens.canvas);
    ui.painter().galley(strip.min + Vec2::new(8.0, 3.0), galley, tokens.text_sub);
    canvas
}

/// Separator between the items of a caption.
const SEPARATOR: &str = "  |  ";
/// Largest difference between the width of a caption and the sum of the widths of its items, points.
const SLACK: f32 = 8.0;

/// Returns the leading items of a caption that fit into a width, because the last items matter least. Most items stay equal from
/// frame to frame, so their layouts are cached; only the kept caption is laid out as a whole.
fn fitting_items(text: &str, room: f32, width: impl Fn(&str) -> f32) -> &str {
    let (mut right, mut end, mut ends) = (0.0, 0, vec![]);
    for item in text.split(SEPARATOR) {
        let start = if ends.is_empty() { 0 } else { end + SEPARATOR.len() };
        right += if ends.is_empty() { width(item) } else { width(SEPARATOR) + width(item) };
        if right > room + SLACK && !ends.is_empty() {
            break;
        }
        end = start + item.len();
        ends.push(end);
    }
    let first = ends.first().map_or(text, |end| &text[..*end]);
    ends.iter().rev().map(|end| &text[..*end]).find(|kept| width(kept) <= room).unwrap_or(first)
}

/// Width of the scroll button of a toolbar, points.
const ARROW: f32 = 20.0;

/// Draws a toolbar. If it is wider than its panel, a button at its end or the wheel scrolls it.
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

/// Draws the scroll button of a toolbar that is wider than its panel; returns the new offset, points.
fn arrow_ui(ui: &mut Ui, tokens: &Tokens, inner: Rect, (moved, most): (f32, f32)) -> f32 {
    let at_end = moved >= most - 1.0;
    let (text, name) = if at_end { ("«", "Scroll toolbar to start") } else { ("»", "Scroll toolbar") };
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

/// Draws a notice if the canvas is too small; returns whether this is the case.
pub fn tiny_ui(ui: &Ui, canvas: Rect, tokens: &Tokens) -> bool {
    if !is_tiny(canvas) {
        return false;
    }
    let painter = ui.painter_at(canvas);
    painter.rect_filled(canvas, 0.0, tokens.canvas);
    let text = elide(&painter, "Too small: enlarge or maximise", &small(ui), canvas.width() - 16.0);
    painter.text(canvas.center(), Align2::CENTER_CENTER, text, small(ui), tokens.text_sub);
    true
}

/// Fills the canvas of a panel. Returns whether there is room to draw; without it, draws a notice.
pub fn fill_ui(ui: &Ui, canvas: Rect, tokens: &Tokens) -> bool {
    ui.painter().rect_filled(canvas, 0.0, tokens.canvas);
    !tiny_ui(ui, canvas, tokens)
}

/// Makes scroll bars take space next to the content instead of overlaying it. A figure has none.
pub fn solid_scroll_bars(ui: &mut Ui) {
    if is_staged(ui.ctx()) {
        return;
    }
    ui.spacing_mut().scroll = egui::style::ScrollStyle { bar_width: 8.0, ..egui::style::ScrollStyle::solid() };
}

/// Returns the font of captions and axis labels.
pub fn small(ui: &Ui) -> FontId {
    TextStyle::Small.resolve(ui.style())
}

/// Returns the font of changing numbers.
pub fn mono(ui: &Ui) -> FontId {
    FontId { size: small(ui).size, ..TextStyle::Monospace.resolve(ui.style()) }
}

/// Whether choices show their labels, which narrow toolbars omit.
pub fn has_labels(ui: &Ui) -> bool {
    ui.max_rect().width() >= 460.0 || !ui.layout().is_horizontal()
}

/// Draws a choice in a toolbar: a small label and a drop-down. Returns whether the value changed.
pub fn choice_ui<T: PartialEq + Clone>(
    ui: &mut Ui,
    tokens: &Tokens,
    label: &str,
    value: &mut T,
    options: &[(T, String)],
) -> bool {
    let before = value.clone();
    if has_labels(ui) {
        ui.label(RichText::new(label).small().color(tokens.text_sub));
    }
    let shown = options.iter().find(|(v, _)| v == value).map_or("—", |(_, text)| text.as_str());
    let response = egui::ComboBox::from_id_salt(label).selected_text(shown).width(72.0).show_ui(ui, |ui| {
        widgets::raise_list(ui);
        for (option, text) in options {
            ui.selectable_value(value, option.clone(), text);
        }
    });
    response.response.accessible_name(label).on_hover_text(label);
    *value != before
}

/// Minimum width of controls in the popup of a button, points, so that the names in drop-downs fit.
const MENU: f32 = 130.0;

/// Draws further controls of a toolbar in place if `needs` points are left, otherwise in the popup of a `…` button.
pub fn overflow_ui(ui: &mut Ui, needs: f32, add: impl FnOnce(&mut Ui)) {
    overflow_as_ui(ui, needs, ("…", "More options"), add);
}

/// Draws further controls of a toolbar in place, or in the popup of a button with this text and accessible name.
pub fn overflow_as_ui(ui: &mut Ui, needs: f32, (text, name): (&str, &str), add: impl FnOnce(&mut Ui)) {
    if ui.available_width() >= needs {
        return add(ui);
    }
    let button = ui.button(text).on_hover_text(name);
    button.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, name));
    // egui tracks one open popup, so a drop-down in this popup would close it; its state is stored here instead.
    let (ctx, id) = (ui.ctx().clone(), button.id.with("more"));
    let mut is_open = ctx.data(|d| d.get_temp::<bool>(id)).unwrap_or_default() != button.clicked();
    let is_list_open = egui::Popup::is_any_open(&ctx);
    let popup = egui::Popup::menu(&button).close_behavior(egui::PopupCloseBehavior::IgnoreClicks);
    let shown = popup.open_bool(&mut is_open).show(|ui| {
        ui.spacing_mut().item_spacing.y = 4.0;
        ui.set_min_width(MENU);
        add(ui);
    });
    let is_left = shown.is_some_and(|shown| shown.response.clicked_elsewhere());
    let closes = is_left && !is_list_open && !button.clicked();
    ctx.data_mut(|d| d.insert_temp(id, is_open && !closes));
}

/// Draws the LIVE toggle of a time view: filled while the view follows the newest data, green while the run progresses. A paused
/// run has no live data.
pub fn live_ui(ui: &mut Ui, tokens: &Tokens, follow: &mut bool, running: bool) {
    let color = if *follow && running { tokens.live } else { tokens.text_sub };
    let word = if running { "LIVE" } else { "LATEST" };
    let text = RichText::new(format!("{} {word}", if *follow { '●' } else { '○' })).small().color(color);
    let hint = if *follow { "Following the newest data" } else { "Follow the newest data (End)" };
    let hint = if running { hint.to_owned() } else { format!("{hint}; the run is paused") };
    if ui.add(egui::Button::new(text).frame(false)).on_hover_text(hint).clicked() {
        *follow = true;
    }
}

/// Draws a label in place of the LIVE toggle while a finished run is displayed.
pub fn playback_ui(ui: &mut Ui, tokens: &Tokens) {
    let text = RichText::new("PLAYBACK").small().color(tokens.warn);
    ui.label(text).on_hover_text("A finished run, at the time cursor");
}

/// Hides the scroll bars of scroll areas, and the shade at edges with further content.
pub fn hide_scroll_bars(ui: &mut Ui) {
    let fade = egui::style::ScrollFadeStyle { strength: 0.0, ..Default::default() };
    ui.spacing_mut().scroll = egui::style::ScrollStyle {
        bar_width: 0.0,
        floating_width: 0.0,
        active_handle_opacity: 0.0,
        active_background_opacity: 0.0,
        interact_handle_opacity: 0.0,
        interact_background_opacity: 0.0,
        fade,
        ..egui::style::ScrollStyle::floating()
    };
}

/// Properties of the figure as which a panel is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staging {
    /// Whether the caption is drawn below the figure.
    pub has_caption: bool,
}

/// Returns the id of the state of the panel being drawn as a figure.
fn stage_id() -> Id {
    Id::unique("figure stage")
}

/// Returns the properties of the figure being drawn; `None` for a panel on the screen.
fn staging(ctx: &egui::Context) -> Option<Staging> {
    ctx.data(|d| d.get_temp::<Option<Staging>>(stage_id())).flatten()
}

/// Whether the panel being drawn is a figure, which has no toolbar, and nothing that follows the pointer or the time cursor.
pub fn is_staged(ctx: &egui::Context) -> bool {
    staging(ctx).is_some()
}

/// Sets whether the panels that are drawn next are figures.
pub fn set_staging(ctx: &egui::Context, staging: Option<Staging>) {
    ctx.data_mut(|d| d.insert_temp(stage_id(), staging));
}

/// Records that the panel shows a notice instead of data, so that no figure of it is written.
pub(super) fn note_empty(ctx: &egui::Context, title: &str) {
    let noted = (ctx.cumulative_pass_nr(), title.to_owned());
    ctx.data_mut(|d| d.insert_temp(stage_id().with("empty"), noted));
}

/// Returns the title of the notice that a panel shows instead of data in this frame; `None` if none does.
pub fn empty_notice(ctx: &egui::Context) -> Option<String> {
    let noted = ctx.data(|d| d.get_temp::<(u64, String)>(stage_id().with("empty")));
    noted.filter(|(pass, _)| *pass == ctx.cumulative_pass_nr()).map(|(_, title)| title)
}

/// Draws a colour swatch of a legend and returns its response.
pub fn swatch_ui(ui: &mut Ui, color: Color32, filled: bool) -> egui::Response {
    let (rect, response) = ui.allocate_exact_size(Vec2::splat(10.0), Sense::hover());
    if filled {
        ui.painter().rect_filled(rect, 2.0, color);
    } else {
        ui.painter().rect_stroke(rect, 2.0, (1.0, color), egui::StrokeKind::Inside);
    }
    response
}

/// Draws a clickable legend row with swatch, label and count; a narrow row has no count. The caller handles clicks.
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
    // The condition depends only on the width of the legend, so all rows look alike.
    if rect.width() > 118.0 {
        let at = Pos2::new(room.right() - number.size().x, rect.center().y - number.size().y / 2.0);
        painter.galley(at, number, tokens.text_sub);
        room.max.x = beside;
    }
    let text = elide(painter, label, &small(ui), room.width());
    painter.text(room.left_center(), Align2::LEFT_CENTER, text, small(ui), text_color);
    response
}

/// Truncates a text to a width, with an ellipsis.
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

/// Truncates a text to a width before its last occurrence of `mark`, so that the end, such as a number, stays: `inhib… #3401`.
pub fn elide_before(painter: &Painter, text: &str, mark: &str, font: &egui::FontId, width: f32) -> String {
    let (head, end) = text.split_at(text.rfind(mark).unwrap_or(text.len()));
    let end_width = painter.layout_no_wrap(end.to_owned(), font.clone(), Color32::WHITE).size().x;
    elide(painter, head, font, width - end_width) + end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captions_drop_whole_items_from_the_end() {
        let of = |room: f32| fitting_items("12 spikes  |  4 rows  |  1 px", room, |text| text.len() as f32);
        assert_eq!(
            (of(99.0), of(24.0), of(12.0)),
            ("12 spikes  |  4 rows  |  1 px", "12 spikes  |  4 rows", "12 spikes")
        );
        assert_eq!(of(3.0), "12 spikes", "the first one stays");
    }

    #[test]
    fn low_panels_drop_caption_then_toolbar() {
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
    fn the_number_at_the_end_of_a_name_stays() {
        egui::__run_test_ui(|ui| {
            let of = |width| elide_before(ui.painter(), "inhibitory #3401", " #", &small(ui), width);
            assert_eq!(of(500.0), "inhibitory #3401");
            let short = of(70.0);
            assert!(short.starts_with('i') && short.ends_with("… #3401"), "{short}");
        });
    }

    #[test]
    fn the_clip_rectangle_is_the_canvas() {
        egui::__run_test_ui(|ui| {
            let all = ui.available_rect_before_wrap();
            let canvas = panel_ui(ui, &Tokens::dark(), Some("n = 5"), |_| {});
            assert!(canvas.height() < all.height() - BAR && canvas.contains_rect(ui.clip_rect()));
        });
    }
}
