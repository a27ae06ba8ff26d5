//! Colour maps and the colours of categories.

use crate::{
    app::theme::Tokens,
    sim::{Column, Meaning, ProbeSpec, Shape},
};
use egui::Color32;
use std::sync::OnceLock;

/// A continuous colour map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Ramp {
    /// Rates and most fields: even in lightness, the same for every kind of colour vision.
    #[default]
    Cividis,
    /// Weights.
    Viridis,
    /// Densities.
    Magma,
    /// Angles: the ends meet. Lightness tells one half turn, warm or cold the other.
    Twilight,
}

impl Ramp {
    /// All of them, in menu order.
    pub const ALL: [Self; 4] = [Self::Cividis, Self::Viridis, Self::Magma, Self::Twilight];

    /// The map of a field when nobody has chosen another.
    pub fn of(probe: &ProbeSpec) -> Self {
        if probe.shape.meaning() == Some(Meaning::Angle) { Self::Twilight } else { Self::default() }
    }

    /// Name in the menu.
    pub fn label(self) -> &'static str {
        match self {
            Self::Cividis => "cividis",
            Self::Viridis => "viridis",
            Self::Magma => "magma",
            Self::Twilight => "twilight",
        }
    }

    /// The colour at 0 to 1.
    pub fn at(self, t: f32) -> Color32 {
        let gradient = match self {
            Self::Cividis => colorous::CIVIDIS,
            Self::Viridis => colorous::VIRIDIS,
            Self::Magma => colorous::MAGMA,
            Self::Twilight => return twilight(t, true),
        };
        from_colorous(gradient.eval_continuous(f64::from(t.clamp(0.0, 1.0))))
    }

    /// From low to high. On a light ground the map is turned round, so that much is dark.
    pub fn table(self, dark: bool) -> Table {
        std::array::from_fn(|i| {
            let i = (i.clamp(BELOW + 1, ABOVE - 1) - 1) as f32;
            let t = i / INSIDE;
            // The end that would vanish into the ground is left out.
            let color = match self {
                Self::Twilight => twilight(i / (INSIDE + 1.0), dark),
                _ => self.at(if dark { 0.14 + 0.86 * t } else { 0.9 * (1.0 - t) }),
            };
            color.to_array()
        })
    }

    /// The same for a range that was fixed: what lies beyond it has the two categorical colours the map has least of.
    pub fn fixed_table(self, tokens: &Tokens) -> Table {
        with_ends(self.table(tokens.dark), tokens)
    }
}

/// A table whose ends have the two categorical colours it has least of.
pub fn with_ends(mut table: Table, tokens: &Tokens) -> Table {
    let nearest = |c: &Color32| table.iter().map(|of| difference(*of, c.to_array())).min();
    let mut colors = tokens.categorical.to_vec();
    colors.sort_by_key(nearest);
    if let [.., below, above] = colors[..] {
        (table[BELOW], table[ABOVE]) = (below.to_array(), above.to_array());
    }
    table
}

/// How far colours are from each other: the sum over red, green and blue.
fn difference(a: [u8; 4], b: [u8; 4]) -> u32 {
    a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(b))).sum()
}

/// The colours of a map, and at both ends those of what lies beyond its range: as the map ends, unless the range is fixed.
pub type Table = [[u8; 4]; 256];
/// In a table: what lies below the range.
pub const BELOW: usize = 0;
/// In a table: what lies above it.
pub const ABOVE: usize = 255;
/// Steps between the colours of the ends of a range.
const INSIDE: f32 = (ABOVE - BELOW - 2) as f32;

/// A closed path through the colours of even steps (Oklab): darkest in the middle, violet there and pale at the ends,
/// blue on the way down and orange on the way up. Never so dark or pale that it vanishes into the ground.
fn twilight(t: f32, dark: bool) -> Color32 {
    let (sin, cos) = (std::f32::consts::TAU * t).sin_cos();
    let lightness = if dark { 0.72 + 0.2 * cos } else { 0.52 + 0.14 * cos };
    let violet = 0.05 * (1.0 - cos);
    from_oklab(lightness, -0.075 * sin + violet * 0.8, -0.12 * sin - violet)
}

/// Oklab (Ottosson 2020) to the display.
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

/// How the values of a field become colours.
pub struct Shade {
    /// From low to high.
    pub table: Table,
    /// Values of the ends.
    pub range: (f32, f32),
    /// How many values lie beyond a range that was fixed.
    pub beyond: Option<usize>,
    /// What has no value.
    pub none: Color32,
}

impl Shade {
    /// With a range that was taken from the data.
    pub fn following(ramp: Ramp, range: (f32, f32), tokens: &Tokens) -> Self {
        Self { table: ramp.table(tokens.dark), range, beyond: None, none: tokens.other }
    }

    /// With a range that stays whatever the data are.
    pub fn fixed(ramp: Ramp, range: (f32, f32), values: &[f32], tokens: &Tokens) -> Self {
        let beyond = values.iter().filter(|v| **v < range.0 || **v > range.1).count();
        Self { table: ramp.fixed_table(tokens), range, beyond: Some(beyond), none: tokens.other }
    }

    /// The colour of a value.
    pub fn color(&self, value: f32) -> Color32 {
        if value.is_nan() {
            return self.none;
        }
        opaque(self.table[self.place(value)])
    }

    /// Where in the table a value is. Kept equal to `value_color` in points.wgsl.
    fn place(&self, value: f32) -> usize {
        place((value - self.range.0) / (self.range.1 - self.range.0).max(1e-12))
    }
}

/// Where in a table something is that lies this far along its range.
pub fn place(t: f32) -> usize {
    match t {
        t if t < 0.0 => BELOW,
        t if t > 1.0 => ABOVE,
        t => BELOW + 1 + (t * INSIDE + 0.5) as usize,
    }
}

/// The range of a field's colours: that of an angle as declared; else from the data, all but the outermost half
/// percent at both ends of a sample of 4,096, so that one outlier does not wash out the rest.
pub fn range_of(probe: &ProbeSpec, values: &[f32]) -> (f32, f32) {
    let Shape::Field { range, meaning, .. } = probe.shape else { return (0.0, 1.0) };
    if meaning == Meaning::Angle {
        return range;
    }
    let every = (values.len() / 4096).max(1);
    let mut sample: Vec<f32> = values.iter().step_by(every).copied().filter(|v| v.is_finite()).collect();
    sample.sort_unstable_by(f32::total_cmp);
    let Some(last) = sample.len().checked_sub(1) else { return range };
    let (min, max) = (sample[last / 200], sample[last - last / 200]);
    (min, if max > min { max } else { min + 1.0 })
}

/// The colour of a line of descent, the same for good.
pub fn of_number(number: u64, tokens: &Tokens) -> Color32 {
    tokens.categorical[(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize % tokens.categorical.len()]
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

/// The same for 256 densities from 0 to 1.
pub fn densities(dark: bool) -> &'static [Color32; 256] {
    static RAMPS: [OnceLock<[Color32; 256]>; 2] = [OnceLock::new(), OnceLock::new()];
    RAMPS[usize::from(dark)].get_or_init(|| std::array::from_fn(|i| density(i as f32 / 255.0, dark)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cyclic_map_closes_and_has_even_steps() {
        for dark in [true, false] {
            let table = Ramp::Twilight.table(dark);
            let steps: Vec<u32> = (0..256).map(|i| difference(table[i], table[(i + 1) % 256])).collect();
            assert!(steps.iter().all(|d| *d <= 12), "{:?}", steps.iter().max());
            assert!(difference(table[64], table[192]) > 150 && difference(table[0], table[128]) > 100);
        }
    }

    #[test]
    fn ranges_leave_outliers_and_angles_alone() {
        let field = |meaning, range| ProbeSpec {
            name: "x",
            title: "",
            docs: "",
            unit: "",
            shape: Shape::Field { over: "cells", range, meaning },
        };
        let mut values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        values.extend([1e9, f32::NAN]);
        let (low, high) = range_of(&field(Meaning::Number, (0.0, 1.0)), &values);
        assert!(low < 10.0 && (980.0..1000.0).contains(&high), "{low} {high}");
        assert_eq!(range_of(&field(Meaning::Angle, (-3.0, 3.0)), &values), (-3.0, 3.0));
        let tokens = Tokens::dark();
        let shade = Shade::following(Ramp::Viridis, (0.0, 1.0), &tokens);
        assert_eq!((shade.color(f32::NAN), shade.color(9.0)), (tokens.other, shade.color(1.0)));
    }

    #[test]
    fn what_lies_beyond_a_fixed_range_has_colours_of_its_own() {
        let values = [-0.1, 0.0, 0.5, 1.0, 1.1, 7.0, f32::NAN];
        for (tokens, ramp) in [Tokens::dark(), Tokens::light()].iter().flat_map(|t| Ramp::ALL.map(|r| (t, r))) {
            let shade = Shade::fixed(ramp, (0.0, 1.0), &values, tokens);
            assert_eq!(shade.beyond, Some(3));
            assert_eq!([-0.1, 0.0, 1.0, 1.1].map(|v| shade.place(v)), [BELOW, BELOW + 1, ABOVE - 1, ABOVE]);
            let inside = &shade.table[BELOW + 1..ABOVE];
            for end in [BELOW, ABOVE].map(|i| shade.table[i]) {
                let nearest = inside.iter().map(|c| difference(*c, end)).min().expect("colours");
                assert!(nearest > 100, "{ramp:?}, dark {}: {end:?} is {nearest} from the map", tokens.dark);
            }
        }
    }
}
