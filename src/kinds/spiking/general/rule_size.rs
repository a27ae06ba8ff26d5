//! Check of a rule, and the number of synapses that it makes.

use super::{
    ConnectionRule, Placement,
    plan::{MAX_SYNAPSES, PopulationPlan},
};
use crate::num::digits::group_digits;

/// Returns the expected number of synapses of a rule from one population to another, or within one if `is_own`; 0 for a file.
/// Fails if the rule cannot be followed.
pub fn synapses(
    rule: &ConnectionRule,
    from: &PopulationPlan,
    to: &PopulationPlan,
    is_own: bool,
) -> Result<u64, String> {
    let (n_from, n_to) = (u64::from(from.n), u64::from(to.n));
    let pairs = |autapses: bool| n_from * n_to - if is_own && !autapses { n_from } else { 0 };
    let refuse_degree = |n: i64, partners: u64, autapses: bool, multapses: bool, who: &str| {
        let partners = partners - u64::from(is_own && !autapses);
        if n < 0 {
            return Err(format!("rule.n: {n} is negative"));
        }
        if n > 0 && partners == 0 {
            return Err(format!("rule.n: there is no other neuron to connect to; allow autapses or enlarge `{who}`"));
        }
        if !multapses && n as u64 > partners {
            return Err(format!(
                "rule.n: {n} partners per neuron, but `{who}` has {partners}. Lower the number or allow multapses"
            ));
        }
        Ok(n as u64)
    };
    let product = |n: u64, degree: u64| {
        let sentence =
            || format!("{} synapses for each of {} neurons are too many", group_digits(degree), group_digits(n));
        n.checked_mul(degree).filter(|n| *n <= MAX_SYNAPSES).ok_or_else(sentence)
    };
    match rule {
        ConnectionRule::AllToAll(rule) => product(n_from, n_to).map(|_| pairs(rule.autapses)),
        ConnectionRule::OneToOne(_) if n_from != n_to => Err(format!(
            "rule: one to one needs populations of one size; `{}` has {n_from} neurons, `{}` has {n_to}",
            from.name, to.name
        )),
        ConnectionRule::OneToOne(_) => Ok(n_from),
        ConnectionRule::Bernoulli(rule) if !(0.0..=1.0).contains(&rule.p) => {
            Err(format!("rule.p: {} is not a probability", rule.p))
        }
        ConnectionRule::Bernoulli(rule) => Ok((pairs(rule.autapses) as f64 * rule.p).ceil() as u64),
        ConnectionRule::FixedInDegree(r) => {
            refuse_degree(r.n, n_from, r.autapses, r.multapses, &from.name).and_then(|n| product(n_to, n))
        }
        ConnectionRule::FixedOutDegree(r) => {
            refuse_degree(r.n, n_to, r.autapses, r.multapses, &to.name).and_then(|n| product(n_from, n))
        }
        ConnectionRule::FixedTotal(r) => {
            refuse_degree(r.n, n_to, r.autapses, true, &to.name).and_then(|n| product(1, n))
        }
        ConnectionRule::ByDistance(rule) => {
            for population in [from, to] {
                if matches!(population.placement, Placement::Nowhere(_)) {
                    return Err(format!("rule: `{}` has no positions. Choose its positions", population.name));
                }
            }
            if !(0.0..=1.0).contains(&rule.p) || rule.scale.is_nan() || rule.scale <= 0.0 {
                return Err("rule: the probability is between 0 and 1, the length scale above 0".to_owned());
            }
            product(n_from, n_to).map(|_| (pairs(rule.autapses) as f64 * rule.p).ceil() as u64)
        }
        ConnectionRule::FromFile(rule) if rule.path.0.trim().is_empty() => {
            Err("rule.path is empty: name an edge file".to_owned())
        }
        ConnectionRule::FromFile(_) => Ok(0),
    }
}
