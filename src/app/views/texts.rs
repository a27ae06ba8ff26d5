//! Texts of the simulation: generated samples with their headers, or logs. They can be searched and copied.

use super::{
    ViewCtx, ViewDeclaration,
    single_probe::{Notice, ProbeContents, SingleProbe},
};
use crate::{
    app::{
        document::{features::has_probe, layout::Page},
        kit::{self, icons, theme::Tokens},
    },
    sim::{ProbeSpec, Reading, Shape, TextSample},
};
use egui::{
    FontId, Rect, RichText, ScrollArea, TextStyle, Ui, UiBuilder,
    text::{LayoutJob, TextFormat},
};
use std::collections::VecDeque;

/// Maximum number of texts in memory; older ones are dropped.
const MAX_SAMPLES: usize = 400;
/// Maximum number of bytes of all texts in memory.
const MAX_CHARS: usize = 1 << 20;
/// Maximum number of bytes of a log in memory. A longer one loses its older half.
const MAX_LOG: usize = 1 << 17;

/// Minimum number of bytes of a block. Blocks are laid out separately, so that only the last block of a growing text is laid out
/// again.
const BLOCK: usize = 1 << 12;

/// Text in blocks that begin at line starts.
struct Blocks {
    step: u64,
    title: String,
    blocks: VecDeque<String>,
    n_bytes: usize,
}

impl Blocks {
    fn new(TextSample { step, title, text }: TextSample) -> Self {
        let mut all = Self { step, title, blocks: VecDeque::new(), n_bytes: 0 };
        all.append(&text);
        all
    }

    fn append(&mut self, mut text: &str) {
        self.n_bytes += text.len();
        while !text.is_empty() {
            let is_open = |last: &&mut String| last.len() < BLOCK || !last.ends_with('\n');
            let room = match self.blocks.back_mut().filter(is_open) {
                Some(last) => BLOCK.saturating_sub(last.len()),
                None => {
                    self.blocks.push_back(String::new());
                    BLOCK
                }
            };
            let line_end = text.bytes().skip(room.saturating_sub(1)).position(|byte| byte == b'\n');
            let end = line_end.map_or(text.len(), |at| room.saturating_sub(1) + at + 1);
            if let Some(last) = self.blocks.back_mut() {
                last.push_str(&text[..end]);
            }
            text = &text[end..];
        }
    }

    /// Returns the blocks without the empty lines at the start and the end of the text, and without the newlines between blocks.
    fn trimmed(&self) -> Vec<&str> {
        let is_end = |c: char| matches!(c, '\n' | '\r');
        let has_text = |block: &String| block.contains(|c| !is_end(c));
        let first = self.blocks.iter().position(has_text).unwrap_or(0);
        let end = self.blocks.iter().rposition(has_text).map_or(0, |last| last + 1);
        let inner = self.blocks.range(first..end).map(|block| block.strip_suffix('\n').unwrap_or(block));
        let mut parts: Vec<&str> = inner.collect();
        if let Some(first) = parts.first_mut() {
            *first = first.trim_start_matches(is_end);
        }
        if let Some(last) = parts.last_mut() {
            *last = last.trim_end_matches(is_end);
        }
        parts
    }

    fn text(&self) -> String {
        self.blocks.iter().map(String::as_str).collect()
    }
}

/// The text view.
pub struct Texts {
    samples: VecDeque<Blocks>,
    n_chars: usize,
    n_dropped: usize,
    /// Whether older lines of a log were dropped.
    is_cut: bool,
    query: String,
    is_following: bool,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            samples: VecDeque::new(),
            n_chars: 0,
            n_dropped: 0,
            is_cut: false,
            query: String::new(),
            is_following: true,
        }
    }
}

impl Texts {
    /// Adds a text, or appends to the last one if step and title are equal.
    fn add(&mut self, part: TextSample) {
        self.n_chars += part.text.len();
        match self.samples.back_mut().filter(|last| (last.step, &last.title) == (part.step, &part.title)) {
            Some(last) => last.append(&part.text),
            None => self.samples.push_back(Blocks::new(part)),
        }
        while self.samples.len() > MAX_SAMPLES || (self.n_chars > MAX_CHARS && self.samples.len() > 1) {
            self.n_chars -= self.samples.pop_front().map_or(0, |s| s.n_bytes);
            self.n_dropped += 1;
        }
        self.shorten_log();
    }

    /// Drops the older half of a log that is too long, in whole blocks.
    fn shorten_log(&mut self) {
        let Some(last) = self.samples.back_mut().filter(|last| last.title.is_empty() && last.n_bytes > MAX_LOG) else {
            return;
        };
        while last.n_bytes > MAX_LOG / 2 + 2 * BLOCK && last.blocks.len() > 1 {
            let n = last.blocks.pop_front().map_or(0, |block| block.len());
            last.n_bytes -= n;
            self.n_chars -= n;
            self.is_cut = true;
        }
    }

    /// Returns the texts that contain the query, up to the time cursor if there is one.
    fn found(&self, until: Option<f64>) -> Vec<&Blocks> {
        let query = self.query.trim().to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&query);
        let is_past = |s: &&Blocks| until.is_none_or(|until| s.step as f64 <= until);
        let is_found = |s: &&Blocks| query.is_empty() || s.blocks.iter().any(|block| has(block)) || has(&s.title);
        self.samples.iter().filter(is_past).filter(is_found).collect()
    }
}

/// Formats a sample as text: its header, then its text.
fn as_text(sample: &Blocks) -> String {
    if sample.title.is_empty() { sample.text() } else { format!("{}\n{}\n", sample.title, sample.text()) }
}

/// Lays out a text with the matches of a query marked.
fn marked(text: &str, query: &str, font: &FontId, tokens: &Tokens, width: f32) -> LayoutJob {
    let plain = TextFormat::simple(font.clone(), tokens.text);
    let mark = TextFormat { background: Tokens::fade(tokens.warn, 0.45), color: tokens.text_strong, ..plain.clone() };
    let mut job = LayoutJob { wrap: egui::text::TextWrapping::wrap_at_width(width), ..LayoutJob::default() };
    let (lower, query) = (text.to_lowercase(), query.trim().to_lowercase());
    // Matches are not marked if the text has another length in lower case.
    if query.is_empty() || lower.len() != text.len() {
        job.append(text, 0.0, plain);
        return job;
    }
    let mut rest = 0;
    for (at, found) in lower.match_indices(&query) {
        let end = at + found.len();
        if at >= rest && text.is_char_boundary(at) && text.is_char_boundary(end) {
            job.append(&text[rest..at], 0.0, plain.clone());
            job.append(&text[at..end], 0.0, mark.clone());
            rest = end;
        }
    }
    job.append(&text[rest..], 0.0, plain);
    job
}

impl ProbeContents for Texts {
    const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "texts",
        title: "Text",
        icon: icons::LIST,
        help: "# Text\n\nTexts of the simulation: samples drawn from a model with their headers, or a log. **Search** \
         shows the texts \
         that contain a word; **LIVE** follows the newest, and with a time cursor the texts up to its step are shown; the button \
         beside a header copies that text.",
        pages: &[Page::Simulate, Page::Explore],
        fits: |schema| has_probe(schema, Self::is_shown),
        ..ViewDeclaration::of::<SingleProbe<Self>>()
    };
    const MENU: &'static str = "Text";
    const NO_PROBE: [&'static str; 2] = ["No text", "This simulation publishes no texts"];

    fn is_shown(shape: &Shape) -> bool {
        matches!(shape, Shape::Samples | Shape::Text)
    }

    fn clear(&mut self) {
        self.samples.clear();
        (self.n_chars, self.n_dropped, self.is_cut) = (0, 0, false);
    }

    fn take(&mut self, reading: &Reading) {
        match reading {
            Reading::Samples(new) => new.iter().for_each(|sample| self.add(sample.clone())),
            Reading::Text(new) if !new.is_empty() => {
                // A log is a single text without a header.
                self.add(TextSample { step: 0, title: String::new(), text: new.clone() });
            }
            _ => {}
        }
    }

    fn caption(&mut self, _: &ProbeSpec, ctx: &ViewCtx<'_>) -> String {
        let n = self.found(ctx.time.axis.cursor()).len();
        let dropped = match (self.n_dropped, self.is_cut) {
            (0, false) => String::new(),
            (0, true) => "  |  older lines not kept".to_owned(),
            (n, _) => format!("  |  {n} older not kept"),
        };
        let is_part = !self.query.trim().is_empty() || n < self.samples.len();
        let what = if is_part { format!(" of {}", self.samples.len()) } else { String::new() };
        format!("{n}{what} {}{dropped}", if n == 1 { "text" } else { "texts" })
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, _: &ProbeSpec) {
        ui.add(egui::TextEdit::singleline(&mut self.query).hint_text("Search").desired_width(120.0))
            .accessible_name("Search texts");
        match ctx.time.axis.is_recorded {
            true => kit::playback_ui(ui, ctx.tokens),
            false => kit::live_ui(ui, ctx.tokens, &mut self.is_following, ctx.running),
        }
        if ui.button("Copy all").on_hover_text("Copies the texts that are shown").clicked() {
            let shown = self.found(ctx.time.axis.cursor());
            ui.copy_text(shown.into_iter().map(as_text).collect::<Vec<_>>().join("\n"));
        }
    }

    fn notice(&self, _: &ProbeSpec, ctx: &ViewCtx<'_>) -> Option<Notice> {
        if self.samples.is_empty() {
            return Some(Notice::NeedsRun("No text yet", "Run to see the texts of the simulation"));
        }
        let until = ctx.time.axis.cursor();
        let is_early = until.is_some() && self.query.trim().is_empty() && self.found(until).is_empty();
        is_early.then_some(Notice::Empty("No text yet", "The first text is later than the time cursor"))
    }

    fn contents_ui(&mut self, ui: &mut Ui, canvas: Rect, _: &ProbeSpec, ctx: &mut ViewCtx<'_>) {
        let (font, tokens) = (TextStyle::Monospace.resolve(ui.style()), ctx.tokens);
        let until = ctx.time.axis.cursor();
        let area = UiBuilder::new().max_rect(canvas.shrink2(egui::vec2(10.0, 4.0)));
        ui.scope_builder(area, |ui| {
            // With a time cursor, the newest text at its step is in view.
            let follows = self.is_following || until.is_some();
            let scroll = ScrollArea::vertical().auto_shrink(false).stick_to_bottom(follows);
            scroll.show(ui, |ui| {
                for sample in self.found(until) {
                    sample_ui(ui, sample, &self.query, &font, tokens);
                }
            });
        });
    }
}

fn sample_ui(ui: &mut Ui, sample: &Blocks, query: &str, font: &FontId, tokens: &Tokens) {
    if !sample.title.is_empty() || sample.step > 0 {
        ui.add_space(6.0);
        ui.horizontal(|ui| {
            let step = RichText::new(kit::thousands(sample.step)).small().color(tokens.accent);
            ui.label(step).on_hover_text("Step");
            ui.label(RichText::new(&sample.title).small().color(tokens.text_sub));
            let copy = egui::Button::new(icons::rich(icons::COPY).size(12.0).color(tokens.text_sub)).frame(false);
            if ui.add(copy).accessible_name("Copy text").on_hover_text("Copy this text").clicked() {
                ui.copy_text(as_text(sample));
            }
        });
    }
    let spacing = std::mem::take(&mut ui.spacing_mut().item_spacing.y);
    for text in sample.trimmed() {
        let job = marked(text, query, font, tokens, ui.available_width());
        ui.add(egui::Label::new(job).selectable(true));
    }
    ui.add_space(spacing);
    ui.spacing_mut().item_spacing.y = spacing;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(step: u64, text: &str) -> TextSample {
        TextSample { step, title: "t".into(), text: text.into() }
    }

    #[test]
    fn a_log_keeps_its_newest_lines() {
        let mut texts = Texts::default();
        let lines = |n: usize| (0..n).map(|i| format!("{i} death 7\n")).collect::<String>();
        for _ in 0..100 {
            texts.add(TextSample { text: lines(400), ..TextSample::default() });
        }
        let log = &texts.samples[0].text();
        assert!((MAX_LOG / 2..=MAX_LOG).contains(&log.len()) && texts.is_cut, "{}", log.len());
        assert_eq!(texts.n_chars, log.len());
        assert!(log.ends_with("399 death 7\n") && log.lines().all(|line| line.ends_with(" death 7")), "whole lines");
    }

    /// A text that arrives in parts has the same blocks as one that arrives at once. Appending changes only the last block.
    #[test]
    fn blocks_are_those_of_the_text() {
        let text = format!("\n\r\n{}\n\n{}\n\n", "a line of text\r\n\n".repeat(900), "without an end ".repeat(900));
        let mut whole = Blocks::new(sample(1, &text));
        let mut parts = Blocks::new(sample(1, ""));
        text.as_bytes().chunks(700).for_each(|part| parts.append(std::str::from_utf8(part).expect("ASCII")));
        assert_eq!((&whole.blocks, whole.n_bytes), (&parts.blocks, text.len()));
        assert_eq!(
            (whole.text(), whole.trimmed().join("\n").as_str()),
            (text.clone(), text.trim_matches(['\n', '\r']))
        );
        let before = whole.blocks.clone();
        assert!(before.len() >= 4 && before.iter().all(|block| block.ends_with('\n')));
        whole.append("more\n");
        assert!(whole.blocks.iter().zip(&before).take(before.len() - 1).all(|(now, before)| now == before));
    }

    #[test]
    fn parts_continue_a_text_and_old_ones_are_dropped() {
        let mut texts = Texts::default();
        [sample(1, "The "), sample(1, "end"), sample(2, "Begin")].into_iter().for_each(|s| texts.add(s));
        assert_eq!(texts.samples.iter().map(Blocks::text).collect::<Vec<_>>(), ["The end", "Begin"]);
        texts.query = "END".into();
        assert_eq!(texts.found(None).len(), 1);
        texts.query.clear();
        let until = |step| texts.found(Some(step)).iter().map(|s| s.step).collect::<Vec<_>>();
        assert_eq!((until(0.0), until(1.5), until(2.0)), (vec![], vec![1], vec![1, 2]), "those at the time cursor");
        (3..3 + MAX_SAMPLES as u64).for_each(|step| texts.add(sample(step, "x")));
        assert_eq!((texts.samples.len(), texts.n_dropped), (MAX_SAMPLES, 2));
        assert_eq!(texts.n_chars, MAX_SAMPLES);
    }
}
