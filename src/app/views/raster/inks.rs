//! From counts to colours.

use egui::Color32;

/// From counts to brightness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Logarithmic.
    #[default]
    Log,
    /// Square root.
    Root,
    /// Linear.
    Linear,
}

impl Scale {
    /// All of them, in menu order.
    pub const ALL: [Self; 3] = [Self::Log, Self::Root, Self::Linear];

    /// As menu and caption say it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Root => "sqrt",
            Self::Linear => "linear",
        }
    }

    /// Where a count lies between one (0) and the highest (1).
    pub fn place(self, count: u32, highest: u32) -> f32 {
        let of = |n: f32| match self {
            Self::Log => n.ln_1p(),
            Self::Root => n.sqrt(),
            Self::Linear => n,
        };
        of((count - 1) as f32) / of(highest as f32)
    }
}

/// How counts become colours.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Inks {
    /// From counts to brightness.
    pub scale: Scale,
    /// Of a cell with a selected element.
    pub accent: Color32,
    /// Which theme.
    pub dark: bool,
    /// Whether something is selected: the rest is dimmed.
    pub dim: bool,
}
