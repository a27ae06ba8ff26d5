//! Colour maps and the colours of categories.

use crate::{app::theme::Tokens, sim::Column};
use egui::Color32;

/// A continuous colour map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ramp {
    /// Rates and most fields: even in lightness, the same for every kind of colour vision.
    #[default]
    Cividis,
    /// Weights.
    Viridis,
    /// Densities.
    Magma,
}

impl Ramp {
    /// All of them, in menu order.
    pub const ALL: [Self; 3] = [Self::Cividis, Self::Viridis, Self::Magma];

    /// Name in the menu.
    pub fn label(self) -> &'static str {
        match self {
            Self::Cividis => "cividis",
            Self::Viridis => "viridis",
            Self::Magma => "magma",
        }
    }

    fn gradient(self) -> colorous::Gradient {
        match self {
            Self::Cividis => colorous::CIVIDIS,
            Self::Viridis => colorous::VIRIDIS,
            Self::Magma => colorous::MAGMA,
        }
    }

    /// The colour at 0 to 1.
    pub fn at(self, t: f32) -> Color32 {
        from_colorous(self.gradient().eval_continuous(f64::from(t.clamp(0.0, 1.0))))
    }

    /// 256 colours from low to high. On a light ground the map is turned round, so that much is dark.
    pub fn table(self, dark: bool) -> [[u8; 4]; 256] {
        std::array::from_fn(|i| {
            let t = i as f32 / 255.0;
            // The end that would vanish into the ground is left out.
            self.at(if dark { 0.14 + 0.86 * t } else { 0.9 * (1.0 - t) }).to_array()
        })
    }
}

fn from_colorous(c: colorous::Color) -> Color32 {
    Color32::from_rgb(c.r, c.g, c.b)
}

/// The colour of a density: never below a quarter of the ramp, so that one event among thousands is seen.
pub fn density(t: f32, dark: bool) -> Color32 {
    let t = f64::from(0.25 + 0.75 * t.clamp(0.0, 1.0));
    let gradient = if dark { colorous::MAGMA } else { colorous::BLUES };
    from_colorous(gradient.eval_continuous(if dark { 0.12 + 0.88 * t } else { 0.15 + 0.85 * t }))
}

/// One colour per label of a column: transmitters and signs by their meaning, the rest by the seven
/// categorical colours, then their tints; grey for the unlabelled.
pub fn of_column(column: &Column, tokens: &Tokens) -> Vec<Color32> {
    let mut next = 0;
    let color = |label: &String| {
        if is_unlabelled(label) {
            return tokens.other;
        }
        if let Some(sign) = sign(&column.name, label, tokens) {
            return sign;
        }
        next += 1;
        categorical(next - 1, tokens)
    };
    column.labels.iter().map(color).collect()
}

/// The n-th categorical colour; beyond seven, tints towards the text, then grey.
pub fn categorical(n: usize, tokens: &Tokens) -> Color32 {
    let base = tokens.categorical[n % 7];
    match n / 7 {
        0 => base,
        1 => base.lerp_to_gamma(tokens.text_strong, 0.45),
        2 => base.lerp_to_gamma(tokens.canvas, 0.45),
        _ => tokens.other,
    }
}

/// Whether a label says that nothing is known.
pub fn is_unlabelled(label: &str) -> bool {
    matches!(label.to_ascii_lowercase().as_str(), "" | "unknown" | "none" | "na" | "n/a" | "unassigned" | "other")
}

fn sign(column: &str, label: &str, tokens: &Tokens) -> Option<Color32> {
    if column != "ei" {
        return None;
    }
    let label = label.to_ascii_lowercase();
    if label.starts_with('e') || label == "+" {
        Some(tokens.excitatory)
    } else if label.starts_with('i') || label == "-" {
        Some(tokens.inhibitory)
    } else {
        None
    }
}

/// A colour of a table, without its transparency.
pub fn opaque([r, g, b, _]: [u8; 4]) -> Color32 {
    Color32::from_rgb(r, g, b)
}

/// For the 3D view: straight RGBA, 0 to 1.
pub fn rgba(color: Color32) -> [f32; 4] {
    color.to_array().map(|c| f32::from(c) / 255.0)
}
