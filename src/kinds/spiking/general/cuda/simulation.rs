//! Implements [`HostSim`] for this backend.

use super::{
    LAUNCHES, RulesSim,
    kernels::{ReadRulesPotentials, RulesConnectKernels, RulesKernels, RulesPlasticKernels},
    state,
};
use crate::{
    gpu::{KernelFacts, Pass},
    kinds::{
        shared::{
            field_readback::{Field, FieldReadback, ReadsFields},
            host_sim::HostSim,
        },
        spiking::{
            general::{
                edit,
                patterns::hold,
                plan::ProjectionPlan,
                plasticity::present::{self as synapses, SynapsePlace},
                present::PresentWeights,
            },
            host_state::{Edit, HostState},
            probes, requests,
        },
    },
    params::Change,
    sim::{
        Action, Answer, Buffers as _, Effect, Execution, MemoryReport, ProbeId, Progress, Reading, Request, SimError,
        Snapshot, Tap, TapKey,
    },
};

impl HostSim for RulesSim {
    type Host = HostState<f32>;

    fn host(&self) -> &Self::Host {
        &self.host
    }

    fn host_mut(&mut self) -> &mut Self::Host {
        &mut self.host
    }

    fn apply_change(&mut self, change: &Change) -> Result<Effect, SimError> {
        let Some(plan) = edit::plan_after(&self.host.params, &self.plan, change)? else {
            return Ok(Effect::NeedsRebuild);
        };
        if matches!(self.host.edit(change)?, Edit::Rebuild) {
            return Ok(Effect::NeedsRebuild);
        }
        let is_same = |(a, b): (&ProjectionPlan, &ProjectionPlan)| a.plasticity == b.plasticity;
        if let Some(plastic) = &mut self.plastic
            && !plan.projections.iter().zip(&self.plan.projections).all(is_same)
        {
            plastic.bring_up_to_date(&self.memory, self.host.step)?;
        }
        self.plan = plan;
        self.host.stimuli_changed = true;
        Ok(Effect::Applied)
    }

    fn perform(&mut self, action: &Action) -> Result<(), SimError> {
        match self.host.act(action)? {
            Some(edit) => self.change_weights(&edit),
            None => Ok(()),
        }
    }

    fn select_taps(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        let before = self.host.measurements.traced.clone();
        self.host.tap(taps)?;
        if self.host.measurements.traced != before {
            let traced: Vec<u32> = self.host.measurements.traced.iter().map(|i| self.plan.state_of(*i)).collect();
            if self.memory.set_traced(&traced)? {
                self.clear_graphs();
            }
        }
        Ok(())
    }

    fn take_steps(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        self.run(steps, pass)
    }

    fn read_fields(&mut self, probes: &[ProbeId], may_lag: bool) -> Result<Vec<Reading>, SimError> {
        let fields = self.read_copied(probes.to_vec(), may_lag)?;
        Ok(fields.into_iter().map(|(_, field)| field).collect())
    }

    fn read_state_of(&mut self, key: &TapKey, may_lag: bool) -> Result<Option<Reading>, SimError> {
        let step = self.host.step;
        if let Some(recent) = self.host.matrices.recent(key, step).filter(|_| may_lag) {
            return Ok(Some(recent));
        }
        let Some(plastic) = &mut self.plastic else { return Ok(None) };
        plastic.bring_up_to_date(&self.memory, step)?;
        let (memory, all, plan) = (&self.memory, &self.layout.projections, &self.plan);
        self.host.matrices.read(key, step, plan, |sums| Ok(plastic.add_weights(memory, all, plan, sums)?))
    }

    fn answer(&mut self, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
        if let Some(ends) = requests::synapse_ends(&self.host.setup, request)? {
            let states = match &mut self.plastic {
                Some(plastic) => {
                    let (of, step) = ((self.host.setup.rules()?, &self.plan), self.host.step);
                    plastic.bring_up_to_date(&self.memory, step)?;
                    let (memory, all) = (&self.memory, &self.layout.projections);
                    let stored = |place: SynapsePlace| Ok(plastic.stored(memory, &all[place.projection], place)?);
                    synapses::states(of, ends, step, stored)?
                }
                None => vec![],
            };
            return Ok(requests::synapse_answer(&self.host.params, &states));
        }
        let is_wanted = |neuron| requests::uses_row(request, neuron);
        let present = match &mut self.plastic {
            Some(plastic) => {
                plastic.bring_up_to_date(&self.memory, self.host.step)?;
                let row =
                    |i: usize, source: u32| Ok(plastic.row(&self.memory, &self.layout.projections[i], i, source)?);
                PresentWeights::read(&self.plan, is_wanted, progress, row)?
            }
            None => PresentWeights::default(),
        };
        requests::answer(&self.host.setup, &present, request, progress)
    }

    fn write_state(&mut self) -> Result<Snapshot, SimError> {
        state::write(self)
    }

    fn read_state(&mut self, from: &Snapshot) -> Result<(), SimError> {
        state::read(self, from)
    }

    fn return_to_start(&mut self) -> Result<(), SimError> {
        self.host.rewind();
        self.queue.restart()?;
        self.manual.clear();
        self.memory.clear()?;
        hold::apply(&mut self.plan, &self.host.params, 0);
        self.write_start()
    }

    fn reseed(&mut self, seed: u64) -> Result<bool, SimError> {
        self.host.reseed(seed)?;
        let (mut model, mut kicking) = (self.memory.model.value(), self.memory.kicking.value());
        (model.seed, kicking.seed) = (seed, seed);
        self.memory.model.set(model)?;
        self.memory.kicking.set(kicking)?;
        Ok(true)
    }

    fn kernel_facts(&self) -> Vec<KernelFacts> {
        let own = [RulesKernels::SPEC.id(), RulesConnectKernels::SPEC.id(), RulesPlasticKernels::SPEC.id()];
        self.gpu.kernel_facts().into_iter().filter(|k| own.contains(&k.module())).collect()
    }

    fn executes_on(&self) -> Execution {
        let step = if self.persistent.is_some() { "persistent" } else { LAUNCHES };
        Execution::cuda(&self.gpu).with([("step", step)])
    }

    fn held_memory(&self) -> MemoryReport {
        let mut report = self.memory.held();
        if let Some(plastic) = &self.plastic {
            report += plastic.memory.held();
        }
        self.queue.report(&mut report);
        report.host("measurements", self.host.measurements.n_bytes());
        report.host("names and positions", self.host.setup.neurons.n_bytes());
        report
    }
}

impl ReadsFields for RulesSim {
    fn readback(&mut self) -> &mut FieldReadback {
        &mut self.readback
    }

    fn completed(&self) -> u64 {
        self.host.step
    }

    fn start_fields(&mut self, probes: &[ProbeId]) -> Result<(), SimError> {
        if probes.contains(&probes::V_FIELD) {
            let m = &mut self.memory;
            let stride = m.model.value().stride;
            ReadRulesPotentials {
                model: m.model.buf(),
                populations: &m.populations,
                population_of: &m.population_of,
                values: &m.values,
                state: &m.state,
                v: &mut m.potentials,
            }
            .launch(&self.kernels, &mut Pass::default(), stride)?;
            m.start_potentials()?;
        }
        Ok(())
    }

    fn finish_fields(&mut self, probes: &[ProbeId], step: u64) -> Result<Vec<Field>, SimError> {
        let values = |probe: &ProbeId| -> Result<Field, SimError> {
            let values = match *probe {
                probes::LAST_SPIKE => self.host.measurements.since_last_spikes(step),
                probes::RATE_FIELD => self.host.measurements.running_rates(step),
                _ => self.memory.finish_potentials()?,
            };
            Ok((*probe, Reading::field(values)))
        };
        probes.iter().map(values).collect()
    }
}
