//! [`Simulation`] for the CPU backend.

use super::{CpuSim, check, method, population_stats, turnover, variants::Variants};
use crate::{
    gpu::Pass,
    kinds::{
        nuclei::{
            choices::CouplingMethod,
            counts,
            events::PopulationStats,
            fields,
            host_state::CheckedAction,
            initial, mixing, predict,
            probes::{ACTIONS, NUCLEI, PROBES},
            random::{RandomAddress, RandomStream},
            real::{Real, wrapped},
            requests, sampler, saved,
        },
        shared::edit::Edit,
    },
    params::{Change, Params},
    sim::{
        Action, ActionSpec, Answer, Buffers as _, Clock, Digest, Effect, ElementSet, Execution, Frame, HostMemory,
        Individuals, InputData, MemoryReport, ProbeId, ProbeSpec, Progress, Reading, Request, Shape, SimError,
        Simulation, Snapshot, StepCount, Tap,
    },
};
use std::sync::Arc;
use turnover::{Births, TurnoverTarget};

impl<T: Real> Simulation for CpuSim<T> {
    fn probes(&self) -> &'static [ProbeSpec] {
        PROBES
    }

    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        sampler::lanes(probe, mixing::fields(&self.host.params))
    }

    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.host.sets
    }

    fn individuals(&self, set: &str) -> Option<Arc<Individuals>> {
        if set == NUCLEI { self.host.sampler.lineage.individuals(|| Some(self.state.idx.clone())) } else { None }
    }

    fn actions(&self) -> &'static [ActionSpec] {
        ACTIONS
    }

    fn clock(&self) -> Clock {
        self.host.clock()
    }

    fn params(&self) -> Option<&dyn Params> {
        Some(&self.host.params)
    }

    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        match self.host.edit(change)? {
            Edit::Same => {}
            Edit::Rebuild => return Ok(Effect::NeedsRebuild),
            Edit::Live(new) => {
                check(&new)?;
                if new.measure.variants != self.host.params.measure.variants {
                    let needed = MemoryReport::from([("algorithms compared", Variants::<T>::bytes_of(&new))]);
                    HostMemory::now().map_or(Ok(()), |memory| memory.check(&needed))?;
                    self.variants = Variants::new(&new, self.pool);
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

    fn replace(&mut self, data: &InputData) -> Result<Effect, SimError> {
        let Some((params, setup)) = self.host.replaced(data)? else { return Ok(Effect::NeedsRebuild) };
        self.equations = super::fitness::EquationForms::new(&setup);
        (self.host.params, self.host.setup) = (params, setup);
        Ok(Effect::Applied)
    }

    fn act(&mut self, action: &Action) -> Result<(), SimError> {
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

    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.host.sampler.tap(taps, self.host.step, &self.state.idx)
    }

    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
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

    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        for probe in self.host.sampler.taps() {
            let shape = PROBES[usize::from(probe)].shape;
            if !frame.wants(shape) {
                continue;
            }
            let reading = match shape {
                Shape::Field { .. } => {
                    Some(Reading::field(fields::field(probe, &self.state, &self.host.params, self.host.step)))
                }
                _ => self.host.sampler.take(probe, frame.text_limit),
            };
            frame.readings.extend(reading.map(|reading| (probe.into(), reading)));
        }
        Ok(())
    }

    fn ask(&self, request: &Request, _: &Progress) -> Result<Answer, SimError> {
        requests::answer(&self.state, request)
    }

    fn save(&mut self) -> Result<Snapshot, SimError> {
        saved::write(&self.host, self.state.clone())
    }

    fn load(&mut self, state: &Snapshot) -> Result<(), SimError> {
        self.state = saved::parse(&self.state, state)?.restore(&mut self.host);
        Ok(())
    }

    fn snapshot_bytes(&self) -> u64 {
        self.state.held().total()
    }

    fn rewind(&mut self) -> Result<(), SimError> {
        self.put(initial::state(&self.host.params, self.host.context.seed, self.state.dim)?, 0);
        Ok(())
    }

    fn counts(&self) -> Vec<StepCount> {
        let method = self.coupling.method_for(self.state.n());
        let all_pairs = [CouplingMethod::Naive, CouplingMethod::Tiled, CouplingMethod::Dense].contains(&method);
        counts::of_generation(&self.host, all_pairs)
    }

    fn digest(&self) -> Digest {
        self.host.digest()
    }

    fn execution(&self) -> Execution {
        Execution::cpu().with([("coupling", self.coupling.name())])
    }

    fn memory(&self) -> MemoryReport {
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
    /// Fusion or decay by an action, between two generations, with separate random numbers.
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
