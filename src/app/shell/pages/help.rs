//! Help texts, in the subset of Markdown that views use.

use crate::{
    app::kit::{theme::Tokens, widgets},
    sim::ElementSet,
};
use egui::{Align, Layout, RichText, Ui, text::LayoutJob, vec2};
use std::sync::Arc;

/// Indent of bullets, points.
const BULLET: f32 = 12.0;

/// Replaces *element* in the help of a view by the noun of the first set of the simulation: *neuron*, *nucleus*.
pub fn in_words(help: &str, sets: &[Arc<ElementSet>]) -> String {
    let Some(set) = sets.first() else { return help.to_owned() };
    let (many, one) = (set.noun(), set.singular());
    let article = if one.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    let with_article = help.replace("an element", &format!("{article} {one}"));
    with_article.replace("elements", &many).replace("element", &one)
}

/// Draws headings, bullets, code blocks, **bold**, *italic* and `code`, left-aligned in the available width.
pub fn markdown_ui(ui: &mut Ui, text: &str) {
    let width = ui.available_width();
    ui.allocate_ui_with_layout(vec2(width, 0.0), Layout::top_down(Align::LEFT), |ui| {
        ui.set_width(width);
        ui.spacing_mut().item_spacing.y = 3.0;
        let mut is_code = false;
        for line in text.lines().map(str::trim) {
            if line.starts_with("```") {
                is_code = !is_code;
            } else if is_code {
                ui.label(RichText::new(line).monospace().size(11.5).color(Tokens::of(ui.ctx()).text_strong));
            } else {
                line_ui(ui, line);
            }
        }
    });
}

fn line_ui(ui: &mut Ui, line: &str) {
    let t = Tokens::of(ui.ctx());
    if let Some(head) = line.strip_prefix('#') {
        let head = RichText::new(head.trim_start_matches('#').trim()).family(widgets::semibold());
        ui.add_space(4.0);
        ui.label(head.color(t.text_strong));
    } else if let Some(item) = line.strip_prefix("- ") {
        let top = ui.cursor().min;
        let width = ui.available_width() - BULLET;
        let job = inline(ui, item, width);
        ui.horizontal_top(|ui| {
            ui.spacing_mut().item_spacing.x = 0.0;
            ui.add_space(BULLET);
            // A row may grow beyond its area, so the text gets a maximum width.
            ui.allocate_ui_with_layout(vec2(width, 0.0), Layout::top_down(Align::LEFT), |ui| {
                ui.set_max_width(width);
                ui.label(job);
            });
        });
        let galley = ui.painter().layout_no_wrap("•".to_owned(), egui::FontId::proportional(13.0), t.text_sub);
        ui.painter().galley(top + vec2(2.0, 0.0), galley, t.text_sub);
    } else if line.is_empty() {
        ui.add_space(2.0);
    } else {
        let job = inline(ui, line, ui.available_width());
        ui.label(job);
    }
}

/// Part of a line with its style.
#[derive(Clone, Debug, Default, PartialEq)]
struct Piece {
    text: String,
    is_bold: bool,
    is_italic: bool,
    is_code: bool,
}

/// Splits a line at `**`, `*` and `` ` ``. Outside of italic text, a `*` before a space is an ordinary character.
fn pieces(line: &str) -> Vec<Piece> {
    let mut out = vec![Piece::default()];
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let now = out.last().cloned().unwrap_or_default();
        let style = Piece { text: String::new(), ..now.clone() };
        let next = match c {
            '`' => Some((1, Piece { is_code: !now.is_code, ..style })),
            '*' if now.is_code || rest.starts_with("* ") && !now.is_italic => None,
            '*' if rest.starts_with("**") => Some((2, Piece { is_bold: !now.is_bold, ..style })),
            '*' => Some((1, Piece { is_italic: !now.is_italic, ..style })),
            _ => None,
        };
        match next {
            Some((n, piece)) => {
                out.push(piece);
                rest = &rest[n..];
            }
            None => {
                if let Some(last) = out.last_mut() {
                    last.text.push(c);
                }
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    out.retain(|piece| !piece.text.is_empty());
    out
}

fn inline(ui: &Ui, line: &str, width: f32) -> LayoutJob {
    let t = Tokens::of(ui.ctx());
    let mut job = LayoutJob::default();
    for piece in pieces(line) {
        let is_strong = piece.is_bold || piece.is_code;
        let text = RichText::new(piece.text).color(if is_strong { t.text_strong } else { t.text });
        let text = if piece.is_bold { text.family(widgets::semibold()) } else { text };
        let text = if piece.is_italic { text.italics() } else { text };
        let text = if piece.is_code { text.monospace() } else { text };
        text.append_to(&mut job, ui.style(), egui::FontSelection::Default, Align::Center);
    }
    job.wrap.max_width = width.max(40.0);
    job
}

/// Returns version and licences as Markdown.
pub fn about() -> String {
    format!(
        "Neuropil {}\nA workbench for neural simulation.\n\n# Licences\nNeuropil: {}\nInter and JetBrains Mono: SIL Open Font License 1.1\nPhosphor icons: MIT\n",
        env!("CARGO_PKG_VERSION"),
        env!("CARGO_PKG_LICENSE"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_what_the_kind_has() {
        let set = |name| [Arc::new(ElementSet { name, ..ElementSet::default() })];
        let help = "One row per element: an element's values, of all elements";
        assert_eq!(in_words(help, &set("nuclei")), "One row per nucleus: a nucleus's values, of all nuclei");
        assert_eq!(in_words(help, &set("experts")), "One row per expert: an expert's values, of all experts");
        assert_eq!(in_words(help, &[]), help);
    }

    #[test]
    fn markup_is_not_shown_as_characters() {
        let line = "**Alt** on a *box* shows `a*b`, 2 * 3";
        let all = pieces(line);
        assert_eq!(all.iter().map(|p| p.text.as_str()).collect::<String>(), "Alt on a box shows a*b, 2 * 3");
        assert!(all[0].is_bold && all[2].is_italic && all[4].is_code && !all[5].is_code);
    }
}
