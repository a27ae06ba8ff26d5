//! Schedule of an intervention: a span of steps, continuous or pulsed.

use super::{ParamSpec, Role, Value, dimension::Dimension};

/// Span of steps in which an intervention is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// First step of the span.
    pub from: u64,
    /// First step after the span; `u64::MAX` if it never ends.
    pub to: u64,
    /// Period and duration of pulses in steps; `None` for a continuous intervention.
    pub pulses: Option<(u64, u64)>,
}

impl Schedule {
    /// Schedule that is active from step 0 without end.
    pub const ALWAYS: Self = Self { from: 0, to: u64::MAX, pulses: None };

    /// Reads the schedule from the fields of a group by their roles. `per_step` is the duration of a step in the unit of
    /// the time fields. Fails with an error that names the field.
    pub fn read(
        specs: &[ParamSpec],
        value: impl Fn(usize) -> Value,
        shown: impl Fn(usize) -> bool,
        per_step: f64,
    ) -> Result<Self, String> {
        let at = |role| specs.iter().position(|s| s.role == role);
        let time = |role| match at(role).map(&value) {
            Some(Value::Real(time)) => time,
            Some(Value::Int(n)) => n as f64,
            _ => 0.0,
        };
        let (start, stop, period) = (time(Role::Start), time(Role::Stop), time(Role::Period));
        let from = steps(start, per_step);
        let to = if stop == 0.0 { u64::MAX } else { steps(stop, per_step) };
        if to <= from {
            let unit = at(Role::Start).map_or("", |i| specs[i].unit.suffix());
            return Err(format!(
                "stop: {stop} {unit} is not after the start at {start} {unit}. Enter a later time, or 0 for never"
            ));
        }
        let is_pulsed = period > 0.0 && at(Role::Period).is_some_and(shown);
        let pulses = is_pulsed.then(|| (steps(period, per_step).max(1), steps(time(Role::PulseDuration), per_step)));
        Ok(Self { from, to, pulses })
    }

    /// Returns whether the schedule is active in a step, and the next step at which this changes; `u64::MAX` if it never
    /// changes.
    pub fn at(&self, step: u64) -> (bool, u64) {
        match self.pulses {
            _ if step < self.from => (false, self.from),
            _ if step >= self.to => (false, u64::MAX),
            None => (true, self.to),
            Some((every, on)) => {
                let into = (step - self.from) % every;
                let edge = if into < on { on } else { every };
                (into < on, self.to.min((step - into).saturating_add(edge)))
            }
        }
    }
}

/// Converts a time to steps as Brian2's `timestep()` does, so that `2.2 / 0.1 = 22.000000000000004` and similar errors have
/// no effect.
pub fn steps(time: f64, per_step: f64) -> u64 {
    ((time + 1e-3 * per_step) / per_step).max(0.0) as u64
}

/// Converts the duration of a step from seconds to the unit of a time parameter; counted steps have length 1.
pub fn per_step_in(spec: &ParamSpec, per_step: f64) -> f64 {
    match spec.unit.dimension() {
        (Dimension::TIME, exponent) if exponent < 0 => per_step * 10_f64.powi(-exponent),
        _ => per_step,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pulses_are_on_and_off_in_turn() {
        let steady = Schedule { from: 10, to: 95, pulses: None };
        let pulsed = Schedule { pulses: Some((20, 5)), ..steady };
        assert_eq!([0, 10, 94, 95].map(|s| steady.at(s)), [(false, 10), (true, 95), (true, 95), (false, u64::MAX)]);
        let at = |step| pulsed.at(step);
        assert_eq!([at(9), at(10), at(14), at(15)], [(false, 10), (true, 15), (true, 15), (false, 30)]);
        assert_eq!(
            [at(29), at(30), at(91), at(94), at(95)],
            [(false, 30), (true, 35), (true, 95), (true, 95), (false, u64::MAX)]
        );
        let is_on = |when: &Schedule| (0..200).filter(|s| when.at(*s).0).count();
        assert_eq!((is_on(&steady), is_on(&pulsed)), (85, 25));
    }

    #[test]
    fn steps_are_counted_as_brian2_does() {
        assert_eq!([2.2, 1.8, 0.0, 0.25].map(|ms| steps(ms, 0.1)), [22, 18, 0, 2]);
        assert_eq!([100.0, 0.0].map(|n| steps(n, 1.0)), [100, 0]);
    }
}
