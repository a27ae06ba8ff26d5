//! Implements [`HostSim`] for this backend.

use super::{
    CudaSim, MODULES, SINGLE,
    coupling::{Algorithm, Coupling},
    coupling_sizes, host_stats, kernel_params,
    memory::phase_fields_of,
    readings::ChosenSamples,
    task::Task,
    variants::Variants,
};
use crate::{
    gpu::{KernelFacts, Pass},
    kinds::{
        nuclei::{
            counts,
            cpu::turnover::{Births, Turnover, TurnoverTarget},
            events::PopulationStats,
            host_state::{CheckedAction, HostState},
            initial, mixing,
            params::Params,
            probes::{self, NUCLEI},
            random::{RandomAddress, RandomStream},
            real::wrapped,
            requests, saved,
            state::State,
        },
        shared::{
            edit::Edit,
            field_readback::{Field, FieldReadback, ReadsFields},
            host_sim::HostSim,
        },
    },
    params::Change,
    sim::{
        Action, Answer, Buffers as _, Effect, Execution, Individuals, InputData, MemoryReport, ProbeId, Progress,
        Reading, Request, SimError, Snapshot, StepCount, Tap,
    },
};
use std::sync::Arc;

impl HostSim for CudaSim {
    type Host = HostState;

    fn host(&self) -> &Self::Host {
        &self.host
    }

    fn host_mut(&mut self) -> &mut Self::Host {
        &mut self.host
    }

    fn individuals_of(&self, set: &str) -> Option<Arc<Individuals>> {
        if set == NUCLEI { self.host.sampler.lineage.individuals(|| self.living().ok()) } else { None }
    }

    fn apply_change(&mut self, change: &Change) -> Result<Effect, SimError> {
        match self.host.edit(change)? {
            Edit::Same => {}
            Edit::Rebuild => return Ok(Effect::NeedsRebuild),
            Edit::Live(new) => self.apply_params(*new)?,
        }
        Ok(Effect::Applied)
    }

    fn replace_data(&mut self, data: &InputData) -> Result<Effect, SimError> {
        let Some((params, setup)) = self.host.replaced(data)? else { return Ok(Effect::NeedsRebuild) };
        kernel_params::check(&params, &setup)?;
        let task = Task::new(&self.gpu, &params, &setup, self.tuning.without_tensor_cores)?;
        self.drop_graphs();
        self.pipeline.task = task;
        (self.host.params, self.host.setup) = (params, setup);
        Ok(Effect::Applied)
    }

    fn perform(&mut self, action: &Action) -> Result<(), SimError> {
        let checked = CheckedAction::parse(action, self.host.params.population.capacity)?;
        let mut state = self.state()?;
        let mut living: Vec<u32> = action.elements.clone();
        living.retain(|slot| state.alive[*slot as usize] != 0);
        living.sort_unstable();
        living.dedup();
        if living.is_empty() {
            return Err(SimError::Input(format!("{}: the selected slots are free", action.name)));
        }
        match checked {
            CheckedAction::Kick(angle) => {
                for slot in living {
                    for field in 0..state.fields {
                        let phi = state.phase_mut(field, slot);
                        *phi = wrapped(*phi + angle as f32);
                    }
                }
            }
            CheckedAction::Freeze(still) => living.iter().for_each(|slot| state.frozen[*slot as usize] = still.into()),
            CheckedAction::Fuse if living.len() < 2 => {
                return Err(SimError::Input("fuse: select at least two nuclei".to_owned()));
            }
            CheckedAction::Fuse | CheckedAction::Decay => state = self.manual_births(checked, &living)?,
        }
        Ok(self.pipeline.table.upload(&state, self.host.step, &self.host.ledger)?)
    }

    fn select_taps(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        let living = self.living()?;
        self.host.sampler.tap(taps, self.host.step, &living)?;
        let is_chosen = |t: &&Tap| matches!(t.probe, probes::PHASE_OF | probes::FITNESS_OF);
        let lanes = |tap: &'_ Tap| tap.elements.iter().map(|slot| (tap.probe, *slot)).collect::<Vec<_>>();
        let mut chosen: Vec<_> = taps.iter().filter(is_chosen).flat_map(lanes).collect();
        chosen.sort_unstable();
        chosen.dedup();
        self.choose(chosen)
    }

    fn take_steps(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        self.run(steps, pass)
    }

    fn read_fields(&mut self, probes: &[ProbeId], may_lag: bool) -> Result<Vec<Reading>, SimError> {
        let fields = self.read_copied(probes.to_vec(), may_lag)?;
        Ok(fields.into_iter().map(|(_, field)| field).collect())
    }

    fn answer(&mut self, request: &Request, _: &Progress) -> Result<Answer, SimError> {
        requests::answer(&self.pipeline.table.download_without_weights(self.host.setup.dim)?, request)
    }

    fn write_state(&mut self) -> Result<Snapshot, SimError> {
        saved::write(&self.host, self.state()?)
    }

    fn state_bytes(&self) -> u64 {
        self.pipeline.table.held().total()
    }

    fn read_state(&mut self, from: &Snapshot) -> Result<(), SimError> {
        let (params, dim) = (&self.host.params, self.host.setup.dim);
        let like = State::with_fields(params.population.capacity as usize, dim, mixing::fields(params))?;
        let state = saved::parse(&like, from)?.restore(&mut self.host);
        Ok(self.pipeline.table.upload(&state, self.host.step, &self.host.ledger)?)
    }

    fn return_to_start(&mut self) -> Result<(), SimError> {
        let state = initial::state(&self.host.params, self.host.context.seed, self.host.setup.dim)?;
        self.put(&state, 0)
    }

    fn step_counts(&self) -> Vec<StepCount> {
        let algorithm = self.pipeline.coupling.algorithm;
        counts::of_generation(&self.host, !matches!(algorithm, Algorithm::Fast | Algorithm::MeanField))
    }

    fn executes_on(&self) -> Execution {
        let fitness = if self.on_tensor_cores() { "tensor_cores" } else { SINGLE };
        Execution::cuda(&self.gpu).with([("coupling", self.pipeline.coupling.algorithm.name()), ("fitness", fitness)])
    }

    fn held_memory(&self) -> MemoryReport {
        let mut report = self.pipeline.held();
        self.fields.report(&mut report);
        self.variants.iter().for_each(|variants| variants.report(&mut report));
        report.host("slots", self.host.sets.iter().map(|set| set.n_bytes()).sum());
        report.host("recording", self.host.sampler.n_bytes());
        report
    }

    fn kernel_facts(&self) -> Vec<KernelFacts> {
        let mine = |k: &KernelFacts| MODULES.iter().any(|m| m.id() == k.module());
        self.gpu.kernel_facts().into_iter().filter(mine).collect()
    }
}

impl ReadsFields for CudaSim {
    fn readback(&mut self) -> &mut FieldReadback {
        &mut self.readback
    }

    fn completed(&self) -> u64 {
        self.host.step
    }

    fn start_fields(&mut self, probes: &[ProbeId]) -> Result<(), SimError> {
        let (kernels, table) = (&self.pipeline.kernels.readings, &self.pipeline.table);
        Ok(self.fields.start(&self.gpu, kernels, table, probes, &self.host.params)?)
    }

    fn finish_fields(&mut self, probes: &[ProbeId], _: u64) -> Result<Vec<Field>, SimError> {
        let fields = self.fields.finish(probes, &self.host.params)?;
        Ok(probes.iter().copied().zip(fields.into_iter().map(Reading::field)).collect())
    }
}

impl CudaSim {
    /// Applies new parameters from the next generation on. Fails if the backend does not support the parameters.
    fn apply_params(&mut self, new: Params) -> Result<(), SimError> {
        kernel_params::check(&new, &self.host.setup)?;
        if new.measure.variants != self.host.params.measure.variants {
            self.variants = Variants::new(&self.gpu, &new)?;
        }
        self.drop_graphs();
        if kernel_params::algorithm(&new, self.tuning.coupling) != self.pipeline.coupling.algorithm {
            let mut coupling = Coupling::allocate(&self.gpu, &coupling_sizes(&new, &self.tuning))?;
            coupling.fill(&self.host.setup)?;
            self.pipeline.coupling = coupling;
        }
        if let (Some(mixer), true) = (&mut self.pipeline.mixer, new.coupling != self.host.params.coupling) {
            mixer.set(&mixing::matrix(&new.coupling, mixer.fields() as usize, self.host.context.seed))?;
        }
        if new.phases.frequencies != self.host.params.phases.frequencies {
            let (seed, n_slots) = (self.host.context.seed, new.population.capacity as usize);
            self.pipeline.table.set_frequencies(&initial::frequencies(new.phases.frequencies, seed, n_slots))?;
        }
        if new.task != self.host.params.task {
            self.pipeline.task = Task::new(&self.gpu, &new, &self.host.setup, self.tuning.without_tensor_cores)?;
        }
        self.pipeline.table.kernel_params.set(kernel_params::kernel_params(
            &new,
            self.host.context.seed,
            self.host.setup.dim,
        ))?;
        self.host.params = new;
        self.update_chosen()
    }

    /// Samples these probes and slots in every generation.
    fn choose(&mut self, lanes: Vec<(ProbeId, u32)>) -> Result<(), SimError> {
        if self.pipeline.chosen.as_ref().map_or(&[][..], ChosenSamples::lanes) == lanes {
            return Ok(());
        }
        self.drop_graphs();
        self.pipeline.chosen = None;
        self.pipeline.chosen = ChosenSamples::new(&self.gpu, lanes, self.pipeline.scratch.entries.len())?;
        self.update_chosen()
    }

    fn update_chosen(&mut self) -> Result<(), SimError> {
        let phase_fields = phase_fields_of(&self.pipeline.table.kernel_params.value());
        let Some(chosen) = &mut self.pipeline.chosen else { return Ok(()) };
        Ok(chosen.set(&self.host.params, phase_fields)?)
    }

    /// Performs a fusion or decay requested by an action between two generations. The CPU backend computes the event on a copy
    /// of the state, with separate random numbers. Returns the state after the event.
    fn manual_births(&mut self, checked: CheckedAction, living: &[u32]) -> Result<State<f32>, SimError> {
        self.measure(&mut Pass::default())?;
        let stats = self.pipeline.table.stats.read()?;
        let now = stats.first().map_or_else(PopulationStats::default, |c| {
            host_stats(&super::LogEntry { stats: *c, ..super::LogEntry::default() }, false)
        });
        let mut state = self.state()?;
        let mut turnover = Turnover::new(state.capacity, state.dim);
        let draw = RandomAddress {
            seed: self.host.context.seed,
            stream: RandomStream::Mut,
            generation: self.host.step as u32,
        };
        let host = &mut self.host;
        host.events.clear();
        let mut target = TurnoverTarget { state: &mut state, ledger: &mut host.ledger, events: &mut host.events };
        if checked == CheckedAction::Fuse {
            turnover.fuse_manual(living, &host.params, &now, draw.generation, &mut target);
        } else {
            let births = Births {
                mutation: RandomAddress { stream: RandomStream::MutManual, ..draw },
                phase: RandomAddress { stream: RandomStream::PhaseManual, ..draw },
                birth: draw.generation,
            };
            turnover.decay_manual(living, &host.params, &now, births, &mut target);
        }
        host.sampler.events(host.step, &host.events);
        host.events.clear();
        Ok(state)
    }
}
