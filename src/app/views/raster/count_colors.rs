//! Mapping of spike counts to colours.

use egui::Color32;

/// Mapping of counts to brightness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    #[default]
    Log,
    Root,
    Linear,
}

impl Scale {
    /// All scales, in menu order.
    pub const ALL: [Self; 3] = [Self::Log, Self::Root, Self::Linear];

    /// Returns the label for menu and caption.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Root => "sqrt",
            Self::Linear => "linear",
        }
    }

    /// Returns the brightness of a count from 1 to `highest`: 0 for a count of 1, less than 1 for `highest`.
    pub fn fraction(self, count: u32, highest: u32) -> f32 {
        let of = |n: f32| match self {
            Self::Log => n.ln_1p(),
            Self::Root => n.sqrt(),
            Self::Linear => n,
        };
        of((count - 1) as f32) / of(highest as f32)
    }
}

/// Settings of the colours of counts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CountColors {
    /// Mapping of counts to brightness.
    pub scale: Scale,
    /// Colour of a cell in which a selected element spiked.
    pub accent: Color32,
    /// Whether the theme is dark.
    pub dark: bool,
    /// Whether unselected cells are dimmed.
    pub dim: bool,
}
