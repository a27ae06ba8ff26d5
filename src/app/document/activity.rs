//! Check of the activity of a network for problems: of a whole set, and of the nodes of the graph that the document describes.
//! The check counts the events of the newest second on the pool.

mod nodes;

use self::nodes::NodeActivity;
use super::{session::Session, time::Time};
use crate::{
    app::{
        document::{features::probes_where, filter::QueryContext, time::spikes::between},
        kit::pool::PoolJob,
    },
    kinds::Model,
    params::{Params, Role, interventions::Intervention},
    sim::{Column, Shape, Spike},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Simulated time over which events are counted, and minimum of this time, seconds.
const WINDOW_SECS: f64 = 1.0;
const LEAST_SECS: f64 = 0.2;
/// Wall-clock time between two counts while the simulation runs.
const EVERY: Duration = Duration::from_secs(1);
/// Mean rate of all elements, or of those of a node, from which the activity counts as runaway, Hz.
const RUNAWAY_HZ: f64 = 50.0;
/// Minimum share of active elements that counts as most, and maximum share of stimulated elements that counts as few.
const MOST: f64 = 0.5;
const FEW: f64 = 0.2;

/// Problem of the activity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivityNotice {
    /// Description as a sentence.
    pub text: String,
    /// Path of the parameter to look at; `None` if there is no single one.
    pub parameter: Option<String>,
}

/// Activity of a set in a window of time.
#[derive(Clone, Debug, PartialEq)]
struct Activity {
    /// Name of the set and number of its elements.
    set: &'static str,
    n: u32,
    secs: f64,
    events: u64,
    /// Number of elements with an event.
    active: u32,
    /// Number of elements on which stimuli act; `None` if there is no stimulus or a target cannot be evaluated.
    stimulated: Option<u32>,
    /// Activity of the nodes of the graph, in the order of their list; empty without a graph.
    nodes: Vec<NodeActivity>,
}

impl Activity {
    /// Returns the problems of the nodes and of the whole set; empty if the activity looks normal.
    fn notices(&self, model: &Model) -> Vec<ActivityNotice> {
        let mut all = nodes::notices(model, &self.nodes, self.secs);
        all.extend(self.notice().map(|text| ActivityNotice { text, parameter: None }));
        all
    }

    /// Describes the problem of the whole set in one sentence; `None` if the activity looks normal, or if a node is known to be
    /// the cause.
    fn notice(&self) -> Option<String> {
        let Self { set, n, secs, events, active, stimulated, .. } = *self;
        let share = |k: u32| f64::from(k) / f64::from(n.max(1));
        let rate = events as f64 / (f64::from(n.max(1)) * secs);
        if nodes::is_any_runaway(&self.nodes, secs) {
            return None;
        }
        if rate >= RUNAWAY_HZ {
            return Some(format!(
                "The activity runs away: the mean rate of all {set} is {rate:.0} Hz. Check the weights and the strength \
                 of the stimuli"
            ));
        }
        let stimulated = stimulated.filter(|k| share(*k) <= FEW && share(active) >= MOST)?;
        Some(format!(
            "Most {set} answer: {:.0} % were active in the newest {secs:.1} s although stimuli act on {:.1} %. Check the \
             weights and the strength of the stimuli",
            share(active) * 100.0,
            share(stimulated) * 100.0
        ))
    }
}

/// The last count and the job of the next one.
#[derive(Default)]
pub struct ActivityCheck {
    job: PoolJob<u64, Activity>,
    notices: Vec<ActivityNotice>,
    started: Option<(u64, Instant)>,
}

impl ActivityCheck {
    /// Returns the problems; empty if the activity looks normal or has not been counted.
    pub fn notices(&self) -> &[ActivityNotice] {
        &self.notices
    }

    /// Counts the newest activity if a count is due.
    pub fn update(time: &mut Time, session: &Session) {
        let check = &mut time.activity;
        if let Some((_, counted)) = check.job.poll() {
            check.notices = counted.notices(&session.project.model);
        }
        let step = time.past.newest();
        if !check.is_due(step, session.live.running) || !time.past.is_indexed() {
            return;
        }
        check.started = Some((step, Instant::now()));
        if let (Some(count), Some(wake)) = (Self::count(time, session, step), time.wake().cloned()) {
            time.activity.job.start(&wake, step, count);
        }
    }

    /// Returns the job that counts the activity before a step; `None` if less than [`LEAST_SECS`] is known, spikes are missing,
    /// or steps have no duration.
    fn count(time: &Time, session: &Session, step: u64) -> Option<impl FnOnce() -> Activity + Send + 'static> {
        let (schema, past) = (&session.live.schema, &time.past);
        let base = session.live.clock.base;
        let (probe, spec) = probes_where(schema, |s| matches!(s, Shape::Spikes { .. })).next()?;
        let Shape::Spikes { over } = spec.shape else { return None };
        let (set, train) = (schema.set(over)?.clone(), past.train(probe)?);
        let window = (WINDOW_SECS / base.per_step()) as u64;
        let from = step.saturating_sub(window).max(past.first()).max(train.oldest_single().unwrap_or(0));
        let secs = (step - from.min(step)) as f64 * base.per_step();
        if base.is_count() || secs < LEAST_SECS || !past.gaps(probe, from as f64, step as f64).is_empty() {
            return None;
        }
        let history = &train.history;
        let relative = |at: u64| at.saturating_sub(history.origin()).min(u64::from(u32::MAX)) as u32;
        let (from, to) = (relative(from), relative(step));
        let mut chunks: Vec<Arc<Vec<Spike>>> = history.chunks_between(from, to).map(|(_, c)| c.clone()).collect();
        chunks.push(Arc::new(history.tail().to_vec()));
        let features = session.features();
        let params = session.project.model.params();
        let (driven, silenced) = (targets(params, is_stimulus), targets(params, |role| role == Role::Silences));
        let column = nodes::column_of_nodes(&set, params);
        let context = QueryContext::new(schema, &features, set.clone(), &Default::default());
        Some(move || {
            let counts = counted(&chunks, from, to, set.len as usize);
            let events = counts.iter().map(|n| u64::from(*n)).sum();
            let active = counts.iter().filter(|n| **n > 0).count() as u32;
            let number = |is_in: Vec<bool>| is_in.iter().filter(|is_in| **is_in).count() as u32;
            let stimulated = (!driven.is_empty()).then(|| targeted(&driven, &context, set.len)).flatten().map(number);
            let silenced = targeted(&silenced, &context, set.len).unwrap_or_default();
            let nodes = column.map_or_else(Vec::new, |column| by_category(&set.columns[column], &counts, &silenced));
            Activity { set: set.name, n: set.len, secs, events, active, stimulated, nodes }
        })
    }

    /// Whether a count of the activity up to a step is due.
    fn is_due(&self, step: u64, running: bool) -> bool {
        let is_new = self.started.is_none_or(|(at, _)| at != step);
        let is_time = self.started.is_none_or(|(_, since)| since.elapsed() >= EVERY);
        is_new && (is_time || !running) && !self.job.is_busy()
    }
}

/// Whether an effect drives selected elements.
fn is_stimulus(role: Role) -> bool {
    role.takes_target() && !role.is_lesion()
}

/// Returns the targets of the enabled interventions whose effects have certain roles.
fn targets(params: &dyn Params, is_wanted: impl Fn(Role) -> bool) -> Vec<String> {
    let acts = |v: &Intervention<'_>| v.is_enabled() && is_wanted(v.role());
    Intervention::all(params).filter(acts).map(|v| v.text(Role::Target)).collect()
}

/// Returns which elements at least one of the queries selects; `None` if a query cannot be evaluated.
fn targeted(queries: &[String], context: &QueryContext, n: u32) -> Option<Vec<bool>> {
    let mut is_in = vec![false; n as usize];
    for query in queries {
        let found = context.with(|known| known.select(query)).ok()?;
        found.iter().filter_map(|e| is_in.get_mut(*e as usize).map(|e| *e = true)).for_each(drop);
    }
    Some(is_in)
}

/// Counts the events from `from` to `to` of each of `n` elements.
fn counted(chunks: &[Arc<Vec<Spike>>], from: u32, to: u32, n: usize) -> Vec<u32> {
    let mut counts = vec![0; n];
    for spike in chunks.iter().flat_map(|chunk| between(chunk, from, to)) {
        if let Some(count) = counts.get_mut(spike.lane as usize) {
            *count += 1;
        }
    }
    counts
}

/// Adds up the events of the elements of each category. `silenced` says which elements are silenced; it may be empty.
fn by_category(column: &Column, counts: &[u32], silenced: &[bool]) -> Vec<NodeActivity> {
    let named = |name: &String| NodeActivity { name: name.clone(), ..NodeActivity::default() };
    let mut nodes: Vec<NodeActivity> = column.labels.iter().map(named).collect();
    for (i, (code, count)) in column.codes.iter().zip(counts).enumerate() {
        let Some(node) = nodes.get_mut(usize::from(*code)) else { continue };
        node.n += u32::from(silenced.get(i) != Some(&true));
        node.events += u64::from(*count);
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activity_that_runs_away_or_answers_everything_is_noticed() {
        let nodes = vec![];
        let usual =
            Activity { set: "neurons", n: 1000, secs: 1.0, events: 1500, active: 300, stimulated: Some(20), nodes };
        assert_eq!(usual.notice(), None);
        let away = Activity { events: 74_000, ..usual.clone() }.notice().unwrap();
        assert!(away.starts_with("The activity runs away: the mean rate of all neurons is 74 Hz."), "{away}");
        let all = Activity { active: 610, ..usual.clone() };
        let said = all.notice().unwrap();
        assert!(said.starts_with("Most neurons answer: 61 % were active in the newest 1.0 s"), "{said}");
        assert!(said.contains("stimuli act on 2.0 %"), "{said}");
        // If noise acts on all elements or on none, activity of most elements is normal.
        for stimulated in [Some(900), None] {
            assert_eq!(Activity { stimulated, ..all.clone() }.notice(), None);
        }
        let spikes = (0..1_000_u32).map(|i| Spike { step: i, lane: i % 7 }).collect();
        assert_eq!(counted(&[Arc::new(spikes)], 100, 171, 9), [10, 10, 11, 10, 10, 10, 10, 0, 0]);
    }

    #[test]
    fn events_are_added_up_by_category() {
        let column = Column::from_texts("population", &["a", "a", "b", "b"]);
        let nodes = by_category(&column, &[3, 1, 0, 0], &[false, false, true, false]);
        let of = |name: &str, n, events| NodeActivity { name: name.into(), n, events };
        assert_eq!(nodes, [of("a", 2, 4), of("b", 1, 0)]);
    }
}
