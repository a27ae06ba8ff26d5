//! Probes: the shapes of what can be read from a simulation, and frames of readings.

use super::{Clock, LifeEvent};
use crate::gpu::{Batch, Timing};

/// The shape of a probe's data. It decides the view, the recording file and the export format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Samples over time, one value per lane: a line plot. With `of`, one lane per tapped element of that set; without,
    /// the lanes are [`Simulation::lanes`](super::Simulation::lanes).
    Series {
        /// The set whose tapped elements are the lanes; empty when the lanes are fixed.
        of: &'static str,
    },
    /// `(step, lane)` pairs: a raster.
    Spikes {
        /// The set the lanes are elements of.
        over: &'static str,
    },
    /// One value per element of a set: colours in 3D, a heat map, a table column.
    Field {
        /// The element set.
        over: &'static str,
        /// Usual range of values, for the colour scale.
        range: (f32, f32),
        /// The meaning of the values.
        meaning: Meaning,
    },
    /// A small matrix, row-major: couplings, attention, router use.
    Matrix {
        /// What a row is.
        rows: &'static str,
        /// What a column is.
        columns: &'static str,
    },
    /// Births, splits, merges and deaths: a lineage tree.
    Lineage {
        /// The set whose elements are the slots of individuals; empty when there are none.
        over: &'static str,
    },
    /// A growing text: generated samples, notes.
    Text,
}

/// The meaning of a field's values, where the display depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Meaning {
    /// A quantity.
    #[default]
    Number,
    /// An angle in radians: both ends of the range are the same angle.
    Angle,
    /// 1 where a slot is occupied, 0 where it is empty: views of other fields skip empty slots.
    Mask,
    /// The time since an event; negative when there was none.
    TimeSince,
}

impl Shape {
    /// The meaning of a field; `None` for other shapes.
    pub const fn meaning(self) -> Option<Meaning> {
        if let Self::Field { meaning, .. } = self { Some(meaning) } else { None }
    }

    /// Whether a newer reading replaces an older one, instead of extending it.
    pub const fn is_state(self) -> bool {
        matches!(self, Self::Field { .. } | Self::Matrix { .. })
    }
}

/// A declared probe: a quantity that can be shown and recorded.
#[derive(Clone, Copy, Debug)]
pub struct ProbeSpec {
    /// Stable name: file name of its recording, key in the project.
    pub name: &'static str,
    /// Label on screen; empty where the name in sentence case reads well ([`ProbeSpec::label`]).
    pub title: &'static str,
    /// Tooltip.
    pub docs: &'static str,
    /// Unit suffix.
    pub unit: &'static str,
    /// Shape of its data.
    pub shape: Shape,
}

impl ProbeSpec {
    /// The label on screen: the declared title, else the name in sentence case.
    pub fn label(&self) -> std::borrow::Cow<'static, str> {
        crate::params::title::or_from_name(self.title, self.name)
    }

    /// Whether the values are angles in radians, whose statistics are circular.
    pub fn is_angle(&self) -> bool {
        self.shape.meaning() == Some(Meaning::Angle) || matches!(self.shape, Shape::Series { .. }) && self.unit == "rad"
    }
}

/// Index into [`Simulation::probes`](super::Simulation::probes).
pub type ProbeId = u16;

/// A request to sample a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tap {
    /// The probe.
    pub probe: ProbeId,
    /// For a `Series` over elements: their indices. Ignored otherwise.
    pub elements: Vec<u32>,
}

/// A spike, or any other event with a step and an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Spike {
    /// Step, modulo 2³².
    pub step: u32,
    /// Index of the element.
    pub lane: u32,
}

/// Samples of a `Series` probe: `values.len() == steps.len() * lanes`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Elements of the set when the probe is over one; empty otherwise.
    pub elements: Vec<u32>,
    /// Number of lanes, at least 1.
    pub lanes: u32,
    /// Step of each row.
    pub steps: Vec<u64>,
    /// Row-major: one row of `lanes` values per step.
    pub values: Vec<f32>,
}

/// The data read from a probe.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// New samples.
    Series(Series),
    /// New spikes, ordered by step, then lane.
    Spikes(Vec<Spike>),
    /// The current value of every element.
    Field(Vec<f32>),
    /// The current matrix: number of columns, row-major values.
    Matrix(u32, Vec<f32>),
    /// New births and deaths.
    Lineage(Vec<LifeEvent>),
    /// New text.
    Text(String),
}

/// Spikes kept in a frame that is not read for long: the newest.
pub const MAX_WAITING_SPIKES: usize = 1 << 22;

/// Profiled batches kept in a frame that is not read for long: the newest.
pub const MAX_WAITING_BATCHES: usize = 2048;

impl Reading {
    /// A series restricted to these elements, in this order; other readings unchanged.
    fn of_elements(&self, elements: &[u32]) -> Self {
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

    /// Appends histories and replaces states, so that nothing is lost when a frame is skipped. Returns the number of
    /// spikes dropped over the limit.
    fn absorb(&mut self, newer: Self) -> u64 {
        match (self, newer) {
            (Self::Series(a), Self::Series(b)) if a.elements == b.elements && a.lanes == b.lanes => {
                a.steps.extend(b.steps);
                a.values.extend(b.values);
            }
            (Self::Lineage(a), Self::Lineage(b)) => a.extend(b),
            (Self::Text(a), Self::Text(b)) => a.push_str(&b),
            (Self::Spikes(a), Self::Spikes(b)) => {
                a.extend(b);
                let excess = a.len().saturating_sub(MAX_WAITING_SPIKES);
                a.drain(..excess);
                return excess as u64;
            }
            (old, new) => *old = new,
        }
        0
    }
}

/// The readings, timings and step of one stretch of a simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// The step reached.
    pub clock: Clock,
    /// One reading per tapped probe.
    pub readings: Vec<(ProbeId, Reading)>,
    /// Kernel times.
    pub timings: Vec<Timing>,
    /// Batches, when profiling is on; measured ones may follow later ones.
    pub batches: Vec<Batch>,
    /// Spikes dropped because the reader was too slow; always shown.
    pub skipped: u64,
    /// Wall-clock seconds of running since the epoch began, without pauses; 0 when unknown.
    pub ran_secs: f64,
    /// Incremented when the simulation is replaced or rewound: views clear their data.
    pub epoch: u64,
    /// Generation of the schema that the readings follow.
    pub generation: u64,
    /// Set by the caller of `sample`: states (fields, matrices) are skipped, since newer ones arrive before the screen is
    /// drawn again. Histories are always read.
    pub histories_only: bool,
    /// Memory for spikes from a frame already read, which `sample` may reuse.
    pub spare: Vec<Spike>,
}

impl Frame {
    /// Whether probes of that shape are read this time.
    pub const fn wants(&self, shape: Shape) -> bool {
        !(self.histories_only && shape.is_state())
    }

    /// The readings of these taps only: their probes, and for series over elements their elements.
    pub fn only(&self, taps: &[Tap]) -> Self {
        let wanted = |(id, reading): &(ProbeId, Reading)| {
            let tap = taps.iter().find(|t| t.probe == *id)?;
            Some((*id, reading.of_elements(&tap.elements)))
        };
        let readings = self.readings.iter().filter_map(wanted).collect();
        Self { readings, timings: self.timings.clone(), batches: vec![], spare: vec![], ..*self }
    }

    /// A probe's reading.
    pub fn reading(&self, probe: ProbeId) -> Option<&Reading> {
        self.readings.iter().find(|(id, _)| *id == probe).map(|(_, r)| r)
    }

    /// Merges a newer frame into this one, which is not read yet. A frame of another epoch replaces it.
    pub fn absorb(&mut self, newer: Self) {
        if newer.epoch != self.epoch {
            *self = newer;
            return;
        }
        self.clock = newer.clock;
        self.generation = newer.generation;
        self.ran_secs = newer.ran_secs;
        self.skipped += newer.skipped;
        self.batches.extend(newer.batches);
        let excess = self.batches.len().saturating_sub(MAX_WAITING_BATCHES);
        self.batches.drain(..excess);
        for (id, reading) in newer.readings {
            match self.readings.iter_mut().find(|(i, _)| *i == id) {
                Some((_, old)) => self.skipped += old.absorb(reading),
                None => self.readings.push((id, reading)),
            }
        }
        for t in newer.timings {
            match self.timings.iter_mut().find(|o| o.name == t.name) {
                Some(old) => old.add(&t),
                None => self.timings.push(t),
            }
        }
    }
}

/// Declares probes: `probes! { /// Docs. RATE = "rate", "Hz", Shape::Series { of: "" }; }` makes one [`ProbeId`] each and
/// the list `PROBES` in the order of the ids.
#[macro_export]
macro_rules! probes {
    ($( $(#[doc = $docs:literal])* $(#[title($title:literal)])? $ID:ident = $name:literal, $unit:literal, $shape:expr; )*) => {
        $crate::probes!(@ids 0; $($ID)*);
        /// All probes, in the order of their ids.
        pub const PROBES: &[$crate::sim::ProbeSpec] = &[
            $( $crate::sim::ProbeSpec {
                name: $name,
                title: concat!($($title)?),
                docs: concat!($($docs, "\n"),*),
                unit: $unit,
                shape: $shape,
            } ),*
        ];
    };
    (@ids $n:expr; $ID:ident $($rest:ident)*) => {
        #[doc = "Index into [`PROBES`]."]
        pub const $ID: $crate::sim::ProbeId = $n;
        $crate::probes!(@ids $n + 1; $($rest)*);
    };
    (@ids $n:expr;) => {};
}
