//! Checkpoints: a snapshot of the simulation, and what led to it.

use super::worker::Worker;
use crate::{
    params::{Change, Params},
    sim::{Clock, Digest, Effect, SimError, Simulation, Snapshot},
};
use std::sync::Arc;

/// A state to continue from. Clones share the memory of the snapshot.
#[derive(Clone, Debug, Default)]
pub struct Checkpoint {
    /// The state.
    pub snapshot: Arc<Snapshot>,
    /// When.
    pub clock: Clock,
    /// Hash and totals until then.
    pub digest: Digest,
    /// The parameters in effect; empty when the simulation does not publish them.
    pub params: Vec<Change>,
    /// Entries of the command log that led to it. Later entries at the same step are not part of it.
    pub n_logged: u64,
}

impl<W: Fn()> Worker<W> {
    /// A checkpoint of the present state. The simulation waits for the copy to host memory only.
    pub(super) fn checkpoint(&mut self) -> Option<Result<Checkpoint, SimError>> {
        let n_logged = self.history.commands.len() as u64;
        let sim = self.sim.as_mut()?;
        let params = params_of(&**sim);
        Some(sim.save().map(|snapshot| Checkpoint {
            snapshot: Arc::new(snapshot),
            clock: sim.clock(),
            digest: sim.digest(),
            params,
            n_logged,
        }))
    }
}

fn params_of(sim: &dyn Simulation) -> Vec<Change> {
    sim.params().map(Params::snapshot).unwrap_or_default()
}

/// Returns a simulation to a checkpoint, with the parameters of then. An `Err` leaves it as it was.
pub(super) fn restore(sim: &mut dyn Simulation, checkpoint: &Checkpoint) -> Result<(), SimError> {
    let now = params_of(sim);
    let changes: Vec<&Change> = checkpoint.params.iter().filter(|change| !now.contains(change)).collect();
    if changes.is_empty() {
        return sim.load(&checkpoint.snapshot);
    }
    // A parameter may change the state, so the state is loaded last.
    let before = sim.save()?;
    let restored = changes.iter().try_for_each(|change| match sim.set(change)? {
        Effect::Applied => Ok(()),
        Effect::NeedsRebuild => Err(SimError::Input("the checkpoint needs other parameters: rebuild first".to_owned())),
    });
    let restored = restored.and_then(|()| sim.load(&checkpoint.snapshot));
    if restored.is_err() {
        now.iter().filter(|change| !checkpoint.params.contains(change)).try_for_each(|c| sim.set(c).map(drop))?;
        sim.load(&before)?;
    }
    restored
}
