//! `neuropil info` and `neuropil params`: describe projects, runs and kinds.

use super::{error::CliError, experiment_info, run, stdout::print_line};
use crate::{
    data::{counted, group_digits, io_reason},
    experiment::is_experiment,
    export::{Format, newick},
    kinds::Model,
    params::{Apply, ChoiceSpec, GroupSpec, ParamId, ParamSpec, Params, Scale, Value, ValueType, path, reference},
    project::{self, OutsidePath, Project, RunFolder, Status, check::check, outside_paths_of_run, run::MANIFEST},
    sim::{DeviceKind, MemoryReport, Progress, TimeBase},
};
use serde_json::{Value as Json, json};
use std::path::Path;

/// Describes a project file, a run folder or a file of lineages. Fails if the path is none of these, or unreadable.
pub(super) fn info(path: &Path, as_json: bool) -> Result<(), CliError> {
    if is_experiment(path) {
        return experiment_info::info(path, as_json);
    }
    if path.join(MANIFEST).exists() {
        return run_info(&RunFolder::open(path)?, as_json);
    }
    if path.is_dir() {
        std::fs::read_dir(path).map_err(|e| CliError::Usage(format!("{}: {}", path.display(), io_reason(&e))))?;
        return Err(CliError::Usage(format!("{} is neither a project file nor a run folder", path.display())));
    }
    if path.extension().is_some_and(|name| name == Format::Newick.extension()) {
        return lineage_info(path, as_json);
    }
    let (project, warnings) = project::open(path)?;
    for warning in &warnings {
        eprintln!("{}: {warning}", path.display());
    }
    let base = run::base_of(path);
    let outside = if run::is_own(&base) { vec![] } else { project::outside_paths(&project, &base) };
    project_info(&project, &outside, as_json);
    Ok(())
}

/// Describes the lineages of a tree file. Fails if the file is invalid.
fn lineage_info(path: &Path, as_json: bool) -> Result<(), CliError> {
    let trees = newick::read(path, &|_, _| true).map_err(|e| CliError::Usage(e.to_string()))?;
    let all = trees.summary();
    if as_json {
        let mut out = json!(all);
        out["steps_per_unit"] = json!(trees.scale);
        print_line!("{out:#}");
        return Ok(());
    }
    let individuals = counted(all.individuals, "individual", "individuals");
    let founders = counted(all.founders, "founder", "founders");
    let [first, last, alive] = [all.first, all.last, all.alive].map(group_digits);
    print_line!("{individuals} of {founders}, steps {first} to {last}");
    let (splits, merges) = (counted(all.splits, "split", "splits"), counted(all.merges, "merge", "merges"));
    print_line!("{splits}, {merges}, {alive} alive at the end");
    if trees.scale > 1.0 {
        print_line!("{} steps are a unit of length", trees.scale);
    }
    Ok(())
}

fn project_info(project: &Project, outside: &[OutsidePath], as_json: bool) {
    let model = &project.model;
    let changed = changed_from_default(model);
    if as_json {
        let mut out = json!({
            "name": project.name, "notes": project.notes, "version": project.version, "seed": project.seed,
            "kind": model.name(), "title": model.title(), "record": project.record,
            "parameters": values(model.params()), "trainable_parameters": model.n_parameters(),
            "predicted_bytes": predicted(model).into_iter().map(|(place, bytes)| {
                let owners = bytes.by_owner().into_iter().map(|(owner, n)| (owner.to_owned(), json!(n)));
                (place.to_owned(), Json::Object(owners.collect()))
            }).collect::<serde_json::Map<_, _>>(),
            "changed": changed, "semantics": model.semantics(),
            "outside": outside.iter().map(|file| json!({ "parameter": file.parameter, "path": file.path })).collect::<Vec<_>>(),
        });
        match model.time_base() {
            TimeBase::Seconds { per_step } => {
                out["dt_ms"] = json!(per_step * 1e3);
                out["duration_ms"] = json!(project.run.duration_ms);
            }
            TimeBase::Count { plural, .. } => {
                out["counted_in"] = json!(plural);
                out["steps"] = json!(project.run.steps);
            }
        }
        print_line!("{out:#}");
        return;
    }
    print_line!("{}: {} ({})", project.name, model.title(), model.name());
    if !project.notes.is_empty() {
        print_line!("{}", project.notes);
    }
    match model.time_base() {
        TimeBase::Seconds { per_step } => {
            let length = match project.planned_steps() {
                Some(_) => format!("{} ms", project.run.duration_ms),
                None => "without end,".to_owned(),
            };
            print_line!("seed {}, {length} in steps of {} ms", project.seed, per_step * 1e3);
        }
        _ if project.run.steps == 0 => print_line!("seed {}, without end", project.seed),
        base => {
            print_line!("seed {}, {}", project.seed, counted(project.run.steps, base.singular(), base.plural()));
        }
    }
    print_line!("records {}", project.record.join(", "));
    if let Some(n) = model.n_parameters() {
        print_line!("{}", parameters_line(n));
    }
    memory_lines(model).iter().for_each(|line| print_line!("{line}"));
    print_outside(outside, "run", "project");
    let semantics = model.semantics();
    for fact in &semantics.facts {
        print_line!("{}: {}", fact.question, fact.here.replace('*', ""));
        let others = semantics.simulators.iter().zip(fact.elsewhere);
        others.for_each(|(name, text)| print_line!("  {name}: {}", text.replace('*', "")));
    }
    let verb = if changed.len() == 1 { "differs" } else { "differ" };
    print_line!("{} {verb} from the default:", counted(changed.len(), "parameter", "parameters"));
    changed.iter().for_each(|line| print_line!("  {line}"));
}

/// Prints the files that a command reads only with consent.
fn print_outside(outside: &[OutsidePath], command: &str, of: &str) {
    for OutsidePath { parameter, path, .. } in outside {
        print_line!(
            "{parameter} is {path}, which is outside the {of}'s folder; `{command}` reads it with --allow-outside"
        );
    }
}

/// Predicts the memory by owner on each kind of device, from the parameters alone. Devices without a prediction are
/// omitted.
fn predicted(model: &Model) -> Vec<(&'static str, MemoryReport)> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let places = [("cpu", DeviceKind::Cpu { threads }), ("cuda", DeviceKind::Cuda)];
    places.map(|(name, place)| (name, model.predict(place))).into_iter().filter(|(_, b)| !b.is_empty()).collect()
}

/// Formats the number of trainable parameters: `0.36 M trainable parameters (357,024)`.
pub(super) fn parameters_line(n: u64) -> String {
    format!("{:.2} M trainable parameters ({})", n as f64 * 1e-6, group_digits(n))
}

/// Formats the predicted memory: `needs about 65.8 MB on the CPU: wiring 60.9 MB, …`.
pub(super) fn memory_lines(model: &Model) -> Vec<String> {
    let mb = |n: u64| format!("{:.1} MB", n as f64 * 1e-6);
    let line = |(place, bytes): (&str, MemoryReport)| {
        let all: u64 = bytes.total();
        let owners: Vec<String> = bytes.by_owner().iter().map(|(owner, n)| format!("{owner} {}", mb(*n))).collect();
        let place = if place == "cpu" { "CPU" } else { "GPU" };
        format!("needs about {} on the {place}: {}", mb(all), owners.join(", "))
    };
    match predicted(model) {
        none if none.is_empty() => vec!["its memory is known after its files are read".to_owned()],
        known => known.into_iter().map(line).collect(),
    }
}

fn changed_from_default(model: &Model) -> Vec<String> {
    let Some(default) = Model::by_name(model.name()) else { return vec![] };
    let (params, default) = (model.params(), default);
    let differs = |id: &crate::params::ParamId| params.get(*id) != default.params().get(*id);
    let show = |id| Some(format!("{} = {}", params.path(id), path::show(params.spec(id)?, &params.get(id))));
    params.ids().into_iter().filter(differs).filter_map(show).collect()
}

fn values(params: &dyn Params) -> Json {
    let entry = |id| Some((params.path(id), plain(params.spec(id)?, &params.get(id))));
    Json::Object(params.ids().into_iter().filter_map(entry).collect())
}

fn plain(spec: &ParamSpec, value: &Value) -> Json {
    match value {
        Value::Bool(b) => json!(b),
        Value::Int(i) => json!(i),
        Value::Real(x) => json!(x),
        Value::Distribution(law) if law.as_constant().is_some() => json!(law.as_constant()),
        Value::List(values) => json!(values),
        Value::Choice(_) | Value::Rows(_) | Value::Variant(..) | Value::Distribution(_) => {
            json!(path::show(spec, value))
        }
        Value::Text(text) => json!(text),
    }
}

fn run_info(run: &RunFolder, as_json: bool) -> Result<(), CliError> {
    let m = &run.manifest;
    if as_json {
        let mut out = serde_json::to_value(m).map_err(|e| CliError::Failed(e.to_string()))?;
        out["notes"] = json!(run.notes);
        out["path"] = json!(run.path.display().to_string());
        out["data_hash"] = json!(m.data_hash());
        out["best_step"] = json!(run.best_step());
        print_line!("{out:#}");
        return Ok(());
    }
    print_line!("{}: {} on {}, {}", m.name, m.kind, m.device, m.app);
    if !m.execution.backend.is_empty() {
        print_line!("computed by {}", m.execution.words());
    }
    let computed = if m.computed_s > 0.0 { format!(", {:.3} s of computing", m.computed_s) } else { String::new() };
    print_line!("{} to {} ({:.3} s{computed}), seed {}", m.started, m.stopped, m.wall_s, m.seed);
    match m.time_base() {
        TimeBase::Seconds { per_step } => {
            let [from, to] = [m.first_step, m.last_step].map(|step| step as f64 * per_step);
            let [first, last] = [m.first_step, m.last_step].map(group_digits);
            print_line!("steps {first} to {last}: {from} to {to} s");
        }
        base => print_line!("{} {} to {}", base.plural(), group_digits(m.first_step), group_digits(m.last_step)),
    }
    for stream in &m.streams {
        let n = match run.n_records(stream) {
            0 => counted(run.n_bytes(stream), "byte", "bytes"),
            n => counted(n, "record", "records"),
        };
        print_line!("  {:12} {:8} {n:>14} {} {}", stream.probe, stream.shape, stream.file, stream.dtype);
    }
    for (name, n) in &m.digest.totals {
        print_line!("  {} {} since step 0", group_digits(*n), name.replace('_', " "));
    }
    if m.trials > 0 {
        print_line!("  {}", counted(m.trials, "trial", "trials"));
    }
    if let Some(parent) = &m.parent {
        print_line!(
            "  begins at the checkpoint of step {} in {}",
            parent.checkpoint.step,
            run.path.join(&parent.run).display()
        );
    }
    for (step, when) in &m.resumed {
        print_line!("  continued at step {step}, {when}");
    }
    if let Some(when) = m.checkpoint_settings.words(0) {
        print_line!("  checkpoints {when}");
    }
    for c in &m.checkpoints {
        let best = c.best_value().filter(|_| run.best_step() == Some(c.step));
        let best =
            best.map_or_else(String::new, |value| format!(", the best: {} {value}", m.checkpoint_settings.best_of));
        print_line!("  checkpoint at step {}: {:.1} MB, {}{best}", c.step, c.n_bytes as f64 * 1e-6, c.file);
    }
    super::check::print_hashes(run);
    print_line!("{}", counted(run.commands()?.len(), "live edit", "live edits"));
    print_line!("{}", m.status.word());
    run.notes.iter().for_each(|note| print_line!("{note}"));
    let (outside, replaced) = run
        .displayed_project()
        .map(|(project, replaced)| (outside_paths_of_run(run, &project), replaced))
        .unwrap_or_default();
    replaced.iter().for_each(|note| print_line!("{note}"));
    if !run::is_own(&run.path) {
        print_outside(&outside, "replay", "run");
    }
    if !matches!(m.status, Status::Running | Status::Unclosed) {
        let files = check(run, &Progress::default())?;
        files.iter().filter(|f| f.is_damaged()).for_each(|file| print_line!("{file}"));
        print_line!("{}", super::check::summary(&files));
    }
    Ok(())
}

/// Prints the parameters of a kind. Fails if the kind is unknown.
pub(super) fn params(kind: &str, as_json: bool) -> Result<(), CliError> {
    let Some(model) = Model::by_name(kind) else {
        let known: Vec<&str> = Model::all().iter().map(Model::name).collect();
        return Err(CliError::Usage(format!("there is no kind `{kind}`; the kinds are {}", known.join(", "))));
    };
    let params = model.params();
    let mut all = vec![];
    for (g, group) in params.groups().iter().enumerate() {
        let entry = |f: usize| (path_of(group, &group.params[f]), params.get(ParamId::of(g, f)), &group.params[f]);
        // A missing list item reads as the default, so the list may be empty.
        all.extend(group.in_order().map(entry));
    }
    if as_json {
        let list: Vec<Json> = all.iter().map(|(path, default, spec)| spec_json(path, default, spec)).collect();
        print_line!("{:#}", json!({ "kind": model.name(), "title": model.title(), "parameters": list }));
        return Ok(());
    }
    print_line!("{}: {}", model.title(), model.about());
    for (path, default, spec) in all {
        let rebuild = match spec.apply {
            Apply::Live => "",
            Apply::Data => ", while running when the file is read",
            Apply::Rewind => ", at the next rewind",
            Apply::Rebuild => ", rebuilds",
        };
        print_line!("\n{path} = {}  [{}{rebuild}]", path::show(spec, &default), reference::range(spec));
        spec.docs.lines().for_each(|line| print_line!("    {}", line.trim()));
    }
    Ok(())
}

/// Returns the path of a parameter declaration. In the path, `N` stands for the index of a list item, and a parameter of a
/// sum type follows its group.
fn path_of(group: &GroupSpec, spec: &ParamSpec) -> String {
    let item = if group.list { ".N" } else { "" };
    let of = match spec.part {
        Some(part) => {
            let sum = path_of(group, &group.params[usize::from(part.field)]);
            format!("{sum}.{}", group.variant_of(part))
        }
        None => format!("{}{item}", group.name),
    };
    format!("{of}.{}", spec.name)
}

fn spec_json(path: &str, default: &Value, spec: &ParamSpec) -> Json {
    let mut out = json!({
        "path": path,
        "doc": spec.docs.lines().map(str::trim).collect::<Vec<_>>().join(" ").trim(),
        "unit": spec.unit.suffix(),
        "symbol": spec.symbol,
        "default": plain(spec, default),
        "apply": match spec.apply {
            Apply::Live => "live",
            Apply::Data => "data",
            Apply::Rewind => "rewind",
            Apply::Rebuild => "rebuild",
        },
    });
    out["type"] = json!(match spec.kind {
        ValueType::Bool => "bool",
        ValueType::Int => "int",
        ValueType::Real => "real",
        ValueType::Choice(_) => "choice",
        ValueType::Text => "text",
        ValueType::Path => "path",
        ValueType::Query => "query",
        ValueType::Distribution => "distribution",
        ValueType::List { .. } => "list",
        ValueType::OneOf(_) => "one_of",
    });
    if spec.kind.is_numeric() {
        out["range"] = json!([spec.soft.0, spec.soft.1]);
        out["accepted"] = json!([spec.hard.0, spec.hard.1]);
        out["scale"] = json!(if spec.scale == Scale::Log { "log" } else { "linear" });
    }
    let choices: Vec<ChoiceSpec> = match spec.kind {
        ValueType::Choice(choices) => choices.to_vec(),
        ValueType::OneOf(variants) => variants.iter().map(|v| v.choice).collect(),
        _ => return out,
    };
    out["choices"] = choices.iter().map(|c| json!({ "name": c.name, "doc": c.docs.trim() })).collect();
    out
}
