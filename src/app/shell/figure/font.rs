//! Font of a figure's text.

use crate::app::kit::fonts;

/// Font for figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FigureFont {
    /// The proportional font of the window.
    #[default]
    Inter,
    /// The monospaced font of the window.
    JetBrainsMono,
    /// A sans-serif font of the system that displays the SVG.
    Arial,
    /// A serif font of the system that displays the SVG.
    Times,
}

impl FigureFont {
    pub const ALL: [Self; 4] = [Self::Inter, Self::JetBrainsMono, Self::Arial, Self::Times];

    /// Returns the name for the dialog.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inter => "Inter",
            Self::JetBrainsMono => "JetBrains Mono",
            Self::Arial => "Arial or Helvetica (SVG)",
            Self::Times => "Times (SVG)",
        }
    }

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
