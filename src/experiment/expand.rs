//! Expands the rules of an experiment to a flat list of conditions.

use super::{changes, values};
use crate::{
    num::digits::{counted, group_digits},
    params::{Params, path},
    project::{
        Elements, Project,
        experiment::{Condition, ConditionChange, ConditionRule, ElementQuery, Experiment, ParameterValues},
    },
    query,
};
use std::{collections::HashSet, path::Path};

/// Maximum number of conditions of an experiment.
pub const MAX_CONDITIONS: usize = 1 << 20;
/// Maximum number of seeds of a condition.
pub const MAX_SEEDS: usize = 100_000;
/// Name of the condition without changes that is the control if the experiment names none.
pub const CONTROL: &str = "control";

/// Condition of a flat list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Planned {
    /// Name, unique in the list.
    pub name: String,
    /// Changes against the project; empty for the unchanged project.
    pub changes: Vec<ConditionChange>,
    /// Seeds of the trials; each occurs once.
    pub seeds: Vec<u64>,
    /// Paths of the parameters that a rule varies, with their values.
    pub factors: Vec<(String, String)>,
    /// Set and index of the element that the condition silences, if a rule made the condition of the element.
    pub element: Option<(String, u32)>,
}

/// Flat list of the conditions of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Conditions in the order of the rules; a control that no rule names is the first.
    pub conditions: Vec<Planned>,
    /// Index of the control.
    pub control: usize,
}

impl Plan {
    /// Returns the number of trials.
    pub fn n_trials(&self) -> usize {
        self.conditions.iter().map(|condition| condition.seeds.len()).sum()
    }

    /// Returns the index of the condition with a name; `None` if there is no such condition.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.conditions.iter().position(|condition| condition.name == name)
    }
}

/// Expands an experiment of a project. The result depends on the arguments alone. Queries are answered with `elements`, the sets
/// of the project's simulation; without sets, rules with queries have no conditions.
///
/// # Errors
/// Fails with a sentence if a parameter, a value, a query or the control is invalid, names repeat, or there are too many
/// conditions or seeds.
pub fn expand(project: &Project, experiment: &Experiment, elements: &Elements<'_>) -> Result<Plan, String> {
    let seeds = values::seeds(&experiment.seeds, MAX_SEEDS).map_err(|why| format!("seeds: {why}"))?;
    let mut conditions = vec![];
    for rule in &experiment.conditions {
        conditions.extend(of_rule(project, rule, &seeds, elements)?);
        if conditions.len() > MAX_CONDITIONS {
            let most = group_digits(MAX_CONDITIONS as u64);
            return Err(format!("these are more than {most} conditions; choose fewer elements or values"));
        }
    }
    let control = experiment.control.trim();
    let control = match conditions.iter().position(|condition| condition.name == control) {
        Some(at) => at,
        None if control.is_empty() => {
            conditions.insert(0, Planned { name: CONTROL.to_owned(), seeds, ..Planned::default() });
            0
        }
        None => return Err(format!("control: there is no condition `{control}`")),
    };
    unique(&conditions)?;
    let base = elements.base.unwrap_or(Path::new("."));
    // Conditions of single elements differ in the element alone; the first stands for all of its rule.
    let mut checked_element = false;
    for condition in &conditions {
        if condition.element.is_some() && std::mem::replace(&mut checked_element, true) {
            continue;
        }
        changes::changed(project, &condition.changes, base).map_err(|why| format!("{}: {why}", condition.name))?;
    }
    Ok(Plan { conditions, control })
}

fn of_rule(
    project: &Project,
    rule: &ConditionRule,
    seeds: &[u64],
    elements: &Elements<'_>,
) -> Result<Vec<Planned>, String> {
    match rule {
        ConditionRule::Condition(condition) => Ok(vec![single(condition, seeds)?]),
        ConditionRule::Values(axis) => grid(project, std::slice::from_ref(axis), seeds),
        ConditionRule::Grid(axes) => grid(project, axes, seeds),
        ConditionRule::SilenceEach(query) => silence_each(project, query, seeds, elements),
    }
}

fn single(condition: &Condition, seeds: &[u64]) -> Result<Planned, String> {
    let (name, changes) = (condition.name.trim().to_owned(), condition.changes.clone());
    if name.is_empty() {
        return Err("a condition has no name".to_owned());
    }
    let seeds = match condition.seeds.trim() {
        "" => seeds.to_vec(),
        own => values::seeds(own, MAX_SEEDS).map_err(|why| format!("{name}: seeds: {why}"))?,
    };
    Ok(Planned { name, changes, seeds, ..Planned::default() })
}

/// Returns every combination of the values of parameters; the first parameter changes fastest.
fn grid(project: &Project, axes: &[ParameterValues], seeds: &[u64]) -> Result<Vec<Planned>, String> {
    let params = project.model.params();
    let of_axis = |axis: &ParameterValues| {
        let spec = path::spec_of(params, axis.path.trim()).map_err(|e| e.to_string())?;
        values::values(&spec, &axis.values, spec.scale, MAX_CONDITIONS).map_err(|why| format!("{}: {why}", axis.path))
    };
    let all: Vec<Vec<String>> = axes.iter().map(of_axis).collect::<Result<_, String>>()?;
    let n = all.iter().try_fold(1_usize, |n, values| n.checked_mul(values.len()).filter(|n| *n <= MAX_CONDITIONS));
    let n = n.ok_or_else(|| format!("a grid of more than {} conditions", group_digits(MAX_CONDITIONS as u64)))?;
    let condition = |mut i: usize| {
        let factor = |(axis, values): (&ParameterValues, &Vec<String>)| {
            let value = values[i % values.len()].clone();
            i /= values.len();
            (axis.path.trim().to_owned(), value)
        };
        let factors: Vec<(String, String)> = axes.iter().zip(&all).map(factor).collect();
        let name = factors.iter().map(|(path, value)| format!("{} {value}", short_name(params, path)));
        let changes = factors.iter().map(|(path, value)| ConditionChange::Set(path.clone(), value.clone()));
        Planned {
            name: name.collect::<Vec<_>>().join(", "),
            changes: changes.collect(),
            seeds: seeds.to_vec(),
            factors,
            element: None,
        }
    };
    Ok(if axes.is_empty() { vec![] } else { (0..n).map(condition).collect() })
}

/// Returns the last part of the path of a parameter; for an argument of a distribution, the last two parts.
fn short_name(params: &dyn Params, path: &str) -> String {
    let parts: Vec<&str> = path.rsplitn(3, '.').collect();
    match parts[..] {
        [argument, parameter, _] if path::find(params, path).is_err() => format!("{parameter} {argument}"),
        [last, ..] => last.to_owned(),
        [] => String::new(),
    }
}

fn silence_each(
    project: &Project,
    of: &ElementQuery,
    seeds: &[u64],
    elements: &Elements<'_>,
) -> Result<Vec<Planned>, String> {
    if !changes::can_silence(project.model.params()) {
        return Err(format!("{} has no intervention that silences elements", project.model.title()));
    }
    let set = match (of.set.trim(), elements.sets) {
        ("", sets) => sets.first(),
        (name, sets) => sets.iter().find(|set| set.name == name),
    };
    let Some(set) = set else {
        query::parse(&of.query).map_err(|wrong| wrong.of(&of.query))?;
        return match of.set.trim() {
            name if !name.is_empty() && !elements.sets.is_empty() => Err(format!("there is no set `{name}`")),
            _ => Ok(vec![]),
        };
    };
    let found = project.select(&of.query, set.name, elements).map_err(|why| format!("silence each: {why}"))?;
    if found.is_empty() {
        return Err(format!("silence each: `{}` selects no element", of.query));
    }
    let condition = |element: &u32| {
        let query = query::of_elements_by_id(&set.ids, &[*element]);
        Planned {
            name: format!("silence {}", unique_label(set, *element)),
            changes: vec![ConditionChange::Silence(query)],
            seeds: seeds.to_vec(),
            factors: vec![],
            element: Some((set.name.to_owned(), *element)),
        }
    };
    Ok(found.iter().map(condition).collect())
}

/// Returns the id of an element, or `#` and its index; names of elements may repeat.
fn unique_label(set: &crate::sim::ElementSet, element: u32) -> String {
    set.ids.get(element as usize).map_or_else(|| format!("#{element}"), u64::to_string)
}

fn unique(conditions: &[Planned]) -> Result<(), String> {
    let mut known = HashSet::new();
    match conditions.iter().find(|condition| !known.insert(condition.name.as_str())) {
        None => Ok(()),
        Some(twice) => {
            let n = conditions.iter().filter(|condition| condition.name == twice.name).count();
            Err(format!("{} are named `{}`; names are unique", counted(n, "condition", "conditions"), twice.name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        project::read,
        sim::{Column, ElementSet},
    };
    use std::sync::Arc;

    fn expanded(conditions: &str, more: &str) -> Result<Plan, String> {
        let text = format!(
            "(model: Spiking((interventions: [(name: \"drive\", target: \"all\")])), experiment: (conditions: [{conditions}], {more}))"
        );
        let (project, warnings) = read(&text).expect("a project");
        assert!(warnings.is_empty(), "{warnings:?}");
        let column = Column::from_texts("class", &["sweet", "bitter", "sweet"]);
        let set = ElementSet { name: "neurons", len: 3, columns: vec![column], ..ElementSet::default() };
        let sets = [Arc::new(set)];
        let experiment = project.experiment.clone().expect("an experiment");
        expand(&project, &experiment, &Elements { sets: &sets, ..Elements::default() })
    }

    fn names(plan: &Plan) -> Vec<&str> {
        plan.conditions.iter().map(|condition| condition.name.as_str()).collect()
    }

    #[test]
    fn rules_expand_in_order_after_the_control() {
        let rules = r#"Values((path: "interventions.drive.rate_hz", values: "50, 100")),
            Grid([(path: "lif.tau_m", values: "10, 20 ms"), (path: "lif.v_reset", values: "-60")]),
            SilenceEach((query: "class = sweet")),
            Condition((name: "off", changes: [Off("drive")], seeds: "7, 8, 9"))"#;
        let plan = expanded(rules, r#"seeds: "1..2""#).expect("a plan");
        let want = [
            "control",
            "rate_hz 50 Hz",
            "rate_hz 100 Hz",
            "tau_m 10 ms, v_reset -60 mV",
            "tau_m 20 ms, v_reset -60 mV",
            "silence #0",
            "silence #2",
            "off",
        ];
        assert_eq!((names(&plan), plan.control, plan.n_trials()), (want.to_vec(), 0, 2 * 7 + 3));
        assert_eq!(plan.conditions[3].factors[1], ("lif.v_reset".to_owned(), "-60 mV".to_owned()));
        assert_eq!(plan.conditions[6].element, Some(("neurons".to_owned(), 2)));
        assert_eq!(plan.conditions[6].changes, [ConditionChange::Silence("idx = 2".to_owned())]);
        assert_eq!(plan.conditions[7].seeds, [7, 8, 9]);
    }

    #[test]
    fn a_condition_may_be_the_control() {
        let rules = r#"Values((path: "lif.tau_m", values: "10, 20"))"#;
        let plan = expanded(rules, r#"control: "tau_m 20 ms""#).expect("a plan");
        assert_eq!((names(&plan), plan.control), (vec!["tau_m 10 ms", "tau_m 20 ms"], 1));
    }

    #[test]
    fn a_distribution_is_varied_as_a_whole_and_by_its_arguments() {
        let mut project = Project::default();
        project.set("network.inhibitory_count=normal(30, 2)", Path::new(".")).expect("a distribution");
        let axis = |path: &str, values: &str| ParameterValues { path: path.into(), values: values.into() };
        let g = "network.inhibitory_count";
        let whole = ConditionRule::Values(axis(g, "30, normal(30, 2) in 5..40"));
        let arguments =
            ConditionRule::Grid(vec![axis(&format!("{g}.mean"), "10..30/2"), axis(&format!("{g}.sd"), "1, 2")]);
        let experiment = Experiment { conditions: vec![whole, arguments], ..Experiment::default() };
        let plan = expand(&project, &experiment, &Elements::default()).expect("a plan");
        let want = [
            "control",
            "inhibitory_count 30",
            "inhibitory_count normal(30, 2) in 5..40",
            "inhibitory_count mean 10, inhibitory_count sd 1",
            "inhibitory_count mean 30, inhibitory_count sd 1",
            "inhibitory_count mean 10, inhibitory_count sd 2",
            "inhibitory_count mean 30, inhibitory_count sd 2",
        ];
        assert_eq!(names(&plan), want);
        let last = changes::changed(&project, &plan.conditions[3].changes, Path::new(".")).expect("a project");
        let (id, spec) = path::find(last.model.params(), g).expect("a parameter");
        assert_eq!(path::show(spec, &last.model.params().get(id)), "normal(10, 1)");
    }

    #[test]
    fn every_number_switch_and_choice_can_be_varied() {
        use crate::params::{Value, ValueType};
        for model in crate::kinds::Model::all() {
            let project = Project { model, ..Project::default() };
            let params = project.model.params();
            for id in params.ids().into_iter().filter(|id| params.is_shown(*id)) {
                let Some(spec) = params.spec(id) else { continue };
                let values = match (spec.kind, params.get(id)) {
                    (ValueType::Bool, _) => "off, on".to_owned(),
                    (ValueType::Choice(choices), _) => choices.iter().map(|c| c.name).collect::<Vec<_>>().join(", "),
                    (ValueType::OneOf(variants), _) => {
                        variants.iter().map(|variant| variant.choice.name).collect::<Vec<_>>().join("; ")
                    }
                    (_, value @ (Value::Int(_) | Value::Real(_) | Value::Distribution(_))) => path::show(spec, &value),
                    _ => continue,
                };
                let rule = ConditionRule::Values(ParameterValues { path: params.path(id), values });
                let experiment = Experiment { conditions: vec![rule], ..Experiment::default() };
                let plan = expand(&project, &experiment, &Elements::default());
                let n = plan.as_ref().map(|plan| plan.conditions.len() - 1).unwrap_or_default();
                let most = match spec.kind {
                    ValueType::Bool => 2,
                    ValueType::Choice(choices) => choices.len(),
                    kind => kind.variants().len().max(1),
                };
                assert_eq!(n, most, "{}: {plan:?}", params.path(id));
            }
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (rules, more, why) in [
            ("", r#"seeds: "x""#, "seeds: seed `x` is not a whole number"),
            ("", r#"control: "none""#, "control: there is no condition `none`"),
            (r#"Condition((name: ""))"#, "", "a condition has no name"),
            (r#"Condition((name: "a")), Condition((name: "a"))"#, "", "2 conditions are named `a`"),
            (r#"Condition((name: "a", changes: [Off("x")]))"#, "", "a: there is no intervention `x`"),
            (r#"Values((path: "lif.tau_n", values: "1"))"#, "", "did you mean `lif.tau_m`?"),
            (r#"Values((path: "lif.tau_m", values: "1e9"))"#, "", "lif.tau_m: "),
            (r#"SilenceEach((query: "class = sour"))"#, "", "silence each: "),
            (r#"SilenceEach((query: "class = sweet and class = bitter"))"#, "", "selects no element"),
            (r#"SilenceEach((query: "all", set: "glia"))"#, "", "there is no set `glia`"),
        ] {
            let said = expanded(rules, more).expect_err("a mistake");
            assert!(said.contains(why), "{rules}: {said}");
        }
    }
}
