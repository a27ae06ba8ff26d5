//! Probes: quantities that can be read from a simulation, their data shapes, and frames of readings.

use super::{ArgSpec, AttributeSpec, Clock, Individuals, Reading, StepCount, Tap, TapKey};
use crate::gpu::{Batch, Timing};
use std::sync::Arc;

/// Shape of a probe's data, which determines the view, the recording file and the export format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Samples over time with one value per lane, drawn as lines. With `of`, the lanes are the tapped elements of that set;
    /// otherwise they are [`Simulation::lanes`](super::Simulation::lanes).
    Series {
        /// Set whose tapped elements are the lanes; empty if the lanes are fixed.
        of: &'static str,
    },
    /// Pairs of step and lane, drawn as a raster.
    Spikes {
        /// Set whose elements are the lanes.
        over: &'static str,
    },
    /// One value per element of a set, drawn as colours in 3D, a heat map or a table column.
    Field {
        /// Set that has one value per element.
        over: &'static str,
        /// Usual range of values, for the colour scale.
        range: (f32, f32),
        /// Meaning of the values.
        meaning: Meaning,
    },
    /// Small row-major matrix, such as couplings, attention or router use.
    Matrix {
        /// Meaning of a row.
        rows: &'static str,
        /// Meaning of a column.
        columns: &'static str,
    },
    /// Births, splits, merges and deaths, drawn as a lineage tree.
    Lineage {
        /// Set whose elements are the slots of individuals; empty if individuals have no slots.
        over: &'static str,
        /// Declared attributes of births and deaths.
        attributes: &'static [AttributeSpec],
    },
    /// A growing text without headers, such as a log.
    Text,
    /// Growing texts with a header each, such as generated samples.
    Samples,
    /// Counts of values in bins over time.
    Histogram {
        /// Counted quantity, whose unit is the unit of the probe.
        of: &'static str,
    },
    /// Sequence of tokens, each with one value and one category.
    Tokens {
        /// Quantity of the values, in the unit of the probe; empty if tokens have no values.
        values: &'static str,
        /// Meaning of the categories; empty if tokens have no categories.
        categories: &'static str,
    },
    /// Links from elements of one set to elements of another or the same set.
    Links {
        /// Set of the sources.
        from: &'static str,
        /// Set of the targets.
        to: &'static str,
    },
}

/// Meaning of a field's values, where the display depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Meaning {
    /// Quantity on a linear scale.
    #[default]
    Number,
    /// Angle in radians. Both ends of the range are the same angle.
    Angle,
    /// Mask with 1 in occupied slots and 0 in empty ones, which views of other fields skip.
    Mask,
    /// Time since an event; negative if the event has not occurred.
    TimeSince,
}

impl Shape {
    /// Returns the meaning of a field; `None` for other shapes.
    pub const fn meaning(self) -> Option<Meaning> {
        if let Self::Field { meaning, .. } = self { Some(meaning) } else { None }
    }

    /// Returns the names of the sets to which the shape refers, without empty names.
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

    /// Whether a new reading replaces the old one instead of extending it.
    pub const fn is_state(self) -> bool {
        matches!(self, Self::Field { .. } | Self::Matrix { .. } | Self::Tokens { .. } | Self::Links { .. })
    }
}

/// Declared probe: a quantity that can be shown and recorded.
#[derive(Clone, Copy, Debug)]
pub struct ProbeSpec {
    /// Stable identifier, which is the file name of a recording and the key in the project.
    pub name: &'static str,
    /// Label in the window; if empty, the name in sentence case ([`ProbeSpec::label`]).
    pub title: &'static str,
    /// Doc comment of the declaration, shown as the tooltip.
    pub docs: &'static str,
    /// Unit of the values.
    pub unit: &'static str,
    /// Shape of the data.
    pub shape: Shape,
    /// Declarations of the arguments.
    pub args: &'static [ArgSpec],
}

/// Name of the probe for spikes of neurons. Other events have their own names: `births`.
pub const SPIKES: &str = "spikes";

impl ProbeSpec {
    /// Returns the plural noun of the events: `spikes`, `births`.
    pub fn events(&self) -> String {
        crate::params::title::spaced(self.name)
    }

    /// Returns the label in the window: the declared title, or the name in sentence case.
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

/// Spike or another event, with its step and its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Spike {
    /// Step modulo 2³².
    pub step: u32,
    /// Index of the element.
    pub lane: u32,
}

/// Maximum number of profiled batches in an unread frame, of which the newest are kept.
pub const MAX_WAITING_BATCHES: usize = 2048;

/// Readings and timings of consecutive steps of a simulation, and the step after them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Step at the end of the frame.
    pub clock: Clock,
    /// One reading per tap.
    pub readings: Vec<(TapKey, Reading)>,
    /// Kernel times of the steps.
    pub timings: Vec<Timing>,
    /// Batches if profiling is on. Measured batches may arrive after later ones.
    pub batches: Vec<Batch>,
    /// Work of the last step if it varies, see [`Simulation::counts`](super::Simulation::counts).
    pub counts: Vec<StepCount>,
    /// Number of spikes that were dropped because the reader was too slow. The number is always shown.
    pub skipped: u64,
    /// Wall-clock seconds of running since the epoch began, without pauses; 0 if unknown.
    pub ran_secs: f64,
    /// Number that increases when the simulation is replaced or rewound, so that views clear their data.
    pub epoch: u64,
    /// Schema generation of the readings.
    pub generation: u64,
    /// Trial that the readings for the screen show, from 0.
    pub trial: u32,
    /// Set by the caller of `sample` to skip states (fields, matrices), because newer ones arrive before the next repaint.
    /// Histories are always read.
    pub histories_only: bool,
    /// Set by the caller of `sample` if fields may be those of the previous reading, so that the device does not wait for
    /// the copy. Recordings do not use this.
    pub may_lag: bool,
    /// Set by the caller of `sample`: approximate maximum number of bytes that are read from the end of a log; `None` for
    /// the whole log, as in recordings.
    pub text_limit: Option<usize>,
    /// Individuals of the slot sets at this step; empty unless the engine was asked to provide them.
    pub individuals: Vec<(&'static str, Arc<Individuals>)>,
    /// Spike memory of a frame that was read, which `sample` may reuse.
    pub spare: Vec<Spike>,
}

impl Frame {
    /// Whether probes of this shape are read.
    pub const fn wants(&self, shape: Shape) -> bool {
        !(self.histories_only && shape.is_state())
    }

    /// Returns a copy restricted to the probes of `taps`, and for series over elements to the elements of the tap.
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

    /// Returns the reading of a key, or of a probe without arguments; `None` if the frame has no such reading.
    pub fn reading(&self, key: impl Into<TapKey>) -> Option<&Reading> {
        let key = key.into();
        self.readings.iter().find(|(k, _)| *k == key).map(|(_, r)| r)
    }

    /// Adds a reading of a key.
    pub fn push(&mut self, key: impl Into<TapKey>, reading: Reading) {
        self.readings.push((key.into(), reading));
    }

    /// Merges a newer frame into this unread one. A frame of another epoch replaces this frame.
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

/// Declares probes: `probes! { /// Docs. RATE = "rate", "Hz", Shape::Series { of: "" }; }` generates one [`ProbeId`]
/// each and the list `PROBES` in the order of the ids. Arguments follow the shape: `, args { /// Docs. layer: Listed
/// }`. `#[exact(Exactness::WallClock)]` before a probe declares a reproducibility other than the kind's.
#[macro_export]
macro_rules! probes {
    ($( $(#[doc = $docs:literal])* $(#[title($title:literal)])? $(#[exact($exact:expr)])? $ID:ident = $name:literal, $unit:literal, $shape:expr
        $(, args { $( $(#[doc = $arg_docs:literal])* $arg:ident : $values:ident ),* $(,)? })?; )*) => {
        $crate::probes!(@ids 0; $($ID)*);
        /// Probes with a reproducibility other than that of the kind ([`Kind`]($crate::sim::Kind)).
        #[allow(dead_code)]
        pub const EXACT_PROBES: &[(&str, $crate::sim::Exactness)] = &[ $( $( ($name, $exact), )? )* ];
        /// All probes in the order of their ids.
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
