//! Captures log events of all threads until the window drains them.

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

/// Target of events that the window has added to its log itself.
pub const SHOWN: &str = "neuropil::shown";
/// Events kept at most; older ones are dropped while no window drains them.
const MAX_PENDING: usize = 10_000;

static PENDING: Mutex<VecDeque<CapturedEvent>> = Mutex::new(VecDeque::new());

/// A captured event.
pub struct CapturedEvent {
    pub level: Level,
    /// Module or crate.
    pub target: String,
    pub text: String,
    /// Whether it comes from this program, not from a dependency.
    pub is_own: bool,
}

struct CaptureLayer;

#[derive(Default)]
struct Text {
    text: String,
    /// The original target of events from the `log` crate.
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
        let own = target.strip_prefix("neuropil::");
        let target = own.unwrap_or(target).split("::").next().unwrap_or_default().to_owned();
        let captured = CapturedEvent { level, target, text: fields.text, is_own: own.is_some() };
        let mut pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.len() == MAX_PENDING {
            pending.pop_front();
        }
        pending.push_back(captured);
    }
}

/// The layer for the program's subscriber: info and above of the program, warnings and above of dependencies.
pub fn layer<S: Subscriber + for<'a> LookupSpan<'a>>() -> impl Layer<S> {
    let wanted = Targets::new().with_default(tracing::Level::WARN).with_target("neuropil", tracing::Level::INFO);
    CaptureLayer.with_filter(wanted)
}

/// Events since the last call.
pub fn take() -> VecDeque<CapturedEvent> {
    std::mem::take(&mut *PENDING.lock().unwrap_or_else(PoisonError::into_inner))
}
