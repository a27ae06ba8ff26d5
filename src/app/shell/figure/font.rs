//! Font of a figure's text.

use crate::app::{document::figure_settings::FigureFont, kit::fonts};

impl FigureFont {
    /// Returns the `font-family` of an SVG.
    pub const fn svg_family(self) -> &'static str {
        match self {
            Self::Inter => "Inter, sans-serif",
            Self::JetBrainsMono => "JetBrains Mono, monospace",
            Self::Arial => "Arial, Helvetica, sans-serif",
            Self::Times => "Times New Roman, Times, serif",
        }
    }

    /// Whether the program includes the font. Without it, a PNG has the window's font.
    pub const fn is_bundled(self) -> bool {
        matches!(self, Self::Inter | Self::JetBrainsMono)
    }

    /// Makes a bundled monospaced font the font of labels, until [`fonts::install`] is called.
    pub fn install(self, ctx: &egui::Context) {
        if self == Self::JetBrainsMono {
            fonts::install_with(ctx, fonts::MONO);
        }
    }
}
