//! Launches the kernels of one generation, in the order of [`cpu`](super::super::cpu).

use super::{
    coupling::{Coupling, CouplingSizes},
    fitness_kernels::{
        EvaluateEntropy, EvaluateFitness32, EvaluateFitness64, EvaluateFitness128, EvaluateFitnessMma32,
        EvaluateFitnessMma64, EvaluateFitnessMma128, FitnessKernels, FitnessMmaKernels, ReduceStats, StepGradient,
        SumStats, ZeroFitness,
    },
    memory::{Scratch, Table, TableSizes},
    mixer::{Mixer, MixerSizes},
    readings::{ChosenSamples, ReadingKernels},
    task::{Task, TaskSizes},
    turnover_kernels::{
        ApplyMap, DrawSpikes, NormaliseAmplitudes, OrderPhaseFields, PhaseKernels, SelectKernels, SumAmplitudes,
        TurnoverKernels, UpdatePhases,
    },
};
use crate::{
    buffers,
    gpu::{Gpu, GpuError, Pass},
    kinds::nuclei::{
        choices::{Dynamics, Integrator},
        params::{Params, Phases},
    },
};
use std::sync::Arc;

/// Stages of the integrators, numbered as in `phases.cu`.
const EULER: &[u32] = &[0];
const RK4: &[u32] = &[1, 2, 3, 4];
const HEUN: &[u32] = &[5, 6];

/// Number of nuclei per block of the fitness kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tile {
    /// 32 nuclei per block.
    Small,
    /// 64 nuclei per block.
    Middle,
    /// 128 nuclei per block.
    Large,
}

impl Tile {
    /// Returns the tile size that fills a device.
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
    pub(super) select: SelectKernels,
    pub(super) turnover: TurnoverKernels,
    pub(super) phases: PhaseKernels,
    pub(super) readings: ReadingKernels,
}

impl Kernels {
    /// Loads all modules. Fails if a module cannot be loaded or the device fails.
    pub fn load(gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        Ok(Self {
            fitness: FitnessKernels::load(gpu)?,
            fitness_mma: FitnessMmaKernels::load(gpu)?,
            select: SelectKernels::load(gpu)?,
            turnover: TurnoverKernels::load(gpu)?,
            phases: PhaseKernels::load(gpu)?,
            readings: ReadingKernels::load(gpu)?,
        })
    }
}

/// Sizes of the buffers of a [`Pipeline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineSizes {
    /// Sizes of the population.
    pub table: TableSizes,
    /// Sizes of the coupling sums.
    pub coupling: CouplingSizes,
    /// Sizes of the fitness task.
    pub task: Option<TaskSizes>,
    /// Number of nuclei per block of the fitness kernels; `None`: chosen by capacity.
    pub tile: Option<Tile>,
}

impl PipelineSizes {
    fn mixer(&self) -> Option<MixerSizes> {
        MixerSizes::of(self.table.phase_fields, self.table.n_slots)
    }
}

buffers! {
    /// Kernels and buffers of a generation.
    pub struct Pipeline(gpu: Arc<Gpu>, s: PipelineSizes) {
        groups {
            pub table: Table = s.table;
            /// Fitness task; `None` if all nuclei are equal.
            pub task: Option<Task> = s.task;
            pub coupling: Coupling = s.coupling;
            /// Coupling between phase fields; `None` with one field.
            pub mixer: Option<Mixer> = s.mixer();
            /// Samples of chosen nuclei, taken in every generation.
            pub chosen: Option<ChosenSamples> = None;
            /// Temporaries of one generation.
            pub scratch: Scratch = s.table;
        }
        plain {
            pub kernels: Kernels = Kernels::load(gpu)?;
            /// Number of nuclei per block of the fitness kernels.
            pub tile: Tile = s.tile.unwrap_or(Tile::of(s.table.n_slots as u32));
        }
    }
}

impl Pipeline {
    pub(super) fn n_slots(&self) -> u32 {
        self.table.kernel_params.value().n_slots
    }

    /// Launches one generation. Median and ensemble errors are computed only `with_details`.
    pub fn generation(&mut self, params: &Params, with_details: bool, pass: &mut Pass) -> Result<(), GpuError> {
        self.couple_generation(params, pass)?;
        self.end_generation(params, with_details, pass)
    }

    /// Launches the first half: fitness, phases, and coupling sums with the final phases. Fails if the device fails.
    pub fn couple_generation(&mut self, params: &Params, pass: &mut Pass) -> Result<(), GpuError> {
        self.measure(params.task.learning_rate > 0.0, pass)?;
        let t = &self.table;
        self.coupling.build_sites(pass, &t.population, &t.stats, &t.idx, &t.fields)?;
        self.coupling.order(pass, &t.population)?;
        self.move_phases(&params.phases, pass)?;
        self.couple(pass)?;
        self.gather_field(0, pass)
    }

    /// Launches the second half: order parameters and events. Fails if the device fails.
    pub fn end_generation(&mut self, params: &Params, with_details: bool, pass: &mut Pass) -> Result<(), GpuError> {
        self.order_phase_fields(pass)?;
        let t = &mut self.table;
        self.coupling.reduce_order(pass, &t.population, t.kernel_params.buf(), &t.idx, &mut t.fields, &mut t.stats)?;
        if with_details {
            self.evaluate_ensemble(params.measure.ensemble, pass)?;
        }
        self.select(with_details, pass)?;
        self.apply_events(params.population.death_rate > 0.0, pass)?;
        let Self { chosen: Some(chosen), kernels, table, scratch, .. } = self else { return Ok(()) };
        chosen.launch(&kernels.readings, table, scratch.log.buf(), pass)
    }

    /// Steps 0 and 1: takes the gradient step if `learns`, then computes f, H and T. Fails if the device fails.
    pub fn measure(&mut self, learns: bool, pass: &mut Pass) -> Result<(), GpuError> {
        let (n, k, tile) = (self.n_slots(), &self.kernels.fitness, self.tile);
        let (t, s) = (&mut self.table, &mut self.scratch);
        if let Some(Task { of, x, y, split, .. }) = &self.task {
            if learns {
                StepGradient { population: &t.population, of, idx: &t.idx, x, y, w: &mut t.w }.launch(
                    k,
                    pass,
                    n.saturating_mul(32),
                )?;
            }
            let (population, idx, w, fields) = (&t.population, &t.idx, &t.w, &mut t.fields);
            let mma = &self.kernels.fitness_mma;
            if let Some(split) = split {
                let (x, threads) = (&split.x, n.saturating_mul(2));
                match split.columns {
                    0..=32 => {
                        EvaluateFitnessMma32 { population, of, idx, x, y, w, fields }.launch(mma, pass, threads)?
                    }
                    33..=64 => {
                        EvaluateFitnessMma64 { population, of, idx, x, y, w, fields }.launch(mma, pass, threads)?
                    }
                    _ => EvaluateFitnessMma128 { population, of, idx, x, y, w, fields }.launch(mma, pass, threads)?,
                }
            }
            match tile {
                _ if split.is_some() => {}
                Tile::Small => {
                    EvaluateFitness32 { population, of, idx, x, y, w, fields }.launch(k, pass, n.saturating_mul(8))?
                }
                Tile::Middle => {
                    EvaluateFitness64 { population, of, idx, x, y, w, fields }.launch(k, pass, n.saturating_mul(4))?
                }
                Tile::Large => {
                    EvaluateFitness128 { population, of, idx, x, y, w, fields }.launch(k, pass, n.saturating_mul(2))?
                }
            }
            EvaluateEntropy { population, of, idx, w, fields }.launch(k, pass, n.saturating_mul(8))?;
        } else {
            ZeroFitness { population: &t.population, n_slots: n, idx: &t.idx, fields: &mut t.fields }
                .launch(k, pass, n)?;
        }
        SumStats {
            population: &t.population,
            n_slots: n,
            idx: &t.idx,
            fields: &t.fields,
            parts: &mut s.parts,
            least: &mut s.least,
        }
        .launch(k, pass, n.div_ceil(4))?;
        ReduceStats {
            population: &t.population,
            n_slots: n,
            fields: &t.fields,
            parts: &s.parts,
            least: &s.least,
            stats: &mut t.stats,
        }
        .launch(k, pass, 1)
    }

    /// Step 2: integrates the phases, without the evaluation of the final phases. Fails if the device fails.
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
                    self.coupling.keep_order(pass, &self.table.population)?; // with several fields, the mixer does so
                }
            }
        }
        Ok(())
    }

    /// Launches one stage of an integrator for one phase field.
    fn step(&mut self, stage: u32, substep: u32, field: u32, pass: &mut Pass) -> Result<(), GpuError> {
        let n = self.n_slots();
        let (t, s, c) = (&mut self.table, &mut self.scratch, &mut self.coupling);
        let (population, kernel_params, idx, tags, fields) =
            (&t.population, t.kernel_params.buf(), &t.idx, &t.tags, &mut t.fields);
        let (starts, totals, sites) = (&mut s.starts, &mut s.totals, &mut c.sites);
        UpdatePhases {
            population,
            params: kernel_params,
            stage,
            substep,
            field,
            idx,
            sums: &c.sums,
            tags,
            fields,
            starts,
            totals,
            sites,
        }
        .launch(&self.kernels.phases, pass, n)
    }

    /// Computes the coupling sums of all phase fields.
    fn couple(&mut self, pass: &mut Pass) -> Result<(), GpuError> {
        let (t, c) = (&self.table, &mut self.coupling);
        match &mut self.mixer {
            None => c.couple(pass, &t.population, &t.idx),
            Some(mixer) => mixer.couple(pass, c, t),
        }
    }

    /// Gathers the coupling sums of one phase field if there are several.
    fn gather_field(&mut self, field: u32, pass: &mut Pass) -> Result<(), GpuError> {
        match &self.mixer {
            None => Ok(()),
            Some(mixer) => mixer.gather_field(pass, field, &mut self.coupling, &self.table),
        }
    }

    /// Computes the order parameters of phase fields 2 to F.
    fn order_phase_fields(&mut self, pass: &mut Pass) -> Result<(), GpuError> {
        let Some(mixer) = &self.mixer else { return Ok(()) };
        let (t, s, threads) = (&self.table, &mut self.scratch, 256 * (mixer.fields() - 1));
        let (population, kernel_params, log) = (&t.population, t.kernel_params.buf(), s.log.buf());
        OrderPhaseFields {
            population,
            params: kernel_params,
            log,
            idx: &t.idx,
            fields: &t.fields,
            orders: &mut s.orders,
        }
        .launch(&self.kernels.turnover, pass, threads)
    }

    fn apply_maps(&mut self, substeps: u32, pass: &mut Pass) -> Result<(), GpuError> {
        let (n, k) = (self.n_slots(), &self.kernels.phases);
        let (t, s, c) = (&mut self.table, &mut self.scratch, &mut self.coupling);
        DrawSpikes { population: &t.population, params: t.kernel_params.buf(), idx: &t.idx, fields: &mut t.fields }
            .launch(k, pass, n)?;
        for _ in 0..substeps {
            c.couple(pass, &t.population, &t.idx)?;
            let (population, kernel_params, idx, quarter) =
                (&t.population, t.kernel_params.buf(), &t.idx, n.div_ceil(4));
            SumAmplitudes { population, params: kernel_params, idx, fields: &t.fields, parts: &mut s.parts }
                .launch(k, pass, quarter)?;
            let (sites, sums, tags) = (&c.sites, &c.sums, &t.tags);
            ApplyMap {
                population,
                params: kernel_params,
                idx,
                sites,
                sums,
                tags,
                parts: &s.parts,
                fields: &mut t.fields,
                norms: &mut s.norms,
            }
            .launch(k, pass, quarter)?;
            NormaliseAmplitudes {
                population,
                params: kernel_params,
                idx,
                norms: &s.norms,
                fields: &mut t.fields,
                sites: &mut c.sites,
            }
            .launch(k, pass, n)?;
            c.keep_order(pass, &t.population)?;
        }
        Ok(())
    }
}
