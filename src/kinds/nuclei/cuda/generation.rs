//! One generation as launches: the order of [`cpu`](super::super::cpu), step by step.

use super::{
    coupling::Coupling,
    events::{Phases as Moves, Select, Turnover},
    measure::{Measure, Tensor},
    memory::{Scratch, Table},
    mixer::Mixer,
    task::Task,
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

/// Blocks that share fusions and decays.
const EVENT_BLOCKS: u32 = 528;

/// Nuclei a block of `fitness` holds.
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
    /// So that a device is filled.
    pub const fn of(capacity: u32) -> Self {
        match capacity {
            0..=16_384 => Self::Small,
            16_385..=65_536 => Self::Middle,
            _ => Self::Large,
        }
    }
}

/// All kernels but those of the coupling.
pub struct Kernels {
    measure: Measure,
    tensor: Tensor,
    select: Select,
    turnover: Turnover,
    moves: Moves,
}

impl Kernels {
    /// Loads them.
    pub fn load(gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        Ok(Self {
            measure: Measure::load(gpu)?,
            tensor: Tensor::load(gpu)?,
            select: Select::load(gpu)?,
            turnover: Turnover::load(gpu)?,
            moves: Moves::load(gpu)?,
        })
    }
}

/// What a generation works on.
pub struct Machine {
    /// Its kernels.
    pub kernels: Kernels,
    /// The population.
    pub table: Table,
    /// Working space.
    pub scratch: Scratch,
    /// Sums over all pairs.
    pub coupling: Coupling,
    /// What makes the sums of several fields of phases; none for one.
    pub mixer: Option<Mixer>,
    /// What fitness is.
    pub task: Option<Task>,
    /// Nuclei per block of `fitness`.
    pub tile: Tile,
}

impl Machine {
    fn places(&self) -> u32 {
        self.table.rules.value().places
    }

    /// One generation. The median, and what the fittest answer together, are made when they are `wanted`.
    pub fn generation(&mut self, params: &Params, wanted: bool, pass: &mut Pass) -> Result<(), GpuError> {
        self.couple_generation(params, pass)?;
        self.end_generation(params, wanted, pass)
    }

    /// Its first half: fitness and phases, and the sums with the final ones.
    pub fn couple_generation(&mut self, params: &Params, pass: &mut Pass) -> Result<(), GpuError> {
        self.measure(params.task.learning_rate > 0.0, pass)?;
        let t = &self.table;
        self.coupling.place(pass, &t.census, &t.climate, &t.idx, &t.fields)?;
        self.coupling.order(pass, &t.census)?;
        self.move_phases(&params.phases, pass)?;
        self.couple(pass)?;
        self.hand(0, pass)
    }

    /// Its second half: order and events.
    pub fn end_generation(&mut self, params: &Params, wanted: bool, pass: &mut Pass) -> Result<(), GpuError> {
        self.order_fields(pass)?;
        let t = &mut self.table;
        self.coupling.find_order(pass, &t.census, t.rules.buf(), &t.idx, &mut t.fields, &mut t.climate)?;
        if wanted {
            self.ask_fittest(params.measure.ensemble, pass)?;
        }
        self.select(wanted, pass)?;
        self.turn_over(params.population.death_rate > 0.0, pass)
    }

    /// Step 1: f, H and T.
    pub fn measure(&mut self, learns: bool, pass: &mut Pass) -> Result<(), GpuError> {
        let (n, k, tile) = (self.places(), &self.kernels.measure, self.tile);
        let (t, s) = (&mut self.table, &mut self.scratch);
        if let Some(Task { of, x, y, split }) = &self.task {
            if learns {
                k.learn(pass, n.saturating_mul(32), &t.census, of, &t.idx, x, y, &mut t.w)?;
            }
            let (census, idx, w, fields) = (&t.census, &t.idx, &t.w, &mut t.fields);
            let tensor = &self.kernels.tensor;
            if let Some(split) = split {
                let (x, threads) = (&split.x, n.saturating_mul(2));
                match split.columns {
                    0..=32 => tensor.fitness_mma_32(pass, threads, census, of, idx, x, y, w, fields)?,
                    33..=64 => tensor.fitness_mma_64(pass, threads, census, of, idx, x, y, w, fields)?,
                    _ => tensor.fitness_mma_128(pass, threads, census, of, idx, x, y, w, fields)?,
                }
            }
            match tile {
                _ if split.is_some() => {}
                Tile::Small => k.fitness_32(pass, n.saturating_mul(8), census, of, idx, x, y, w, fields)?,
                Tile::Middle => k.fitness_64(pass, n.saturating_mul(4), census, of, idx, x, y, w, fields)?,
                Tile::Large => k.fitness_128(pass, n.saturating_mul(2), census, of, idx, x, y, w, fields)?,
            }
            k.entropy(pass, n.saturating_mul(8), census, of, idx, w, fields)?;
        } else {
            k.equal(pass, n, &t.census, n, &t.idx, &mut t.fields)?;
        }
        k.sum_climate(pass, n.div_ceil(4), &t.census, n, &t.idx, &t.fields, &mut s.parts, &mut s.least)?;
        k.find_climate(pass, 1, &t.census, n, &t.fields, &s.parts, &s.least, &mut t.climate)
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
        let waves = self.mixer.as_ref().map_or(1, Mixer::fields);
        for substep in 0..phases.substeps {
            for stage in stages {
                self.couple(pass)?;
                for field in 0..waves {
                    self.hand(field, pass)?;
                    self.step(*stage, substep, field, pass)?;
                }
                if self.mixer.is_none() {
                    self.coupling.keep_order(pass, &self.table.census)?; // several fields keep it when they send
                }
            }
        }
        Ok(())
    }

    /// One stage of an integrator, for one field of phases.
    fn step(&mut self, stage: u32, substep: u32, field: u32, pass: &mut Pass) -> Result<(), GpuError> {
        let n = self.places();
        let (t, s, c) = (&mut self.table, &mut self.scratch, &mut self.coupling);
        let (census, rules, idx, tags, fields) = (&t.census, t.rules.buf(), &t.idx, &t.tags, &mut t.fields);
        let (starts, totals, sites) = (&mut s.starts, &mut s.totals, &mut c.sites);
        self.kernels.moves.step_phases(
            pass, n, census, rules, stage, substep, field, idx, &c.sums, tags, fields, starts, totals, sites,
        )
    }

    /// Sums over all pairs, of all fields of phases.
    fn couple(&mut self, pass: &mut Pass) -> Result<(), GpuError> {
        let (t, c) = (&self.table, &mut self.coupling);
        match &mut self.mixer {
            None => c.couple(pass, &t.census, &t.idx),
            Some(mixer) => mixer.couple(pass, c, t),
        }
    }

    /// The sums of one of several fields.
    fn hand(&mut self, field: u32, pass: &mut Pass) -> Result<(), GpuError> {
        match &self.mixer {
            None => Ok(()),
            Some(mixer) => mixer.hand(pass, field, &mut self.coupling, &self.table),
        }
    }

    /// The orders of further fields.
    fn order_fields(&mut self, pass: &mut Pass) -> Result<(), GpuError> {
        let Some(mixer) = &self.mixer else { return Ok(()) };
        let (t, s, threads) = (&self.table, &mut self.scratch, 256 * (mixer.fields() - 1));
        let (census, rules, log) = (&t.census, t.rules.buf(), s.log.buf());
        self.kernels.turnover.order_fields(pass, threads, census, rules, log, &t.idx, &t.fields, &mut s.orders)
    }

    fn apply_maps(&mut self, substeps: u32, pass: &mut Pass) -> Result<(), GpuError> {
        let (n, k) = (self.places(), &self.kernels.moves);
        let (t, s, c) = (&mut self.table, &mut self.scratch, &mut self.coupling);
        k.spike(pass, n, &t.census, t.rules.buf(), &t.idx, &mut t.fields)?;
        for _ in 0..substeps {
            c.couple(pass, &t.census, &t.idx)?;
            let (census, rules, idx, quarter) = (&t.census, t.rules.buf(), &t.idx, n.div_ceil(4));
            k.sum_waves(pass, quarter, census, rules, idx, &t.fields, &mut s.parts)?;
            let (sites, sums, tags) = (&c.sites, &c.sums, &t.tags);
            k.apply_map(pass, quarter, census, rules, idx, sites, sums, tags, &s.parts, &mut t.fields, &mut s.norms)?;
            k.scale_waves(pass, n, census, rules, idx, &s.norms, &mut t.fields, &mut c.sites)?;
            c.keep_order(pass, &t.census)?;
        }
        Ok(())
    }

    /// What so many of the fittest answer together: before selection, whose lists it borrows.
    fn ask_fittest(&mut self, most: u32, pass: &mut Pass) -> Result<(), GpuError> {
        let (n, k) = (self.places(), &self.kernels.select);
        let Some(Task { of, x, y, .. }) = &self.task else { return Ok(()) };
        let (t, s) = (&mut self.table, &mut self.scratch);
        let (census, idx, keys, choices) = (&t.census, &t.idx, &mut s.keys, &mut s.choices);
        k.key_fittest(pass, n, census, n, most, idx, &t.fields, keys, choices)?;
        let eighth = n.div_ceil(8);
        for digit in 0..3 {
            k.count_digits(pass, eighth, census, 0, digit, keys, &mut s.histogram, choices)?;
        }
        let (tags, chosen, ties) = (&mut t.tags, &mut s.chosen, &mut s.ties);
        k.collect_above(pass, eighth, census, n, 0, idx, keys, tags, chosen, ties, choices)?;
        k.collect_ties(pass, eighth, census, n, 0, idx, keys, tags, chosen, ties, choices)?;
        k.answer_together(pass, 1, of, choices, chosen, x, y, &t.w, &mut s.order, &mut t.climate)
    }

    /// Step 4.
    pub fn select(&mut self, wanted: bool, pass: &mut Pass) -> Result<(), GpuError> {
        let (n, k) = (self.places(), &self.kernels.select);
        let (t, s) = (&mut self.table, &mut self.scratch);
        let (census, rules, idx) = (&t.census, t.rules.buf(), &t.idx);
        for which in 0..2 {
            let (keys, choices) = (&mut s.keys, &mut s.choices);
            if which == 0 {
                k.key_fusion(pass, n, census, &t.climate, rules, idx, &t.fields, keys, &mut t.tags, choices)?;
            } else {
                k.key_decay(pass, n, census, rules, idx, &t.fields, &t.tags, keys, choices)?;
            }
            let eighth = n.div_ceil(8);
            for digit in 0..3 {
                k.count_digits(pass, eighth, census, which, digit, keys, &mut s.histogram, choices)?;
            }
            let (tags, chosen, ties) = (&mut t.tags, &mut s.chosen, &mut s.ties);
            k.collect_above(pass, eighth, census, n, which, idx, keys, tags, chosen, ties, choices)?;
            k.collect_ties(pass, eighth, census, n, which, idx, keys, tags, chosen, ties, choices)?;
        }
        if wanted {
            k.key_fitness(pass, n, census, n, idx, &t.fields, &mut s.keys)?;
            for digit in 0..3 {
                k.count_digits(pass, n.div_ceil(8), census, 2, digit, &s.keys, &mut s.histogram, &mut s.choices)?;
            }
            k.take_median(pass, 1, census, &s.choices, &mut t.climate)?;
        }
        Ok(())
    }

    /// Steps 5 to 9.
    pub fn turn_over(&mut self, mortal: bool, pass: &mut Pass) -> Result<(), GpuError> {
        let (n, dim) = (self.places(), self.table.rules.value().dim);
        let quarter = n.div_ceil(4);
        let k = &self.kernels.turnover;
        let (t, s) = (&mut self.table, &mut self.scratch);
        let rules = t.rules.buf();
        let (verdict, order, log, words) = (&mut s.verdict, &mut s.order, &mut s.log, &mut s.words);
        let (census, climate, fields) = (&t.census, &t.climate, &mut t.fields);
        let (choices, chosen, shares) = (&s.choices, &s.chosen, &mut s.shares);
        k.decide(pass, 1, census, climate, rules, choices, fields, chosen, order, shares, verdict, log.buf(), words)?;
        k.blend(pass, dim, rules, verdict, order, shares, &t.w, &mut s.fused)?;
        if self.mixer.is_some() {
            k.blend_fields(pass, 1, rules, verdict, order, shares, fields, &mut s.fused_phases)?;
        }
        k.fuse(pass, 128 * EVENT_BLOCKS, census, rules, verdict, order, &s.fused, &mut t.w, fields, &mut t.tags)?;
        if self.mixer.is_some() {
            k.host_fields(pass, 1, rules, verdict, &s.fused_phases, fields)?;
        }
        k.take_base(pass, dim, climate, rules, &s.fused, &t.w, &mut s.base)?;
        k.count_alive(pass, quarter, rules, &t.tags, &mut s.counts)?;
        k.list_alive(pass, quarter, rules, &t.tags, &s.counts, &mut t.idx, &mut t.free, &mut t.census)?;
        let (census, idx, free, tags, w) = (&t.census, &t.idx, &t.free, &mut t.tags, &mut t.w);
        let threads = 128 * EVENT_BLOCKS;
        k.decay(pass, threads, census, rules, verdict, order, free, &s.base, w, fields, tags, log.buf(), words)?;
        if mortal {
            let (doomed, counts) = (&mut s.doomed, &mut s.counts);
            k.count_deaths(pass, quarter, census, rules, idx, tags, doomed, counts)?;
            k.die(pass, quarter, census, rules, idx, doomed, counts, w, fields, tags, verdict, log.buf(), words)?;
        }
        let entries = &mut s.entries;
        k.close_books(pass, 1, rules, climate, verdict, &mut t.census, log.buf_mut(), entries)?;
        k.count_alive(pass, quarter, rules, &t.tags, &mut s.counts)?;
        k.list_alive(pass, quarter, rules, &t.tags, &s.counts, &mut t.idx, &mut t.free, &mut t.census)
    }
}
