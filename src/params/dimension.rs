//! Physical dimensions as exponents of seven base units, and the spellings of units with their scale.

/// Exponents of second, volt, ampere, metre, step, byte and radian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dimension([i8; 7]);

impl Dimension {
    /// Dimension of a plain number.
    pub const NONE: Self = Self([0; 7]);
    /// Dimension of a duration.
    pub const TIME: Self = Self([1, 0, 0, 0, 0, 0, 0]);
    /// Dimension of a voltage.
    pub const VOLTAGE: Self = Self([0, 1, 0, 0, 0, 0, 0]);
    /// Dimension of a current.
    pub const CURRENT: Self = Self([0, 0, 1, 0, 0, 0, 0]);
    /// Dimension of a length.
    pub const LENGTH: Self = Self([0, 0, 0, 1, 0, 0, 0]);
    /// Dimension of a step count.
    pub const STEPS: Self = Self([0, 0, 0, 0, 1, 0, 0]);
    /// Dimension of a memory size.
    pub const BYTES: Self = Self([0, 0, 0, 0, 0, 1, 0]);
    /// Dimension of a frequency.
    pub const FREQUENCY: Self = Self([-1, 0, 0, 0, 0, 0, 0]);
    const RESISTANCE: Self = Self([0, 1, -1, 0, 0, 0, 0]);
    const CONDUCTANCE: Self = Self([0, -1, 1, 0, 0, 0, 0]);
    pub(super) const CAPACITANCE: Self = Self([1, -1, 1, 0, 0, 0, 0]);

    /// Returns the dimension of a product; `None` if an exponent overflows.
    pub fn times(self, other: Self) -> Option<Self> {
        self.zip(other, i8::checked_add)
    }

    /// Returns the dimension of a quotient; `None` if an exponent overflows.
    pub fn per(self, other: Self) -> Option<Self> {
        self.zip(other, i8::checked_sub)
    }

    fn zip(self, other: Self, f: fn(i8, i8) -> Option<i8>) -> Option<Self> {
        let mut out = Self::NONE;
        for (o, (a, b)) in out.0.iter_mut().zip(self.0.into_iter().zip(other.0)) {
            *o = f(a, b)?;
        }
        Some(out)
    }

    /// Returns the dimension of a power; `None` if an exponent overflows.
    pub fn to_the(self, power: i8) -> Option<Self> {
        let mut out = self;
        for o in &mut out.0 {
            *o = o.checked_mul(power)?;
        }
        Some(out)
    }

    /// Returns the name in messages: `a time`.
    pub const fn name(self) -> &'static str {
        match self.0 {
            [0, 0, 0, 0, 0, 0, 0] => "a plain number",
            [1, 0, 0, 0, 0, 0, 0] => "a time",
            [0, 1, 0, 0, 0, 0, 0] => "a voltage",
            [0, 0, 1, 0, 0, 0, 0] => "a current",
            [0, 0, 0, 1, 0, 0, 0] => "a length",
            [0, 0, 0, 0, 1, 0, 0] => "a number of steps",
            [0, 0, 0, 0, 0, 1, 0] => "an amount of memory",
            [-1, 0, 0, 0, 0, 0, 0] => "a frequency",
            [0, 1, -1, 0, 0, 0, 0] => "a resistance",
            [0, -1, 1, 0, 0, 0, 0] => "a conductance",
            [1, -1, 1, 0, 0, 0, 0] => "a capacitance",
            _ => "something else",
        }
    }
}

/// Spelling of a unit with its dimension and its scale, `factor × 10^exponent` base units. The power of ten is separate
/// so that conversion between prefixes is exact.
#[derive(Clone, Copy, Debug)]
pub struct Spelling {
    /// Unit as typed.
    pub text: &'static str,
    /// Dimension of the unit.
    pub dimension: Dimension,
    /// Factor that is not a power of ten, usually 1.
    pub factor: f64,
    /// Exponent of the power of ten.
    pub exponent: i32,
}

const fn unit(text: &'static str, dimension: Dimension, factor: f64, exponent: i32) -> Spelling {
    Spelling { text, dimension, factor, exponent }
}

/// All accepted spellings. The first spelling of a dimension and scale is the usual one.
pub const SPELLINGS: &[Spelling] = &[
    unit("ms", Dimension::TIME, 1.0, -3),
    unit("s", Dimension::TIME, 1.0, 0),
    unit("µs", Dimension::TIME, 1.0, -6),
    unit("us", Dimension::TIME, 1.0, -6),
    unit("ns", Dimension::TIME, 1.0, -9),
    unit("min", Dimension::TIME, 60.0, 0),
    unit("h", Dimension::TIME, 3600.0, 0),
    unit("mV", Dimension::VOLTAGE, 1.0, -3),
    unit("mv", Dimension::VOLTAGE, 1.0, -3),
    unit("V", Dimension::VOLTAGE, 1.0, 0),
    unit("µV", Dimension::VOLTAGE, 1.0, -6),
    unit("uV", Dimension::VOLTAGE, 1.0, -6),
    unit("pA", Dimension::CURRENT, 1.0, -12),
    unit("nA", Dimension::CURRENT, 1.0, -9),
    unit("µA", Dimension::CURRENT, 1.0, -6),
    unit("uA", Dimension::CURRENT, 1.0, -6),
    unit("mA", Dimension::CURRENT, 1.0, -3),
    unit("A", Dimension::CURRENT, 1.0, 0),
    unit("Hz", Dimension::FREQUENCY, 1.0, 0),
    unit("hz", Dimension::FREQUENCY, 1.0, 0),
    unit("kHz", Dimension::FREQUENCY, 1.0, 3),
    unit("MHz", Dimension::FREQUENCY, 1.0, 6),
    unit("µm", Dimension::LENGTH, 1.0, -6),
    unit("um", Dimension::LENGTH, 1.0, -6),
    unit("nm", Dimension::LENGTH, 1.0, -9),
    unit("mm", Dimension::LENGTH, 1.0, -3),
    unit("m", Dimension::LENGTH, 1.0, 0),
    unit("steps", Dimension::STEPS, 1.0, 0),
    unit("step", Dimension::STEPS, 1.0, 0),
    unit("B", Dimension::BYTES, 1.0, 0),
    unit("kB", Dimension::BYTES, 1.0, 3),
    unit("MB", Dimension::BYTES, 1.0, 6),
    unit("GB", Dimension::BYTES, 1.0, 9),
    unit("KiB", Dimension::BYTES, 1024.0, 0),
    unit("MiB", Dimension::BYTES, 1_048_576.0, 0),
    unit("GiB", Dimension::BYTES, 1_073_741_824.0, 0),
    unit("MΩ", Dimension::RESISTANCE, 1.0, 6),
    unit("MOhm", Dimension::RESISTANCE, 1.0, 6),
    unit("GΩ", Dimension::RESISTANCE, 1.0, 9),
    unit("nS", Dimension::CONDUCTANCE, 1.0, -9),
    unit("pS", Dimension::CONDUCTANCE, 1.0, -12),
    unit("pF", Dimension::CAPACITANCE, 1.0, -12),
    unit("nF", Dimension::CAPACITANCE, 1.0, -9),
    unit("%", Dimension::NONE, 1.0, -2),
];

/// Finds a unit by its spelling; `None` if there is no such unit. Both Unicode characters for µ and for Ω are accepted.
pub fn spelled(text: &str) -> Option<&'static Spelling> {
    let text = text.replace('\u{3bc}', "µ").replace('\u{2126}', "Ω");
    SPELLINGS.iter().find(|s| s.text == text)
}
