//! Events of a device, which are used again: to create or destroy an event, a thread waits for the other threads that call the
//! driver.

use cudarc::driver::{CudaEvent, CudaStream, DriverError, sys::CUevent_flags};
use std::{
    ops::Deref,
    sync::{Arc, Mutex, PoisonError},
};

/// Unused events of a device, by kind.
#[derive(Default)]
pub(super) struct Events {
    marks: Arc<Unused>,
    timers: Arc<Unused>,
}

type Unused = Mutex<Vec<CudaEvent>>;

/// Event of a device. When it is dropped, the next recording may use it.
pub(super) struct Event {
    /// Present until the event is dropped.
    event: Option<CudaEvent>,
    unused: Arc<Unused>,
}

impl Events {
    /// Records an event without a time.
    pub fn mark(&self, stream: &CudaStream) -> Result<Event, DriverError> {
        Event::record(&self.marks, stream, CUevent_flags::CU_EVENT_DISABLE_TIMING)
    }

    /// Records an event with the time at which the device reaches it.
    pub fn timer(&self, stream: &CudaStream) -> Result<Event, DriverError> {
        Event::record(&self.timers, stream, CUevent_flags::CU_EVENT_DEFAULT)
    }
}

impl Event {
    fn record(unused: &Arc<Unused>, stream: &CudaStream, flags: CUevent_flags) -> Result<Self, DriverError> {
        let found = unused.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let event = match found {
            Some(event) => event,
            None => stream.context().new_event(Some(flags))?,
        };
        event.record(stream)?;
        Ok(Self { event: Some(event), unused: unused.clone() })
    }
}

impl Deref for Event {
    type Target = CudaEvent;

    fn deref(&self) -> &CudaEvent {
        self.event.as_ref().expect("it is taken only by drop")
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let event = self.event.take();
        self.unused.lock().unwrap_or_else(PoisonError::into_inner).extend(event);
    }
}
