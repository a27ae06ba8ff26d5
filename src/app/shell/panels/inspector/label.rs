//! Label of a parameter row with its badge, and its tooltip.

use super::search::Words;
use crate::{
    app::kit::{icons, text, theme::Tokens, widgets},
    params::{Apply, ParamSpec, Value, titles},
};
use egui::{
    Align, FontFamily, FontId, Label, Response, RichText, Sense, TextStyle, Ui,
    text::{LayoutJob, TextFormat},
};

/// Maximum number of characters of a unit after the value; longer units follow the label.
pub(super) const LONGEST_UNIT: usize = 5;

/// Data of a badge: the time at which an edit takes effect, whether an edit is pending, and the cost of a rebuild.
#[derive(Clone, Copy)]
pub(super) struct Badge<'a> {
    pub apply: Option<Apply>,
    pub is_pending: bool,
    pub cost: &'a str,
}

impl Badge<'_> {
    /// Returns the icon of parameters that are not applied while the simulation runs.
    const fn glyph(&self) -> Option<&'static str> {
        match self.apply {
            Some(Apply::Rewind) => Some(icons::REWIND),
            Some(Apply::Rebuild) => Some(icons::HAMMER),
            Some(Apply::Live | Apply::Data) | None => None,
        }
    }

    fn text(&self) -> String {
        let suffix = if self.cost.is_empty() { String::new() } else { format!(": {}", self.cost) };
        match (self.apply, self.is_pending) {
            (Some(Apply::Rebuild), true) => format!("Pending until a rebuild{suffix}"),
            (Some(Apply::Rebuild), false) => format!("Applied on rebuild{suffix}"),
            (Some(Apply::Rewind), true) => "Pending until a rewind to step 0".to_owned(),
            (Some(Apply::Rewind), false) => "Applied on rewind to step 0".to_owned(),
            (Some(Apply::Data), _) => "Applied while running, when the file is read".to_owned(),
            _ => "Applied while running".to_owned(),
        }
    }
}

/// Width of the badge with the space after it, points.
const BADGE: f32 = 16.0;

/// Returns the height of a row's label in a cell of a width; long labels have several lines.
pub(super) fn label_height(ui: &Ui, spec: &ParamSpec, badge: Badge<'_>, width: f32) -> f32 {
    let mut job = label_job(spec, &Tokens::of(ui.ctx()), &Words::default());
    job.wrap.max_width = if badge.glyph().is_some() { width - BADGE } else { width };
    ui.fonts_mut(|fonts| fonts.layout_job(job)).size().y
}

/// Draws the label of a row, with the words of a search highlighted.
pub(super) fn label_ui(ui: &mut Ui, spec: &ParamSpec, badge: Badge<'_>, words: &Words) -> Response {
    let t = Tokens::of(ui.ctx());
    ui.spacing_mut().item_spacing.x = BADGE - 12.0;
    if let Some(glyph) = badge.glyph() {
        let ink = if badge.is_pending { t.warn } else { Tokens::fade(t.text_sub, 0.45) };
        ui.label(icons::rich(glyph).size(12.0).color(ink)).on_hover_text(badge.text());
    }
    ui.add(Label::new(label_job(spec, &t, words)).wrap().sense(Sense::click()))
}

/// Draws the sentence of the documentation in which a search found its words.
pub(super) fn excerpt_ui(ui: &mut Ui, excerpt: &str, words: &Words) {
    let t = Tokens::of(ui.ctx());
    let (mut job, font) = (LayoutJob::default(), TextStyle::Small.resolve(ui.style()));
    words.append(&mut job, excerpt, 0.0, &TextFormat::simple(font, t.text_sub), &t);
    ui.add(Label::new(job).wrap());
}

/// Lays out the symbol with its index as a subscript, then the label.
fn label_job(spec: &ParamSpec, t: &Tokens, words: &Words) -> LayoutJob {
    let mut job = LayoutJob::default();
    let format = |size: f32, color, valign| TextFormat {
        font_id: FontId::new(size, FontFamily::Proportional),
        color,
        valign,
        ..TextFormat::default()
    };
    if !spec.symbol.is_empty() {
        let (base, index) = spec.symbol.split_once('_').unwrap_or((spec.symbol, ""));
        job.append(base, 0.0, format(12.5, t.text_strong, Align::Center));
        job.append(index, 0.0, format(9.5, t.text_strong, Align::BOTTOM));
        words.append(&mut job, &spec.label(), 7.0, &format(12.5, t.text_sub, Align::Center), t);
    } else {
        words.append(&mut job, &spec.label(), 0.0, &format(12.5, t.text, Align::Center), t);
    }
    if spec.unit.suffix().chars().count() > LONGEST_UNIT {
        words.append(&mut job, spec.unit.suffix(), 5.0, &format(10.0, t.text_sub, Align::Center), t);
    }
    job
}

/// Draws the tooltip. `path` is the name that formulas and the command line use.
pub(super) fn tooltip_ui(ui: &mut Ui, spec: &ParamSpec, path: &str, default: &Value, badge: Badge<'_>) {
    let t = Tokens::of(ui.ctx());
    ui.set_max_width(380.0);
    ui.label(RichText::new(spec.label()).family(widgets::semibold()).color(t.text_strong));
    ui.label(text::unwrap(spec.docs));
    if !spec.formula.is_empty() {
        ui.label(RichText::new(spec.formula).monospace().color(t.text));
    }
    ui.add_space(2.0);
    let unit = spec.unit.suffix();
    let mut facts = vec![format!("Default {}", titles::shown(spec, default))];
    if spec.kind.is_numeric() {
        facts.push(format!("{} to {} {unit}", text::number(spec.hard.0), text::number(spec.hard.1)));
    }
    if !spec.symbol.is_empty() {
        facts.push(format!("Symbol {}", spec.symbol));
    }
    ui.label(widgets::sub(ui, facts.join("  ·  ")).small());
    ui.label(widgets::sub(ui, format!("In formulas and on the command line: {path}")).small());
    if !spec.source.is_empty() {
        ui.label(widgets::sub(ui, format!("Default from {}", spec.source)).small());
    }
    let ink = if badge.glyph().is_some() { t.warn } else { t.text_sub };
    ui.label(RichText::new(badge.text()).small().color(ink));
}
