//! Kernels of a launch: the delivery of the spikes that arrive in its first step, then its steps.

use super::{
    RulesSim,
    kernels::{
        DeliverRules, DeliverRulesPlastic, StepRules, StepRulesPersistent, StepRulesPlastic, StepRulesPlasticPersistent,
    },
};
use crate::gpu::{GpuError, Pass};

/// Creates the launch of a delivery from the arguments that both kernels have, and its own.
macro_rules! deliver {
    ($Kernel:ident, $m:ident, { $($own:tt)* }) => {
        $Kernel {
            model: $m.model.buf(),
            clock: $m.clock.buf(),
            populations: &$m.populations,
            projections: &$m.projections,
            outgoing: &$m.outgoing,
            far_delays: &$m.far_delays,
            starts: &$m.starts,
            splits: &$m.splits,
            words: &$m.words,
            weights: &$m.weights,
            gain_of: &$m.gain_of,
            gains: &$m.gains,
            lists: &mut $m.lists,
            spikes: &$m.spikes,
            sums: &mut $m.sums,
            $($own)*
        }
    };
}

/// Creates the launch of a step kernel from the arguments that all of them have, and its own.
macro_rules! step {
    ($Kernel:ident, $m:ident, { $($own:tt)* }) => {
        $Kernel {
            model: $m.model.buf(),
            clock: $m.clock.buf(),
            populations: &$m.populations,
            population_of: &$m.population_of,
            values: &$m.values,
            inputs: &$m.inputs,
            tables: &$m.tables,
            kicking: $m.kicking.buf(),
            sources: &$m.sources,
            chances: &$m.chances,
            masks: &$m.masks,
            trains: &$m.trains,
            kicks: &$m.kicks,
            marks: &$m.marks,
            traced: &$m.traced,
            projections: &$m.projections,
            outgoing: &$m.outgoing,
            far_delays: &$m.far_delays,
            starts: &$m.starts,
            splits: &$m.splits,
            words: &$m.words,
            weights: &$m.weights,
            gain_of: &$m.gain_of,
            gains: &$m.gains,
            lists: &mut $m.lists,
            spikes: &mut $m.spikes,
            sums: &mut $m.sums,
            state: &mut $m.state,
            non_finite: &mut $m.non_finite,
            samples: &mut $m.samples,
            $($own)*
        }
    };
}

/// Creates a launch of a plastic kernel by `deliver!` or `step!`, with the arguments that all plastic kernels have.
macro_rules! plastic {
    ($launch:ident, $Kernel:ident, $m:ident, $p:ident, { $($own:tt)* }) => {
        $launch!($Kernel, $m, {
            plastic: &$p.plastic,
            incoming: &$p.incoming,
            decays: &$p.decays,
            rows: &mut $p.rows,
            heads: &mut $p.heads,
            entries: &mut $p.entries,
            seconds: &mut $p.seconds,
            plastic_weights: &mut $p.weights,
            eligibility: &mut $p.eligibility,
            weight_hash: &mut $p.hash,
            $($own)*
        })
    };
}

impl RulesSim {
    /// Launches the kernels of `n` steps.
    pub(super) fn record(&mut self, n: u64, pass: &mut Pass) -> Result<(), GpuError> {
        if self.plastic.is_some() {
            return self.record_plastic(n, pass);
        }
        let Self { memory: m, kernels, .. } = self;
        deliver!(DeliverRules, m, {}).launch(kernels, pass, 2 * m.gpu.multiprocessors * 256)?;
        if let Some(grid) = self.persistent {
            let (n_steps, table_sizes) = (n as u32, self.table_sizes);
            return step!(StepRulesPersistent, m, { n_steps, table_sizes, barrier: &mut m.barrier })
                .launch(kernels, pass, grid);
        }
        (0..n as u32).try_for_each(|index| {
            let delivers = u32::from(u64::from(index) + 1 < n);
            step!(StepRules, m, { index, delivers }).launch(kernels, pass, self.grid)
        })
    }

    /// Launches the kernels of `n` steps of a plastic network.
    fn record_plastic(&mut self, n: u64, pass: &mut Pass) -> Result<(), GpuError> {
        let Self { memory: m, plastic: Some(plastic), .. } = self else { return Ok(()) };
        let (p, kernels) = (&mut plastic.memory, &plastic.kernels);
        plastic!(deliver, DeliverRulesPlastic, m, p, {}).launch(kernels, pass, 2 * m.gpu.multiprocessors * 256)?;
        if let Some(grid) = self.persistent {
            let (n_steps, table_sizes) = (n as u32, self.table_sizes);
            let own =
                plastic!(step, StepRulesPlasticPersistent, m, p, { n_steps, table_sizes, barrier: &mut m.barrier });
            return own.launch(kernels, pass, grid);
        }
        (0..n as u32).try_for_each(|index| {
            let delivers = u32::from(u64::from(index) + 1 < n);
            plastic!(step, StepRulesPlastic, m, p, { index, delivers }).launch(kernels, pass, self.grid)
        })
    }
}
