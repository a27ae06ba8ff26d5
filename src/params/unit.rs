//! Units: how a value is labelled and what may be typed instead.

use super::{
    dimension::{Dimension, SPELLINGS, Spelling},
    expression::{Quantity, evaluate, evaluate_with_last_unit},
};

/// Physical unit of a stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Dimensionless.
    One,
    /// Milliseconds.
    Ms,
    /// Millivolts.
    Mv,
    /// Hertz.
    Hz,
    /// Picoamperes.
    Pa,
    /// Micrometres.
    Um,
    /// Steps.
    Steps,
    /// Bytes.
    Bytes,
}

impl Unit {
    /// Behind the value, without a space.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::One => "",
            Self::Ms => "ms",
            Self::Mv => "mV",
            Self::Hz => "Hz",
            Self::Pa => "pA",
            Self::Um => "µm",
            Self::Steps => "steps",
            Self::Bytes => "B",
        }
    }

    /// What it measures, and its scale as a power of ten of the base units.
    pub const fn dimension(self) -> (Dimension, i32) {
        match self {
            Self::One => (Dimension::NONE, 0),
            Self::Ms => (Dimension::TIME, -3),
            Self::Mv => (Dimension::VOLTAGE, -3),
            Self::Hz => (Dimension::FREQUENCY, 0),
            Self::Pa => (Dimension::CURRENT, -12),
            Self::Um => (Dimension::LENGTH, -6),
            Self::Steps => (Dimension::STEPS, 0),
            Self::Bytes => (Dimension::BYTES, 0),
        }
    }

    /// Spellings that may be typed, each scale once.
    pub fn spellings(self) -> Vec<&'static str> {
        let (dimension, _) = self.dimension();
        let mut out: Vec<&Spelling> = vec![];
        for s in SPELLINGS.iter().filter(|s| s.dimension == dimension) {
            if !out.iter().any(|o| (o.factor, o.exponent) == (s.factor, s.exponent)) {
                out.push(s);
            }
        }
        out.into_iter().map(|s| s.text).collect()
    }

    /// Reads `20`, `20 ms`, `0.02 s`, `1/3`, `2*pi`, `2,5`; a plain number is in this unit. `Err` says what is wrong
    /// and what was expected.
    pub fn parse(self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        let (dimension, exponent) = self.dimension();
        let fits = |q: &Quantity| q.dimension == dimension && (self == Self::One || !text.contains('%'));
        let read = evaluate(text);
        let whole = || evaluate_with_last_unit(text).filter(fits);
        let value = match read {
            Ok(q) if fits(&q) => q.in_units_of(exponent),
            Ok(q) if q.dimension == Dimension::NONE && !text.contains('%') => q.in_units_of(0),
            Ok(q) => match whole() {
                Some(q) => q.in_units_of(exponent),
                None => return Err(self.complain(text, &format!("is {}", q.dimension.name()))),
            },
            Err(why) => match whole() {
                Some(q) => q.in_units_of(exponent),
                None => return Err(self.complain(text, &format!("is not a number: {why}"))),
            },
        };
        if value.is_finite() { Ok(value) } else { Err(self.complain(text, "is not a finite number")) }
    }

    fn complain(self, text: &str, what: &str) -> String {
        let expected = match self {
            Self::One => "a plain number".to_owned(),
            _ => format!("{} in {} ({})", self.dimension().0.name(), self.suffix(), self.spellings().join(", ")),
        };
        let shown: String = text.chars().take(40).collect();
        format!("`{shown}` {what}; expected {expected}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_values() {
        for (unit, text, want) in [
            (Unit::Ms, "20", 20.0),
            (Unit::Ms, "20 ms", 20.0),
            (Unit::Ms, "0.02s", 20.0),
            (Unit::Ms, "2,5", 2.5),
            (Unit::Ms, "1/3 s", 1000.0 / 3.0),
            (Unit::Ms, "1 / (50 Hz)", 20.0),
            (Unit::Ms, "1.8 ms + 200 us", 2.0),
            (Unit::Ms, "2 min", 120_000.0),
            (Unit::One, "1/4", 0.25),
            (Unit::One, "2*pi", std::f64::consts::TAU),
            (Unit::One, "1e-3", 1e-3),
            (Unit::One, "2e", 2.0 * std::f64::consts::E),
            (Unit::One, "-(3 - 5)^2", -4.0),
            (Unit::One, "2^-1", 0.5),
            (Unit::One, "25 %", 0.25),
            (Unit::One, "sqrt(2)", std::f64::consts::SQRT_2),
            (Unit::One, "5 ms / 20 ms", 0.25),
            (Unit::One, "1,234,567", 1_234_567.0),
            (Unit::One, "1_000", 1000.0),
            (Unit::Hz, "1 kHz", 1000.0),
            (Unit::Hz, "1/5 ms", 200.0),
            (Unit::Hz, "3 /s", 3.0),
            (Unit::Mv, "-52 mV", -52.0),
            (Unit::Mv, "−52", -52.0),
            (Unit::Mv, "20 pA * 50 MΩ", 1.0),
            (Unit::Pa, "2 nS * 7 mV", 14.0),
            (Unit::Ms, "200 pF / 10 nS", 20.0),
            (Unit::Bytes, "1.5 GB", 1.5e9),
            (Unit::Steps, "3 steps", 3.0),
        ] {
            let got = unit.parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert!((got - want).abs() <= 1e-12 * want.abs(), "{text}: {got}");
        }
        assert_eq!(Unit::Ms.parse("0.02 s"), Ok(20.0), "exactly");
        assert_eq!(Unit::Mv.parse("0.275 mV"), Ok(0.275), "exactly");
    }

    #[test]
    fn refusals_name_the_expected_unit() {
        for (unit, text, why) in [
            (Unit::Ms, "20 mV", "`20 mV` is a voltage; expected a time in ms (ms, s, µs, ns, min, h)"),
            (Unit::One, "20 mV", "`20 mV` is a voltage; expected a plain number"),
            (Unit::Ms, "1 + 2 ms", "a plain number and a time cannot be added"),
            (Unit::Mv, "50 %", "expected a voltage in mV"),
            (Unit::One, "nan", "`nan` is neither a unit nor a function"),
            (Unit::One, "1/0", "is not a finite number"),
            (Unit::One, "", "a number is missing"),
            (Unit::One, "(1", "a closing parenthesis is missing"),
            (Unit::One, "1 2", "`2` does not belong there"),
            (Unit::One, "1,2,3", "`1,2,3` is not a number"),
            (Unit::One, "sqrt(2 mV)", "sqrt takes a plain number"),
            (Unit::One, "2^(1 s)", "a power has no unit"),
        ] {
            let refused = unit.parse(text).expect_err(text);
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
