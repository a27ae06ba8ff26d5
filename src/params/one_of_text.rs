//! Text form of a sum type: `Pair`, `Pair(tau_plus: 20 ms, a_plus: 0.01)`. Missing parameters have their defaults.

use super::{ParamSpec, Value, ValueType, VariantSpec, path};
use strsim::levenshtein;

/// Formats a chosen group with its parameters. An unknown variant is formatted as `?`.
pub(super) fn show(variants: &[VariantSpec], variant: u16, row: &[Value]) -> String {
    let Some(spec) = variants.get(usize::from(variant)) else { return "?".to_owned() };
    let fields = spec.fields().iter().zip(row).map(|(p, value)| match value {
        Value::Text(text) => format!("{}: {text:?}", p.name),
        _ => format!("{}: {}", p.name, path::show(p, value)),
    });
    match fields.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => spec.choice.name.to_owned(),
        fields => format!("{}({fields})", spec.choice.name),
    }
}

/// Parses the form written by [`show`]. A name alone gives an empty row. Fails for an unknown name, a malformed text or a
/// value of another type.
pub(super) fn parse(variants: &[VariantSpec], text: &str) -> Result<Value, String> {
    let (name, inner) = match text.split_once('(') {
        Some((name, rest)) => {
            (name.trim(), Some(rest.trim_end().strip_suffix(')').ok_or("a closing parenthesis is missing")?))
        }
        None => (text, None),
    };
    let Some(at) = variants.iter().position(|v| v.choice.is_called(name)) else {
        let names: Vec<&str> = variants.iter().map(|v| v.choice.name).collect();
        let near = names.iter().map(|n| (levenshtein(&n.to_lowercase(), &name.to_lowercase()), n)).min();
        let hint = near.filter(|(d, n)| *d <= 1 + n.len() / 3).map(|(_, n)| format!("; did you mean `{n}`?"));
        return Err(format!("`{name}` is none of {}{}", names.join(", "), hint.unwrap_or_default()));
    };
    let row = match inner {
        None => vec![],
        Some(inner) => fields(&variants[at], inner)?,
    };
    Ok(Value::Variant(at as u16, row))
}

fn fields(variant: &VariantSpec, text: &str) -> Result<Vec<Value>, String> {
    let mut row = (variant.defaults)();
    for field in split(text) {
        let (name, value) =
            field.split_once([':', '=']).ok_or_else(|| format!("`{field}` has no colon: write name: value"))?;
        let (name, value) = (name.trim(), value.trim());
        let at = variant.fields().iter().position(|p| p.is_called(name));
        let at = at.ok_or_else(|| unknown(variant, name))?;
        let spec = &variant.params[at];
        row[at] = match quoted(spec, value) {
            Some(text) => Value::Text(text),
            None => path::parse_value(spec, value).map_err(|why| format!("{name}: {why}"))?,
        };
    }
    Ok(row)
}

fn unknown(variant: &VariantSpec, name: &str) -> String {
    let names: Vec<&str> = variant.fields().iter().map(|p| p.name).collect();
    let known = if names.is_empty() { "no parameters".to_owned() } else { names.join(", ") };
    format!("{} has no `{name}`; it has {known}", variant.choice.name)
}

/// Returns the content of a quoted string; `None` if the parameter is not text, or the value is not a valid quoted string.
fn quoted(spec: &ParamSpec, value: &str) -> Option<String> {
    let is_text = matches!(spec.kind, ValueType::Text | ValueType::Path | ValueType::Query);
    if is_text && value.starts_with('"') { serde_json::from_str(value).ok() } else { None }
}

/// Splits at commas outside parentheses, brackets and quotes.
pub(super) fn split(text: &str) -> Vec<&str> {
    let (mut out, mut start, mut depth) = (vec![], 0, 0);
    let (mut in_quotes, mut is_escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if in_quotes => is_escaped = true,
            '"' => in_quotes = !in_quotes,
            _ if in_quotes => {}
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                out.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(text[start..].trim());
    out.retain(|part| !part.is_empty());
    out
}
