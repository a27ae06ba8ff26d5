//! Log of the window: a bounded list of lines, and the filter of the log panel.

pub mod capture;
mod links;
pub mod panel;

pub use links::{Link, parameter};

use crate::app::kit::level::Level;
use std::{collections::VecDeque, time::Instant};

pub struct Line {
    /// Time since the log was created, seconds.
    pub secs: f64,
    pub level: Level,
    /// Source of the line: module or crate.
    pub target: String,
    pub text: String,
    is_problem: bool,
}

/// Filter of the log panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    pub least: Level,
    /// Source of the lines; empty: all sources.
    pub target: String,
    /// Text that the lines contain; empty: all lines.
    pub text: String,
}

impl Filter {
    fn admits(&self, line: &Line) -> bool {
        line.level >= self.least
            && (self.target.is_empty() || line.target == self.target)
            && (self.text.is_empty() || contains(&line.text, &self.text))
    }
}

/// Searches case-insensitively (ASCII) without an allocation per line.
fn contains(text: &str, needle: &str) -> bool {
    let (text, needle) = (text.as_bytes(), needle.as_bytes());
    text.windows(needle.len()).any(|part| part.eq_ignore_ascii_case(needle))
}

pub struct Log {
    start: Instant,
    /// Maximum number of lines.
    pub limit: usize,
    lines: VecDeque<Line>,
    /// Number of the oldest line in memory.
    first: u64,
    /// Number of the first line that was not rewritten yet.
    rewritten_to: u64,
    problems: usize,
    /// Sources of lines, in order of their first line.
    pub targets: Vec<String>,
    pub filter: Filter,
    /// Numbers of the lines that match the filter `shown_by`.
    shown: VecDeque<u64>,
    shown_by: Filter,
}

impl Default for Log {
    fn default() -> Self {
        let filter = Filter { least: Level::Info, target: String::new(), text: String::new() };
        Self {
            start: Instant::now(),
            limit: 100_000,
            lines: VecDeque::new(),
            first: 0,
            rewritten_to: 0,
            problems: 0,
            targets: vec![],
            shown: VecDeque::new(),
            shown_by: filter.clone(),
            filter,
        }
    }
}

impl Log {
    /// Adds a line of the window, which is also written to the program's log.
    pub fn add(&mut self, level: Level, text: impl Into<String>) {
        let text = text.into();
        match level {
            Level::Info => tracing::info!(target: capture::SHOWN, "{text}"),
            Level::Warning => tracing::warn!(target: capture::SHOWN, "{text}"),
            Level::Error => tracing::error!(target: capture::SHOWN, "{text}"),
        }
        self.push(level, "window", text, true);
    }

    /// Adds a line. Warnings and errors of dependencies (`is_own` is false) are not counted as problems.
    pub fn push(&mut self, level: Level, target: &str, text: String, is_own: bool) {
        if !self.targets.iter().any(|t| t == target) {
            self.targets.push(target.to_owned());
        }
        crate::app::host::crash::remember(&text);
        let is_problem = is_own && level > Level::Info;
        let secs = self.start.elapsed().as_secs_f64();
        let line = Line { secs, level, target: target.to_owned(), text, is_problem };
        self.problems += usize::from(is_problem);
        if self.shown_by == self.filter && self.filter.admits(&line) {
            self.shown.push_back(self.first + self.lines.len() as u64);
        }
        self.lines.push_back(line);
        while self.lines.len() > self.limit.max(1) {
            let gone = self.lines.pop_front();
            self.problems -= usize::from(gone.is_some_and(|l| l.is_problem));
            self.first += 1;
            if self.shown.front().is_some_and(|n| *n < self.first) {
                self.shown.pop_front();
            }
        }
    }

    /// Rewrites the lines that were added since the last call.
    pub fn rewrite_new(&mut self, rewritten: impl Fn(&str) -> String) {
        let from = self.rewritten_to.saturating_sub(self.first) as usize;
        self.rewritten_to = self.first + self.lines.len() as u64;
        for line in self.lines.iter_mut().skip(from) {
            line.text = rewritten(&line.text);
        }
    }

    /// Adds the events captured since the last call.
    pub fn drain(&mut self) {
        for event in capture::take() {
            self.push(event.level, &event.target, event.text, event.is_own);
        }
    }

    /// Removes all lines.
    pub fn clear(&mut self) {
        self.first += self.lines.len() as u64;
        self.lines.clear();
        self.shown.clear();
        self.problems = 0;
    }

    /// Number of warnings and errors in memory.
    pub fn problems(&self) -> usize {
        self.problems
    }

    /// Number of lines.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// Returns the number of lines that match the filter. All lines are tested only if the filter has changed.
    pub fn n_shown(&mut self) -> usize {
        if self.shown_by != self.filter {
            self.shown_by = self.filter.clone();
            let fits = self.lines.iter().enumerate().filter(|(_, line)| self.filter.admits(line));
            self.shown = fits.map(|(i, _)| self.first + i as u64).collect();
        }
        self.shown.len()
    }

    /// Returns a matching line by its index among these; `None` if there is none.
    pub fn shown(&self, at: usize) -> Option<&Line> {
        let number = self.shown.get(at)?;
        self.lines.get((number - self.first) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_thousand_lines_are_kept_and_filtered() {
        let mut log = Log::default();
        for i in 0..100_050 {
            let level = if i % 1000 == 0 { Level::Warning } else { Level::Info };
            log.push(level, if i % 2 == 0 { "engine" } else { "window" }, format!("line {i}"), true);
        }
        assert_eq!((log.count(), log.n_shown()), (100_000, 100_000));
        assert_eq!(log.shown(0).unwrap().text, "line 50");
        assert_eq!(log.problems(), 100);
        log.filter.least = Level::Warning;
        assert_eq!(log.n_shown(), 100);
        log.push(Level::Error, "engine", "LINE of trouble".into(), false);
        assert_eq!(log.problems(), 100, "warnings of dependencies are no problems");
        assert_eq!(log.n_shown(), 101, "later lines pass the same filter");
        log.filter = Filter { least: Level::Info, target: "engine".into(), text: "line 100".into() };
        let mut found: Vec<&str> = vec![];
        for i in 0..log.n_shown() {
            found.push(&log.shown(i).unwrap().text);
        }
        assert!(found.iter().all(|t| t.contains("line 100")) && found.contains(&"line 100048"), "{}", found.len());
        log.clear();
        assert_eq!((log.count(), log.n_shown(), log.problems()), (0, 0, 0));
    }
}
