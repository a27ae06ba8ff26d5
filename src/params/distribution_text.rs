//! Text form of distributions, with units for display and without units in files.

use super::{Distribution, ParamSpec, Value, ValueType, distribution::LAWS, expression, one_of_text, path};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;

impl Distribution {
    /// Formats the distribution with units, for display and editing.
    pub fn show(self, of: &ParamSpec) -> String {
        self.text(|spec, x| path::show(spec, &Value::Real(x)), of)
    }

    fn text(self, number: impl Fn(&ParamSpec, f64) -> String, of: &ParamSpec) -> String {
        let specs = Self::argument_specs(self.law, of);
        let shown: Vec<String> = specs.iter().zip(self.arguments).map(|(spec, x)| number(spec, x)).collect();
        let n = self.law.spec().arguments.len();
        if let Some(value) = self.as_constant() {
            return number(&specs[0], value);
        }
        let law = format!("{}({})", self.law.spec().name, shown[..n].join(", "));
        match self.bounds {
            Some((low, high)) => format!("{law} in {low}..{}", number(&specs[n], high)),
            None => law,
        }
    }

    /// Parses the text form; plain numbers are in the unit of the parameter. Fails with an error that names the argument.
    pub fn parse(text: &str, of: &ParamSpec) -> Result<Self, String> {
        let text = text.trim();
        let called = |name: &str| {
            let plain = |s: &str| s.replace(['_', '-'], "").to_lowercase();
            LAWS.iter().find(|law| plain(law.name) == plain(name))
        };
        let Some((law, rest)) = text.split_once('(').and_then(|(name, rest)| Some((called(name.trim())?, rest))) else {
            return match of.unit.parse(text) {
                Ok(value) => Ok(Self::constant(value)),
                Err(why) => Err(not_a_distribution(text).unwrap_or(why)),
            };
        };
        let (inner, behind) = closing(rest).ok_or("a closing parenthesis is missing")?;
        let specs = Self::argument_specs(law.law, of);
        let typed = one_of_text::split(inner);
        if typed.len() != law.arguments.len() {
            let names: Vec<&str> = law.arguments.iter().map(|(name, _)| *name).collect();
            return Err(format!("{} takes {}, not {} values", law.name, names.join(" and "), typed.len()));
        }
        let number =
            |spec: &ParamSpec, text: &str| spec.unit.parse(text).map_err(|why| format!("{}: {why}", spec.name));
        let mut out = Self { law: law.law, arguments: [0.0; 2], bounds: None };
        for ((spec, text), argument) in specs.iter().zip(typed).zip(&mut out.arguments) {
            *argument = number(spec, text)?;
        }
        out.bounds = match behind.trim() {
            "" => None,
            bounds => {
                let range = bounds.strip_prefix("in").filter(|rest| rest.starts_with(|c: char| !c.is_alphanumeric()));
                let range =
                    range.ok_or_else(|| format!("`{bounds}` does not belong there; bounds are written in 5..40"))?;
                let (low, high) = range.split_once("..").ok_or_else(|| format!("`{bounds}` has no `..`"))?;
                let n = law.arguments.len();
                Some((number(&specs[n], low)?, number(&specs[n + 1], high)?))
            }
        };
        Ok(out)
    }
}

/// Returns the message for a text that begins like a distribution but is malformed; `None` for other texts.
fn not_a_distribution(text: &str) -> Option<String> {
    let word = &text[..text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len())];
    let is_name = word.len() > 2 && word.starts_with(char::is_alphabetic) && text[word.len()..].trim().starts_with('(');
    let is_known = ["sqrt", "exp", "ln"].contains(&word) || expression::evaluate(word).is_ok();
    let names: Vec<&str> = LAWS.iter().map(|law| law.name).collect();
    (is_name && !is_known).then(|| format!("`{word}` is none of {}", names.join(", ")))
}

/// Splits at the matching closing parenthesis into the text before and the text after it; `None` if there is no such
/// parenthesis.
fn closing(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Some((&text[..at], &text[at + 1..])),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Specification used for files, which accepts every number without a unit.
const IN_FILES: ParamSpec = ParamSpec::new("", "", ValueType::Distribution);

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.as_constant() {
            Some(value) => serializer.serialize_f64(value),
            None => serializer.serialize_str(&self.text(|_, x| x.to_string(), &IN_FILES)),
        }
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl de::Visitor<'_> for Reader {
    type Value = Distribution;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a distribution such as \"normal(20, 2) in 5..40\"")
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Distribution, E> {
        Ok(Distribution::constant(value))
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Distribution, E> {
        Ok(Distribution::constant(value as f64))
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Distribution, E> {
        Ok(Distribution::constant(value as f64))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Distribution, E> {
        Distribution::parse(text, &IN_FILES).map_err(E::custom)
    }
}
