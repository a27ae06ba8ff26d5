//! Titles of parameters and values, for texts that a person reads. Files and the command line use paths and names.

use super::{GroupSpec, ParamId, ParamSpec, Params, Role, Value, ValueType, one_of, path};
use crate::num::digits::{counted, group_digits};
use std::borrow::Cow;

/// Separates the parts of a title.
pub const SEPARATOR: &str = " › ";

/// Returns the title of a parameter with its group and item: `Stimuli & silencing › Sugar › Rate`. An item without a name has
/// its number, counted from 1. A whole list has the title of its group.
pub fn title(params: &dyn Params, id: ParamId) -> String {
    let group = &params.groups()[usize::from(id.group)];
    let item = group.list.then(|| item_title(params, id)).filter(|_| id.field != ParamId::WHOLE);
    let fields = match usize::from(id.field) {
        f if f < group.params.len() => field_labels(group, f),
        _ => vec![],
    };
    joined(group, item, &fields)
}

fn joined(group: &GroupSpec, item: Option<String>, fields: &[Cow<'static, str>]) -> String {
    let parts = item.iter().map(String::as_str).chain(fields.iter().map(Cow::as_ref));
    parts.fold(group.label().into_owned(), |title, part| title + SEPARATOR + part)
}

/// Returns the labels of the sum types that lead to a parameter, and its own.
fn field_labels(group: &GroupSpec, field: usize) -> Vec<Cow<'static, str>> {
    let (_, parts) = one_of::parts_to(group.params, field);
    parts.iter().map(|part| usize::from(part.field)).chain([field]).map(|f| group.params[f].label()).collect()
}

/// Returns the label of an item, or its number.
fn item_title(params: &dyn Params, id: ParamId) -> String {
    let label = item_label(params, id.group.into(), id.item.into());
    label.unwrap_or_else(|| (usize::from(id.item) + 1).to_string())
}

/// Returns the label of an item of a list: its name; the nodes of an edge, `E → I`; the node to which it belongs, `→ E`.
/// `None` without a name or node.
pub fn item_label(params: &dyn Params, group: usize, item: usize) -> Option<String> {
    let text = |role: Role| {
        let field = params.groups()[group].fields().iter().position(|spec| spec.role == role)?;
        match params.get(ParamId { item: item as u16, ..ParamId::of(group, field) }) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    };
    let (from, to) = (text(Role::From), text(Role::To));
    let known = |name: Option<String>| name.filter(|name| !name.is_empty());
    match (&from, &to) {
        (None, _) | (_, None) => known(text(Role::Name)).or_else(|| Some(format!("→ {}", known(text(Role::OfNode))?))),
        (Some(from), Some(to)) if from.is_empty() && to.is_empty() => None,
        _ => Some([from, to].map(|name| known(name).unwrap_or_else(|| "?".to_owned())).join(" → ")),
    }
}

/// Returns the title for a path; `None` if it is not the path of a declared parameter or item. A parameter of a missing item
/// or of a group that is not chosen has a title too.
pub fn of_path(params: &dyn Params, text: &str) -> Option<String> {
    if let Ok((id, _)) = path::find(params, text) {
        return Some(title(params, id));
    }
    let mut names = text.split('.').peekable();
    let name = names.next()?;
    let (g, group) = params.groups().iter().enumerate().find(|(_, group)| group.is_called(name))?;
    let item = if group.list { Some(names.next()?) } else { None };
    let item = item.map(|item| match item.parse::<u16>() {
        Ok(item) if usize::from(item) < params.len(g as u8) => {
            item_title(params, ParamId { item, ..ParamId::of(g, 0) })
        }
        Ok(item) => (u32::from(item) + 1).to_string(),
        Err(_) => item.to_owned(),
    });
    if item.is_none() && names.peek().is_none() {
        return None;
    }
    let labels = names.map(|name| {
        let variants = group.params.iter().flat_map(|spec| spec.kind.variants());
        let field = group.params.iter().find(|spec| spec.is_called(name)).map(ParamSpec::label);
        field.or_else(|| variants.clone().find(|v| v.choice.is_called(name)).map(|v| v.choice.label()))
    });
    Some(joined(group, item, &labels.collect::<Option<Vec<_>>>()?))
}

/// Replaces the paths of parameters in a message by titles, and the names of choices that are assigned to them: `set
/// network.source=Balanced` → `set Network › Source = Balanced random network`.
pub fn in_text(params: &dyn Params, text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(start) = rest.find(is_path_char) {
        let end = rest[start..].find(|c| !is_path_char(c)).map_or(rest.len(), |n| start + n);
        let word = rest[start..end].trim_end_matches('.');
        out += &rest[..start];
        if word.is_empty() {
            // The word consists of dots only, as after a parenthesis.
            out += &rest[start..end];
            rest = &rest[end..];
            continue;
        }
        let after = &rest[start + word.len()..];
        rest = match Some(word).filter(|word| word.contains('.')).and_then(|word| of_path(params, word)) {
            Some(title) => {
                let is_quoted = out.ends_with('`');
                if is_quoted {
                    out.pop();
                }
                out += &title;
                let after = after_label(&title, after);
                let after = assigned(params, word, after, &mut out);
                after.strip_prefix('`').filter(|_| is_quoted).unwrap_or(after)
            }
            None => {
                out += word;
                after
            }
        };
    }
    out + rest
}

/// Skips the label in parentheses that an error of the command line adds to the path.
fn after_label<'a>(title: &str, after: &'a str) -> &'a str {
    let label = title.rsplit(SEPARATOR).next().unwrap_or(title);
    let rest = after.strip_prefix(" (").and_then(|rest| rest.strip_prefix(label)?.strip_prefix(')'));
    rest.unwrap_or(after)
}

/// Appends the value in `=value` after the path `word` to `out`. Returns the text after the value.
fn assigned<'a>(params: &dyn Params, word: &str, after: &'a str, out: &mut String) -> &'a str {
    let Some(typed) = after.strip_prefix('=') else { return after };
    *out += " = ";
    let end = typed.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(typed.len());
    let value = path::find(params, word).ok().and_then(|(_, spec)| {
        let is_choice = matches!(spec.kind, ValueType::Choice(_) | ValueType::OneOf(_));
        path::parse_value(spec, &typed[..end]).ok().filter(|_| is_choice).map(|value| shown(spec, &value))
    });
    match value {
        Some(value) => {
            *out += &value;
            &typed[end..]
        }
        None => typed,
    }
}

const fn is_path_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.')
}

/// Formats a value like [`path::show`], but with the titles of choices and parameters, `on` or `off` for a switch, the declared
/// word for 0, and grouped digits of large whole numbers.
pub fn shown(spec: &ParamSpec, value: &Value) -> String {
    match (value, spec.kind) {
        (Value::Bool(on), _) => if *on { "on" } else { "off" }.to_owned(),
        (Value::Int(0), _) | (Value::Real(0.0), _) if !spec.zero.is_empty() => spec.zero.to_owned(),
        (Value::Int(i), _) if *i >= 10_000 => with_unit(spec, group_digits(i.unsigned_abs())),
        (Value::Rows(rows), _) => counted(rows.len(), "item", "items"),
        (Value::Choice(i), ValueType::Choice(choices)) => {
            choices.get(usize::from(*i)).map_or("?".into(), |choice| choice.label()).into_owned()
        }
        (Value::Variant(i, row), ValueType::OneOf(variants)) => {
            let Some(variant) = variants.get(usize::from(*i)) else { return "?".to_owned() };
            let fields =
                variant.fields().iter().zip(row).map(|(spec, x)| format!("{}: {}", spec.label(), shown(spec, x)));
            match fields.collect::<Vec<_>>().join(", ") {
                none if none.is_empty() => variant.choice.label().into_owned(),
                fields => format!("{} ({fields})", variant.choice.label()),
            }
        }
        _ => path::show(spec, value),
    }
}

fn with_unit(spec: &ParamSpec, number: String) -> String {
    match spec.unit.suffix() {
        "" => number,
        unit => format!("{number} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Project;
    use std::path::Path;

    fn project() -> Project {
        let mut project = Project::default();
        let group = project.model.params().groups().iter().position(|g| g.name == "interventions").unwrap();
        project.model.params_mut().push(group as u8);
        project.model.params_mut().push(group as u8);
        project.set("interventions.1.name=Sugar", Path::new(".")).unwrap();
        project
    }

    #[test]
    fn a_title_names_group_item_and_parameter() {
        let project = project();
        let params = project.model.params();
        for (path, title) in [
            ("lif.tau_m", "LIF neuron › Membrane time constant"),
            ("interventions.0.rate_hz", "Stimuli & silencing › 1 › Rate"),
            ("interventions.Sugar.rate_hz", "Stimuli & silencing › Sugar › Rate"),
            ("interventions.1", "Stimuli & silencing › Sugar"),
            ("interventions.7.rate_hz", "Stimuli & silencing › 8 › Rate"),
        ] {
            assert_eq!(of_path(params, path).as_deref(), Some(title));
        }
        for text in ["lif", "notes.txt", "lif.txt", "0.5", "a..b", ""] {
            assert_eq!(of_path(params, text), None, "{text}");
        }
    }

    #[test]
    fn every_parameter_of_every_kind_has_its_own_title() {
        for model in crate::kinds::Model::all() {
            let params = model.params();
            let titles: Vec<String> = params.ids().into_iter().map(|id| title(params, id)).collect();
            let distinct: std::collections::BTreeSet<&String> = titles.iter().collect();
            assert_eq!(distinct.len(), titles.len(), "{}: {titles:?}", model.name());
            assert!(titles.iter().all(|title| !title.contains('_')), "{titles:?}");
        }
    }

    #[test]
    fn paths_in_a_message_become_titles() {
        let project = project();
        let titled = |text: &str| in_text(project.model.params(), text);
        assert_eq!(
            titled("interventions.1.rate_hz: 5 Hz is too low; set `lif.tau_m` or lif.tau_m."),
            "Stimuli & silencing › Sugar › Rate: 5 Hz is too low; set LIF neuron › Membrane time constant or LIF neuron › \
             Membrane time constant."
        );
        assert_eq!(titled("`network.source=Balanced` in a.ron"), "Network › Source = Balanced random network in a.ron");
        let error = path::parse(project.model.params(), "lif.tau_m=-5").unwrap_err().to_string();
        assert_eq!(
            error,
            "lif.tau_m (Membrane time constant): -5 ms is out of range. Enter a value from 0.1 to 10000 ms"
        );
        let shown = "LIF neuron › Membrane time constant: -5 ms is out of range. Enter a value from 0.1 to 10000 ms";
        assert_eq!(titled(&error), shown);
        for text in [".", "(a)... b.", "“Sugar”. Undo restores it", ". . ."] {
            assert_eq!(titled(text), text);
        }
        assert_eq!(titled("runs/0007-sugar/run.ron: 0.5 of 1.5"), "runs/0007-sugar/run.ron: 0.5 of 1.5");
    }

    #[test]
    fn values_are_shown_with_titles() {
        let project = project();
        let params = project.model.params();
        let shown_of = |path: &str| {
            let (id, spec) = path::find(params, path).unwrap();
            shown(spec, &params.get(id))
        };
        assert_eq!(shown_of("network.model"), "LIF, exponential synapses");
        assert_eq!(shown_of("interventions.0.enabled"), "on");
        assert_eq!(shown_of("lif.tau_m"), "20 ms");
    }
}
