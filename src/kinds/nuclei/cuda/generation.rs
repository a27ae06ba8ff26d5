//! One generation as launches: the order of [`cpu`](super::super::cpu), step by step.

use super::{
    coupling::Coupling,
    fitness_kernels::{FitnessKernels, FitnessMmaKernels},
    memory::{Scratch, Table},
    mixer::Mixer,
    task::Task,
    turnover_kernels::{PhaseKernels, SelectKernels, TurnoverKernels},
};
use crate::{
    gpu::{Gpu, GpuError, Pass},
    kinds::nuclei::{Dynamics, Integrator, Params, Phases},
};
use std::sync::Arc;

/// Stages of the integrators, as `phases.cu` counts them.
const EULER: &[u32] = &[0];
const RK4: &[u32] = &[1, 2, 3, 4];
const HEUN: &[u32] = &[5, 6];

/// Blocks of the fusion and decay kernels.
const EVENT_BLOCKS: u32 = 528;

/// Nuclei per block of the fitness kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tile {
    /// 32.
    Small,
    /// 64.
    Middle,
    /// 128.
    Large,
}

impl Tile {
    /// The size that fills a device.
    pub const fn of(capacity: u32) -> Self {
        match capacity {
            0..=16_384 => Self::Small,
            16_385..=65_536 => Self::Middle,
            _ => Self::Large,
        }
    }
}

/// All kernels except those of the coupling.
pub struct Kernels {
    fitness: FitnessKernels,
    fitness_mma: FitnessMmaKernels,
    select: SelectKernels,
    turnover: TurnoverKernels,
    phases: PhaseKernels,
}

impl Kernels {
    /// Loads the kernels.
    pub fn load(gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        Ok(Self {
            fitness: FitnessKernels::load(gpu)?,
            fitness_mma: FitnessMmaKernels::load(gpu)?,
            select: SelectKernels::load(gpu)?,
            turnover: TurnoverKernels::load(gpu)?,
            phases: PhaseKernels::load(gpu)?,
        })
    }
}

/// Kernels and buffers of a generation.
pub struct Pipeline {
    /// Kernels.
    pub kernels: Kernels,
    /// The population.
    pub table: Table,
    /// Workspace.
    pub scratch: Scratch,
    /// Coupling sums.
    pub coupling: Coupling,
    /// Coupling between phase fields; `None` with one field.
    pub mixer: Option<Mixer>,
    /// Fitness task.
    pub task: Option<Task>,
    /// Nuclei per block of the fitness kernels.
    pub tile: Tile,
}

impl Pipeline {
    fn n_slots(&self) -> u32 {
        self.table.kernel_params.value().n_slots
    }

    /// One generation. Median and ensemble errors are computed `with_details` only.
    pub fn generation(&mut self, params: &Params, with_details: bool, pass: &mut Pass) -> Result<(), GpuError> {
        self.couple_generation(params, pass)?;
        self.end_generation(params, with_details, pass)
    }

    /// First half: fitness, phases, and coupling sums with the final phases.
    pub fn couple_generation(&mut self, params: &Params, pass: &mut Pass) -> Result<(), GpuError> {
        self.measure(params.task.learning_rate > 0.0, pass)?;
        let t = &self.table;
        self.coupling.build_sites(pass, &t.population, &t.stats, &t.idx, &t.fields)?;
        self.coupling.order(pass, &t.population)?;
        self.move_phases(&params.phases, pass)?;
        self.couple(pass)?;
        self.gather_field(0, pass)
    }

    /// Second half: order parameters and events.
    pub fn end_generation(&mut self, params: &Params, with_details: bool, pass: &mut Pass) -> Result<(), GpuError> {
        self.order_phase_fields(pass)?;
        let t = &mut self.table;
        self.coupling.reduce_order(pass, &t.population, t.kernel_params.buf(), &t.idx, &mut t.fields, &mut t.stats)?;
        if with_details {
            self.evaluate_ensemble(params.measure.ensemble, pass)?;
        }
        self.select(with_details, pass)?;
        self.apply_events(params.population.death_rate > 0.0, pass)
    }

    /// Step 1: f, H and T.
    pub fn measure(&mut self, learns: bool, pass: &mut Pass) -> Result<(), GpuError> {
        let (n, k, tile) = (self.n_slots(), &self.kernels.fitness, self.tile);
        let (t, s) = (&mut self.table, &mut self.scratch);
        if let Some(Task { of, x, y, split }) = &self.task {
            if learns {
                k.step_gradient(pass, n.saturating_mul(32), &t.population, of, &t.idx, x, y, &mut t.w)?;
            }
            let (population, idx, w, fields) = (&t.population, &t.idx, &t.w, &mut t.fields);
            let mma = &self.kernels.fitness_mma;
            if let Some(split) = split {
                let (x, threads) = (&split.x, n.saturating_mul(2));
                match split.columns {
                    0..=32 => mma.evaluate_fitness_mma_32(pass, threads, population, of, idx, x, y, w, fields)?,
                    33..=64 => mma.evaluate_fitness_mma_64(pass, threads, population, of, idx, x, y, w, fields)?,
                    _ => mma.evaluate_fitness_mma_128(pass, threads, population, of, idx, x, y, w, fields)?,
                }
            }
            match tile {
                _ if split.is_some() => {}
                Tile::Small => {
                    k.evaluate_fitness_32(pass, n.saturating_mul(8), population, of, idx, x, y, w, fields)?
                }
                Tile::Middle => {
                    k.evaluate_fitness_64(pass, n.saturating_mul(4), population, of, idx, x, y, w, fields)?
                }
                Tile::Large => {
                    k.evaluate_fitness_128(pass, n.saturating_mul(2), population, of, idx, x, y, w, fields)?
                }
            }
            k.evaluate_entropy(pass, n.saturating_mul(8), population, of, idx, w, fields)?;
        } else {
            k.zero_fitness(pass, n, &t.population, n, &t.idx, &mut t.fields)?;
        }
        k.sum_stats(pass, n.div_ceil(4), &t.population, n, &t.idx, &t.fields, &mut s.parts, &mut s.least)?;
        k.reduce_stats(pass, 1, &t.population, n, &t.fields, &s.parts, &s.least, &mut t.stats)
    }

    /// Step 2, but for the last evaluation.
    pub fn move_phases(&mut self, phases: &Phases, pass: &mut Pass) -> Result<(), GpuError> {
        let stages = match (phases.dynamics, phases.integrator, phases.noise > 0.0) {
            (Dynamics::Still, ..) => return Ok(()),
            (Dynamics::QkmCompat | Dynamics::QkmCovariant, ..) => return self.apply_maps(phases.substeps, pass),
            (_, Integrator::Euler, _) => EULER,
            (_, Integrator::Rk4, false) => RK4,
            _ => HEUN,
        };
        let phase_fields = self.mixer.as_ref().map_or(1, Mixer::fields);
        for substep in 0..phases.substeps {
            for stage in stages {
                self.couple(pass)?;
                for field in 0..phase_fields {
                    self.gather_field(field, pass)?;
                    self.step(*stage, substep, field, pass)?;
                }
                if self.mixer.is_none() {
                    self.coupling.keep_order(pass, &self.table.population)?; // several fields do so in the mixer
                }
            }
        }
        Ok(())
    }

    /// One stage of an integrator, for one phase field.
    fn step(&mut self, stage: u32, substep: u32, field: u32, pass: &mut Pass) -> Result<(), GpuError> {
        let n = self.n_slots();
        let (t, s, c) = (&mut self.table, &mut self.scratch, &mut self.coupling);
        let (population, kernel_params, idx, tags, fields) =
            (&t.population, t.kernel_params.buf(), &t.idx, &t.tags, &mut t.fields);
        let (starts, totals, sites) = (&mut s.starts, &mut s.totals, &mut c.sites);
        self.kernels.phases.update_phases(
            pass,
            n,
            population,
            kernel_params,
            stage,
            substep,
            field,
            idx,
            &c.sums,
            tags,
            fields,
            starts,
            totals,
            sites,
        )
    }

    /// Coupling sums of all phase fields.
    fn couple(&mut self, pass: &mut Pass) -> Result<(), GpuError> {
        let (t, c) = (&self.table, &mut self.coupling);
        match &mut self.mixer {
            None => c.couple(pass, &t.population, &t.idx),
            Some(mixer) => mixer.couple(pass, c, t),
        }
    }

    /// Gathers the coupling sums of one of several phase fields.
    fn gather_field(&mut self, field: u32, pass: &mut Pass) -> Result<(), GpuError> {
        match &self.mixer {
            None => Ok(()),
            Some(mixer) => mixer.gather_field(pass, field, &mut self.coupling, &self.table),
        }
    }

    /// Order parameters of phase fields 2 to F.
    fn order_phase_fields(&mut self, pass: &mut Pass) -> Result<(), GpuError> {
        let Some(mixer) = &self.mixer else { return Ok(()) };
        let (t, s, threads) = (&self.table, &mut self.scratch, 256 * (mixer.fields() - 1));
        let (population, kernel_params, log) = (&t.population, t.kernel_params.buf(), s.log.buf());
        self.kernels.turnover.order_phase_fields(
            pass,
            threads,
            population,
            kernel_params,
            log,
            &t.idx,
            &t.fields,
            &mut s.orders,
        )
    }

    fn apply_maps(&mut self, substeps: u32, pass: &mut Pass) -> Result<(), GpuError> {
        let (n, k) = (self.n_slots(), &self.kernels.phases);
        let (t, s, c) = (&mut self.table, &mut self.scratch, &mut self.coupling);
        k.draw_spikes(pass, n, &t.population, t.kernel_params.buf(), &t.idx, &mut t.fields)?;
        for _ in 0..substeps {
            c.couple(pass, &t.population, &t.idx)?;
            let (population, kernel_params, idx, quarter) =
                (&t.population, t.kernel_params.buf(), &t.idx, n.div_ceil(4));
            k.sum_amplitudes(pass, quarter, population, kernel_params, idx, &t.fields, &mut s.parts)?;
            let (sites, sums, tags) = (&c.sites, &c.sums, &t.tags);
            k.apply_map(
                pass,
                quarter,
                population,
                kernel_params,
                idx,
                sites,
                sums,
                tags,
                &s.parts,
                &mut t.fields,
                &mut s.norms,
            )?;
            k.normalise_amplitudes(pass, n, population, kernel_params, idx, &s.norms, &mut t.fields, &mut c.sites)?;
            c.keep_order(pass, &t.population)?;
        }
        Ok(())
    }

    /// Ensemble error of the `most` fittest nuclei; before the selection, whose buffers it uses.
    fn evaluate_ensemble(&mut self, most: u32, pass: &mut Pass) -> Result<(), GpuError> {
        let (n, k) = (self.n_slots(), &self.kernels.select);
        let Some(Task { of, x, y, .. }) = &self.task else { return Ok(()) };
        let (t, s) = (&mut self.table, &mut self.scratch);
        let (population, idx, keys, top_k) = (&t.population, &t.idx, &mut s.keys, &mut s.top_k);
        k.make_fittest_keys(pass, n, population, n, most, idx, &t.fields, keys, top_k)?;
        let eighth = n.div_ceil(8);
        for digit in 0..3 {
            k.count_digits(pass, eighth, population, 0, digit, keys, &mut s.histogram, top_k)?;
        }
        let (tags, chosen, ties) = (&mut t.tags, &mut s.chosen, &mut s.ties);
        k.collect_above(pass, eighth, population, n, 0, idx, keys, tags, chosen, ties, top_k)?;
        k.collect_ties(pass, eighth, population, n, 0, idx, keys, tags, chosen, ties, top_k)?;
        k.evaluate_ensemble(pass, 1, of, top_k, chosen, x, y, &t.w, &mut s.order, &mut t.stats)
    }

    /// Step 4.
    pub fn select(&mut self, with_details: bool, pass: &mut Pass) -> Result<(), GpuError> {
        let (n, k) = (self.n_slots(), &self.kernels.select);
        let (t, s) = (&mut self.table, &mut self.scratch);
        let (population, kernel_params, idx) = (&t.population, t.kernel_params.buf(), &t.idx);
        for which in 0..2 {
            let (keys, top_k) = (&mut s.keys, &mut s.top_k);
            if which == 0 {
                k.make_fusion_keys(
                    pass,
                    n,
                    population,
                    &t.stats,
                    kernel_params,
                    idx,
                    &t.fields,
                    keys,
                    &mut t.tags,
                    top_k,
                )?;
            } else {
                k.make_decay_keys(pass, n, population, kernel_params, idx, &t.fields, &t.tags, keys, top_k)?;
            }
            let eighth = n.div_ceil(8);
            for digit in 0..3 {
                k.count_digits(pass, eighth, population, which, digit, keys, &mut s.histogram, top_k)?;
            }
            let (tags, chosen, ties) = (&mut t.tags, &mut s.chosen, &mut s.ties);
            k.collect_above(pass, eighth, population, n, which, idx, keys, tags, chosen, ties, top_k)?;
            k.collect_ties(pass, eighth, population, n, which, idx, keys, tags, chosen, ties, top_k)?;
        }
        if with_details {
            k.make_fitness_keys(pass, n, population, n, idx, &t.fields, &mut s.keys)?;
            for digit in 0..3 {
                k.count_digits(pass, n.div_ceil(8), population, 2, digit, &s.keys, &mut s.histogram, &mut s.top_k)?;
            }
            k.store_median(pass, 1, population, &s.top_k, &mut t.stats)?;
        }
        Ok(())
    }

    /// Steps 5 to 9.
    pub fn apply_events(&mut self, with_deaths: bool, pass: &mut Pass) -> Result<(), GpuError> {
        let (n, dim) = (self.n_slots(), self.table.kernel_params.value().dim);
        let quarter = n.div_ceil(4);
        let k = &self.kernels.turnover;
        let (t, s) = (&mut self.table, &mut self.scratch);
        let kernel_params = t.kernel_params.buf();
        let (decision, order, log, words) = (&mut s.decision, &mut s.order, &mut s.log, &mut s.words);
        let (population, stats, fields) = (&t.population, &t.stats, &mut t.fields);
        let (top_k, chosen, shares) = (&s.top_k, &s.chosen, &mut s.shares);
        k.decide_events(
            pass,
            1,
            population,
            stats,
            kernel_params,
            top_k,
            fields,
            chosen,
            order,
            shares,
            decision,
            log.buf(),
            words,
        )?;
        k.blend_weights(pass, dim, kernel_params, decision, order, shares, &t.w, &mut s.fused)?;
        if self.mixer.is_some() {
            k.blend_phase_fields(pass, 1, kernel_params, decision, order, shares, fields, &mut s.fused_phases)?;
        }
        k.fuse_nuclei(
            pass,
            128 * EVENT_BLOCKS,
            population,
            kernel_params,
            decision,
            order,
            &s.fused,
            &mut t.w,
            fields,
            &mut t.tags,
        )?;
        if self.mixer.is_some() {
            k.store_host_phases(pass, 1, kernel_params, decision, &s.fused_phases, fields)?;
        }
        k.copy_base_weights(pass, dim, stats, kernel_params, &s.fused, &t.w, &mut s.base)?;
        k.count_alive(pass, quarter, kernel_params, &t.tags, &mut s.block_counts)?;
        k.list_alive(
            pass,
            quarter,
            kernel_params,
            &t.tags,
            &s.block_counts,
            &mut t.idx,
            &mut t.free,
            &mut t.population,
        )?;
        let (population, idx, free, tags, w) = (&t.population, &t.idx, &t.free, &mut t.tags, &mut t.w);
        let threads = 128 * EVENT_BLOCKS;
        k.decay_nuclei(
            pass,
            threads,
            population,
            kernel_params,
            decision,
            order,
            free,
            &s.base,
            w,
            fields,
            tags,
            log.buf(),
            words,
        )?;
        if with_deaths {
            let (dying, block_counts) = (&mut s.dying, &mut s.block_counts);
            k.count_deaths(pass, quarter, population, kernel_params, idx, tags, dying, block_counts)?;
            k.remove_dead(
                pass,
                quarter,
                population,
                kernel_params,
                idx,
                dying,
                block_counts,
                w,
                fields,
                tags,
                decision,
                log.buf(),
                words,
            )?;
        }
        let entries = &mut s.entries;
        k.finish_ledger(pass, 1, kernel_params, stats, decision, &mut t.population, log.buf_mut(), entries)?;
        k.count_alive(pass, quarter, kernel_params, &t.tags, &mut s.block_counts)?;
        k.list_alive(pass, quarter, kernel_params, &t.tags, &s.block_counts, &mut t.idx, &mut t.free, &mut t.population)
    }
}
