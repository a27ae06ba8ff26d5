//! What any thread has logged waits here until the window takes it up.

use super::Level;
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

/// Target of lines the window has shown already.
pub const SHOWN: &str = "neuropil::shown";
/// Lines that wait at most; older ones are dropped, for a window that is never drawn.
const MAX_WAITING: usize = 10_000;

static WAITING: Mutex<VecDeque<Said>> = Mutex::new(VecDeque::new());

/// A line that waits.
pub struct Said {
    /// How bad.
    pub level: Level,
    /// Who says so.
    pub target: String,
    /// What.
    pub text: String,
    /// Whether this program says so, not something it is made of.
    pub is_own: bool,
}

struct Ring;

#[derive(Default)]
struct Text {
    text: String,
    /// Who really said so, for what comes in by way of the `log` crate.
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

impl<S: Subscriber> Layer<S> for Ring {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = match *event.metadata().level() {
            tracing::Level::ERROR => Level::Error,
            tracing::Level::WARN => Level::Warning,
            _ => Level::Info,
        };
        let mut said = Text::default();
        event.record(&mut said);
        let target = said.target.as_deref().unwrap_or(event.metadata().target());
        if target == SHOWN {
            return;
        }
        let own = target.strip_prefix("neuropil::");
        let target = own.unwrap_or(target).split("::").next().unwrap_or_default().to_owned();
        let said = Said { level, target, text: said.text, is_own: own.is_some() };
        let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() == MAX_WAITING {
            waiting.pop_front();
        }
        waiting.push_back(said);
    }
}

/// To be added to the program's subscriber: everything of the program, and warnings of what it is made of.
pub fn layer<S: Subscriber + for<'a> LookupSpan<'a>>() -> impl Layer<S> {
    let wanted = Targets::new().with_default(tracing::Level::WARN).with_target("neuropil", tracing::Level::INFO);
    Ring.with_filter(wanted)
}

/// What has come in since.
pub fn take() -> VecDeque<Said> {
    std::mem::take(&mut *WAITING.lock().unwrap_or_else(PoisonError::into_inner))
}
