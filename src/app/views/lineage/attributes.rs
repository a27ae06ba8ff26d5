//! Colours of lines by an attribute of births and deaths: a scale for numbers, a palette for texts.

use super::{LineColor, Lineage, colors, forest::Forest, kit};
use crate::{
    app::{
        kit::legend::{self, LegendEntry},
        views::ViewCtx,
    },
    sim::{AttributeSpec, AttributeValue, Meaning, ProbeSpec, Shape},
};
use egui::{Align2, Color32, Rect, Ui, pos2};

/// Maximum number of texts in the legend; a last row counts the others.
const MAX_NAMES: usize = 10;
/// Height of a row of the legend, points.
const ROW: f32 = 15.0;

/// Converts an attribute to the specification of a field, for its colour scale and colour bar.
pub(super) fn as_probe(spec: &AttributeSpec) -> ProbeSpec {
    let shape = Shape::Field { over: "", range: (0.0, 1.0), meaning: Meaning::Number };
    ProbeSpec { name: spec.name, title: spec.title, docs: spec.docs, unit: spec.unit, shape, args: &[] }
}

/// Formats a value with its unit.
pub(super) fn text(value: &AttributeValue, spec: &AttributeSpec) -> String {
    match value {
        AttributeValue::Number(v) => kit::with_unit(f64::from(*v), spec.unit),
        AttributeValue::Text(text) => text.clone().into_owned(),
    }
}

/// Computes the attribute's value of each line: a number, or the index of a text; NaN for a line without the attribute. New texts
/// are appended to `texts`, so that known texts keep their colours.
pub(super) fn values(name: &str, forest: &Forest, values: &mut Vec<f32>, texts: &mut Vec<String>) {
    let mut value = |value: &AttributeValue| match value {
        AttributeValue::Number(v) => *v,
        AttributeValue::Text(text) => match texts.iter().position(|known| known == text) {
            Some(i) => i as f32,
            None => {
                texts.push(text.clone().into_owned());
                (texts.len() - 1) as f32
            }
        },
    };
    values.clear();
    values.extend(forest.lines.iter().map(|l| l.attributes.get(name).map_or(f32::NAN, &mut value)));
}

/// Returns the colour of the text with an index; the neutral colour for NaN.
pub(super) fn text_color(value: f32, ctx: &ViewCtx<'_>) -> Color32 {
    if value.is_finite() { colors::categorical(value as usize, ctx.tokens) } else { ctx.tokens.other }
}

/// Returns the legend entries of the texts.
fn entries(texts: &[String], ctx: &ViewCtx<'_>) -> Vec<LegendEntry> {
    let entry = |(i, text): (usize, &String)| LegendEntry::new(text.clone(), colors::categorical(i, ctx.tokens));
    texts.iter().enumerate().map(entry).collect()
}

/// Draws all texts above the plot of a figure. Returns the rest of the canvas.
pub(super) fn figure_legend(ui: &Ui, canvas: Rect, texts: &[String], ctx: &ViewCtx<'_>) -> Rect {
    let painter = ui.painter_at(canvas);
    legend::figure_legend(&painter, canvas.shrink(4.0), &kit::small(ui), ctx.tokens, &entries(texts, ctx)).expand(4.0)
}

/// Draws the texts with their colours at the top left of the plot. The last row opens the list of all texts.
pub(super) fn legend(ui: &mut Ui, plot: Rect, spec: &AttributeSpec, texts: &[String], ctx: &ViewCtx<'_>) {
    let (font, t, painter) = (kit::small(ui), ctx.tokens, ui.painter_at(plot));
    let n_more = texts.len().saturating_sub(MAX_NAMES);
    let mut rows = vec![(None, spec.label().into_owned())];
    let shown = texts.iter().take(MAX_NAMES).enumerate();
    rows.extend(shown.map(|(i, text)| (Some(colors::categorical(i, t)), text.clone())));
    let width = |text: &String| painter.layout_no_wrap(text.clone(), font.clone(), t.text).size().x;
    let widest = rows.iter().map(|(_, text)| width(text)).fold(60.0, f32::max);
    let n_rows = rows.len() + usize::from(n_more > 0);
    let size = egui::vec2(widest + 26.0, n_rows as f32 * ROW + 6.0);
    let area = Rect::from_min_size(plot.min + egui::vec2(4.0, 4.0), size);
    painter.rect_filled(area, 4.0, t.panel.gamma_multiply(0.9));
    for (i, (color, text)) in rows.into_iter().enumerate() {
        let y = area.top() + 10.0 + i as f32 * ROW;
        if let Some(color) = color {
            painter.circle_filled(pos2(area.left() + 10.0, y), 3.5, color);
        }
        let (x, ink) = if color.is_some() { (20.0, t.text) } else { (6.0, t.text_sub) };
        painter.text(pos2(area.left() + x, y), Align2::LEFT_CENTER, text, font.clone(), ink);
    }
    if n_more > 0 {
        let corner = pos2(area.left() + 16.0, area.bottom() - ROW - 3.0);
        let at = Rect::from_min_max(corner, pos2(area.right(), area.bottom() - 3.0));
        legend::more_ui(ui, at, t, &format!("+{n_more} more"), &entries(texts, ctx));
    }
}

impl Lineage {
    /// Returns the attribute that the colours show; `None` if they show no attribute.
    pub(super) fn color_attribute(&self, ctx: &ViewCtx<'_>) -> Option<&'static AttributeSpec> {
        let LineColor::Attribute(name) = self.color else { return None };
        Self::attributes(ctx.schema).iter().find(|spec| spec.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::views::lineage::forest::tests::birth;
    use crate::sim::LifeEvent;

    #[test]
    fn texts_keep_their_colour_while_lines_come_in() {
        let event = |step, child, layer: Option<&str>| {
            let LifeEvent::Birth(mut birth) = birth(step, child, &[], child as u32) else { unreachable!() };
            birth.attributes.extend(layer.map(|l| ("layer".into(), AttributeValue::Text(l.to_owned().into()))));
            LifeEvent::Birth(birth)
        };
        let (mut forest, mut of_lines, mut texts) = (Forest::default(), vec![], vec![]);
        forest.absorb(&[event(0, 0, Some("deep")), event(0, 1, None)]);
        values("layer", &forest, &mut of_lines, &mut texts);
        forest.absorb(&[event(5, 2, Some("early")), event(6, 3, Some("deep"))]);
        values("layer", &forest, &mut of_lines, &mut texts);
        assert!(of_lines[1].is_nan());
        assert_eq!(([of_lines[0], of_lines[2], of_lines[3]], texts.len()), ([0.0, 1.0, 0.0], 2));
    }
}
