//! Labels derived from names such as `tau_m` and `ScaleWeights`, for declarations without a title.

use std::borrow::Cow;

/// Returns the declared title, or the field's name in sentence case.
pub fn or_from_name(title: &'static str, name: &str) -> Cow<'static, str> {
    if title.is_empty() { from_name(name).into() } else { title.into() }
}

/// Returns the declared title, or the variant's name in sentence case.
pub fn or_from_variant(title: &'static str, name: &str) -> Cow<'static, str> {
    if title.is_empty() { from_variant(name).into() } else { title.into() }
}

/// Converts `trace_every_ms` to `Trace every`; units are displayed next to the value.
pub fn from_name(name: &str) -> String {
    let base = ["_ms", "_mv", "_hz", "_um", "_pa"].iter().find_map(|s| name.strip_suffix(s)).unwrap_or(name);
    let base = base.strip_prefix("n_").unwrap_or(base);
    let spaced = spaced(base);
    let mut chars = spaced.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Converts `SilenceOutgoing` to `Silence outgoing`, and leaves `F64` unchanged.
pub fn from_variant(name: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            out.push(' ');
            out.extend(c.to_lowercase());
        } else {
            out.push(c);
        }
        before = c;
    }
    out
}

/// Returns the singular of a plural noun: `neurons` → `neuron`, `nuclei` → `nucleus`, `categories` → `category`.
pub fn singular(plural: &str) -> String {
    match plural {
        _ if plural.ends_with("ss") => plural.to_owned(),
        _ if plural.ends_with("ies") => format!("{}y", &plural[..plural.len() - 3]),
        _ if ["ches", "sses", "xes"].iter().any(|end| plural.ends_with(end)) => plural[..plural.len() - 2].to_owned(),
        _ if plural.ends_with("lei") => format!("{}us", &plural[..plural.len() - 1]),
        _ => plural.strip_suffix('s').unwrap_or(plural).to_owned(),
    }
}

/// Converts `super_class` to `super class`. A symbol keeps its index: `R_J`.
pub fn spaced(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut parts = name.split('_').peekable();
    while let Some(part) = parts.next() {
        out += part;
        if parts.peek().is_some() {
            let is_symbol = part.len() == 1 && part.chars().all(|c| c.is_ascii_uppercase());
            out.push(if is_symbol { '_' } else { ' ' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_labels() {
        assert_eq!(from_name("trace_every_ms"), "Trace every");
        assert_eq!(from_name("n_neurons"), "Neurons");
        assert_eq!(from_variant("SilenceOutgoing"), "Silence outgoing");
        assert_eq!(from_variant("F64"), "F64");
        assert_eq!(or_from_name("Membrane time constant", "tau_m"), "Membrane time constant");
        let singulars = ["neurons", "nuclei", "categories", "launches", "samples"].map(singular);
        assert_eq!(singulars, ["neuron", "nucleus", "category", "launch", "sample"]);
        assert_eq!([spaced("super_class"), spaced("R_J"), spaced("x_")], ["super class", "R_J", "x "]);
    }
}
