//! Drives a simulation through a command log without a thread: what a replay and a test need.

use super::LoggedCommand;
use crate::{
    gpu::Pass,
    sim::{Frame, Progress, SimError, Simulation},
};
use std::ops::ControlFlow;

/// Steps between two looks.
const BATCH: u64 = 500;

/// Runs to `end`, taking up each command of `log` at its step. `look` sees everything that is tapped, and
/// may stop the run.
pub fn drive(
    sim: &mut dyn Simulation,
    log: &[(u64, LoggedCommand)],
    end: u64,
    progress: &Progress,
    mut look: impl FnMut(&Frame) -> ControlFlow<()>,
) -> Result<(), SimError> {
    for (step, what) in log.iter().filter(|(step, _)| *step <= end) {
        if run_to(sim, *step, end, progress, &mut look)?.is_break() {
            return Ok(());
        }
        match what {
            LoggedCommand::Set(change) => {
                sim.set(change)?;
            }
            LoggedCommand::Act(action) => sim.act(action)?,
            LoggedCommand::Rewind => sim.rewind()?,
        }
    }
    run_to(sim, end, end, progress, &mut look).map(drop)
}

fn run_to(
    sim: &mut dyn Simulation,
    step: u64,
    end: u64,
    progress: &Progress,
    look: &mut impl FnMut(&Frame) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, SimError> {
    let mut pass = Pass::default();
    while sim.clock().step < step {
        progress.report("replaying", sim.clock().step as f32 / end.max(1) as f32)?;
        sim.advance(BATCH.min(step - sim.clock().step) as u32, &mut pass)?;
        let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
        sim.sample(&mut frame)?;
        if look(&frame).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
