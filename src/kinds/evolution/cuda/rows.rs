//! Rows of a forward pass.

use crate::kinds::evolution::strategy::NoiseForm;

/// Rows of a pass, and their perturbation.
#[derive(Clone, Copy)]
pub struct Rows {
    /// Number of members.
    pub members: usize,
    /// Rows of each member.
    pub per_member: usize,
    /// Form of the perturbation and its scale 2^-shift; `None` for the unperturbed model.
    pub perturbed: Option<(NoiseForm, u32)>,
    /// Rows of the texts of a pair, in this pass and in others.
    pub of_pair: usize,
    /// Row of the pair with which the rows of a member begin.
    pub first_row: usize,
    /// Members that read the text of a pair: 2, or 1 for the unperturbed model on the texts of all pairs.
    pub per_pair: u32,
}

impl Rows {
    /// Returns the rows of the unperturbed model on the texts of pairs.
    pub const fn unperturbed(pairs: usize, per_pair: usize) -> Self {
        Self { members: pairs, per_member: per_pair, perturbed: None, of_pair: per_pair, first_row: 0, per_pair: 1 }
    }

    /// Returns the number of rows of all members.
    pub const fn all(&self) -> usize {
        self.members * self.per_member
    }

    /// Returns the exponent of the scale of perturbations; 0 without one.
    pub const fn shift(&self) -> u32 {
        match self.perturbed {
            Some((_, shift)) => shift,
            None => 0,
        }
    }

    /// Returns the rank of the perturbation; 0 without a low rank.
    pub const fn rank(&self) -> usize {
        match self.perturbed {
            Some((NoiseForm::LowRank(rank), _)) => rank,
            _ => 0,
        }
    }

    /// Whether each member has its own weights.
    pub const fn is_merged(&self) -> bool {
        matches!(self.perturbed, Some((NoiseForm::FullRank(_), _)))
    }

    /// Whether activations are perturbed in place of weights.
    pub const fn perturbs_activations(&self) -> bool {
        matches!(self.perturbed, Some((NoiseForm::Activations, _)))
    }
}
