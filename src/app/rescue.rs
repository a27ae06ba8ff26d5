//! What is kept for the day the device fails: a recent state of the simulation, and what was said of the failure.

use crate::{project::Project, sim::Clock};
use std::time::{Duration, Instant};

/// A state is kept this often on a device that can fail.
pub const CHECKPOINT_EVERY: Duration = Duration::from_secs(20);
/// Keeping a state may take this part of the time, at most.
const SHARE: u32 = 100;

/// A device that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What it said: a sentence with the way out.
    pub text: String,
    /// Whether the simulation is gone; otherwise a new one could not be built.
    pub stopped: bool,
    /// Whether it was running, or was to run.
    pub play: bool,
}

/// A state to continue from.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// What the simulation wrote.
    pub state: Vec<u8>,
    /// When in simulated time.
    pub clock: Clock,
    /// The document it belongs to.
    pub project: Project,
    /// Logged commands since step 0 it has taken up.
    pub n_logged: usize,
}

/// The newest checkpoint of the running simulation, and the failure that ended it.
#[derive(Default)]
pub struct Rescue {
    /// Time between checkpoints; none keeps none.
    pub every: Option<Duration>,
    /// The failure, until a simulation takes its place.
    pub fault: Option<Fault>,
    checkpoint: Option<Checkpoint>,
    asked: Option<(Instant, Project)>,
    next: Option<Instant>,
}

impl Rescue {
    /// Whether a state is to be asked for.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let Some(every) = self.every else { return false };
        self.asked.is_none() && now >= *self.next.get_or_insert(now + every)
    }

    /// It was asked for, of a simulation that has taken up this document.
    pub fn asked(&mut self, now: Instant, project: Project) {
        self.asked = Some((now, project));
    }

    /// It came. The next one waits the longer, the longer this one took.
    pub fn saved(&mut self, state: Vec<u8>, clock: Clock, n_logged: usize, now: Instant) {
        let Some((asked, project)) = self.asked.take() else { return };
        self.checkpoint = Some(Checkpoint { state, clock, project, n_logged });
        self.next = self.every.map(|every| now + every.max((now - asked) * SHARE));
    }

    /// It was refused: asked for again in its time.
    pub fn refused(&mut self, now: Instant) {
        self.asked = None;
        self.next = self.every.map(|every| now + every);
    }

    /// The state to continue from, when the simulation it was kept of is gone.
    pub fn way_on(&self) -> Option<&Checkpoint> {
        self.checkpoint().filter(|_| self.fault.as_ref().is_some_and(|fault| fault.stopped))
    }

    /// The newest state.
    pub fn checkpoint(&self) -> Option<&Checkpoint> {
        self.checkpoint.as_ref()
    }

    /// The simulation is another one, or is somewhere else: its states are no good any more.
    pub fn forget_states(&mut self) {
        (self.checkpoint, self.asked, self.next) = (None, None, None);
    }

    /// The same, and there is no failure any more.
    pub fn forget(&mut self) {
        self.forget_states();
        self.fault = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEC: Duration = Duration::from_secs(1);

    #[test]
    fn states_come_at_their_time_and_not_at_the_cost_of_the_run() {
        let (mut rescue, start) = (Rescue::default(), Instant::now());
        assert!(!rescue.is_due(start + 100 * SEC), "nobody wants any");
        rescue.every = Some(20 * SEC);
        assert!(!rescue.is_due(start));
        assert!(rescue.is_due(start + 20 * SEC));
        rescue.asked(start + 20 * SEC, Project::default());
        assert!(!rescue.is_due(start + 60 * SEC), "one at a time");
        rescue.saved(vec![1], Clock { step: 7, secs_per_step: 1.0 }, 0, start + 21 * SEC);
        assert_eq!(rescue.checkpoint().map(|c| c.clock.step), Some(7));
        assert!(!rescue.is_due(start + 120 * SEC), "it took a second, so the next one waits for a hundred");
        assert!(rescue.is_due(start + 121 * SEC));
        let fault = |stopped| Some(Fault { text: "gone".into(), stopped, play: true });
        assert!(rescue.way_on().is_none(), "it runs");
        rescue.fault = fault(false);
        assert!(rescue.way_on().is_none(), "it runs on, only the next one could not be built");
        rescue.fault = fault(true);
        assert!(rescue.way_on().is_some());
        rescue.forget();
        assert!(rescue.checkpoint().is_none());
        rescue.saved(vec![2], Clock::default(), 0, start + 122 * SEC);
        assert!(rescue.checkpoint().is_none(), "a state of a simulation that is gone");
    }
}
