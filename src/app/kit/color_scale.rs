//! Colour scales of heat maps: range, colormap, and the colour bar.

use super::{
    bar,
    colormap::{self, Colormap, Table},
    colors,
    heatmap::short,
    theme::Tokens,
};
use crate::{
    app::kit,
    sim::{Meaning, ProbeSpec, Shape},
};
use egui::{Align2, Color32, Rect, Ui, Vec2, pos2};

/// Smallest magnitude, as a fraction of the largest, that a symmetric logarithmic scale distinguishes from zero.
const SMALL: f32 = 1e-3;

/// Mapping of a heat map's values to colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScaleColors {
    /// Colours along a colormap, from the lowest value to the highest.
    Map(Colormap),
    /// Colours that diverge from zero: inhibitory colours below, excitatory colours above.
    Diverging,
}

impl ScaleColors {
    /// Returns the range of the values that have a colour; `None` if no value has one.
    pub fn range(self, values: &[f32], is_log: bool) -> Option<(f32, f32)> {
        let of = |(a, b): (f32, f32), v: &f32| (a.min(*v), b.max(*v));
        let colored = values.iter().filter(|v| self.has_color(**v, is_log));
        let (low, high) = colored.fold((f32::INFINITY, f32::NEG_INFINITY), of);
        match (low <= high, self) {
            (false, _) => None,
            (true, Self::Diverging) => Some(even((low, high))),
            (true, Self::Map(_)) => Some((low, if high > low { high } else { low + low.abs().max(1e-6) })),
        }
    }

    /// Whether a value has a colour. NaN and infinities have no colour; on a logarithmic colormap, values ≤ 0 have none
    /// either.
    fn has_color(self, value: f32, is_log: bool) -> bool {
        value.is_finite() && !(is_log && self != Self::Diverging && value <= 0.0)
    }

    /// Adapts a range fixed by the user to these colours.
    fn fit(self, (low, high): (f32, f32), is_log: bool) -> (f32, f32) {
        match self {
            Self::Diverging => even((low, high)),
            Self::Map(_) if is_log && low <= 0.0 => (high.max(1e-12) * SMALL, high.max(1e-12)),
            Self::Map(_) => (low, high),
        }
    }

    fn table(self, tokens: &Tokens) -> Table {
        match self {
            Self::Map(map) => map.table(tokens.dark),
            Self::Diverging => std::array::from_fn(|i| diverging(i as f32 / 255.0, tokens).to_array()),
        }
    }
}

/// Range and colours of a heat map.
#[derive(Clone, Debug, PartialEq)]
pub struct ColorScale {
    colors: ScaleColors,
    is_log: bool,
    range: (f32, f32),
    is_fixed: bool,
    table: Table,
    /// Colour of cells without a value.
    ground: Color32,
}

impl ColorScale {
    /// Creates a scale with the range of the data, or with a fixed range. Values beyond a fixed range have their own
    /// colours.
    pub fn new(
        colors: ScaleColors,
        is_log: bool,
        of_data: (f32, f32),
        fixed: Option<(f32, f32)>,
        tokens: &Tokens,
    ) -> Self {
        let range = fixed.map_or(of_data, |fixed| colors.fit(fixed, is_log));
        let plain = colors.table(tokens);
        let table = if fixed.is_some() { colormap::with_ends(plain, tokens) } else { plain };
        let ground = tokens.canvas.lerp_to_gamma(tokens.panel, 0.6);
        Self { colors, is_log, range, is_fixed: fixed.is_some(), table, ground }
    }

    /// Returns the table index of a value; `None` if it has no colour.
    fn at(&self, value: f32) -> Option<usize> {
        self.colors.has_color(value, self.is_log).then(|| match colormap::place(self.place(value)) {
            colormap::BELOW if !self.is_fixed => colormap::BELOW + 1,
            colormap::ABOVE if !self.is_fixed => colormap::ABOVE - 1,
            at => at,
        })
    }

    /// Returns the colour of a value.
    pub fn color(&self, value: f32) -> Color32 {
        self.at(value).map_or(self.ground, |at| colors::opaque(self.table[at]))
    }

    /// Returns the number of values beyond a fixed range; `None` if the range is not fixed.
    pub fn beyond(&self, values: &[f32]) -> Option<usize> {
        let is_beyond = |v: &&f32| matches!(self.at(**v), Some(colormap::BELOW | colormap::ABOVE));
        self.is_fixed.then(|| values.iter().filter(is_beyond).count())
    }

    /// Returns the position of a value as a fraction of the range: 0 at the low end, 1 at the high end.
    fn place(&self, value: f32) -> f32 {
        let (low, high) = self.range;
        match (self.colors, self.is_log) {
            (ScaleColors::Diverging, true) => {
                let t = (1.0 + (1.0 / SMALL - 1.0) * (value.abs() / high.max(1e-12))).ln() / (1.0 / SMALL).ln();
                0.5 + 0.5 * t.copysign(value)
            }
            (ScaleColors::Diverging, false) => 0.5 + 0.5 * value / high.max(1e-12),
            (ScaleColors::Map(_), true) => (value.max(1e-12) / low).ln() / (high / low).ln().max(1e-6),
            (ScaleColors::Map(_), false) => (value - low) / (high - low).max(1e-12),
        }
    }

    /// Draws the colour bar: colours from low to high, the values at both ends, and the number of values beyond the range.
    pub fn bar(&self, ui: &Ui, mut bar: Rect, unit: &str, beyond: Option<usize>, tokens: &Tokens) {
        let (painter, font, small) = (ui.painter(), kit::mono(ui), kit::small(ui));
        let title = bar.left_top() - Vec2::new(2.0, 4.0);
        painter.text(title, Align2::LEFT_BOTTOM, unit, small.clone(), tokens.text_sub);
        if let Some(beyond) = beyond {
            bar = bar.shrink2(Vec2::new(0.0, bar::CAP + 2.0));
            bar::paint_caps(painter, bar, &self.table);
            let at = pos2(bar.left() - 6.0, bar.bottom() + bar::CAP + 4.0);
            let text = format!("{} beyond", kit::thousands(beyond as u64));
            painter.text(at, Align2::LEFT_TOP, text, small, tokens.text_sub);
        }
        bar::paint_colors(painter, bar, &self.table);
        let mark = |y: f32, align: Align2, v: f32| {
            painter.text(pos2(bar.right() + 4.0, y), align, short(f64::from(v)), font.clone(), tokens.text_sub);
        };
        mark(bar.top(), Align2::LEFT_TOP, self.range.1);
        mark(bar.bottom(), Align2::LEFT_BOTTOM, self.range.0);
        if self.colors == ScaleColors::Diverging && bar.height() > 40.0 {
            mark(bar.center().y, Align2::LEFT_CENTER, 0.0);
        }
    }
}

/// Returns the smallest range around zero that contains a range and is symmetric.
fn even((low, high): (f32, f32)) -> (f32, f32) {
    let most = low.abs().max(high.abs());
    (-most, most)
}

/// Returns the diverging colour at `t` from 0 to 1, with zero in the middle.
fn diverging(t: f32, tokens: &Tokens) -> Color32 {
    if t < 0.5 {
        return tokens.canvas.lerp_to_gamma(tokens.inhibitory, 1.0 - 2.0 * t);
    }
    tokens.canvas.lerp_to_gamma(tokens.excitatory, 2.0 * t - 1.0)
}

/// Mapping of a field's values to colours.
pub struct FieldScale {
    /// Colours from low to high.
    pub table: Table,
    /// Values at the ends of the range.
    pub range: (f32, f32),
    /// Number of values beyond a fixed range; `None` if the range is not fixed.
    pub beyond: Option<usize>,
    /// Colour of missing values (NaN).
    pub none: Color32,
}

impl FieldScale {
    /// Creates a scale with a range taken from the data.
    pub fn following(map: Colormap, range: (f32, f32), tokens: &Tokens) -> Self {
        Self { table: map.table(tokens.dark), range, beyond: None, none: tokens.other }
    }

    /// Creates a scale with a fixed range.
    pub fn fixed(map: Colormap, range: (f32, f32), values: &[f32], tokens: &Tokens) -> Self {
        let beyond = values.iter().filter(|v| **v < range.0 || **v > range.1).count();
        Self { table: map.fixed_table(tokens), range, beyond: Some(beyond), none: tokens.other }
    }

    /// Returns the colour of a value.
    pub fn color(&self, value: f32) -> Color32 {
        if value.is_nan() {
            return self.none;
        }
        colors::opaque(self.table[self.place(value)])
    }

    /// Returns the table index of a value. `value_color` in points.wgsl computes the same index.
    fn place(&self, value: f32) -> usize {
        colormap::place((value - self.range.0) / (self.range.1 - self.range.0).max(1e-12))
    }
}

/// Returns the range of a field's colours. The range of an angle is the declared range; other fields have the central 99 %
/// of a sample of about 4,096 values, so that outliers do not dominate. Returns the declared range if no value is finite.
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

#[cfg(test)]
mod tests {
    use super::*;

    const VIRIDIS: ScaleColors = ScaleColors::Map(Colormap::Viridis);

    fn scale(colors: ScaleColors, values: &[f32], is_log: bool) -> ColorScale {
        ColorScale::new(colors, is_log, colors.range(values, is_log).expect("a range"), None, &Tokens::dark())
    }

    #[test]
    fn values_map_to_their_colours() {
        let log = scale(VIRIDIS, &[0.0, 1.0, 10.0, 100.0], true);
        assert_eq!(log.range, (1.0, 100.0), "zero has no logarithm");
        assert!((log.place(10.0) - 0.5).abs() < 1e-6 && log.color(0.0) == log.ground);
        for is_log in [false, true] {
            let signed = scale(ScaleColors::Diverging, &[-4.0, 1.0, f32::NAN, 0.0], is_log);
            assert_eq!(signed.range, (-4.0, 4.0));
            assert_eq!([-4.0, 0.0, 4.0].map(|v| signed.place(v)), [0.0, 0.5, 1.0]);
        }
        assert_eq!(ScaleColors::Diverging.range(&[f32::NAN; 4], false), None);
    }

    #[test]
    fn values_beyond_a_fixed_range_are_counted() {
        let fixed = |colors, range| ColorScale::new(colors, false, (0.0, 100.0), Some(range), &Tokens::dark());
        let ramp = fixed(VIRIDIS, (1.0, 2.0));
        assert_eq!(ramp.beyond(&[0.9, 1.0, 1.5, 2.0, 2.1, f32::NAN]), Some(2));
        assert!(ramp.color(0.9) != ramp.color(1.0) && ramp.color(3.0) == ramp.color(9.0));
        assert_eq!(
            fixed(ScaleColors::Diverging, (0.0, 2.0)).beyond(&[-2.5, -2.0, 2.0, 2.1]),
            Some(2),
            "on both sides of zero"
        );
        assert_eq!(scale(VIRIDIS, &[1.0, 2.0], false).beyond(&[0.0, 9.0]), None);
        let log = ColorScale::new(VIRIDIS, true, (1.0, 10.0), Some((0.0, 10.0)), &Tokens::dark());
        assert!((log.range.0 - 0.01).abs() < 1e-6, "zero is no end of a logarithmic scale: {:?}", log.range);
    }

    #[test]
    fn ranges_skip_outliers_and_keep_declared_angles() {
        let field = |meaning, range| ProbeSpec {
            name: "x",
            title: "",
            docs: "",
            unit: "",
            shape: Shape::Field { over: "cells", range, meaning },
            args: &[],
        };
        let mut values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        values.extend([1e9, f32::NAN]);
        let (low, high) = range_of(&field(Meaning::Number, (0.0, 1.0)), &values);
        assert!(low < 10.0 && (980.0..1000.0).contains(&high), "{low} {high}");
        assert_eq!(range_of(&field(Meaning::Angle, (-3.0, 3.0)), &values), (-3.0, 3.0));
        let tokens = Tokens::dark();
        let scale = FieldScale::following(Colormap::Viridis, (0.0, 1.0), &tokens);
        assert_eq!((scale.color(f32::NAN), scale.color(9.0)), (tokens.other, scale.color(1.0)));
    }

    #[test]
    fn values_beyond_a_fixed_range_have_distinct_colours() {
        let values = [-0.1, 0.0, 0.5, 1.0, 1.1, 7.0, f32::NAN];
        for (tokens, map) in [Tokens::dark(), Tokens::light()].iter().flat_map(|t| Colormap::ALL.map(|r| (t, r))) {
            let scale = FieldScale::fixed(map, (0.0, 1.0), &values, tokens);
            assert_eq!(scale.beyond, Some(3));
            assert_eq!(
                [-0.1, 0.0, 1.0, 1.1].map(|v| scale.place(v)),
                [colormap::BELOW, colormap::BELOW + 1, colormap::ABOVE - 1, colormap::ABOVE]
            );
            let inside = &scale.table[colormap::BELOW + 1..colormap::ABOVE];
            for end in [colormap::BELOW, colormap::ABOVE].map(|i| scale.table[i]) {
                let nearest = inside.iter().map(|c| colormap::difference(*c, end)).min().expect("colours");
                assert!(nearest > 100, "{map:?}, dark {}: {end:?} is {nearest} from the map", tokens.dark);
            }
        }
    }
}
