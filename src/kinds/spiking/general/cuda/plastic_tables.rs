//! Rules and sizes of the plastic projections in the layout of the kernels.

use super::{
    kernels::{
        PLASTIC_INHIBITORY, PLASTIC_PAIR, PLASTIC_POWER_LAW, PLASTIC_REWARD, PLASTIC_SHORT_TERM, PLASTIC_TRIPLET,
        RulesDecay, RulesPlastic,
    },
    plastic::Plastic,
};
use crate::kinds::spiking::general::{
    plan::Plan,
    plasticity::{
        Plasticity,
        decay::Decay,
        laws::{AnyLaw, Rule},
    },
};

/// Sizes of the buffers of plastic projections.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlasticSizes {
    /// Number of plastic projections.
    pub projections: usize,
    /// Number of versions of states of rows, two per row.
    pub rows: usize,
    /// Number of histories.
    pub heads: usize,
    /// Number of entries of all histories.
    pub entries: usize,
    /// Number of slow traces.
    pub seconds: usize,
    /// Number of weights.
    pub weights: usize,
    /// Number of eligibilities.
    pub eligibility: usize,
    /// Largest number of postsynaptic neurons of a scaled projection.
    pub scaled: usize,
}

impl PlasticSizes {
    /// Computes the sizes for `synapses` per projection.
    pub fn new(plan: &Plan, synapses: &[u64]) -> Self {
        let mut sizes = Self::default();
        for (p, synapses) in plan.projections.iter().zip(synapses) {
            let Some(of) = &p.plasticity else { continue };
            let n_to = plan.populations[p.to].n as usize;
            let entries = n_to * of.depth as usize;
            sizes.projections += 1;
            sizes.rows += 2 * plan.populations[p.from].n as usize;
            if of.depth == 0 {
                continue;
            }
            sizes.heads += n_to;
            sizes.entries += entries;
            sizes.weights += *synapses as usize;
            sizes.scaled = sizes.scaled.max(if of.scaling.is_some() { n_to } else { 0 });
            match &of.rule {
                Plasticity::Triplet(_) => sizes.seconds += entries,
                Plasticity::RewardStdp(_) => sizes.eligibility += *synapses as usize,
                _ => {}
            }
        }
        sizes
    }
}

/// Returns the indices of plastic projections by postsynaptic population, and the first one and the end of each population.
pub fn incoming(plan: &Plan) -> (Vec<u32>, Vec<[u32; 2]>) {
    let plastic: Vec<usize> = plan.projections.iter().filter(|p| p.plasticity.is_some()).map(|p| p.to).collect();
    let (mut all, mut ranges) = (vec![], vec![]);
    for population in 0..plan.populations.len() {
        let from = all.len() as u32;
        all.extend((0_u32..).zip(&plastic).filter(|(_, to)| **to == population).map(|(i, _)| i));
        ranges.push([from, all.len() as u32]);
    }
    (all, ranges)
}

/// Returns the rules of the plastic projections, with `settled` 0, and their tables of decays.
pub fn tables(plan: &Plan, projections: &[Plastic], rules: &[Rule]) -> (Vec<RulesPlastic>, Vec<f32>) {
    let (mut tables, mut decays, mut next) = (vec![], vec![], RulesPlastic::default());
    for (of, rule) in projections.iter().zip(rules) {
        let p = &plan.projections[of.projection];
        let mut decay = |table: &Decay| {
            let first = decays.len() as u32;
            decays.extend_from_slice(&table.table);
            RulesDecay { first, last: table.table.len() as u32 - 1 }
        };
        let exponent = plan.populations[p.to].exponents[p.receptor];
        let [slow_pre, slow_post] = match &rule.slow {
            Some([pre, post]) => [decay(pre), decay(post)],
            None => Default::default(),
        };
        let eligible = if let AnyLaw::Reward(law) = &rule.law { decay(&law.decay) } else { RulesDecay::default() };
        let table = RulesPlastic {
            plus: decay(&rule.plus),
            minus: decay(&rule.minus),
            slow_pre,
            slow_post,
            eligible,
            projection: of.projection as u32,
            dendritic_min: of.plan.dendritic_min,
            mask: of.plan.depth.saturating_sub(1),
            settled: 0,
            is_nearest: rule.is_nearest.into(),
            has_slow: rule.slow.is_some().into(),
            is_inhibitory: u32::from(p.receptor == 1),
            is_learning: rule.is_learning.into(),
            w_max: rule.w_max,
            unit: 2_f32.powi(exponent),
            scale: 2_f32.powi(-exponent),
            ..next
        };
        tables.push(with_law(table, &rule.law));
        advance(&mut next, of);
    }
    (tables, decays)
}

/// Moves the indices behind those of a projection.
fn advance(next: &mut RulesPlastic, of: &Plastic) {
    next.rows += u64::from(of.sizes[0]);
    if of.plan.depth == 0 {
        return;
    }
    let entries = u64::from(of.sizes[1]) * u64::from(of.plan.depth);
    next.heads += u64::from(of.sizes[1]);
    next.entries += entries;
    next.weights += of.synapses;
    match &of.plan.rule {
        Plasticity::Triplet(_) => next.seconds += entries,
        Plasticity::RewardStdp(_) => next.eligibility += of.synapses,
        _ => {}
    }
}

/// Returns a table with the law and its constants.
fn with_law(table: RulesPlastic, law: &AnyLaw) -> RulesPlastic {
    match law {
        AnyLaw::Pair(law) => {
            let ([a_plus, a_minus], [mu_plus, mu_minus]) = (law.a, law.mu);
            RulesPlastic { law: PLASTIC_PAIR, a_plus, a_minus, mu_plus, mu_minus, ..table }
        }
        AnyLaw::PowerLaw(law) => RulesPlastic {
            law: PLASTIC_POWER_LAW,
            a_plus: law.lambda,
            a_minus: law.lambda_alpha,
            mu_plus: law.mu,
            ..table
        },
        AnyLaw::Triplet(law) => {
            let ([a_plus, b_plus], [a_minus, b_minus]) = (law.plus, law.minus);
            RulesPlastic { law: PLASTIC_TRIPLET, a_plus, b_plus, a_minus, b_minus, ..table }
        }
        AnyLaw::Inhibitory(law) => {
            RulesPlastic { law: PLASTIC_INHIBITORY, a_plus: law.eta, a_minus: law.alpha, ..table }
        }
        AnyLaw::Reward(law) => RulesPlastic { law: PLASTIC_REWARD, a_plus: law.a[0], a_minus: law.a[1], ..table },
        AnyLaw::ShortTerm(u) => RulesPlastic { law: PLASTIC_SHORT_TERM, a_plus: *u, ..table },
    }
}
