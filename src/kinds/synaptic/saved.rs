//! The kind's sections of a saved state: router states, ids, events and scores.

use super::{
    experts::{FEATURES, RouterState},
    life::SavedIdentities,
    model::Config,
    simulation::SynapticSim,
};
use crate::{
    kinds::language::saved::flags,
    sim::{FREE_SLOT, SimError, Snapshot, snapshot::misfit},
};

/// Fails unless a saved state has as many layers and experts as `config`. The error contains both sizes.
pub fn check_sizes(config: &Config, from: &Snapshot) -> Result<(), SimError> {
    let sizes = [config.layers, config.experts];
    match from.get("experts/id").filter(|section| section.shape != sizes.map(|n| n as u64)) {
        Some(found) => Err(misfit(&format!(
            "it has {:?} layers and experts, and the project has {} layers of {} experts: set model.layers and experts.count to \
             those of the saved state",
            found.shape, sizes[0], sizes[1]
        ))),
        None => Ok(()),
    }
}

impl SynapticSim {
    /// Saves ids, events, router states and scores. Fails if the device fails.
    pub(super) fn save_experts(&mut self, out: &mut Snapshot) -> Result<(), SimError> {
        self.take_scores()?;
        let sizes = [self.config.layers, self.config.experts];
        let ids = self.own.lives.identities.save();
        out.number("experts/next_id", ids.next);
        out.array("experts/id", &sizes, ids.ids);
        out.array("experts/born", &sizes, ids.born);
        out.array("experts/generation", &sizes, ids.generations);
        out.array("experts/frozen", &sizes, ids.frozen.iter().map(|f| u32::from(*f)).collect());
        out.list("events", self.own.lives.events.to_vec());
        for layer in 0..self.config.layers {
            let router = self.backend.router(layer)?;
            let name = |part: &str| format!("router/{layer}/{part}");
            out.array(&name("embeddings"), &[self.config.experts, FEATURES], router.embeddings);
            out.list(&name("fatigue"), router.fatigue);
            out.list(&name("energy"), router.energy);
            out.list(&name("balance"), router.balance);
            out.list(&name("alive"), router.alive.iter().map(|a| u32::from(*a)).collect());
        }
        self.save_scores(out);
        Ok(())
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

    /// Loads router states, ids, events and scores of a state whose weights are not in the backend yet. An inconsistent state
    /// leaves the simulation unchanged; an error of the device may leave it partly loaded.
    pub(super) fn load_experts(&mut self, from: &Snapshot, step: u64, weights: &[f32]) -> Result<(), SimError> {
        let sizes = [self.config.layers, self.config.experts];
        let ids = SavedIdentities {
            next: from.read_number("experts/next_id")?,
            ids: from.read("experts/id", &sizes)?,
            born: from.read("experts/born", &sizes)?,
            generations: from.read("experts/generation", &sizes)?,
            frozen: flags(from, "experts/frozen", &sizes)?.into_iter().map(u8::from).collect(),
        };
        let events = from.read::<u64>("events", &[3])?;
        let routers = (0..sizes[0]).map(|layer| self.router_of(from, layer)).collect::<Result<Vec<_>, _>>()?;
        let scores = self.scores_of(from)?;
        let alive = routers.iter().flat_map(|router| router.alive.iter().map(|alive| *alive != 0));
        if !alive.eq(ids.ids.iter().map(|id| *id != FREE_SLOT)) {
            return Err(misfit("the routers have other experts than the ids"));
        }
        let genomes = |slot: usize| {
            let view = self.layout.map.view(self.layout.blocks[slot / sizes[1]].genome);
            let first = view.start + slot % sizes[1] * 4;
            weights.get(first..first + 4)?.try_into().ok()
        };
        if !self.own.lives.identities.restore(step, &ids, genomes) {
            return Err(misfit("the ids of its experts are inconsistent"));
        }
        self.own.lives.events = [events[0], events[1], events[2]];
        self.drop_records()?;
        (self.own.scores, self.own.scored) = (scores, step);
        let mut layers = routers.iter().enumerate();
        layers.try_for_each(|(layer, router)| self.backend.set_router(layer, router))
    }
}
