//! The Profile panels: where the time goes, for every kind and on both backends.
//!
//! They share a [`Profile`]: what one chooses (a range of batches, a kernel), all show. Nothing is collected while none
//! of them is visible: a panel that wants batches says so in [`View::profiles`](super::View::profiles).

mod baseline;
mod commands;
mod detail;
mod export;
mod figures;
mod kernels;
mod lanes;
mod machine;
mod memory;
mod numerics;
mod record;
mod roofline;
mod steps;
mod timeline;

pub use baseline::Baseline;
pub use kernels::Kernels;
pub use machine::Machine;
pub use memory::Memory;
pub use numerics::{Comparison, Numerics};
pub use record::{Overhead, Profile};
pub use roofline::Roofline;
pub use steps::Steps;
pub use timeline::Timeline;

use super::ViewCtx;
use crate::gpu::Timing;
use egui::Ui;

/// `1.2 G`: a quantity per second.
fn rate(per_sec: f64) -> String {
    let (scale, suffix) = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")]
        .into_iter()
        .find(|(s, _)| per_sec >= *s)
        .unwrap_or((1.0, ""));
    format!("{:.1}{suffix}", per_sec / scale)
}

/// Bytes a row moved: as the launcher counted them, else as declared per item; 0 when neither is known.
fn bytes_of(timing: &Timing, machine: &Machine) -> u64 {
    match (timing.bytes, machine.work_of(timing.name)) {
        (0, Some(work)) => (work.bytes * timing.items as f64) as u64,
        (counted, _) => counted,
    }
}

/// When there will be something to see.
fn waiting(profile: &Profile) -> String {
    match profile.every {
        0 | 1 => "Every batch is measured while the model runs".to_owned(),
        every => format!("One batch in {every} is measured while the model runs; how many is set in Steps"),
    }
}

/// `overhead 4 % of a measured batch, 0.1 % overall`.
fn overhead_text(profile: &Profile) -> String {
    let Some(Overhead { measured, overall }) = profile.overhead() else {
        return "cost of measuring not known: too few steps, or they vary".into();
    };
    // Noise is no speed-up.
    let (measured, overall) = (measured.max(0.0) * 100.0, overall.max(0.0) * 100.0);
    format!("measuring costs {measured:.1} % of a measured batch, {overall:.2} % overall")
}

/// Stops taking in new batches, so that what is looked at stays.
fn hold_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    let hint = if ctx.profile.held { "Take in new batches again" } else { "Keep what is shown while the run goes on" };
    ui.toggle_value(&mut ctx.profile.held, egui::RichText::new("Hold").small()).on_hover_text(hint);
}
