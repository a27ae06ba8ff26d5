//! Who came out of whom, and what became of them: the lines of a lineage, as they are told, recorded and exported.

use serde::{Deserialize, Serialize};

/// One line of a lineage. Lines come in the order of their steps; nobody is named before being born.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LifeEvent {
    /// Somebody is born.
    Birth(Birth),
    /// Somebody is gone.
    Death(Death),
}

impl LifeEvent {
    /// When.
    pub const fn step(&self) -> u64 {
        match self {
            Self::Birth(birth) => birth.step,
            Self::Death(death) => death.step,
        }
    }
}

/// A birth. Whether the parents live on is told by their deaths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Birth {
    /// When.
    pub step: u64,
    /// Who is born; never reused.
    pub child: u64,
    /// Nobody (founder), one (split) or several (merge).
    pub parents: Vec<u64>,
    /// Where: an element of the set the lineage is over. Places are used again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u32>,
    /// What the kind calls it; empty when it has no name but its number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// A death.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Death {
    /// When.
    pub step: u64,
    /// Who is gone.
    pub gone: u64,
    /// What became of it.
    pub end: End,
    /// How well it did at the end, when the kind says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<f32>,
}

/// What became of somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Died, and left its place.
    Died,
    /// Went on as its children.
    Split,
    /// Went on in what it merged into.
    Merged,
}

impl End {
    /// As a table says it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Died => "died",
            Self::Split => "split",
            Self::Merged => "merged",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart_and_older_files_are_read() {
        let birth = Birth { step: 8, child: 4, parents: vec![0, 2], place: Some(3), name: "e4".into() };
        let death = Death { step: 9, gone: 0, end: End::Merged, health: Some(0.25) };
        for event in [LifeEvent::Birth(birth), LifeEvent::Death(death)] {
            let line = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<LifeEvent>(&line).unwrap(), event, "{line}");
        }
        let old = r#"{"step":8,"child":4,"parents":[0,2]}"#;
        let event: LifeEvent = serde_json::from_str(old).unwrap();
        assert_eq!(serde_json::to_string(&event).unwrap(), old, "what is unknown is not written");
        assert!(serde_json::from_str::<LifeEvent>(r#"{"step":8}"#).is_err());
    }
}
