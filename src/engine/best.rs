//! Best state of a recording: follows a result that is to become low, keeps the state with the lowest value, and ends a run that
//! no longer improves (Prechelt 1998).

use super::{
    EndStatus, Event,
    worker::{Running, Worker},
};
use crate::sim::{Frame, ProbeId, ProbeSpec, Reading, Tap, group_digits};

/// Conditions on which a recording follows its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BestPlan {
    /// Probe of the result: a series of which a lower value is a better state.
    pub probe: &'static str,
    /// Number of values in a row without an improvement after which the run pauses; 0: never.
    pub patience: u32,
    /// Best state of the recording that is continued; `None` for a new recording.
    pub known: Option<BestState>,
}

/// Lowest value of a result so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct BestState {
    /// Step of the state.
    pub step: u64,
    /// Value at the state.
    pub value: f32,
    /// Number of later values, none of which is lower.
    pub n_later: u32,
}

impl BestState {
    /// Says that a run ended early, because the values of a probe were no longer lower.
    pub fn words(&self, probe: &str) -> String {
        let Self { step, value, n_later } = self;
        let step = group_digits(*step);
        format!("Stopped early: {n_later} values of {probe} in a row are not below {value}, that of step {step}")
    }
}

/// Result of a recording in progress.
pub(super) struct FollowedResult {
    /// Tap of the probe, which is sampled even if it is not recorded.
    pub tap: Tap,
    plan: BestPlan,
    /// Best state so far; `None` before the first value.
    pub best: Option<BestState>,
    /// Newest value with its step, until it is compared.
    newest: Option<(u64, f32)>,
}

/// Consequence of a new value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Improved,
    Worse,
    Ended,
}

impl FollowedResult {
    /// Starts to follow the result of a plan; `None` if the simulation has no such probe.
    pub fn new(plan: BestPlan, probes: &[ProbeSpec]) -> Option<Self> {
        let probe = probes.iter().position(|probe| probe.name == plan.probe)?;
        Some(Self { tap: Tap::of(probe as ProbeId), plan, best: plan.known, newest: None })
    }

    /// Takes the newest value from a sample.
    pub fn read(&mut self, frame: &Frame) {
        if let Some(Reading::Series(series)) = frame.reading(self.tap.key())
            && let Some((step, value)) = series.steps.last().zip(series.values.last())
        {
            self.newest = Some((*step, *value));
        }
    }

    /// Compares the newest value with the best one; `None` without a new value. A value that is no number is not an improvement.
    fn compare(&mut self) -> Option<Verdict> {
        let (step, value) = self.newest.take()?;
        let is_lower = value.is_finite() && self.best.is_none_or(|best| value < best.value);
        if is_lower {
            self.best = Some(BestState { step, value, n_later: 0 });
            return Some(Verdict::Improved);
        }
        let best = self.best.as_mut()?;
        best.n_later += 1;
        let is_ended = self.plan.patience > 0 && best.n_later >= self.plan.patience;
        Some(if is_ended { Verdict::Ended } else { Verdict::Worse })
    }
}

impl<W: Fn()> Worker<W> {
    /// Keeps the present state if its result is the lowest so far; pauses and ends the recording if the result has not improved
    /// for long enough.
    pub(super) fn follow_result(&mut self) {
        let Some(followed) = self.recorder.as_mut().and_then(|recorder| recorder.followed.as_mut()) else { return };
        match followed.compare() {
            Some(Verdict::Improved) => self.keep_best(),
            Some(Verdict::Ended) => {
                let (probe, best) = (followed.plan.probe, followed.best.unwrap_or_default());
                // A recording that is continued afterwards has as many chances again.
                followed.best = Some(BestState { n_later: 0, ..best });
                self.send_event(Event::StoppedEarly { probe, best });
                self.set_running(Running::Paused);
                self.end_recording(EndStatus::Complete);
            }
            Some(Verdict::Worse) | None => {}
        }
    }

    /// Whether the result of the recording is followed.
    pub(super) fn follows_result(&self) -> bool {
        self.recorder.as_ref().is_some_and(|recorder| recorder.followed.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Shape;

    fn followed(patience: u32, values: &[f32]) -> (Vec<Verdict>, Option<BestState>) {
        let shape = Shape::Series { of: "" };
        let probes = [ProbeSpec { name: "loss", title: "", docs: "", unit: "nat", shape, args: &[] }];
        let plan = BestPlan { probe: "loss", patience, known: None };
        let mut followed = FollowedResult::new(plan, &probes).expect("a probe");
        let verdicts = (1..).zip(values).filter_map(|(step, value)| {
            followed.newest = Some((step * 10, *value));
            followed.compare()
        });
        let verdicts = verdicts.collect();
        assert_eq!(followed.compare(), None, "no new value");
        (verdicts, followed.best)
    }

    #[test]
    fn the_lowest_value_is_the_best_and_patience_ends() {
        use Verdict::{Ended, Improved, Worse};
        let values = [3.0, 2.0, 2.0, f32::NAN, 1.5, 1.6];
        let (verdicts, best) = followed(0, &values);
        assert_eq!(verdicts, [Improved, Improved, Worse, Worse, Improved, Worse]);
        assert_eq!(best, Some(BestState { step: 50, value: 1.5, n_later: 1 }));
        let (verdicts, best) = followed(2, &values[..4]);
        assert_eq!((verdicts.last(), best.expect("a state").step), (Some(&Ended), 20));
        assert_eq!(followed(1, &[f32::NAN, f32::INFINITY]), (vec![], None));
    }
}
