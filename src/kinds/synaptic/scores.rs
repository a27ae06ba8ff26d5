//! Scores of experts while a model trains.

use super::{probes, simulation::SynapticSim};
use crate::sim::{ProbeId, SimError, Snapshot};

/// Weight of the past in averages.
const KEPT: f64 = 0.99;

/// Averages of the contribution, `[L E]`.
pub type Scores = Vec<f64>;

impl SynapticSim {
    /// Takes in the step that was just taken.
    pub(super) fn score_step(&mut self) -> Result<(), SimError> {
        let steps = self.backend.expert_steps()?;
        let new = steps.iter().flat_map(|step| &step.contribution);
        self.scores.iter_mut().zip(new).for_each(|(score, new)| *score = KEPT * *score + (1.0 - KEPT) * new);
        Ok(())
    }

    /// Average contributions of a layer.
    pub(super) fn contribution(&self, layer: usize) -> Vec<f64> {
        let n = self.config.experts;
        self.scores.get(layer * n..(layer + 1) * n).unwrap_or_default().to_vec()
    }

    pub(super) fn scores_field(&self, probe: ProbeId, energy: &[f32]) -> Vec<f32> {
        let scores = self.scores.iter().zip(energy);
        match probe {
            probes::CONTRIBUTION => scores.map(|(score, _)| *score as f32).collect(),
            probes::EFFICIENCY => scores.map(|(score, energy)| *score as f32 / (energy + 1e-6)).collect(),
            _ => vec![f32::NAN; energy.len()],
        }
    }

    pub(super) fn save_scores(&self, out: &mut Snapshot) {
        out.array("scores", &[self.scores.len()], self.scores.clone());
    }

    pub(super) fn scores_of(&self, from: &Snapshot) -> Result<Scores, SimError> {
        from.read("scores", &[self.config.layers * self.config.experts])
    }
}
