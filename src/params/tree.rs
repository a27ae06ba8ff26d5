//! Fields of a parameter tree: groups and lists of groups.

use super::{Change, ParamGroup, ParamId, ParamSpec, Value};

/// Field of a [`param_tree!`](crate::param_tree!): a group or a list of groups.
pub trait TreeNode {
    /// Parameters of the group.
    const SPECS: &'static [ParamSpec];
    /// Whether the field is a list.
    const LIST: bool;
    /// Returns the number of items.
    fn count(&self) -> usize;
    /// Reads a parameter, see [`Params::get`](super::Params::get).
    fn read(&self, id: ParamId) -> Value;
    /// Writes a parameter, see [`Params::set`](super::Params::set).
    fn write(&mut self, change: &Change) -> bool;
    /// Whether a parameter applies, see [`Params::is_shown`](super::Params::is_shown).
    fn shown(&self, id: ParamId) -> bool;
    /// Appends an item, see [`Params::push`](super::Params::push).
    fn append(&mut self) -> bool;
}

impl<G: ParamGroup> TreeNode for G {
    const SPECS: &'static [ParamSpec] = G::SPECS;
    const LIST: bool = false;
    fn count(&self) -> usize {
        1
    }
    fn read(&self, id: ParamId) -> Value {
        self.get(id.field.into())
    }
    fn write(&mut self, change: &Change) -> bool {
        self.set(change.id.field.into(), &change.value)
    }
    fn shown(&self, id: ParamId) -> bool {
        self.is_shown(id.field.into())
    }
    fn append(&mut self) -> bool {
        false
    }
}

impl<G: ParamGroup> TreeNode for Vec<G> {
    const SPECS: &'static [ParamSpec] = G::SPECS;
    const LIST: bool = true;
    fn count(&self) -> usize {
        self.len()
    }
    fn read(&self, id: ParamId) -> Value {
        if id.field == ParamId::WHOLE {
            return Value::Rows(self.iter().map(G::row).collect());
        }
        self.get(usize::from(id.item)).map_or_else(|| G::default().get(id.field.into()), |g| g.get(id.field.into()))
    }
    fn write(&mut self, change: &Change) -> bool {
        if let (ParamId::WHOLE, Value::Rows(rows)) = (change.id.field, &change.value) {
            let Some(items) = rows.iter().map(|r| G::from_row(r)).collect::<Option<Self>>() else { return false };
            *self = items;
            return true;
        }
        self.get_mut(usize::from(change.id.item)).is_some_and(|g| g.set(change.id.field.into(), &change.value))
    }
    fn shown(&self, id: ParamId) -> bool {
        self.get(usize::from(id.item)).is_some_and(|g| g.is_shown(id.field.into()))
    }
    fn append(&mut self) -> bool {
        self.push(G::default());
        true
    }
}
