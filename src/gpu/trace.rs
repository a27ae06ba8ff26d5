//! Timeline of a measured batch: spans of time on lanes.
//!
//! A [`Pass`](super::Pass) records kernels and loops; device work issued without one (copies, waits, captured
//! steps) is recorded by the issuing thread, in a log that exists only while a batch is profiled in detail.
//! Otherwise a span costs one check of a thread-local flag.

use super::{GpuError, Timing, error::Doing as _};
use cudarc::driver::{CudaEvent, CudaStream, sys::CUevent_flags};
use std::{cell::RefCell, sync::Arc, time::Instant};

/// A row of the timeline. In the order they are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Activity of the engine: steps, sampling.
    #[default]
    Engine,
    /// A thread of the CPU backend.
    Thread(u16),
    /// Calls to the driver: launches, copies, graphs.
    Calls,
    /// Waiting for the device. Separate, so that a wait hides no kernel.
    Waits,
    /// Kernels, in the order of the compute stream.
    Compute,
    /// Copies, in the order of the copy stream.
    Copies,
}

/// A stretch of time in a measured batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Span {
    /// Kernel, loop, copied buffer, or reason of a wait.
    pub name: &'static str,
    /// Its lane.
    pub lane: Lane,
    /// Nanoseconds since the batch began.
    pub start: u64,
    /// Duration, nanoseconds.
    pub nanos: u64,
    /// Work items, where known.
    pub items: u64,
    /// Bytes moved, when known.
    pub bytes: u64,
    /// Floating-point operations, where the launcher reports them.
    pub ops: u64,
    /// Number of kernels in the replayed graph; 0 for single launches.
    pub kernels: u32,
    /// Nanoseconds between the issuing call and the start on the device.
    pub queued: u64,
}

impl Span {
    /// Nanoseconds since the batch began.
    pub const fn end(&self) -> u64 {
        self.start + self.nanos
    }
}

/// A batch in a profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Consecutive number.
    pub number: u64,
    /// Its first step.
    pub step: u64,
    /// Number of steps.
    pub steps: u32,
    /// Wall time, nanoseconds.
    pub nanos: u64,
    /// Its measurements, if it was profiled.
    pub measured: Option<Box<Measured>>,
}

impl Batch {
    /// Wall time per step, nanoseconds.
    pub fn step_nanos(&self) -> f64 {
        self.nanos as f64 / f64::from(self.steps.max(1))
    }
}

/// The measurements of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Steps of the batch that were measured; the others ran without events between their kernels.
    pub steps: u32,
    /// Sums by kernel.
    pub timings: Vec<Timing>,
    /// In the order they ended, per lane.
    pub spans: Vec<Span>,
    /// Spans beyond [`MAX_SPANS_IN_ALL`] that are in the sums and not in the list.
    pub left_out: u32,
}

/// Spans a thread keeps at a time, the first ones.
pub const MAX_SPANS: usize = 4096;
/// Spans kept of a batch.
pub const MAX_SPANS_IN_ALL: usize = 4 * MAX_SPANS;

/// Spans of one thread since an instant.
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

    /// Nanoseconds from the origin to an instant.
    pub fn at(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.origin).as_nanos() as u64
    }

    /// Records work of this thread that began at `since` and ends now.
    pub fn since(&mut self, start: Instant, span: Span) {
        let (start, nanos) = (self.at(start), start.elapsed().as_nanos() as u64);
        self.push(Span { start, nanos, ..span });
    }
}

/// Work between two events on a stream, to be placed on the timeline.
pub(super) struct Flight {
    pub span: Span,
    pub start: Arc<CudaEvent>,
    pub end: Arc<CudaEvent>,
    /// Origin of device times.
    pub base: Option<Arc<CudaEvent>>,
    /// Issue time on the host, nanoseconds since the batch began.
    pub called: u64,
}

/// Device work that this thread issues in a batch that is profiled in detail.
pub(super) struct ThreadLog {
    pub trace: Log,
    pub flights: Vec<Flight>,
    base: Option<Arc<CudaEvent>>,
}

thread_local! {
    static LOG: RefCell<Option<ThreadLog>> = const { RefCell::new(None) };
}

/// Starts recording this thread's driver calls, until [`close`].
pub(super) fn open(origin: Instant) {
    let log = ThreadLog { trace: Log::new(origin), flights: vec![], base: None };
    LOG.with_borrow_mut(|slot| *slot = Some(log));
}

/// The recorded spans.
pub(super) fn close() -> Option<ThreadLog> {
    LOG.with_borrow_mut(Option::take)
}

pub(super) fn is_on() -> bool {
    LOG.with_borrow(Option::is_some)
}

/// Runs a driver call and records its duration on this thread.
pub(super) fn host<T>(lane: Lane, name: &'static str, bytes: u64, work: impl FnOnce() -> T) -> T {
    if !is_on() {
        return work();
    }
    let start = Instant::now();
    let out = work();
    note(start, Span { name, lane, bytes, ..Span::default() });
    out
}

/// Records an activity of this thread since an instant.
pub(super) fn note(start: Instant, span: Span) {
    LOG.with_borrow_mut(|log| log.iter_mut().for_each(|log| log.trace.since(start, span.clone())));
}

/// The same with its time on the device, between two events on the stream.
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

/// Origin of the device times of this batch: an event on the first used stream.
pub(super) fn base(stream: &Arc<CudaStream>) -> Result<Option<Arc<CudaEvent>>, GpuError> {
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

fn event(stream: &Arc<CudaStream>) -> Result<CudaEvent, GpuError> {
    stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).doing(|| "timing the GPU".to_owned())
}

/// Puts spans of the device on the host's clock. `spans` hold the start on the device's clock and the time they were
/// issued on the host's. The device's clock is shifted just far enough that nothing starts before it was issued
/// for: at least one launch is then shown with no delay at all.
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
        // Device clock 0, 40, 90; issued at 100, 120, 250 on the host.
        let mut spans = [(0, 100, span(30)), (40, 120, span(50)), (90, 250, span(10))];
        align(&mut spans);
        let placed: Vec<(u64, u64)> = spans.iter().map(|(_, _, s)| (s.start, s.queued)).collect();
        assert_eq!(placed, [(160, 60), (200, 80), (250, 0)]);
    }
}
