//! Time base: a step is a span of simulated time or a count.

/// Unit of a kind's steps, which time axes, captions, the speed and the planned length of a run use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeBase {
    /// Step with a simulated duration.
    Seconds {
        /// Simulated seconds per step, greater than 0.
        per_step: f64,
    },
    /// Step without a duration, which is counted.
    Count {
        /// Singular noun: `generation`, `token`, `update`.
        singular: &'static str,
        /// Plural noun: `generations`, `tokens`, `updates`.
        plural: &'static str,
    },
}

impl Default for TimeBase {
    fn default() -> Self {
        Self::STEPS
    }
}

impl TimeBase {
    /// Counted steps without a specific noun.
    pub const STEPS: Self = Self::count("step", "steps");

    /// Creates a time base with the simulated duration `per_step` in seconds.
    pub const fn seconds(per_step: f64) -> Self {
        Self::Seconds { per_step }
    }

    /// Creates a time base of counted steps.
    pub const fn count(singular: &'static str, plural: &'static str) -> Self {
        Self::Count { singular, plural }
    }

    /// Whether steps are counted and have no duration.
    pub const fn is_count(self) -> bool {
        matches!(self, Self::Count { .. })
    }

    /// Returns the units of the time axis per step: simulated seconds, or 1 for counted steps.
    pub const fn per_step(self) -> f64 {
        match self {
            Self::Seconds { per_step } => per_step,
            Self::Count { .. } => 1.0,
        }
    }

    /// Returns the singular noun of a step: `generation`, or `step` if steps have a duration.
    pub const fn singular(self) -> &'static str {
        match self {
            Self::Seconds { .. } => "step",
            Self::Count { singular, .. } => singular,
        }
    }

    /// Returns the plural noun of a step.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Seconds { .. } => "steps",
            Self::Count { plural, .. } => plural,
        }
    }

    /// Returns the noun for `n` steps.
    pub const fn name(self, n: u64) -> &'static str {
        if n == 1 { self.singular() } else { self.plural() }
    }
}

/// Current step of a simulation with its time base.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clock {
    /// Number of steps taken.
    pub step: u64,
    /// Time base of a step.
    pub base: TimeBase,
}

impl Clock {
    /// Creates a clock with the simulated duration `per_step` in seconds.
    pub const fn seconds(step: u64, per_step: f64) -> Self {
        Self { step, base: TimeBase::seconds(per_step) }
    }

    /// Returns the position on the time axis: simulated seconds, or the number of steps if they are counted.
    pub fn secs(self) -> f64 {
        self.step as f64 * self.base.per_step()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_has_its_own_names_and_no_duration() {
        let base = TimeBase::count("generation", "generations");
        assert_eq!((base.name(1), base.name(2), base.per_step()), ("generation", "generations", 1.0));
        assert_eq!(Clock { step: 7, base }.secs(), 7.0);
        let time = TimeBase::seconds(1e-4);
        assert_eq!((time.name(1), time.name(0), time.is_count()), ("step", "steps", false));
        assert_eq!(Clock::seconds(5, 0.5).secs(), 2.5);
    }
}
