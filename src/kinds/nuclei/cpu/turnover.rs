//! Fusion, decay and death: steps 4 to 9 of a generation.

use super::topk::{self, Keys};
use crate::kinds::nuclei::{
    choices::{ChildBase, FuseKey, OrderUsed},
    events::{Events, PopulationStats},
    ledger::Ledger,
    mixing::MAX_FIELDS,
    params::Params,
    random::{RandomAddress, RandomStream},
    real::{Real, wrapped},
    state::State,
};
use std::f64::consts::TAU;

/// Minimum length of mean e^{iφ} for which its angle is used; below, the phase of the lowest slot is used.
const MIN_MEAN_LENGTH: f64 = 1e-12;

/// Selection and workspace of the events of a generation.
#[derive(Default)]
pub struct Turnover<T> {
    keys: Keys,
    /// Nuclei selected for fusion, highest key first, and their weights in the mean.
    chosen: Vec<u32>,
    shares: Vec<f64>,
    /// Weights and mean phases of the fusion product.
    fused: Vec<T>,
    /// Mean e^{iφ} of the fusion product, by phase field.
    means: [[f64; 2]; MAX_FIELDS],
    /// Nuclei that may decay, largest error first, and whether they do.
    worst: Vec<u32>,
    decays: Vec<bool>,
    /// Slot of the fittest nucleus; ties to the lower slot.
    best: u32,
    base: Vec<T>,
    /// `[N_max]` 1 if selected, or new in this generation.
    marks: Vec<u8>,
}

/// Random numbers of births, separate for generations and actions.
#[derive(Clone, Copy)]
pub struct Births {
    /// Address of the weights.
    pub mutation: RandomAddress,
    /// Address of the phases.
    pub phase: RandomAddress,
    /// Generation of birth to store.
    pub birth: u32,
}

/// State that events modify.
pub struct TurnoverTarget<'a, T> {
    pub state: &'a mut State<T>,
    /// Event totals since the start.
    pub ledger: &'a mut Ledger,
    /// Events of this generation.
    pub events: &'a mut Events,
}

impl<T: Real> Turnover<T> {
    /// Allocates the workspace for tables of this size.
    pub fn new(capacity: usize, dim: usize) -> Self {
        let room = || Vec::with_capacity(capacity);
        Self {
            keys: Vec::with_capacity(capacity),
            chosen: room(),
            shares: Vec::with_capacity(capacity),
            fused: vec![T::ZERO; dim],
            means: [[0.0; 2]; MAX_FIELDS],
            worst: room(),
            decays: Vec::with_capacity(capacity),
            best: 0,
            base: vec![T::ZERO; dim],
            marks: vec![0; capacity],
        }
    }

    /// Returns the memory for a table of this size, bytes.
    pub const fn bytes_of(capacity: usize) -> u64 {
        (capacity * (16 + 4 + 8 + 4 + 1 + 1)) as u64
    }

    /// Selects and applies the events of one generation.
    pub fn apply(
        &mut self,
        params: &Params,
        draw: RandomAddress,
        now: &PopulationStats,
        target: &mut TurnoverTarget<'_, T>,
    ) {
        self.select(params, now, target.state);
        let fires = self.draw(params, draw, now, target.state);
        self.blend(params.population.fuse_key, now, target.state);
        let births = Births {
            mutation: RandomAddress { stream: RandomStream::Mut, ..draw },
            phase: RandomAddress { stream: RandomStream::PhaseChild, ..draw },
            birth: draw.generation.wrapping_add(1),
        };
        if fires {
            self.fuse(target, births.birth);
        }
        self.decay(params, births, target);
        self.die(params, draw, target);
        self.finish(target);
    }

    /// Fuses these nuclei, at least two, on behalf of an action.
    pub fn fuse_manual(
        &mut self,
        slots: &[u32],
        params: &Params,
        now: &PopulationStats,
        birth: u32,
        target: &mut TurnoverTarget<'_, T>,
    ) {
        self.chosen.clear();
        self.chosen.extend(slots);
        self.blend(params.population.fuse_key, now, target.state);
        self.fuse(target, birth);
        self.finish(target);
    }

    /// Makes these nuclei decay on behalf of an action.
    pub fn decay_manual(
        &mut self,
        slots: &[u32],
        params: &Params,
        now: &PopulationStats,
        births: Births,
        target: &mut TurnoverTarget<'_, T>,
    ) {
        self.select(params, now, target.state);
        self.blend(params.population.fuse_key, now, target.state);
        self.worst.clear();
        self.worst.extend(slots);
        self.decays.clear();
        self.decays.resize(slots.len(), true);
        self.decay(params, births, target);
        self.finish(target);
    }

    /// Returns the slots of the k fittest nuclei.
    pub fn fittest(&mut self, state: &State<T>, k: usize) -> &[u32] {
        self.worst.clear();
        let values = state.idx.iter().map(|slot| (-state.f[*slot as usize].wide(), *slot));
        self.worst.extend(topk::largest(values, k, &mut self.keys));
        &self.worst
    }

    /// Step 4: selects the m nuclei with the highest key, and among the others the k with the largest error.
    fn select(&mut self, params: &Params, now: &PopulationStats, state: &State<T>) {
        let population = &params.population;
        let (f, h) = (|slot: u32| state.f[slot as usize].wide(), |slot: u32| state.h[slot as usize].wide());
        let key = |slot: u32| match population.fuse_key {
            FuseKey::Hybrid => h(slot) - (f(slot) - now.f_mean) / now.temperature,
            FuseKey::Entropy => h(slot),
            FuseKey::Fitness => -f(slot),
        };
        self.chosen.clear();
        let keyed = state.idx.iter().map(|slot| (key(*slot), *slot));
        self.chosen.extend(topk::largest(keyed, population.m_fuse as usize, &mut self.keys));
        self.chosen.iter().for_each(|slot| self.marks[*slot as usize] = 1);
        self.worst.clear();
        let others = state.idx.iter().filter(|slot| self.marks[**slot as usize] == 0).map(|slot| (f(*slot), *slot));
        self.worst.extend(topk::largest(others, population.k_of(state.n()), &mut self.keys));
        self.chosen.iter().for_each(|slot| self.marks[*slot as usize] = 0);
        self.best = state.idx.iter().copied().min_by(|a, b| f(*a).total_cmp(&f(*b))).unwrap_or_default();
    }

    /// Draws which nuclei decay. Returns whether the fusion occurs (step 5).
    fn draw(&mut self, params: &Params, draw: RandomAddress, now: &PopulationStats, state: &State<T>) -> bool {
        let (population, tunnelling) = (&params.population, &params.tunnelling);
        let decay = RandomAddress { stream: RandomStream::Decay, ..draw };
        let p_of = |slot: u32| match tunnelling.seen {
            OrderUsed::Local => tunnelling.probability(state.r_local[slot as usize].wide()),
            OrderUsed::Global => now.p_dec,
        };
        self.decays.clear();
        let decays = self.worst.iter().map(|slot| decay.uniform(*slot) < population.in_a_step(p_of(*slot)));
        self.decays.extend(decays);
        let m = self.chosen.len();
        let keeps_minimum = state.n() + 1 >= population.n_min as usize + m;
        let fuse = RandomAddress { stream: RandomStream::Fuse, ..draw };
        m >= 2 && keeps_minimum && fuse.uniform(0) < population.in_a_step(now.p_dec)
    }

    /// Computes the fusion product, which may be the base of offspring even if no fusion occurs.
    fn blend(&mut self, key: FuseKey, now: &PopulationStats, state: &State<T>) {
        let f = |slot: &u32| state.f[*slot as usize].wide();
        let least = self.chosen.iter().map(f).fold(f64::INFINITY, f64::min);
        self.shares.clear();
        self.shares.extend(self.chosen.iter().map(|slot| match key {
            FuseKey::Hybrid | FuseKey::Entropy => state.h[*slot as usize].wide(),
            FuseKey::Fitness => (-(f(slot) - least) / now.temperature).exp(),
        }));
        if self.shares.iter().sum::<f64>() <= 0.0 {
            self.shares.fill(1.0);
        }
        let total: f64 = self.shares.iter().sum();
        let parts = || self.chosen.iter().zip(&self.shares);
        for (d, fused) in self.fused.iter_mut().enumerate() {
            *fused = T::of(parts().map(|(slot, a)| a * state.row(*slot)[d].wide()).sum::<f64>() / total);
        }
        for (field, mean) in self.means[..state.fields].iter_mut().enumerate() {
            *mean = parts().fold([0.0; 2], |[re, im], (slot, a)| {
                let (sin, cos) = state.phase(field, *slot).wide().sin_cos();
                [re + a * cos, im + a * sin]
            });
        }
    }

    /// Step 6: stores the fusion product in the lowest selected slot, and frees the other slots.
    fn fuse(&mut self, target: &mut TurnoverTarget<'_, T>, birth: u32) {
        let Some(host) = self.chosen.iter().copied().min() else { return };
        let (i, m) = (host as usize, self.chosen.len());
        let state = &mut *target.state;
        let amp = self.chosen.iter().map(|slot| state.amp[*slot as usize]).sum::<T>() / T::of(m as f64);
        target.events.fused.push(host);
        target.events.errors.push(state.f[i].wide() as f32);
        for slot in self.chosen.iter().copied().filter(|slot| *slot != host) {
            target.events.errors.push(state.f[slot as usize].wide() as f32);
            state.clear_slot(slot);
            target.events.fused.push(slot);
        }
        state.row_mut(host).copy_from_slice(&self.fused);
        for (field, [re, im]) in self.means[..state.fields].iter().enumerate() {
            let phase = state.phase_mut(field, host);
            *phase = wrapped(if re.hypot(*im) < MIN_MEAN_LENGTH { *phase } else { T::of(im.atan2(*re)) });
        }
        state.amp[i] = amp;
        self.mark_new(state, host, host, birth);
        target.ledger.n_fused += 1;
        target.ledger.absorbed += m as u64 - 1;
    }

    /// Step 7: replaces decaying nuclei and fills free slots in ascending order.
    fn decay(&mut self, params: &Params, births: Births, target: &mut TurnoverTarget<'_, T>) {
        let population = &params.population;
        target.state.list_free();
        match population.child_base {
            ChildBase::Fused => self.base.copy_from_slice(&self.fused),
            _ => self.base.copy_from_slice(target.state.row(self.best)),
        }
        let mut next_free = 0;
        for at in 0..self.worst.len() {
            let parent = self.worst[at];
            if !self.decays[at] {
                continue;
            }
            if population.child_base == ChildBase::Parent {
                self.base.copy_from_slice(target.state.row(parent));
            }
            target.events.decayed.push(parent);
            target.events.errors.push(target.state.f[parent as usize].wide() as f32);
            target.ledger.n_decay += 1;
            self.create_offspring(parent, parent, population.sigma, births, target);
            let requested = population.c_new as usize;
            let placed = requested.min(target.state.free.len() - next_free);
            for place in next_free..next_free + placed {
                self.create_offspring(target.state.free[place], parent, population.sigma, births, target);
            }
            next_free += placed;
            target.ledger.children += placed as u64;
            target.ledger.overflow += (requested - placed) as u64;
            target.events.missing += (requested - placed) as u32;
        }
    }

    fn create_offspring(
        &mut self,
        slot: u32,
        parent: u32,
        sigma: f64,
        births: Births,
        target: &mut TurnoverTarget<'_, T>,
    ) {
        let state = &mut *target.state;
        let i = slot as usize;
        let base = &self.base;
        let row = &mut state.w[i * state.stride..][..state.dim];
        births.mutation.each_normal(slot, row.len(), |d, x| row[d] = T::of(base[d].wide() + sigma * x));
        state.alive[i] = 1;
        for field in 0..state.fields {
            *state.phase_mut(field, slot) = wrapped(T::of(TAU * births.phase.uniform_of(slot, field as u32)));
        }
        state.amp[i] = state.amp[parent as usize];
        self.mark_new(state, slot, parent, births.birth);
        target.events.born.push((slot, parent));
    }

    /// Marks a nucleus as new.
    fn mark_new(&mut self, state: &mut State<T>, slot: u32, parent: u32, birth: u32) {
        let i = slot as usize;
        (state.birth[i], state.parent[i]) = (birth, parent as i32);
        (state.f[i], state.h[i]) = (T::of(f64::NAN), T::of(f64::NAN)); // not evaluated yet
        (state.spike[i], state.frozen[i]) = (T::ZERO, 0);
        self.marks[i] = 1;
    }

    /// Step 8: draws deaths among the nuclei that are not new and took no part in an event.
    fn die(&mut self, params: &Params, draw: RandomAddress, target: &mut TurnoverTarget<'_, T>) {
        let p = params.population.p_death();
        if p <= 0.0 {
            return;
        }
        let draw = RandomAddress { stream: RandomStream::Death, ..draw };
        let state = &mut *target.state;
        let mut removable = state.alive.iter().map(|alive| usize::from(*alive)).sum::<usize>();
        removable = removable.saturating_sub(params.population.n_min as usize);
        for at in 0..state.idx.len() {
            let slot = state.idx[at];
            if removable == 0 {
                break;
            }
            let untouched = state.alive[slot as usize] != 0 && self.marks[slot as usize] == 0;
            if untouched && draw.uniform(slot) < p {
                target.events.errors.push(state.f[slot as usize].wide() as f32);
                state.clear_slot(slot);
                target.events.died.push(slot);
                removable -= 1;
            }
        }
        target.ledger.n_died += target.events.died.len() as u64;
    }

    /// Step 9: clears the marks and rebuilds the slot lists.
    fn finish(&mut self, target: &mut TurnoverTarget<'_, T>) {
        let touched = target.events.born.iter().map(|(child, _)| child).chain(&target.events.fused);
        touched.for_each(|slot| self.marks[*slot as usize] = 0);
        target.state.compact();
    }
}
