//! Views of series over time: rates with fixed lanes, and traces of selected elements.

pub(super) mod drawn;
pub(super) mod lane_colors;
mod level_names;
pub(super) mod levels;
pub(super) mod line;
mod measure_cursors;
mod onsets;
mod psth;
mod psth_chart;
mod rates;
pub(super) mod samples;
pub(super) mod smooth;
mod spike_marks;
mod trace_labels;
mod traces;

pub use rates::Rates;
pub use traces::Traces;
