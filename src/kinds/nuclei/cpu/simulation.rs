//! The promises of [`Simulation`].

use super::{CpuSim, check, method, standing, turnover};
use crate::{
    gpu::Pass,
    kinds::{
        edit::Edit,
        nuclei::{
            desk::Hand,
            draw::{Draw, Stream},
            events::Standing,
            fields, measure, mixing, predict,
            probes::PROBES,
            real::{Real, wrapped},
            saved, start,
        },
    },
    params::Change,
    sim::{
        Action, Clock, Digest, Effect, ElementSet, Frame, MemoryByOwner, ProbeId, ProbeSpec, Reading, Shape, SimError,
        Simulation, Tap,
    },
};
use std::sync::Arc;
use turnover::{Births, Books};

impl<T: Real> Simulation for CpuSim<T> {
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
            Edit::Live(new) => {
                check(&new)?;
                if new.coupling != self.desk.params.coupling {
                    self.coupling.choose(method(&new), new.coupling.sparse_cutoff, self.state.capacity);
                    let g = mixing::matrix(&new.coupling, self.state.fields, self.desk.context.seed);
                    self.waves.mix(&g, new.coupling.sent);
                }
                if new.phases.frequencies != self.desk.params.phases.frequencies {
                    let (seed, places) = (self.desk.context.seed, self.state.capacity);
                    self.state.omega = start::frequencies(new.phases.frequencies, seed, places);
                }
                self.desk.params = *new;
            }
        }
        Ok(Effect::Applied)
    }

    fn act(&mut self, action: &Action) -> Result<(), SimError> {
        let hand = Hand::of(action, self.state.capacity as u32)?;
        let mut living: Vec<u32> = action.elements.clone();
        living.retain(|slot| self.state.alive[*slot as usize] != 0);
        living.sort_unstable();
        living.dedup();
        if living.is_empty() {
            return Err(SimError::Input(format!("{}: nobody lives in the selected places", action.name)));
        }
        match hand {
            Hand::Kick(angle) => {
                for slot in living {
                    for field in 0..self.state.fields {
                        let phi = self.state.phase_mut(field, slot);
                        *phi = wrapped(*phi + T::of(angle));
                    }
                }
            }
            Hand::Freeze(still) => living.iter().for_each(|slot| self.state.frozen[*slot as usize] = still.into()),
            Hand::Fuse if living.len() < 2 => {
                return Err(SimError::Input("fuse: select at least two nuclei that live".to_owned()));
            }
            Hand::Fuse | Hand::Decay => self.births_by_hand(hand, &living)?,
        }
        Ok(())
    }

    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.desk.meter.tap(taps, self.desk.step, &self.state.idx)
    }

    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        (0..steps).try_for_each(|_| self.generation(pass))?;
        if steps > 0 && pass.profiled && self.desk.params.measure.variants {
            self.time_variants(pass);
        }
        Ok(())
    }

    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        for probe in self.desk.meter.taps() {
            let shape = PROBES[usize::from(probe)].shape;
            if !frame.wants(shape) {
                continue;
            }
            let reading = match shape {
                Shape::Field { .. } => {
                    Some(Reading::Field(fields::field(probe, &self.state, &self.desk.params, self.desk.step)))
                }
                _ => self.desk.meter.take(probe),
            };
            frame.readings.extend(reading.map(|reading| (probe, reading)));
        }
        Ok(())
    }

    fn save(&mut self) -> Result<Vec<u8>, SimError> {
        Ok(saved::write(&self.desk, &self.state))
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), SimError> {
        self.state = saved::parse(&self.state, bytes)?.restore(&mut self.desk);
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), SimError> {
        self.put(start::state(&self.desk.params, self.desk.context.seed, self.state.dim), 0);
        Ok(())
    }

    fn digest(&self) -> Digest {
        self.desk.digest()
    }

    fn memory(&self) -> MemoryByOwner {
        let (weights, rest) = self.state.n_bytes();
        let (capacity, dim) = (self.state.capacity, self.state.dim);
        vec![
            ("weights", weights),
            ("nuclei", rest),
            ("task", self.measured.n_bytes() + self.desk.setup.matrix.as_ref().map_or(0, |j| j.len() as u64 * 8)),
            ("coupling", self.coupling.n_bytes()),
            ("working space", predict::working_space::<T>(capacity, dim, self.state.fields)),
            ("places", self.desk.sets.iter().map(|set| set.n_bytes()).sum()),
            ("measurements", self.desk.meter.n_bytes()),
        ]
    }
}

impl<T: Real> CpuSim<T> {
    /// Fusions and decays between two generations, with random numbers of their own.
    fn births_by_hand(&mut self, hand: Hand, living: &[u32]) -> Result<(), SimError> {
        self.measure()?;
        let f = &self.work.f;
        let now = Standing {
            temperature: standing::temperature(f),
            f_mean: f.iter().map(|f| f.wide()).sum::<f64>() / f.len().max(1) as f64,
            ..Standing::default()
        };
        let draw = self.draw();
        let desk = &mut self.desk;
        desk.events.clear();
        let (params, turnover) = (&desk.params, &mut self.turnover);
        let mut books = Books { state: &mut self.state, ledger: &mut desk.ledger, events: &mut desk.events };
        if hand == Hand::Fuse {
            turnover.fuse_these(living, params, &now, draw.generation, &mut books);
        } else {
            let births = Births {
                mutation: Draw { stream: Stream::MutByHand, ..draw },
                phase: Draw { stream: Stream::PhaseByHand, ..draw },
                birth: draw.generation,
            };
            turnover.decay_these(living, params, &now, births, &mut books);
        }
        desk.meter.events(desk.step, &desk.events);
        desk.events.clear();
        Ok(())
    }
}
