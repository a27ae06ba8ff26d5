//! CPU backend: the definition of the nuclei kind.
//!
//! # One generation
//!
//! A generation leads from the state after g generations to that after g + 1; [`RandomAddress`] addresses all random numbers with
//! g:
//!
//! 0. Nuclei are listed by slot, ascending. With a learning rate, their weights take one gradient step.
//! 1. f and H of all nuclei ([`fitness`]); T = 1 + the sample standard deviation of f.
//! 2. The substeps of the phases ([`phases`], [`maps`]), at constant f and H; then S, d, R_j and r with the final
//!    phases ([`coupling`]).
//! 3. P(r) and P(R_j).
//! 4. F: the m nuclei with the highest fusion key, ties to the lower slot; W: the k nuclei with the largest f outside F.
//! 5. j in W decays iff u(Decay, j) < P_j; F fuses iff u(Fuse, 0) < P(r), m ≥ 2 and N - (m - 1) ≥ n_min.
//! 6. **Fusion**: w* = Σ a w / Σ a, φ* = arg Σ a e^{iφ}, in the lowest slot of F; the other slots are freed and zeroed.
//! 7. **Decays** in descending f: the nucleus itself and the next c free slots, ascending, become base + σ·normal(Mut,
//!    slot), with phases 2π u(PhaseChild, slot). The base `Best` is the row of the fittest after step 6. Without a
//!    free slot an offspring is counted as missing; no slot is overwritten.
//! 8. **Deaths**: of the nuclei alive at step 0 that neither fused nor decayed, j dies iff u(Death, j) < 1 - e^{-λ}, by
//!    ascending slot, while more than n_min remain.
//! 9. Free rows are zero; the lists of occupied and free slots are rebuilt.
//!
//! Results do not depend on threads or batches: sums over nuclei run over chunks of fixed length. After the start, memory is
//! allocated only when threads start, when the algorithm changes, and by the algorithm `Naive`.

pub mod coupling;
pub mod fitness;
pub mod maps;
pub mod mixer;
pub mod phases;
pub mod population_stats;
mod simulation;
pub mod topk;
pub mod turnover;
pub mod variants;

use super::{
    choices::{CouplingMethod, Dynamics, TaskSource},
    events::PopulationStats,
    fields,
    host_state::{HostState, non_finite},
    initial, mixing,
    params::Params,
    random::{RandomAddress, RandomStream},
    real::Real,
    state::State,
    task::Setup,
};
use crate::{
    gpu::Pass,
    kinds::shared::threads::Threads,
    sim::{BuildContext, SimError},
};
use coupling::{Coupling, Kernel};
use fitness::{EquationForms, Lanes};
use phases::{Drift, Oscillators};
use std::sync::Arc;
use turnover::{Turnover, TurnoverTarget};
use variants::Variants;

/// Number of nuclei per tile of the fitness evaluation.
const TILE: usize = 128;

/// A population on the CPU.
pub struct CpuSim<T> {
    host: HostState,
    state: State<T>,
    threads: Threads,
    equations: EquationForms<T>,
    coupling: Coupling<T>,
    oscillators: Oscillators<T>,
    turnover: Turnover<T>,
    scratch: Scratch<T>,
    /// Comparison of coupling algorithms, only with `measure.variants`.
    variants: Option<Variants<T>>,
}

/// Arrays over the nuclei in order of slots.
#[derive(Default)]
struct Scratch<T> {
    f: Vec<T>,
    x: Vec<T>,
    h: Vec<T>,
    tiles: Vec<Lanes<T>>,
    slopes: Vec<T>,
    sorted: Vec<T>,
}

impl<T: Real> CpuSim<T> {
    /// Creates a simulation at step 0. Fails if the parameters are not supported or memory is exhausted.
    pub fn new(params: &Params, context: &BuildContext, setup: Arc<Setup>, threads: usize) -> Result<Self, SimError> {
        let (capacity, dim) = (params.population.capacity as usize, setup.dim);
        check(params)?;
        let threads = Threads::new(threads);
        let room = || Vec::with_capacity(capacity);
        let scratch = Scratch {
            f: room(),
            x: room(),
            h: room(),
            tiles: Vec::with_capacity(capacity.div_ceil(TILE) * dim),
            slopes: vec![T::ZERO; capacity.div_ceil(TILE) * dim],
            sorted: room(),
        };
        let state = initial::state(params, context.seed, dim)?;
        let mut oscillators = Oscillators::with_fields(state.fields, capacity);
        oscillators.set_mixing(&mixing::matrix(&params.coupling, state.fields, context.seed), params.coupling.sent);
        Ok(Self {
            equations: EquationForms::new(&setup),
            coupling: Coupling::new(method(params), params.coupling.sparse_cutoff, capacity, &threads),
            oscillators,
            turnover: Turnover::new(capacity, dim),
            variants: Variants::new(params, &threads),
            host: HostState::new(params, context, setup, state.n() as u64),
            state,
            threads,
            scratch,
        })
    }

    /// Replaces the population and sets the step to `generation`.
    pub fn put(&mut self, state: State<T>, generation: u64) {
        self.state = state;
        self.host.begin(generation, &self.state.idx);
    }

    pub const fn state(&self) -> &State<T> {
        &self.state
    }

    /// Returns the backend-independent state.
    pub const fn host(&self) -> &HostState {
        &self.host
    }

    fn draw(&self) -> RandomAddress {
        RandomAddress { seed: self.host.context.seed, stream: RandomStream::Mut, generation: self.host.step as u32 }
    }

    /// Computes one generation. Fails as [`Self::measure`] does.
    fn generation(&mut self, pass: &mut Pass) -> Result<(), SimError> {
        let n = self.state.n() as u64;
        pass.span("measure", n, || self.measure())?;
        pass.span("plan", n, || self.plan());
        self.move_phases(pass);
        let stats = pass.span("order", n, || self.compute_stats());
        let draw = self.draw();
        let host = &mut self.host;
        let (params, turnover) = (&host.params, &mut self.turnover);
        host.events.clear();
        let mut target = TurnoverTarget { state: &mut self.state, ledger: &mut host.ledger, events: &mut host.events };
        pass.span("turnover", n, || turnover.apply(params, draw, &stats, &mut target));
        let (state, step) = (&self.state, host.step + 1);
        let value = |params: &Params, probe, slot| fields::value(probe, slot, state, params, step);
        pass.span("record", 1, || host.end_generation(stats, &value));
        Ok(())
    }

    /// Steps 0 and 1: takes the gradient step if there is a learning rate, then computes f and H. Fails if the weights of a
    /// nucleus are not finite.
    fn measure(&mut self) -> Result<(), SimError> {
        let (task, scratch, state) = (&self.host.params.task, &mut self.scratch, &mut self.state);
        let n = state.n();
        scratch.f.resize(n, T::ZERO);
        scratch.h.resize(n, T::ZERO);
        if let Some(equations) = self.equations.for_task(task) {
            if task.learning_rate > 0.0 {
                let (rate, dim, stride) = (task.learning_rate, state.dim, state.stride);
                let tiles = state.w.chunks_mut(stride * TILE).zip(state.alive.chunks(TILE));
                let tiles = tiles.zip(scratch.slopes.chunks_mut(dim));
                self.threads.for_each(2 * n * equations.x.len(), tiles, |((rows, alive), slope)| {
                    let living = rows.chunks_mut(stride).zip(alive).filter(|(_, alive)| **alive != 0);
                    living.for_each(|(row, _)| {
                        fitness::step_gradient(equations, task.answer, rate, &mut row[..dim], slope)
                    });
                });
            }
            let (tiles, f) = (&mut scratch.tiles, &mut scratch.f);
            fitness::measure(equations, task, state, &state.idx, TILE, &self.threads, tiles, f);
            let pieces = scratch.h.chunks_mut(TILE).zip(state.idx.chunks(TILE));
            self.threads.for_each(10 * n * state.dim, pieces, |(h, slots)| {
                h.iter_mut().zip(slots).for_each(|(h, slot)| *h = fitness::entropy(state.row(*slot)));
            });
        } else {
            scratch.f.fill(T::ZERO);
            scratch.h.fill(T::ZERO);
        }
        for (at, slot) in state.idx.iter().enumerate() {
            let (f, h) = (scratch.f[at], scratch.h[at]);
            if !(f.wide() + h.wide()).is_finite() {
                return Err(non_finite(&format!("the weights of nucleus {slot}"), self.host.step));
            }
            (state.f[*slot as usize], state.h[*slot as usize]) = (f, h);
        }
        Ok(())
    }

    /// Computes T and prepares J for this generation.
    fn plan(&mut self) {
        let scratch = &mut self.scratch;
        let t = T::of(population_stats::temperature(&scratch.f));
        scratch.x.clear();
        scratch.x.extend(scratch.f.iter().map(|f| *f / t));
        match &self.host.setup.matrix {
            Some(all) if self.host.params.coupling.method == CouplingMethod::Dense => {
                self.coupling.plan_matrix(all, self.state.capacity, &self.state.idx);
            }
            _ => self.coupling.plan(Kernel { x: &scratch.x, h: &scratch.h }),
        }
    }

    /// Step 2: integrates the phases, then evaluates the coupling sums.
    fn move_phases(&mut self, pass: &mut Pass) {
        let (draw, threads, n) = (self.draw(), &self.threads, self.state.n() as u64);
        let (phases, scratch) = (&self.host.params.phases, &self.scratch);
        let kernel = Kernel { x: &scratch.x, h: &scratch.h };
        let (oscillators, coupling, state) = (&mut self.oscillators, &mut self.coupling, &mut self.state);
        oscillators.gather(state);
        match phases.dynamics {
            Dynamics::Still => {}
            Dynamics::Kuramoto => {
                let drift = Drift { phases, state, kernel, draw, threads };
                for block in 0..phases.substeps {
                    pass.span("substep", n, || drift.substep(oscillators, coupling, block));
                }
            }
            Dynamics::QkmCompat | Dynamics::QkmCovariant => {
                pass.span("draw", n, || maps::draw_spikes(state, draw));
                for _ in 0..phases.substeps {
                    pass.span("substep", n, || {
                        oscillators.evaluate(kernel, coupling, threads);
                        maps::apply(phases, state, oscillators);
                    });
                }
            }
        }
        pass.span("coupling", n, || {
            oscillators.evaluate(kernel, coupling, threads);
            oscillators.scatter(state);
            for (at, slot) in state.idx.iter().enumerate() {
                let (i, sums) = (*slot as usize, &oscillators.sums);
                (state.s_re[i], state.s_im[i], state.d[i]) = (sums.re[at], sums.im[at], sums.d[at]);
                let size = (sums.re[at] * sums.re[at] + sums.im[at] * sums.im[at]).sqrt();
                state.r_local[i] = if sums.d[at] > T::ZERO { size / sums.d[at] } else { T::ZERO };
            }
        });
    }

    /// Times all coupling algorithms on the state of the last generation.
    fn time_variants(&mut self, pass: &mut Pass) {
        let kernel = Kernel { x: &self.scratch.x, h: &self.scratch.h };
        let (phasors, cutoff) = (self.oscillators.phasors(0), self.host.params.coupling.sparse_cutoff);
        if let Some(variants) = &mut self.variants {
            variants.time(kernel, phasors, cutoff, pass);
        }
    }

    /// Computes order parameters and statistics of the population (step 3).
    fn compute_stats(&mut self) -> PopulationStats {
        let with_details = self.host.sampler.needs_details(self.host.step + 1);
        let scratch = &mut self.scratch;
        let (params, state) = (&self.host.params, &self.state);
        let mut now = population_stats::of(
            params,
            state,
            &self.oscillators,
            &scratch.f,
            &scratch.h,
            &mut scratch.sorted,
            with_details,
        );
        if let Some(equations) = self.equations.for_task(&params.task).filter(|_| with_details) {
            let fittest = self.turnover.fittest(state, params.measure.ensemble as usize);
            now.f_ensemble = fitness::ensemble_error(equations, params.task.answer, state, fittest);
        }
        now
    }
}

/// Returns the coupling algorithm of the parameters; J = 1 if all nuclei are equal.
fn method(params: &Params) -> CouplingMethod {
    match (params.coupling.method, params.task.source) {
        (CouplingMethod::Auto, TaskSource::Nothing) => CouplingMethod::MeanField,
        (chosen, _) => chosen,
    }
}

/// Maximum capacity with a dense J: 4 GB in double precision.
const MAX_DENSE: u32 = 22_000;

/// Fails if a dense J is chosen for a large population, or if maps have several fields.
pub(super) fn check(params: &Params) -> Result<(), SimError> {
    mixing::check(params)?;
    let capacity = params.population.capacity;
    if params.coupling.method == CouplingMethod::Dense && capacity > MAX_DENSE {
        return Err(SimError::Input(format!(
            "coupling.method = Dense stores {capacity} × {capacity} numbers; use Fast, which is also exact, or a \
             population.capacity of at most {MAX_DENSE}"
        )));
    }
    Ok(())
}
