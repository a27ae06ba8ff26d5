//! What can be read from a simulation: a handful of shapes, and frames of readings.

use super::LifeEvent;
use crate::gpu::{Batch, Timing};

/// Where a simulation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Clock {
    /// Steps taken.
    pub step: u64,
    /// Simulated seconds per step (or 1 for kinds that count in steps).
    pub secs_per_step: f64,
}

impl Clock {
    /// Simulated time, seconds.
    pub fn secs(self) -> f64 {
        self.step as f64 * self.secs_per_step
    }
}

/// The shape of a probe's data: what decides the view, the recording file and the export format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// One or several numbers now and then: a line plot. With `of`, one lane per tapped element of that
    /// set; without, the lanes are [`Simulation::lanes`](super::Simulation::lanes).
    Series {
        /// The set whose chosen elements are the lanes; empty when the lanes are fixed.
        of: &'static str,
    },
    /// `(step, lane)` pairs: a raster.
    Spikes {
        /// The set the lanes are elements of.
        over: &'static str,
    },
    /// One value per element of a set: a 3D colouring, a heat map, a table column.
    Field {
        /// The set; fields over the same set line up.
        over: &'static str,
        /// Usual range of values, for the colour map.
        range: (f32, f32),
        /// What the numbers say.
        meaning: Meaning,
    },
    /// A small matrix, row-major: couplings, attention, router use.
    Matrix {
        /// What rows are.
        rows: &'static str,
        /// What columns are.
        columns: &'static str,
    },
    /// Births, splits, merges and deaths: a lineage tree.
    Lineage {
        /// The set whose elements are the places they live in; empty when they have none.
        over: &'static str,
    },
    /// A growing text: generated samples, notes.
    Text,
}

/// What the numbers of a field say, where it matters to how they are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Meaning {
    /// A quantity.
    #[default]
    Number,
    /// An angle in radians: the ends of the range are the same.
    Angle,
    /// 1 where an element takes part, 0 where its place is empty: views of other fields leave the empty out.
    Mask,
    /// The time since something last happened; negative for never.
    Since,
}

impl Shape {
    /// The meaning of a field; of anything else, none.
    pub const fn meaning(self) -> Option<Meaning> {
        if let Self::Field { meaning, .. } = self { Some(meaning) } else { None }
    }

    /// Whether a newer reading replaces an older one, rather than continuing it.
    pub const fn is_state(self) -> bool {
        matches!(self, Self::Field { .. } | Self::Matrix { .. })
    }
}

/// One thing a kind can be asked to show and record.
#[derive(Clone, Copy, Debug)]
pub struct ProbeSpec {
    /// Stable name: the file name of its recording, the key in the project.
    pub name: &'static str,
    /// Label on screen; empty where the name in sentence case reads well ([`ProbeSpec::label`]).
    pub title: &'static str,
    /// Tooltip.
    pub docs: &'static str,
    /// Unit suffix.
    pub unit: &'static str,
    /// What it looks like.
    pub shape: Shape,
}

impl ProbeSpec {
    /// The label on screen: the declared title, else the name in sentence case.
    pub fn label(&self) -> std::borrow::Cow<'static, str> {
        crate::params::title::or_from_name(self.title, self.name)
    }
}

/// Index into [`Simulation::probes`](super::Simulation::probes).
pub type ProbeId = u16;

/// A wish to read a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tap {
    /// Which probe.
    pub probe: ProbeId,
    /// For a `Series` over elements: which ones. Ignored otherwise.
    pub elements: Vec<u32>,
}

/// A spike (or any other event with a time and a place).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Spike {
    /// Step, modulo 2³².
    pub step: u32,
    /// Who.
    pub lane: u32,
}

/// Samples of a `Series` probe: `values.len() == steps.len() * lanes`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Elements of the set when the probe is over one; empty otherwise.
    pub elements: Vec<u32>,
    /// Number of lanes, at least 1.
    pub lanes: u32,
    /// When.
    pub steps: Vec<u64>,
    /// Row-major: one row of `lanes` values per step.
    pub values: Vec<f32>,
}

/// What a probe read.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// New samples.
    Series(Series),
    /// New spikes, ordered by step, then lane.
    Spikes(Vec<Spike>),
    /// The latest value of every element.
    Field(Vec<f32>),
    /// The latest matrix: columns, row-major values.
    Matrix(u32, Vec<f32>),
    /// New births and deaths.
    Lineage(Vec<LifeEvent>),
    /// New text.
    Text(String),
}

/// A window that is not looked at for long keeps this many spikes, the newest.
pub const MAX_WAITING_SPIKES: usize = 1 << 22;

/// A window that is not looked at for long keeps this many batches of a profile, the newest.
pub const MAX_WAITING_BATCHES: usize = 2048;

impl Reading {
    /// A series with these of its elements, in this order; anything else as it is.
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

    /// Histories grow, states are replaced: nothing is lost when a frame is skipped. Returns how
    /// many spikes had to be forgotten.
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

/// Everything one reader is told about one stretch of simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Where the simulation is.
    pub clock: Clock,
    /// One reading per tapped probe.
    pub readings: Vec<(ProbeId, Reading)>,
    /// Kernel times.
    pub timings: Vec<Timing>,
    /// Batches, when somebody asked to see them; measured ones may come after those behind them.
    pub batches: Vec<Batch>,
    /// Spikes forgotten because nobody looked; shown, never hidden.
    pub skipped: u64,
    /// Seconds it has been running since the epoch began, on the clock of the wall, pauses left out; 0 where nobody knows.
    pub ran_secs: f64,
    /// Counts up when the simulation was replaced or rewound: views start over.
    pub epoch: u64,
    /// Asked by whoever samples: states (fields, matrices) would not be seen, since newer ones come before the screen
    /// is drawn again. Histories are always wanted.
    pub histories_only: bool,
    /// Room for spikes, from a frame that was read; whoever samples may fill it instead of new memory.
    pub spare: Vec<Spike>,
}

impl Frame {
    /// Whether a probe of that shape is to be read this time.
    pub const fn wants(&self, shape: Shape) -> bool {
        !(self.histories_only && shape.is_state())
    }

    /// What these taps asked for: their probes, and of series over elements their elements.
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

    /// Folds a newer frame into this one, which its reader has not taken yet. A frame of another epoch
    /// replaces it.
    pub fn absorb(&mut self, newer: Self) {
        if newer.epoch != self.epoch {
            *self = newer;
            return;
        }
        self.clock = newer.clock;
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

/// Declares probes: `probes! { /// Docs. RATE = "rate", "Hz", Shape::Series { of: "" }; }` is a [`ProbeId`] for each, and
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
