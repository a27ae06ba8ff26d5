//! Progress on stderr: one line that is rewritten on a terminal, or a plain line every few seconds elsewhere.

use crate::gpu::{Compiling, compiling};
use std::{
    io::{IsTerminal, Write},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Interval of updates on a terminal.
const REWRITE_EVERY: Duration = Duration::from_millis(100);
const LINE_EVERY: Duration = Duration::from_secs(5);
/// Length of the windows over which speed is measured. An estimate needs two windows with nearly equal speeds.
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

    /// Shows the progress `done` of `total` in any unit; a total of 0 means that the end of the work is unknown. While
    /// kernels are compiled, shows the progress of the compilation instead.
    pub fn update(&self, done: f64, total: f64, words: impl FnOnce() -> String) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, compiling) = (Instant::now(), compiling());
        state.measure(done, now, compiling.is_some());
        let every = if self.is_terminal { REWRITE_EVERY } else { LINE_EVERY };
        if now - state.shown.unwrap_or(self.since) < every {
            return;
        }
        state.shown = Some(now);
        let line = match compiling {
            Some(compiling) => compiling_line(compiling),
            None => line((total > 0.0).then(|| done / total), &words(), eta(&state.speeds, total - done)),
        };
        self.print(&mut state, &line);
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

    /// Clears the line on a terminal.
    pub fn clear(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut state.is_dirty) {
            eprint!("\r\x1b[K");
        }
    }
}

impl State {
    /// Measures the speed of the work. Compilation pauses the work and therefore discards the measurement.
    fn measure(&mut self, done: f64, now: Instant, is_held_up: bool) {
        let elapsed = now - self.window.0;
        if is_held_up {
            (self.speeds, self.window) = ([0.0; 2], (now, done));
        } else if elapsed >= WINDOW {
            let speed = (done - self.window.1) / elapsed.as_secs_f64();
            (self.speeds, self.window) = ([self.speeds[1], speed], (now, done));
        }
    }
}

/// Formats a line such as ` 42 %  Compiling kernels for this GPU, once: 3 of 12, nn/softmax  about 8 s left`.
fn compiling_line(compiling: Compiling) -> String {
    let expected = compiling.expected;
    let left = expected.and_then(|expected| expected.left()).map(|left| human_secs(left.as_secs_f64()));
    line(expected.map(|expected| f64::from(expected.fraction)), &compiling.text(), left)
}

fn line(share: Option<f64>, words: &str, left: Option<String>) -> String {
    let percent = share.map_or(String::new(), |share| format!("{:3.0} %  ", share * 100.0));
    let left = left.map_or(String::new(), |left| format!("  about {left} left"));
    format!("{percent}{words}{left}")
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Formats the remaining time; `None` until the speeds of two windows differ by less than a fifth.
fn eta(speeds: &[f64; 2], left: f64) -> Option<String> {
    let [a, b] = *speeds;
    let is_stable = a > 0.0 && b > 0.0 && (a / b).max(b / a) < 1.2;
    (is_stable && left > 0.0).then(|| human_secs(left / (0.5 * (a + b))))
}

/// Formats a duration: `3 s`, `2 min 10 s`, `1 h 5 min`.
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
    use crate::gpu::{Expected, ModuleId};

    #[test]
    fn a_compilation_has_its_own_progress() {
        let expected = Expected { total: 12, fraction: 0.25, spent: Duration::from_secs(3) };
        let module = ModuleId { file: "nn/softmax.cu", variant: "f32" };
        let compiling = |expected| Compiling { module, number: 3, expected };
        let said = "Compiling kernels for this GPU, once: 3";
        let want = format!(" 25 %  {said} of 12, nn/softmax_f32  about 9 s left");
        assert_eq!(compiling_line(compiling(Some(expected))), want);
        assert_eq!(compiling_line(compiling(None)), format!("{said}, nn/softmax_f32"));
        let first = Expected { fraction: 0.0, ..expected };
        assert_eq!(compiling_line(compiling(Some(first))), format!("  0 %  {said} of 12, nn/softmax_f32"));
    }

    #[test]
    fn a_compilation_does_not_count_as_speed() {
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let mut state = State { shown: None, window: (start, 0.0), speeds: [0.0; 2], is_dirty: false };
        state.measure(10.0, at(1), false);
        state.measure(20.0, at(2), false);
        assert!(eta(&state.speeds, 80.0).is_some());
        state.measure(20.0, at(9), true);
        assert_eq!(eta(&state.speeds, 80.0), None);
        state.measure(30.0, at(10), false);
        assert_eq!(state.speeds, [0.0, 10.0]);
    }

    #[test]
    fn no_estimate_before_it_is_stable() {
        assert_eq!(eta(&[0.0, 5.0], 10.0), None);
        assert_eq!(eta(&[5.0, 9.0], 10.0), None);
        assert_eq!(eta(&[5.0, 5.1], 50.0).as_deref(), Some("10 s"));
        assert_eq!(human_secs(3725.0), "1 h 2 min");
    }
}
