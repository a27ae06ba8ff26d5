//! What happened, for the log panel: a bounded list of lines, and which of them are shown.

mod links;
pub mod panel;
pub mod ring;

pub use links::Link;

use std::{collections::VecDeque, time::Instant};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Good to know.
    Info,
    /// Something was put right or left out.
    Warning,
    /// Something the user wanted did not happen.
    Error,
}

/// One line.
pub struct Line {
    /// When, seconds since the start.
    pub secs: f64,
    /// How bad.
    pub level: Level,
    /// Who says so.
    pub target: String,
    /// What.
    pub text: String,
    is_problem: bool,
}

/// What is shown of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// Lines at least this bad.
    pub least: Level,
    /// Lines of this target; all when empty.
    pub target: String,
    /// Lines containing this.
    pub text: String,
}

impl Filter {
    fn admits(&self, line: &Line) -> bool {
        line.level >= self.least
            && (self.target.is_empty() || line.target == self.target)
            && (self.text.is_empty() || contains(&line.text, &self.text))
    }
}

/// Without making another text of each of a hundred thousand lines.
fn contains(text: &str, needle: &str) -> bool {
    let (text, needle) = (text.as_bytes(), needle.as_bytes());
    text.windows(needle.len()).any(|part| part.eq_ignore_ascii_case(needle))
}

/// The log.
pub struct Log {
    start: Instant,
    /// Lines kept.
    pub limit: usize,
    lines: VecDeque<Line>,
    /// Number of the oldest line that is kept.
    first: u64,
    problems: usize,
    /// Who has said anything, in order of their first line.
    pub targets: Vec<String>,
    /// What is wanted.
    pub filter: Filter,
    /// Numbers of the lines that pass, and the filter they passed.
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
            problems: 0,
            targets: vec![],
            shown: VecDeque::new(),
            shown_by: filter.clone(),
            filter,
        }
    }
}

impl Log {
    /// Adds a line of the window's own, which also goes where the program's log goes.
    pub fn add(&mut self, level: Level, text: impl Into<String>) {
        let text = text.into();
        match level {
            Level::Info => tracing::info!(target: ring::SHOWN, "{text}"),
            Level::Warning => tracing::warn!(target: ring::SHOWN, "{text}"),
            Level::Error => tracing::error!(target: ring::SHOWN, "{text}"),
        }
        self.push(level, "window", text, true);
    }

    /// Adds a line. Only what the program itself complains of is a problem of the user's.
    pub fn push(&mut self, level: Level, target: &str, text: String, is_own: bool) {
        if !self.targets.iter().any(|t| t == target) {
            self.targets.push(target.to_owned());
        }
        crate::app::crash::remember(&text);
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

    /// Takes up what other parts of the program have said since.
    pub fn drain(&mut self) {
        for said in ring::take() {
            self.push(said.level, &said.target, said.text, said.is_own);
        }
    }

    /// Forgets all lines.
    pub fn clear(&mut self) {
        self.first += self.lines.len() as u64;
        self.lines.clear();
        self.shown.clear();
        self.problems = 0;
    }

    /// How many warnings and errors there are.
    pub fn problems(&self) -> usize {
        self.problems
    }

    /// How many lines are kept.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// How many lines pass the filter. All lines are looked at only when the filter was changed.
    pub fn n_shown(&mut self) -> usize {
        if self.shown_by != self.filter {
            self.shown_by = self.filter.clone();
            let fits = self.lines.iter().enumerate().filter(|(_, line)| self.filter.admits(line));
            self.shown = fits.map(|(i, _)| self.first + i as u64).collect();
        }
        self.shown.len()
    }

    /// The line at a place among those that are shown.
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
        assert_eq!(log.problems(), 100, "what others complain of is no problem");
        assert_eq!(log.n_shown(), 101, "what comes in later passes the same filter");
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
