//! Who fuses, decays and dies: steps 4 to 9 of a generation, in their order.

use super::topk::{self, Keys};
use crate::kinds::nuclei::{
    ChildBase, FuseKey, OrderSeen, Params,
    draw::{Draw, Stream},
    events::{Events, Standing},
    ledger::Ledger,
    mixing::MOST,
    real::{Real, wrapped},
    state::State,
};
use std::f64::consts::TAU;

/// Below this the phases of those who fuse cancel, and the lowest slot's is taken.
const NO_DIRECTION: f64 = 1e-12;

/// What the turnover of a generation needs beside the population.
#[derive(Default)]
pub struct Turnover<T> {
    keys: Keys,
    /// Those to fuse, best key first, and the shares they have in what they become.
    chosen: Vec<u32>,
    shares: Vec<f64>,
    /// Weights and mean direction of what the chosen become.
    fused: Vec<T>,
    /// By field of phases.
    means: [[f64; 2]; MOST],
    /// Those who may decay, worst first, and whether they do.
    worst: Vec<u32>,
    decays: Vec<bool>,
    /// The fittest; ties to the lower slot.
    best: u32,
    base: Vec<T>,
    /// `[N_max]` 1: chosen, or new in this generation.
    marks: Vec<u8>,
}

/// Where random numbers of births come from: a generation and births by hand have their own.
#[derive(Clone, Copy)]
pub struct Births {
    /// Weights.
    pub mutation: Draw,
    /// Phases.
    pub phase: Draw,
    /// Written as generation of birth.
    pub birth: u32,
}

/// What events write to.
pub struct Books<'a, T> {
    /// The population.
    pub state: &'a mut State<T>,
    /// Totals.
    pub ledger: &'a mut Ledger,
    /// What happens now.
    pub events: &'a mut Events,
}

impl<T: Real> Turnover<T> {
    /// For tables of that size.
    pub fn new(capacity: usize, dim: usize) -> Self {
        let room = || Vec::with_capacity(capacity);
        Self {
            keys: Vec::with_capacity(capacity),
            chosen: room(),
            shares: Vec::with_capacity(capacity),
            fused: vec![T::ZERO; dim],
            means: [[0.0; 2]; MOST],
            worst: room(),
            decays: Vec::with_capacity(capacity),
            best: 0,
            base: vec![T::ZERO; dim],
            marks: vec![0; capacity],
        }
    }

    /// Bytes of a table of that size.
    pub const fn bytes_of(capacity: usize) -> u64 {
        (capacity * (16 + 4 + 8 + 4 + 1 + 1)) as u64
    }

    /// One generation of events.
    pub fn take(&mut self, params: &Params, draw: Draw, now: &Standing, books: &mut Books<'_, T>) {
        self.select(params, now, books.state);
        let fires = self.draw(params, draw, now, books.state);
        self.blend(params.population.fuse_key, now, books.state);
        let births = Births {
            mutation: Draw { stream: Stream::Mut, ..draw },
            phase: Draw { stream: Stream::PhaseChild, ..draw },
            birth: draw.generation.wrapping_add(1),
        };
        if fires {
            self.fuse(books, births.birth);
        }
        self.decay(params, births, books);
        self.die(params, draw, books);
        self.finish(books);
    }

    /// Fuses these by hand. They are alive, and at least two.
    pub fn fuse_these(&mut self, slots: &[u32], params: &Params, now: &Standing, birth: u32, books: &mut Books<'_, T>) {
        self.chosen.clear();
        self.chosen.extend(slots);
        self.blend(params.population.fuse_key, now, books.state);
        self.fuse(books, birth);
        self.finish(books);
    }

    /// Lets these decay by hand. They are alive.
    pub fn decay_these(
        &mut self,
        slots: &[u32],
        params: &Params,
        now: &Standing,
        births: Births,
        books: &mut Books<'_, T>,
    ) {
        self.select(params, now, books.state);
        self.blend(params.population.fuse_key, now, books.state);
        self.worst.clear();
        self.worst.extend(slots);
        self.decays.clear();
        self.decays.resize(slots.len(), true);
        self.decay(params, births, books);
        self.finish(books);
    }

    /// The k fittest.
    pub fn fittest(&mut self, state: &State<T>, k: usize) -> &[u32] {
        self.worst.clear();
        let values = state.idx.iter().map(|slot| (-state.f[*slot as usize].wide(), *slot));
        self.worst.extend(topk::largest(values, k, &mut self.keys));
        &self.worst
    }

    /// Step 4: the m with the highest key, and the k worst of the others.
    fn select(&mut self, params: &Params, now: &Standing, state: &State<T>) {
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

    /// Step 5: who decays, and whether the fusion takes place.
    fn draw(&mut self, params: &Params, draw: Draw, now: &Standing, state: &State<T>) -> bool {
        let (population, tunnelling) = (&params.population, &params.tunnelling);
        let decay = Draw { stream: Stream::Decay, ..draw };
        let p_of = |slot: u32| match tunnelling.seen {
            OrderSeen::Local => tunnelling.probability(state.r_local[slot as usize].wide()),
            OrderSeen::Global => now.p_dec,
        };
        self.decays.clear();
        let decays = self.worst.iter().map(|slot| decay.uniform(*slot) < population.in_a_step(p_of(*slot)));
        self.decays.extend(decays);
        let m = self.chosen.len();
        let leaves_enough = state.n() + 1 >= population.n_min as usize + m;
        let fuse = Draw { stream: Stream::Fuse, ..draw };
        m >= 2 && leaves_enough && fuse.uniform(0) < population.in_a_step(now.p_dec)
    }

    /// What the chosen become if they fuse. It is also the base of children when they do not.
    fn blend(&mut self, key: FuseKey, now: &Standing, state: &State<T>) {
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

    /// Step 6: the lowest slot of the chosen hosts what they become; the others are gone at once.
    fn fuse(&mut self, books: &mut Books<'_, T>, birth: u32) {
        let Some(host) = self.chosen.iter().copied().min() else { return };
        let (i, m) = (host as usize, self.chosen.len());
        let state = &mut *books.state;
        let amp = self.chosen.iter().map(|slot| state.amp[*slot as usize]).sum::<T>() / T::of(m as f64);
        books.events.fused.push(host);
        for slot in self.chosen.iter().copied().filter(|slot| *slot != host) {
            state.wipe(slot);
            books.events.fused.push(slot);
        }
        state.row_mut(host).copy_from_slice(&self.fused);
        for (field, [re, im]) in self.means[..state.fields].iter().enumerate() {
            let phase = state.phase_mut(field, host);
            *phase = wrapped(if re.hypot(*im) < NO_DIRECTION { *phase } else { T::of(im.atan2(*re)) });
        }
        state.amp[i] = amp;
        self.renew(state, host, host, birth);
        books.ledger.n_fused += 1;
        books.ledger.absorbed += m as u64 - 1;
    }

    /// Step 7: parents are renewed, and free places filled in ascending order.
    fn decay(&mut self, params: &Params, births: Births, books: &mut Books<'_, T>) {
        let population = &params.population;
        books.state.list_free();
        match population.child_base {
            ChildBase::Fused => self.base.copy_from_slice(&self.fused),
            _ => self.base.copy_from_slice(books.state.row(self.best)),
        }
        let mut next_free = 0;
        for at in 0..self.worst.len() {
            let parent = self.worst[at];
            if !self.decays[at] {
                continue;
            }
            if population.child_base == ChildBase::Parent {
                self.base.copy_from_slice(books.state.row(parent));
            }
            books.events.decayed.push(parent);
            books.ledger.n_decay += 1;
            self.bear(parent, parent, population.sigma, births, books);
            let wanted = population.c_new as usize;
            let placed = wanted.min(books.state.free.len() - next_free);
            for place in next_free..next_free + placed {
                self.bear(books.state.free[place], parent, population.sigma, births, books);
            }
            next_free += placed;
            books.ledger.children += placed as u64;
            books.ledger.overflow += (wanted - placed) as u64;
            books.events.missing += (wanted - placed) as u32;
        }
    }

    fn bear(&mut self, slot: u32, parent: u32, sigma: f64, births: Births, books: &mut Books<'_, T>) {
        let state = &mut *books.state;
        let i = slot as usize;
        let base = &self.base;
        let row = &mut state.w[i * state.stride..][..state.dim];
        births.mutation.each_normal(slot, row.len(), |d, x| row[d] = T::of(base[d].wide() + sigma * x));
        state.alive[i] = 1;
        for field in 0..state.fields {
            *state.phase_mut(field, slot) = wrapped(T::of(TAU * births.phase.uniform_of(slot, field as u32)));
        }
        state.amp[i] = state.amp[parent as usize];
        self.renew(state, slot, parent, births.birth);
        books.events.born.push((slot, parent));
    }

    /// Marks a nucleus as new.
    fn renew(&mut self, state: &mut State<T>, slot: u32, parent: u32, birth: u32) {
        let i = slot as usize;
        (state.birth[i], state.parent[i]) = (birth, parent as i32);
        (state.f[i], state.h[i]) = (T::of(f64::NAN), T::of(f64::NAN)); // nobody has measured it yet
        (state.spike[i], state.frozen[i]) = (T::ZERO, 0);
        self.marks[i] = 1;
    }

    /// Step 8: whoever lived before this generation and was left alone may die.
    fn die(&mut self, params: &Params, draw: Draw, books: &mut Books<'_, T>) {
        let p = params.population.p_death();
        if p <= 0.0 {
            return;
        }
        let draw = Draw { stream: Stream::Death, ..draw };
        let state = &mut *books.state;
        let mut spare = state.alive.iter().map(|alive| usize::from(*alive)).sum::<usize>();
        spare = spare.saturating_sub(params.population.n_min as usize);
        for at in 0..state.idx.len() {
            let slot = state.idx[at];
            if spare == 0 {
                break;
            }
            let untouched = state.alive[slot as usize] != 0 && self.marks[slot as usize] == 0;
            if untouched && draw.uniform(slot) < p {
                state.wipe(slot);
                books.events.died.push(slot);
                spare -= 1;
            }
        }
        books.ledger.n_died += books.events.died.len() as u64;
    }

    /// Step 9: marks are taken back, and the living listed anew.
    fn finish(&mut self, books: &mut Books<'_, T>) {
        let touched = books.events.born.iter().map(|(child, _)| child).chain(&books.events.fused);
        touched.for_each(|slot| self.marks[*slot as usize] = 0);
        books.state.compact();
    }
}
