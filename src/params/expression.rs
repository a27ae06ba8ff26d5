//! Expressions in number fields: `20`, `0.02 s`, `1/3`, `2*pi`, `1e-3`, `2,5`, `sqrt(2) mV`, `1/(5 ms)`.

use super::dimension::{Dimension, Spelling, spelled};

/// Maximum nesting of parentheses, which bounds the recursion of the parser.
const MAX_DEPTH: u32 = 40;

/// Number with its dimension: `value × 10^exponent` base units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// Value without the power of ten.
    pub value: f64,
    /// Exponent of the power of ten, from the prefixes of units.
    pub exponent: i32,
    /// Dimension of the quantity.
    pub dimension: Dimension,
}

impl Quantity {
    /// Creates a number without a unit.
    pub const fn plain(value: f64) -> Self {
        Self { value, exponent: 0, dimension: Dimension::NONE }
    }

    /// Returns the value in units of `10^exponent` base units. Conversions between decimal prefixes are exact up to
    /// floating-point rounding.
    pub fn in_units_of(self, exponent: i32) -> f64 {
        match self.exponent - exponent {
            shift @ 0.. => self.value * 10_f64.powi(shift),
            shift => self.value / 10_f64.powi(-shift),
        }
    }

    fn with(self, unit: &Spelling) -> Option<Self> {
        Some(Self {
            value: self.value * unit.factor,
            exponent: self.exponent.checked_add(unit.exponent)?,
            dimension: self.dimension.times(unit.dimension)?,
        })
    }
}

/// Evaluates an expression. Fails with a clause about the mistake: "`foo` is neither a unit nor a function".
pub fn evaluate(text: &str) -> Result<Quantity, String> {
    evaluate_with(text, &|name| Err(format!("`{name}` is neither a unit nor a function")))
}

/// Function that resolves a dotted name, or returns the reason why it cannot be resolved.
type Names<'a> = &'a dyn Fn(&str) -> Result<Quantity, String>;

/// Evaluates an expression in which dotted names such as `lif.tau_m` are resolved by `names`. Fails as [`evaluate`] does,
/// or with an error of `names`.
pub fn evaluate_with(text: &str, names: Names<'_>) -> Result<Quantity, String> {
    let mut parser = Parser { rest: text, depth: 0, n_numbers: 0, names };
    let quantity = parser.sum()?;
    match parser.peek() {
        // The text `ms` alone most likely lacks its number, as in `${UNSET}ms`.
        None if parser.n_numbers == 0 => Err("a number is missing before the unit".into()),
        None => Ok(quantity),
        Some(_) => Err(format!("`{}` does not belong there", parser.rest.trim())),
    }
}

/// Evaluates an expression whose last unit applies to the whole: `1/3 s` is a third of a second. Returns `None` if the text
/// does not end in a unit or the part before the unit is not an expression.
pub fn evaluate_with_last_unit(text: &str) -> Option<Quantity> {
    let text = text.trim_end();
    let start = text.char_indices().rev().take_while(|(_, c)| is_word(*c)).last().map(|(i, _)| i)?;
    let unit = spelled(&text[start..])?;
    evaluate(&text[..start]).ok()?.with(unit)
}

fn is_word(c: char) -> bool {
    c.is_alphabetic() || matches!(c, 'µ' | 'Ω' | '%')
}

struct Parser<'a> {
    rest: &'a str,
    depth: u32,
    /// Number of numbers, constants and names read so far; units are not counted.
    n_numbers: u32,
    names: Names<'a>,
}

impl<'a> Parser<'a> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, any_of: &[char]) -> Option<char> {
        let c = self.peek().filter(|c| any_of.contains(c))?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn sum(&mut self) -> Result<Quantity, String> {
        let before = self.n_numbers;
        let mut left = self.product()?;
        let mut has_number = self.n_numbers > before;
        while let Some(sign) = self.take(&['+', '-', '−']) {
            let before = self.n_numbers;
            let right = self.product()?;
            has_number &= self.n_numbers > before;
            if !has_number {
                return Err("a number is missing before a unit of the sum".into());
            }
            left = add(left, right, if sign == '+' { 1.0 } else { -1.0 })?;
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Quantity, String> {
        let mut left = self.signed()?;
        while let Some(sign) = self.take(&['*', '×', '·', '/', '÷']) {
            let right = self.signed()?;
            left = match sign {
                '/' | '÷' => divide(left, right),
                _ => multiply(left, right),
            }
            .ok_or("the units are beyond all sense")?;
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Quantity, String> {
        let mut negative = false;
        while let Some(sign) = self.take(&['-', '−', '+']) {
            negative ^= sign != '+';
        }
        let quantity = self.power()?;
        Ok(if negative { Quantity { value: -quantity.value, ..quantity } } else { quantity })
    }

    fn power(&mut self) -> Result<Quantity, String> {
        let base = self.with_unit()?;
        if self.take(&['^']).is_none() {
            return Ok(base);
        }
        self.deeper()?;
        let power = self.signed()?;
        self.depth -= 1;
        if power.dimension != Dimension::NONE {
            return Err("a power has no unit".into());
        }
        raise(base, power.in_units_of(0))
    }

    /// Parses an atom and the units that follow: `20 ms`. Fails at the first syntax error.
    fn with_unit(&mut self) -> Result<Quantity, String> {
        let mut quantity = self.atom()?;
        while let Some(unit) = self.word().and_then(|w| spelled(w).map(|s| (w, s))) {
            self.rest = &self.rest[unit.0.len()..];
            quantity = quantity.with(unit.1).ok_or("the units are beyond all sense")?;
        }
        Ok(quantity)
    }

    fn atom(&mut self) -> Result<Quantity, String> {
        if self.take(&['(']).is_some() {
            return self.closed();
        }
        match self.peek() {
            Some(c) if c.is_ascii_digit() || c == '.' || c == ',' => self.number(),
            Some(c) if is_word(c) => match dotted(self.rest) {
                Some(name) => {
                    self.rest = &self.rest[name.len()..];
                    self.n_numbers += 1;
                    (self.names)(name)
                }
                None => self.named(),
            },
            Some(c) => Err(format!("`{c}` does not belong there")),
            None => Err("a number is missing".into()),
        }
    }

    fn closed(&mut self) -> Result<Quantity, String> {
        self.deeper()?;
        let inner = self.sum()?;
        self.depth -= 1;
        self.take(&[')']).map(|_| inner).ok_or_else(|| "a closing parenthesis is missing".into())
    }

    fn deeper(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err("it is nested too deeply".into()) } else { Ok(()) }
    }

    fn word(&mut self) -> Option<&'a str> {
        self.peek()?;
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        Some(&self.rest[..end]).filter(|w| !w.is_empty())
    }

    /// Parses a constant, a function, or a unit without a number, which counts as 1 of the unit: `1 / ms`, `5 * mV`. Fails
    /// at the first syntax error.
    fn named(&mut self) -> Result<Quantity, String> {
        let word = self.word().unwrap_or_default();
        self.rest = &self.rest[word.len()..];
        let constant = match word {
            "pi" | "π" | "Pi" | "PI" => Some(std::f64::consts::PI),
            "e" => Some(std::f64::consts::E),
            _ => None,
        };
        if let Some(x) = constant {
            self.n_numbers += 1;
            return Ok(Quantity::plain(x));
        }
        let function: Option<fn(f64) -> f64> = match word {
            "sqrt" => Some(f64::sqrt),
            "exp" => Some(f64::exp),
            "ln" => Some(f64::ln),
            _ => None,
        };
        match (function, spelled(word)) {
            (Some(f), _) if self.take(&['(']).is_some() => {
                let inner = self.closed()?;
                match inner.dimension == Dimension::NONE {
                    true => Ok(Quantity::plain(f(inner.in_units_of(0)))),
                    false => Err(format!("{word} takes a plain number")),
                }
            }
            (None, Some(unit)) => Quantity::plain(1.0).with(unit).ok_or_else(|| "the unit is beyond all sense".into()),
            _ => Err(format!("`{word}` is neither a unit nor a function")),
        }
    }

    fn number(&mut self) -> Result<Quantity, String> {
        self.n_numbers += 1;
        let end = end_of_number(self.rest);
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        let plain = match text.matches(',').count() {
            0 => text.to_owned(),
            1 if !text.contains('.') => text.replace(',', "."),
            _ => without_groups(text).ok_or_else(|| format!("`{text}` is not a number"))?,
        };
        let plain = plain.replace('_', "");
        let value = plain.parse::<f64>().ok().filter(|x| x.is_finite());
        value.map(Quantity::plain).ok_or_else(|| format!("`{text}` is not a number"))
    }
}

/// Returns the dotted name at the start of the text; `None` if the text does not begin with a name.
fn dotted(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'))).unwrap_or(text.len());
    Some(text[..end].trim_end_matches('.')).filter(|name| name.contains('.'))
}

/// Returns the end of a number: digits, separators, and an exponent if one follows. The `e` of `2e` is Euler's number.
fn end_of_number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_part = |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'_');
    let mantissa = bytes.iter().take_while(|b| is_part(b)).count();
    if !matches!(bytes.get(mantissa), Some(b'e' | b'E')) {
        return mantissa;
    }
    let sign = usize::from(matches!(bytes.get(mantissa + 1), Some(b'+' | b'-')));
    let digits = bytes[mantissa + 1 + sign..].iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 { mantissa } else { mantissa + 1 + sign + digits }
}

/// Removes thousands separators: `1,234,567.8` gives `1234567.8`. Returns `None` unless all groups have three digits.
pub(super) fn without_groups(text: &str) -> Option<String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut groups = whole.split(',');
    let is_first = groups.next().is_some_and(|g| (1..=3).contains(&g.len()));
    let fits = is_first && groups.all(|g| g.len() == 3) && !fraction.contains(',');
    fits.then(|| text.replace(',', ""))
}

fn add(a: Quantity, b: Quantity, sign: f64) -> Result<Quantity, String> {
    if a.dimension != b.dimension {
        return Err(format!("{} and {} cannot be added", a.dimension.name(), b.dimension.name()));
    }
    Ok(Quantity { value: a.value + sign * b.in_units_of(a.exponent), ..a })
}

fn multiply(a: Quantity, b: Quantity) -> Option<Quantity> {
    let dimension = a.dimension.times(b.dimension)?;
    Some(Quantity { value: a.value * b.value, exponent: a.exponent.checked_add(b.exponent)?, dimension })
}

fn divide(a: Quantity, b: Quantity) -> Option<Quantity> {
    let dimension = a.dimension.per(b.dimension)?;
    Some(Quantity { value: a.value / b.value, exponent: a.exponent.checked_sub(b.exponent)?, dimension })
}

fn raise(base: Quantity, power: f64) -> Result<Quantity, String> {
    if base.dimension == Dimension::NONE {
        return Ok(Quantity::plain(base.in_units_of(0).powf(power)));
    }
    let whole = (power.fract() == 0.0 && power.abs() <= 9.0).then_some(power as i8);
    let raised = whole.and_then(|n| {
        let dimension = base.dimension.to_the(n)?;
        Some(Quantity { value: base.value.powi(n.into()), exponent: base.exponent.checked_mul(n.into())?, dimension })
    });
    raised.ok_or_else(|| "a unit takes small whole powers".into())
}
