//! Text form of a list of numbers: `[1, 2, 3] ms`, `1 ms, 0.5 s`.

use super::{ParamSpec, ValueType, one_of_text::split};

/// Maximum number of items in an entered or pasted list.
const MAX_ITEMS: usize = 100_000;

/// Formats a list in brackets, followed by the unit.
pub(super) fn show(spec: &ParamSpec, values: &[f64]) -> String {
    let items: Vec<String> = values.iter().map(f64::to_string).collect();
    let unit = spec.unit.suffix();
    format!("[{}]{}{unit}", items.join(", "), if unit.is_empty() { "" } else { " " })
}

/// Parses the form written by [`show`]. Brackets are optional, and numbers may have units of their own. Fails if a
/// number is invalid, the closing bracket is missing, or there are more than [`MAX_ITEMS`] numbers; the error
/// names an invalid number.
pub(super) fn parse(spec: &ParamSpec, text: &str) -> Result<Vec<f64>, String> {
    let text = text.trim();
    let (inner, unit) = match text.strip_prefix('[') {
        Some(rest) => rest.rsplit_once(']').ok_or("a closing bracket is missing")?,
        None => (text, ""),
    };
    let items = split(inner);
    if items.len() > MAX_ITEMS {
        return Err(format!("{} numbers; {MAX_ITEMS} are accepted at most", items.len()));
    }
    let item = |(i, item): (usize, &str)| {
        let is_plain = item.parse::<f64>().is_ok();
        let text = if is_plain { format!("{item} {unit}") } else { item.to_owned() };
        let x = spec.unit.parse(&text).map_err(|why| format!("number {}: {why}", i + 1))?;
        match spec.kind {
            ValueType::List { whole: true } if x.fract() != 0.0 => {
                Err(format!("number {}: `{item}` is not a whole number", i + 1))
            }
            _ => Ok(x),
        }
    };
    items.into_iter().enumerate().map(item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Unit, Value};

    #[test]
    fn texts_round_trip_and_mistakes_are_named() {
        let spec = ParamSpec::new("at", "", ValueType::List { whole: false }).unit(Unit::Ms).hard(0.0..=100.0);
        for (text, values) in [
            ("[1, 2, 3] ms", vec![1.0, 2.0, 3.0]),
            ("1, 0.002 s, 1/4", vec![1.0, 2.0, 0.25]),
            ("[0.001, 2 ms] s", vec![1.0, 2.0]),
            ("[]", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(parse(&spec, text).as_ref(), Ok(&values), "{text}");
            assert_eq!(parse(&spec, &show(&spec, &values)), Ok(values));
        }
        for (text, why) in [
            ("[1, 2", "bracket"),
            ("[1, x]", "number 2: `x` is not a number"),
            ("[1, 2 mV]", "number 2: `2 mV` is a voltage; expected a time"),
            ("[1, 2] furlongs", "number 1"),
        ] {
            let error = parse(&spec, text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        let counts = ParamSpec { kind: ValueType::List { whole: true }, ..spec.unit(Unit::One) };
        assert_eq!(parse(&counts, "64, 1.5").unwrap_err(), "number 2: `1.5` is not a whole number");
        assert_eq!(
            spec.refusal(&Value::List(vec![1.0, 200.0])).unwrap(),
            "number 2: 200 is above 100 ms, the highest accepted"
        );
        assert!(spec.admits(&Value::List(vec![])));
    }
}
