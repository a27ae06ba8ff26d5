//! Run settings of a project.

use crate::{
    choices,
    engine::{BestPlan, CheckpointPlan},
    param_tree, params,
    sim::TimeBase,
};
use std::time::Duration;

choices! {
    /// Whether a run keeps its last state.
    pub enum FinalCheckpoint {
        /// As the kind recommends: yes where the state is the result, e.g. trained weights.
        Auto,
        /// Always.
        Yes,
        /// Never.
        No,
    }
}

choices! {
    /// The device of a project.
    pub enum DeviceChoice {
        /// A GPU when one is usable, else the CPU.
        Auto,
        /// The CPU: the reference.
        Cpu,
        /// An NVIDIA GPU only.
        Cuda,
    }
}

/// Maximum number of trials of a run.
pub const MAX_TRIALS: u32 = 9_999;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_one(n: &u32) -> bool {
    *n == 1
}

params! {
    /// Run settings.
    pub struct RunPlan {
        /// Simulated time of a run, after which *Run* pauses; 0 runs until stopped.
        #[param(title = "Duration", unit = Ms, range = 0.0..=10_000.0, hard = 0.0..=1e12, zero = "Never")]
        duration_ms: f64 = 1000.0,

        /// Length of a run of a kind that counts its steps (generations, tokens, updates), after which *Run* pauses; 0 runs until
        /// stopped.
        #[param(title = "Duration", unit = Steps, range = 0.0..=10_000.0, hard = 0.0..=1e15, zero = "Never")]
        steps: u64 = 0,

        /// Whether *Run* in the window continues beyond the duration, until paused. Sweeps, trials and the command line always
        /// stop at the duration.
        #[param(title = "Continuous")]
        continuous: bool = false,

        /// Number of trials of the same network, at most 9,999. Trial k, from 0, draws with the seed of the project + k. The
        /// window steps all of them together and shows one; each needs memory for a state of its own. Experiments and sweeps
        /// choose their seeds themselves.
        #[param(title = "Trials", apply = Rebuild, range = 1.0..=64.0, hard = 1.0..=MAX_TRIALS as f64)]
        #[omit_if("is_one")]
        trials: u32 = 1,

        /// Limit of simulated seconds, or of counted steps, per second of wall time; 0 for no limit.
        #[param(title = "Speed limit", range = 0.0..=10.0, hard = 0.0..=1e6, zero = "Max")]
        speed: f64 = 0.0,

        /// CPU threads; 0 for all, less one for the window while it is open.
        #[param(title = "CPU threads", apply = Rebuild, range = 0.0..=64.0, hard = 0.0..=1024.0, zero = "All")]
        threads: u32 = 0,

        /// Device of the simulation.
        #[param(title = "Device", apply = Rebuild)]
        device: DeviceChoice = DeviceChoice::Auto,

        /// Number of the GPU, from 0, on a machine with several.
        #[param(title = "GPU number", apply = Rebuild, range = 0.0..=7.0, hard = 0.0..=1023.0)]
        gpu: u32 = 0,

        /// Wall time between two checkpoints of a recording, from which it can continue; 0: none.
        #[param(title = "Checkpoint interval", unit = S, range = 0.0..=3600.0, hard = 0.0..=1e9, zero = "Never")]
        checkpoint_every_s: f64 = 0.0,

        /// Steps between two checkpoints of a recording; 0: none.
        #[param(title = "Checkpoint interval in steps", unit = Steps, range = 0.0..=100_000.0, hard = 0.0..=1e15, zero = "Never")]
        checkpoint_steps: u64 = 0,

        /// Whether a recording without a checkpoint interval takes a checkpoint every 10 minutes of wall time if the state of
        /// the kind is its result, e.g. trained weights. *Checkpoints kept* bounds their disk space.
        #[param(title = "Automatic checkpoints")]
        automatic_checkpoints: bool = true,

        /// Checkpoints that a recording keeps, the newest; an older one is deleted when a new one is complete. 0: all, and the
        /// newest 3 of automatic ones.
        #[param(title = "Checkpoints kept", range = 0.0..=100.0, hard = 0.0..=1e6, zero = "All")]
        keep_checkpoints: u32 = 3,

        /// Whether a recording ends with a checkpoint.
        #[param(title = "Final checkpoint")]
        final_checkpoint: FinalCheckpoint = FinalCheckpoint::Auto,

        /// Whether a recording of a kind with a held-out loss also keeps the checkpoint with the lowest one. It is taken after the
        /// evaluation, and replaces the one that was the best before.
        #[param(title = "Keep best checkpoint")]
        keep_best: bool = false,

        /// Number of evaluations of the held-out loss in a row without a new lowest value after which a recording ends; 0: never.
        /// The best checkpoint is then kept in any case.
        #[param(title = "Stop early after", range = 0.0..=100.0, hard = 0.0..=1e6, zero = "Never", source = "Prechelt 1998")]
        stop_early: u32 = 0,
    }
}

param_tree! {
    /// Settings of a project that `--set` accepts besides the parameters of its kind.
    pub struct PlanTree {
        /// Run settings.
        #[title("Run settings")]
        run: RunPlan,
    }
}

/// Interval of automatic checkpoints. A failure costs at most this time of computing.
const AUTOMATIC_EVERY: Duration = Duration::from_secs(600);
/// Number of automatic checkpoints that are kept if no number is set, which bounds their disk space.
const AUTOMATIC_KEPT: u32 = 3;

impl RunPlan {
    /// Returns the conditions on which recordings take checkpoints. `is_result`: the state of the kind is its result; `result`:
    /// its probe of which a lower value is a better state.
    pub fn checkpoints(&self, is_result: bool, result: Option<&'static str>) -> CheckpointPlan {
        let has_interval = self.checkpoint_every_s > 0.0 || self.checkpoint_steps > 0;
        let is_automatic =
            self.automatic_checkpoints && !has_interval && is_result && self.final_checkpoint != FinalCheckpoint::No;
        let set = Duration::from_secs_f64(self.checkpoint_every_s.clamp(0.0, 1e9));
        CheckpointPlan {
            every: if is_automatic { AUTOMATIC_EVERY } else { set },
            every_steps: self.checkpoint_steps,
            at_end: match self.final_checkpoint {
                FinalCheckpoint::Auto => is_result,
                FinalCheckpoint::Yes => true,
                FinalCheckpoint::No => false,
            },
            is_automatic,
            best: result.filter(|_| self.keep_best || self.stop_early > 0).map(|probe| BestPlan {
                probe,
                patience: self.stop_early,
                known: None,
            }),
        }
    }

    /// Returns the number of checkpoints that a recording with the given plan keeps; 0: all.
    pub fn kept(&self, plan: &CheckpointPlan) -> u32 {
        if plan.is_automatic && self.keep_checkpoints == 0 { AUTOMATIC_KEPT } else { self.keep_checkpoints }
    }

    /// Returns the number of steps in the planned duration; `None` if the duration is unlimited.
    pub fn planned_steps(&self, base: TimeBase) -> Option<u64> {
        match base {
            TimeBase::Count { .. } => (self.steps > 0).then_some(self.steps),
            TimeBase::Seconds { per_step } => {
                let steps = (self.duration_ms * 1e-3 / per_step).round();
                (self.duration_ms > 0.0 && steps.is_finite()).then_some((steps as u64).max(1))
            }
        }
    }

    /// Returns the number of steps after which *Run* in the window pauses; `None` if the run continues until paused.
    pub fn steps_per_run(&self, base: TimeBase) -> Option<u64> {
        if self.continuous { None } else { self.planned_steps(base) }
    }

    /// Returns the name of the setting that does not apply with the time base `base`.
    pub const fn unused(base: TimeBase) -> &'static str {
        if base.is_count() { "duration_ms" } else { "steps" }
    }

    /// Converts the duration of a file of an older version, which stored the length of every run as a time. A counted step
    /// was one second.
    pub(super) fn count_steps(&mut self, base: TimeBase) {
        if base.is_count() && self.duration_ms > 0.0 {
            self.steps = ((self.duration_ms * 1e-3).round() as u64).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_a_time_or_a_count() {
        let generations = TimeBase::count("generation", "generations");
        let mut plan = RunPlan { duration_ms: 400_000.0, ..RunPlan::default() };
        assert_eq!(plan.planned_steps(generations), None);
        assert_eq!(plan.planned_steps(TimeBase::seconds(0.5)), Some(800));
        plan.count_steps(generations);
        assert_eq!((plan.steps, plan.planned_steps(generations)), (400, Some(400)));
        let mut short = RunPlan { duration_ms: 1.0, ..RunPlan::default() };
        short.count_steps(TimeBase::seconds(1e-4));
        assert_eq!(short.steps, 0);
        short.count_steps(generations);
        assert_eq!(short.steps, 1);
    }

    #[test]
    fn states_that_are_results_have_automatic_checkpoints() {
        let every = |plan: &RunPlan, is_result| {
            let checkpoints = plan.checkpoints(is_result, None);
            (checkpoints.every.as_secs(), checkpoints.every_steps, checkpoints.is_automatic, plan.kept(&checkpoints))
        };
        let plan = RunPlan::default();
        assert_eq!((every(&plan, true), every(&plan, false)), ((600, 0, true, 3), (0, 0, false, 3)));
        let unbounded = RunPlan { keep_checkpoints: 0, ..plan.clone() };
        assert_eq!(every(&unbounded, true), (600, 0, true, 3), "disk space is bounded");
        // A stated choice is kept.
        for (stated, want) in [
            (RunPlan { checkpoint_every_s: 30.0, keep_checkpoints: 0, ..plan.clone() }, (30, 0, false, 0)),
            (RunPlan { checkpoint_steps: 500, ..plan.clone() }, (0, 500, false, 3)),
            (RunPlan { automatic_checkpoints: false, ..plan.clone() }, (0, 0, false, 3)),
            (RunPlan { final_checkpoint: FinalCheckpoint::No, ..plan }, (0, 0, false, 3)),
        ] {
            assert_eq!(every(&stated, true), want, "{stated:?}");
        }
    }

    #[test]
    fn the_best_state_is_kept_if_it_is_wanted_or_ends_the_run() {
        let best = |plan: RunPlan, probe| plan.checkpoints(true, probe).best.map(|best| best.patience);
        assert_eq!(best(RunPlan::default(), Some("held_out")), None);
        assert_eq!(best(RunPlan { keep_best: true, ..RunPlan::default() }, Some("held_out")), Some(0));
        assert_eq!(best(RunPlan { stop_early: 3, ..RunPlan::default() }, Some("held_out")), Some(3));
        assert_eq!(best(RunPlan { stop_early: 3, ..RunPlan::default() }, None), None);
    }

    #[test]
    fn files_name_the_trials_if_there_are_several() {
        let written = |plan: &RunPlan| crate::project::to_line(plan).expect("it is written");
        assert!(!written(&RunPlan::default()).contains("trials"));
        let three = RunPlan { trials: 3, ..RunPlan::default() };
        assert!(written(&three).contains("trials:3"), "{}", written(&three));
        assert_eq!(crate::project::from_ron::<RunPlan>(&written(&three)).expect("it is read"), three);
    }

    #[test]
    fn run_pauses_at_the_duration_unless_it_is_continuous() {
        let (base, plan) = (TimeBase::seconds(1e-4), RunPlan { duration_ms: 250.0, ..RunPlan::default() });
        assert_eq!(plan.steps_per_run(base), Some(2500));
        let continuous = RunPlan { continuous: true, ..plan };
        assert_eq!((continuous.steps_per_run(base), continuous.planned_steps(base)), (None, Some(2500)));
        assert_eq!(RunPlan { duration_ms: 0.0, ..RunPlan::default() }.steps_per_run(base), None);
    }
}
