//! Capture of log events of all threads until the window takes them.

use crate::app::kit::level::Level;
use std::{
    collections::VecDeque,
    fmt::Write,
    sync::{Mutex, PoisonError},
};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, filter::Targets, layer::Context, registry::LookupSpan};

/// Target of events that the window has already added to its log.
pub const SHOWN: &str = "neuropil::shown";
/// Maximum number of captured events; older ones are dropped while no window takes them.
const MAX_PENDING: usize = 10_000;

static PENDING: Mutex<VecDeque<CapturedEvent>> = Mutex::new(VecDeque::new());

/// Event that was captured.
pub struct CapturedEvent {
    pub level: Level,
    /// Module of this program, or the name of a dependency's crate.
    pub target: String,
    pub text: String,
    /// Whether the event is from this program, not from a dependency.
    pub is_own: bool,
}

struct CaptureLayer;

#[derive(Default)]
struct Text {
    text: String,
    /// Original target of an event from the `log` crate.
    target: Option<String>,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        match field.name() {
            "message" => drop(write!(self.text, "{value:?}")),
            "log.target" => self.target = Some(format!("{value:?}").trim_matches('"').to_owned()),
            name if name.starts_with("log.") => {}
            name => drop(write!(self.text, " {name}={value:?}")),
        }
    }
}

impl<S: Subscriber> Layer<S> for CaptureLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = match *event.metadata().level() {
            tracing::Level::ERROR => Level::Error,
            tracing::Level::WARN => Level::Warning,
            _ => Level::Info,
        };
        let mut fields = Text::default();
        event.record(&mut fields);
        let target = fields.target.as_deref().unwrap_or(event.metadata().target());
        if target == SHOWN {
            return;
        }
        let own = ["neuropil::", "neuropil_core::"].iter().find_map(|krate| target.strip_prefix(krate));
        let target = own.unwrap_or(target).split("::").next().unwrap_or_default().to_owned();
        let captured = CapturedEvent { level, target, text: fields.text, is_own: own.is_some() };
        let mut pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.len() == MAX_PENDING {
            pending.pop_front();
        }
        pending.push_back(captured);
    }
}

/// Returns the layer for the program's subscriber: events of this program from level info, those of dependencies from level
/// warning.
pub fn layer<S: Subscriber + for<'a> LookupSpan<'a>>() -> impl Layer<S> {
    let wanted = Targets::new().with_default(tracing::Level::WARN).with_target("neuropil", tracing::Level::INFO);
    CaptureLayer.with_filter(wanted)
}

/// Takes the events captured since the last call.
pub fn take() -> VecDeque<CapturedEvent> {
    std::mem::take(&mut *PENDING.lock().unwrap_or_else(PoisonError::into_inner))
}
