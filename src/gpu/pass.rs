//! Context of one call of `advance`: stop request, progress, and where measurements are collected.

use super::{
    GpuError, Timing,
    activity::Activity,
    error::Doing as _,
    launch_cost, nvtx,
    stop_flag::StopFlag,
    trace::{self, Batch, Flight, Lane, Log, Measured, Span, ThreadLog},
};
use cudarc::driver::{CudaEvent, CudaStream};
use std::{sync::Arc, time::Instant};

mod launches;
mod work;

/// Number of batches of which one is measured; larger if measuring costs much.
pub const PROFILE_EVERY: u64 = 32;

/// Collects measurements of a batch. Most batches are not measured, to keep the cost of measurements low.
#[derive(Default)]
pub struct Pass {
    /// Whether this batch is measured.
    pub profiled: bool,
    /// Requests an early return.
    pub stop: StopFlag,
    /// Progress of slow work between steps.
    pub activity: Activity,
    /// Asks `advance` to return early, after a step that changed the schema.
    pub ends_at_changes: bool,
    /// Asks `advance` to return early, after a value of the kind's result probe, at the state that has the value.
    pub ends_at_results: bool,
    /// Lets `advance` return while measurements run concurrently with later steps; the caller collects them afterwards.
    pub defers_measurements: bool,
    /// Whether the readings are only shown on screen, where they may lag and refer to the text before the newest text.
    pub is_for_screen: bool,
    /// Timings collected since they were last taken.
    pub timings: Vec<Timing>,
    /// Batches measured since they were last taken, if profiling is on.
    pub batches: Vec<Batch>,
    /// Launches of measured batches that the device has not finished, oldest first.
    pending: Vec<Pending>,
    /// Measured batches with launches the device has not finished, oldest first.
    open: Vec<Open>,
    /// Spans of this thread in a batch that is profiled in detail.
    log: Option<Log>,
    /// Timeline lane of this thread's spans.
    lane: Lane,
    number: u64,
    /// Number of kernels captured into a graph instead of launched.
    pub(super) captured: u32,
    /// Names and nodes of captured launches, for an updatable graph.
    pub(super) nodes: Option<Vec<(&'static str, usize)>>,
    /// Stream that receives launches; `None` for the compute stream.
    stream: Option<Arc<CudaStream>>,
    /// Event that neighbouring launches share.
    last_event: Option<launches::LastEvent>,
    /// Number of steps of this batch that were measured; 0 means all.
    measured_steps: u32,
}

/// Settings with which a worker thread measures: see [`Pass::follow`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Follow {
    profiled: bool,
    origin: Option<Instant>,
}

/// Measured batch with unfinished launches.
struct Open {
    batch: Batch,
    /// Device start, host call time and span of each launch. [`Open::whole`] places them on the timeline when all launches are
    /// finished.
    placed: Vec<(i64, u64, Span)>,
    is_over: bool,
}

/// Work between two events.
struct Pending {
    flight: Flight,
    batch: u64,
    /// Whether the work counts in the sums; copies and captured steps are shown on the timeline only.
    counts: bool,
    /// Number of launches that the work is counted as.
    repeats: u32,
    /// Overhead of the work's events, nanoseconds.
    added: u64,
}

impl Pass {
    /// Creates a pass that measures every launch.
    pub fn measuring() -> Self {
        Self { profiled: true, ..Self::default() }
    }

    /// Whether `advance` should return soon, after a whole step.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_raised()
    }

    /// Begins a batch. With `looked_at`, the batch is kept for the profile; with `profiled` as well, its spans are kept too.
    pub fn begin(&mut self, number: u64, step: u64, profiled: bool, looked_at: bool) {
        (self.profiled, self.number, self.measured_steps) = (profiled, number, 0);
        if !looked_at {
            return;
        }
        let batch = Batch { number, step, ..Batch::default() };
        if !profiled {
            return self.batches.push(batch);
        }
        let origin = Instant::now();
        trace::open(origin);
        self.log = Some(Log::new(origin));
        let batch = Batch { measured: Some(Box::default()), ..batch };
        self.open.push(Open { batch, placed: vec![], is_over: false });
    }

    /// Ends the batch after `steps` steps and `nanos` nanoseconds of wall time.
    pub fn end(&mut self, steps: u32, nanos: u64) -> Result<(), GpuError> {
        if let Some(batch) = self.batches.last_mut().filter(|b| b.number == self.number && b.measured.is_none()) {
            (batch.steps, batch.nanos) = (steps, nanos);
        }
        if let Some(log) = self.log.take() {
            let thread_log = trace::close();
            let logs = [Some(log), thread_log.map(|thread_log| self.fly(thread_log))];
            if let Some(open) = self.open.last_mut() {
                (open.batch.steps, open.batch.nanos, open.is_over) = (steps, nanos, true);
                let all = if self.measured_steps == 0 { steps } else { self.measured_steps };
                open.measured().steps = all.min(steps);
                logs.into_iter().flatten().for_each(|log| open.take(log));
            }
        }
        if self.open.is_empty() { Ok(()) } else { self.collect() }
    }

    /// Begins a step whose launches are measured one by one instead of as one captured graph. Only the first step of a batch is
    /// measured, to keep the cost of measurements low.
    pub fn begin_step(&mut self) {
        self.profiled &= self.measured_steps == 0;
        self.measured_steps += u32::from(self.profiled);
    }

    /// Adds to the number of steps that are profiled in this batch. Without a call, all steps are profiled.
    pub fn measures_steps(&mut self, steps: u32) {
        self.measured_steps += steps;
    }

    /// Discards the batch after a failure, so that no view shows the batch.
    pub fn abandon(&mut self) {
        trace::close();
        self.log = None;
        self.open.clear();
        self.pending.clear();
        self.batches.retain(|b| b.steps > 0);
    }

    /// Records work of the engine that began at `start` and ends now, on the timeline but not in the sums.
    pub fn aside_since(&mut self, start: Instant, name: &'static str) {
        self.log(start, Span { name, ..Span::default() });
    }

    fn log(&mut self, start: Instant, span: Span) {
        if let Some(log) = &mut self.log {
            log.since(start, Span { lane: self.lane, ..span });
        }
    }

    /// Returns the settings with which another thread measures for this batch.
    pub fn follow(&self) -> Follow {
        Follow { profiled: self.profiled, origin: self.log.as_ref().map(|log| log.origin) }
    }

    /// Makes a worker thread's pass measure like the batch of `follow`, on the timeline lane of the thread.
    pub fn measure_as(&mut self, follow: Follow, thread: usize) {
        self.profiled = follow.profiled;
        if self.log.as_ref().map(|log| log.origin) != follow.origin {
            self.log = follow.origin.map(Log::new);
            self.lane = Lane::Thread(thread as u16);
        }
    }

    /// Merges the measurements of a worker thread.
    pub fn join(&mut self, thread: &mut Self) {
        for timing in thread.timings.drain(..) {
            self.note(&timing);
        }
        if let Some(theirs) = &mut thread.log
            && let Some(open) = self.open.last_mut()
        {
            let log = Log { spans: std::mem::take(&mut theirs.spans), ..*theirs };
            theirs.left_out = 0;
            open.take(log);
        }
    }

    /// Executes `work` and measures it under a kernel's name.
    pub fn span<T>(&mut self, name: &'static str, items: u64, work: impl FnOnce() -> T) -> T {
        if !self.profiled {
            return work();
        }
        let _range = nvtx::range(name);
        let start = Instant::now();
        let out = work();
        let nanos = start.elapsed().as_nanos() as u64;
        self.log(start, Span { name, items, ..Span::default() });
        self.rows(name, self.number, |row| {
            row.launch(nanos);
            row.items += items;
        });
        out
    }

    /// Changes a kernel's row in the sums and in the profile of the batch.
    fn rows(&mut self, name: &'static str, batch: u64, change: impl Fn(&mut Timing)) {
        change(row(&mut self.timings, name));
        if let Some(open) = self.open.iter_mut().find(|o| o.batch.number == batch) {
            change(row(open.timings(), name));
        }
    }

    /// Adds a measurement that was made outside the pass.
    pub fn note(&mut self, timing: &Timing) {
        self.rows(timing.name, self.number, |row| row.add(timing));
    }

    /// Adds items and bytes of a kernel that are known only after the launch.
    pub fn work(&mut self, name: &'static str, items: u64, bytes: u64) {
        self.rows(name, self.number, |row| {
            row.items += items;
            row.bytes += bytes;
        });
    }

    /// Records the deviation of a row's result from a reference. The row keeps the largest deviation of measured batches.
    pub fn off(&mut self, name: &'static str, off: f64) {
        if self.profiled {
            self.rows(name, self.number, |row| row.err(Some(off)));
        }
    }

    /// Adds pending device work that the thread issued without a pass.
    fn fly(&mut self, thread_log: ThreadLog) -> Log {
        let batch = self.number;
        self.pending.extend(thread_log.flights.into_iter().map(|flight| Pending {
            flight,
            batch,
            counts: false,
            repeats: 1,
            added: 0,
        }));
        thread_log.trace
    }

    /// Converts finished launches to timings. Unfinished launches wait for the next call, so that the host never waits.
    pub fn collect(&mut self) -> Result<(), GpuError> {
        let doing = || "reading kernel times".to_owned();
        let mut finished = 0;
        for launch in &self.pending {
            if !launch.flight.end.try_is_complete().doing(doing)? {
                break;
            }
            finished += 1;
        }
        for done in self.pending.drain(..finished).collect::<Vec<_>>() {
            let nanos_between =
                |a: &CudaEvent, b: &CudaEvent| a.elapsed_ms(b).doing(doing).map(|ms| (f64::from(ms) * 1e6) as i64);
            let Flight { mut span, start, end, base, called } = done.flight;
            span.nanos = nanos_between(&start, &end)?.max(0) as u64;
            if done.counts {
                let each = launch_cost::without_events(span.nanos, done.added, done.repeats);
                self.rows(span.name, done.batch, |row| {
                    (0..done.repeats).for_each(|_| row.launch(each));
                    row.items += span.items;
                    row.bytes += span.bytes;
                    row.ops += span.ops;
                });
            }
            if let Some(base) = base
                && let Some(open) = self.open.iter_mut().find(|o| o.batch.number == done.batch)
            {
                open.placed.push((nanos_between(&base, &start)?, called, span));
            }
        }
        self.hand_over();
        Ok(())
    }

    /// Moves finished batches without pending launches to `batches`.
    fn hand_over(&mut self) {
        let Self { open, pending, batches, .. } = self;
        open.retain_mut(|open| {
            let is_whole = open.is_over && pending.iter().all(|p| p.batch != open.batch.number);
            if is_whole {
                batches.push(open.whole());
            }
            !is_whole
        });
    }
}

impl Open {
    fn measured(&mut self) -> &mut Measured {
        self.batch.measured.get_or_insert_default()
    }

    fn timings(&mut self) -> &mut Vec<Timing> {
        &mut self.measured().timings
    }

    fn take(&mut self, log: Log) {
        let measured = self.measured();
        let room = trace::MAX_SPANS_IN_ALL.saturating_sub(measured.spans.len());
        let excess = log.spans.len().saturating_sub(room) as u32;
        measured.spans.extend(log.spans.into_iter().take(room));
        measured.left_out += log.left_out + excess;
    }

    fn whole(&mut self) -> Batch {
        trace::align(&mut self.placed);
        let placed = std::mem::take(&mut self.placed).into_iter().map(|(_, _, span)| span);
        let measured = self.measured();
        measured.spans.extend(placed);
        measured.spans.sort_by_key(|s| (s.lane, s.start));
        std::mem::take(&mut self.batch)
    }
}

fn row<'a>(timings: &'a mut Vec<Timing>, name: &'static str) -> &'a mut Timing {
    let known = timings.iter().position(|t| t.name == name);
    let at = known.unwrap_or_else(|| {
        timings.push(Timing::of(name));
        timings.len() - 1
    });
    &mut timings[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_batch_measures_nothing() {
        let mut pass = Pass::default();
        assert_eq!(pass.span("integrate", 10, || 7), 7);
        assert!(pass.timings.is_empty());
    }

    #[test]
    fn spans_of_one_name_add_up() {
        let mut pass = Pass::measuring();
        pass.span("integrate", 10, || ());
        pass.span("propagate", 3, || ());
        let mut elsewhere = Timing::of("integrate");
        (0..4).for_each(|_| elsewhere.launch(25_000));
        pass.note(&elsewhere);
        pass.work("integrate", 5, 64);
        let rows: Vec<_> = pass.timings.iter().map(|t| (t.name, t.launches, t.items, t.bytes)).collect();
        assert_eq!(rows, [("integrate", 5, 15, 64), ("propagate", 1, 3, 0)]);
        assert!(pass.timings[0].max_nanos >= 25_000);
        pass.collect().unwrap();
        assert!(pass.batches.is_empty(), "profiling is off");
    }

    #[test]
    fn a_batch_that_is_looked_at_has_its_own_sums_and_spans() {
        let mut pass = Pass::default();
        for number in 0..3 {
            pass.begin(number, 10 * number, number != 1, true);
            pass.span("integrate", 2, || ());
            let mut thread = Pass::default();
            thread.measure_as(pass.follow(), 1);
            thread.span("deliver", 1, || ());
            pass.join(&mut thread);
            pass.aside_since(Instant::now(), "sample");
            pass.end(10, 1_000).unwrap();
        }
        let seen: Vec<_> = pass.batches.iter().map(|b| (b.number, b.step, b.measured.is_some())).collect();
        assert_eq!(seen, [(0, 0, true), (1, 10, false), (2, 20, true)]);
        let measured = pass.batches[2].measured.as_ref().unwrap();
        assert_eq!(
            measured.timings.iter().map(|t| (t.name, t.launches, t.items)).collect::<Vec<_>>(),
            [("integrate", 1, 2), ("deliver", 1, 1)]
        );
        let spans: Vec<_> = measured.spans.iter().map(|s| (s.name, s.lane)).collect();
        assert_eq!(spans, [("integrate", Lane::Engine), ("sample", Lane::Engine), ("deliver", Lane::Thread(1))]);
        assert_eq!(pass.timings.iter().map(|t| t.launches).sum::<u32>(), 4, "the sums hold both measured batches");
    }

    #[test]
    fn of_the_steps_of_a_batch_the_first_is_measured() {
        let mut pass = Pass::default();
        for (number, is_measured) in [(0, true), (1, false), (2, true)] {
            pass.begin(number, 10 * number, is_measured, true);
            for _ in 0..10 {
                pass.begin_step();
                pass.span("step", 1, || ());
            }
            pass.end(10, 1_000).unwrap();
        }
        let steps: Vec<_> = pass.batches.iter().map(|b| (b.steps, b.measured.as_ref().map(|m| m.steps))).collect();
        assert_eq!(steps, [(10, Some(1)), (10, None), (10, Some(1))]);
        assert_eq!(pass.timings[0].launches, 2);
        pass.begin(3, 30, true, true);
        pass.span("step", 1, || ());
        pass.end(10, 1_000).unwrap();
        assert_eq!(pass.batches[3].measured.as_ref().map(|m| m.steps), Some(10), "loops of the CPU: all");
    }

    #[test]
    fn a_batch_of_a_million_loops_keeps_the_first_spans_and_counts_the_rest() {
        let (mut pass, mut thread) = (Pass::default(), Pass::default());
        pass.begin(0, 0, true, true);
        for _ in 0..6 {
            thread.measure_as(pass.follow(), 0);
            (0..trace::MAX_SPANS + 1).for_each(|_| thread.span("deliver", 0, || ()));
            pass.join(&mut thread);
        }
        pass.end(1, 1).unwrap();
        let measured = pass.batches[0].measured.as_ref().unwrap();
        assert_eq!(measured.spans.len(), trace::MAX_SPANS_IN_ALL);
        assert_eq!(measured.left_out as usize, 6 * (trace::MAX_SPANS + 1) - trace::MAX_SPANS_IN_ALL);
        assert_eq!(measured.timings[0].launches as usize, 6 * (trace::MAX_SPANS + 1), "the sums have all of them");
    }
}
