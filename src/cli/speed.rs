//! Formats the speed of a run as text and JSON: simulated time or steps per second, and the rates of the amounts that the kind
//! counts.

use crate::{
    data::group_digits,
    gpu::ceilings::{Ceilings, cpu_name},
    project::peak_performance,
    sim::{Clock, Counted, StepCount, TimeBase},
};
use serde_json::{Value as Json, json};

/// Formats the progress of a run: simulated time or steps, speed, and the rate of the first items that a counted step processes.
pub(super) fn progress_text(first: Clock, clock: Clock, wall_s: f64, counts: &[StepCount]) -> String {
    let rate = per_second(clock.secs() - first.secs(), wall_s);
    match clock.base {
        TimeBase::Seconds { .. } => format!("{:.2} s simulated  {rate:.2}x real time", clock.secs()),
        TimeBase::Count { plural, .. } => {
            let items = counts.iter().find(|count| count.counted == Counted::Items);
            let items = items.map_or_else(String::new, |count| format!("  {}", count.rate_text(rate, None)));
            format!("{} {}  {rate:.0} {plural}/s{items}", group_digits(clock.step), clock.base.name(clock.step))
        }
    }
}

/// Formats the speed after a run, or after all trials of a series: `400 generations in 2.100 s: 190.5 generations/s`.
pub(super) fn speed_text(n_steps: u64, base: TimeBase, wall_s: f64) -> String {
    let amount = Clock { step: n_steps, base }.secs();
    let rate = per_second(amount, wall_s);
    match base {
        TimeBase::Seconds { .. } => format!("{amount:.4} s simulated in {wall_s:.3} s: {rate:.3}x real time"),
        TimeBase::Count { plural, .. } => {
            format!("{} {} in {wall_s:.3} s: {rate:.1} {plural}/s", group_digits(n_steps), base.name(n_steps))
        }
    }
}

/// Adds the length of a run and the speed of all trials to a JSON result.
pub(super) fn put_speed(out: &mut Json, n_steps: u64, n_trials: u32, base: TimeBase, wall_s: f64) {
    let length = Clock { step: n_steps, base }.secs();
    let rate = per_second(f64::from(n_trials) * length, wall_s);
    match base {
        TimeBase::Seconds { .. } => {
            out["duration_s"] = json!(length);
            out["realtime_factor"] = json!(rate);
        }
        TimeBase::Count { plural, .. } => {
            out["counted_in"] = json!(plural);
            out["steps_per_s"] = json!(rate);
        }
    }
}

/// Returns an amount (simulated seconds, or steps) per second of wall time; 0 if the wall time is 0.
pub(super) fn per_second(amount: f64, wall_s: f64) -> f64 {
    if wall_s > 0.0 { amount / wall_s } else { 0.0 }
}

/// Loads the measured peak rates of a device; `None` if the rates have not been measured.
pub(super) fn measured_peaks(device: &str, threads: u32) -> Option<Ceilings> {
    let model = device.split(" (").next().unwrap_or_default();
    let name = if device.starts_with("CPU") { cpu_name(threads as usize) } else { model.to_owned() };
    peak_performance::load(&peak_performance::cache_folder()?, &name)
}

/// Formats the number of trainable parameters: `363,648 parameters`.
pub(super) fn parameters_text(n: u64) -> String {
    format!("{} {}", group_digits(n), if n == 1 { "parameter" } else { "parameters" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_steps_have_no_real_time() {
        let generations = TimeBase::count("generation", "generations");
        assert_eq!(speed_text(400, generations, 2.1), "400 generations in 2.100 s: 190.5 generations/s");
        assert_eq!(speed_text(1, generations, 0.5), "1 generation in 0.500 s: 2.0 generations/s");
        assert_eq!(speed_text(10_000, generations, 5.0), "10,000 generations in 5.000 s: 2000.0 generations/s");
        assert_eq!(speed_text(20_000, TimeBase::seconds(1e-4), 4.0), "2.0000 s simulated in 4.000 s: 0.500x real time");
        let at = |step| Clock { step, base: TimeBase::STEPS };
        let counts = [StepCount::ops("of the model", 1e9), StepCount::items("tokens", 512.0)];
        assert_eq!(progress_text(at(0), at(2000), 20.0, &counts), "2,000 steps  100 steps/s  51.2 k tokens/s");
        assert_eq!(progress_text(at(0), at(1), 1.0, &[]), "1 step  1 steps/s");
        let mut out = json!({});
        put_speed(&mut out, 400, 1, generations, 2.0);
        assert_eq!(out, json!({ "counted_in": "generations", "steps_per_s": 200.0 }));
    }
}

/// Amounts per step, averaged over the steps.
#[derive(Default)]
pub(super) struct MeanCounts {
    sums: Vec<StepCount>,
    n_steps: f64,
    /// Last step that was added.
    last: u64,
}

impl MeanCounts {
    /// Starts averaging after step `step`.
    pub fn since(step: u64) -> Self {
        Self { last: step, ..Self::default() }
    }

    /// Adds the steps since the last call. All of them count with the amounts of the newest step.
    pub fn add(&mut self, step: u64, counts: Vec<StepCount>) {
        let n = step.saturating_sub(self.last) as f64;
        self.last = step;
        if self.sums.len() != counts.len() {
            (self.sums, self.n_steps) = (counts.iter().map(|c| StepCount { per_step: 0.0, ..*c }).collect(), 0.0);
        }
        self.n_steps += n;
        self.sums.iter_mut().zip(counts).for_each(|(sum, count)| sum.per_step += n * count.per_step);
    }

    /// Returns the mean amounts per step.
    pub fn means(&self) -> Vec<StepCount> {
        let mean = |sum: &StepCount| StepCount { per_step: sum.per_step / self.n_steps.max(1.0), ..*sum };
        self.sums.iter().map(mean).collect()
    }
}
