//! Sequence of tokens as text, coloured by a value or by a category. A tooltip lists the most probable candidates.

use super::{
    ViewCtx, ViewDeclaration,
    single_probe::{Notice, ProbeContents, SingleProbe},
};
use crate::{
    app::{
        document::{features::has_probe, layout::Page},
        kit::{
            self,
            color_scale::{ColorScale, ScaleColors},
            colormap::Colormap,
            colors,
            heatmap::ink_on,
            icons,
            theme::Tokens as Theme,
        },
    },
    sim::{ProbeSpec, Reading, Shape, Tokens},
};
use egui::{Align2, Color32, FontId, Rect, ScrollArea, Sense, TextStyle, Ui, UiBuilder, pos2, vec2};
use std::sync::Arc;

/// Space around the text of a token, points.
const PAD: egui::Vec2 = vec2(2.0, 2.0);
/// Width of the legend, points.
const LEGEND: f32 = 120.0;

#[derive(Default)]
pub struct TokenText {
    by_category: bool,
    tokens: Option<Arc<Tokens>>,
}

/// Returns the text of a token with visible white space.
fn shown(text: &str) -> String {
    match text {
        " " => "␣".to_owned(),
        "\n" => "⏎".to_owned(),
        "\t" => "⇥".to_owned(),
        other => other.replace('\n', "⏎").replace('\t', "⇥"),
    }
}

/// Returns the areas of tokens of these widths in lines of a width, and the total height.
fn places(widths: impl Iterator<Item = f32>, width: f32, line: f32) -> (Vec<Rect>, f32) {
    let (mut x, mut y) = (0.0, 0.0);
    let place = |w: f32| {
        if x > 0.0 && x + w > width {
            (x, y) = (0.0, y + line + 2.0);
        }
        let rect = Rect::from_min_size(pos2(x, y), vec2(w, line));
        x += w + 1.0;
        rect
    };
    let all: Vec<Rect> = widths.map(place).collect();
    (all, y + line)
}

impl TokenText {
    /// Returns the tokens if there are any.
    fn shown(&self) -> Option<&Arc<Tokens>> {
        self.tokens.as_ref().filter(|tokens| !tokens.texts.is_empty())
    }

    fn is_by_category(&self, tokens: &Tokens) -> bool {
        (self.by_category || tokens.values.is_empty()) && !tokens.categories.is_empty()
    }

    fn scale(tokens: &Tokens, probe: &ProbeSpec, ctx: &ViewCtx<'_>) -> Option<ColorScale> {
        let colors = ScaleColors::Map(Colormap::default());
        let range = colors.range(&tokens.values, false)?;
        Some(ColorScale::new(colors, false, range, ctx.color_scales.of(probe.name).range, ctx.tokens))
    }

    fn text_ui(
        &self,
        ui: &mut Ui,
        tokens: &Tokens,
        color: &dyn Fn(usize) -> Color32,
        describe: &dyn Fn(usize) -> String,
        theme: &Theme,
    ) {
        let font: FontId = TextStyle::Monospace.resolve(ui.style());
        let line = ui.fonts_mut(|fonts| fonts.row_height(&font)) + 2.0 * PAD.y;
        let texts: Vec<String> = tokens.texts.iter().map(|text| shown(text)).collect();
        let widths: Vec<f32> = texts
            .iter()
            .map(|text| ui.painter().layout_no_wrap(text.clone(), font.clone(), theme.text).size().x + 2.0 * PAD.x)
            .collect();
        let (rects, height) = places(widths.into_iter(), ui.available_width(), line);
        let (area, response) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
        let all = tokens.texts.concat();
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, all.clone()));
        let hovered = response.hover_pos();
        let mut under = None;
        for (i, rect) in rects.iter().enumerate() {
            let rect = rect.translate(area.min.to_vec2());
            if !ui.is_rect_visible(rect) {
                continue;
            }
            let ground = color(i);
            ui.painter().rect_filled(rect, 2.0, ground);
            ui.painter().text(rect.min + PAD, Align2::LEFT_TOP, &texts[i], font.clone(), ink_on(ground, theme));
            if hovered.is_some_and(|at| rect.contains(at)) {
                ui.painter().rect_stroke(rect, 2.0, (1.5, theme.text_strong), egui::StrokeKind::Outside);
                under = Some(i);
            }
        }
        if let Some(i) = under {
            response.on_hover_text_at_pointer(describe(i));
        }
    }
}

/// Returns the tooltip of a token: its value, category and candidates.
fn describe(tokens: &Tokens, i: usize, probe: &ProbeSpec) -> String {
    let Shape::Tokens { values, categories } = probe.shape else { return String::new() };
    let mut lines = vec![format!("{}  (token {i})", shown(&tokens.texts[i]))];
    lines.extend(tokens.values.get(i).map(|v| format!("{values} {}", kit::with_unit((*v).into(), probe.unit))));
    let name = tokens.categories.get(i).and_then(|c| tokens.names.get(*c as usize));
    lines.extend(name.map(|name| format!("{categories}: {name}")));
    for (text, p) in tokens.candidates.get(i).into_iter().flatten() {
        lines.push(format!("{:>5.1} %  {}", p * 100.0, shown(text)));
    }
    lines.join("\n")
}

impl ProbeContents for TokenText {
    const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "tokens",
        title: "Tokens",
        icon: icons::LIST,
        help: "# Tokens\n\nA sequence of tokens, coloured by a value such as the loss, or by a category such as the \
         expert. Rest the \
         pointer on a token to see both, and the likeliest candidates with their probabilities.",
        pages: &[Page::Simulate, Page::Explore],
        fits: |schema| has_probe(schema, Self::is_shown),
        ..ViewDeclaration::of::<SingleProbe<Self>>()
    };
    const MENU: &'static str = "Tokens";
    const NO_PROBE: [&'static str; 2] = ["No tokens", "This simulation publishes no tokens"];

    fn is_shown(shape: &Shape) -> bool {
        matches!(shape, Shape::Tokens { .. })
    }

    fn clear(&mut self) {
        self.tokens = None;
    }

    fn take(&mut self, reading: &Reading) {
        if let Reading::Tokens(tokens) = reading {
            self.tokens = Some(tokens.clone());
        }
    }

    fn range(&self) -> Option<(f32, f32)> {
        ScaleColors::Map(Colormap::default()).range(&self.tokens.as_ref()?.values, false)
    }

    fn caption(&mut self, _: &ProbeSpec, ctx: &ViewCtx<'_>) -> String {
        let tokens = self.shown();
        let n = tokens.map_or(0, |tokens| tokens.texts.len());
        let step = tokens.map_or(String::new(), |tokens| format!("  |  {}", ctx.step_name(tokens.step)));
        format!("{}{step}", kit::counted(n as u64, "tokens"))
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, probe: &ProbeSpec) {
        let Shape::Tokens { values, categories } = probe.shape else { return };
        if !values.is_empty() && !categories.is_empty() {
            let options = [(false, values.to_owned()), (true, categories.to_owned())];
            kit::choice_ui(ui, ctx.tokens, "Colour", &mut self.by_category, &options);
        }
        let Some(tokens) = self.shown() else { return };
        if let Some(range) = self.range().filter(|_| !self.is_by_category(tokens)) {
            ctx.color_scales.range_ui(ui, probe.name, range);
        }
        if ui.button("Copy").on_hover_text("Copies the text").clicked() {
            ui.copy_text(tokens.texts.concat());
        }
    }

    fn notice(&self, _: &ProbeSpec, _: &ViewCtx<'_>) -> Option<Notice> {
        self.shown().is_none().then_some(Notice::NeedsRun("No tokens yet", "Run to see the tokens"))
    }

    fn contents_ui(&mut self, ui: &mut Ui, canvas: Rect, probe: &ProbeSpec, ctx: &mut ViewCtx<'_>) {
        let Some(tokens) = self.shown().cloned() else { return };
        let theme = ctx.tokens;
        let scale = Self::scale(&tokens, probe, ctx).filter(|_| !self.is_by_category(&tokens));
        let has_legend = canvas.width() > 3.0 * LEGEND;
        let right = if has_legend { LEGEND } else { 10.0 };
        let area = Rect::from_min_max(canvas.min + vec2(10.0, 8.0), canvas.max - vec2(right, 4.0));
        let color = |i: usize| match &scale {
            Some(scale) => tokens.values.get(i).map_or(theme.panel, |value| scale.color(*value)),
            None => tokens.categories.get(i).map_or(theme.panel, |c| colors::categorical(*c as usize, theme)),
        };
        ui.scope_builder(UiBuilder::new().max_rect(area), |ui| {
            ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                self.text_ui(ui, &tokens, &color, &|i| describe(&tokens, i, probe), theme);
            });
        });
        let legend =
            Rect::from_min_max(pos2(canvas.right() - LEGEND + 12.0, canvas.top() + 22.0), canvas.max - vec2(8.0, 10.0));
        match scale.filter(|_| has_legend) {
            Some(scale) => {
                let bar = Rect::from_min_size(legend.min + vec2(8.0, 0.0), vec2(8.0, legend.height().min(180.0)));
                scale.bar(ui, bar, probe.unit, scale.beyond(&tokens.values), theme);
            }
            None if has_legend => {
                let font = kit::small(ui);
                for (i, name) in tokens.names.iter().enumerate() {
                    let at = legend.min + vec2(0.0, i as f32 * 16.0 - 12.0);
                    if at.y + 12.0 > legend.bottom() {
                        break;
                    }
                    let swatch = Rect::from_min_size(at, vec2(10.0, 10.0));
                    ui.painter().rect_filled(swatch, 2.0, colors::categorical(i, theme));
                    let text = kit::elide(ui.painter(), name, &font, legend.width() - 16.0);
                    ui.painter().text(at + vec2(16.0, 5.0), Align2::LEFT_CENTER, text, font.clone(), theme.text_sub);
                }
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_wrap_and_are_described() {
        let (rects, height) = places([40.0, 40.0, 40.0, 200.0].into_iter(), 100.0, 10.0);
        assert_eq!(rects.iter().map(|r| r.min.y).collect::<Vec<_>>(), [0.0, 0.0, 12.0, 24.0]);
        assert_eq!(height, 34.0);
        let shape = Shape::Tokens { values: "loss", categories: "expert" };
        let probe = ProbeSpec { name: "t", title: "", docs: "", unit: "nat", shape, args: &[] };
        let tokens = Tokens {
            texts: vec![" ".into()],
            values: vec![0.5],
            names: vec!["Expert 3".into()],
            categories: vec![0],
            candidates: vec![vec![("e".into(), 0.5)]],
            ..Tokens::default()
        };
        let text = describe(&tokens, 0, &probe);
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            ["␣  (token 0)", "loss 0.5 nat", "expert: Expert 3", " 50.0 %  e"]
        );
    }
}
