//! Births and deaths of individuals: lineage events as sampled, recorded and exported.

use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

/// Declared attribute of births or deaths: a layer, genes, a cause, a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttributeSpec {
    /// Stable identifier: key in files, column in exports.
    pub name: &'static str,
    /// Label in the window; if empty, the name in sentence case.
    pub title: &'static str,
    /// Doc comment of the declaration, shown as the tooltip.
    pub docs: &'static str,
    /// Unit of numeric values.
    pub unit: &'static str,
}

impl AttributeSpec {
    /// Returns the label in the window: the declared title, or the name in sentence case.
    pub fn label(&self) -> Cow<'static, str> {
        crate::params::title::or_from_name(self.title, self.name)
    }
}

/// Value of an attribute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AttributeValue {
    /// Text with few distinct values, which a palette colours.
    Text(Cow<'static, str>),
    /// Number; NaN and infinite values are written as null.
    Number(#[serde(with = "null_is_nan")] f32),
}

mod null_is_nan {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub fn serialize<S: Serializer>(value: &f32, serializer: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
        Ok(Option::<f32>::deserialize(deserializer)?.unwrap_or(f32::NAN))
    }
}

/// Attributes of a birth or a death, by name. All are declared in [`Shape::Lineage`](super::Shape::Lineage).
///
/// A map, stored as a sorted list without unused capacity. Clones share the list, because views keep hundreds of thousands of
/// maps and clone them for jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes(Arc<[(Cow<'static, str>, AttributeValue)]>);

impl Attributes {
    /// Returns the value of the attribute `name`; `None` if there is no such attribute.
    pub fn get(&self, name: &str) -> Option<&AttributeValue> {
        self.0.binary_search_by(|(known, _)| known.as_ref().cmp(name)).ok().map(|i| &self.0[i].1)
    }

    /// Whether an attribute has this name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Iterates over names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &AttributeValue)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value))
    }

    /// Whether there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the attributes whose names satisfy a predicate.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.0 = self.0.iter().filter(|(name, _)| keep(name)).cloned().collect();
    }

    /// Adds attributes. An added attribute replaces one of equal name.
    pub fn extend(&mut self, more: impl IntoIterator<Item = (Cow<'static, str>, AttributeValue)>) {
        *self = self.0.iter().cloned().chain(more).collect();
    }

    /// Returns the heap memory of the list without texts, bytes.
    pub fn n_bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

impl FromIterator<(Cow<'static, str>, AttributeValue)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (Cow<'static, str>, AttributeValue)>>(pairs: I) -> Self {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
        // Among attributes of equal name, the last one is kept.
        pairs.reverse();
        pairs.dedup_by(|(a, _), (b, _)| a == b);
        pairs.reverse();
        Self(pairs.into())
    }
}

impl IntoIterator for Attributes {
    type Item = (Cow<'static, str>, AttributeValue);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        Vec::from(&self.0[..]).into_iter()
    }
}

impl Serialize for Attributes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(BTreeMap::<String, AttributeValue>::deserialize(deserializer)?
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect())
    }
}

/// Lineage event. Events are ordered by step, and an individual's birth precedes all other events that name it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LifeEvent {
    /// Birth of an individual.
    Birth(Birth),
    /// End of an individual.
    Death(Death),
}

impl LifeEvent {
    /// Returns the attributes of the event.
    pub const fn attributes(&self) -> &Attributes {
        match self {
            Self::Birth(birth) => &birth.attributes,
            Self::Death(death) => &death.attributes,
        }
    }

    /// Returns the mutable attributes of the event.
    pub const fn attributes_mut(&mut self) -> &mut Attributes {
        match self {
            Self::Birth(birth) => &mut birth.attributes,
            Self::Death(death) => &mut death.attributes,
        }
    }

    /// Returns the step of the event.
    pub const fn step(&self) -> u64 {
        match self {
            Self::Birth(birth) => birth.step,
            Self::Death(death) => death.step,
        }
    }
}

/// A birth, or an individual of a snapshot. Parents that end have death events of their own.
///
/// A lineage tap that begins after step 0 starts with a snapshot: one `Birth` with [`Birth::born`] per living individual,
/// ordered by id. Individuals that are missing from the snapshot have ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Birth {
    /// Step of the birth or the snapshot.
    pub step: u64,
    /// Step of birth of an individual in a snapshot, or the step of the snapshot if the birth is unknown; `None` for a
    /// birth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<u64>,
    /// Id of the individual, which is never reused.
    pub child: u64,
    /// Ids of the parents: none for a founder, one for a split, several for a merge.
    pub parents: Vec<u64>,
    /// Slot of the individual, which is an element of the lineage's set and is reused; `None` if individuals have no slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "place", alias = "slot")]
    pub slot: Option<u32>,
    /// Name of the individual; empty if it only has an id.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Declared attributes of the birth.
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
}

/// End of an individual.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Death {
    /// Step of the event.
    pub step: u64,
    /// Id of the individual.
    pub gone: u64,
    /// Reason for the end.
    pub end: EndCause,
    /// Health at the end; `None` if the kind does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<f32>,
    /// Declared attributes of the death.
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
}

/// Reason for an individual's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// The individual died, which frees its slot.
    Died,
    /// The individual split and was replaced by its offspring.
    Split,
    /// The individual merged into another one.
    Merged,
}

impl EndCause {
    /// Returns the word for tables.
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
    fn births_and_deaths_read_back_and_older_files_open() {
        let birth = Birth {
            step: 8,
            born: None,
            child: 4,
            parents: vec![0, 2],
            slot: Some(3),
            name: "e4".into(),
            ..Birth::default()
        };
        let mut death =
            Death { step: 9, gone: 0, end: EndCause::Merged, health: Some(0.25), attributes: Attributes::default() };
        death.attributes.extend([
            ("why".into(), AttributeValue::Text("weak".into())),
            ("score".into(), AttributeValue::Number(0.1)),
        ]);
        let known = Birth { step: 8, born: Some(3), child: 5, ..Birth::default() };
        for event in [LifeEvent::Birth(known), LifeEvent::Birth(birth), LifeEvent::Death(death)] {
            let line = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<LifeEvent>(&line).unwrap(), event, "{line}");
        }
        let missing = r#"{"step":9,"gone":0,"end":"died","attributes":{"score":null}}"#;
        let LifeEvent::Death(death) = serde_json::from_str(missing).unwrap() else { panic!("a death") };
        assert!(matches!(death.attributes.get("score"), Some(AttributeValue::Number(v)) if v.is_nan()));
        let old = r#"{"step":8,"child":4,"parents":[0,2]}"#;
        let event: LifeEvent = serde_json::from_str(old).unwrap();
        assert_eq!(serde_json::to_string(&event).unwrap(), old, "absent fields are not written");
        assert!(serde_json::from_str::<LifeEvent>(r#"{"step":8}"#).is_err());
    }
}
