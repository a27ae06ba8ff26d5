//! Progress on stderr: one line that rewrites itself on a terminal, a plain line every few seconds elsewhere.

use std::{
    io::{IsTerminal, Write},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// On a terminal.
const REWRITE_EVERY: Duration = Duration::from_millis(100);
/// Elsewhere.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// Speed is measured over windows of this length; two that agree make an estimate.
const WINDOW: Duration = Duration::from_millis(700);

/// A progress display. Any thread may update it.
pub(super) struct ProgressLine {
    is_terminal: bool,
    since: Instant,
    state: Mutex<State>,
}

struct State {
    shown: Option<Instant>,
    window: (Instant, f64),
    speeds: [f64; 2],
    is_dirty: bool,
}

impl ProgressLine {
    pub fn new() -> Self {
        let now = Instant::now();
        let state = State { shown: None, window: (now, 0.0), speeds: [0.0; 2], is_dirty: false };
        Self { is_terminal: std::io::stderr().is_terminal(), since: now, state: Mutex::new(state) }
    }

    /// Shows how far something is: `done` of `total` (0 when there is no end), in any unit.
    pub fn update(&self, done: f64, total: f64, words: impl FnOnce() -> String) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let elapsed = now - state.window.0;
        if elapsed >= WINDOW {
            let speed = (done - state.window.1) / elapsed.as_secs_f64();
            state.speeds = [state.speeds[1], speed];
            state.window = (now, done);
        }
        let every = if self.is_terminal { REWRITE_EVERY } else { LINE_EVERY };
        if now - state.shown.unwrap_or(self.since) < every {
            return;
        }
        state.shown = Some(now);
        let percent = if total > 0.0 { format!("{:3.0} %  ", done / total * 100.0) } else { String::new() };
        let left = eta(&state.speeds, total - done).map_or(String::new(), |s| format!("  about {s} left"));
        self.print(&mut state, &format!("{percent}{}{left}", words()));
    }

    fn print(&self, state: &mut State, line: &str) {
        let mut out = std::io::stderr().lock();
        if self.is_terminal {
            write!(out, "\r\x1b[K{line}").and_then(|()| out.flush()).ok();
            state.is_dirty = true;
        } else {
            writeln!(out, "{line}").ok();
        }
    }

    /// Clears the line.
    pub fn clear(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut state.is_dirty) {
            eprint!("\r\x1b[K");
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Time left, once two windows agree within a fifth.
fn eta(speeds: &[f64; 2], left: f64) -> Option<String> {
    let [a, b] = *speeds;
    let is_stable = a > 0.0 && b > 0.0 && (a / b).max(b / a) < 1.2;
    (is_stable && left > 0.0).then(|| human_secs(left / (0.5 * (a + b))))
}

/// `3 s`, `2 min 10 s`, `1 h 5 min`.
fn human_secs(secs: f64) -> String {
    let s = secs.ceil().min(1e9) as u64;
    match s {
        0..60 => format!("{s} s"),
        60..3600 => format!("{} min {} s", s / 60, s % 60),
        _ => format!("{} h {} min", s / 3600, s / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_estimate_before_it_is_stable() {
        assert_eq!(eta(&[0.0, 5.0], 10.0), None);
        assert_eq!(eta(&[5.0, 9.0], 10.0), None);
        assert_eq!(eta(&[5.0, 5.1], 50.0).as_deref(), Some("10 s"));
        assert_eq!(human_secs(3725.0), "1 h 2 min");
    }
}
