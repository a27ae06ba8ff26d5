//! Homeostasis on the device: adaptive thresholds, sums and scaling of the weights of each neuron; and their permutation.

use super::{
    RulesSim,
    buffers::RulesBuffers,
    kernels::{RulesProjection, ScaleRulesInputs, SumRulesInputs},
    plastic::{MAX_THREADS, PlasticSynapses},
    plastic_state::sorted_order,
};
use crate::{
    gpu::{GpuError, Pass},
    kinds::spiking::general::{
        connections::TARGET,
        homeostasis::{plan::ScalingPlan, state::due_scalings},
        patterns::hold,
        plasticity::shuffle::{self, ShuffleDraws},
    },
    sim::SimError,
};

impl RulesSim {
    /// Holds weights and thresholds from the end of training on. All steps before must be read. Fails if the device fails.
    pub(super) fn hold_or_learn(&mut self, step: u64) -> Result<(), SimError> {
        if hold::changes(&self.plan, step) {
            if let Some(plastic) = &mut self.plastic {
                plastic.bring_up_to_date(&self.memory, step)?;
            }
            hold::apply(&mut self.plan, &self.host.params, step);
            self.host.stimuli_changed = true;
        }
        Ok(())
    }

    /// Raises thresholds and scales weights before a step in which an interval ends. All steps before it must be read. Fails if the
    /// device fails.
    pub(super) fn apply_homeostasis(&mut self, step: u64) -> Result<(), SimError> {
        if self.host.stimuli_changed {
            self.apply_stimuli(step)?; // so that the device has the current maximum weights
        }
        let host = &mut self.host;
        let counts = &mut host.measurements.counts;
        host.stimuli_changed |= host.thresholds.adapt(&self.plan, step, counts);
        let due = due_scalings(&self.plan, step, counts);
        let Some(plastic) = self.plastic.as_mut().filter(|_| !due.is_empty()) else { return Ok(()) };
        plastic.bring_up_to_date(&self.memory, step)?;
        for (projection, scaling, counted) in &due {
            plastic.scale_inputs(&self.memory, *projection, scaling, counted)?;
        }
        Ok(())
    }
}

impl PlasticSynapses {
    /// Scales the weights of a projection; its synapses must be up to date. `counted` are the spikes of the postsynaptic neurons, if
    /// the scaling depends on them. Fails if the device fails.
    fn scale_inputs(
        &mut self,
        network: &RulesBuffers,
        projection: usize,
        scaling: &ScalingPlan,
        counted: &[u64],
    ) -> Result<(), GpuError> {
        let Some(index) = self.projections.iter().position(|of| of.projection == projection) else { return Ok(()) };
        let (of, w_max) = (&self.projections[index], self.tables[index].w_max);
        let (synapses, n_to, m) = (of.synapses, of.sizes[1] as usize, &mut self.memory);
        let threads = synapses.min(u64::from(MAX_THREADS)) as u32;
        let (at, projection) = (index as u32, projection as u32);
        let (scale, mut pass) = (ScalingPlan::scale(w_max), Pass::default());
        let sums = if scaling.needs_sums() {
            m.input_sums.clear()?;
            SumRulesInputs {
                index: at,
                projection,
                synapses,
                scale,
                plastic: &m.plastic,
                projections: &network.projections,
                words: &network.words,
                plastic_weights: &m.weights,
                input_sums: &mut m.input_sums,
            }
            .launch(&self.kernels, &mut pass, threads)?;
            m.input_sums.read_range(0..n_to)?
        } else {
            counted.to_vec()
        };
        m.factors.write_at(0, &scaling.factors(&sums, w_max))?;
        ScaleRulesInputs {
            index: at,
            projection,
            synapses,
            plastic: &m.plastic,
            projections: &network.projections,
            words: &network.words,
            factors: &m.factors,
            plastic_weights: &mut m.weights,
        }
        .launch(&self.kernels, &mut pass, threads)
    }

    /// Permutes the weights of each postsynaptic neuron. Fails if the device fails.
    pub(super) fn shuffle_weights(
        &mut self,
        network: &RulesBuffers,
        (index, p): (usize, &RulesProjection),
        draws: ShuffleDraws,
    ) -> Result<(), GpuError> {
        let (of, first) = (&self.projections[index], self.tables[index].weights as usize);
        if of.plan.depth == 0 {
            return Ok(());
        }
        let (n, order) = (of.synapses as usize, sorted_order(network, p, of)?);
        let words = network.words.read_range(p.words as usize..p.words as usize + n)?;
        let mut weights = self.memory.weights.read_range(first..first + n)?;
        let mut sorted: Vec<f32> = order.iter().map(|at| weights[*at]).collect();
        let targets: Vec<u32> = order.iter().map(|at| words[*at] & TARGET).collect();
        shuffle::shuffle(&mut sorted, &targets, draws.of(of.projection));
        order.iter().zip(sorted).for_each(|(at, weight)| weights[*at] = weight);
        self.memory.weights.write_at(first, &weights)
    }
}
