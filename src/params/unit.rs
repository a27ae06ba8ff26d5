//! Units: how a value is labelled and what may be typed instead.

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

    /// Spellings that may be typed, and what one of each is in the stored unit.
    pub const fn spellings(self) -> &'static [(&'static str, f64)] {
        match self {
            Self::One => &[("%", 0.01)],
            Self::Ms => &[("ms", 1.0), ("s", 1e3), ("us", 1e-3), ("µs", 1e-3), ("min", 6e4), ("h", 3.6e6)],
            Self::Mv => &[("mV", 1.0), ("V", 1e3), ("uV", 1e-3), ("µV", 1e-3)],
            Self::Hz => &[("Hz", 1.0), ("kHz", 1e3), ("/s", 1.0)],
            Self::Pa => &[("pA", 1.0), ("nA", 1e3)],
            Self::Um => &[("um", 1.0), ("µm", 1.0), ("nm", 1e-3), ("mm", 1e3)],
            Self::Steps => &[("steps", 1.0), ("step", 1.0)],
            Self::Bytes => &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("KiB", 1024.0), ("MiB", 1_048_576.0)],
        }
    }

    /// Reads `20`, `20 ms`, `0.02 s`, `1/3`, `2,5`; `Err` says what was expected.
    pub fn parse(self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        let (number, factor) = self
            .spellings()
            .iter()
            .filter_map(|(s, f)| text.strip_suffix(s).map(|rest| (rest.trim_end(), *f, s.len())))
            .max_by_key(|(_, _, len)| *len)
            .map_or((text, 1.0), |(rest, f, _)| (rest, f));
        let parsed = match number.split_once('/') {
            Some((a, b)) => number_of(a).zip(number_of(b)).map(|(a, b)| a / b),
            None => number_of(number),
        };
        parsed.map(|x| x * factor).ok_or_else(|| {
            let known: Vec<&str> = self.spellings().iter().map(|(s, _)| *s).collect();
            match known.is_empty() || self == Self::One {
                true => format!("`{text}` is not a number"),
                false => format!("`{text}` is not a number in {} ({})", self.suffix(), known.join(", ")),
            }
        })
    }
}

fn number_of(text: &str) -> Option<f64> {
    let text = text.trim().replace(',', ".").replace('_', "");
    text.parse::<f64>().ok().filter(|x| x.is_finite())
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
            (Unit::One, "1/4", 0.25),
            (Unit::Hz, "1 kHz", 1000.0),
            (Unit::Mv, "-52 mV", -52.0),
        ] {
            assert!((unit.parse(text).unwrap() - want).abs() < 1e-12, "{text}");
        }
        assert!(Unit::Ms.parse("20 mV").unwrap_err().contains("ms"));
        assert!(Unit::One.parse("nan").is_err());
    }
}
