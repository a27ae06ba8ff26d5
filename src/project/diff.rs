//! Differences between two projects, one line each.

use super::{PlanTree, Project, RunPlan};
use crate::params::{ParamId, Params, Role, Value, path};
use std::fmt;

/// Difference between two projects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Path of a parameter, or a short description.
    pub what: String,
    /// Old value; `None` if only the new project has the parameter.
    pub old: Option<String>,
    /// New value; `None` if only the old project has the parameter.
    pub new: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => write!(f, "{}: {old} → {new}", self.what),
            (None, Some(new)) => write!(f, "+ {}{}", self.what, behind(new)),
            (Some(old), None) => write!(f, "− {}{}", self.what, behind(old)),
            (None, None) => f.write_str(&self.what),
        }
    }
}

fn behind(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

/// Returns all differences, in the order of the file. The layout of the window is not compared.
pub fn diff(old: &Project, new: &Project) -> Vec<Difference> {
    let mut out = vec![];
    let mut add = |what: &str, old: String, new: String| {
        if old != new {
            out.push(Difference { what: what.to_owned(), old: Some(quoted(&old)), new: Some(quoted(&new)) });
        }
    };
    add("name", old.name.clone(), new.name.clone());
    add("notes", old.notes.clone(), new.notes.clone());
    add("seed", old.seed.to_string(), new.seed.to_string());
    add("model", old.model.title().to_owned(), new.model.title().to_owned());
    add("record", old.record.join(", "), new.record.join(", "));
    if old.model.name() == new.model.name() {
        params(old.model.params(), new.model.params(), &mut out);
    }
    links(old, new, &mut out);
    let plan = |p: &Project| PlanTree { run: p.run.clone() };
    params(&plan(old), &plan(new), &mut out);
    let unused = [old, new].map(|p| format!("run.{}", RunPlan::unused(p.model.time_base())));
    out.retain(|d| unused[0] != d.what || unused[1] != d.what);
    out
}

fn links(old: &Project, new: &Project, out: &mut Vec<Difference>) {
    let formula = |p: &Project, path: &str| p.links.iter().find(|l| l.path == path).map(|l| l.formula.clone());
    for link in old.links.iter().filter(|l| formula(new, &l.path).is_none()) {
        out.push(Difference { what: format!("link {}", link.path), old: Some(link.formula.clone()), new: None });
    }
    for link in &new.links {
        let was = formula(old, &link.path);
        if was.as_ref() != Some(&link.formula) {
            out.push(Difference { what: format!("link {}", link.path), old: was, new: Some(link.formula.clone()) });
        }
    }
}

fn params(old: &dyn Params, new: &dyn Params, out: &mut Vec<Difference>) {
    for (g, group) in new.groups().iter().enumerate() {
        if group.list {
            items(old, new, g, out);
        } else {
            fields(old, new, (g, 0, 0), group.name, out);
        }
    }
}

/// Compares one group or list item. `at` holds the indices of the group, the old item and the new item.
fn fields(old: &dyn Params, new: &dyn Params, at: (usize, usize, usize), path: &str, out: &mut Vec<Difference>) {
    let (g, i, j) = at;
    let params = new.groups()[g].params;
    for change in new.changed_fields(ParamId { item: j as u16, ..ParamId::of(g, 0) }, old, i as u16) {
        let spec = &params[usize::from(change.id.field)];
        let sum = spec.part.map(|part| format!("{}.", params[usize::from(part.field)].name)).unwrap_or_default();
        let was = old.get(ParamId { item: i as u16, ..change.id });
        let show = |value: &Value| Some(quoted(&path::show(spec, value)));
        let what = format!("{path}.{sum}{}", spec.name);
        out.push(Difference { what, old: show(&was), new: show(&change.value) });
    }
}

/// Matches items by unique name, otherwise by index, and compares them.
fn items(old: &dyn Params, new: &dyn Params, g: usize, out: &mut Vec<Difference>) {
    let list = new.groups()[g].name;
    let keys = |p: &dyn Params| (0..p.len(g as u8)).map(|i| key(p, g, i)).collect::<Vec<_>>();
    let (was, is) = (keys(old), keys(new));
    for (i, gone) in was.iter().enumerate().filter(|(_, k)| !is.contains(k)) {
        let what = format!("{list} {gone}");
        out.push(Difference { what, old: Some(summary(old, g, i)), new: None });
    }
    for (j, key) in is.iter().enumerate() {
        match was.iter().position(|k| k == key) {
            Some(i) => fields(old, new, (g, i, j), &format!("{list} {key}"), out),
            None => out.push(Difference { what: format!("{list} {key}"), old: None, new: Some(summary(new, g, j)) }),
        }
    }
}

fn key(params: &dyn Params, g: usize, item: usize) -> String {
    let name = params.groups()[g].fields().iter().position(|s| s.role == Role::Name);
    let value = name.map(|f| params.get(ParamId { item: item as u16, ..ParamId::of(g, f) }));
    let same_name = |i: usize| name.map(|f| params.get(ParamId { item: i as u16, ..ParamId::of(g, f) })) == value;
    match &value {
        Some(Value::Text(name)) if !name.is_empty() && !(0..item).any(same_name) => format!("“{name}”"),
        _ => (item + 1).to_string(),
    }
}

/// Returns the first displayed values of an item, without its name.
fn summary(params: &dyn Params, g: usize, item: usize) -> String {
    let fields = params.groups()[g].fields().iter().enumerate().map(|(f, spec)| {
        let id = ParamId { item: item as u16, ..ParamId::of(g, f) };
        (id, spec, params.get(id))
    });
    let described = fields.filter(|(id, spec, value)| {
        params.is_shown(*id) && spec.role != Role::Name && *value != Value::Text(String::new())
    });
    let words: Vec<String> = described.take(4).map(|(_, spec, value)| quoted(&path::show(spec, &value))).collect();
    words.join(", ")
}

/// Shortens a long text, and marks an empty one.
fn quoted(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.chars().count() {
        0 => "(empty)".to_owned(),
        n if n > 60 => format!("{}…", flat.chars().take(59).collect::<String>()),
        _ => flat,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_as_text() {
        let here = std::path::Path::new(".");
        let mut old = Project::default();
        let group = old.model.params().groups().iter().position(|g| g.name == "selections").unwrap();
        old.model.params_mut().push(group as u8);
        old.set("selections.0.name=MN9", here).unwrap();
        let mut new = old.clone();
        assert!(diff(&old, &new).is_empty());
        new.set("lif.tau_m=17", here).unwrap();
        new.set("run.speed=2", here).unwrap();
        new.set("selections.0.name=Sugar", here).unwrap();
        new.set("selections.0.query=class = motor", here).unwrap();
        new.notes = "first line\nsecond".into();
        new.workspace = Some("elsewhere".into());
        let lines: Vec<String> = diff(&old, &new).iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "notes: (empty) → first line second",
                "lif.tau_m: 20 ms → 17 ms",
                "− selections “MN9”",
                "+ selections “Sugar”: class = motor",
                "run.speed: 0 → 2",
            ]
        );
    }
}
