//! Differences between two projects, one line each.

use super::{PlanTree, Project, RunPlan, file};
use crate::params::{Change, ParamId, ParamSpec, Params, Role, Value, link::Link, path, titles};
use std::fmt;

/// Difference between two projects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Path or title of a parameter, or a short description.
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

/// Words of differences.
#[derive(Clone, Copy, PartialEq)]
enum Wording {
    /// Paths of parameters and names of choices, which the command line accepts.
    Names,
    /// Titles of parameters and choices, which the window shows.
    Titles,
}

impl Wording {
    fn value(self, spec: &ParamSpec, value: &Value) -> String {
        quoted(&match self {
            Self::Names => path::show(spec, value),
            Self::Titles => titles::shown(spec, value),
        })
    }

    fn pick<'a>(self, name: &'a str, title: &'a str) -> &'a str {
        if self == Self::Names { name } else { title }
    }
}

/// Returns all differences with paths and names, in the order of the file. The layout of the window is not compared.
pub fn diff(old: &Project, new: &Project) -> Vec<Difference> {
    differences(old, new, Wording::Names)
}

/// Returns all differences as [`diff`] does, with titles in place of paths and names.
pub fn titled_diff(old: &Project, new: &Project) -> Vec<Difference> {
    differences(old, new, Wording::Titles)
}

fn differences(old: &Project, new: &Project, words: Wording) -> Vec<Difference> {
    let mut out = vec![];
    let mut add = |what: &str, old: String, new: String| {
        if old != new {
            out.push(Difference { what: what.to_owned(), old: Some(quoted(&old)), new: Some(quoted(&new)) });
        }
    };
    add(words.pick("name", "Name"), old.name.clone(), new.name.clone());
    add(words.pick("notes", "Notes"), old.notes.clone(), new.notes.clone());
    add(words.pick("seed", "Seed"), old.seed.to_string(), new.seed.to_string());
    add(words.pick("model", "Model"), old.model.title().to_owned(), new.model.title().to_owned());
    add(words.pick("record", "Recorded probes"), old.record.join(", "), new.record.join(", "));
    let experiment =
        |p: &Project| p.experiment.as_ref().map_or_else(String::new, |e| file::to_line(e).unwrap_or_default());
    add(words.pick("experiment", "Experiment"), experiment(old), experiment(new));
    if old.model.name() == new.model.name() {
        params((old.model.params(), new.model.params()), words, &mut out);
    }
    links(old, new, words, &mut out);
    let plan = |p: &Project| PlanTree { run: p.run.clone() };
    let (mut old_plan, new_plan) = (plan(old), plan(new));
    let unused = [old, new].map(|p| RunPlan::unused(p.model.time_base()));
    if unused[0] == unused[1]
        && let Ok((id, _)) = path::find(&new_plan, &format!("run.{}", unused[0]))
    {
        old_plan.set(&Change { id, value: new_plan.get(id) });
    }
    params((&old_plan, &new_plan), words, &mut out);
    out
}

fn links(old: &Project, new: &Project, words: Wording, out: &mut Vec<Difference>) {
    let what = |link: &Link| match titles::of_path(new.model.params(), &link.path) {
        Some(title) if words == Wording::Titles => format!("link {title}"),
        _ => format!("link {}", link.path),
    };
    let formula = |p: &Project, path: &str| p.links.iter().find(|l| l.path == path).map(|l| l.formula.clone());
    for link in old.links.iter().filter(|l| formula(new, &l.path).is_none()) {
        out.push(Difference { what: what(link), old: Some(link.formula.clone()), new: None });
    }
    for link in &new.links {
        let was = formula(old, &link.path);
        if was.as_ref() != Some(&link.formula) {
            out.push(Difference { what: what(link), old: was, new: Some(link.formula.clone()) });
        }
    }
}

/// Parameters of the old and of the new project.
type Both<'a> = (&'a dyn Params, &'a dyn Params);

fn params(both: Both<'_>, words: Wording, out: &mut Vec<Difference>) {
    for (g, group) in both.1.groups().iter().enumerate() {
        if group.list {
            items(both, g, words, out);
        } else {
            fields(both, (g, 0, 0), words.pick(group.name, &group.label()), words, out);
        }
    }
}

/// Compares one group or list item. `at` holds the indices of the group, the old item and the new item.
fn fields(both: Both<'_>, at: (usize, usize, usize), list: &str, words: Wording, out: &mut Vec<Difference>) {
    let ((old, new), (g, i, j)) = (both, at);
    let params = new.groups()[g].params;
    for change in new.changed_fields(ParamId { item: j as u16, ..ParamId::of(g, 0) }, old, i as u16) {
        let spec = &params[usize::from(change.id.field)];
        let sum = spec.part.map(|part| &params[usize::from(part.field)]);
        let was = old.get(ParamId { item: i as u16, ..change.id });
        let parts = sum.into_iter().chain([spec]).map(|spec| words.pick(spec.name, &spec.label()).to_owned());
        let between = words.pick(".", titles::SEPARATOR);
        let what = [list.to_owned()].into_iter().chain(parts).collect::<Vec<_>>().join(between);
        let (old, new) = (words.value(spec, &was), words.value(spec, &change.value));
        out.push(Difference { what, old: Some(old), new: Some(new) });
    }
}

/// Matches items by unique name, otherwise by index, and compares them.
fn items(both: Both<'_>, g: usize, words: Wording, out: &mut Vec<Difference>) {
    let (old, new) = both;
    let group = &new.groups()[g];
    let (label, between) = (group.label(), words.pick(" ", titles::SEPARATOR));
    let list = words.pick(group.name, &label);
    let keys = |p: &dyn Params| (0..p.len(g as u8)).map(|i| key(p, g, i)).collect::<Vec<_>>();
    let (was, is) = (keys(old), keys(new));
    for (i, gone) in was.iter().enumerate().filter(|(_, k)| !is.contains(k)) {
        let what = format!("{list}{between}{gone}");
        out.push(Difference { what, old: Some(summary(old, g, i, words)), new: None });
    }
    for (j, key) in is.iter().enumerate() {
        match was.iter().position(|k| k == key) {
            Some(i) => fields(both, (g, i, j), &format!("{list}{between}{key}"), words, out),
            None => {
                let what = format!("{list}{between}{key}");
                out.push(Difference { what, old: None, new: Some(summary(new, g, j, words)) });
            }
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
fn summary(params: &dyn Params, g: usize, item: usize, words: Wording) -> String {
    let fields = params.groups()[g].fields().iter().enumerate().map(|(f, spec)| {
        let id = ParamId { item: item as u16, ..ParamId::of(g, f) };
        (id, spec, params.get(id))
    });
    let described = fields.filter(|(id, spec, value)| {
        params.is_shown(*id) && spec.role != Role::Name && *value != Value::Text(String::new())
    });
    let words: Vec<String> = described.take(4).map(|(_, spec, value)| words.value(spec, &value)).collect();
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
        let lines: Vec<String> = titled_diff(&old, &new).iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "Notes: (empty) → first line second",
                "LIF neuron › Membrane time constant: 20 ms → 17 ms",
                "− Neuron groups › “MN9”",
                "+ Neuron groups › “Sugar”: class = motor",
                "Run settings › Speed limit: Max → 2",
            ]
        );
    }
}
