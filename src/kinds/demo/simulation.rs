//! The simulation and its saved state.

use super::{
    cpu::{Expert, N_RECENT, Prediction, State, TABLE, name},
    cuda::{self, DeviceWeights},
    params::Params,
    probes::{self, EXPERTS, PROBES, SYMBOLS},
    requests,
    sampler::{self, Sampler, is_due},
    source::{self, N_SYMBOLS, Source},
};
use crate::{
    gpu::{Gpu, KernelFacts, Pass},
    kinds::shared::edit::{Edit, check_change},
    num::hash::StreamHash,
    params::{Change, Params as _},
    sim::{
        Action, Answer, Buffers as _, Clock, Digest, Effect, ElementSet, Execution, Frame, InputData, Level, LifeEvent,
        MemoryReport, MotionFields, ProbeId, ProbeSpec, Progress, Request, SimError, Simulation, Snapshot, Tap,
        TimeBase,
        snapshot::{ElementType, misfit},
    },
};
use std::{collections::VecDeque, mem, sync::Arc};

const MODEL: &str = "demo";

/// Time base: a step reads one token.
pub const TOKENS: TimeBase = TimeBase::count("token", "tokens");

/// A simulation on the CPU or, with its weights in device memory, on a GPU.
pub struct DemoSim {
    pub(super) params: Params,
    pub(super) seed: u64,
    source: Arc<Source>,
    pub(super) state: State,
    sets: [Arc<ElementSet>; 2],
    /// Number of changes to the set of experts.
    pub(super) generation: u64,
    pub(super) sampler: Sampler,
    pub(super) device: Option<DeviceWeights>,
}

impl DemoSim {
    /// Creates a simulation at step 0; on a GPU if one is given. Fails if device memory is full or the device fails.
    pub fn new(params: &Params, seed: u64, source: Arc<Source>, gpu: Option<&Arc<Gpu>>) -> Result<Self, SimError> {
        let mut device = gpu.map(|gpu| DeviceWeights::new(gpu, params, &source)).transpose()?;
        let state = State::new(params, seed, host_weights(params, device.is_some()));
        if let Some(device) = &mut device {
            device.put_tables(&state.weights)?;
        }
        let sets = [experts(&state), Arc::new(symbols())];
        let sampler = Sampler::default();
        Ok(Self { params: params.clone(), seed, source, state, sets, generation: 0, sampler, device })
    }

    fn put(&mut self, state: State) {
        self.state = state;
        self.sets[0] = experts(&self.state);
        self.generation += 1;
        self.sampler.restart(&self.state);
    }

    /// Applies births and deaths to samples and element sets.
    fn change(&mut self, events: &[LifeEvent]) {
        if !events.is_empty() {
            self.sampler.lives(events);
            self.sets[0] = experts(&self.state);
            self.generation += 1;
        }
    }

    fn token(&mut self) -> Result<(), SimError> {
        let expert = self.state.step(&self.source, self.seed, self.params.rate_at(self.state.step))?;
        self.sampler.record(&self.params, &self.state, expert, self.seed, None);
        self.grow()
    }

    /// Splits an expert if a split is due. Fails if the device fails.
    pub(super) fn grow(&mut self) -> Result<(), SimError> {
        let growth = &self.params.growth;
        if !is_due(growth.split_every, self.state.step) || self.state.experts.len() >= growth.most as usize {
            return Ok(());
        }
        let rule = growth.rule.clone();
        self.rearrange(|state| state.split(&rule))
    }

    /// Changes experts and their tables, also on the device.
    fn rearrange(&mut self, change: impl FnOnce(&mut State) -> Vec<LifeEvent>) -> Result<(), SimError> {
        self.read_tables()?;
        let events = change(&mut self.state);
        if let Some(device) = &mut self.device {
            device.put_tables(&self.state.weights)?;
        }
        self.change(&events);
        Ok(())
    }

    /// Copies the tables from the device. Fails if the device fails.
    pub(super) fn read_tables(&mut self) -> Result<(), SimError> {
        let Some(device) = &self.device else { return Ok(()) };
        Ok(device.tables(&mut self.state.weights)?)
    }
}

/// Number of weights in host memory: on a GPU only the tables that experts can have.
pub(super) fn host_weights(params: &Params, is_on_device: bool) -> usize {
    if is_on_device { N_SYMBOLS * TABLE } else { params.n_weights() }
}

fn experts(state: &State) -> Arc<ElementSet> {
    Arc::new(ElementSet {
        name: EXPERTS,
        len: state.experts.len() as u32,
        ids: state.experts.iter().map(|e| e.id).collect(),
        names: state.experts.iter().map(|e| name(e.id)).collect(),
        motion: Some(MotionFields::Axes(["axis_1", "axis_2", "axis_3"])),
        size: Some("load"),
        is_diagram: true,
        ..ElementSet::default()
    })
}

fn symbols() -> ElementSet {
    let names = (0..N_SYMBOLS as u8).map(source::name).collect();
    ElementSet { name: SYMBOLS, len: N_SYMBOLS as u32, names, ..ElementSet::default() }
}

impl Simulation for DemoSim {
    fn probes(&self) -> &'static [ProbeSpec] {
        PROBES
    }

    fn lanes(&self, _: ProbeId) -> Vec<String> {
        vec![]
    }

    fn choices(&self, probe: ProbeId) -> Vec<Vec<String>> {
        PROBES[usize::from(probe)].args.iter().map(|_| sampler::experts(&self.state)).collect()
    }

    fn levels(&self, probe: ProbeId) -> Vec<Level> {
        let level = |name: &str, value| Level::new(name, value);
        match probe {
            probes::LOSS => {
                let floor = self.source.entropy().map(|entropy| level("entropy of the source", entropy));
                std::iter::once(level("uniform", (N_SYMBOLS as f64).ln())).chain(floor).collect()
            }
            _ => vec![],
        }
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.sets
    }

    fn clock(&self) -> Clock {
        Clock { step: self.state.step, base: TOKENS }
    }

    fn params(&self) -> Option<&dyn crate::params::Params> {
        Some(&self.params)
    }

    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        match check_change(&self.params, change)? {
            Edit::Same => {}
            Edit::Rebuild => return Ok(Effect::NeedsRebuild),
            Edit::Live(new) => self.params = *new,
        }
        Ok(Effect::Applied)
    }

    fn replace(&mut self, data: &InputData) -> Result<Effect, SimError> {
        let (source, mut params) = (data.setup::<Source>()?, self.params.clone());
        if !params.set(&data.change) {
            return Err(SimError::Input("there is no such input file".to_owned()));
        }
        if let Some(device) = &mut self.device {
            device.set_source(&source)?;
        }
        (self.source, self.params) = (source, params);
        self.generation += 1; // the levels
        Ok(Effect::Applied)
    }

    fn act(&mut self, action: &Action) -> Result<(), SimError> {
        let mut chosen: Vec<usize> = action.elements.iter().map(|e| *e as usize).collect();
        chosen.sort_unstable();
        chosen.dedup();
        if action.name != "merge" {
            return Err(SimError::Input(format!("there is no action {}; there is merge", action.name)));
        }
        if chosen.len() < 2 || chosen.last().is_some_and(|e| *e >= self.state.experts.len()) {
            return Err(SimError::Input("merge: select at least two experts".to_owned()));
        }
        self.rearrange(|state| state.merge(&chosen))
    }

    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.sampler.tap(taps, &self.state)
    }

    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        if self.device.is_some() {
            return self.advance_on_device(steps, pass);
        }
        let stop = pass.stop.clone();
        let (ends_at_changes, generation) = (pass.ends_at_changes, self.generation);
        pass.span("tokens", steps.into(), || {
            for _ in 0..steps {
                let has_changed = ends_at_changes && self.generation != generation;
                if stop.is_raised() || has_changed {
                    break;
                }
                self.token()?;
            }
            Ok(())
        })
    }

    fn ask(&mut self, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
        let Some(device) = &self.device else { return requests::answer(&self.state, request, progress) };
        let mut state = self.state.clone();
        device.tables(&mut state.weights)?;
        requests::answer(&state, request, progress)
    }

    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        if !frame.histories_only {
            self.read_tables()?;
        }
        for tap in self.sampler.taps() {
            if frame.wants(PROBES[usize::from(tap.probe)].shape) {
                let reading = self.sampler.take(&tap, &self.state);
                frame.readings.extend(reading.map(|reading| (tap.key(), reading)));
            }
        }
        Ok(())
    }

    fn save(&mut self) -> Result<Snapshot, SimError> {
        let mut out = write(&self.state);
        match &mut self.device {
            Some(device) => device.save(&cuda::sizes(&self.params, Some(&*self.source)), &mut out)?,
            None => out.halves("weights", ElementType::Bf16, &[self.state.weights.len()], self.state.weights.clone()),
        }
        Ok(out)
    }

    fn load(&mut self, from: &Snapshot) -> Result<(), SimError> {
        let state = parse(from)?;
        let sizes = cuda::sizes(&self.params, Some(&*self.source));
        let weights = match &mut self.device {
            Some(device) => {
                device.check(&sizes, from)?;
                device.load(&sizes, from)?;
                mem::take(&mut self.state.weights) // read when they are needed
            }
            None => from.read_halves("weights", ElementType::Bf16, &[sizes.n_weights])?,
        };
        self.put(State { weights, ..state });
        Ok(())
    }

    fn snapshot_bytes(&self) -> u64 {
        self.params.n_weights() as u64 * 2
    }

    fn rewind(&mut self) -> Result<(), SimError> {
        let state = State::new(&self.params, self.seed, self.state.weights.len());
        if let Some(device) = &mut self.device {
            device.clear()?;
            device.put_tables(&state.weights)?;
        }
        self.put(state);
        Ok(())
    }

    fn execution(&self) -> Execution {
        self.device.as_ref().map_or_else(Execution::cpu, DeviceWeights::execution)
    }

    fn kernels(&self) -> Vec<KernelFacts> {
        self.device.as_ref().map_or_else(Vec::new, DeviceWeights::kernels)
    }

    fn digest(&self, _: u32) -> Digest {
        let totals =
            vec![("tokens".to_owned(), self.state.step), ("experts".to_owned(), self.state.experts.len() as u64)];
        Digest::new(self.state.hash.hex(), totals)
    }

    fn memory(&self) -> MemoryReport {
        let mut report = self.device.as_ref().map(DeviceWeights::held).unwrap_or_default();
        let host = if self.device.is_some() { "tables on the host" } else { "weights" };
        report.host(host, self.state.weights.len() as u64 * 2);
        report.host("experts", self.sets[0].n_bytes());
        report
    }
}

/// Snapshot of the state without weights.
fn write(state: &State) -> Snapshot {
    let mut out = Snapshot::new(MODEL);
    out.number("step", state.step);
    out.number("hash", state.hash.0);
    out.number("next_id", state.next_id);
    out.number("symbol", state.symbol);
    out.number("loss", state.loss);
    out.list("owner", state.owner.iter().map(|o| u32::from(*o)).collect());
    out.list("experts.id", state.experts.iter().map(|e| e.id).collect());
    out.list("experts.born", state.experts.iter().map(|e| e.born).collect());
    out.list("experts.slot", state.experts.iter().map(|e| e.slot).collect());
    out.list("experts.load", state.experts.iter().map(|e| e.load).collect());
    let recent = || state.recent.iter();
    out.list("recent.expert", recent().map(|seen| seen.expert).collect());
    out.list("recent.symbol", recent().map(|seen| u32::from(seen.symbol)).collect());
    out.list("recent.loss", recent().map(|seen| seen.loss).collect());
    out.list("recent.best", recent().flat_map(|seen| seen.best.map(|(symbol, _)| u32::from(symbol))).collect());
    out.list("recent.best_p", recent().flat_map(|seen| seen.best.map(|(_, p)| p)).collect());
    out
}

fn recent(from: &Snapshot) -> Result<VecDeque<Prediction>, SimError> {
    let experts: Vec<u64> = from.read_list("recent.expert")?;
    let n = experts.len();
    let (symbols, losses) = (from.read::<u32>("recent.symbol", &[n])?, from.read::<f32>("recent.loss", &[n])?);
    let (best, p) = (from.read::<u32>("recent.best", &[3 * n])?, from.read::<f32>("recent.best_p", &[3 * n])?);
    let seen = |i: usize| Prediction {
        expert: experts[i],
        symbol: symbols[i] as u8,
        loss: losses[i],
        best: std::array::from_fn(|k| (best[3 * i + k] as u8, p[3 * i + k])),
    };
    Ok((0..n).map(seen).collect())
}

/// Parses the state without weights.
fn parse(from: &Snapshot) -> Result<State, SimError> {
    from.expect_model(MODEL)?;
    let ids: Vec<u64> = from.read_list("experts.id")?;
    let shape = [ids.len()];
    let (born, slots) = (from.read::<u64>("experts.born", &shape)?, from.read::<u32>("experts.slot", &shape)?);
    let loads = from.read::<f32>("experts.load", &shape)?;
    let expert = |i: usize| Expert { id: ids[i], born: born[i], slot: slots[i], load: loads[i] };
    let mut owner = [0; N_SYMBOLS];
    for (owner, saved) in owner.iter_mut().zip(from.read::<u32>("owner", &[N_SYMBOLS])?) {
        *owner = saved as u16;
    }
    let state = State {
        step: from.read_number("step")?,
        hash: StreamHash(from.read_number("hash")?),
        next_id: from.read_number("next_id")?,
        symbol: from.read_number("symbol")?,
        loss: from.read_number("loss")?,
        owner,
        experts: (0..ids.len()).map(expert).collect(),
        recent: recent(from)?,
        weights: vec![],
    };
    let is_of_state = |e: &Expert| (e.slot as usize) < N_SYMBOLS && e.id < state.next_id && e.born <= state.step;
    let fits = state.experts.iter().all(is_of_state)
        && state.owner.iter().all(|o| usize::from(*o) < state.experts.len())
        && state.recent.len() <= N_RECENT
        && state.recent.iter().all(|seen| usize::from(seen.symbol) < N_SYMBOLS)
        && usize::from(state.symbol) < N_SYMBOLS;
    if fits { Ok(state) } else { Err(misfit("it is inconsistent")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::demo::source::ENTROPY;

    fn small() -> Params {
        let mut params = Params::default();
        (params.experts.weights_mib, params.growth.split_every) = (1, 500);
        params
    }

    fn sim(params: &Params) -> DemoSim {
        DemoSim::new(params, 7, Arc::new(Source::new(7)), None).expect("no device")
    }

    #[test]
    fn it_learns_grows_and_continues_from_a_saved_state_bit_for_bit() {
        let params = small();
        let (mut whole, mut parts) = (sim(&params), sim(&params));
        whole.advance(20_000, &mut Pass::default()).unwrap();
        assert!((f64::from(whole.state.loss) - ENTROPY).abs() < 0.15, "{} nats", whole.state.loss);
        assert_eq!(whole.state.experts.len(), 16);
        parts.advance(7_001, &mut Pass::default()).unwrap();
        let saved = parts.save().unwrap();
        let mut resumed = sim(&params);
        resumed.load(&saved).unwrap();
        resumed.advance(12_999, &mut Pass::default()).unwrap();
        assert_eq!(resumed.state, whole.state);
        let mut damaged = saved.clone();
        damaged.sections.pop();
        assert!(resumed.load(&damaged).is_err());
        assert_eq!(resumed.state, whole.state, "a state that does not fit changes nothing");
    }

    #[test]
    fn initial_weights_are_drawn_for_each_and_again_at_a_rewind() {
        let mut params = small();
        params.experts.initial_weight = crate::params::Distribution::normal(0.5, 0.25).within((0.0, 1.0));
        let mut sim = sim(&params);
        let table: Vec<f32> = sim.state.table(1).collect();
        let mean = table.iter().sum::<f32>() / table.len() as f32;
        assert!((mean - 0.5).abs() < 0.05, "{mean}");
        assert!(table.iter().all(|w| (0.0..=1.0).contains(w)) && table[0] != table[1]);
        let start = sim.state.clone();
        sim.advance(100, &mut Pass::default()).unwrap();
        sim.rewind().unwrap();
        assert_eq!(sim.state, start);
        assert_ne!(DemoSim::new(&params, 8, Arc::new(Source::new(8)), None).unwrap().state, start, "another seed");
    }

    #[test]
    fn ids_are_never_reused() {
        let mut sim = sim(&small());
        sim.advance(3_000, &mut Pass::default()).unwrap();
        let before: Vec<u64> = sim.sets()[0].ids.clone();
        let action = |elements| Action::on("merge", elements, vec![]);
        assert!(sim.act(&action(vec![1])).is_err());
        sim.tap(&[Tap::of(probes::LINEAGE)]).unwrap();
        sim.act(&action(vec![3, 1])).unwrap();
        let after = &sim.sets()[0].ids;
        assert_eq!(after.len(), before.len() - 1);
        assert!(!before.contains(&after[1]) && after[3..] == before[4..], "{before:?} {after:?}");
        let mut frame = Frame::default();
        sim.sample(&mut frame).unwrap();
        let Some(crate::sim::Reading::Lineage(events)) = frame.reading(probes::LINEAGE) else { panic!("a lineage") };
        let n_deaths = events.iter().filter(|e| matches!(e, LifeEvent::Death(_))).count();
        assert_eq!((events.len(), n_deaths), (before.len() + 3, 2));
    }
}
