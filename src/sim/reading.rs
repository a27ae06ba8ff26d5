//! Readings: the data of probes by shape.

use super::{LifeEvent, Spike};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Samples of a `Series` probe: `values.len() == steps.len() * lanes`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Element of each lane if the probe is over a set; empty otherwise.
    pub elements: Vec<u32>,
    /// Number of lanes, at least 1.
    pub lanes: u32,
    /// Step of each row.
    pub steps: Vec<u64>,
    /// Row-major values, `lanes` per step.
    pub values: Vec<f32>,
}

/// Rows or columns of a matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axis {
    /// Number of rows or columns.
    pub len: u32,
    /// Names of the rows or columns; empty if the axis is numbered.
    pub labels: Arc<Vec<String>>,
}

impl Axis {
    /// Creates an axis without names.
    pub fn numbered(len: u32) -> Self {
        Self { len, labels: Arc::default() }
    }

    /// Creates an axis with names.
    pub fn named(labels: Vec<String>) -> Self {
        Self { len: labels.len() as u32, labels: Arc::new(labels) }
    }

    /// Returns the name at an index, or the index if the axis has no names.
    pub fn label(&self, index: usize) -> String {
        self.labels.get(index).cloned().unwrap_or_else(|| index.to_string())
    }
}

/// Current state of a `Matrix` probe. The number and names of rows and columns may change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    /// Axis of the rows.
    pub rows: Axis,
    /// Axis of the columns.
    pub columns: Axis,
    /// Row-major values: `rows.len * columns.len`.
    pub values: Arc<Vec<f32>>,
}

/// Samples of a `Histogram` probe.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// Bin edges in ascending order, one more than the number of bins.
    pub edges: Arc<Vec<f32>>,
    /// Step of each row.
    pub steps: Vec<u64>,
    /// Row-major counts, one row per step.
    pub counts: Vec<f32>,
}

impl Histogram {
    /// Returns the number of bins.
    pub fn n_bins(&self) -> usize {
        self.edges.len().saturating_sub(1)
    }
}

/// Text with a header, such as a sample of generated text or a report. A later part with equal step and title continues the
/// text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextSample {
    /// Step of the state that the text describes.
    pub step: u64,
    /// Header of the text: prompt, temperature, score.
    pub title: String,
    /// Text, or its next part.
    pub text: String,
}

/// Current state of a `Tokens` probe: a sequence of tokens with a value and a category each. All lists except `texts` may
/// be empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// The step of the state.
    pub step: u64,
    /// Text of each token.
    pub texts: Vec<String>,
    /// Value per token; NaN for a token without a value.
    #[serde(with = "with_nan", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<f32>,
    /// Names of the categories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Category per token, as an index into `names`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<u32>,
    /// Likeliest candidates for each token with their probabilities, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Vec<(String, f32)>>,
}

/// Serialises NaN as null, because JSON has no NaN.
mod with_nan {
    use serde::{Deserialize as _, Deserializer, Serializer, ser::SerializeSeq as _};

    pub fn serialize<S: Serializer>(values: &[f32], serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(values.len()))?;
        values.iter().try_for_each(|v| list.serialize_element(&v.is_finite().then_some(*v)))?;
        list.end()
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
        let values = Vec::<Option<f32>>::deserialize(deserializer)?;
        Ok(values.into_iter().map(|v| v.unwrap_or(f32::NAN)).collect())
    }
}

/// Link from an element of one set to an element of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Index of the source in the first set.
    pub from: u32,
    /// Index of the target in the second set.
    pub to: u32,
    /// Weight of the link.
    pub weight: f32,
}

/// Data read from a probe.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// New samples since the last reading.
    Series(Series),
    /// New spikes, ordered by step, then lane.
    Spikes(Vec<Spike>),
    /// Current value of every element. The values are shared, so that history and views do not copy them. A vector is used
    /// and not a slice, so that the simulation's vector is not copied either.
    Field(Arc<Vec<f32>>),
    /// Current matrix of the probe.
    Matrix(Matrix),
    /// New births and deaths. The list is shared, so that the window gives it to jobs without a copy.
    Lineage(Arc<Vec<LifeEvent>>),
    /// Text that was written since the last reading.
    Text(String),
    /// New rows of counts since the last reading.
    Histogram(Histogram),
    /// New texts with a header, or their next parts.
    Samples(Vec<TextSample>),
    /// Current sequence of tokens.
    Tokens(Arc<Tokens>),
    /// Current links, sorted by source.
    Links(Arc<Vec<Link>>),
}

/// Maximum number of spikes in an unread frame, of which the newest are kept.
pub const MAX_WAITING_SPIKES: usize = 1 << 22;

impl Reading {
    /// Creates a field from its values.
    pub fn field(values: Vec<f32>) -> Self {
        Self::Field(Arc::new(values))
    }

    /// Creates a lineage reading from births and deaths.
    pub fn lineage(events: Vec<LifeEvent>) -> Self {
        Self::Lineage(Arc::new(events))
    }

    /// Returns a copy. A series over elements is restricted to the lanes of `elements`, in the order of `elements`.
    pub fn of_elements(&self, elements: &[u32]) -> Self {
        match self {
            Self::Series(all) if !all.elements.is_empty() && all.elements != elements => {
                let place = |e: &u32| all.elements.iter().position(|known| known == e);
                let (kept, columns): (Vec<u32>, Vec<usize>) =
                    elements.iter().filter_map(|e| Some((*e, place(e)?))).unzip();
                let rows = all.values.chunks_exact(all.lanes.max(1) as usize);
                let values = rows.flat_map(|row| columns.iter().map(|c| row[*c])).collect();
                Self::Series(Series { lanes: kept.len() as u32, elements: kept, steps: all.steps.clone(), values })
            }
            other => other.clone(),
        }
    }

    /// Appends histories and replaces states, so that skipping a frame loses nothing. Returns the number of spikes that
    /// were dropped because of the limit. Leaves the memory of copied spikes in `spare` if that is empty.
    pub(super) fn absorb(&mut self, newer: Self, spare: &mut Vec<Spike>) -> u64 {
        match (self, newer) {
            (Self::Series(a), Self::Series(b)) if a.elements == b.elements && a.lanes == b.lanes => {
                a.steps.extend(b.steps);
                a.values.extend(b.values);
            }
            (Self::Histogram(a), Self::Histogram(b)) if a.edges == b.edges => {
                a.steps.extend(b.steps);
                a.counts.extend(b.counts);
            }
            (Self::Lineage(a), Self::Lineage(b)) => Arc::make_mut(a).extend(Arc::unwrap_or_clone(b)),
            (Self::Text(a), Self::Text(b)) => a.push_str(&b),
            (Self::Samples(a), Self::Samples(b)) => a.extend(b),
            (Self::Spikes(a), Self::Spikes(mut b)) => {
                let excess = (a.len() + b.len()).saturating_sub(MAX_WAITING_SPIKES);
                // Spikes beyond the limit are not copied.
                if excess >= a.len() {
                    b.drain(..excess - a.len());
                    std::mem::swap(a, &mut b);
                } else {
                    a.drain(..excess);
                    a.extend_from_slice(&b);
                }
                if spare.capacity() == 0 {
                    b.clear();
                    *spare = b;
                }
                return excess as u64;
            }
            (old, new) => *old = new,
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_back_with_missing_values() {
        let tokens = Tokens {
            step: 3,
            texts: vec!["a".into(), "b".into()],
            values: vec![1.5, f32::NAN],
            candidates: vec![vec![("c".into(), 0.25)], vec![]],
            ..Tokens::default()
        };
        let line = serde_json::to_string(&tokens).unwrap();
        let back: Tokens = serde_json::from_str(&line).unwrap();
        assert!(back.values[0] == 1.5 && back.values[1].is_nan(), "{line}");
        assert_eq!(serde_json::to_string(&back).unwrap(), line);
    }

    #[test]
    fn histograms_with_other_bins_replace_older_ones() {
        let row = |edges: &[f32], step| {
            let counts = vec![1.0; edges.len() - 1];
            Reading::Histogram(Histogram { edges: Arc::new(edges.to_vec()), steps: vec![step], counts })
        };
        let mut all = row(&[0.0, 1.0], 1);
        all.absorb(row(&[0.0, 1.0], 2), &mut vec![]);
        let Reading::Histogram(both) = &all else { panic!() };
        assert_eq!((both.steps.as_slice(), both.counts.len()), (&[1, 2][..], 2));
        all.absorb(row(&[0.0, 2.0], 3), &mut vec![]);
        assert_eq!(all, row(&[0.0, 2.0], 3));
    }

    #[test]
    fn spikes_over_the_limit_are_dropped_and_memory_is_kept() {
        let spikes = |steps: std::ops::Range<u32>| steps.map(|step| Spike { step, lane: 0 }).collect::<Vec<_>>();
        let most = MAX_WAITING_SPIKES as u32;
        for (older, newer, dropped) in [(0, 3, 0), (3, 4, 0), (10, most - 4, 6), (10, most, 10), (10, most + 2, 12)] {
            let (mut all, mut spare) = (Reading::Spikes(spikes(0..older)), vec![]);
            let n = all.absorb(Reading::Spikes(spikes(older..older + newer)), &mut spare);
            assert_eq!(n, dropped, "{older} and {newer}");
            assert!(all == Reading::Spikes(spikes(dropped as u32..older + newer)), "{older} and {newer}");
            assert_eq!((spare.len(), spare.capacity() > 0), (0, older > 0), "{older} and {newer}");
        }
    }
}
