//! Conditions on which a recording takes checkpoints, for its manifest and for messages.

use crate::{data::group_digits, engine::CheckpointPlan};

/// Checkpoints of a recording: when they are taken, and how many are kept.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct CheckpointSettings {
    /// Wall-clock interval, seconds; 0 for none.
    pub every_s: f64,
    /// Interval in steps; 0 for none.
    pub every_steps: u64,
    /// Whether the recording ends with a checkpoint.
    pub at_end: bool,
    /// Number of the newest checkpoints that are kept; 0: all.
    pub kept: u32,
    /// Whether the interval was not set by the user.
    pub is_automatic: bool,
    /// Probe of which the state with the lowest value is kept; empty: no such state is kept.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub best_of: String,
    /// Number of its values in a row without an improvement after which the run ends; 0: never.
    #[serde(skip_serializing_if = "is_zero")]
    pub patience: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl CheckpointSettings {
    /// Describes a plan of which `kept` checkpoints are kept.
    pub fn of(plan: &CheckpointPlan, kept: u32) -> Self {
        Self {
            every_s: plan.every.as_secs_f64(),
            every_steps: plan.every_steps,
            at_end: plan.at_end,
            kept,
            is_automatic: plan.is_automatic,
            best_of: plan.best.map_or_else(String::new, |best| best.probe.to_owned()),
            patience: plan.best.map_or(0, |best| best.patience),
        }
    }

    /// Whether no checkpoints are taken.
    pub fn is_none(&self) -> bool {
        self.words(0).is_none()
    }

    /// Describes when checkpoints are taken and how many are kept, of about `n_bytes` each (0: unknown); `None` if there are none.
    pub fn words(&self, n_bytes: u64) -> Option<String> {
        let automatic = if self.is_automatic { " (automatic)" } else { "" };
        let mut when = vec![];
        when.extend((self.every_s > 0.0).then(|| format!("every {}{automatic}", interval(self.every_s))));
        when.extend((self.every_steps == 1).then(|| "every step".to_owned()));
        when.extend((self.every_steps > 1).then(|| format!("every {} steps", group_digits(self.every_steps))));
        let is_periodic = !when.is_empty();
        when.extend(self.at_end.then(|| "at the end".to_owned()));
        let best = match (self.best_of.as_str(), self.patience) {
            ("", _) => String::new(),
            (probe, 0) => format!("the one with the lowest {probe}"),
            (probe, n) => {
                let values = if n == 1 { "value".to_owned() } else { format!("{} values", group_digits(n.into())) };
                format!("the one with the lowest {probe}, which ends the run after {values} that are not lower")
            }
        };
        if when.is_empty() {
            return (!best.is_empty()).then_some(best);
        }
        let best = if best.is_empty() { best } else { format!("; {best}") };
        let kept = match self.kept {
            _ if !is_periodic => String::new(),
            0 => ", all kept".to_owned(),
            1 => ", the newest kept".to_owned(),
            n => format!(", the newest {n} kept"),
        };
        // A new checkpoint is complete before the oldest one is deleted.
        let most = match self.kept {
            0 => None,
            _ if !is_periodic => None,
            n => Some(n_bytes * (u64::from(n) + 1)),
        };
        let size = match (n_bytes, most) {
            (0, _) => String::new(),
            (n, None) => format!("; about {} each", mb(n)),
            (n, Some(most)) => format!("; about {} each, at most {} on disk", mb(n), mb(most)),
        };
        Some(format!("{}{kept}{size}{best}", when.join(" and ")))
    }
}

fn interval(secs: f64) -> String {
    if secs >= 60.0 && secs % 60.0 == 0.0 { format!("{} min", secs / 60.0) } else { format!("{secs} s") }
}

fn mb(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 * 1e-6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_described_with_the_number_kept_and_the_disk_space() {
        let plan =
            CheckpointSettings { every_s: 600.0, at_end: true, kept: 3, is_automatic: true, ..Default::default() };
        assert_eq!(
            plan.words(4_284_288).unwrap(),
            "every 10 min (automatic) and at the end, the newest 3 kept; about 4.3 MB each, at most 17.1 MB on disk"
        );
        let steps = CheckpointSettings { every_steps: 5000, ..Default::default() };
        assert_eq!(steps.words(2_000_000).unwrap(), "every 5,000 steps, all kept; about 2.0 MB each");
        let end = CheckpointSettings { at_end: true, kept: 3, ..Default::default() };
        assert_eq!(end.words(0).unwrap(), "at the end");
        let seconds = CheckpointSettings { every_s: 1.5, kept: 1, ..Default::default() };
        assert_eq!(seconds.words(0).unwrap(), "every 1.5 s, the newest kept");
        assert_eq!(CheckpointSettings { kept: 3, ..Default::default() }.words(7), None);
        let best = CheckpointSettings { best_of: "held_out".to_owned(), ..end.clone() };
        assert_eq!(best.words(0).unwrap(), "at the end; the one with the lowest held_out");
        let early = CheckpointSettings { at_end: false, patience: 3, ..best };
        let said = early.words(0).unwrap();
        assert_eq!(said, "the one with the lowest held_out, which ends the run after 3 values that are not lower");
    }
}
