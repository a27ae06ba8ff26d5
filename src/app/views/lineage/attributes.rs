//! Colours of lines by an attribute of their births and deaths: a scale for numbers, a palette for texts.

use super::{Lineage, colors, forest::Forest, kit};
use crate::{
    app::views::ViewCtx,
    sim::{AttributeSpec, AttributeValue, Meaning, ProbeSpec, Shape},
};
use egui::{Align2, Color32, Painter, Rect, Ui, pos2};

/// Texts in the legend at most; others are counted.
const MAX_NAMES: usize = 10;

/// The values of one attribute.
#[derive(Default)]
pub(super) struct AttributeColors {
    /// The attribute and the generation of the lines.
    of: Option<(&'static str, u64)>,
    /// Distinct texts, in order of their appearance; empty for numbers.
    texts: Vec<String>,
}

/// An attribute as a field, for its colour scale and its bar.
pub(super) fn as_probe(spec: &AttributeSpec) -> ProbeSpec {
    let shape = Shape::Field { over: "", range: (0.0, 1.0), meaning: Meaning::Number };
    ProbeSpec { name: spec.name, title: spec.title, docs: spec.docs, unit: spec.unit, shape, args: &[] }
}

/// A value as text.
pub(super) fn text(value: &AttributeValue, spec: &AttributeSpec) -> String {
    match value {
        AttributeValue::Number(v) => kit::with_unit(f64::from(*v), spec.unit),
        AttributeValue::Text(text) => text.clone().into_owned(),
    }
}

impl AttributeColors {
    /// Values of all lines: numbers, or indices of texts; NaN where a line has none.
    fn update(&mut self, spec: &AttributeSpec, forest: &Forest, generation: u64, values: &mut Vec<f32>) {
        if self.of == Some((spec.name, generation)) && values.len() == forest.lines.len() {
            return;
        }
        if self.of.is_none_or(|(name, _)| name != spec.name) {
            self.texts.clear();
        }
        self.of = Some((spec.name, generation));
        let texts = &mut self.texts;
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
        values.extend(forest.lines.iter().map(|l| l.attributes.get(spec.name).map_or(f32::NAN, &mut value)));
    }

    /// Whether the values are texts.
    pub fn has_texts(&self) -> bool {
        !self.texts.is_empty()
    }

    /// The colour of a text; `None` for numbers.
    pub fn of_text(&self, value: f32, ctx: &ViewCtx<'_>) -> Option<Color32> {
        let is_known = value.is_finite() && !self.texts.is_empty();
        (!self.texts.is_empty())
            .then(|| if is_known { colors::categorical(value as usize, ctx.tokens) } else { ctx.tokens.other })
    }

    /// The texts with their colours, at the top left of the plot.
    pub fn legend(&self, ui: &Ui, painter: &Painter, plot: Rect, spec: &AttributeSpec, ctx: &ViewCtx<'_>) {
        let (font, t) = (kit::small(ui), ctx.tokens);
        let mut rows = vec![(None, spec.label().into_owned())];
        let shown = self.texts.iter().take(MAX_NAMES).enumerate();
        rows.extend(shown.map(|(i, text)| (Some(colors::categorical(i, t)), text.clone())));
        if self.texts.len() > MAX_NAMES {
            rows.push((None, format!("+{} more", self.texts.len() - MAX_NAMES)));
        }
        let width = |text: &String| painter.layout_no_wrap(text.clone(), font.clone(), t.text).size().x;
        let widest = rows.iter().map(|(_, text)| width(text)).fold(0.0, f32::max);
        let size = egui::vec2(widest + 26.0, rows.len() as f32 * 15.0 + 6.0);
        let area = Rect::from_min_size(plot.min + egui::vec2(4.0, 4.0), size);
        painter.rect_filled(area, 4.0, t.panel.gamma_multiply(0.9));
        for (i, (color, text)) in rows.into_iter().enumerate() {
            let y = area.top() + 10.0 + i as f32 * 15.0;
            if let Some(color) = color {
                painter.circle_filled(pos2(area.left() + 10.0, y), 3.5, color);
            }
            let (x, ink) = if color.is_some() { (20.0, t.text) } else { (6.0, t.text_sub) };
            painter.text(pos2(area.left() + x, y), Align2::LEFT_CENTER, text, font.clone(), ink);
        }
    }
}

impl Lineage {
    /// The attribute that the colours show.
    pub(super) fn color_attribute(&self, ctx: &ViewCtx<'_>) -> Option<&'static AttributeSpec> {
        let name = self.attribute?;
        Self::attributes(ctx.schema).iter().find(|spec| spec.name == name)
    }

    /// Computes the values of the chosen attribute.
    pub(super) fn update_attribute(&mut self, ctx: &ViewCtx<'_>) {
        if let Some(spec) = self.color_attribute(ctx) {
            self.attribute_colors.update(spec, &self.forest, self.generation, &mut self.values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::forest::tests::birth, *};
    use crate::sim::LifeEvent;

    #[test]
    fn texts_keep_their_colour_while_lines_come_in() {
        let spec = AttributeSpec { name: "layer", title: "", docs: "", unit: "" };
        let event = |step, child, layer: Option<&str>| {
            let LifeEvent::Birth(mut birth) = birth(step, child, &[], child as u32) else { unreachable!() };
            birth.attributes.extend(layer.map(|l| ("layer".into(), AttributeValue::Text(l.to_owned().into()))));
            LifeEvent::Birth(birth)
        };
        let (mut forest, mut colors, mut values) = (Forest::default(), AttributeColors::default(), vec![]);
        forest.absorb(&[event(0, 0, Some("deep")), event(0, 1, None)]);
        colors.update(&spec, &forest, 1, &mut values);
        forest.absorb(&[event(5, 2, Some("early")), event(6, 3, Some("deep"))]);
        colors.update(&spec, &forest, 2, &mut values);
        assert!(values[1].is_nan());
        assert_eq!(([values[0], values[2], values[3]], colors.texts.len()), ([0.0, 1.0, 0.0], 2));
    }
}
