//! Links: parameters computed from others by a formula, `lif.tau_syn = lif.tau_m / 4`.

use super::{
    Change, ParamId, ParamSpec, Params, Value,
    expression::{Quantity, evaluate_with},
    path,
};
use serde::{Deserialize, Serialize};

/// Link of a parameter to a formula.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Link {
    /// Path of the computed parameter.
    pub path: String,
    /// Formula that contains paths of other parameters.
    pub formula: String,
}

impl Link {
    /// Returns the address and declaration of the computed parameter; `None` if there is no such parameter.
    pub fn target(&self, params: &dyn Params) -> Option<(ParamId, &'static ParamSpec)> {
        path::find(params, &self.path).ok()
    }

    /// Evaluates the formula. Fails with a clause that does not contain the path of the link.
    pub fn value(&self, params: &dyn Params) -> Result<Change, String> {
        let (id, spec) = path::find(params, &self.path).map_err(|e| e.to_string())?;
        let quantity = evaluate_with(&self.formula, &|name| read(params, name))?;
        let value = into_value(spec, quantity)?;
        match spec.refusal(&value) {
            Some(why) => Err(why),
            None => Ok(Change { id, value }),
        }
    }

    /// Lists the parameters that the formula reads.
    fn sources(&self, params: &dyn Params) -> Vec<ParamId> {
        let found = std::cell::RefCell::new(vec![]);
        // Other errors are reported when the formula is evaluated.
        let _ = evaluate_with(&self.formula, &|name| {
            found.borrow_mut().extend(path::find(params, name).ok().map(|(id, _)| id));
            read(params, name)
        });
        found.into_inner()
    }
}

/// Reads a parameter as a quantity. Fails if there is no such parameter or its value is not a single number.
fn read(params: &dyn Params, name: &str) -> Result<Quantity, String> {
    let (id, spec) = path::find(params, name).map_err(|e| e.to_string())?;
    let (dimension, exponent) = spec.unit.dimension();
    match params.get(id) {
        Value::Real(value) => Ok(Quantity { value, exponent, dimension }),
        Value::Int(value) => Ok(Quantity { value: value as f64, exponent, dimension }),
        Value::Distribution(distribution) => match distribution.as_constant() {
            Some(value) => Ok(Quantity { value, exponent, dimension }),
            None => Err(format!("{name} is a distribution")),
        },
        _ => Err(format!("{name} is not a number")),
    }
}

/// Converts a quantity to a value. A plain number is in the unit of the parameter, as in a number field. Fails if the
/// dimension or the type of the parameter does not match, or the value is not finite.
fn into_value(spec: &ParamSpec, quantity: Quantity) -> Result<Value, String> {
    let (dimension, exponent) = spec.unit.dimension();
    let x = match quantity.dimension {
        d if d == dimension => quantity.in_units_of(exponent),
        super::dimension::Dimension::NONE => quantity.in_units_of(0),
        other => return Err(format!("gives {}; expected {}", other.name(), dimension.name())),
    };
    match spec.kind {
        _ if !x.is_finite() => Err("gives no finite number".to_owned()),
        super::ValueType::Int => Ok(Value::Int(x.round() as i64)),
        super::ValueType::Real => Ok(Value::Real(x)),
        super::ValueType::Distribution => Ok(Value::Distribution(super::Distribution::constant(x))),
        _ => Err("only numbers can be linked".to_owned()),
    }
}

/// Finds the link that computes a parameter; `None` if the parameter is not linked.
pub fn of<'a>(params: &dyn Params, links: &'a [Link], id: ParamId) -> Option<&'a Link> {
    links.iter().find(|link| link.target(params).is_some_and(|(target, _)| target == id))
}

/// Updates all linked parameters in dependency order. Returns a message per failed link.
pub fn follow(params: &mut dyn Params, links: &[Link]) -> Vec<String> {
    let mut problems = vec![];
    for at in in_order(params, links) {
        let link = &links[at];
        let done = match goes_round(params, links, link) {
            Some(why) => Err(why),
            None => link.value(params),
        };
        match done {
            Ok(change) if params.get(change.id) != change.value => drop(params.set(&change)),
            Ok(_) => {}
            Err(why) => problems.push(format!("{} = {}: {why}", link.path, link.formula)),
        }
    }
    problems
}

/// Returns the indices of the links in an order in which each follows the links on which it depends, if such an order
/// exists.
fn in_order(params: &dyn Params, links: &[Link]) -> Vec<usize> {
    let targets: Vec<_> = links.iter().map(|l| l.target(params).map(|(id, _)| id)).collect();
    let mut order: Vec<usize> = vec![];
    while order.len() < links.len() {
        let waits = |i: &usize| {
            let sources = links[*i].sources(params);
            let is_open = |j: usize| !order.contains(&j) && j != *i;
            (0..links.len()).any(|j| is_open(j) && targets[j].is_some_and(|t| sources.contains(&t)))
        };
        let left: Vec<usize> = (0..links.len()).filter(|i| !order.contains(i)).collect();
        let next = left.iter().copied().find(|i| !waits(i)).unwrap_or(left[0]);
        order.push(next);
    }
    order
}

/// Describes the cycle that a link would close; `None` if there is no cycle or the link has no target.
pub fn goes_round(params: &dyn Params, links: &[Link], link: &Link) -> Option<String> {
    let (start, _) = link.target(params)?;
    let mut way = vec![(start, link.sources(params))];
    let mut seen = vec![start];
    while let Some((_, sources)) = way.last_mut() {
        let Some(next) = sources.pop() else {
            way.pop();
            continue;
        };
        if next == start {
            let names: Vec<String> = way.iter().map(|(id, _)| params.path(*id)).chain([params.path(start)]).collect();
            return Some(format!("it would follow itself: {}", names.join(" ← ")));
        }
        if !seen.contains(&next)
            && let Some(further) = of(params, links, next)
        {
            seen.push(next);
            way.push((next, further.sources(params)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> crate::kinds::Model {
        crate::kinds::Model::all().remove(0)
    }

    fn link(path: &str, formula: &str) -> Link {
        Link { path: path.into(), formula: formula.into() }
    }

    fn show(params: &dyn Params, name: &str) -> String {
        let (id, spec) = path::find(params, name).unwrap();
        path::show(spec, &params.get(id))
    }

    #[test]
    fn what_is_linked_follows_in_its_own_unit_and_in_order() {
        let mut model = model();
        let params = model.params_mut();
        let links = [
            link("lif.t_refractory", "lif.tau_syn / 2 + 0.0001 s"),
            link("lif.tau_syn", "lif.tau_m / 4"),
            link("network.inhibitory_count", "5.5 * network.excitatory_count"),
        ];
        params.set(&path::parse(params, "lif.tau_m=32").unwrap());
        assert_eq!(follow(params, &links), [""; 0]);
        assert_eq!((show(params, "lif.tau_syn"), show(params, "lif.t_refractory")), ("8 ms".into(), "4.1 ms".into()));
        assert_eq!(show(params, "network.inhibitory_count"), "33");
        assert!(follow(params, &links).is_empty(), "a second time changes nothing");
    }

    #[test]
    fn what_cannot_be_followed_is_said_and_nothing_changes() {
        let mut model = model();
        let params = model.params_mut();
        let before = show(params, "lif.tau_syn");
        for (formula, why) in [
            ("lif.v_rest", "gives a voltage; expected a time"),
            ("lif.tau_n", "did you mean `lif.tau_m`?"),
            ("lif.tau_m / 0", "no finite number"),
            ("lif.tau_m * 1e9", "above"),
            ("network.source", "not a number"),
            ("lif.tau_m *", "a number is missing"),
            ("lif.tau_syn * 2", "it would follow itself: lif.tau_syn ← lif.tau_syn"),
        ] {
            let said = follow(params, &[link("lif.tau_syn", formula)]).join("; ");
            assert!(said.contains(why), "{formula}: {said}");
            assert_eq!(show(params, "lif.tau_syn"), before, "{formula}");
        }
        let round = [
            link("lif.tau_syn", "lif.tau_m / 4"),
            link("lif.tau_m", "2 * lif.t_refractory"),
            link("lif.t_refractory", "lif.tau_syn"),
        ];
        assert_eq!(follow(params, &round).len(), 3, "none of a circle is followed");
        assert!(
            goes_round(params, &round[..2], &round[2]).unwrap().contains("lif.t_refractory ← lif.tau_syn ← lif.tau_m")
        );
        assert_eq!(goes_round(params, &round[..2], &link("lif.w_syn", "lif.w_syn_x")), None);
    }
}
