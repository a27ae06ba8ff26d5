//! Timeline of a measured batch: spans of time on lanes.
//!
//! A [`Pass`](super::Pass) records kernels and loops. Device work issued without a pass (copies, waits, captured steps) is
//! recorded by the issuing thread, in a log that exists only while a batch is profiled in detail. Without profiling a span
//! costs one check of a thread-local flag.

use super::{
    GpuError, Timing,
    error::Doing as _,
    events::{Event, Events},
};
use cudarc::driver::CudaStream;
use std::{cell::RefCell, sync::Arc, time::Instant};

/// Row of the timeline, in drawing order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Activity of the engine: steps, sampling.
    #[default]
    Engine,
    /// A thread of the CPU backend.
    Thread(u16),
    /// Driver calls: launches, copies, graphs.
    Calls,
    /// Waits for the device, in a separate lane so that they hide no kernel.
    Waits,
    /// Kernels of the compute stream.
    Compute,
    /// Copies of the copy stream.
    Copies,
}

/// Time span in a measured batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Span {
    /// Kernel, loop, copied buffer, or reason of a wait.
    pub name: &'static str,
    /// Row of the timeline.
    pub lane: Lane,
    /// Start of the span, nanoseconds since the batch began.
    pub start: u64,
    /// Duration of the span, nanoseconds.
    pub nanos: u64,
    /// Number of work items; 0 if unknown.
    pub items: u64,
    /// Bytes moved; 0 if unknown.
    pub bytes: u64,
    /// Floating-point operations; 0 if the launcher does not report them.
    pub ops: u64,
    /// Number of kernels in a replayed graph; 0 for single launches.
    pub kernels: u32,
    /// Time between the issuing call and the start on the device, nanoseconds.
    pub queued: u64,
}

impl Span {
    /// Returns the end of the span, nanoseconds since the batch began.
    pub const fn end(&self) -> u64 {
        self.start + self.nanos
    }
}

/// A batch in a profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Consecutive number of the batch.
    pub number: u64,
    /// First step of the batch.
    pub step: u64,
    /// Number of steps.
    pub steps: u32,
    /// Wall time, nanoseconds.
    pub nanos: u64,
    /// Measurements; `None` if the batch was not profiled.
    pub measured: Option<Box<Measured>>,
}

impl Batch {
    /// Returns the wall time per step, nanoseconds.
    pub fn step_nanos(&self) -> f64 {
        self.nanos as f64 / f64::from(self.steps.max(1))
    }
}

/// Measurements of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Number of measured steps; other steps ran without events between their kernels.
    pub steps: u32,
    /// Sums by kernel.
    pub timings: Vec<Timing>,
    /// Spans sorted by lane and start.
    pub spans: Vec<Span>,
    /// Number of spans beyond [`MAX_SPANS`] per thread or [`MAX_SPANS_IN_ALL`] in all, which count in the sums only.
    pub left_out: u32,
}

/// Maximum number of spans that a thread keeps before they are collected; later spans are dropped.
pub const MAX_SPANS: usize = 4096;
/// Maximum number of spans kept per batch.
pub const MAX_SPANS_IN_ALL: usize = 4 * MAX_SPANS;

/// Spans of one thread, with times since `origin`.
#[derive(Clone, Debug)]
pub(super) struct Log {
    pub origin: Instant,
    pub spans: Vec<Span>,
    pub left_out: u32,
}

impl Log {
    pub const fn new(origin: Instant) -> Self {
        Self { origin, spans: vec![], left_out: 0 }
    }

    pub fn push(&mut self, span: Span) {
        if self.spans.len() < MAX_SPANS {
            self.spans.push(span);
        } else {
            self.left_out += 1;
        }
    }

    /// Returns the time from the origin to an instant, nanoseconds; 0 for an earlier instant.
    pub fn at(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.origin).as_nanos() as u64
    }

    /// Records work of this thread that began at `start` and ends now.
    pub fn since(&mut self, start: Instant, span: Span) {
        let (start, nanos) = (self.at(start), start.elapsed().as_nanos() as u64);
        self.push(Span { start, nanos, ..span });
    }
}

/// Work between two events on a stream, not yet placed on the timeline.
pub(super) struct Flight {
    pub span: Span,
    pub start: Arc<Event>,
    pub end: Arc<Event>,
    /// Event at the origin of device times; `None` if this thread records no batch.
    pub base: Option<Arc<Event>>,
    /// Issue time on the host, nanoseconds since the batch began.
    pub called: u64,
}

/// Device work that this thread issues in a batch that is profiled in detail.
pub(super) struct ThreadLog {
    pub trace: Log,
    pub flights: Vec<Flight>,
    base: Option<Arc<Event>>,
}

thread_local! {
    static LOG: RefCell<Option<ThreadLog>> = const { RefCell::new(None) };
}

/// Starts recording this thread's driver calls until [`close`].
pub(super) fn open(origin: Instant) {
    let log = ThreadLog { trace: Log::new(origin), flights: vec![], base: None };
    LOG.with_borrow_mut(|slot| *slot = Some(log));
}

/// Ends the recording and returns its log; `None` if [`open`] was not called.
pub(super) fn close() -> Option<ThreadLog> {
    LOG.with_borrow_mut(Option::take)
}

pub(super) fn is_on() -> bool {
    LOG.with_borrow(Option::is_some)
}

/// Executes a driver call and records its duration on this thread.
pub(super) fn host<T>(lane: Lane, name: &'static str, bytes: u64, work: impl FnOnce() -> T) -> T {
    if !is_on() {
        return work();
    }
    let start = Instant::now();
    let out = work();
    note(start, Span { name, lane, bytes, ..Span::default() });
    out
}

/// Records an activity of this thread that began at `start` and ends now.
pub(super) fn note(start: Instant, span: Span) {
    LOG.with_borrow_mut(|log| log.iter_mut().for_each(|log| log.trace.since(start, span.clone())));
}

/// Executes a driver call and records both its duration on this thread and its time on the device, between two events.
pub(super) fn device<T>(
    stream: &Arc<CudaStream>,
    span: Span,
    work: impl FnOnce() -> Result<T, GpuError>,
) -> Result<T, GpuError> {
    if !is_on() {
        return work();
    }
    let begun = Instant::now();
    let start = Arc::new(event(stream)?);
    let base = base(stream)?;
    let out = work()?;
    let end = Arc::new(event(stream)?);
    LOG.with_borrow_mut(|log| {
        if let Some(log) = log {
            let called = log.trace.at(begun);
            log.trace.since(begun, Span { lane: Lane::Calls, ..span.clone() });
            log.flights.push(Flight { span, start, end, base, called });
        }
    });
    Ok(out)
}

/// Returns the event at the origin of this batch's device times, on the first stream in use; `None` if profiling is off.
pub(super) fn base(stream: &Arc<CudaStream>) -> Result<Option<Arc<Event>>, GpuError> {
    let known = LOG.with_borrow(|log| log.as_ref().map(|log| log.base.clone()));
    match known {
        None => Ok(None),
        Some(Some(base)) => Ok(Some(base)),
        Some(None) => {
            let base = Arc::new(event(stream)?);
            LOG.with_borrow_mut(|log| log.iter_mut().for_each(|log| log.base = Some(base.clone())));
            Ok(Some(base))
        }
    }
}

fn event(stream: &Arc<CudaStream>) -> Result<Event, GpuError> {
    Events::default().timer(stream).doing(|| "timing the GPU".to_owned())
}

/// Maps device times to the host clock. `spans` hold the start on the device clock and the issue time on the host clock,
/// nanoseconds. The device clock is shifted by the least amount for which no span starts before its issue time, so at
/// least one launch shows no delay.
pub(super) fn align(spans: &mut [(i64, u64, Span)]) {
    let offset = spans.iter().map(|(start, called, _)| *called as i64 - start).max().unwrap_or(0);
    for (start, called, span) in spans {
        span.start = (*start + offset).max(0) as u64;
        span.queued = span.start.saturating_sub(*called);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_logged_while_profiling_is_off() {
        assert_eq!(host(Lane::Waits, "wait", 0, || 5), 5);
        assert!(close().is_none());
        open(Instant::now());
        host(Lane::Waits, "wait", 8, || ());
        let log = close().expect("a log");
        assert_eq!(log.trace.spans.len(), 1);
        assert_eq!(
            (log.trace.spans[0].name, log.trace.spans[0].lane, log.trace.spans[0].bytes),
            ("wait", Lane::Waits, 8)
        );
        assert!(!is_on());
    }

    #[test]
    fn a_log_is_bounded_and_says_what_it_left_out() {
        let mut log = Log::new(Instant::now());
        (0..MAX_SPANS + 10).for_each(|_| log.push(Span::default()));
        assert_eq!((log.spans.len(), log.left_out), (MAX_SPANS, 10));
    }

    #[test]
    fn no_kernel_starts_before_it_was_asked_for() {
        let span = |nanos| Span { nanos, ..Span::default() };
        // The device times are 0, 40 and 90; the launches were issued at 100, 120 and 250 on the host clock.
        let mut spans = [(0, 100, span(30)), (40, 120, span(50)), (90, 250, span(10))];
        align(&mut spans);
        let placed: Vec<(u64, u64)> = spans.iter().map(|(_, _, s)| (s.start, s.queued)).collect();
        assert_eq!(placed, [(160, 60), (200, 80), (250, 0)]);
    }
}
