//! Life cycle during training: rules for experts, actions of the user, ids and events.

use super::{
    choices::SplitRule,
    experts::RouterState,
    life::{
        ExpertArrays, Identities, LayerReadings, LayerStatus, LifeCycle, Move, MoveAddress, RouterSlots, Wish, edits,
        health::health, plan, plan_wish,
    },
    model::Config,
    probes,
    simulation::SynapticSim,
};
use crate::{
    gpu::Pass,
    sim::{Action, SimError},
};
use std::fmt::Write as _;

/// Ids and events of experts.
pub struct Lives {
    /// Ids of the experts, by slot.
    pub identities: Identities,
    /// Numbers of splits, merges and removals since step 0.
    pub events: [u64; 3],
    log: Option<String>,
}

impl Lives {
    /// Creates founders at step 0.
    pub fn new(config: &Config) -> Self {
        Self { identities: Identities::new(config.layers, config.experts), events: [0; 3], log: None }
    }

    /// Takes the log of births and deaths since the last reading; empty if it is not tapped.
    pub fn take_log(&mut self) -> String {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn count(&mut self, step: u64, names: impl Fn(&Identities, u32) -> String, moves: &[Move]) {
        for one in moves {
            let (kind, line) = match *one {
                Move::Split { parent, child } => {
                    (0, format!("{} splits into {}", names(&self.identities, parent), names(&self.identities, child)))
                }
                Move::Merge { winner, loser, alpha } => (
                    1,
                    format!(
                        "{} and {} merge, {:.0} % of the first",
                        names(&self.identities, winner),
                        names(&self.identities, loser),
                        100.0 * alpha
                    ),
                ),
                Move::Remove { slot, cause } => {
                    (2, format!("{} ends: {}", names(&self.identities, slot), format!("{cause:?}").to_lowercase()))
                }
            };
            self.events[kind] += 1;
            if let Some(log) = &mut self.log {
                // Writing to a string cannot fail.
                let _ = writeln!(log, "step {step}: {line}");
            }
        }
    }
}

impl SynapticSim {
    /// Resets the ids to founders at step 0. Fails if the device fails.
    pub(super) fn begin_lives(&mut self) -> Result<(), SimError> {
        let (is_tapped, is_logged) = (self.own.lives.identities.is_tapped(), self.own.lives.log.is_some());
        self.own.lives = Lives::new(&self.config);
        self.tap_lives(is_tapped, is_logged)
    }

    /// Enables or disables the taps of lineage and log. Fails if the device fails.
    pub(super) fn tap_lives(&mut self, is_tapped: bool, is_logged: bool) -> Result<(), SimError> {
        let genomes = self.genomes()?;
        self.own.lives.identities.tap(is_tapped, self.state.step, of_slot(&genomes));
        self.own.lives.log = is_logged.then(|| self.own.lives.log.take().unwrap_or_default());
        Ok(())
    }

    /// Returns the genomes of all layers, `[L E, 4]`. Fails if the device fails.
    pub(super) fn genomes(&self) -> Result<Vec<f32>, SimError> {
        let mut all = vec![];
        for block in &self.layout.blocks {
            all.extend(self.weight(block.genome)?);
        }
        Ok(all)
    }

    /// Applies the rules of the life cycle after a step, if a call is due. Fails if the device fails.
    pub(super) fn live(&mut self, pass: &mut Pass) -> Result<(), SimError> {
        let cycle = self.params.life_cycle();
        if !self.params.life.enabled || !cycle.is_due(self.state.step) {
            return Ok(());
        }
        pass.span("life cycle", 1, || {
            let mut before = None;
            for layer in 0..self.config.layers {
                let status = self.status(layer)?;
                let view = status.view(&self.config);
                let mut loss = None;
                let moves = plan(&cycle, &view, |slot| self.cost_of_end(layer, slot, &status.router, &mut loss))?;
                if !moves.is_empty() && before.is_none() && self.sampler.is_tapped(probes::EVENT_LOSS) {
                    before = Some(self.fixed_loss()?);
                }
                self.apply_moves(layer, &cycle, &moves, &status)?;
            }
            if let Some(before) = before {
                let change = self.fixed_loss()? - before;
                self.sampler.push(probes::EVENT_LOSS, self.state.step, &[change]);
            }
            Ok(())
        })
    }

    /// Returns the rise of the loss of the last step without the expert of a slot. `loss` caches the loss of the unchanged
    /// model. Fails if the device fails.
    fn cost_of_end(
        &mut self,
        layer: usize,
        slot: usize,
        router: &RouterState,
        loss: &mut Option<f64>,
    ) -> Result<f64, SimError> {
        if router.n_alive() <= self.config.top_k {
            return Ok(f64::INFINITY);
        }
        let before = match *loss {
            Some(before) => before,
            None => *loss.insert(self.last_step_loss()?),
        };
        let mut without = router.clone();
        without.alive[slot] = 0;
        self.backend.set_router(layer, &without)?;
        let after = self.last_step_loss();
        self.backend.set_router(layer, router)?;
        Ok(after? - before)
    }

    /// Performs an action of the user that splits, merges or removes experts. Fails if the selection does not fit the
    /// action.
    pub(super) fn wish(&mut self, action: &Action) -> Result<(), SimError> {
        let n = self.config.experts;
        let mut chosen: Vec<(usize, u32)> =
            action.elements.iter().map(|e| (*e as usize / n, (*e as usize % n) as u32)).collect();
        chosen.sort_unstable();
        chosen.dedup();
        let refused = |why: &str| Err(SimError::Input(format!("{}: {why}", action.name)));
        if chosen.last().is_some_and(|(layer, _)| *layer >= self.config.layers) {
            return refused("there is no such expert");
        }
        let cycle = self.params.life_cycle();
        match (action.name.as_str(), &chosen[..]) {
            ("split", [(layer, slot)]) => self.fulfil(*layer, &cycle, &[Wish::Split(*slot)]),
            ("split", _) => refused("select one expert"),
            ("merge", [(layer, a), (other, b)]) if layer == other => {
                self.fulfil(*layer, &cycle, &[Wish::Merge(*a, *b)])
            }
            ("merge", _) => refused("select two experts of one layer"),
            ("kill", []) => refused("select experts"),
            ("kill", [(layer, _), ..]) => {
                if chosen.iter().any(|(other, _)| other != layer) {
                    return refused("select experts of one layer");
                }
                let wishes: Vec<Wish> = chosen.iter().map(|(_, slot)| Wish::Kill(*slot)).collect();
                self.fulfil(*layer, &cycle, &wishes)
            }
            ("merge_weak", _) => {
                let mut best: Option<(f64, usize)> = None;
                let mut why = None;
                for layer in 0..self.config.layers {
                    let status = self.status(layer)?;
                    match plan_wish(&status.view(&self.config), Wish::MergeMostSimilar) {
                        Ok(moves) => {
                            let cosine = status.cosine(&moves);
                            if best.is_none_or(|(known, _)| cosine > known) {
                                best = Some((cosine, layer));
                            }
                        }
                        Err(error) => why = Some(error),
                    }
                }
                match (best, why) {
                    (Some((_, layer)), _) => self.fulfil(layer, &cycle, &[Wish::MergeMostSimilar]),
                    (None, Some(why)) => refused(&why.to_string()),
                    (None, None) => refused("there are no experts"),
                }
            }
            (other, _) => Err(SimError::Input(format!(
                "there is no action {other}; there are {}",
                probes::ACTIONS.iter().map(|a| a.name).collect::<Vec<_>>().join(", ")
            ))),
        }
    }

    /// Freezes or unfreezes experts. Fails unless all selected slots have living experts.
    pub(super) fn freeze_experts(&mut self, action: &Action, is_frozen: bool) -> Result<(), SimError> {
        let (n, ids) = (self.config.experts, &mut self.own.lives.identities);
        let places: Vec<_> = action.elements.iter().map(|e| (*e as usize / n, *e as usize % n)).collect();
        if places.is_empty() || places.iter().any(|(layer, slot)| ids.occupant(*layer, *slot).is_none()) {
            return Err(SimError::Input(format!("{}: select living experts", action.name)));
        }
        let mut all = places.into_iter().map(|(layer, slot)| ids.freeze(layer, slot, is_frozen));
        all.try_for_each(|done| done.map_err(|error| SimError::Input(error.to_string())))
    }

    fn fulfil(&mut self, layer: usize, cycle: &LifeCycle, wishes: &[Wish]) -> Result<(), SimError> {
        let before = self.status(layer)?;
        let (mut planned, mut moves) = (before.clone(), vec![]);
        for wish in wishes {
            let new = plan_wish(&planned.view(&self.config), *wish);
            let new = new.map_err(|error| SimError::Input(error.to_string()))?;
            for one in &new {
                if let Move::Remove { slot, .. } = one {
                    planned.router.alive[*slot as usize] = 0;
                }
            }
            moves.extend(new);
        }
        self.apply_moves(layer, cycle, &moves, &before)
    }

    fn apply_moves(
        &mut self,
        layer: usize,
        cycle: &LifeCycle,
        moves: &[Move],
        before: &Status,
    ) -> Result<(), SimError> {
        if moves.is_empty() {
            return Ok(());
        }
        // The hash includes losses and moves in the order of steps, so that it does not depend on the batch size.
        self.count_steps()?;
        let (step, first_slot) = (self.state.step, (layer * self.config.experts) as u32);
        self.take_scores()?;
        self.move_experts(layer, cycle, moves, &MoveAddress { seed: self.seed, step, first_slot })?;
        let genome = self.weight(self.layout.blocks[layer].genome)?;
        let contribution = self.own.scores[layer].contribution.clone();
        let readings = LayerReadings { health: &before.health, contribution: &contribution, genome: &genome };
        self.own.lives.count(step, |ids, slot| ids.name(layer, slot as usize), moves);
        self.own.lives.identities.record(step, layer, moves, &readings);
        self.move_scores(layer, moves);
        self.own.routed.clear();
        for one in moves {
            let (kind, a, b) = match *one {
                Move::Split { parent, child } => (1, parent, child),
                Move::Merge { winner, loser, .. } => (2, winner, loser),
                Move::Remove { slot, .. } => (3, slot, slot),
            };
            for word in [step as u32, kind, first_slot + a, first_slot + b] {
                self.state.hash.push(word);
            }
        }
        Ok(())
    }

    /// Applies moves to the weights, moments and router of a layer. Fails if the device fails.
    fn move_experts(
        &mut self,
        layer: usize,
        cycle: &LifeCycle,
        moves: &[Move],
        at: &MoveAddress,
    ) -> Result<(), SimError> {
        let mut router = self.backend.router(layer)?;
        let RouterState { embeddings, fatigue, energy, balance, alive } = &mut router;
        RouterSlots { embeddings, fatigue, energy, balance, alive }.follow(cycle, moves, at);
        self.backend.edit(&edits(cycle, moves, at, &self.arrays(layer)))?;
        self.backend.set_router(layer, &router)
    }

    /// Returns the ranges of the experts of a layer among the parameters.
    fn arrays(&self, layer: usize) -> ExpertArrays {
        let block = self.layout.blocks[layer];
        let weights = [block.fc1, block.fc1_bias, block.fc2, block.fc2_bias];
        ExpertArrays::new(&self.layout.map, &weights, block.router, block.genome)
    }

    /// Returns the inputs of the rules for a layer. Fails if the device fails.
    pub(super) fn status(&self, layer: usize) -> Result<Status, SimError> {
        let (router, n) = (self.backend.router(layer)?, self.config.experts);
        let utility = match self.params.life.split_rule {
            SplitRule::Healthiest => vec![],
            SplitRule::GradientUtility => self.backend.gradient_utility(&self.arrays(layer))?,
        };
        Ok(Status {
            health: health(&router.fatigue, &router.energy, &router.alive, self.config.top_k),
            frozen: self.own.lives.identities.frozen()[layer * n..][..n].to_vec(),
            ages: self.own.lives.identities.ages(layer, self.state.step),
            utility,
            router,
        })
    }
}

/// Inputs of the rules: values of a layer by slot.
#[derive(Clone)]
pub struct Status {
    /// Router state of the layer.
    pub router: RouterState,
    /// Health of each slot.
    pub health: Vec<f64>,
    frozen: Vec<bool>,
    ages: Vec<u64>,
    utility: Vec<f64>,
}

impl Status {
    fn view(&self, config: &Config) -> LayerStatus<'_> {
        LayerStatus {
            health: &self.health,
            alive: &self.router.alive,
            frozen: &self.frozen,
            ages: &self.ages,
            fatigue: &self.router.fatigue,
            embeddings: &self.router.embeddings,
            utility: &self.utility,
            top_k: config.top_k,
        }
    }

    /// Returns the cosine similarity of the embeddings of the experts that merge; -∞ without a merge.
    fn cosine(&self, moves: &[Move]) -> f64 {
        let dot = |a: u32, b: u32| {
            let pairs = self.router.embedding(a as usize).iter().zip(self.router.embedding(b as usize));
            pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        let cosine = |one: &Move| match *one {
            Move::Merge { winner, loser, .. } => Some(dot(winner, loser)),
            _ => None,
        };
        moves.iter().find_map(cosine).unwrap_or(f64::NEG_INFINITY)
    }
}

fn of_slot(genomes: &[f32]) -> impl Fn(usize) -> Option<[f32; 4]> + '_ {
    |slot| genomes.get(4 * slot..4 * slot + 4)?.try_into().ok()
}
