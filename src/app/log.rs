//! What happened, for the log panel: a bounded list of lines.

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
    /// What.
    pub text: String,
}

/// Lines kept.
const MAX_LINES: usize = 2000;

/// The log.
pub struct Log {
    start: Instant,
    /// Oldest first.
    pub lines: VecDeque<Line>,
    /// Lines at least this bad are shown.
    pub least: Level,
    /// Lines containing this are shown.
    pub filter: String,
}

impl Default for Log {
    fn default() -> Self {
        Self { start: Instant::now(), lines: VecDeque::new(), least: Level::Info, filter: String::new() }
    }
}

impl Log {
    /// Adds a line.
    pub fn add(&mut self, level: Level, text: impl Into<String>) {
        if self.lines.len() == MAX_LINES {
            self.lines.pop_front();
        }
        let text = text.into();
        super::crash::remember(&text);
        match level {
            Level::Info => tracing::info!("{text}"),
            Level::Warning => tracing::warn!("{text}"),
            Level::Error => tracing::error!("{text}"),
        }
        self.lines.push_back(Line { secs: self.start.elapsed().as_secs_f64(), level, text });
    }

    /// How many warnings and errors there are.
    pub fn problems(&self) -> usize {
        self.lines.iter().filter(|l| l.level > Level::Info).count()
    }

    /// What is shown.
    pub fn shown(&self) -> impl Iterator<Item = &Line> {
        let needle = self.filter.to_lowercase();
        self.lines.iter().filter(move |l| l.level >= self.least && l.text.to_lowercase().contains(&needle))
    }
}
