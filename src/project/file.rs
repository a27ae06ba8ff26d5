//! Reads and writes project files (RON). Unknown fields and values out of range are warnings with their line; only
//! a file that cannot be parsed is an error.

use super::{PlanTree, Project, VERSION, atomic_file, migrate, retired, ron_error, ron_tree, schema};
use crate::{
    data::{input_file, io_reason},
    params::{Change, ParamSpec, Params, Value},
};
use ron::{
    Options,
    error::{Error as RonError, SpannedError},
    extensions::Extensions,
    ser::PrettyConfig,
};
use ron_tree::{Body, Node};
use schema::Step;
use std::{fmt, io::ErrorKind, path::Path};

/// Part of a project file that was ignored or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Line in the file, from 1.
    pub line: u32,
    /// Problem, and how it was handled.
    pub what: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// Reason why a project file cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", self.place())]
pub struct ReadError {
    /// Name of the file; empty if the text has another source.
    pub file: String,
    /// Line, from 1; 0 if the error has no position.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// Mistake, and the expected form.
    pub what: String,
}

impl ReadError {
    fn place(&self) -> String {
        match (self.file.as_str(), self.line) {
            ("", 0) => String::new(),
            ("", line) => format!("{line}:{}: ", self.column),
            (file, 0) => format!("{file}: "),
            (file, line) => format!("{file}:{line}:{}: ", self.column),
        }
    }

    /// Adds the name of the file to the error.
    pub fn in_file(self, path: &Path) -> Self {
        Self { file: path.display().to_string(), ..self }
    }

    fn plain(what: impl Into<String>) -> Self {
        Self { file: String::new(), line: 0, column: 0, what: what.into() }
    }
}

impl From<SpannedError> for ReadError {
    fn from(error: SpannedError) -> Self {
        let hint = match &error.code {
            RonError::NoSuchEnumVariant { expected, found, .. } => schema::nearest(found, expected.iter().copied()),
            _ => String::new(),
        };
        let at = error.span.end;
        Self {
            file: String::new(),
            line: at.line,
            column: at.col,
            what: format!("{}{hint}", ron_error::words(&error.code)),
        }
    }
}

/// Returns the RON dialect in which `workspace: "…"` is read like `workspace: Some("…")`.
pub(super) fn options() -> Options {
    Options::default().with_default_extension(Extensions::IMPLICIT_SOME)
}

fn pretty() -> PrettyConfig {
    PrettyConfig::new().indentor("    ").new_line("\n").escape_strings(false)
}

/// Formats any value as readable RON, for settings and the like. Fails if RON cannot represent the value.
pub fn to_ron<T: serde::Serialize>(value: &T) -> Result<String, ReadError> {
    let text = options().to_string_pretty(value, pretty()).map_err(|e| ReadError::plain(e.to_string()))?;
    Ok(text + "\n")
}

/// Formats any value as RON on one line, for logs. Fails if RON cannot represent the value.
pub fn to_line<T: serde::Serialize>(value: &T) -> Result<String, ReadError> {
    options().to_string(value).map_err(|e| ReadError::plain(e.to_string()))
}

/// Parses text of [`to_ron`] or [`to_line`]. Fails with the position of the mistake.
pub fn from_ron<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, ReadError> {
    Ok(options().from_str(text)?)
}

/// Opens a project file. Fails if the file cannot be read or parsed, or is of a newer version; all other mistakes are
/// warnings.
pub fn open(path: &Path) -> Result<(Project, Vec<Warning>), ReadError> {
    let bytes = input_file::read(path).map_err(|e| ReadError::plain(missing(path, &e)).in_file(path))?;
    read_bytes(&bytes).map_err(|e| e.in_file(path))
}

/// Returns the message for a project file that cannot be read, with a hint if its folder is missing.
fn missing(path: &Path, error: &std::io::Error) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match error.kind() {
        ErrorKind::NotFound if !folder.is_dir() => format!("there is no folder {}", folder.display()),
        ErrorKind::NotFound => "there is no such project file or run folder".to_owned(),
        _ => io_reason(error),
    }
}

/// Reads a project from bytes, which must be UTF-8. Fails if the bytes cannot be parsed or the version is newer.
pub fn read_bytes(bytes: &[u8]) -> Result<(Project, Vec<Warning>), ReadError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => read(text),
        Err(error) => {
            let before = &bytes[..error.valid_up_to()];
            let line = 1 + before.iter().filter(|b| **b == b'\n').count();
            let column = 1 + before.iter().rev().take_while(|b| **b != b'\n').count();
            Err(ReadError { line, column, ..ReadError::plain("not a text: expected a project in RON, in UTF-8") })
        }
    }
}

/// Reads the project of a recorded run for display: choices that are no longer offered are replaced, with a warning each.
/// Fails under the conditions of [`read_bytes`].
pub(super) fn read_recorded(bytes: &[u8]) -> Result<(Project, Vec<Warning>), ReadError> {
    let Ok(text) = std::str::from_utf8(bytes) else { return read_bytes(bytes) };
    let (text, warnings) = retired::replace(text);
    Ok((read(&text)?.0, warnings))
}

/// Reads the version of a project, then the other fields by the rules of that version. Missing fields take their defaults;
/// unknown fields and values out of range cause warnings. Fails if the text cannot be parsed or its version is newer.
pub fn read(text: &str) -> Result<(Project, Vec<Warning>), ReadError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let version = migrate::version_of(text).map_err(|error| match error.code {
        RonError::ExpectedNamedStructLike(_) | RonError::ExpectedDifferentStructName { .. } => ReadError {
            what: format!("this is not a project file: it does not begin with `(version: {VERSION},`"),
            ..error.into()
        },
        _ => error.into(),
    })?;
    if version == 0 || version > VERSION {
        return Err(ReadError::plain(format!(
            "the file says version {version}, this program reads 1 to {VERSION}; open it with a newer Neuropil"
        )));
    }
    let tree = ron_tree::scan(text);
    let mut project = migrate::read(version, text, &tree).map_err(|error| ron_error::with_parameter(error, text))?;
    migrate::colors(&mut project, text, &tree);
    let mut warnings = vec![];
    unknown_fields(&tree, &mut vec![], &mut warnings);
    into_range(&mut project, &tree, &mut warnings);
    if tree.at(&["run", "steps"]).is_none() {
        project.run.count_steps(project.model.time_base());
    }
    let line = tree.at(&["links"]).map_or(1, |node| node.line);
    warnings.extend(project.follow_links().into_iter().map(|what| Warning { line, what: format!("link {what}") }));
    warnings.sort_by_key(|w| w.line);
    Ok((project, warnings))
}

/// Adds a warning for each field that serde ignores because its name is unknown.
fn unknown_fields(node: &Node, path: &mut Vec<Step>, warnings: &mut Vec<Warning>) {
    let depth = path.len();
    // `Some(…)` and struct names add no step, a variant does.
    if !node.name.is_empty() && node.name != "Some" {
        path.push(Step::Variant(node.name.clone()));
        if matches!(node.body, Body::Fields(_)) && schema::fields_at::<Project>(path).is_none() {
            path.pop();
        }
    }
    match &node.body {
        Body::Leaf => {}
        Body::Items(items) if !node.name.is_empty() => {
            items.iter().for_each(|item| unknown_fields(item, path, warnings));
        }
        Body::Items(items) => {
            path.push(Step::Item);
            items.iter().for_each(|item| unknown_fields(item, path, warnings));
        }
        Body::Fields(fields) => {
            let known = schema::fields_at::<Project>(path);
            for (name, line, value) in fields {
                if known.is_some_and(|k| !k.contains(&name.as_str())) {
                    if migrate::is_former(path, name) {
                        continue;
                    }
                    let hint = schema::nearest(name, known.unwrap_or_default().iter().copied());
                    warnings.push(Warning { line: *line, what: format!("unknown field `{name}` is ignored{hint}") });
                    continue;
                }
                path.push(Step::Field(name.clone()));
                unknown_fields(value, path, warnings);
                path.pop();
            }
        }
    }
    path.truncate(depth);
}

/// Clamps values out of range and adds a warning for each.
fn into_range(project: &mut Project, tree: &Node, warnings: &mut Vec<Warning>) {
    let mut plan = PlanTree { run: project.run.clone() };
    clamp(&mut plan, tree, &[], warnings);
    project.run = plan.run;
    clamp(project.model.params_mut(), tree, &["model"], warnings);
}

fn clamp(params: &mut dyn Params, tree: &Node, prefix: &[&str], warnings: &mut Vec<Warning>) {
    for id in params.ids() {
        let (Some(spec), value) = (params.spec(id), params.get(id)) else { continue };
        let Some(accepted) = nearest_accepted(spec, &value) else { continue };
        let path = params.path(id);
        let steps: Vec<&str> = prefix.iter().copied().chain(path.split('.')).collect();
        // A field under an older name is not found, but the field's group is.
        let line = (1..=steps.len()).rev().find_map(|n| tree.at(&steps[..n])).map_or(1, |n| n.line);
        let show = |value| crate::params::path::show(spec, value);
        let why = match (&value, spec.refusal(&value)) {
            (Value::Distribution(_) | Value::List(_), Some(why)) => format!("is not accepted: {why}"),
            _ => format!("is out of range ({} to {})", spec.hard.0, spec.hard.1),
        };
        let what = format!("{path}: {} {why}; {} is used", show(&value), show(&accepted));
        params.set(&Change { id, value: accepted });
        warnings.push(Warning { line, what });
    }
}

/// Returns the nearest accepted value; `None` if the value is accepted or no nearest value exists.
fn nearest_accepted(spec: &ParamSpec, value: &Value) -> Option<Value> {
    if spec.admits(value) {
        return None;
    }
    match value {
        Value::Real(x) => Some(Value::Real(if x.is_nan() { spec.hard.0 } else { x.clamp(spec.hard.0, spec.hard.1) })),
        Value::Int(x) => Some(Value::Int((*x as f64).clamp(spec.hard.0, spec.hard.1) as i64)),
        Value::List(values) => {
            let into = |x: &f64| if x.is_nan() { spec.hard.0 } else { x.clamp(spec.hard.0, spec.hard.1) };
            Some(Value::List(values.iter().map(into).collect()))
        }
        Value::Distribution(distribution) => Some(Value::Distribution(distribution.nearest(spec))),
        _ => None,
    }
}

/// Formats a project as text: every value in declaration order, with units as comments. Fails if RON cannot represent the
/// project.
pub fn write(project: &Project) -> Result<String, ReadError> {
    let text = to_ron(project)?;
    let tree = ron_tree::scan(&text);
    let mut notes = vec![];
    let plan = PlanTree { run: project.run.clone() };
    units(&plan, &tree, &[], &mut notes);
    units(project.model.params(), &tree, &["model"], &mut notes);
    notes.sort_unstable();
    let mut out = String::with_capacity(text.len() + notes.len() * 8);
    let mut done = 0;
    for (end, unit) in notes {
        let end = end + text[end..].find('\n').unwrap_or(0);
        out.push_str(&text[done..end]);
        out.push_str(" // ");
        out.push_str(unit);
        done = end;
    }
    out.push_str(&text[done..]);
    Ok(out)
}

fn units(params: &dyn Params, tree: &Node, prefix: &[&str], notes: &mut Vec<(usize, &'static str)>) {
    for id in params.ids() {
        let Some(spec) = params.spec(id).filter(|s| !s.unit.suffix().is_empty()) else { continue };
        let path = params.path(id);
        let steps: Vec<&str> = prefix.iter().copied().chain(path.split('.')).collect();
        if let Some(node) = tree.at(&steps) {
            notes.push((node.end, spec.unit.suffix()));
        }
    }
}

/// Saves a project. The file always has either the former or the new content, and a copy of the former content stays as
/// `NAME.bak`. Fails if the file cannot be written.
pub fn save(project: &Project, path: &Path) -> std::io::Result<()> {
    let text = write(project).map_err(std::io::Error::other)?;
    atomic_file::write_atomic(path, text.as_bytes(), true)
}
