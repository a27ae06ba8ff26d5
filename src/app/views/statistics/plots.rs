//! Plots of the statistics: ISI, CV, power (spectrum or spectrogram) and correlations.

use super::{
    compute::{CV_WIDTH, Stats},
    sonogram,
};
use crate::{
    app::{
        kit::{
            self,
            color_scale::ScaleColors,
            heatmap::{AxisLabel, Heatmap, HeatmapTexture, HeatmapTitles, short},
            theme::Tokens,
        },
        views::{ViewCtx, connectivity::element_name},
    },
    sim::ElementSet,
};
use egui::{Align2, Color32, Mesh, Painter, Rect, Sense, Ui, Vec2, pos2};

/// Textures of the plots.
#[derive(Default)]
pub struct Pictures {
    power: sonogram::Sonogram,
    pairs: HeatmapTexture,
}

/// Draws the four plots; `noun` names the events, and `key` identifies the result.
pub fn ui(
    ui: &mut Ui,
    area: Rect,
    ctx: &mut ViewCtx<'_>,
    (set, noun): (&ElementSet, &str),
    stats: &Stats,
    bin_ms: f64,
    pictures: &mut Pictures,
    over_time: bool,
    key: u64,
) {
    let (middle, gap) = (area.center(), 6.0);
    let part = |left: bool, top: bool| {
        let x = if left { area.left()..=middle.x - gap } else { middle.x + gap..=area.right() };
        let y = if top { area.top()..=middle.y - gap } else { middle.y + gap..=area.bottom() };
        Rect::from_x_y_ranges(x, y)
    };
    intervals_ui(ui, part(true, true), ctx.tokens, stats, noun);
    cvs_ui(ui, part(false, true), ctx.tokens, (set, stats), noun);
    if over_time {
        sonogram::ui(ui, part(true, false), ctx, (stats, noun), &mut pictures.power, key);
    } else {
        power_ui(ui, part(true, false), ctx.tokens, stats, noun);
    }
    correlations_ui(ui, part(false, false), ctx, (set, noun), stats, bin_ms, &mut pictures.pairs, key);
}

/// Draws the title of a plot and a note. Returns the rectangle of the plot, or `None` if there is no room.
pub fn framed(ui: &Ui, area: Rect, tokens: &Tokens, title: &str, note: &str) -> Option<Rect> {
    if kit::is_tiny(area) {
        return None;
    }
    let painter = ui.painter_at(area);
    let title = painter.text(area.min + Vec2::new(8.0, 3.0), Align2::LEFT_TOP, title, kit::small(ui), tokens.text);
    let room = area.right() - title.right() - 18.0;
    let note = kit::elide(&painter, note, &kit::small(ui), room.max(0.0));
    painter.text(pos2(title.right() + 8.0, title.top()), Align2::LEFT_TOP, note, kit::small(ui), tokens.text_sub);
    Some(Rect::from_min_max(area.min + Vec2::new(44.0, 24.0), area.max - Vec2::new(10.0, 20.0)))
}

pub fn none_ui(painter: &Painter, plot: Rect, ui: &Ui, tokens: &Tokens, why: &str) {
    painter.text(plot.center(), Align2::CENTER_CENTER, why, kit::small(ui), tokens.text_sub);
}

fn bars(
    painter: &Painter,
    plot: Rect,
    (values, noun): (&[u32], &str),
    color: Color32,
    tokens: &Tokens,
    font: &egui::FontId,
) {
    let top = f64::from(values.iter().copied().max().unwrap_or(0).max(1)) * 1.05;
    let step = plot.width() / values.len().max(1) as f32;
    let mut mesh = Mesh::default();
    for (i, n) in values.iter().enumerate().filter(|(_, n)| **n > 0) {
        let left = plot.left() + i as f32 * step;
        let y = plot.bottom() - (f64::from(*n) / top) as f32 * plot.height();
        mesh.add_colored_rect(Rect::from_min_max(pos2(left + 0.5, y), pos2(left + step - 0.5, plot.bottom())), color);
    }
    painter.add(mesh);
    kit::y_axis(painter, plot, font, tokens, 0.0, top, noun);
}

fn intervals_ui(ui: &mut Ui, area: Rect, tokens: &Tokens, stats: &Stats, noun: &str) {
    let n: u64 = stats.isi.iter().map(|n| u64::from(*n)).sum();
    let note = format!("n = {}", kit::counted(n, "intervals"));
    let Some(plot) = framed(ui, area, tokens, "ISI", &note) else { return };
    let (painter, font) = (ui.painter_at(area), kit::mono(ui));
    if n == 0 {
        return none_ui(&painter, plot, ui, tokens, &format!("needs two {noun} of one of them"));
    }
    bars(&painter, plot, (&stats.isi, "intervals"), tokens.categorical[4].gamma_multiply(0.8), tokens, &font);
    log_axis(&painter, plot, &font, tokens, stats.isi_ends, "interval (ms)");
    hover(ui, plot, "Histogram of intervals", |place| {
        let (low, high) = stats.isi_ends;
        let bin = ((place * stats.isi.len() as f32) as usize).min(stats.isi.len() - 1);
        let edge = |i: usize| kit::value(low * (high / low).powf(i as f64 / stats.isi.len() as f64));
        let n = kit::counted(stats.isi[bin].into(), "intervals");
        format!("{} to {} ms\n{n}", edge(bin), edge(bin + 1))
    });
}

fn cvs_ui(ui: &mut Ui, area: Rect, tokens: &Tokens, (set, stats): (&ElementSet, &Stats), noun: &str) {
    let note = stats.mean_cv.map_or_else(
        || "n = 0".to_owned(),
        |(mean, n)| format!("n = {}, mean {mean:.3}", kit::counted(n as u64, &set.noun())),
    );
    let Some(plot) = framed(ui, area, tokens, "CV of ISI", &note) else { return };
    let (painter, font) = (ui.painter_at(area), kit::mono(ui));
    if stats.mean_cv.is_none() {
        return none_ui(&painter, plot, ui, tokens, &format!("no {} has three {noun}", set.singular()));
    }
    bars(&painter, plot, (&stats.cv, &set.noun()), tokens.categorical[2].gamma_multiply(0.8), tokens, &font);
    let most = CV_WIDTH * stats.cv.len() as f64;
    kit::x_axis(&painter, plot, &font, tokens, 0.0, most, "CV");
    hover(ui, plot, "Histogram of CVs", |place| {
        let bin = ((place * stats.cv.len() as f32) as usize).min(stats.cv.len() - 1);
        let from = CV_WIDTH * bin as f64;
        let to = if bin + 1 == stats.cv.len() { "∞".to_owned() } else { kit::value(from + CV_WIDTH) };
        format!("{} to {to}\n{}", kit::value(from), kit::counted(stats.cv[bin].into(), &set.noun()))
    });
}

fn power_ui(ui: &mut Ui, area: Rect, tokens: &Tokens, stats: &Stats, noun: &str) {
    let note = stats.spectrum.as_ref().map_or_else(String::new, |s| {
        let segment = kit::duration(s.segment as f64 * stats.sample_secs);
        format!("Hann {segment}, 50 % overlap, n = {}", s.n_segments)
    });
    let Some(plot) = framed(ui, area, tokens, "PSD of the mean rate", &note) else { return };
    let (painter, font) = (ui.painter_at(area), kit::mono(ui));
    let Some(spectrum) = &stats.spectrum else {
        return none_ui(&painter, plot, ui, tokens, &format!("needs 64 ms with {noun}"));
    };
    let points: Vec<(f64, f64)> = spectrum
        .frequencies
        .iter()
        .copied()
        .zip(spectrum.density.iter().copied())
        .skip(1)
        .filter(|p| p.1 > 0.0)
        .collect();
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return none_ui(&painter, plot, ui, tokens, "no power");
    };
    let (f0, f1) = (first.0, last.0.max(first.0 * 2.0));
    let bounds = points.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), p| (a.min(p.1), b.max(p.1)));
    let (p0, p1) = (bounds.0.max(bounds.1 * 1e-6), bounds.1 * 1.3);
    let place = |v: f64, a: f64, b: f64| ((v.max(a) / a).ln() / (b / a).ln().max(1e-9)) as f32;
    let at = |p: &(f64, f64)| {
        pos2(plot.left() + place(p.0, f0, f1) * plot.width(), plot.bottom() - place(p.1, p0, p1) * plot.height())
    };
    painter.line(points.iter().map(at).collect(), (1.25, tokens.categorical[1]));
    log_axis(&painter, plot, &font, tokens, (f0, f1), "frequency (Hz)");
    painter.vline(plot.left(), plot.y_range(), (1.0, tokens.line));
    for e in (p0.log10().ceil() as i32)..=(p1.log10().floor() as i32) {
        let y = plot.bottom() - place(10_f64.powi(e), p0, p1) * plot.height();
        painter.hline(plot.left()..=plot.left() + 3.0, y, (1.0, tokens.text_sub));
        let text = short(10_f64.powi(e));
        painter.text(pos2(plot.left() - 5.0, y), Align2::RIGHT_CENTER, text, font.clone(), tokens.text_sub);
    }
    painter.text(plot.left_top() + Vec2::new(6.0, 0.0), Align2::LEFT_TOP, "Hz²/Hz", font, tokens.text_sub);
    hover(ui, plot, "Power spectrum", |x| {
        let f = f0 * (f1 / f0).powf(f64::from(x));
        let nearest = points.iter().min_by(|a, b| (a.0 - f).abs().total_cmp(&(b.0 - f).abs()));
        nearest.map_or_else(String::new, |(f, p)| format!("{} Hz\n{} Hz²/Hz", kit::value(*f), kit::value(*p)))
    });
}

fn correlations_ui(
    ui: &mut Ui,
    area: Rect,
    ctx: &mut ViewCtx<'_>,
    (set, noun): (&ElementSet, &str),
    stats: &Stats,
    bin_ms: f64,
    picture: &mut HeatmapTexture,
    key: u64,
) {
    let c = &stats.correlations;
    let mean = if c.n_pairs > 0 {
        format!(", mean {:.3} of {}", c.mean, kit::counted(c.n_pairs as u64, "pairs"))
    } else {
        String::new()
    };
    let note = format!("{} most active, {bin_ms} ms bins{mean}", c.elements.len());
    if framed(ui, area, ctx.tokens, "Correlation", &note).is_none() {
        return;
    }
    if c.elements.len() < 2 {
        let painter = ui.painter_at(area);
        return none_ui(&painter, area, ui, ctx.tokens, &format!("needs two {} with {noun}", set.noun()));
    }
    let n = c.elements.len();
    let names: Vec<AxisLabel> =
        c.elements.iter().map(|e| AxisLabel { text: element_name(set, *e), color: None }).collect();
    // The diagonal is left out, because it is always 1.
    let values = c.matrix.iter().enumerate().map(|(i, r)| if i / n == i % n { f32::NAN } else { *r }).collect();
    let blank = vec![AxisLabel { text: String::new(), color: None }; n];
    let heat = Heatmap {
        rows: names,
        columns: blank,
        values,
        scale_colors: ScaleColors::Diverging,
        span: None,
        is_log: false,
    };
    let canvas = Rect::from_min_max(area.min + Vec2::new(0.0, 6.0), area.max);
    let titles = HeatmapTitles { values: "r".to_owned(), ..HeatmapTitles::default() };
    let places = heat.places_titled(ui, canvas, titles);
    let mut inside = ui.new_child(egui::UiBuilder::new().max_rect(area));
    inside.set_clip_rect(area.intersect(ui.clip_rect()));
    let response = ui.interact(places.cells, ui.scope_id().with("correlations"), Sense::click());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Correlations"));
    let hovered = response.hover_pos().and_then(|at| heat.at(&places, at));
    heat.paint(&inside, &places, picture, key, hovered, ctx.tokens);
    let Some((row, column)) = hovered else { return };
    let (a, b) = (c.elements[row], c.elements[column]);
    if response.clicked() {
        ctx.selection.replace(set.name, vec![a, b]);
    }
    let r = c.matrix[row * n + column];
    let r = if r.is_finite() { format!("r = {r:.4}") } else { "constant count".to_owned() };
    response.on_hover_text_at_pointer(format!("{} and {}\n{r}", element_name(set, a), element_name(set, b)));
}

fn log_axis(painter: &Painter, plot: Rect, font: &egui::FontId, tokens: &Tokens, (low, high): (f64, f64), title: &str) {
    painter.hline(plot.x_range(), plot.bottom(), (1.0, tokens.line));
    let at = pos2(plot.right(), plot.bottom() + 4.0);
    let title = painter.text(at, Align2::RIGHT_TOP, title, font.clone(), tokens.text_sub);
    for e in (low.log10() - 1e-6).ceil() as i32..=high.log10().floor() as i32 {
        let x = plot.left() + ((10_f64.powi(e) / low).ln() / (high / low).ln()) as f32 * plot.width();
        painter.vline(x, plot.bottom() - 3.0..=plot.bottom(), (1.0, tokens.text_sub));
        if x + 14.0 < title.left() {
            let text = short(10_f64.powi(e));
            painter.text(pos2(x, plot.bottom() + 4.0), Align2::CENTER_TOP, text, font.clone(), tokens.text_sub);
        }
    }
}

/// Shows a tooltip at the pointer. `text` takes the position of the pointer as a fraction of the width.
pub fn hover(ui: &mut Ui, plot: Rect, name: &str, text: impl FnOnce(f32) -> String) {
    let response = ui.interact(plot, ui.scope_id().with(name), Sense::hover());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, name));
    if let Some(at) = response.hover_pos() {
        let text = text(((at.x - plot.left()) / plot.width().max(1.0)).clamp(0.0, 1.0));
        response.on_hover_text_at_pointer(text);
    }
}
