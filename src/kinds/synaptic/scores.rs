//! Scores of experts during training and in saved states.

use super::{
    experts::RouterState,
    life::{
        Move,
        score::{Score, Scoring},
    },
    probes,
    simulation::SynapticSim,
};
use crate::{
    kinds::language::backend::MAX_WAITING_STEPS,
    sim::{ProbeId, SimError, Snapshot},
};

/// Scores of each layer.
pub type Scores = Vec<Score>;

impl SynapticSim {
    /// Creates the scores of a model that took no steps.
    pub(super) fn no_scores(&self) -> Scores {
        vec![Score::new(self.config.experts); self.config.layers]
    }

    /// Updates the scores after a step, so that they cover all steps regardless of when they are read. The specialization
    /// is measured on the first sequence of the step. Fails if the device fails.
    pub(super) fn score_step(&mut self) -> Result<(), SimError> {
        if Scoring::default().is_specialization_due(self.state.step) {
            let tokens = self.last_tokens()[..self.config.context].to_vec();
            self.backend.measure_specialization(&tokens)?;
        }
        if self.state.step - self.own.scored >= MAX_WAITING_STEPS as u64 {
            self.take_scores()?;
        }
        Ok(())
    }

    /// Collects the records since the last call and updates the scores. Waits for the device. Fails if the device fails.
    pub(super) fn take_scores(&mut self) -> Result<(), SimError> {
        let (op, n, mut records) = (Scoring::default(), self.config.experts, vec![]);
        self.backend.take_expert_records(&mut records)?;
        for step in records.chunks_exact(self.config.layers * n) {
            self.own
                .scores
                .iter_mut()
                .zip(step.chunks_exact(n))
                .for_each(|(score, records)| score.update(&op, records));
        }
        self.own.scored = self.state.step;
        Ok(())
    }

    /// Discards the waiting records, because the state is being replaced. Fails if the device fails.
    pub(super) fn drop_records(&mut self) -> Result<(), SimError> {
        self.backend.take_expert_records(&mut vec![])
    }

    /// Applies moves to the scores of a layer.
    pub(super) fn move_scores(&mut self, layer: usize, moves: &[Move]) {
        self.own.scores[layer].follow(moves);
    }

    /// Returns a score over all slots, which is NaN for empty slots.
    pub(super) fn scores_field(&self, probe: ProbeId, routers: &[RouterState]) -> Vec<f32> {
        let (op, k) = (Scoring::default(), self.config.top_k);
        let of_layer = |(score, router): (&Score, &RouterState)| {
            let values = match probe {
                probes::CONTRIBUTION => score.contribution.clone(),
                probes::EFFICIENCY => score.efficiency(&router.energy),
                probes::RESILIENCE => score.resilience(&op, k),
                probes::SPECIALIZATION => score.specialization.clone(),
                _ => score.fitness(&op, &router.energy, &router.alive, k),
            };
            let value = |(value, alive): (f64, &u8)| if *alive == 0 { f32::NAN } else { value as f32 };
            values.into_iter().zip(&router.alive).map(value).collect::<Vec<_>>()
        };
        self.own.scores.iter().zip(routers).flat_map(of_layer).collect()
    }

    pub(super) fn save_scores(&self, out: &mut Snapshot) {
        let shape = [self.config.layers, self.config.experts];
        let all = |values: fn(&Score) -> &[f64]| self.own.scores.iter().flat_map(values).copied().collect();
        out.array("scores/steps", &shape, self.own.scores.iter().flat_map(|s| &s.steps).copied().collect());
        for (name, values) in PARTS {
            out.array(name, &shape, all(*values));
        }
    }

    pub(super) fn scores_of(&self, from: &Snapshot) -> Result<Scores, SimError> {
        let (mut scores, n) = (self.no_scores(), self.config.experts);
        let shape = [self.config.layers, n];
        let steps = from.read::<u64>("scores/steps", &shape)?;
        let parts = PARTS.iter().map(|(name, _)| from.read::<f64>(name, &shape)).collect::<Result<Vec<_>, _>>()?;
        if parts.iter().flatten().any(|x| !x.is_finite()) {
            return Err(crate::sim::snapshot::misfit("a score of an expert is not finite"));
        }
        for (layer, score) in scores.iter_mut().enumerate() {
            let slots = layer * n..(layer + 1) * n;
            score.steps = steps[slots.clone()].to_vec();
            let to = [&mut score.contribution, &mut score.variance, &mut score.frequency, &mut score.specialization];
            to.into_iter().zip(&parts).for_each(|(to, part)| *to = part[slots.clone()].to_vec());
        }
        Ok(scores)
    }
}

/// Function that selects one value per expert.
type Values = fn(&Score) -> &[f64];

/// Names of the sections of a saved state, with the functions that select their values.
const PARTS: &[(&str, Values)] = &[
    ("scores/contribution", |score| &score.contribution),
    ("scores/variance", |score| &score.variance),
    ("scores/frequency", |score| &score.frequency),
    ("scores/specialization", |score| &score.specialization),
];
