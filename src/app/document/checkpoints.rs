//! Checkpoints of the running simulation, from which it can continue after a device failure.

use crate::{engine, project::Project};
use std::time::{Duration, Instant};

/// Interval of checkpoints on a device that can fail.
pub const CHECKPOINT_EVERY: Duration = Duration::from_secs(20);
/// Reciprocal of the share of run time that checkpoints may take.
const MAX_COST: u32 = 100;

/// A device failure.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceFailure {
    /// Error message with the remedy.
    pub text: String,
    /// Whether the simulation is lost. If it is not, a new simulation could not be built.
    pub stopped: bool,
    /// Whether the simulation was running, or was about to run.
    pub play: bool,
}

/// A saved state from which the simulation can continue.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// State of the simulation, with the number of logged commands since step 0 that led to the state.
    pub state: engine::Checkpoint,
    /// Document that belongs to the state.
    pub project: Project,
}

/// The newest checkpoint of the running simulation, and the failure that ended it.
#[derive(Default)]
pub struct Checkpoints {
    /// Interval of checkpoints; `None` if no checkpoints are taken.
    pub every: Option<Duration>,
    /// Failure of the device; `None` if there was none, and after another simulation is loaded.
    pub failure: Option<DeviceFailure>,
    checkpoint: Option<Checkpoint>,
    requested: Option<Instant>,
    next: Option<Instant>,
}

impl Checkpoints {
    /// Whether it is time to request a state.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let Some(every) = self.every else { return false };
        self.requested.is_none() && now >= *self.next.get_or_insert(now + every)
    }

    /// Records that a state was requested at `now`.
    pub fn requested(&mut self, now: Instant) {
        self.requested = Some(now);
    }

    /// Keeps a state that has arrived, and schedules the next one. The longer a state took, the later the next one is due.
    pub fn saved(&mut self, checkpoint: Checkpoint, now: Instant) {
        let Some(requested) = self.requested.take() else { return };
        self.checkpoint = Some(checkpoint);
        self.next = self.every.map(|every| now + every.max((now - requested) * MAX_COST));
    }

    /// Records that the request was rejected. The request is repeated after the interval.
    pub fn rejected(&mut self, now: Instant) {
        self.requested = None;
        self.next = self.every.map(|every| now + every);
    }

    /// Returns the state from which the simulation can continue; `None` unless the simulation is lost and a state was
    /// saved.
    pub fn recovery_point(&self) -> Option<&Checkpoint> {
        self.checkpoint().filter(|_| self.failure.as_ref().is_some_and(|failure| failure.stopped))
    }

    /// Returns the newest state; `None` before the first state.
    pub fn checkpoint(&self) -> Option<&Checkpoint> {
        self.checkpoint.as_ref()
    }

    /// Drops the states, because the simulation was replaced or rewound.
    pub fn forget_states(&mut self) {
        (self.checkpoint, self.requested, self.next) = (None, None, None);
    }

    /// Drops the states and the failure.
    pub fn forget(&mut self) {
        self.forget_states();
        self.failure = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Clock;

    const SEC: Duration = Duration::from_secs(1);

    fn kept(step: u64) -> Checkpoint {
        let clock = Clock { step, ..Clock::default() };
        Checkpoint { state: engine::Checkpoint { clock, ..Default::default() }, project: Project::default() }
    }

    #[test]
    fn checkpoints_are_periodic_and_bounded_in_cost() {
        let (mut checkpoints, start) = (Checkpoints::default(), Instant::now());
        assert!(!checkpoints.is_due(start + 100 * SEC), "disabled");
        checkpoints.every = Some(20 * SEC);
        assert!(!checkpoints.is_due(start));
        assert!(checkpoints.is_due(start + 20 * SEC));
        checkpoints.requested(start + 20 * SEC);
        assert!(!checkpoints.is_due(start + 60 * SEC), "one at a time");
        checkpoints.saved(kept(7), start + 21 * SEC);
        assert_eq!(checkpoints.checkpoint().map(|c| c.state.clock.step), Some(7));
        assert!(!checkpoints.is_due(start + 120 * SEC), "it took 1 s, so the next one waits 100 s");
        assert!(checkpoints.is_due(start + 121 * SEC));
        let failure = |stopped| Some(DeviceFailure { text: "gone".into(), stopped, play: true });
        assert!(checkpoints.recovery_point().is_none(), "it runs");
        checkpoints.failure = failure(false);
        assert!(checkpoints.recovery_point().is_none(), "it runs; only the next one could not be built");
        checkpoints.failure = failure(true);
        assert!(checkpoints.recovery_point().is_some());
        checkpoints.forget();
        assert!(checkpoints.checkpoint().is_none());
        checkpoints.saved(kept(9), start + 122 * SEC);
        assert!(checkpoints.checkpoint().is_none(), "a state of a lost simulation");
    }
}
