//! Parameter reference generated from the declarations: `assets/reference.md`, and the output of the command line.

use super::{Apply, ChoiceSpec, ParamId, ParamSpec, Params, Value, ValueType, path::show};
use std::fmt::Write as _;

/// Formats all parameters of a kind as Markdown, one section per group, with the defaults from `params`.
pub fn markdown(params: &dyn Params) -> String {
    let mut out = String::new();
    for (g, group) in params.groups().iter().enumerate() {
        let _ =
            writeln!(out, "### `{}`{}\n\n{}\n", group.name, if group.list { " (list)" } else { "" }, flat(group.docs));
        out += &table(group.fields(), |f| params.get(ParamId::of(g, f)));
        out += &choices(group.fields());
    }
    out
}

/// Formats a table of parameters or of an action's arguments; `default` returns the default by position.
pub fn table(specs: &[ParamSpec], default: impl Fn(usize) -> Value) -> String {
    let mut out =
        String::from("| name | default | range | an edit takes effect | meaning |\n| --- | --- | --- | --- | --- |\n");
    for (f, spec) in specs.iter().enumerate() {
        let symbol = if ["", spec.name].contains(&spec.symbol) { String::new() } else { format!(" ({})", spec.symbol) };
        let _ = writeln!(
            out,
            "| `{}`{symbol} | {} | {} | {} | {} |",
            spec.name,
            cell(&show(spec, &default(f))),
            cell(&range(spec)),
            match spec.apply {
                Apply::Live => "while it runs",
                Apply::Data => "while it runs, when the file is read",
                Apply::Rewind => "at the next rewind",
                Apply::Rebuild => "after a rebuild",
            },
            cell(&flat(spec.docs)),
        );
    }
    out + "\n"
}

/// Describes the accepted values: `0.1 to 10000 ms`, the names of choices, or the kind of text.
pub fn range(spec: &ParamSpec) -> String {
    let unit = spec.unit.suffix();
    let space = if unit.is_empty() { "" } else { " " };
    match spec.kind {
        ValueType::Int | ValueType::Real => format!("{} to {}{space}{unit}", spec.hard.0, spec.hard.1),
        ValueType::List { .. } => format!("list of numbers, {} to {}{space}{unit}", spec.hard.0, spec.hard.1),
        ValueType::Distribution => {
            format!("number or distribution, {} to {}{space}{unit}", spec.hard.0, spec.hard.1)
        }
        ValueType::Bool => "true, false".to_owned(),
        ValueType::Choice(choices) => choices.iter().map(|c| c.name).collect::<Vec<_>>().join(", "),
        ValueType::Text => "text".to_owned(),
        ValueType::Path => "file or folder".to_owned(),
        ValueType::Query => "query".to_owned(),
        ValueType::OneOf(variants) => variants.iter().map(|v| v.choice.name).collect::<Vec<_>>().join(", "),
    }
}

/// Formats the descriptions of the choices of `fields`, and the parameters of groups among them.
fn choices(fields: &[ParamSpec]) -> String {
    let mut out = String::new();
    for spec in fields {
        let (named, variants) = match spec.kind {
            ValueType::Choice(choices) => (choices.to_vec(), &[][..]),
            ValueType::OneOf(variants) => (variants.iter().map(|v| v.choice).collect(), variants),
            _ => continue,
        };
        let _ = writeln!(out, "`{}` is one of\n", spec.name);
        for ChoiceSpec { name, docs, .. } in named {
            let _ = writeln!(out, "- `{name}`: {}", flat(docs));
        }
        out += "\n";
        for variant in variants.iter().filter(|v| !v.params.is_empty()) {
            let _ = writeln!(out, "`{}: {}` has\n", spec.name, variant.choice.name);
            let defaults = (variant.defaults)();
            out += &table(variant.fields(), |f| defaults[f].clone());
            out += &choices(variant.fields());
        }
    }
    out
}

/// Joins the lines of a doc comment.
pub fn flat(docs: &str) -> String {
    docs.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
