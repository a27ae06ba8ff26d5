//! Runs a simulation through a command log on the calling thread, for replays and tests.

use super::{LoggedCommand, SetChange};
use crate::{
    gpu::Pass,
    params::{Change, Params},
    sim::{Effect, ElementSet, Frame, InputData, Progress, SimError, Simulation, Tap},
};
use std::{ops::ControlFlow, sync::Arc};

/// Maximum number of steps between two samples.
const BATCH: u64 = 500;

/// Plan of a replay.
pub struct Plan<'a> {
    /// Commands and their steps.
    pub log: &'a [(u64, LoggedCommand)],
    /// Number of commands at the start of the log that were applied before the recording began.
    pub n_history: usize,
    /// First step of the recording, at which the probes are tapped.
    pub first: u64,
    /// Last step of the recording.
    pub end: u64,
    /// Probes that are sampled.
    pub taps: &'a [Tap],
    /// Function that reads the input data of a logged change again.
    pub data: &'a ReadData<'a>,
}

/// Function that reads input data again, given the parameters in effect, the change and the hash of the file.
pub type ReadData<'a> = dyn Fn(Vec<Change>, &Change, &str) -> Result<InputData, SimError> + 'a;

/// Observer that receives the samples of a replay.
pub trait Observer {
    /// Returns the next step from `step` on at which a sample is required; `None` if no more samples are required.
    fn next_sample(&mut self, step: u64) -> Option<u64>;
    /// Receives a sample. May end the replay.
    fn sampled(&mut self, frame: &Frame) -> ControlFlow<()>;
}

/// Runs to the end of the plan and applies each command at its step. Ends early without an error if the observer ends the
/// replay. Fails if a step, a command or its input data fails.
pub fn drive(
    sim: &mut dyn Simulation,
    plan: &Plan<'_>,
    progress: &Progress,
    observer: &mut dyn Observer,
) -> Result<(), SimError> {
    let mut log = plan.log.iter().filter(|(step, _)| *step <= plan.end);
    let n_before = plan.log.iter().take_while(|(step, _)| *step < plan.first).count().max(plan.n_history);
    let mut drive = Drive {
        sim,
        progress,
        end: plan.end,
        data: plan.data,
        observer: None,
        taps: vec![],
        generation: 0,
        sets: vec![],
    };
    for (step, command) in log.by_ref().take(n_before) {
        let _ = drive.run_to(*step)?;
        drive.apply(command)?;
    }
    let _ = drive.run_to(plan.first)?;
    drive.tap(plan.taps.to_vec())?;
    drive.observer = Some(observer);
    if drive.sample_if_due()?.is_break() {
        return Ok(());
    }
    for (step, command) in log {
        if drive.run_to(*step)?.is_break() {
            return Ok(());
        }
        drive.apply(command)?;
    }
    drive.run_to(plan.end).map(drop)
}

struct Drive<'a> {
    sim: &'a mut dyn Simulation,
    progress: &'a Progress,
    end: u64,
    data: &'a ReadData<'a>,
    observer: Option<&'a mut dyn Observer>,
    /// Taps, and the element sets to which their indices refer.
    taps: Vec<Tap>,
    generation: u64,
    sets: Vec<Arc<ElementSet>>,
}

impl Drive<'_> {
    fn tap(&mut self, taps: Vec<Tap>) -> Result<(), SimError> {
        (self.taps, self.generation, self.sets) = (taps, self.sim.generation(), self.sim.sets().to_vec());
        self.sim.tap(&self.taps)
    }

    /// After a sample, moves the taps of single elements to the indices in a changed set, as the engine does. Fails if the
    /// simulation rejects the taps.
    fn follow_sets(&mut self) -> Result<(), SimError> {
        if self.sim.generation() == self.generation
            && self.sim.sets().iter().zip(&self.sets).all(|(a, b)| Arc::ptr_eq(a, b))
        {
            return Ok(());
        }
        let (changes, mut taps) = (SetChange::between(&self.sets, self.sim.sets()), self.taps.clone());
        (self.generation, self.sets) = (self.sim.generation(), self.sim.sets().to_vec());
        match SetChange::follow_taps(&changes, self.sim.probes(), &mut taps) {
            true => self.tap(taps),
            false => Ok(()),
        }
    }

    fn apply(&mut self, command: &LoggedCommand) -> Result<(), SimError> {
        let applied = self.apply_command(command);
        self.follow_sets()?;
        applied
    }

    fn apply_command(&mut self, command: &LoggedCommand) -> Result<(), SimError> {
        match command {
            LoggedCommand::Set(change) => self.sim.set(change).map(drop),
            LoggedCommand::Data(change, hash) => {
                let now = self.sim.params().map(Params::snapshot).unwrap_or_default();
                let data = (self.data)(now, change, hash)?;
                match self.sim.replace(&data)? {
                    Effect::Applied => Ok(()),
                    Effect::NeedsRebuild => Err(SimError::Input("the data need a rebuild now".to_owned())),
                }
            }
            LoggedCommand::Act(action) => action.perform(self.sim).map(drop),
            LoggedCommand::Rewind => self.sim.rewind(),
            LoggedCommand::Former(..) => Ok(()),
        }
    }

    fn next_sample(&mut self) -> Option<u64> {
        let step = self.sim.clock().step;
        self.observer.as_mut().and_then(|o| o.next_sample(step))
    }

    /// Samples the current step if the observer requires it. Fails if the sample cannot be read from the simulation.
    fn sample_if_due(&mut self) -> Result<ControlFlow<()>, SimError> {
        if self.next_sample() == Some(self.sim.clock().step) { self.sample() } else { Ok(ControlFlow::Continue(())) }
    }

    fn sample(&mut self) -> Result<ControlFlow<()>, SimError> {
        let Some(observer) = &mut self.observer else { return Ok(ControlFlow::Continue(())) };
        let mut frame = Frame { clock: self.sim.clock(), ..Frame::default() };
        self.sim.sample(&mut frame)?;
        Ok(observer.sampled(&frame))
    }

    fn run_to(&mut self, step: u64) -> Result<ControlFlow<()>, SimError> {
        let mut pass = Pass::default();
        pass.ends_at_changes = true;
        while self.sim.clock().step < step {
            let now = self.sim.clock().step;
            self.progress.report("replaying", now as f32 / self.end.max(1) as f32)?;
            let stop = self.next_sample().filter(|s| *s > now).map_or(step, |s| s.min(step));
            self.sim.advance(BATCH.min(stop - now) as u32, &mut pass)?;
            if self.sample()?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            self.follow_sets()?;
        }
        Ok(ControlFlow::Continue(()))
    }
}
