//! A part of an experiment, which another process or machine runs.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Maximum number of parts.
const MAX_PARTS: u32 = 100_000;

/// Part `part` of `of` parts. Trial i, counted by condition and seed, belongs to part i mod `of` + 1, so that the parts have
/// nearly equal numbers of trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shard {
    /// Number of the part, from 1.
    pub part: u32,
    /// Number of parts.
    pub of: u32,
}

impl Default for Shard {
    fn default() -> Self {
        Self { part: 1, of: 1 }
    }
}

impl Shard {
    /// Whether a trial belongs to the part.
    pub const fn has(self, trial: usize) -> bool {
        trial % self.of as usize == self.part as usize - 1
    }

    /// Whether the part is the whole experiment.
    pub const fn is_whole(self) -> bool {
        self.of == 1
    }

    /// Whether the numbers are those of a part: values from files may not be.
    pub const fn is_valid(self) -> bool {
        self.part >= 1 && self.part <= self.of && self.of <= MAX_PARTS
    }
}

impl FromStr for Shard {
    type Err = String;

    /// Parses `2/8`. Fails with a sentence.
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').map(|(part, of)| (part.trim().parse(), of.trim().parse()));
        match numbers {
            Some((Ok(part), Ok(of))) if (Self { part, of }).is_valid() => Ok(Self { part, of }),
            _ => Err(format!("`{text}` is not a part; expected e.g. `2/8`, the second of eight parts")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_share_all_trials() {
        for of in 1..6 {
            let parts: Vec<Shard> = (1..=of).map(|part| format!("{part}/{of}").parse().expect("a part")).collect();
            assert!((0..40).all(|trial| parts.iter().filter(|part| part.has(trial)).count() == 1));
        }
        for text in ["", "1", "0/2", "3/2", "1/0", "a/b", "1/1000000"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
