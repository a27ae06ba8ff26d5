//! Applies the changes of a condition to a project.

use crate::{
    params::{Change, ParamId, Params, Role, Value, ValueType, interventions, interventions::Intervention, path},
    project::{Project, experiment::ConditionChange},
};
use std::path::Path;

/// Returns the project under a condition. Relative paths in values start from `base`.
///
/// # Errors
/// Fails with a sentence if a parameter or an intervention does not exist, a value is not accepted, or the kind has no silencing.
pub fn changed(project: &Project, changes: &[ConditionChange], base: &Path) -> Result<Project, String> {
    let mut new = project.clone();
    changes.iter().try_for_each(|change| apply(&mut new, change, base))?;
    new.follow_links();
    Ok(new)
}

/// Returns the changes of parameters that lead from a project to that under a condition.
pub fn differences(from: &Project, to: &Project) -> Vec<Change> {
    to.model.params().changes_since(from.model.params())
}

fn apply(project: &mut Project, change: &ConditionChange, base: &Path) -> Result<(), String> {
    match change {
        ConditionChange::Set(path, value) => {
            let is_of_run = path.starts_with("run.") || ["seed", "name"].contains(&path.trim());
            if is_of_run {
                return Err(format!("`{path}` cannot differ between conditions; only parameters of the kind can"));
            }
            project.set(&format!("{path}={value}"), base).map_err(|e| e.to_string())
        }
        ConditionChange::On(name) => give(project, name, Role::Enabled, Value::Bool(true)),
        ConditionChange::Off(name) => give(project, name, Role::Enabled, Value::Bool(false)),
        ConditionChange::Target(name, target) => give(project, name, Role::Target, Value::Text(target.clone())),
        ConditionChange::Silence(query) => silence(project, query),
    }
}

/// Sets the field with a role of an intervention, which is named by its name or its index. Fails if there is no such
/// intervention.
fn give(project: &mut Project, name: &str, role: Role, value: Value) -> Result<(), String> {
    let params = project.model.params();
    let all: Vec<Intervention<'_>> = Intervention::all(params).collect();
    let by_index = || name.trim().parse::<usize>().ok().and_then(|i| all.get(i));
    let Some(found) = all.iter().find(|v| v.text(Role::Name) == name.trim()).or_else(by_index) else {
        let known: Vec<String> = all.iter().map(Intervention::label).collect();
        let known = if known.is_empty() { "the project has none".to_owned() } else { known.join(", ") };
        return Err(format!("there is no intervention `{name}`; interventions: {known}"));
    };
    let Some(id) = found.id(role) else { return Err(format!("the intervention `{name}` has no such field")) };
    set(project.model.params_mut(), id, value)
}

/// Adds an intervention that silences the output of its targets from the start. It is the last of the list, so that the draws of
/// the other interventions keep their addresses. Fails if the kind has no silencing.
fn silence(project: &mut Project, query: &str) -> Result<(), String> {
    let title = project.model.title();
    let params = project.model.params_mut();
    let silencing = silencing(params).ok_or_else(|| format!("{title} has no intervention that silences elements"))?;
    let (group, effect) = silencing;
    let item = params.len(group as u8);
    if item >= usize::from(u16::MAX) || !params.push(group as u8) {
        return Err("there is no room for another intervention".to_owned());
    }
    for (role, value) in [
        (Role::Name, Value::Text("silenced by the condition".to_owned())),
        (Role::Enabled, Value::Bool(true)),
        (Role::Effect, Value::Choice(effect)),
        (Role::Target, Value::Text(query.to_owned())),
    ] {
        if let Some(field) = interventions::field(params, group, role) {
            set(params, ParamId { item: item as u16, ..ParamId::of(group, field) }, value)?;
        }
    }
    Ok(())
}

/// Returns the list of interventions, and the effect that silences the output of its targets; without such an effect, the one
/// that silences output and input. `None` if the kind has neither.
fn silencing(params: &dyn Params) -> Option<(usize, u16)> {
    let group = interventions::list(params, Role::Interventions)?;
    let effect = interventions::field(params, group, Role::Effect)?;
    let ValueType::Choice(choices) = params.spec(ParamId::of(group, effect))?.kind else { return None };
    let with = |role: Role| choices.iter().position(|choice| choice.role == role);
    with(Role::SilencesOutput).or_else(|| with(Role::Silences)).map(|i| (group, i as u16))
}

/// Whether a kind can silence elements.
pub fn can_silence(params: &dyn Params) -> bool {
    silencing(params).is_some()
}

/// Whether the silencing of a kind suppresses output and leaves the input of its targets.
pub fn silences_output_alone(project: &Project) -> bool {
    let params = project.model.params();
    let effect = |(group, effect): (usize, u16)| {
        let field = interventions::field(params, group, Role::Effect)?;
        let ValueType::Choice(choices) = params.spec(ParamId::of(group, field))?.kind else { return None };
        choices.get(usize::from(effect))
    };
    silencing(params).and_then(effect).is_some_and(|effect| effect.role == Role::SilencesOutput)
}

fn set(params: &mut dyn Params, id: ParamId, value: Value) -> Result<(), String> {
    let change = Change { id, value };
    if params.set(&change) { Ok(()) } else { Err(format!("{}: a value of another type", params.path(id))) }
}

/// Describes a change: `lif.tau_m = 10 ms`, `drive taste off`, `silence idx = 5`.
pub fn describe(project: &Project, change: &ConditionChange) -> String {
    match change {
        ConditionChange::Set(path, value) => match path::find(project.model.params(), path) {
            Ok((_, spec)) => match path::parse_value(spec, value) {
                Ok(value) => format!("{path} = {}", path::show(spec, &value)),
                Err(_) => format!("{path} = {value}"),
            },
            Err(_) => format!("{path} = {value}"),
        },
        ConditionChange::On(name) => format!("{name} on"),
        ConditionChange::Off(name) => format!("{name} off"),
        ConditionChange::Target(name, target) => format!("{name} targets {target}"),
        ConditionChange::Silence(query) => format!("silence {query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::read;

    fn project() -> Project {
        let text = r#"(model: Spiking((interventions: [(name: "drive", effect: Poisson, target: "idx = 1"), (name: "late", enabled: false)])))"#;
        read(text).expect("a project").0
    }

    fn after(changes: &[ConditionChange]) -> Result<Project, String> {
        changed(&project(), changes, Path::new("."))
    }

    #[test]
    fn changes_apply_in_order_and_to_a_copy() {
        use ConditionChange::*;
        let new = after(&[
            Set("interventions.drive.rate_hz".into(), "40 Hz".into()),
            Off("drive".into()),
            On("1".into()),
            Target("late".into(), "idx = 7".into()),
            Silence("idx = 3".into()),
        ])
        .expect("changes");
        let all: Vec<Intervention<'_>> = Intervention::all(new.model.params()).collect();
        assert_eq!(all.len(), 3);
        assert_eq!((all[0].is_enabled(), all[1].is_enabled()), (false, true));
        assert_eq!(all[1].text(Role::Target), "idx = 7");
        assert_eq!((all[2].role(), all[2].text(Role::Target).as_str()), (Role::SilencesOutput, "idx = 3"));
        assert_eq!(
            path::show(
                path::find(new.model.params(), "interventions.0.rate_hz").expect("a path").1,
                &Value::Real(40.0)
            ),
            "40 Hz"
        );
        let changes = differences(&project(), &new);
        assert_eq!(changes.len(), 1, "a list of another length is one change");
        assert!(differences(&project(), &after(&[]).expect("nothing")).is_empty());
    }

    #[test]
    fn mistakes_are_named() {
        use ConditionChange::*;
        for (change, why) in [
            (Off("driv".to_owned()), "there is no intervention `driv`; interventions: drive, late"),
            (Set("lif.tau_n".into(), "3".into()), "did you mean `lif.tau_m`?"),
            (Set("run.duration_ms".into(), "3".into()), "cannot differ between conditions"),
            (Set("seed".into(), "3".into()), "cannot differ between conditions"),
        ] {
            let said = after(std::slice::from_ref(&change)).expect_err("a mistake");
            assert!(said.contains(why), "{change:?}: {said}");
        }
        let nuclei = Project { model: crate::kinds::Model::by_name("nuclei").expect("a kind"), ..Project::default() };
        let said = changed(&nuclei, &[Silence("all".into())], Path::new("."));
        assert_eq!(said.is_err(), !can_silence(nuclei.model.params()), "{said:?}");
    }
}
