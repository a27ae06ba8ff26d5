//! Experiments: conditions and seeds of a project, run as trials, with a table of measures and its statistics.
//!
//! | part | contents |
//! | --- | --- |
//! | [`expand`] | flat list of the conditions of an experiment |
//! | [`changes`] | a project under a condition |
//! | [`measure`] | values computed from the readings of a trial |
//! | [`table`] | rows of condition, seed, measure, value and hash |
//! | [`export`] | statistics as columns |
//! | [`statistics`] | summaries, differences from the control, tests |
//! | [`time_course`] | rates and series of recorded trials over time |
//! | [`folder`], [`plan_file`] | files of an experiment |
//! | [`run`], [`shard`] | trials on a device; parts of an experiment |
//! | [`merge`], [`repeat`] | joins parts; repeats a trial and compares it |
//! | [`values`] | lists of seeds and values, as users type them |
//!
//! The experiment of a project file is declared in [`project::experiment`](crate::project::experiment).

#![warn(missing_docs)]

pub mod changes;
pub mod expand;
pub mod export;
pub mod folder;
pub mod measure;
pub mod merge;
pub mod plan_file;
pub mod repeat;
mod reused_simulation;
pub mod run;
pub mod shard;
pub mod statistics;
pub mod table;
pub mod time_course;
pub mod values;

pub use expand::{Plan, Planned, expand};
pub use folder::{ExperimentFolder, is_experiment};
pub use reused_simulation::ReusedSimulation;
pub use table::Table;
