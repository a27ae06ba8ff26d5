//! How the values of a picture become colours, and the bar beside it that says how.

use super::{
    bar,
    colors::{self, Ramp, Table},
    heatmap::short,
    kit,
};
use crate::app::theme::Tokens;
use egui::{Align2, Color32, Rect, Ui, Vec2, pos2};

/// On a logarithmic scale on both sides of zero, the smallest part of the largest value that is told from it.
const SMALL: f32 = 1e-3;

/// Which colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Inks {
    /// Along a ramp, from the lowest value to the highest.
    Ramp(Ramp),
    /// Away from zero: negative one way, positive the other.
    Signed,
}

impl Inks {
    /// The lowest and the highest of some values that have a colour, as these colours can have them.
    pub fn range(self, values: &[f32], is_log: bool) -> Option<(f32, f32)> {
        let of = |(a, b): (f32, f32), v: &f32| (a.min(*v), b.max(*v));
        let colored = values.iter().filter(|v| self.has_color(**v, is_log));
        let (low, high) = colored.fold((f32::INFINITY, f32::NEG_INFINITY), of);
        match (low <= high, self) {
            (false, _) => None,
            (true, Self::Signed) => Some(even((low, high))),
            (true, Self::Ramp(_)) => Some((low, if high > low { high } else { low + low.abs().max(1e-6) })),
        }
    }

    /// Zero and less have no logarithm; what is no number has no colour.
    fn has_color(self, value: f32, is_log: bool) -> bool {
        value.is_finite() && !(is_log && self != Self::Signed && value <= 0.0)
    }

    /// A range somebody fixed, as these colours can have it.
    fn fit(self, (low, high): (f32, f32), is_log: bool) -> (f32, f32) {
        match self {
            Self::Signed => even((low, high)),
            Self::Ramp(_) if is_log && low <= 0.0 => (high.max(1e-12) * SMALL, high.max(1e-12)),
            Self::Ramp(_) => (low, high),
        }
    }

    fn table(self, tokens: &Tokens) -> Table {
        match self {
            Self::Ramp(ramp) => ramp.table(tokens.dark),
            Self::Signed => std::array::from_fn(|i| signed(i as f32 / 255.0, tokens).to_array()),
        }
    }
}

/// From values to colours.
#[derive(Clone, Debug, PartialEq)]
pub struct Ink {
    inks: Inks,
    is_log: bool,
    range: (f32, f32),
    is_fixed: bool,
    table: Table,
    /// Where there is nothing.
    ground: Color32,
}

impl Ink {
    /// Between the ends of a range that was taken from the data, unless somebody fixed another: then what lies beyond it has
    /// colours of its own.
    pub fn new(inks: Inks, is_log: bool, of_data: (f32, f32), fixed: Option<(f32, f32)>, tokens: &Tokens) -> Self {
        let range = fixed.map_or(of_data, |fixed| inks.fit(fixed, is_log));
        let plain = inks.table(tokens);
        let table = if fixed.is_some() { colors::with_ends(plain, tokens) } else { plain };
        let ground = tokens.canvas.lerp_to_gamma(tokens.panel, 0.6);
        Self { inks, is_log, range, is_fixed: fixed.is_some(), table, ground }
    }

    /// Where in the table a value is; none for what has no colour.
    fn at(&self, value: f32) -> Option<usize> {
        self.inks.has_color(value, self.is_log).then(|| match colors::place(self.place(value)) {
            colors::BELOW if !self.is_fixed => colors::BELOW + 1,
            colors::ABOVE if !self.is_fixed => colors::ABOVE - 1,
            at => at,
        })
    }

    /// The colour of a value.
    pub fn color(&self, value: f32) -> Color32 {
        self.at(value).map_or(self.ground, |at| colors::opaque(self.table[at]))
    }

    /// How many of these lie beyond a range that was fixed; none where it was not.
    pub fn beyond(&self, values: &[f32]) -> Option<usize> {
        let is_beyond = |v: &&f32| matches!(self.at(**v), Some(colors::BELOW | colors::ABOVE));
        self.is_fixed.then(|| values.iter().filter(is_beyond).count())
    }

    /// How far a value is along the colours: 0 to 1 within the range.
    fn place(&self, value: f32) -> f32 {
        let (low, high) = self.range;
        match (self.inks, self.is_log) {
            (Inks::Signed, true) => {
                let t = (1.0 + (1.0 / SMALL - 1.0) * (value.abs() / high.max(1e-12))).ln() / (1.0 / SMALL).ln();
                0.5 + 0.5 * t.copysign(value)
            }
            (Inks::Signed, false) => 0.5 + 0.5 * value / high.max(1e-12),
            (Inks::Ramp(_), true) => (value.max(1e-12) / low).ln() / (high / low).ln().max(1e-6),
            (Inks::Ramp(_), false) => (value - low) / (high - low).max(1e-12),
        }
    }

    /// The colours from low to high, the values at their ends, and how many lie beyond.
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
        if self.inks == Inks::Signed && bar.height() > 40.0 {
            mark(bar.center().y, Align2::LEFT_CENTER, 0.0);
        }
    }
}

/// The same distance from zero on both sides.
fn even((low, high): (f32, f32)) -> (f32, f32) {
    let most = low.abs().max(high.abs());
    (-most, most)
}

/// Away from zero in the middle.
fn signed(t: f32, tokens: &Tokens) -> Color32 {
    if t < 0.5 {
        return tokens.canvas.lerp_to_gamma(tokens.inhibitory, 1.0 - 2.0 * t);
    }
    tokens.canvas.lerp_to_gamma(tokens.excitatory, 2.0 * t - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIRIDIS: Inks = Inks::Ramp(Ramp::Viridis);

    fn ink(inks: Inks, values: &[f32], is_log: bool) -> Ink {
        Ink::new(inks, is_log, inks.range(values, is_log).expect("a range"), None, &Tokens::dark())
    }

    #[test]
    fn values_find_their_colours() {
        let log = ink(VIRIDIS, &[0.0, 1.0, 10.0, 100.0], true);
        assert_eq!(log.range, (1.0, 100.0), "nothing has no logarithm");
        assert!((log.place(10.0) - 0.5).abs() < 1e-6 && log.color(0.0) == log.ground);
        for is_log in [false, true] {
            let signed = ink(Inks::Signed, &[-4.0, 1.0, f32::NAN, 0.0], is_log);
            assert_eq!(signed.range, (-4.0, 4.0));
            assert_eq!([-4.0, 0.0, 4.0].map(|v| signed.place(v)), [0.0, 0.5, 1.0]);
        }
        assert_eq!(Inks::Signed.range(&[f32::NAN; 4], false), None);
    }

    #[test]
    fn what_lies_beyond_a_fixed_range_is_counted() {
        let fixed = |inks, range| Ink::new(inks, false, (0.0, 100.0), Some(range), &Tokens::dark());
        let ramp = fixed(VIRIDIS, (1.0, 2.0));
        assert_eq!(ramp.beyond(&[0.9, 1.0, 1.5, 2.0, 2.1, f32::NAN]), Some(2));
        assert!(ramp.color(0.9) != ramp.color(1.0) && ramp.color(3.0) == ramp.color(9.0));
        assert_eq!(fixed(Inks::Signed, (0.0, 2.0)).beyond(&[-2.5, -2.0, 2.0, 2.1]), Some(2), "on both sides of zero");
        assert_eq!(ink(VIRIDIS, &[1.0, 2.0], false).beyond(&[0.0, 9.0]), None);
        let log = Ink::new(VIRIDIS, true, (1.0, 10.0), Some((0.0, 10.0)), &Tokens::dark());
        assert!((log.range.0 - 0.01).abs() < 1e-6, "zero is no end of a logarithmic scale: {:?}", log.range);
    }
}
