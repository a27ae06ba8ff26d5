//! Views of series over time: rates with fixed lanes, and traces of selected elements.

pub(super) mod axes_choice;
pub(super) mod drawn;
pub(super) mod lane_colors;
mod level_names;
pub(super) mod levels;
pub(super) mod line;
mod measure_cursors;
mod onsets;
mod psth;
mod psth_chart;
mod psth_groups;
mod rates;
pub(super) mod samples;
pub(super) mod smooth;
mod spike_marks;
mod trace_groups;
mod trace_lane;
mod traces;

pub use rates::Rates;
pub use traces::Traces;
