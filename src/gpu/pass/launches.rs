//! Launch times, from events recorded before and after each launch.
//!
//! Neighbouring launches on the compute stream share an event: the event after a launch is also the event before the next
//! launch, unless unmeasured work was issued in between (a copy, a graph) or the host paused long enough for the device to
//! become idle. Sums and kernel tables exclude the overhead of events, see [`launch_cost`](crate::gpu::launch_cost); the
//! timeline shows the times between events unchanged.

use super::{Pass, Pending};
use crate::gpu::{
    Gpu, GpuError,
    error::Doing as _,
    events::Event,
    nvtx,
    stream::Stream,
    trace::{self, Flight, Lane, Span},
};
use cudarc::driver::CudaStream;
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

/// Pause of the host after which the device may have been idle.
const PAUSE: Duration = Duration::from_micros(5);

/// Event after the last measured launch on the compute stream.
pub(super) struct LastEvent {
    event: Arc<Event>,
    /// Count of issued work when the event was recorded: [`Gpu::issued`].
    issued: u64,
    recorded: Instant,
}

/// Measured launch that is about to be issued.
pub(in crate::gpu) struct Begun {
    start: Arc<Event>,
    base: Option<Arc<Event>>,
    called: Instant,
}

impl Pass {
    /// Executes `work`, which issues device work other than the program's kernels (a copy, a library call), between two events.
    pub fn device_span<T>(
        &mut self,
        gpu: &Gpu,
        name: &'static str,
        work: impl FnOnce() -> Result<T, GpuError>,
    ) -> Result<T, GpuError> {
        if !self.profiled {
            gpu.note_issued();
            return work();
        }
        let _range = nvtx::range(name);
        let begun = self.event_before(gpu, &gpu.compute, name)?;
        let out = work()?;
        gpu.note_issued();
        self.event_after(gpu, &gpu.compute, name, begun)?;
        Ok(out)
    }

    /// Executes `work` with launches redirected to another stream, concurrent with the compute stream; see [`Stream`].
    pub fn on<T>(&mut self, stream: &Stream, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.stream.replace(stream.0.clone());
        let out = work(self);
        self.stream = before;
        out
    }

    /// Returns the stream that receives launches.
    pub(in crate::gpu) fn stream<'a>(&'a self, gpu: &'a Gpu) -> &'a Arc<CudaStream> {
        self.stream.as_ref().unwrap_or(&gpu.compute)
    }

    /// Returns the event before a measured launch: the event after the previous launch if both can share it.
    pub(in crate::gpu) fn event_before(
        &self,
        gpu: &Gpu,
        stream: &Arc<CudaStream>,
        name: &'static str,
    ) -> Result<Begun, GpuError> {
        let base = trace::base(stream)?;
        let issued = gpu.issued.load(Ordering::Relaxed);
        let is_neighbour = |last: &&LastEvent| last.issued == issued && last.recorded.elapsed() < PAUSE;
        let shared = self.last_event.as_ref().filter(is_neighbour).filter(|_| Arc::ptr_eq(stream, &gpu.compute));
        let start = match shared {
            Some(last) => last.event.clone(),
            None => event(gpu, stream, name)?,
        };
        Ok(Begun { start, base, called: Instant::now() })
    }

    /// Records the event after a launch that was issued.
    pub(in crate::gpu) fn event_after(
        &mut self,
        gpu: &Gpu,
        stream: &Arc<CudaStream>,
        name: &'static str,
        begun: Begun,
    ) -> Result<(), GpuError> {
        let Begun { start, base, called } = begun;
        let end = event(gpu, stream, name)?;
        let issued = gpu.issued.load(Ordering::Relaxed);
        let last = || LastEvent { event: end.clone(), issued, recorded: Instant::now() };
        self.last_event = Arc::ptr_eq(stream, &gpu.compute).then(last);
        trace::note(called, Span { name, lane: Lane::Calls, ..Span::default() });
        let called = self.log.as_ref().map_or(0, |log| log.at(called));
        let span = Span { name, lane: Lane::Compute, ..Span::default() };
        self.pending.push(Pending {
            flight: Flight { span, start, end, base, called },
            batch: self.number,
            counts: true,
            repeats: 1,
            added: gpu.nanos_added_by_events(),
        });
        Ok(())
    }
}

fn event(gpu: &Gpu, stream: &CudaStream, name: &'static str) -> Result<Arc<Event>, GpuError> {
    gpu.events.timer(stream).map(Arc::new).doing(|| format!("timing {name}"))
}
