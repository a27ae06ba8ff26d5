//! Colormaps, which map numbers from 0 to 1 to colours.

use super::theme::Tokens;
use crate::sim::{Meaning, ProbeSpec};
use egui::Color32;

/// A continuous colormap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Colormap {
    /// Sequential, perceptually uniform map for rates and most fields, readable with colour blindness.
    #[default]
    Cividis,
    Viridis,
    Magma,
    /// Cyclic map for angles: the colours of both ends are equal. Lightness encodes one half turn, warm or cold hue the
    /// other.
    Twilight,
    /// Map for differences: the middle is pale, low values are blue, high values red. Only views that centre the range use it.
    Diverging,
}

impl Colormap {
    /// Colormaps that the user can choose, in menu order.
    pub const ALL: [Self; 4] = [Self::Cividis, Self::Viridis, Self::Magma, Self::Twilight];

    /// Returns the default colormap of a field.
    pub fn of(probe: &ProbeSpec) -> Self {
        if probe.shape.meaning() == Some(Meaning::Angle) { Self::Twilight } else { Self::default() }
    }

    /// Returns the name in the menu.
    pub fn label(self) -> &'static str {
        match self {
            Self::Cividis => "cividis",
            Self::Viridis => "viridis",
            Self::Magma => "magma",
            Self::Twilight => "twilight",
            Self::Diverging => "diverging",
        }
    }

    /// Returns the colour at `t` from 0 to 1.
    pub fn at(self, t: f32) -> Color32 {
        let gradient = match self {
            Self::Cividis => colorous::CIVIDIS,
            Self::Viridis => colorous::VIRIDIS,
            Self::Magma => colorous::MAGMA,
            Self::Twilight => return twilight(t, true),
            Self::Diverging => {
                return from_colorous(colorous::RED_BLUE.eval_continuous(f64::from(1.0 - t.clamp(0.0, 1.0))));
            }
        };
        from_colorous(gradient.eval_continuous(f64::from(t.clamp(0.0, 1.0))))
    }

    /// Creates the colour table from low to high. Light themes use the reversed map, so that high values are dark.
    pub fn table(self, dark: bool) -> Table {
        std::array::from_fn(|i| {
            let i = (i.clamp(BELOW + 1, ABOVE - 1) - 1) as f32;
            let t = i / INSIDE;
            // Omits the end of the map that has the colour of the background.
            let color = match self {
                Self::Twilight => twilight(i / (INSIDE + 1.0), dark),
                Self::Diverging => self.at(t),
                // Position 0.9 of Magma is a saturated orange, so the light theme extends to position 0.97, which is paler.
                Self::Magma if !dark => self.at(0.97 * (1.0 - t)),
                _ => self.at(if dark { 0.14 + 0.86 * t } else { 0.9 * (1.0 - t) }),
            };
            color.to_array()
        })
    }

    /// Creates the colour table for a fixed range: values beyond the range get the two palette colours that differ most from the
    /// map.
    pub fn fixed_table(self, tokens: &Tokens) -> Table {
        with_ends(self.table(tokens.dark), tokens)
    }
}

/// Replaces both ends of a table by the two colours of categories, signs and states that differ most from the table.
pub fn with_ends(mut table: Table, tokens: &Tokens) -> Table {
    let nearest = |c: &Color32| table.iter().map(|of| difference(*of, c.to_array())).min();
    let mut colors = tokens.categorical.to_vec();
    colors.extend([tokens.excitatory, tokens.inhibitory, tokens.error, tokens.ok]);
    colors.sort_by_key(nearest);
    if let [.., below, above] = colors[..] {
        (table[BELOW], table[ABOVE]) = (below.to_array(), above.to_array());
    }
    table
}

/// Computes the distance of two colours: the sum of differences of red, green, blue and alpha.
pub(crate) fn difference(a: [u8; 4], b: [u8; 4]) -> u32 {
    a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(b))).sum()
}

/// Colours of a map. The first and last entry are for values beyond the range; unless the range is fixed, they equal the ends of
/// the map.
pub type Table = [[u8; 4]; 256];
/// Table index of values below the range.
pub const BELOW: usize = 0;
/// Table index of values above the range.
pub const ABOVE: usize = 255;
/// Number of steps between the two ends of the range.
const INSIDE: f32 = (ABOVE - BELOW - 2) as f32;

/// Evaluates a closed path of even steps in Oklab: darkest and violet in the middle, pale at the ends, blue on the way down and
/// orange on the way up. Lightness is bounded so that all colours are visible on the background of the theme.
fn twilight(t: f32, dark: bool) -> Color32 {
    let (sin, cos) = (std::f32::consts::TAU * t).sin_cos();
    let lightness = if dark { 0.72 + 0.2 * cos } else { 0.52 + 0.14 * cos };
    let violet = 0.05 * (1.0 - cos);
    from_oklab(lightness, -0.075 * sin + violet * 0.8, -0.12 * sin - violet)
}

/// Converts Oklab (Ottosson 2020) to sRGB.
fn from_oklab(lightness: f32, a: f32, b: f32) -> Color32 {
    let l = (lightness + 0.396_337_78 * a + 0.215_803_76 * b).powi(3);
    let m = (lightness - 0.105_561_346 * a - 0.063_854_17 * b).powi(3);
    let s = (lightness - 0.089_484_18 * a - 1.291_485_5 * b).powi(3);
    let [r, g, b] = [
        4.076_741_7 * l - 3.307_711_6 * m + 0.230_969_94 * s,
        -1.268_438 * l + 2.609_757_4 * m - 0.341_319_38 * s,
        -0.004_196_086_3 * l - 0.703_418_6 * m + 1.707_614_7 * s,
    ];
    egui::Rgba::from_rgb(r.clamp(0.0, 1.0), g.clamp(0.0, 1.0), b.clamp(0.0, 1.0)).into()
}

/// Returns the table index at fraction `t` of the range.
pub fn place(t: f32) -> usize {
    match t {
        t if t < 0.0 => BELOW,
        t if t > 1.0 => ABOVE,
        t => BELOW + 1 + (t * INSIDE + 0.5) as usize,
    }
}

pub(crate) fn from_colorous(c: colorous::Color) -> Color32 {
    Color32::from_rgb(c.r, c.g, c.b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cyclic_map_closes_and_has_even_steps() {
        for dark in [true, false] {
            let table = Colormap::Twilight.table(dark);
            let steps: Vec<u32> = (0..256).map(|i| difference(table[i], table[(i + 1) % 256])).collect();
            assert!(steps.iter().all(|d| *d <= 12), "{:?}", steps.iter().max());
            assert!(difference(table[64], table[192]) > 150 && difference(table[0], table[128]) > 100);
        }
    }
}
