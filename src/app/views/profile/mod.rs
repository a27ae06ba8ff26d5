//! Profile panels of time and memory, for every model on both backends.
//!
//! The panels share a [`Profile`], so that a range or kernel chosen in one panel is shown in all. Batches are collected only
//! while a panel with [`profiles`](super::ViewDeclaration::profiles) is visible.

mod commands;
mod detail;
mod export;
mod figures;
mod kernels;
mod lanes;
mod memory;
mod numerics;
mod roofline;
mod steps;
mod timeline;

pub use kernels::Kernels;
pub use memory::Memory;
pub use numerics::Numerics;
pub use roofline::Roofline;
pub use steps::Steps;
pub use timeline::Timeline;

use super::ViewCtx;
use crate::{
    app::{
        document::profile::{Overhead, Profile},
        kit,
    },
    gpu::PROFILE_EVERY,
};
use egui::Ui;

/// Formats a quantity per second with an SI prefix: `1.2 G`.
fn rate(per_sec: f64) -> String {
    let (scale, suffix) = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")]
        .into_iter()
        .find(|(s, _)| per_sec >= *s)
        .unwrap_or((1.0, ""));
    format!("{:.1}{suffix}", per_sec / scale)
}

/// Returns the text that states which batches are measured, for a panel without data.
fn waiting(profile: &Profile) -> String {
    match profile.every {
        0 => format!("One batch in {PROFILE_EVERY}, or fewer, is measured during a run (see Steps)"),
        1 => "Every batch is measured during a run".to_owned(),
        every => format!("One batch in {every} is measured during a run (see Steps)"),
    }
}

/// Formats the numbers of steps: `3 of 240 steps measured`.
fn steps_text(profile: &Profile) -> String {
    let (measured, all) = profile.steps();
    format!("{} of {} measured", kit::thousands(measured), profile.count_steps(all))
}

/// Formats the cost of measuring: `measuring costs 4 % of a measured batch, 0.1 % overall`.
fn overhead_text(profile: &Profile) -> String {
    let Some(Overhead { measured, overall }) = profile.overhead() else {
        return "cost of measuring unknown: too few or too variable steps".into();
    };
    // A negative cost is noise.
    let (measured, overall) = (measured.max(0.0) * 100.0, overall.max(0.0) * 100.0);
    format!("measuring costs {measured:.1} % of a measured batch, {overall:.2} % overall")
}

/// Draws the toggle that stops adding new batches to the profile.
fn hold_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    let hint =
        if ctx.profile.held { "Resume collecting batches" } else { "Freeze the profile while the run continues" };
    ui.toggle_value(&mut ctx.profile.held, egui::RichText::new("Hold").small()).on_hover_text(hint);
}
