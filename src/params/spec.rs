//! Declaration of one parameter.

use super::{Apply, Distribution, Part, Role, Scale, Unit, Value, ValueType, VariantSpec, title};
use std::borrow::Cow;

/// Specification of one parameter.
#[derive(Clone, Copy, Debug)]
pub struct ParamSpec {
    /// Field name, which is also the key in RON and the last segment of `--set group.name=value`.
    pub name: &'static str,
    /// Label in the window; if empty, the name in sentence case ([`ParamSpec::label`]).
    pub title: &'static str,
    /// Former names, which files, links and `--set` accept but which are never written.
    pub aliases: &'static [&'static str],
    /// Doc comment, shown as tooltip and in the reference.
    pub docs: &'static str,
    /// Type of the value.
    pub kind: ValueType,
    /// Unit of the stored value.
    pub unit: Unit,
    /// Slider range, inclusive.
    pub soft: (f64, f64),
    /// Accepted range, inclusive. Equals the slider range unless declared wider.
    pub hard: (f64, f64),
    /// Spacing of values along the slider.
    pub scale: Scale,
    /// Time at which an edit takes effect.
    pub apply: Apply,
    /// Symbol of the quantity (`τ_m`); empty if the quantity has no symbol.
    pub symbol: &'static str,
    /// Equation with the quantity; empty if it adds nothing to the documentation.
    pub formula: &'static str,
    /// Citation for the default value; empty if the value has no source.
    pub source: &'static str,
    /// Word displayed for 0 where 0 is not a quantity: `Never`; empty otherwise.
    pub zero: &'static str,
    /// Role of the parameter in the window.
    pub role: Role,
    /// Position within a sum type; `None` for a field.
    pub part: Option<Part>,
}

impl ParamSpec {
    /// Creates a dimensionless live parameter on `0..=1`. The builder methods refine it.
    pub const fn new(name: &'static str, docs: &'static str, kind: ValueType) -> Self {
        let range = (0.0, 1.0);
        Self {
            name,
            title: "",
            aliases: &[],
            docs,
            kind,
            unit: Unit::One,
            soft: range,
            hard: range,
            scale: Scale::Linear,
            apply: Apply::Live,
            symbol: "",
            formula: "",
            source: "",
            zero: "",
            role: Role::Plain,
            part: None,
        }
    }

    /// Sets the label in the window.
    pub const fn title(mut self, title: &'static str) -> Self {
        self.title = title;
        self
    }

    /// Sets the former names.
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Returns the label in the window: the declared title, or the name in sentence case.
    pub fn label(&self) -> Cow<'static, str> {
        title::or_from_name(self.title, self.name)
    }

    /// Whether this is the current or a former name of the parameter.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// Sets the role in the window.
    pub const fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// Sets the unit.
    pub const fn unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    /// Sets the slider range and the accepted range.
    pub const fn range(mut self, range: std::ops::RangeInclusive<f64>) -> Self {
        self.soft = (*range.start(), *range.end());
        self.hard = self.soft;
        self
    }

    /// Widens the accepted range beyond the slider range. The call must follow that of `range`.
    pub const fn hard(mut self, range: std::ops::RangeInclusive<f64>) -> Self {
        self.hard = (*range.start(), *range.end());
        self
    }

    /// Sets the spacing along the slider.
    pub const fn scale(mut self, scale: Scale) -> Self {
        self.scale = scale;
        self
    }

    /// Sets the time at which an edit takes effect.
    pub const fn apply(mut self, apply: Apply) -> Self {
        self.apply = apply;
        self
    }

    /// Sets the symbol.
    pub const fn symbol(mut self, symbol: &'static str) -> Self {
        self.symbol = symbol;
        self
    }

    /// Sets the equation.
    pub const fn formula(mut self, formula: &'static str) -> Self {
        self.formula = formula;
        self
    }

    /// Sets the word displayed for 0.
    pub const fn zero(mut self, zero: &'static str) -> Self {
        self.zero = zero;
        self
    }

    /// Sets the citation of the default.
    pub const fn source(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }

    /// Returns the increment of an arrow key: at most a hundredth of the slider range, rounded down to 1, 2 or 5 times a
    /// power of ten; on a logarithmic slider, at most a tenth of the value. The increment of a whole number is at least 1.
    pub fn nudge(&self, now: f64) -> f64 {
        let span = match self.scale {
            Scale::Log => now.abs().max(self.soft.0),
            Scale::Linear => self.soft.1 - self.soft.0,
        };
        let rough = span / if self.scale == Scale::Log { 10.0 } else { 100.0 };
        let decade = 10_f64.powf(rough.abs().max(1e-300).log10().floor());
        let step = [5.0, 2.0, 1.0].into_iter().find(|m| m * decade <= rough * 1.000_001).unwrap_or(1.0) * decade;
        if self.kind == ValueType::Int { step.round().max(1.0) } else { step }
    }

    /// Maps a number from 0 to 1 to a value at this share of the slider range, or of the choices.
    pub fn value_at(&self, share: f64) -> Value {
        let x = self.soft.0 + share * (self.soft.1 - self.soft.0);
        let nth = |n: usize| ((share * n as f64) as usize).min(n.saturating_sub(1));
        match self.kind {
            ValueType::Bool => Value::Bool(share >= 0.5),
            ValueType::Int => Value::Int(x.round() as i64),
            ValueType::Real => Value::Real(x),
            ValueType::Choice(choices) => Value::Choice(nth(choices.len()) as u16),
            ValueType::Text | ValueType::Path | ValueType::Query => Value::Text(String::new()),
            // The shares from 0 to 1 cover every family, wide and narrow, with and without bounds.
            ValueType::Distribution => {
                let (law, rest) = ((share * 8.0) as usize, (share * 8.0).fract());
                let y = self.soft.0 + rest * (self.soft.1 - self.soft.0);
                let (low, high) = (x.min(y), x.max(y));
                let law = match law % 4 {
                    0 => return Value::Distribution(Distribution::constant(y)),
                    1 => Distribution::uniform(low, high),
                    2 => Distribution::normal(y, rest * (self.soft.1 - self.soft.0)),
                    _ => Distribution::log_normal(10.0 * rest - 5.0, rest),
                };
                Value::Distribution(if share < 0.5 { law } else { law.within((low, high)) })
            }
            ValueType::List { whole } => {
                let n = (share * 5.0) as usize;
                Value::List((0..n).map(|_| if whole { x.round() } else { x }).collect())
            }
            ValueType::OneOf(variants) => {
                let (at, rest) = (nth(variants.len()), (share * variants.len() as f64).fract());
                let params = variants.get(at).map_or(&[][..], VariantSpec::fields);
                Value::Variant(at as u16, params.iter().map(|spec| spec.value_at(rest)).collect())
            }
        }
    }

    /// Returns the reason why the value is outside the accepted range; `None` if the value is inside.
    pub fn refusal(&self, value: &Value) -> Option<String> {
        let unit = self.unit.suffix();
        let space = if unit.is_empty() { "" } else { " " };
        let (low, high) = self.hard;
        let beyond = |x: f64, side: &str, end: f64| {
            format!(
                "{x} is {side} {end}{space}{unit}, the {} accepted",
                if side == "below" { "lowest" } else { "highest" }
            )
        };
        match *value {
            _ if self.admits(value) => None,
            Value::Real(x) if x < low => Some(beyond(x, "below", low)),
            Value::Real(x) if x > high => Some(beyond(x, "above", high)),
            Value::Int(x) if (x as f64) < low => Some(beyond(x as f64, "below", low)),
            Value::Int(x) => Some(beyond(x as f64, "above", high)),
            Value::Distribution(distribution) => distribution.refusal(self),
            Value::List(ref values) => {
                let item = Self { kind: ValueType::Real, ..*self };
                let refused =
                    |(i, x): (usize, &f64)| Some(format!("number {}: {}", i + 1, item.refusal(&Value::Real(*x))?));
                values.iter().enumerate().find_map(refused).or_else(|| Some("that is no list of numbers".to_owned()))
            }
            Value::Variant(v, ref row) => {
                let params = self.kind.variants().get(usize::from(v)).map_or(&[][..], VariantSpec::fields);
                let refused = params.iter().zip(row).find_map(|(p, x)| Some(format!("{}: {}", p.name, p.refusal(x)?)));
                refused.or_else(|| Some("there is no such choice".to_owned()))
            }
            _ => Some("that is not a value of this parameter".to_owned()),
        }
    }

    /// Whether the value is inside the accepted range. Texts and switches are always accepted.
    pub fn admits(&self, value: &Value) -> bool {
        match value {
            Value::Real(x) => x.is_finite() && *x >= self.hard.0 && *x <= self.hard.1,
            Value::Int(x) => *x as f64 >= self.hard.0 && *x as f64 <= self.hard.1,
            Value::Choice(i) => matches!(self.kind, ValueType::Choice(c) if usize::from(*i) < c.len()),
            Value::List(values) => {
                let ValueType::List { whole } = self.kind else { return false };
                values.iter().all(|x| self.admits(&Value::Real(*x)) && (!whole || x.fract() == 0.0))
            }
            Value::Distribution(distribution) => {
                self.kind == ValueType::Distribution && distribution.refusal(self).is_none()
            }
            Value::Variant(v, row) => self.kind.variants().get(usize::from(*v)).is_some_and(|variant| {
                row.len() <= variant.fields().len() && variant.fields().iter().zip(row).all(|(p, x)| p.admits(x))
            }),
            _ => true,
        }
    }
}

/// Returns the parameters with the unit [`Unit::Steps`] replaced by [`Unit::Count`] of `name`; unchanged if the name is empty.
pub const fn named_steps<const N: usize>(specs: &'static [ParamSpec], name: &'static str) -> [ParamSpec; N] {
    let mut named = [ParamSpec::new("", "", ValueType::Bool); N];
    let mut i = 0;
    while i < N {
        named[i] = specs[i];
        if matches!(named[i].unit, Unit::Steps) && !name.is_empty() {
            named[i].unit = Unit::Count(name);
        }
        i += 1;
    }
    named
}
