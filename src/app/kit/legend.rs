//! Legends that list every entry: a popup behind the label that counts entries without room, and rows above a figure.

use super::{elide, legend_row_ui, small, theme::Tokens};
use egui::{
    Align2, Color32, FontId, Painter, Popup, PopupCloseBehavior, Rect, RichText, ScrollArea, Ui, Vec2, WidgetInfo,
    pos2, vec2,
};

/// Height of a row, points.
const ROW: f32 = 17.0;
/// Widths of the list of a popup, points.
const LIST: (f32, f32) = (150.0, 320.0);
/// Maximum height of the list of a popup, points.
const LIST_HEIGHT: f32 = 360.0;
/// Width of an entry in a figure in addition to its text, points: dot and margin.
const BESIDE: f32 = 26.0;
/// Maximum fraction of an area that the legend of a figure takes; smaller text replaces a higher one.
const SHARE: f32 = 0.5;
/// Minimum size of the text in the legend of a figure, as a fraction of that of captions.
const SMALLEST: f32 = 0.6;

/// Entry of a legend.
pub struct LegendEntry {
    pub name: String,
    pub color: Color32,
    /// Value or count beside the name; empty for none.
    pub value: String,
    /// Whether the data of the entry are drawn.
    pub is_shown: bool,
}

impl LegendEntry {
    /// Creates an entry whose data are drawn, without a value.
    pub fn new(name: impl Into<String>, color: Color32) -> Self {
        Self { name: name.into(), color, value: String::new(), is_shown: true }
    }
}

/// Draws the label that counts the entries without room: `+8 more`. A click opens the list of all entries. Returns the
/// index of an entry that was clicked in the list; `None` if none was.
pub fn more_ui(ui: &mut Ui, area: Rect, tokens: &Tokens, text: &str, entries: &[LegendEntry]) -> Option<usize> {
    let button = egui::Button::new(RichText::new(text).small().color(tokens.text_sub)).frame(false).truncate();
    // The label begins where the names of the rows begin.
    let response = ui.scope_builder(egui::UiBuilder::new().max_rect(area), |ui| ui.add(button)).inner;
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, format!("{text}: show the whole legend")));
    let response = response.on_hover_text("Click: the whole legend");
    let popup = Popup::menu(&response).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    popup.show(|ui| list_ui(ui, tokens, entries)).and_then(|shown| shown.inner)
}

/// Draws all entries below each other. Returns the index of the clicked one.
fn list_ui(ui: &mut Ui, tokens: &Tokens, entries: &[LegendEntry]) -> Option<usize> {
    let measure = |text: &str| ui.painter().layout_no_wrap(text.to_owned(), small(ui), Color32::WHITE).size().x;
    let widths = entries.iter().map(|entry| measure(&entry.name) + measure(&entry.value) + 48.0);
    let width = widths.fold(LIST.0, f32::max).min(LIST.1);
    ui.spacing_mut().item_spacing = Vec2::ZERO;
    let mut clicked = None;
    ScrollArea::vertical().max_height(LIST_HEIGHT).show_rows(ui, ROW, entries.len(), |ui, range| {
        for i in range {
            let LegendEntry { name, color, value, is_shown } = &entries[i];
            let row = legend_row_ui(ui, tokens, *color, name, value, *is_shown, width);
            if row.on_hover_text(name).clicked() {
                clicked = Some(i);
            }
        }
    });
    clicked
}

/// Draws all entries in as many rows as they need along the upper edge of a figure's area. Returns the area below them.
pub fn figure_legend(painter: &Painter, area: Rect, font: &FontId, tokens: &Tokens, entries: &[LegendEntry]) -> Rect {
    if entries.is_empty() {
        return area;
    }
    let sizes = (0..=4).map(|i| font.size * (1.0 - (1.0 - SMALLEST) * i as f32 / 4.0));
    let layouts = sizes.map(|size| Layout::of(painter, area, FontId { size, ..font.clone() }, entries));
    let fits = |layout: &Layout| layout.height <= area.height() * SHARE;
    let Some(layout) = layouts.reduce(|larger, smaller| if fits(&larger) { larger } else { smaller }) else {
        return area;
    };
    for ((at, text), entry) in layout.places.iter().zip(entries) {
        let middle = layout.row / 2.0;
        painter.circle_filled(*at + vec2(7.0, middle), layout.font.size * 0.32, entry.color);
        let left = *at + vec2(14.0, middle);
        painter.text(left, Align2::LEFT_CENTER, text, layout.font.clone(), tokens.text);
    }
    area.with_min_y((area.top() + layout.height + 2.0).min(area.bottom()))
}

/// Places of the entries of a figure's legend.
struct Layout {
    font: FontId,
    /// Left upper corner and text of each entry.
    places: Vec<(egui::Pos2, String)>,
    /// Heights of a row and of all rows, points.
    row: f32,
    height: f32,
}

impl Layout {
    fn of(painter: &Painter, area: Rect, font: FontId, entries: &[LegendEntry]) -> Self {
        let row = font.size * 1.4;
        let (mut x, mut y) = (area.left(), area.top());
        let place = |entry: &LegendEntry| {
            let text = match entry.value.is_empty() {
                true => entry.name.clone(),
                false => format!("{} {}", entry.name, entry.value),
            };
            let text = elide(painter, &text, &font, area.width() - BESIDE);
            let width = painter.layout_no_wrap(text.clone(), font.clone(), Color32::WHITE).size().x + BESIDE;
            if x + width > area.right() && x > area.left() {
                (x, y) = (area.left(), y + row);
            }
            let at = pos2(x, y);
            x += width;
            (at, text)
        };
        let places = entries.iter().map(place).collect();
        Self { places, row, height: y + row - area.top(), font }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All names are in the area, below each other where they do not fit side by side, and smaller where there are many.
    #[test]
    fn the_legend_of_a_figure_lists_every_entry() {
        egui::__run_test_ui(|ui| {
            let (area, tokens) = (Rect::from_min_size(pos2(10.0, 20.0), vec2(200.0, 160.0)), Tokens::light());
            let entries = |n: usize| (0..n).map(|i| LegendEntry::new(format!("class {i}"), tokens.text)).collect();
            for n in [1, 8, 40] {
                let all: Vec<LegendEntry> = entries(n);
                let layout = Layout::of(ui.painter(), area, FontId::proportional(11.0), &all);
                assert_eq!(layout.places.len(), n);
                assert!(layout.places.iter().all(|(at, _)| area.contains(*at) || n > 8), "{n}");
                let rest = figure_legend(ui.painter(), area, &FontId::proportional(11.0), &tokens, &all);
                assert!(rest.top() > area.top() && rest.bottom() == area.bottom(), "{n}: {rest:?}");
            }
            let few = figure_legend(ui.painter(), area, &FontId::proportional(11.0), &tokens, &entries(2));
            assert!(few.height() > area.height() * 0.85, "one row: {few:?}");
        });
    }
}
