//! Implements [`HostSim`] for this backend.

use super::{CpuSim, check, method, population_stats, turnover, variants::Variants};
use crate::{
    gpu::Pass,
    kinds::{
        nuclei::{
            choices::CouplingMethod,
            counts,
            events::PopulationStats,
            fields,
            host_state::{CheckedAction, HostState},
            initial, mixing, predict,
            probes::NUCLEI,
            random::{RandomAddress, RandomStream},
            real::{Real, wrapped},
            requests, saved,
        },
        shared::{edit::Edit, host_sim::HostSim},
    },
    params::Change,
    sim::{
        Action, Answer, Buffers as _, Effect, Execution, HostMemory, Individuals, InputData, MemoryReport, ProbeId,
        Progress, Reading, Request, SimError, Snapshot, StepCount, Tap,
    },
};
use std::sync::Arc;
use turnover::{Births, TurnoverTarget};

impl<T: Real> HostSim for CpuSim<T> {
    type Host = HostState;

    fn host(&self) -> &Self::Host {
        &self.host
    }

    fn host_mut(&mut self) -> &mut Self::Host {
        &mut self.host
    }

    fn individuals_of(&self, set: &str) -> Option<Arc<Individuals>> {
        if set == NUCLEI { self.host.sampler.lineage.individuals(|| Some(self.state.idx.clone())) } else { None }
    }

    fn apply_change(&mut self, change: &Change) -> Result<Effect, SimError> {
        match self.host.edit(change)? {
            Edit::Same => {}
            Edit::Rebuild => return Ok(Effect::NeedsRebuild),
            Edit::Live(new) => {
                check(&new)?;
                if new.measure.variants != self.host.params.measure.variants {
                    let needed = MemoryReport::from([("algorithms compared", Variants::<T>::bytes_of(&new))]);
                    HostMemory::now().map_or(Ok(()), |memory| memory.check(&needed))?;
                    self.variants = Variants::new(&new, &self.threads);
                }
                if new.coupling != self.host.params.coupling {
                    self.coupling.set_method(method(&new), new.coupling.sparse_cutoff, self.state.capacity);
                    let g = mixing::matrix(&new.coupling, self.state.fields, self.host.context.seed);
                    self.oscillators.set_mixing(&g, new.coupling.sent);
                }
                if new.phases.frequencies != self.host.params.phases.frequencies {
                    let (seed, n_slots) = (self.host.context.seed, self.state.capacity);
                    self.state.omega = initial::frequencies(new.phases.frequencies, seed, n_slots);
                }
                self.host.params = *new;
            }
        }
        Ok(Effect::Applied)
    }

    fn replace_data(&mut self, data: &InputData) -> Result<Effect, SimError> {
        let Some((params, setup)) = self.host.replaced(data)? else { return Ok(Effect::NeedsRebuild) };
        self.equations = super::fitness::EquationForms::new(&setup);
        (self.host.params, self.host.setup) = (params, setup);
        Ok(Effect::Applied)
    }

    fn perform(&mut self, action: &Action) -> Result<(), SimError> {
        let checked = CheckedAction::parse(action, self.state.capacity as u32)?;
        let mut living: Vec<u32> = action.elements.clone();
        living.retain(|slot| self.state.alive[*slot as usize] != 0);
        living.sort_unstable();
        living.dedup();
        if living.is_empty() {
            return Err(SimError::Input(format!("{}: the selected slots are free", action.name)));
        }
        match checked {
            CheckedAction::Kick(angle) => {
                for slot in living {
                    for field in 0..self.state.fields {
                        let phi = self.state.phase_mut(field, slot);
                        *phi = wrapped(*phi + T::of(angle));
                    }
                }
            }
            CheckedAction::Freeze(still) => {
                living.iter().for_each(|slot| self.state.frozen[*slot as usize] = still.into())
            }
            CheckedAction::Fuse if living.len() < 2 => {
                return Err(SimError::Input("fuse: select at least two nuclei".to_owned()));
            }
            CheckedAction::Fuse | CheckedAction::Decay => self.manual_births(checked, &living)?,
        }
        Ok(())
    }

    fn select_taps(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.host.sampler.tap(taps, self.host.step, &self.state.idx)
    }

    fn take_steps(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        for _ in 0..steps {
            if pass.is_stopping() {
                return Ok(());
            }
            self.generation(pass)?;
        }
        if steps > 0 && pass.profiled {
            self.time_variants(pass);
        }
        Ok(())
    }

    fn read_fields(&mut self, probes: &[ProbeId], _: bool) -> Result<Vec<Reading>, SimError> {
        let field = |probe: &ProbeId| fields::field(*probe, &self.state, &self.host.params, self.host.step);
        Ok(probes.iter().map(field).map(Reading::field).collect())
    }

    fn answer(&mut self, request: &Request, _: &Progress) -> Result<Answer, SimError> {
        requests::answer(&self.state, request)
    }

    fn write_state(&mut self) -> Result<Snapshot, SimError> {
        saved::write(&self.host, self.state.clone())
    }

    fn read_state(&mut self, state: &Snapshot) -> Result<(), SimError> {
        self.state = saved::parse(&self.state, state)?.restore(&mut self.host);
        Ok(())
    }

    fn state_bytes(&self) -> u64 {
        self.state.held().total()
    }

    fn return_to_start(&mut self) -> Result<(), SimError> {
        self.put(initial::state(&self.host.params, self.host.context.seed, self.state.dim)?, 0);
        Ok(())
    }

    fn step_counts(&self) -> Vec<StepCount> {
        let method = self.coupling.method_for(self.state.n());
        let all_pairs = [CouplingMethod::Naive, CouplingMethod::Tiled, CouplingMethod::Dense].contains(&method);
        counts::of_generation(&self.host, all_pairs)
    }

    fn executes_on(&self) -> Execution {
        Execution::cpu().with([("coupling", self.coupling.name())])
    }

    fn held_memory(&self) -> MemoryReport {
        let (capacity, dim) = (self.state.capacity, self.state.dim);
        let mut report = self.state.held();
        report += MemoryReport::from([
            ("task", self.equations.n_bytes() + self.host.setup.matrix.as_ref().map_or(0, |j| j.len() as u64 * 8)),
            ("coupling", self.coupling.n_bytes()),
            ("workspace", predict::workspace_bytes::<T>(capacity, dim, self.state.fields)),
            ("slots", self.host.sets.iter().map(|set| set.n_bytes()).sum()),
            ("recording", self.host.sampler.n_bytes()),
            ("algorithms compared", self.variants.as_ref().map_or(0, Variants::n_bytes)),
        ]);
        report
    }
}

impl<T: Real> CpuSim<T> {
    /// Performs a fusion or decay requested by an action between two generations, with separate random numbers. Fails if the
    /// weights of a nucleus are not finite.
    fn manual_births(&mut self, checked: CheckedAction, living: &[u32]) -> Result<(), SimError> {
        self.measure()?;
        let f = &self.scratch.f;
        let now = PopulationStats {
            temperature: population_stats::temperature(f),
            f_mean: f.iter().map(|f| f.wide()).sum::<f64>() / f.len().max(1) as f64,
            ..PopulationStats::default()
        };
        let draw = self.draw();
        let host = &mut self.host;
        host.events.clear();
        let (params, turnover) = (&host.params, &mut self.turnover);
        let mut target = TurnoverTarget { state: &mut self.state, ledger: &mut host.ledger, events: &mut host.events };
        if checked == CheckedAction::Fuse {
            turnover.fuse_manual(living, params, &now, draw.generation, &mut target);
        } else {
            let births = Births {
                mutation: RandomAddress { stream: RandomStream::MutManual, ..draw },
                phase: RandomAddress { stream: RandomStream::PhaseManual, ..draw },
                birth: draw.generation,
            };
            turnover.decay_manual(living, params, &now, births, &mut target);
        }
        host.sampler.events(host.step, &host.events);
        host.events.clear();
        Ok(())
    }
}
