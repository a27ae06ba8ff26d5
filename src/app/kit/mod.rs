//! Drawing of texts, controls, axes and colours. This module knows no simulation and no document.

pub mod area_select;
pub mod axes;
pub mod bar;
pub mod color_scale;
pub mod colormap;
pub mod colors;
pub mod dots;
pub mod focus;
pub mod fonts;
pub mod heatmap;
pub mod icons;
pub mod legend;
pub mod level;
pub mod modal;
pub mod notice;
pub mod numbers;
pub mod panel;
pub mod pool;
pub mod style;
pub mod text;
pub mod theme;
pub mod widgets;
pub mod y_scale;

pub use axes::{TITLED_AXIS, scale_axis, tick_digits, tick_labels, ticks, turned_title, x_axis, x_title, y_axis};
pub use notice::{empty_ui, failed_ui};
pub use numbers::{
    TimeUnit, angle, column_decimals, duration, duration_unit, fixed, prefix, reading, steps, value, with_unit,
};
pub use panel::*;
/// Formats a number with grouped thousands: `138,639`.
pub use text::count as thousands;
pub use text::{column, counted, plural, spaced, unwrap};
pub use y_scale::YScale;
