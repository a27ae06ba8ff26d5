//! Edits of the document's experiment.

use crate::{
    kinds::Model,
    project::experiment::{
        Condition, ConditionChange, ConditionRule, ElementQuery, Experiment, Measure, ParameterValues,
    },
    sim::Shape,
};

/// Returns the experiment of a document; a document without one gets one with the usual measure of its model.
pub fn of_document<'a>(edited: &'a mut Option<Experiment>, model: &Model) -> &'a mut Experiment {
    edited.get_or_insert_with(|| Experiment { measures: usual(model).into_iter().collect(), ..Experiment::default() })
}

/// Returns the measure of a new experiment: the last value of the model's result, otherwise the mean rate of its events. `None` if
/// the model has neither.
pub fn usual(model: &Model) -> Option<Measure> {
    crate::experiment::measure::usual(model)
}

/// Adds a rule. Names of conditions are made unique.
pub fn add(experiment: &mut Experiment, rule: ConditionRule) {
    let rule = match rule {
        ConditionRule::Condition(condition) => {
            let name = unique(experiment, &condition.name);
            ConditionRule::Condition(Condition { name, ..condition })
        }
        rule => rule,
    };
    experiment.conditions.push(rule);
}

/// Returns a name that no condition by hand has: the wanted one, or this one with a number.
fn unique(experiment: &Experiment, wanted: &str) -> String {
    let is_taken = |name: &str| {
        experiment.conditions.iter().any(|rule| matches!(rule, ConditionRule::Condition(c) if c.name == name))
    };
    let numbered = (2..).map(|n| format!("{wanted} {n}"));
    std::iter::once(wanted.to_owned()).chain(numbered).find(|name| !is_taken(name)).unwrap_or_default()
}

/// Returns a condition that silences the elements of a selection or a query.
pub fn silence(name: &str, query: &str) -> ConditionRule {
    by_hand(&format!("silence {name}"), ConditionChange::Silence(query.to_owned()))
}

/// Returns a condition with an intervention disabled.
pub fn without(intervention: &str) -> ConditionRule {
    by_hand(&format!("without {intervention}"), ConditionChange::Off(intervention.to_owned()))
}

fn by_hand(name: &str, change: ConditionChange) -> ConditionRule {
    ConditionRule::Condition(Condition { name: name.to_owned(), changes: vec![change], ..Condition::default() })
}

/// Returns a rule with one condition per value of a parameter.
pub fn values(path: &str, values: &str) -> ConditionRule {
    ConditionRule::Values(ParameterValues { path: path.to_owned(), values: values.to_owned() })
}

/// Returns a rule that silences each element of a selection or a query; `set` is empty for the first set.
pub fn silence_each(query: &str, set: &str) -> ConditionRule {
    ConditionRule::SilenceEach(ElementQuery { query: query.to_owned(), set: set.to_owned() })
}

/// Returns the names of the probes of a model that a measure can read.
pub fn measurable(model: &Model) -> Vec<&'static str> {
    let fits = |shape: &Shape| matches!(shape, Shape::Spikes { .. } | Shape::Series { .. });
    model.probes().iter().filter(|probe| fits(&probe.shape)).map(|probe| probe.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_experiment_measures_the_rate_and_names_stay_unique() {
        let (model, mut edited) = (Model::default(), None);
        let experiment = of_document(&mut edited, &model);
        assert_eq!(experiment.measures.len(), 1);
        add(experiment, silence("sugar", "sugar"));
        add(experiment, silence("sugar", "sugar"));
        let names = experiment.conditions.iter().filter_map(|rule| match rule {
            ConditionRule::Condition(condition) => Some(condition.name.as_str()),
            _ => None,
        });
        assert_eq!(names.collect::<Vec<_>>(), ["silence sugar", "silence sugar 2"]);
        assert!(measurable(&model).contains(&"spikes"));
    }
}
