//! `neuropil ask RUN REQUEST`: sends a request to the simulation of a run, at a checkpoint or at its end.

use super::{
    ask_args::{AskArgs, AskOptions},
    device,
    error::CliError,
    progress::ProgressLine,
    run::{is_own, refuse_outside},
    session, signal,
    stdout::print_line,
};
use crate::{
    engine::replay::{Observer, Plan, drive},
    params::{ParamSpec, ValueType, path},
    project::{DeviceChoice, RunFolder, outside_paths_of_run},
    sim::{
        Answer, Progress, Request, RequestSpec, SimError, Simulation,
        request::{Cell, Totals},
    },
};
use clap::{Args as _, FromArgMatches as _};
use serde_json::{Value as Json, json};
use std::{ops::ControlFlow, sync::Arc, time::Duration};

pub(super) fn ask(args: AskArgs) -> Result<(), CliError> {
    signal::listen();
    let AskArgs { options, run: path, request, arguments } = args;
    let run = RunFolder::open(&path)?;
    let project = run.project()?;
    let requests = project.model.requests();
    let Some(name) = &request else {
        match options.json {
            true => print_line!("{:#}", requests.iter().map(request_json).collect::<Json>()),
            false => requests.iter().for_each(describe),
        }
        return Ok(());
    };
    let Some(spec) = requests.iter().find(|spec| spec.name == name) else {
        let known: Vec<&str> = requests.iter().map(|spec| spec.name).collect();
        let what = format!("`{}` has no request `{name}`; there are {}", project.model.name(), known.join(", "));
        return Err(CliError::Usage(what));
    };
    let (arguments, later) = without_options(spec, arguments);
    let options = options.or(later);
    let request = parse(spec, &arguments)?;
    let no_rows = spec.no_rows(&request.values);
    if !options.allow_outside && !is_own(&path) {
        refuse_outside(&outside_paths_of_run(&run, &project), "run")?;
    }
    let (mut sim, notes) = simulation(&run, &options)?;
    notes.iter().for_each(|note| eprintln!("neuropil: {note}"));
    let step = sim.clock().step;
    let answer = in_thread("ask", move |progress| sim.ask(&request, progress))?;
    if matches!(&answer, Answer::Table(_, rows) if rows.is_empty()) {
        eprintln!("neuropil: {no_rows}");
    }
    let totals = spec.totals(&answer);
    if options.json {
        let mut out = json!({ "step": step, "answer": answer_json(&answer), "notes": notes });
        if let Some(Totals { column, sum, mean, n, .. }) = totals {
            out["totals"] = json!({ column: { "sum": sum, "mean": mean, "n": n } });
        }
        print_line!("{out:#}");
    } else {
        print_line!("{}", answer.text());
        if let Some(totals) = totals {
            eprintln!("neuropil: {}", totals.text());
        }
    }
    Ok(())
}

/// Returns the simulation at a checkpoint, with notes about the checkpoint. Without a checkpoint at or before `--at`,
/// simulates the run again up to `--at` or the end of the run. Fails if the run is unreadable, no device is available, or
/// the simulation fails.
fn simulation(run: &RunFolder, args: &AskOptions) -> Result<(Box<dyn Simulation>, Vec<String>), CliError> {
    let at_checkpoint = run.manifest.checkpoints.first().is_some_and(|c| args.at.is_none_or(|step| c.step <= step));
    let from = if at_checkpoint { Some(run.continuation(args.at, &Progress::default())?) } else { None };
    let mut project = match &from {
        Some(from) => from.now.clone(),
        None => run.project()?,
    };
    project.seed = run.manifest.setup_seed;
    let gpu = args.device.and_then(|device| device.gpu).unwrap_or(project.run.gpu);
    let choice = args.device.map_or(DeviceChoice::Auto, |device| device.choice);
    let mut chosen = device::choose(choice, gpu, args.threads.unwrap_or(project.run.threads))?;
    let prepared = session::prepare(&project, &run.base(), false, &ProgressLine::new())?;
    let mut sim = session::start(&*prepared, run.manifest.seed, &mut chosen)?;
    if let Some(from) = from {
        sim.load(&from.snapshot)?;
        return Ok((sim, from.messages()));
    }
    let (run, end) = (run.clone(), args.at.unwrap_or(run.manifest.last_step));
    eprintln!("neuropil: without a checkpoint, the run is simulated again up to step {end}");
    let sim = in_thread("replay", move |progress| {
        let input = |e: std::io::Error| SimError::Input(e.to_string());
        if let Some(state) = run.parent_state(progress)? {
            sim.load(&state)?;
        }
        let ids = |set: &str| sim.sets().iter().find(|s| s.name == set).map_or(vec![], |s| s.ids.clone());
        let log = run.commands_with(&ids).map_err(input)?;
        let n_history = run.manifest.n_history as usize;
        let data = |now, change: &_, hash: &_| run.load_logged_data(&project, now, (change, hash), progress);
        let plan = Plan { log: &log, n_history, first: end, end, taps: &[], data: &data };
        drive(&mut *sim, &plan, progress, &mut Unobserved)?;
        Ok(sim)
    })?;
    Ok((sim, vec![]))
}

struct Unobserved;

impl Observer for Unobserved {
    fn next_sample(&mut self, _: u64) -> Option<u64> {
        None
    }
    fn sampled(&mut self, _: &crate::sim::Frame) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Executes a job on a separate thread and shows its progress. An interrupt cancels the job. Fails if the job fails or
/// panics.
pub(super) fn in_thread<T: Send + 'static>(
    name: &str,
    job: impl FnOnce(&Progress) -> Result<T, SimError> + Send + 'static,
) -> Result<T, CliError> {
    let _closing = signal::closing();
    let progress = Arc::new(Progress::default());
    let shared = progress.clone();
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || job(&shared))?;
    let meter = ProgressLine::new();
    while !thread.is_finished() {
        std::thread::sleep(Duration::from_millis(10));
        if signal::interrupted() {
            progress.cancel();
        }
        let (stage, fraction) = progress.now();
        meter.update(f64::from(fraction), 1.0, || stage);
    }
    meter.clear();
    let panicked = |_| CliError::Failed("an internal error stopped the request, see the message above".into());
    Ok(thread.join().map_err(panicked)??)
}

/// Separates the options of `ask` from the arguments after the name of a request. Arguments of the request have precedence.
fn without_options(spec: &RequestSpec, words: Vec<String>) -> (Vec<String>, AskOptions) {
    let command = AskOptions::augment_args(clap::Command::new("neuropil ask").no_binary_name(true));
    let (mut arguments, mut options) = (vec![], vec![]);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let (name, is_alone) = match word.strip_prefix("--").map(|name| name.split_once('=').ok_or(name)) {
            Some(Ok((name, _))) => (Some(name), false),
            Some(Err(name)) => (Some(name), true),
            None => (None, false),
        };
        let option = command.get_arguments().find(|option| option.get_long().is_some() && option.get_long() == name);
        let is_argument = name.is_some_and(|name| is_argument(spec, name));
        let (list, takes_value) = match option {
            Some(option) if !is_argument => (&mut options, option.get_action().takes_values()),
            _ => (&mut arguments, is_argument),
        };
        list.push(word);
        if is_alone && takes_value {
            list.extend(words.next());
        }
    }
    let mut options = command.try_get_matches_from(options).unwrap_or_else(|error| error.exit());
    let options = AskOptions::from_arg_matches_mut(&mut options).unwrap_or_else(|error| error.exit());
    (arguments, options)
}

/// Whether a request has an argument with the name `name`, which is given without dashes.
fn is_argument(spec: &RequestSpec, name: &str) -> bool {
    (name == "elements" && !spec.over.is_empty()) || spec.params.iter().any(|p| p.name == name.replace('-', "_"))
}

/// Parses `--name value`, `--name=value` and `--elements 3,5`. Fails for unknown names and invalid values.
fn parse(spec: &RequestSpec, words: &[String]) -> Result<Request, CliError> {
    let mut request = spec.request(vec![]);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let usage = |what: String| CliError::Usage(format!("{}: {what}", spec.name));
        let name = word.strip_prefix("--").ok_or_else(|| usage(format!("`{word}` is not of the form --name value")))?;
        let (name, value) = match name.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (name, words.next().cloned().ok_or_else(|| usage(format!("--{name} has no value")))?),
        };
        if name == "elements" && !spec.over.is_empty() {
            let index = |item: &str| item.trim().parse().map_err(|_| usage(format!("`{item}` is not an index")));
            request.elements = value.split(',').map(index).collect::<Result<_, _>>()?;
            continue;
        }
        let is_called = |p: &&ParamSpec| p.name == name.replace('-', "_");
        let Some(at) = spec.params.iter().position(|p| is_called(&p)) else {
            let known: Vec<String> = spec.params.iter().map(|p| format!("--{}", p.name)).collect();
            return Err(usage(format!("there is no argument --{name}; there are {}", known.join(", "))));
        };
        let parsed = path::parse_value(&spec.params[at], &value).map_err(|why| usage(format!("--{name}: {why}")))?;
        if !spec.params[at].admits(&parsed) {
            let (low, high) = spec.params[at].hard;
            return Err(usage(format!("--{name}: {value} is out of range. Enter a value from {low} to {high}")));
        }
        request.values[at] = parsed;
    }
    Ok(request)
}

fn describe(spec: &RequestSpec) {
    print_line!("{}: {}", spec.name, spec.docs.trim());
    if !spec.over.is_empty() {
        print_line!("    --elements LIST: indices of {}", spec.over);
    }
    for (param, default) in spec.params.iter().zip((spec.defaults)()) {
        let default = match param.kind {
            ValueType::Text => format!("\"{}\"", path::show(param, &default)),
            _ => path::show(param, &default),
        };
        print_line!("    --{} = {default}: {}", param.name, param.docs.trim());
    }
}

fn request_json(spec: &RequestSpec) -> Json {
    let arguments = spec.params.iter().zip((spec.defaults)()).map(|(param, default)| {
        json!({ "name": param.name, "default": path::show(param, &default), "docs": param.docs.trim() })
    });
    json!({
        "name": spec.name, "docs": spec.docs.trim(), "elements_of": spec.over, "arguments": arguments.collect::<Json>(),
    })
}

fn answer_json(answer: &Answer) -> Json {
    match answer {
        Answer::Text(text) => json!(text),
        Answer::Table(columns, rows) => {
            let cell = |cell: &Cell| match cell {
                Cell::Text(text) => json!(text),
                Cell::Number(x) => json!(x),
            };
            let row = |row: &Vec<Cell>| {
                let entries = columns.iter().zip(row).map(|(name, value)| ((*name).to_owned(), cell(value)));
                Json::Object(entries.collect())
            };
            rows.iter().map(row).collect()
        }
    }
}
