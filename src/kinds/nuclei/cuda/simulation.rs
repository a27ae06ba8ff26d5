//! The promises of [`Simulation`].

use super::{CudaSim, MODULES, Mixer, Task, rules, standing};
use crate::{
    gpu::{KernelFacts, Pass},
    kinds::{
        edit::Edit,
        nuclei::{
            Params,
            cpu::turnover::{Births, Books, Turnover},
            desk::Hand,
            draw::{Draw, Stream},
            events::Standing,
            fields, measure, mixing,
            probes::{self, PROBES},
            real::wrapped,
            saved, start,
            state::State,
        },
    },
    params::Change,
    sim::{
        Action, Clock, Digest, Effect, ElementSet, Frame, MemoryByOwner, ProbeId, ProbeSpec, Reading, Shape, SimError,
        Simulation, Tap,
    },
};
use std::sync::Arc;

impl Simulation for CudaSim {
    fn probes(&self) -> &'static [ProbeSpec] {
        PROBES
    }

    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        measure::lanes(probe, mixing::fields(&self.desk.params))
    }

    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.desk.sets
    }

    fn clock(&self) -> Clock {
        self.desk.clock()
    }

    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        match self.desk.edit(change)? {
            Edit::Same => {}
            Edit::Rebuild => return Ok(Effect::NeedsRebuild),
            Edit::Live(new) => self.take_up(*new)?,
        }
        Ok(Effect::Applied)
    }

    fn act(&mut self, action: &Action) -> Result<(), SimError> {
        let hand = Hand::of(action, self.desk.params.population.capacity)?;
        let mut state = self.state()?;
        let mut living: Vec<u32> = action.elements.clone();
        living.retain(|slot| state.alive[*slot as usize] != 0);
        living.sort_unstable();
        living.dedup();
        if living.is_empty() {
            return Err(SimError::Input(format!("{}: nobody lives in the selected places", action.name)));
        }
        match hand {
            Hand::Kick(angle) => {
                for slot in living {
                    for field in 0..state.fields {
                        let phi = state.phase_mut(field, slot);
                        *phi = wrapped(*phi + angle as f32);
                    }
                }
            }
            Hand::Freeze(still) => living.iter().for_each(|slot| state.frozen[*slot as usize] = still.into()),
            Hand::Fuse if living.len() < 2 => {
                return Err(SimError::Input("fuse: select at least two nuclei that live".to_owned()));
            }
            Hand::Fuse | Hand::Decay => state = self.births_by_hand(hand, &living)?,
        }
        Ok(self.machine.table.upload(&state, self.desk.step, &self.desk.ledger)?)
    }

    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        let living = self.living()?;
        self.desk.meter.tap(taps, self.desk.step, &living)?;
        let followed = |t: &Tap| matches!(t.probe, probes::PHASE_OF | probes::FITNESS_OF) && !t.elements.is_empty();
        self.follows = taps.iter().any(followed);
        Ok(())
    }

    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        self.run(steps, pass)
    }

    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        let mut state = None;
        for probe in self.desk.meter.taps() {
            let shape = PROBES[usize::from(probe)].shape;
            if !frame.wants(shape) {
                continue;
            }
            let reading = match shape {
                Shape::Field { .. } => {
                    let state = match &mut state {
                        Some(state) => state,
                        none => none.insert(self.machine.table.download_places(self.desk.setup.dim)?),
                    };
                    Some(Reading::Field(fields::field(probe, state, &self.desk.params, self.desk.step)))
                }
                _ => self.desk.meter.take(probe),
            };
            frame.readings.extend(reading.map(|reading| (probe, reading)));
        }
        Ok(())
    }

    fn save(&mut self) -> Result<Vec<u8>, SimError> {
        Ok(saved::write(&self.desk, &self.state()?))
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), SimError> {
        let (params, dim) = (&self.desk.params, self.desk.setup.dim);
        let like = State::with_fields(params.population.capacity as usize, dim, mixing::fields(params));
        let state = saved::parse(&like, bytes)?.restore(&mut self.desk);
        Ok(self.machine.table.upload(&state, self.desk.step, &self.desk.ledger)?)
    }

    fn rewind(&mut self) -> Result<(), SimError> {
        let state = start::state(&self.desk.params, self.desk.context.seed, self.desk.setup.dim);
        self.put(&state, 0)
    }

    fn digest(&self) -> Digest {
        self.desk.digest()
    }

    fn memory(&self) -> MemoryByOwner {
        let (weights, rest) = self.machine.table.n_bytes();
        vec![
            ("weights", weights),
            ("population", rest),
            ("task", self.machine.task.as_ref().map_or(0, Task::n_bytes)),
            ("coupling", self.machine.coupling.n_bytes() + self.machine.mixer.as_ref().map_or(0, Mixer::n_bytes)),
            ("working space", self.machine.scratch.n_bytes()),
            ("places", self.desk.sets.iter().map(|set| set.n_bytes()).sum()),
            ("measurements", self.desk.meter.n_bytes()),
        ]
    }

    fn kernels(&self) -> Vec<KernelFacts> {
        let mine = |k: &KernelFacts| MODULES.iter().any(|m| m.file == k.file);
        self.gpu.kernel_facts().into_iter().filter(mine).collect()
    }
}

impl CudaSim {
    /// Parameters that hold from the next generation on.
    fn take_up(&mut self, new: Params) -> Result<(), SimError> {
        rules::check(&new, &self.desk.setup)?;
        self.forget_graph();
        if rules::way(&new) != self.machine.coupling.way {
            self.machine.coupling = super::coupling_of(&self.gpu, &new, &self.desk.setup, &self.tuning)?;
        }
        if let (Some(mixer), true) = (&mut self.machine.mixer, new.coupling != self.desk.params.coupling) {
            mixer.take(&mixing::matrix(&new.coupling, mixer.fields() as usize, self.desk.context.seed))?;
        }
        if new.phases.frequencies != self.desk.params.phases.frequencies {
            let (seed, places) = (self.desk.context.seed, new.population.capacity as usize);
            self.machine.table.turn_at(&start::frequencies(new.phases.frequencies, seed, places))?;
        }
        if new.task != self.desk.params.task {
            self.machine.task = Task::new(&self.gpu, &new, &self.desk.setup, self.tuning.plain_fitness)?;
        }
        self.machine.table.rules.set(rules::rules(&new, self.desk.context.seed, self.desk.setup.dim))?;
        self.desk.params = new;
        Ok(())
    }

    /// Fusions and decays between two generations, with random numbers of their own: the host's, on a copy.
    fn births_by_hand(&mut self, hand: Hand, living: &[u32]) -> Result<State<f32>, SimError> {
        self.measure(&mut Pass::default())?;
        let climate = self.machine.table.climate.read()?;
        let now = climate.first().map_or_else(Standing::default, |c| {
            standing(&super::Entry { climate: *c, ..super::Entry::default() }, false)
        });
        let mut state = self.state()?;
        let mut turnover = Turnover::new(state.capacity, state.dim);
        let draw = Draw { seed: self.desk.context.seed, stream: Stream::Mut, generation: self.desk.step as u32 };
        let desk = &mut self.desk;
        desk.events.clear();
        let mut books = Books { state: &mut state, ledger: &mut desk.ledger, events: &mut desk.events };
        if hand == Hand::Fuse {
            turnover.fuse_these(living, &desk.params, &now, draw.generation, &mut books);
        } else {
            let births = Births {
                mutation: Draw { stream: Stream::MutByHand, ..draw },
                phase: Draw { stream: Stream::PhaseByHand, ..draw },
                birth: draw.generation,
            };
            turnover.decay_these(living, &desk.params, &now, births, &mut books);
        }
        desk.meter.events(desk.step, &desk.events);
        desk.events.clear();
        Ok(state)
    }
}
