//! What lies on the device: the table of the population, and what a generation needs beside it.

use super::{
    layout::{Census, Choice, Climate, Entry, Log, Rules, Verdict},
    rules::MOST_CHOSEN,
};
use crate::{
    gpu::{Buf, Cell, Gpu, GpuError},
    kinds::nuclei::{ledger::Ledger, state::State},
};
use std::sync::Arc;

/// Arrays of numbers over the places, in the order of `table.cuh`.
pub const FIELDS: usize = 10;
/// Arrays of words: alive, frozen, birth, parent, mark.
const TAGS: usize = 5;

/// The population.
pub struct Table {
    /// [places × stride] weights.
    pub w: Buf<f32>,
    /// [`FIELDS` × places] phase, amplitude, frequency, spikes, f, H, Re S, Im S, d, R; then phases of further fields of
    /// phases.
    pub fields: Buf<f32>,
    /// [`TAGS` × places].
    pub tags: Buf<u32>,
    /// Slots of the living, ascending.
    pub idx: Buf<u32>,
    /// Slots of the dead, ascending.
    pub free: Buf<u32>,
    /// How many, and totals.
    pub census: Buf<Census>,
    /// What holds for the whole.
    pub climate: Buf<Climate>,
    /// Parameters.
    pub rules: Cell<Rules>,
}

/// Fields of phases.
pub fn waves_of(rules: &Rules) -> usize {
    (rules.waves as usize).max(1)
}

/// The arrays of a state in the order of the fields.
fn arrays(state: &mut State<f32>) -> [&mut Vec<f32>; FIELDS] {
    let State { phi, amp, omega, spike, f, h, s_re, s_im, d, r_local, .. } = state;
    [phi, amp, omega, spike, f, h, s_re, s_im, d, r_local]
}

impl Table {
    /// Room for a population; nobody lives in it.
    pub fn new(gpu: &Arc<Gpu>, rules: Rules) -> Result<Self, GpuError> {
        let places = rules.places as usize;
        Ok(Self {
            w: Buf::zeros(gpu, "weights", places * rules.stride as usize)?,
            fields: Buf::zeros(gpu, "nuclei", (FIELDS + waves_of(&rules) - 1) * places)?,
            tags: Buf::zeros(gpu, "tags", TAGS * places)?,
            idx: Buf::zeros(gpu, "living slots", places)?,
            free: Buf::zeros(gpu, "free slots", places)?,
            census: Buf::zeros(gpu, "census", 1)?,
            climate: Buf::zeros(gpu, "climate", 1)?,
            rules: Cell::new(gpu, "rules", rules)?,
        })
    }

    /// Replaces the population by this one, which is that of generation `step`.
    pub fn upload(&mut self, state: &State<f32>, step: u64, ledger: &Ledger) -> Result<(), GpuError> {
        let mut state = state.clone();
        self.w.write_at(0, &state.w)?;
        let mut fields: Vec<f32> = arrays(&mut state).into_iter().flat_map(|array| array.iter().copied()).collect();
        fields.extend(&state.more);
        self.fields.write_at(0, &fields)?;
        let places = state.capacity;
        let mut tags: Vec<u32> = state.alive.iter().chain(&state.frozen).map(|x| u32::from(*x)).collect();
        tags.extend(&state.birth);
        tags.extend(state.parent.iter().map(|p| p.cast_unsigned()));
        tags.resize(TAGS * places, 0);
        self.tags.write(&tags)?;
        self.idx.write_at(0, &state.idx)?;
        self.free.write_at(0, &state.free)?;
        self.census.write(&[Census {
            generation: step,
            fused: ledger.n_fused,
            absorbed: ledger.absorbed,
            decayed: ledger.n_decay,
            children: ledger.children,
            missing: ledger.overflow,
            died: ledger.n_died,
            n: state.idx.len() as u32,
            n_free: state.free.len() as u32,
        }])
    }

    /// Replaces the natural frequencies of all places.
    pub fn turn_at(&mut self, omega: &[f32]) -> Result<(), GpuError> {
        self.fields.write_at(2 * omega.len(), omega) // behind phases and amplitudes
    }

    /// The population, once the kernels so far are done.
    pub fn download(&self, dim: usize) -> Result<State<f32>, GpuError> {
        let mut state = self.download_places(dim)?;
        let w = self.w.read()?;
        let length = state.w.len();
        state.w.copy_from_slice(&w[..length]);
        Ok(state)
    }

    /// The same with weights of 0.
    pub fn download_places(&self, dim: usize) -> Result<State<f32>, GpuError> {
        let places = self.rules.value().places as usize;
        let mut state = State::<f32>::with_fields(places, dim, waves_of(&self.rules.value()));
        let fields = self.fields.read()?;
        for (array, from) in arrays(&mut state).into_iter().zip(fields.chunks_exact(places)) {
            array.copy_from_slice(from);
        }
        state.more.copy_from_slice(&fields[FIELDS * places..]);
        let tags = self.tags.read()?;
        let tag = |which: usize| &tags[which * places..(which + 1) * places];
        state.alive = tag(0).iter().map(|x| *x as u8).collect();
        state.frozen = tag(1).iter().map(|x| *x as u8).collect();
        state.birth.copy_from_slice(tag(2));
        state.parent = tag(3).iter().map(|x| x.cast_signed()).collect();
        state.compact();
        Ok(state)
    }

    /// Bytes of weights, and of everything else, of a table of that size.
    pub const fn bytes_of(places: usize, dim: usize, waves: usize) -> (u64, u64) {
        let words = FIELDS + waves - 1 + TAGS + 2;
        let rest = 4 * places * words + size_of::<Census>() + size_of::<Climate>() + size_of::<Rules>();
        ((4 * places * dim.next_multiple_of(4)) as u64, rest as u64)
    }

    /// The same.
    pub fn n_bytes(&self) -> (u64, u64) {
        let rest = self.fields.bytes() + self.tags.bytes() + self.idx.bytes() + self.free.bytes();
        (self.w.bytes(), rest + self.census.bytes() + self.climate.bytes() + size_of::<Rules>() as u64)
    }
}

/// Generations whose events wait on the device at most.
const MOST_ENTRIES: usize = 64;
/// Words of waiting events, roughly, unless one generation may need more.
const LOG_WORDS: usize = 8 << 20;

/// Working space of a generation.
pub struct Scratch {
    /// Sums of blocks of 1024.
    pub parts: Buf<f64>,
    /// The same for norms of waves.
    pub norms: Buf<f64>,
    /// The fittest of each block.
    pub least: Buf<u64>,
    /// Keys of a selection.
    pub keys: Buf<u32>,
    /// Counts of their digits; zero between launches.
    pub histogram: Buf<u32>,
    /// Those to fuse, those to decay, the median.
    pub choices: Buf<Choice>,
    /// Keys and slots of the first two.
    pub chosen: Buf<u64>,
    /// Ties of each block.
    pub ties: Buf<u32>,
    /// Slots of those to fuse, of those who may decay, of those who do.
    pub order: Buf<u32>,
    /// Shares of those to fuse.
    pub shares: Buf<f64>,
    /// What was decided.
    pub verdict: Buf<Verdict>,
    /// Weights of what fuses.
    pub fused: Buf<f32>,
    /// Phases of it in further fields of phases.
    pub fused_phases: Buf<f32>,
    /// Weights children vary.
    pub base: Buf<f32>,
    /// Living, or doomed, of each block.
    pub counts: Buf<u32>,
    /// Who dies, four per word.
    pub doomed: Buf<u32>,
    /// Phases before a step of an integrator.
    pub starts: Buf<f32>,
    /// Weighted slopes of its stages.
    pub totals: Buf<f32>,
    /// How much of the following is written.
    pub log: Cell<Log>,
    /// One per generation.
    pub entries: Buf<Entry>,
    /// Orders of further fields of phases, as many per generation.
    pub orders: Buf<f64>,
    /// Who came and went.
    pub words: Buf<u32>,
}

impl Scratch {
    /// For tables of that size.
    pub fn new(gpu: &Arc<Gpu>, rules: &Rules) -> Result<Self, GpuError> {
        let (places, most, dim) = (rules.places as usize, MOST_CHOSEN as usize, rules.dim as usize);
        let blocks = places.div_ceil(1024);
        let (entries, more) = (Self::entries(places), waves_of(rules) - 1);
        Ok(Self {
            parts: Buf::zeros(gpu, "sums of blocks", 3 * blocks)?,
            norms: Buf::zeros(gpu, "norms of blocks", blocks)?,
            least: Buf::zeros(gpu, "fittest of blocks", blocks)?,
            keys: Buf::zeros(gpu, "selection keys", places)?,
            histogram: Buf::zeros(gpu, "digits of keys", 2048)?,
            choices: Buf::zeros(gpu, "selections", 3)?,
            chosen: Buf::zeros(gpu, "selected", 2 * most)?,
            ties: Buf::zeros(gpu, "ties of blocks", places.div_ceil(2048))?,
            order: Buf::zeros(gpu, "selected in order", 3 * most)?,
            shares: Buf::zeros(gpu, "shares", most)?,
            verdict: Buf::zeros(gpu, "verdict", 1)?,
            fused: Buf::zeros(gpu, "fused weights", dim)?,
            fused_phases: Buf::zeros(gpu, "fused phases", more)?,
            base: Buf::zeros(gpu, "weights of children", dim)?,
            counts: Buf::zeros(gpu, "counts of blocks", blocks)?,
            doomed: Buf::zeros(gpu, "doomed", 256 * blocks)?,
            starts: Buf::zeros(gpu, "phases before", (more + 1) * places)?,
            totals: Buf::zeros(gpu, "slopes", (more + 1) * places)?,
            log: Cell::new(gpu, "log", Log::default())?,
            entries: Buf::zeros(gpu, "log entries", entries)?,
            orders: Buf::zeros(gpu, "orders of fields", entries * more)?,
            words: Buf::zeros(gpu, "log words", entries * Self::words_per_generation(places))?,
        })
    }

    /// Words the events of one generation fill at most: the chosen, births as pairs, deaths.
    const fn words_per_generation(places: usize) -> usize {
        4 * MOST_CHOSEN as usize + 3 * places
    }

    /// Generations that fit.
    const fn entries(places: usize) -> usize {
        let fit = LOG_WORDS / Self::words_per_generation(places);
        if fit == 0 {
            1
        } else if fit < MOST_ENTRIES {
            fit
        } else {
            MOST_ENTRIES
        }
    }

    /// Bytes on the device, for tables of that size.
    pub const fn bytes_of(places: usize, dim: usize, waves: usize) -> u64 {
        let (blocks, most, entries) = (places.div_ceil(1024), MOST_CHOSEN as usize, Self::entries(places));
        let arrays = (4 + 8 * waves) * places
            + 12 * (waves - 1)
            + 1068 * blocks
            + 4 * places.div_ceil(2048)
            + 8 * dim
            + 36 * most
            + 8192;
        let log = entries * (size_of::<Entry>() + 4 * Self::words_per_generation(places)) + size_of::<Log>();
        let log = log + 8 * entries * (waves - 1);
        (arrays + log + 3 * size_of::<Choice>() + size_of::<Verdict>()) as u64
    }

    /// The same.
    pub fn n_bytes(&self) -> u64 {
        let numbers = self.parts.bytes() + self.norms.bytes() + self.shares.bytes() + self.fused.bytes();
        let phases = self.base.bytes() + self.starts.bytes() + self.totals.bytes();
        let selection = self.least.bytes() + self.keys.bytes() + self.histogram.bytes() + self.choices.bytes();
        let chosen = self.chosen.bytes() + self.ties.bytes() + self.order.bytes() + self.verdict.bytes();
        let events = self.counts.bytes() + self.doomed.bytes() + self.entries.bytes() + self.words.bytes();
        numbers
            + phases
            + selection
            + chosen
            + events
            + self.fused_phases.bytes()
            + self.orders.bytes()
            + size_of::<Log>() as u64
    }
}
