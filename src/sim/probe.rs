//! Probes: the shapes of what can be read from a simulation, and frames of readings.

use super::{ArgSpec, AttributeSpec, Clock, Individuals, Reading, StepCount, Tap, TapKey};
use crate::gpu::{Batch, Timing};
use std::sync::Arc;

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
        /// Attributes of births and deaths.
        attributes: &'static [AttributeSpec],
    },
    /// A growing text without headers: a log.
    Text,
    /// Growing texts with a header each: generated samples.
    Samples,
    /// Counts of values in bins, over time.
    Histogram {
        /// What is counted; the unit is the probe's.
        of: &'static str,
    },
    /// A sequence of tokens with one value and one category each.
    Tokens {
        /// The values; their unit is the probe's. Empty when there are none.
        values: &'static str,
        /// The categories; empty when there are none.
        categories: &'static str,
    },
    /// Links from elements of one set to those of another, or of the same.
    Links {
        /// The first set.
        from: &'static str,
        /// The second set.
        to: &'static str,
    },
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

    /// The sets it is over, without empty names.
    pub fn sets(self) -> Vec<&'static str> {
        let names = match self {
            Self::Spikes { over }
            | Self::Field { over, .. }
            | Self::Lineage { over, .. }
            | Self::Series { of: over } => [over, ""],
            Self::Links { from, to } => [from, to],
            _ => ["", ""],
        };
        names.into_iter().filter(|name| !name.is_empty()).collect()
    }

    /// Whether a newer reading replaces an older one, instead of extending it.
    pub const fn is_state(self) -> bool {
        matches!(self, Self::Field { .. } | Self::Matrix { .. } | Self::Tokens { .. } | Self::Links { .. })
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
    /// Its arguments.
    pub args: &'static [ArgSpec],
}

/// Name of the probe of the spikes of neurons. Other events have names of their own: `births`.
pub const SPIKES: &str = "spikes";

impl ProbeSpec {
    /// The noun of its events: `spikes`, `births`.
    pub fn events(&self) -> String {
        crate::params::title::spaced(self.name)
    }

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

/// A spike, or any other event with a step and an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Spike {
    /// Step, modulo 2³².
    pub step: u32,
    /// Index of the element.
    pub lane: u32,
}

/// Profiled batches kept in a frame that is not read for long: the newest.
pub const MAX_WAITING_BATCHES: usize = 2048;

/// The readings, timings and step of one stretch of a simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// The step reached.
    pub clock: Clock,
    /// One reading per tap.
    pub readings: Vec<(TapKey, Reading)>,
    /// Kernel times.
    pub timings: Vec<Timing>,
    /// Batches, when profiling is on; measured ones may follow later ones.
    pub batches: Vec<Batch>,
    /// What the last step did, where it varies: [`Simulation::counts`](super::Simulation::counts).
    pub counts: Vec<StepCount>,
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
    /// Set by the caller of `sample`: fields may be those of the previous reading instead of the current step, so that a
    /// device does not wait while they are copied. Not for recordings.
    pub may_lag: bool,
    /// Set by the caller of `sample`: the newest bytes of a log that a screen can show, at most about this number; `None`, as in
    /// recordings: the whole log.
    pub text_limit: Option<usize>,
    /// The individuals in the sets of slots at this step, where the engine was asked for them.
    pub individuals: Vec<(&'static str, Arc<Individuals>)>,
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
        let wanted = |(key, reading): &(TapKey, Reading)| {
            let tap = taps.iter().find(|t| t.has_key(key))?;
            Some((key.clone(), reading.of_elements(&tap.elements)))
        };
        let readings = self.readings.iter().filter_map(wanted).collect();
        Self {
            readings,
            timings: self.timings.clone(),
            batches: vec![],
            counts: vec![],
            individuals: vec![],
            spare: vec![],
            ..*self
        }
    }

    /// The reading of a probe without arguments, or of a key.
    pub fn reading(&self, key: impl Into<TapKey>) -> Option<&Reading> {
        let key = key.into();
        self.readings.iter().find(|(k, _)| *k == key).map(|(_, r)| r)
    }

    /// Adds a reading.
    pub fn push(&mut self, key: impl Into<TapKey>, reading: Reading) {
        self.readings.push((key.into(), reading));
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
        self.counts = newer.counts;
        if !newer.individuals.is_empty() {
            self.individuals = newer.individuals;
        }
        self.skipped += newer.skipped;
        self.batches.extend(newer.batches);
        let excess = self.batches.len().saturating_sub(MAX_WAITING_BATCHES);
        self.batches.drain(..excess);
        for (id, reading) in newer.readings {
            match self.readings.iter_mut().find(|(i, _)| *i == id) {
                Some((_, old)) => self.skipped += old.absorb(reading, &mut self.spare),
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
/// the list `PROBES` in the order of the ids. Arguments follow the shape: `, args { /// Docs. layer: Listed }`.
/// `#[exact(Exactness::WallClock)]` before it says how a probe's data are repeated where it differs from the kind's.
#[macro_export]
macro_rules! probes {
    ($( $(#[doc = $docs:literal])* $(#[title($title:literal)])? $(#[exact($exact:expr)])? $ID:ident = $name:literal, $unit:literal, $shape:expr
        $(, args { $( $(#[doc = $arg_docs:literal])* $arg:ident : $values:ident ),* $(,)? })?; )*) => {
        $crate::probes!(@ids 0; $($ID)*);
        /// The probes whose data are repeated in another way than those of the kind ([`Kind`]($crate::sim::Kind)).
        #[allow(dead_code)]
        pub const EXACT_PROBES: &[(&str, $crate::sim::Exactness)] = &[ $( $( ($name, $exact), )? )* ];
        /// All probes, in the order of their ids.
        pub const PROBES: &[$crate::sim::ProbeSpec] = &[
            $( $crate::sim::ProbeSpec {
                name: $name,
                title: concat!($($title)?),
                docs: concat!($($docs, "\n"),*),
                unit: $unit,
                shape: $shape,
                args: &[ $($( $crate::sim::ArgSpec {
                    name: stringify!($arg),
                    docs: concat!($($arg_docs, "\n"),*),
                    values: $crate::sim::ArgValues::$values,
                } ),*)? ],
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
