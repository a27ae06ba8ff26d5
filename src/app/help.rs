//! Help texts in the markdown subset that views use.

use super::{theme::Tokens, widgets};
use egui::{RichText, Ui, text::LayoutJob};

/// Draws headings, bullets, **bold** and `code`.
pub fn markdown_ui(ui: &mut Ui, text: &str) {
    for line in text.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('#') {
            ui.add_space(4.0);
            ui.label(
                RichText::new(head.trim_start_matches('#').trim())
                    .family(widgets::semibold())
                    .color(Tokens::of(ui.ctx()).text_strong),
            );
        } else if let Some(item) = line.strip_prefix("- ") {
            ui.horizontal_top(|ui| {
                ui.label(widgets::sub(ui, "•"));
                ui.label(inline(ui, item));
            });
        } else if line.is_empty() {
            ui.add_space(2.0);
        } else {
            ui.label(inline(ui, line));
        }
    }
}

/// `**bold**` and `` `code` `` within a line.
fn inline(ui: &Ui, line: &str) -> LayoutJob {
    let t = Tokens::of(ui.ctx());
    let mut job = LayoutJob::default();
    let (mut bold, mut code) = (false, false);
    for (i, part) in line.split("**").enumerate() {
        bold = i % 2 == 1;
        for (j, piece) in part.split('`').enumerate() {
            code = j % 2 == 1;
            let text = RichText::new(piece).color(if bold || code { t.text_strong } else { t.text });
            let text = if code { text.monospace() } else { text };
            text.append_to(&mut job, ui.style(), egui::FontSelection::Default, egui::Align::Center);
        }
    }
    let _ = (bold, code);
    job
}

/// Version and licences.
pub fn about() -> String {
    format!(
        "Neuropil {}\nA workbench for neural simulation.\n\n# Licences\nNeuropil: {}\nInter and JetBrains Mono: SIL Open Font License 1.1\nPhosphor icons: MIT\n",
        env!("CARGO_PKG_VERSION"),
        env!("CARGO_PKG_LICENSE"),
    )
}
