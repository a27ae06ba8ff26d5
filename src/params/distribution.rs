//! Distribution of a parameter: constant, uniform, normal or log-normal, with optional bounds.
//!
//! The text form is `20 ms`, `uniform(1 ms, 3 ms)`, `normal(20 ms, 2 ms) in 5..40 ms`, `log_normal(-0.6, 0.5)`. Files
//! contain a plain number for a constant, otherwise the text form with plain numbers in the unit of the parameter.

use super::{ParamSpec, ParamValue, Scale, Unit, Value, ValueType};
use crate::num::{normal, rng::Draw};

/// Family of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// Single value without spread.
    Constant,
    /// Equal density between the lowest and the highest value.
    Uniform,
    /// Normal distribution with mean and standard deviation.
    Normal,
    /// Log-normal distribution: the natural logarithm of the value in the unit of the parameter is normal. The
    /// arguments are mean and standard deviation of the logarithm, both without unit. The median is `exp(mean)`, the
    /// mean `exp(mean + sd²/2)`.
    LogNormal,
}

/// Declaration of a family and its arguments.
pub struct LawSpec {
    /// Family that is declared.
    pub law: Law,
    /// Identifier in text forms.
    pub name: &'static str,
    /// Display name of the family.
    pub title: &'static str,
    /// Tooltip of the family.
    pub docs: &'static str,
    /// Identifiers and titles of the arguments.
    pub arguments: &'static [(&'static str, &'static str)],
}

/// Declarations of all families, in the order of [`Law`].
pub const LAWS: [LawSpec; 4] = [
    LawSpec {
        law: Law::Constant,
        name: "constant",
        title: "Constant",
        docs: "The same value everywhere.",
        arguments: &[("value", "Value")],
    },
    LawSpec {
        law: Law::Uniform,
        name: "uniform",
        title: "Uniform",
        docs: "Equal density from the lowest to the highest value.",
        arguments: &[("low", "Lowest"), ("high", "Highest")],
    },
    LawSpec {
        law: Law::Normal,
        name: "normal",
        title: "Normal",
        docs: "Mean and standard deviation of the distribution without its bounds.",
        arguments: &[("mean", "Mean"), ("sd", "Standard deviation")],
    },
    LawSpec {
        law: Law::LogNormal,
        name: "log_normal",
        title: "Log-normal",
        docs: "The natural logarithm of the value, in the unit of the parameter, is normal: mean and standard deviation \
               of the logarithm.",
        arguments: &[("mean", "Mean of the logarithm"), ("sd", "SD of the logarithm")],
    },
];

impl Law {
    /// Returns the declaration of the family.
    pub const fn spec(self) -> &'static LawSpec {
        &LAWS[self as usize]
    }
}

/// Distribution of values in the unit of the parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution {
    /// Family of the distribution.
    pub law: Law,
    /// Arguments of the family; unused ones are 0.
    pub arguments: [f64; 2],
    /// Lowest and highest value, at which the distribution is truncated; `None` if it is not truncated. Between the bounds,
    /// the distribution keeps its shape.
    pub bounds: Option<(f64, f64)>,
}

impl Distribution {
    /// Creates a distribution with a single value.
    pub const fn constant(value: f64) -> Self {
        Self { law: Law::Constant, arguments: [value, 0.0], bounds: None }
    }

    /// Creates a uniform distribution between two values.
    pub const fn uniform(low: f64, high: f64) -> Self {
        Self { law: Law::Uniform, arguments: [low, high], bounds: None }
    }

    /// Creates a normal distribution from mean and standard deviation.
    pub const fn normal(mean: f64, sd: f64) -> Self {
        Self { law: Law::Normal, arguments: [mean, sd], bounds: None }
    }

    /// Creates a log-normal distribution from mean and standard deviation of the natural logarithm.
    pub const fn log_normal(mean: f64, sd: f64) -> Self {
        Self { law: Law::LogNormal, arguments: [mean, sd], bounds: None }
    }

    /// Truncates the distribution to the given bounds in addition to the present ones.
    pub fn within(self, (low, high): (f64, f64)) -> Self {
        let (now_low, now_high) = self.bounds.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        Self { bounds: Some((low.max(now_low), high.min(now_high))), ..self }
    }

    /// Returns the distribution of the values with opposite signs. A log-normal distribution has no opposite, so the result is the
    /// constant of its opposite median.
    pub fn negated(self) -> Self {
        let [a, b] = self.arguments;
        let bounds = self.bounds.map(|(low, high)| (-high, -low));
        match self.law {
            Law::Constant => Self { bounds, ..Self::constant(-a) },
            Law::Uniform => Self { bounds, ..Self::uniform(-b, -a) },
            Law::Normal => Self { bounds, ..Self::normal(-a, b) },
            Law::LogNormal => Self::constant(-self.quantile(0.5)),
        }
    }

    /// Returns the value of a constant; `None` for other families.
    pub fn as_constant(self) -> Option<f64> {
        (self.law == Law::Constant).then_some(self.arguments[0])
    }

    /// Draws the value at the address `at`. The value depends on distribution and address alone.
    pub fn draw(self, at: Draw) -> f64 {
        match self.as_constant() {
            Some(value) => value,
            None => self.quantile(at.unit()),
        }
    }

    /// Returns the quantile `u`, between 0 and 1, of the truncated distribution. Each value takes one uniform number, so no
    /// draw is repeated.
    pub fn quantile(self, u: f64) -> f64 {
        let [a, b] = self.arguments;
        let (low, high) = self.bounds.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let normal_between = |low: f64, high: f64| match b > 0.0 {
            true => a + b * normal::truncated_quantile(u, (low - a) / b, (high - a) / b),
            false => a,
        };
        let ln = |x: f64| match x {
            x if x < f64::MIN_POSITIVE => f64::NEG_INFINITY,
            f64::INFINITY => x,
            x => normal::ln(x),
        };
        let x = match self.law {
            Law::Constant => return a,
            Law::Uniform => a.max(low) + u * (b.min(high) - a.max(low)),
            Law::Normal => normal_between(low, high),
            Law::LogNormal => normal::exp(normal_between(ln(low), ln(high))),
        };
        if low <= high { x.clamp(low, high) } else { low }
    }

    /// Returns the declarations of arguments and bounds as parameters, in this order.
    pub fn argument_specs(law: Law, of: &ParamSpec) -> Vec<ParamSpec> {
        let real = ParamSpec { kind: ValueType::Real, symbol: "", formula: "", source: "", ..*of };
        let width = (of.soft.1 - of.soft.0, of.hard.1 - of.hard.0);
        let spread = ParamSpec { soft: (0.0, width.0), hard: (0.0, width.1), scale: Scale::Linear, ..real };
        let plain = ParamSpec { unit: Unit::One, scale: Scale::Linear, ..real };
        let kinds = match law {
            Law::Constant => vec![real],
            Law::Uniform => vec![real, real],
            Law::Normal => vec![real, spread],
            Law::LogNormal => vec![
                ParamSpec { soft: (-5.0, 5.0), hard: (-700.0, 700.0), ..plain },
                ParamSpec { soft: (0.0, 3.0), hard: (0.0, 100.0), ..plain },
            ],
        };
        let named = kinds.into_iter().zip(law.spec().arguments.iter().copied());
        let bounds = [("min", "Lower bound"), ("max", "Upper bound")].map(|name| (real, name));
        let named = named.map(|(spec, (name, title))| ParamSpec { name, title, ..spec });
        named.chain(bounds.map(|(spec, (name, title))| ParamSpec { name, title, ..spec })).collect()
    }

    /// Returns a distribution of another family with about the same median and spread, rounded to three digits. The bounds
    /// stay, except for a constant.
    pub fn with_law(self, law: Law, of: &ParamSpec) -> Self {
        let median = self.quantile(0.5);
        let half = (self.quantile(0.841) - self.quantile(0.159)) / 2.0;
        let width = of.soft.1 - of.soft.0;
        let sd = if half > 0.0 { half } else { (0.1 * median.abs()).max(1e-3 * width) };
        let arguments = match law {
            Law::Constant => return Self::constant(median).nearest(of),
            Law::Uniform => [median - sd * 3_f64.sqrt(), median + sd * 3_f64.sqrt()],
            Law::Normal => [median, sd],
            Law::LogNormal if median > 0.0 => [median.ln(), sd / median],
            Law::LogNormal => [0.0, 1.0],
        };
        Self { law, arguments: arguments.map(rounded), ..self }.nearest(of)
    }

    /// Returns a copy with another value of argument or bound `i`, in the order of [`Distribution::argument_specs`]. Bounds
    /// that the distribution does not have are not set.
    pub fn with_value(self, i: usize, value: f64) -> Self {
        let mut out = self;
        match (i.checked_sub(self.law.spec().arguments.len()), &mut out.bounds) {
            (None, _) => out.arguments[i] = value,
            (Some(0), Some((low, _))) => *low = value,
            (Some(_), Some((_, high))) => *high = value,
            (Some(_), None) => {}
        }
        out
    }

    /// Returns the values of arguments and bounds, in the order of [`Distribution::argument_specs`].
    pub fn values(self) -> Vec<f64> {
        let n = self.law.spec().arguments.len();
        self.arguments[..n].iter().copied().chain(self.bounds.into_iter().flat_map(|(low, high)| [low, high])).collect()
    }

    /// Returns the reason why a parameter rejects the distribution: an argument out of range, or bounds without values
    /// between them. Returns `None` if the parameter accepts the distribution.
    pub fn refusal(self, of: &ParamSpec) -> Option<String> {
        let specs = Self::argument_specs(self.law, of);
        let refused = specs.iter().zip(self.values()).find_map(|(spec, x)| {
            let why = spec.refusal(&Value::Real(x))?;
            Some(if self.law == Law::Constant { why } else { format!("{}: {why}", spec.name) })
        });
        let [a, b] = self.arguments;
        let is_ordered = |low: f64, high: f64| if low <= high { None } else { Some(format!("{low} is above {high}")) };
        let between = || {
            let (low, high) = self.bounds?;
            match self.law {
                Law::Uniform if high < a || low > b => Some(format!("nothing between {low} and {high}")),
                _ => is_ordered(low, high),
            }
        };
        let ends = || if self.law == Law::Uniform { is_ordered(a, b) } else { None };
        refused.or_else(ends).or_else(between)
    }

    /// Returns the nearest distribution that the parameter accepts. If there is none with the bounds, the result has no
    /// bounds.
    pub fn nearest(self, of: &ParamSpec) -> Self {
        let specs = Self::argument_specs(self.law, of);
        let into = |spec: &ParamSpec, x: f64| if x.is_nan() { spec.hard.0 } else { x.clamp(spec.hard.0, spec.hard.1) };
        let mut out = self;
        for (spec, x) in specs.iter().zip(&mut out.arguments) {
            *x = into(spec, *x);
        }
        if out.law == Law::Uniform {
            out.arguments.sort_by(f64::total_cmp);
        }
        out.bounds = self.bounds.map(|(low, high)| (into(of, low.min(high)), into(of, low.max(high))));
        if out.refusal(of).is_some() {
            out.bounds = None;
        }
        out
    }
}

/// Rounds to three significant digits.
fn rounded(x: f64) -> f64 {
    format!("{x:.2e}").parse().unwrap_or(x)
}

impl ParamValue for Distribution {
    const TYPE: ValueType = ValueType::Distribution;
    fn to_value(&self) -> Value {
        Value::Distribution(*self)
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Distribution(distribution) => Some(*distribution),
            Value::Real(value) => Some(Self::constant(*value)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::rng::Purpose;

    const TAU: ParamSpec =
        ParamSpec::new("tau", "", ValueType::Distribution).unit(Unit::Ms).range(1.0..=100.0).hard(0.1..=1000.0);

    #[test]
    fn texts_round_trip() {
        for (text, distribution, shown, file) in [
            ("20", Distribution::constant(20.0), "20 ms", "20.0"),
            ("0.02 s", Distribution::constant(20.0), "20 ms", "20.0"),
            ("uniform(1, 0.003 s)", Distribution::uniform(1.0, 3.0), "uniform(1 ms, 3 ms)", "\"uniform(1, 3)\""),
            (
                "normal(20 ms, 2ms) in 5..40 ms",
                Distribution::normal(20.0, 2.0).within((5.0, 40.0)),
                "normal(20 ms, 2 ms) in 5..40 ms",
                "\"normal(20, 2) in 5..40\"",
            ),
            ("LogNormal(ln(20), 1/2)", Distribution::log_normal(20_f64.ln(), 0.5), "", ""),
            ("normal( (10 + 10) ms , 2 )", Distribution::normal(20.0, 2.0), "", ""),
        ] {
            let read = Distribution::parse(text, &TAU).unwrap();
            assert_eq!(read, distribution, "{text}");
            assert_eq!(Distribution::parse(&read.show(&TAU), &TAU), Ok(read));
            assert_eq!(serde_json::from_str::<Distribution>(&serde_json::to_string(&read).unwrap()).unwrap(), read);
            if !shown.is_empty() {
                assert_eq!((read.show(&TAU).as_str(), serde_json::to_string(&read).unwrap().as_str()), (shown, file));
            }
        }
        assert_eq!(serde_json::from_str::<Distribution>("20").unwrap(), Distribution::constant(20.0));
    }

    #[test]
    fn mistakes_are_named() {
        let said = |text: &str| match Distribution::parse(text, &TAU) {
            Ok(read) => read.refusal(&TAU).unwrap_or_else(|| panic!("{text} is accepted")),
            Err(why) => why,
        };
        for (text, why) in [
            ("norml(20, 2)", "`norml` is none of constant, uniform, normal, log_normal"),
            ("normal(20)", "normal takes mean and sd, not 1 values"),
            ("normal(20 mV, 2)", "mean: `20 mV` is a voltage; expected a time"),
            ("normal(20, 2", "parenthesis"),
            ("normal(20, 2) within 5..40", "bounds are written in 5..40"),
            ("normal(20, 2) in 5", "has no `..`"),
            ("normal(20, -2)", "sd: -2 is below 0 ms"),
            ("normal(20, 2) in 0..40", "min: 0 is below 0.1 ms"),
            ("normal(20, 2) in 40..5", "40 is above 5"),
            ("uniform(5, 4)", "5 is above 4"),
            ("uniform(5, 6) in 7..8", "nothing between 7 and 8"),
            ("uniform(0, 6)", "low: 0 is below 0.1 ms"),
            ("2000", "2000 is above 1000 ms"),
            ("twenty", "not a number"),
        ] {
            assert!(said(text).contains(why), "{text}: {}", said(text));
            if let Ok(read) = Distribution::parse(text, &TAU) {
                assert_eq!(read.nearest(&TAU).refusal(&TAU), None, "{text}");
            }
        }
    }

    /// Compares mean and variance of draws with closed forms: Johnson, Kotz & Balakrishnan, Continuous univariate
    /// distributions 1 (1994), truncated normal 10.1, log-normal 14.
    #[test]
    fn moments_are_those_of_the_closed_forms() {
        let density = |z: f64| (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let truncated = |mean: f64, sd: f64, low: f64, high: f64| {
            let (a, b) = ((low - mean) / sd, (high - mean) / sd);
            let p = normal::cdf(b) - normal::cdf(a);
            let shift = (density(a) - density(b)) / p;
            let variance = 1.0 + (a * density(a) - b * density(b)) / p - shift * shift;
            (mean + sd * shift, sd * sd * variance)
        };
        let (m, s) = (1.0_f64, 0.5_f64);
        // Partial moments of the log-normal distribution up to 4.
        let below = |k: f64| {
            (k * m + k * k * s * s / 2.0).exp() * normal::cdf((4_f64.ln() - m) / s - k * s)
                / normal::cdf((4_f64.ln() - m) / s)
        };
        for (law, (mean, variance)) in [
            (Distribution::constant(3.0), (3.0, 0.0)),
            (Distribution::uniform(2.0, 5.0), (3.5, 9.0 / 12.0)),
            (Distribution::uniform(2.0, 5.0).within((3.0, 9.0)), (4.0, 4.0 / 12.0)),
            (Distribution::normal(20.0, 2.0), (20.0, 4.0)),
            (Distribution::normal(20.0, 2.0).within((21.0, 23.0)), truncated(20.0, 2.0, 21.0, 23.0)),
            (Distribution::normal(0.0, 1.0).within((6.0, 40.0)), truncated(0.0, 1.0, 6.0, 30.0)),
            (
                Distribution::log_normal(m, s),
                ((m + s * s / 2.0).exp(), ((s * s).exp() - 1.0) * (2.0 * m + s * s).exp()),
            ),
            (Distribution::log_normal(m, s).within((0.0, 4.0)), (below(1.0), below(2.0) - below(1.0) * below(1.0))),
        ] {
            const N: u32 = 40_000;
            let at = |lane| Draw { seed: 11, purpose: Purpose::Start, step: 3, lane };
            let values: Vec<f64> = (0..N).map(|lane| law.draw(at(lane))).collect();
            let got = values.iter().sum::<f64>() / f64::from(N);
            let spread = values.iter().map(|x| (x - got) * (x - got)).sum::<f64>() / f64::from(N);
            let error = 5.0 * (variance / f64::from(N)).sqrt() + 1e-12;
            assert!((got - mean).abs() <= error, "{law:?}: mean {got} instead of {mean}");
            assert!((spread - variance).abs() <= 0.05 * variance, "{law:?}: variance {spread} instead of {variance}");
            if let Some((low, high)) = law.bounds {
                assert!(values.iter().all(|x| (low..=high).contains(x)), "{law:?}");
            }
            assert_eq!(law.draw(at(7)), values[7], "a draw depends on its address alone");
        }
    }
}
