//! Checks a parameter change against its declaration, for every kind.

use crate::{
    num::digits::counted,
    params::{Apply, Change, ParamId, ParamSpec, Params, Value, one_of::VariantSpec},
    sim::SimError,
};

/// Effect of a parameter change on a running simulation.
pub enum Edit<P> {
    /// The value is unchanged; a different value would need a rebuild.
    Same,
    /// The simulation has to be rebuilt.
    Rebuild,
    /// The new parameters take effect from the next step on.
    Live(Box<P>),
}

/// Checks a change against its declaration, or a change of a whole list against the declarations of all its items. Fails if the
/// parameter does not exist, or the value has another type or is out of range.
pub fn check_change<P: Params + Clone + PartialEq>(params: &P, change: &Change) -> Result<Edit<P>, SimError> {
    let mut new = Box::new(params.clone());
    if !new.set(change) {
        return Err(SimError::Input(misfit(params, change)));
    }
    let values = values(&*new, change);
    for (id, spec, value) in &values {
        if let Some(why) = spec.refusal(value) {
            let path = new.path(*id);
            return Err(SimError::Input(match value {
                Value::Real(_) | Value::Int(_) => format!("{path} takes {} to {}", spec.hard.0, spec.hard.1),
                _ => format!("{path}: {why}"),
            }));
        }
    }
    // The fields do not reveal that a list became longer or shorter.
    let lengths = [params, &*new].map(|params| params.len(change.id.group));
    let resized = lengths[0] != lengths[1] && fields(&*new, change.id.group).iter().any(is_fixed);
    if resized || values.iter().any(|(id, spec, value)| needs_rebuild(spec, &params.get(*id), value)) {
        return Ok(Edit::Rebuild);
    }
    let is_same = *new == *params && values.iter().any(|(_, spec, _)| is_fixed(spec));
    Ok(if is_same { Edit::Same } else { Edit::Live(new) })
}

/// Whether a running simulation can apply all changes, one after the other, without a rebuild. Fails as [`check_change`] does.
pub fn are_live<P: Params + Clone + PartialEq>(params: &P, changes: &[Change]) -> Result<bool, SimError> {
    let mut now = params.clone();
    for change in changes {
        match check_change(&now, change)? {
            Edit::Same => {}
            Edit::Live(new) => now = *new,
            Edit::Rebuild => return Ok(false),
        }
    }
    Ok(true)
}

/// Whether a running simulation cannot apply a value by itself; a path is applied with the file that it names.
const fn is_fixed(spec: &ParamSpec) -> bool {
    matches!(spec.apply, Apply::Rebuild | Apply::Data)
}

/// Whether a change from the old to the new value needs a rebuild. For a sum type, this depends on its parameters if the same
/// group is chosen.
fn needs_rebuild(spec: &ParamSpec, old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Variant(was, old), Value::Variant(is, new)) if was == is => {
            let params = spec.kind.variants().get(usize::from(*is)).map_or(&[][..], VariantSpec::fields);
            params.iter().zip(old.iter().zip(new)).any(|(spec, (old, new))| needs_rebuild(spec, old, new))
        }
        _ => is_fixed(spec) && old != new,
    }
}

/// Returns the fields that a change sets, with their new values.
fn values(new: &dyn Params, change: &Change) -> Vec<(ParamId, &'static ParamSpec, Value)> {
    let group = usize::from(change.id.group);
    let Some(spec) = new.groups().get(group) else { return vec![] };
    let ids = match change.id.field {
        ParamId::WHOLE => {
            let item = |item| (0..spec.fields().len()).map(move |f| ParamId { item, ..ParamId::of(group, f) });
            (0..new.len(change.id.group) as u16).flat_map(item).collect()
        }
        _ => vec![change.id],
    };
    ids.into_iter().filter_map(|id| Some((id, new.spec(id)?, new.get(id)))).collect()
}

/// Returns the parameter declarations of a group.
fn fields(params: &dyn Params, group: u8) -> &'static [ParamSpec] {
    params.groups().get(usize::from(group)).map_or(&[], |spec| spec.fields())
}

/// Formats the message about a change that does not match the parameters.
fn misfit(params: &dyn Params, change: &Change) -> String {
    let Some(group) = params.groups().get(usize::from(change.id.group)) else {
        return "there is no such group of parameters".to_owned();
    };
    let n = params.len(change.id.group);
    match params.spec(change.id) {
        None if change.id.field == ParamId::WHOLE => format!("{}: the list has items of another form", group.name),
        None => format!("{}: there is no such parameter", group.name),
        Some(spec) if group.list && usize::from(change.id.item) >= n => {
            let items = counted(n, "item", "items");
            format!("{}.{}.{}: the list has {items}", group.name, change.id.item, spec.name)
        }
        Some(_) => format!("{}: a value of another type", params.path(change.id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Model;

    fn model() -> Model {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../projects/balanced.ron");
        crate::project::open(&path).expect("a project").0.model
    }

    #[test]
    fn a_list_sent_whole_is_checked_item_by_item() {
        let Model::Spiking(params) = model() else { panic!("a spiking model") };
        let params = *params;
        let mut bad = params.clone();
        assert!(!bad.interventions.is_empty());
        let change = Change {
            id: ParamId::list(params.groups().iter().position(|g| g.name == "interventions").unwrap()),
            value: Value::Bool(true),
        };
        assert!(check_change(&params, &change).is_err_and(|e| e.to_string().contains("another form")));
        bad.interventions[0].rate_hz = -1.0;
        let change = Change { value: bad.get(change.id), ..change };
        let error = check_change(&params, &change).err().expect("a negative rate").to_string();
        assert!(error.starts_with("interventions.0.rate_hz takes 0 to"), "{error}");
    }

    #[test]
    fn errors_are_sentences() {
        let Model::Spiking(params) = model() else { panic!("a spiking model") };
        let params = *params;
        let said = |id, value| check_change(&params, &Change { id, value }).err().expect("an error").to_string();
        assert_eq!(said(ParamId::of(99, 0), Value::Bool(true)), "there is no such group of parameters");
        let far = ParamId { item: 40, ..ParamId::of(params.groups().iter().position(|g| g.list).unwrap(), 0) };
        assert!(said(far, Value::Text(String::new())).contains("the list has"), "{}", said(far, Value::Bool(true)));
        assert!(said(ParamId::of(0, 0), Value::Rows(vec![])).ends_with(": a value of another type"));
    }
}
