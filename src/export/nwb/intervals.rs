//! Trials, interventions and edits as tables of intervals.

use super::{
    Session,
    objects::{Nwb, Table},
};
use crate::{
    export::trial::Trial,
    params::{ParamId, Params, Role, interventions::Intervention, path},
    project::ParamHistory,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

/// Maximum number of pulses of an intervention that are listed; of more, the span from first to last is one interval.
const MAX_PULSES: usize = 1 << 20;

/// Interval of an intervention.
struct Active {
    start: f64,
    stop: f64,
    effect: String,
    target: String,
    settings: String,
}

/// Writes the tables. Fails if a file cannot be written.
pub(super) fn write(nwb: &mut Nwb, session: &Session<'_>) -> io::Result<()> {
    trials(nwb, session)?;
    let mut active = BTreeMap::<String, Vec<Active>>::new();
    let mut edits = vec![];
    for (k, trial) in session.trials.iter().enumerate() {
        // A run with an unreadable project or log has spikes and series nevertheless.
        let Ok(history) = ParamHistory::read(&trial.run) else { continue };
        let params = history.first.model.params();
        for intervention in Intervention::all(params).filter(Intervention::is_enabled) {
            let rows = intervals(session, k, params, &intervention);
            active.entry(intervention.label()).or_default().extend(rows);
        }
        edits.extend(edits_of(session, k, trial));
    }
    for (name, rows) in active.iter().filter(|(_, rows)| !rows.is_empty()) {
        let path = nwb.path_in_intervals(name)?;
        let mut table =
            nwb.table(&path, "TimeIntervals", &format!("Times at which the intervention {name} is active"))?;
        spans(&mut table, rows.iter().map(|row| (row.start, row.stop)))?;
        table.texts(("effect", "Type of the intervention"), rows.iter().map(|row| &row.effect))?;
        table.texts(("target", "Selection or query of the targets"), rows.iter().map(|row| &row.target))?;
        table.texts(("settings", "Parameters of the intervention"), rows.iter().map(|row| &row.settings))?;
        table.close(rows.len() as u64)?;
    }
    if edits.is_empty() {
        return Ok(());
    }
    let path = nwb.path_in_intervals("edits")?;
    let mut table = nwb.table(&path, "TimeIntervals", "Changes while the run was recorded, until the next ones")?;
    spans(&mut table, edits.iter().map(|(start, stop, _)| (*start, *stop)))?;
    table.texts(("changes", "Changed parameters and actions"), edits.iter().map(|(_, _, what)| what))?;
    table.close(edits.len() as u64)
}

/// Writes the columns of start and stop times.
fn spans(table: &mut Table<'_>, spans: impl Iterator<Item = (f64, f64)> + Clone) -> io::Result<()> {
    table.numbers(("start_time", "Start of the interval in seconds"), spans.clone().map(|(start, _)| start))?;
    table.numbers(("stop_time", "End of the interval in seconds"), spans.map(|(_, stop)| stop))
}

/// Writes the trials of a series.
fn trials(nwb: &mut Nwb, session: &Session<'_>) -> io::Result<()> {
    if !session.is_series {
        return Ok(());
    }
    let all = session.trials;
    let path = nwb.path_in_intervals("trials")?;
    let mut table = nwb.table(&path, "TimeIntervals", "Trials of the run or experiment")?;
    let span = |(k, trial): (usize, &Trial)| {
        let manifest = trial.manifest();
        (session.secs(k, manifest.first_step), session.secs(k, manifest.last_step))
    };
    spans(&mut table, all.iter().enumerate().map(span))?;
    table.numbers(("trial", "Number of the trial"), all.iter().map(|trial| trial.number() as i64))?;
    table.numbers(("seed", "Seed of the random draws"), all.iter().map(|trial| trial.manifest().seed))?;
    table.texts(("hash", "Hash of the spikes and totals"), all.iter().map(|trial| &trial.manifest().digest.hash))?;
    if all.iter().any(|trial| !trial.condition.name.is_empty()) {
        let names = all.iter().map(|trial| &trial.condition.name);
        table.texts(("condition", "Condition of the experiment"), names)?;
    }
    let factors: BTreeSet<&str> =
        all.iter().flat_map(|trial| &trial.condition.factors).map(|(path, _)| path.as_str()).collect();
    for path in factors {
        let value = |trial: &Trial| {
            let found = trial.condition.factors.iter().find(|(of, _)| of == path);
            found.map_or_else(String::new, |(_, value)| value.clone())
        };
        table.texts((path, "Value of the parameter that the experiment varies"), all.iter().map(value))?;
    }
    table.close(all.len() as u64)
}

/// Returns the intervals in which an intervention is active during trial `k`.
fn intervals(session: &Session<'_>, k: usize, params: &dyn Params, of: &Intervention<'_>) -> Vec<Active> {
    let manifest = session.trials[k].manifest();
    let Ok(schedule) = of.schedule(manifest.secs_per_step) else { return vec![] };
    let (mut step, mut spans) = (manifest.first_step, vec![]);
    while step < manifest.last_step && spans.len() <= MAX_PULSES {
        let (is_active, next) = schedule.at(step);
        let end = next.min(manifest.last_step);
        if is_active {
            spans.push((step, end));
        }
        step = end;
    }
    if spans.len() > MAX_PULSES {
        spans = vec![(spans[0].0, schedule.to.min(manifest.last_step))];
    }
    let effect = of.effect().map_or_else(String::new, |effect| effect.label().into_owned());
    let (target, settings) = (of.text(Role::Target), settings(params, of));
    let row = |(start, stop): (u64, u64)| Active {
        start: session.secs(k, start),
        stop: session.secs(k, stop),
        effect: effect.clone(),
        target: target.clone(),
        settings: settings.clone(),
    };
    spans.into_iter().map(row).collect()
}

/// Formats the fields of an intervention that its type has: `rate_hz: 100 Hz; weight_mv: 4 mV`.
fn settings(params: &dyn Params, of: &Intervention<'_>) -> String {
    const ELSEWHERE: [Role; 4] = [Role::Name, Role::Enabled, Role::Effect, Role::Target];
    let fields = params.groups()[of.group].fields();
    let shown = fields.iter().enumerate().filter_map(|(f, spec)| {
        let id = ParamId { item: of.item as u16, ..ParamId::of(of.group, f) };
        let is_own = params.is_shown(id) && !ELSEWHERE.contains(&spec.role);
        is_own.then(|| format!("{}: {}", spec.name, path::show(spec, &params.get(id))))
    });
    shown.collect::<Vec<_>>().join("; ")
}

/// Returns the changes during trial `k` by step: start and stop in seconds, and a text.
fn edits_of(session: &Session<'_>, k: usize, trial: &Trial) -> Vec<(f64, f64, String)> {
    let mut by_step = BTreeMap::<u64, Vec<String>>::new();
    for (step, edit) in trial.run.edits().unwrap_or_default() {
        by_step.entry(step).or_default().push(edit);
    }
    let last = trial.manifest().last_step;
    let steps: Vec<u64> = by_step.keys().copied().collect();
    let end = |i: usize| steps.get(i + 1).copied().unwrap_or(last).max(steps[i]);
    let row = |(i, (step, what)): (usize, (u64, Vec<String>))| {
        (session.secs(k, step), session.secs(k, end(i)), what.join("; "))
    };
    by_step.into_iter().enumerate().map(row).collect()
}
