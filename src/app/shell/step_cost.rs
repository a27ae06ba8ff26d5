//! Estimate of the duration of a step on the CPU, from the operations that a kind declares. It is shown before a run is started,
//! because a model designed for a GPU seems to hang on the CPU.

use crate::{
    app::kit::text::rough_time,
    kinds::Model,
    sim::{Counted, TimeBase},
};

/// Maximum operations per second and CPU thread, as large matrix products reach them.
const OPS_PER_THREAD: f64 = 30e9;
/// Minimum duration of a step for which a warning is shown, seconds.
const LONG_SECS: f64 = 5.0;

/// Returns a warning about the duration of a step with this number of CPU threads; `None` for short steps, and for kinds that
/// declare no operations.
pub fn on_cpu(model: &Model, threads: u32) -> Option<String> {
    let ops = model.counts().iter().filter(|c| c.counted == Counted::Ops).map(|c| c.per_step).sum();
    sentence(ops, threads, model.time_base())
}

fn sentence(ops: f64, threads: u32, base: TimeBase) -> Option<String> {
    let secs = ops / (OPS_PER_THREAD * f64::from(threads.max(1)));
    let step = if let TimeBase::Count { singular, .. } = base { singular } else { "step" };
    let article = if step.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    let text = || {
        format!("Slow on the CPU: {article} {step} takes at least {}. Use a GPU or a smaller model", rough_time(secs))
    };
    (secs > LONG_SECS).then(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_steps_are_pointed_out_before_they_are_run() {
        let base = TimeBase::count("update", "updates");
        assert_eq!(sentence(1e9, 1, base), None);
        let of = |ops, threads| sentence(ops, threads, base).expect("a long step");
        assert!(of(4.5e14, 1).contains("an update takes at least 4.2 h"), "{}", of(4.5e14, 1));
        assert!(of(4.5e14, 16).contains("16 min"));
        assert_eq!([12.0, 99.0, 600.0, 360_000.0].map(rough_time), ["12 s", "99 s", "10 min", "100 h"]);
    }
}
