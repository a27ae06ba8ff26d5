//! The CPU backend: the definition of what a population of nuclei does.
//!
//! # One generation
//!
//! From the state after g generations to that after g + 1; [`Draw`] addresses all random numbers with g:
//!
//! 0. The living are listed by slot, ascending. With a learning rate, their weights go down the gradient once.
//! 1. f and H of the living ([`fitness`]); T = 1 + the sample standard deviation of f.
//! 2. The substeps of the phases ([`phases`], [`maps`]), with f and H standing still; then S, d, R_j and r with the final
//!    phases ([`coupling`]).
//! 3. P(r) and P(R_j).
//! 4. F: the m living with the highest fusion key, ties to the lower slot; W: the k living with the largest f outside F.
//! 5. j in W decays iff u(Decay, j) < P_j; F fuses iff u(Fuse, 0) < P(r), m ≥ 2 and N - (m - 1) ≥ n_min.
//! 6. **Fusion**: w* = Σ a w / Σ a, φ* = arg Σ a e^{iφ}, in the lowest slot of F; the others are dead and zero at once.
//! 7. **Decays** in descending f: the nucleus itself and the next c free slots, ascending, become base + σ·normal(Mut,
//!    slot), with phases 2π u(PhaseChild, slot). The base `Best` is the row of the fittest as step 6 left it. Without a
//!    free slot a child is counted as missing; nothing is overwritten.
//! 8. **Deaths**: of those alive at step 0 and untouched since, j dies iff u(Death, j) < 1 - e^{-λ}, by ascending slot,
//!    while more than n_min live.
//! 9. Rows of the dead are zero; the living and the free are listed anew.
//!
//! Nothing depends on threads or batches: sums over nuclei run over pieces of fixed length. Nothing is allocated after the
//! start, but by threads that are started, by a change of method, and by the method `Naive`.

pub mod coupling;
pub mod crew;
pub mod fitness;
pub mod maps;
pub mod mixer;
pub mod phases;
mod simulation;
pub mod standing;
pub mod topk;
pub mod turnover;
pub mod variants;

use super::{
    Dynamics, Method, Params, Source,
    desk::{Desk, lost},
    draw::{Draw, Stream},
    events::Standing,
    fields, mixing,
    real::Real,
    start,
    state::State,
    task::Setup,
};
use crate::{
    gpu::Pass,
    sim::{BuildContext, SimError},
};
use coupling::{Coupling, Kernel};
use crew::Crew;
use fitness::{Lanes, Measured};
use phases::{Drift, Waves};
use std::sync::Arc;
use turnover::{Books, Turnover};

/// Nuclei of one tile of fitness.
const TILE: usize = 128;

/// A population on the CPU.
pub struct CpuSim<T> {
    desk: Desk,
    state: State<T>,
    crew: Crew,
    measured: Measured<T>,
    coupling: Coupling<T>,
    waves: Waves<T>,
    turnover: Turnover<T>,
    work: Work<T>,
}

/// Arrays over the living, side by side.
#[derive(Default)]
struct Work<T> {
    f: Vec<T>,
    x: Vec<T>,
    h: Vec<T>,
    tiles: Vec<Lanes<T>>,
    slopes: Vec<T>,
    sorted: Vec<T>,
}

impl<T: Real> CpuSim<T> {
    /// At step 0.
    pub fn new(params: &Params, context: &BuildContext, setup: Arc<Setup>, threads: usize) -> Result<Self, SimError> {
        let (capacity, dim) = (params.population.capacity as usize, setup.dim);
        check(params)?;
        let crew = Crew::new(threads);
        let room = || Vec::with_capacity(capacity);
        let work = Work {
            f: room(),
            x: room(),
            h: room(),
            tiles: Vec::with_capacity(capacity.div_ceil(TILE) * dim),
            slopes: vec![T::ZERO; capacity.div_ceil(TILE) * dim],
            sorted: room(),
        };
        let state = start::state(params, context.seed, dim);
        let mut waves = Waves::with_fields(state.fields, capacity);
        waves.mix(&mixing::matrix(&params.coupling, state.fields, context.seed), params.coupling.sent);
        Ok(Self {
            measured: Measured::new(&setup),
            coupling: Coupling::new(method(params), params.coupling.sparse_cutoff, capacity, crew),
            waves,
            turnover: Turnover::new(capacity, dim),
            desk: Desk::new(params, context, setup, state.n() as u64),
            state,
            crew,
            work,
        })
    }

    /// From a population at hand, which then is that of step `generation`.
    pub fn put(&mut self, state: State<T>, generation: u64) {
        self.state = state;
        self.desk.begin(generation, &self.state.idx);
    }

    /// The population.
    pub const fn state(&self) -> &State<T> {
        &self.state
    }

    /// The backend-neutral half.
    pub const fn desk(&self) -> &Desk {
        &self.desk
    }

    fn draw(&self) -> Draw {
        Draw { seed: self.desk.context.seed, stream: Stream::Mut, generation: self.desk.step as u32 }
    }

    /// One generation.
    fn generation(&mut self, pass: &mut Pass) -> Result<(), SimError> {
        let n = self.state.n() as u64;
        pass.span("measure", n, || self.measure())?;
        pass.span("plan", n, || self.plan());
        self.move_phases(pass);
        let standing = pass.span("order", n, || self.stand());
        let draw = self.draw();
        let desk = &mut self.desk;
        let (params, turnover) = (&desk.params, &mut self.turnover);
        desk.events.clear();
        let mut books = Books { state: &mut self.state, ledger: &mut desk.ledger, events: &mut desk.events };
        pass.span("turnover", n, || turnover.take(params, draw, &standing, &mut books));
        let (state, step) = (&self.state, desk.step + 1);
        let value = |params: &Params, probe, slot| fields::value(probe, slot, state, params, step);
        pass.span("record", 1, || desk.end_generation(standing, &value));
        Ok(())
    }

    /// Step 1.
    fn measure(&mut self) -> Result<(), SimError> {
        let (task, work, state) = (&self.desk.params.task, &mut self.work, &mut self.state);
        let n = state.n();
        work.f.resize(n, T::ZERO);
        work.h.resize(n, T::ZERO);
        if let Some(equations) = self.measured.of(task) {
            if task.learning_rate > 0.0 {
                let (rate, dim, stride) = (task.learning_rate, state.dim, state.stride);
                let tiles = state.w.chunks_mut(stride * TILE).zip(state.alive.chunks(TILE));
                let tiles = tiles.zip(work.slopes.chunks_mut(dim));
                self.crew.each(2 * n * equations.x.len(), tiles, |((rows, alive), slope)| {
                    let living = rows.chunks_mut(stride).zip(alive).filter(|(_, alive)| **alive != 0);
                    living.for_each(|(row, _)| fitness::learn(equations, task.answer, rate, &mut row[..dim], slope));
                });
            }
            let (tiles, f) = (&mut work.tiles, &mut work.f);
            fitness::measure(equations, task, state, &state.idx, TILE, self.crew, tiles, f);
            let pieces = work.h.chunks_mut(TILE).zip(state.idx.chunks(TILE));
            self.crew.each(10 * n * state.dim, pieces, |(h, slots)| {
                h.iter_mut().zip(slots).for_each(|(h, slot)| *h = fitness::entropy(state.row(*slot)));
            });
        } else {
            work.f.fill(T::ZERO);
            work.h.fill(T::ZERO);
        }
        for (at, slot) in state.idx.iter().enumerate() {
            let (f, h) = (work.f[at], work.h[at]);
            if !(f.wide() + h.wide()).is_finite() {
                return Err(lost(&format!("the weights of nucleus {slot}"), self.desk.step));
            }
            (state.f[*slot as usize], state.h[*slot as usize]) = (f, h);
        }
        Ok(())
    }

    /// J of this generation.
    fn plan(&mut self) {
        let work = &mut self.work;
        let t = T::of(standing::temperature(&work.f));
        work.x.clear();
        work.x.extend(work.f.iter().map(|f| *f / t));
        match &self.desk.setup.matrix {
            Some(all) if self.desk.params.coupling.method == Method::Dense => {
                self.coupling.plan_given(all, self.state.capacity, &self.state.idx);
            }
            _ => self.coupling.plan(Kernel { x: &work.x, h: &work.h }),
        }
    }

    /// Step 2.
    fn move_phases(&mut self, pass: &mut Pass) {
        let (draw, crew, n) = (self.draw(), self.crew, self.state.n() as u64);
        let (phases, work) = (&self.desk.params.phases, &self.work);
        let kernel = Kernel { x: &work.x, h: &work.h };
        let (waves, coupling, state) = (&mut self.waves, &mut self.coupling, &mut self.state);
        waves.gather(state);
        match phases.dynamics {
            Dynamics::Still => {}
            Dynamics::Kuramoto => {
                let drift = Drift { phases, state, kernel, draw, crew };
                for block in 0..phases.substeps {
                    pass.span("substep", n, || drift.substep(waves, coupling, block));
                }
            }
            Dynamics::QkmCompat | Dynamics::QkmCovariant => {
                maps::spike(state, draw);
                for _ in 0..phases.substeps {
                    pass.span("substep", n, || {
                        waves.evaluate(kernel, coupling, crew);
                        maps::apply(phases, state, waves);
                    });
                }
            }
        }
        pass.span("coupling", n, || waves.evaluate(kernel, coupling, crew));
        waves.scatter(state);
        for (at, slot) in state.idx.iter().enumerate() {
            let (i, sums) = (*slot as usize, &waves.sums);
            (state.s_re[i], state.s_im[i], state.d[i]) = (sums.re[at], sums.im[at], sums.d[at]);
            let size = (sums.re[at] * sums.re[at] + sums.im[at] * sums.im[at]).sqrt();
            state.r_local[i] = if sums.d[at] > T::ZERO { size / sums.d[at] } else { T::ZERO };
        }
    }

    /// The coupling of the last generation in all ways, for the timings.
    fn time_variants(&self, pass: &mut Pass) {
        let kernel = Kernel { x: &self.work.x, h: &self.work.h };
        variants::time(kernel, self.waves.rotors(0), self.desk.params.coupling.sparse_cutoff, self.crew, pass);
    }

    /// Step 3, and what is known of the population as a whole.
    fn stand(&mut self) -> Standing {
        let wanted = self.desk.meter.wanted(self.desk.step + 1);
        let work = &mut self.work;
        let (params, state) = (&self.desk.params, &self.state);
        let mut now = standing::of(params, state, &self.waves, &work.f, &work.h, &mut work.sorted, wanted);
        if let Some(equations) = self.measured.of(&params.task).filter(|_| wanted) {
            let fittest = self.turnover.fittest(state, params.measure.ensemble as usize);
            now.f_ensemble = fitness::together(equations, params.task.answer, state, fittest);
        }
        now
    }
}

/// The method as chosen; J = 1 when all nuclei are alike.
fn method(params: &Params) -> Method {
    match (params.coupling.method, params.task.source) {
        (Method::Auto, Source::Nothing) => Method::MeanField,
        (chosen, _) => chosen,
    }
}

/// Nuclei whose J may be written out: 4 GB in double precision.
const MOST_DENSE: u32 = 22_000;

/// J of a large population is not written out; maps move one field.
fn check(params: &Params) -> Result<(), SimError> {
    mixing::check(params)?;
    let capacity = params.population.capacity;
    if params.coupling.method == Method::Dense && capacity > MOST_DENSE {
        return Err(SimError::Input(format!(
            "coupling.method = Dense holds {capacity} × {capacity} numbers; take Fast, which is as exact, or a \
             population.capacity of at most {MOST_DENSE}"
        )));
    }
    Ok(())
}
