//! Parameters that all conditions of an experiment vary, with their values as coordinates.

use crate::{
    app::document::varied::VariedParameter,
    experiment::Plan,
    params::{Scale, Value, path, titles},
    project::Project,
};

/// Parameter that conditions vary.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Path of the parameter.
    pub path: String,
    /// Label with the unit: `Membrane time constant (ms)`.
    pub title: String,
    /// Whether the parameter is declared as logarithmic.
    pub is_log: bool,
}

/// Value of a factor under a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct FactorValue {
    /// Value as a number; `None` for a choice or a switch.
    pub x: Option<f64>,
    /// Value with its unit; for a choice or a switch, its name in the window.
    pub text: String,
}

/// Factors of an experiment: one or two.
#[derive(Clone, Debug, PartialEq)]
pub struct Factors {
    /// The varied parameters, in the order of the values.
    pub axes: Vec<Factor>,
    /// Values by condition, in the order of the axes; empty for a condition that varies none of them, such as the control.
    pub values: Vec<Vec<FactorValue>>,
}

impl Factors {
    /// Returns the factors of a plan; `None` unless all conditions but the control vary the same one or two parameters.
    pub fn of(project: &Project, plan: &Plan) -> Option<Self> {
        let varied = plan.conditions.iter().enumerate().filter(|(i, c)| *i != plan.control || !c.factors.is_empty());
        let mut varied = varied.map(|(_, condition)| condition);
        let paths: Vec<&String> = varied.next()?.factors.iter().map(|(path, _)| path).collect();
        if !(1..=2).contains(&paths.len()) || varied.any(|other| other.factors.iter().map(|(p, _)| p).ne(paths.clone()))
        {
            return None;
        }
        let params = project.model.params();
        let known: Vec<_> = paths.iter().map(|path| VariedParameter::find(params, path)).collect();
        let axes = paths.iter().zip(&known).map(|(path, known)| factor(path, known.as_ref())).collect();
        let values = |factors: &[(String, String)]| {
            factors.iter().zip(&known).map(|((_, text), known)| value(text, known.as_ref())).collect()
        };
        Some(Self { axes, values: plan.conditions.iter().map(|condition| values(&condition.factors)).collect() })
    }

    /// Whether all values of an axis are numbers.
    pub fn is_numeric(&self, axis: usize) -> bool {
        self.values.iter().filter_map(|values| values.get(axis)).all(|value| value.x.is_some())
    }

    /// Returns the different values of an axis, ascending if they are numbers, otherwise in the order of the conditions.
    pub fn levels(&self, axis: usize) -> Vec<&FactorValue> {
        let mut out: Vec<&FactorValue> = vec![];
        for value in self.values.iter().filter_map(|values| values.get(axis)) {
            if !out.contains(&value) {
                out.push(value);
            }
        }
        if self.is_numeric(axis) {
            out.sort_by(|a, b| a.x.unwrap_or_default().total_cmp(&b.x.unwrap_or_default()));
        }
        out
    }
}

fn factor(path: &str, known: Option<&VariedParameter>) -> Factor {
    let Some(VariedParameter { label, spec, .. }) = known else {
        return Factor { path: path.to_owned(), title: path.to_owned(), is_log: false };
    };
    let unit = spec.unit.suffix();
    let title = if unit.is_empty() { label.clone() } else { format!("{label} ({unit})") };
    Factor { path: path.to_owned(), title, is_log: spec.scale == Scale::Log }
}

fn value(text: &str, known: Option<&VariedParameter>) -> FactorValue {
    let parsed = known.and_then(|known| path::parse_value(&known.spec, text).ok());
    let x = match &parsed {
        Some(Value::Real(x)) => Some(*x),
        Some(Value::Int(i)) => Some(*i as f64),
        Some(Value::Distribution(distribution)) => distribution.as_constant(),
        _ => None,
    };
    let shown = known.zip(parsed).map(|(known, value)| titles::shown(&known.spec, &value));
    FactorValue { x, text: shown.unwrap_or_else(|| text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        experiment::expand,
        project::{
            Elements,
            experiment::{Condition, ConditionRule, Experiment, ParameterValues},
        },
    };

    fn factors(conditions: Vec<ConditionRule>) -> Option<Factors> {
        let project = Project::default();
        let experiment = Experiment { conditions, ..Experiment::default() };
        let plan = expand(&project, &experiment, &Elements::default()).expect("a plan");
        Factors::of(&project, &plan)
    }

    #[test]
    fn conditions_that_vary_the_same_parameters_have_factors() {
        let axis = |path: &str, values: &str| ParameterValues { path: path.into(), values: values.into() };
        let one = factors(vec![ConditionRule::Values(axis("lif.tau_m", "20, 10 ms"))]).expect("one factor");
        assert_eq!((one.axes[0].title.as_str(), one.is_numeric(0)), ("Membrane time constant (ms)", true));
        assert_eq!(one.levels(0).iter().map(|v| v.text.as_str()).collect::<Vec<_>>(), ["10 ms", "20 ms"]);
        assert!(one.values[0].is_empty(), "the control");
        let grid = vec![axis("lif.tau_m", "10, 20 ms"), axis("lif.v_reset", "-60, -55, -50 mV")];
        let two = factors(vec![ConditionRule::Grid(grid)]).expect("two factors");
        assert_eq!((two.axes.len(), two.levels(1).len(), two.values.len()), (2, 3, 7));
        let by_hand = Condition { name: "a".into(), ..Condition::default() };
        let choice = factors(vec![ConditionRule::Values(axis("lif.precision", "F64, F32"))]).expect("one factor");
        assert_eq!(
            choice.levels(0).iter().map(|v| v.text.as_str()).collect::<Vec<_>>(),
            ["Double (f64)", "Single (f32)"]
        );
        let mixed = vec![ConditionRule::Values(axis("lif.tau_m", "20 ms")), ConditionRule::Condition(by_hand)];
        assert_eq!(factors(mixed), None);
    }
}
