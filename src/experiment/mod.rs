//! Experiments: conditions and seeds of a project, run as trials, with a table of measures and its statistics.
//!
//! | part | contents |
//! | --- | --- |
//! | [`expand`] | flat list of the conditions of an experiment |
//! | [`changes`] | a project under a condition |
//! | [`measure`] | values computed from the readings of a trial |
//! | [`table`] | rows of condition, seed, measure, value and hash |
//! | [`statistics`] | summaries, differences from the control, tests |
//! | [`values`] | lists of seeds and values, as users type them |
//!
//! The experiment of a project file is declared in [`project::experiment`](crate::project::experiment).

#![warn(missing_docs)]

pub mod changes;
pub mod expand;
pub mod measure;
pub mod statistics;
pub mod table;
pub mod values;

pub use expand::{Plan, Planned, expand};
