//! The simulation and its saved state.

use super::{
    Params,
    cpu::{Expert, State, name},
    probes::{EXPERTS, PROBES},
    sampler::Sampler,
    source::{N_SYMBOLS, Source},
};
use crate::{
    gpu::Pass,
    kinds::{
        edit::{Edit, check_change},
        saved::{Reader, Writer, broken},
    },
    num::hash::StreamHash,
    params::Change,
    sim::{
        Action, Clock, Digest, Effect, ElementSet, Frame, MemoryByOwner, ProbeId, ProbeSpec, SimError, Simulation, Tap,
    },
};
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"npdemo\0\x01";

/// The CPU backend.
pub struct DemoSim {
    params: Params,
    seed: u64,
    source: Arc<Source>,
    state: State,
    sets: [Arc<ElementSet>; 1],
    sampler: Sampler,
}

impl DemoSim {
    /// At step 0.
    pub fn new(params: &Params, seed: u64, source: Arc<Source>) -> Self {
        let state = State::new(params);
        let sets = [experts(&state)];
        Self { params: params.clone(), seed, source, state, sets, sampler: Sampler::default() }
    }

    fn put(&mut self, state: State) {
        self.state = state;
        self.sets = [experts(&self.state)];
        self.sampler.restart(&self.state);
    }

    fn token(&mut self) {
        let now = self.state.step(&self.source, self.seed, self.params.experts.learning_rate as f32);
        self.sampler.record(&self.params, &self.state, &now, self.seed);
        let growth = &self.params.growth;
        let is_due = growth.split_every > 0 && self.state.step.is_multiple_of(growth.split_every.into());
        if is_due && self.state.experts.len() < growth.most as usize {
            let events = self.state.split();
            self.sampler.lives(&events);
            self.sets = [experts(&self.state)];
        }
    }
}

fn experts(state: &State) -> Arc<ElementSet> {
    Arc::new(ElementSet {
        name: EXPERTS,
        len: state.experts.len() as u32,
        ids: state.experts.iter().map(|e| e.id).collect(),
        names: state.experts.iter().map(|e| name(e.id)).collect(),
        ..ElementSet::default()
    })
}

impl Simulation for DemoSim {
    fn probes(&self) -> &'static [ProbeSpec] {
        PROBES
    }

    fn lanes(&self, _: ProbeId) -> Vec<String> {
        vec![]
    }

    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.sets
    }

    fn clock(&self) -> Clock {
        Clock { step: self.state.step, secs_per_step: 1.0 }
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
        let events = self.state.merge(&chosen);
        self.sampler.lives(&events);
        self.sets = [experts(&self.state)];
        Ok(())
    }

    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.sampler.tap(taps, &self.state)
    }

    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        pass.span("tokens", steps.into(), || (0..steps).for_each(|_| self.token()));
        Ok(())
    }

    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        for tap in self.sampler.taps() {
            if frame.wants(PROBES[usize::from(tap.probe)].shape) {
                let reading = self.sampler.take(&tap, &self.state);
                frame.readings.extend(reading.map(|reading| (tap.probe, reading)));
            }
        }
        Ok(())
    }

    fn save(&mut self) -> Result<Vec<u8>, SimError> {
        Ok(write(&self.state))
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), SimError> {
        let state = parse(bytes, self.params.n_weights())?;
        self.put(state);
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), SimError> {
        self.put(State::new(&self.params));
        Ok(())
    }

    fn digest(&self) -> Digest {
        let totals =
            vec![("tokens".to_owned(), self.state.step), ("experts".to_owned(), self.state.experts.len() as u64)];
        Digest { hash: self.state.hash.hex(), totals }
    }

    fn memory(&self) -> MemoryByOwner {
        vec![("weights", self.state.weights.len() as u64 * 2), ("experts", self.sets[0].n_bytes())]
    }
}

fn write(state: &State) -> Vec<u8> {
    let mut out = Writer(MAGIC.to_vec());
    out.0.reserve(state.weights.len() * 2 + 1024);
    [state.step, state.hash.0, state.next_id].into_iter().for_each(|x| out.u64(x));
    [state.symbol.into(), state.loss.to_bits()].into_iter().for_each(|x| out.u32(x));
    state.owner.iter().for_each(|o| out.u32((*o).into()));
    out.list(&state.experts, |out, e| {
        [e.id, e.born].into_iter().for_each(|x| out.u64(x));
        [e.slot, e.load.to_bits()].into_iter().for_each(|x| out.u32(x));
    });
    state.weights.iter().for_each(|w| out.0.extend(w.to_le_bytes()));
    out.0
}

fn parse(bytes: &[u8], n_weights: usize) -> Result<State, SimError> {
    let Some(body) = bytes.strip_prefix(MAGIC) else {
        return Err(broken("it is not a state of the demonstration kind"));
    };
    let mut r = Reader(body);
    let (step, hash, next_id) = (r.u64()?, StreamHash(r.u64()?), r.u64()?);
    let (symbol, loss) = (r.u32()?, f32::from_bits(r.u32()?));
    let mut owner = [0; N_SYMBOLS];
    for o in &mut owner {
        *o = r.u32()? as u16;
    }
    let expert = |r: &mut Reader<'_>| {
        let (id, born) = (r.u64()?, r.u64()?);
        Ok(Expert { id, born, slot: r.u32()?, load: f32::from_bits(r.u32()?) })
    };
    let experts = r.list(24, expert)?;
    if r.0.len() != n_weights * 2 {
        return Err(broken("it was saved with another size of the weights"));
    }
    let weights = r.0.chunks_exact(2).map(|w| u16::from_le_bytes([w[0], w[1]])).collect();
    let n_slots = n_weights / super::cpu::TABLE;
    let fits = experts.iter().all(|e: &Expert| (e.slot as usize) < n_slots && e.id < next_id && e.born <= step)
        && owner.iter().all(|o| usize::from(*o) < experts.len())
        && (symbol as usize) < N_SYMBOLS;
    if !fits {
        return Err(broken("it is inconsistent"));
    }
    Ok(State { step, hash, next_id, symbol: symbol as u8, loss, owner, experts, weights })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{kinds::demo::source::ENTROPY, sim::LifeEvent};

    fn small() -> Params {
        let mut params = Params::default();
        (params.experts.weights_mib, params.growth.split_every) = (1, 500);
        params
    }

    fn sim(params: &Params) -> DemoSim {
        DemoSim::new(params, 7, Arc::new(Source::new(7)))
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
        assert!(resumed.load(&saved[..saved.len() - 1]).is_err());
        assert_eq!(resumed.state, whole.state, "a state that does not fit changes nothing");
    }

    #[test]
    fn ids_are_never_reused() {
        let mut sim = sim(&small());
        sim.advance(3_000, &mut Pass::default()).unwrap();
        let before: Vec<u64> = sim.sets()[0].ids.clone();
        let action = |elements| Action { name: "merge".to_owned(), elements, values: vec![] };
        assert!(sim.act(&action(vec![1])).is_err());
        sim.tap(&[Tap { probe: super::super::probes::LINEAGE, elements: vec![] }]).unwrap();
        sim.act(&action(vec![3, 1])).unwrap();
        let after = &sim.sets()[0].ids;
        assert_eq!(after.len(), before.len() - 1);
        assert!(!before.contains(&after[1]) && after[3..] == before[4..], "{before:?} {after:?}");
        let mut frame = Frame::default();
        sim.sample(&mut frame).unwrap();
        let Some(crate::sim::Reading::Lineage(events)) = frame.reading(super::super::probes::LINEAGE) else {
            panic!("a lineage")
        };
        let n_deaths = events.iter().filter(|e| matches!(e, LifeEvent::Death(_))).count();
        assert_eq!((events.len(), n_deaths), (before.len() + 3, 2));
    }
}
