//! The saved state: each tensor of weights and its moments is a section of its name; the state of routers, ids and events are
//! sections of their own.

use super::{
    experts::{FEATURES, RouterState},
    life::SavedIdentities,
    simulation::{State, SynapticSim},
};
use crate::{
    kinds::language::backend::{Counters, StateBuffer},
    num::hash::StreamHash,
    sim::{FREE_SLOT, SimError, Snapshot, snapshot::misfit},
};

const MODEL: &str = "synaptic";

/// Before the name of a tensor.
const fn prefix(buffer: StateBuffer) -> &'static str {
    match buffer {
        StateBuffer::Weights => "",
        StateBuffer::FirstMoment => "first_moment/",
        StateBuffer::SecondMoment => "second_moment/",
    }
}

impl SynapticSim {
    /// Everything needed to continue.
    pub(super) fn saved(&mut self) -> Result<Snapshot, SimError> {
        self.take_scores()?;
        let mut out = Snapshot::new(MODEL);
        let (state, sizes) = (&self.state, [self.config.layers, self.config.experts]);
        out.number("step", state.step);
        out.number("tokens", state.tokens);
        out.number("hash", state.hash.0);
        let counters = self.backend.counters()?;
        out.number("updates", counters.updates);
        out.list("frozen", state.frozen.iter().map(|f| u32::from(*f)).collect());
        let ids = self.lives.identities.save();
        out.number("experts/next_id", ids.next);
        out.array("experts/id", &sizes, ids.ids);
        out.array("experts/born", &sizes, ids.born);
        out.array("experts/generation", &sizes, ids.generations);
        out.array("experts/frozen", &sizes, ids.frozen.iter().map(|f| u32::from(*f)).collect());
        out.list("events", self.lives.events.to_vec());
        for layer in 0..self.config.layers {
            let router = self.backend.router(layer)?;
            let name = |part: &str| format!("router/{layer}/{part}");
            out.array(&name("embeddings"), &[self.config.experts, FEATURES], router.embeddings);
            out.list(&name("fatigue"), router.fatigue);
            out.list(&name("energy"), router.energy);
            out.list(&name("balance"), router.balance);
            out.list(&name("alive"), router.alive.iter().map(|a| u32::from(*a)).collect());
        }
        for buffer in StateBuffer::ALL {
            for view in self.layout.map.views() {
                let mut values = vec![0.0_f32; view.len()];
                self.backend.read(buffer, view.start, &mut values)?;
                out.array(&format!("{}{}", prefix(buffer), view.name), &view.shape, values);
            }
        }
        self.save_scores(&mut out);
        Ok(out)
    }

    fn router_of(&self, from: &Snapshot, layer: usize) -> Result<RouterState, SimError> {
        let (n, name) = (self.config.experts, |part: &str| format!("router/{layer}/{part}"));
        let alive = from.read::<u32>(&name("alive"), &[n])?;
        let state = RouterState {
            embeddings: from.read(&name("embeddings"), &[n, FEATURES])?,
            fatigue: from.read(&name("fatigue"), &[n])?,
            energy: from.read(&name("energy"), &[n])?,
            balance: from.read(&name("balance"), &[n])?,
            alive: alive.iter().map(|a| u8::from(*a != 0)).collect(),
        };
        let values = [&state.embeddings, &state.fatigue, &state.energy, &state.balance];
        if values.iter().any(|x| x.iter().any(|x| !x.is_finite())) || state.n_alive() < self.config.top_k {
            return Err(misfit(&format!("the state of router {layer} is inconsistent")));
        }
        Ok(state)
    }

    /// Loads weights, moments, routers, ids and counters; the rest of the state is returned. An error changes nothing.
    pub(super) fn restore(&mut self, from: &Snapshot) -> Result<State, SimError> {
        from.expect_model(MODEL)?;
        let sizes = [self.config.layers, self.config.experts];
        if let Some(found) = from.get("experts/id").filter(|section| section.shape != sizes.map(|n| n as u64)) {
            let wanted = format!("{} layers of {} experts", sizes[0], sizes[1]);
            return Err(misfit(&format!(
                "it has {:?} layers and experts, and the project has {wanted}: set model.layers and experts.count to those \
                 of the saved state",
                found.shape
            )));
        }
        let map = self.layout.map.clone();
        let mut buffers = Vec::with_capacity(3);
        for buffer in StateBuffer::ALL {
            let mut values = vec![0.0_f32; map.len()];
            for view in map.views() {
                from.copy(&format!("{}{}", prefix(buffer), view.name), &view.shape, &mut values[view.range()])?;
            }
            buffers.push(values);
        }
        let flags = |name: &str, shape: &[usize]| -> Result<Vec<bool>, SimError> {
            Ok(from.read::<u32>(name, shape)?.iter().map(|f| *f != 0).collect())
        };
        let state = State {
            step: from.read_number("step")?,
            tokens: from.read_number("tokens")?,
            hash: StreamHash(from.read_number("hash")?),
            frozen: flags("frozen", &[self.layout.n_layers()])?,
        };
        let counters = Counters { updates: from.read_number("updates")?, loss_scale: 1.0, finite_steps: 0 };
        let ids = SavedIdentities {
            next: from.read_number("experts/next_id")?,
            ids: from.read("experts/id", &sizes)?,
            born: from.read("experts/born", &sizes)?,
            generations: from.read("experts/generation", &sizes)?,
            frozen: flags("experts/frozen", &sizes)?.into_iter().map(u8::from).collect(),
        };
        let events = from.read::<u64>("events", &[3])?;
        let routers = (0..sizes[0]).map(|layer| self.router_of(from, layer)).collect::<Result<Vec<_>, _>>()?;
        let scores = self.scores_of(from)?;
        if counters.updates > state.step {
            return Err(misfit("it is inconsistent"));
        }
        if buffers.iter().any(|values| values.iter().any(|x| !x.is_finite())) {
            return Err(misfit("a weight or moment is not finite"));
        }
        let alive = routers.iter().flat_map(|router| router.alive.iter().map(|alive| *alive != 0));
        if !alive.eq(ids.ids.iter().map(|id| *id != FREE_SLOT)) {
            return Err(misfit("the routers have other experts than the ids"));
        }
        let genomes = |slot: usize| {
            let view = map.view(self.layout.blocks[slot / sizes[1]].genome);
            let first = view.start + slot % sizes[1] * 4;
            buffers[0].get(first..first + 4)?.try_into().ok()
        };
        if !self.lives.identities.restore(state.step, &ids, genomes) {
            return Err(misfit("the ids of its experts are inconsistent"));
        }
        self.lives.events = [events[0], events[1], events[2]];
        for (buffer, values) in StateBuffer::ALL.into_iter().zip(&buffers) {
            self.backend.write(buffer, 0, values)?;
        }
        for (layer, router) in routers.iter().enumerate() {
            self.backend.set_router(layer, router)?;
        }
        self.backend.set_counters(counters)?;
        self.drop_records()?;
        self.scores = scores;
        Ok(state)
    }
}
