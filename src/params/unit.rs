//! Units: display suffixes and accepted spellings.

use super::{
    dimension::{Dimension, SPELLINGS, Spelling},
    expression::{Quantity, evaluate, evaluate_with_last_unit},
};

/// Physical unit of a stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Number without a dimension.
    One,
    /// Time in seconds.
    S,
    /// Time in milliseconds.
    Ms,
    /// Voltage in millivolts.
    Mv,
    /// Frequency in hertz.
    Hz,
    /// Current in picoamperes.
    Pa,
    /// Capacitance in picofarads.
    Pf,
    /// Length in micrometres.
    Um,
    /// Number of steps.
    Steps,
    /// Number of steps that the kind counts under this name: `generations`.
    Count(&'static str),
    /// Number of bytes.
    Bytes,
}

impl Unit {
    /// Returns the suffix after the value, without a space.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::One => "",
            Self::S => "s",
            Self::Ms => "ms",
            Self::Mv => "mV",
            Self::Hz => "Hz",
            Self::Pa => "pA",
            Self::Pf => "pF",
            Self::Um => "µm",
            Self::Steps => "steps",
            Self::Count(name) => name,
            Self::Bytes => "B",
        }
    }

    /// Returns the dimension of the unit, and its scale as a power of ten of the base units.
    pub const fn dimension(self) -> (Dimension, i32) {
        match self {
            Self::One => (Dimension::NONE, 0),
            Self::S => (Dimension::TIME, 0),
            Self::Ms => (Dimension::TIME, -3),
            Self::Mv => (Dimension::VOLTAGE, -3),
            Self::Hz => (Dimension::FREQUENCY, 0),
            Self::Pa => (Dimension::CURRENT, -12),
            Self::Pf => (Dimension::CAPACITANCE, -12),
            Self::Um => (Dimension::LENGTH, -6),
            Self::Steps | Self::Count(_) => (Dimension::STEPS, 0),
            Self::Bytes => (Dimension::BYTES, 0),
        }
    }

    /// Returns the accepted spellings, one per scale.
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

    /// Parses `20`, `20 ms`, `0.02 s`, `1/3`, `2*pi`, `2,5`. A plain number is in the unit `self`. Fails with the mistake
    /// and the expected form.
    pub fn parse(self, text: &str) -> Result<f64, String> {
        let text = match self {
            Self::Count(name) => text.trim().trim_end_matches(name).trim(),
            _ => text.trim(),
        };
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
