//! Data that rows of parameters are drawn from, and the filter of shown rows.

use super::{query::QuerySource, search::Words, table::ListTable};
use crate::{
    app::{
        document::{
            items::{Item, LeftChoices},
            live::Live,
        },
        kit::level::Level,
    },
    params::{
        Apply, ParamId, ParamSpec, ParamWarning, Params,
        link::{self, Link},
    },
};

/// Source of the rows of parameters.
pub struct Rows<'a> {
    pub params: &'a mut dyn Params,
    pub defaults: &'a dyn Params,
    /// Links to formulas; `None` if links are not possible.
    pub links: Option<&'a mut Vec<Link>>,
    /// Table of a list; `None` if there is none.
    pub table: Option<&'a mut ListTable>,
    /// Values of groups that were chosen before; `None` if they are not stored.
    pub left_choices: Option<&'a mut LeftChoices>,
    /// Parameters whose edits wait for a rebuild or a rewind.
    pub pending: &'a [ParamId],
    /// Data for completion and validation of queries; `None` without them.
    pub queries: Option<&'a QuerySource<'a>>,
    /// Simulation that receives the edits; `None` without one.
    pub live: Option<&'a Live>,
    /// Estimated cost of a rebuild; empty if unknown.
    pub cost: &'a str,
    /// Messages for the user.
    pub messages: Vec<(Level, String)>,
    /// Warnings about the present values.
    pub warnings: &'a [ParamWarning],
    /// Name of a parameter that is hidden because it has no meaning here; empty if no parameter is hidden.
    pub hidden: &'static str,
    /// Path parameter whose browse button was clicked; `None` without a click.
    pub browse: Option<ParamId>,
    /// Parameter that the user wants to vary in an experiment; `None` without a request.
    pub vary: Option<ParamId>,
    /// Path of a parameter, and a text below its row; `None` for no text.
    pub note: Option<(&'static str, String)>,
    /// Item of a list to which the panel scrolls; `None` for none.
    pub scroll_to_item: Option<Item>,
    /// Selected item of a list; `None` if no item is selected.
    pub marked: Option<Item>,
    /// Path of the parameter below which the button for the shape of the model is drawn; empty for none.
    pub shape_file: &'static str,
    /// Whether that button was clicked.
    pub uses_shape: bool,
    pub search: Words,
    pub only_changed: bool,
}

impl<'a> Rows<'a> {
    /// Creates rows of parameters that do not belong to a simulation, filtered by a text.
    pub fn plain(params: &'a mut dyn Params, defaults: &'a dyn Params, search: Words) -> Self {
        Self {
            params,
            defaults,
            links: None,
            table: None,
            left_choices: None,
            pending: &[],
            queries: None,
            live: None,
            cost: "",
            messages: vec![],
            warnings: &[],
            hidden: "",
            browse: None,
            vary: None,
            note: None,
            scroll_to_item: None,
            marked: None,
            shape_file: "",
            uses_shape: false,
            search,
            only_changed: false,
        }
    }
}

impl Rows<'_> {
    /// Returns when an edit takes effect in the running simulation; `None` if there is no simulation.
    pub fn apply(&self, id: ParamId) -> Option<Apply> {
        let live = self.live?;
        let declared = self.params.spec(id)?.apply;
        Some(if live.needs_rebuild(self.params, id) { Apply::Rebuild } else { declared })
    }

    /// Returns the link of a parameter; `None` if it has none.
    pub fn link(&self, id: ParamId) -> Option<&Link> {
        link::of(self.params, self.links.as_deref()?, id)
    }

    /// Returns the text below the row of a parameter; `None` if there is none.
    pub fn note(&self, name: &str) -> Option<&str> {
        self.note.as_ref().filter(|(path, _)| *path == name).map(|(_, text)| &text[..])
    }

    pub fn is_changed(&self, id: ParamId) -> bool {
        self.params.get(id) != self.defaults.get(id)
    }

    /// Whether a parameter names a set of a model that has at most one.
    pub fn has_no_choice(&self, id: ParamId) -> bool {
        let is_set = self.params.spec(id).is_some_and(|spec| spec.role == crate::params::Role::OverSet);
        let exists = usize::from(id.item) < self.params.len(id.group);
        is_set && !(exists && self.is_changed(id)) && self.queries.is_none_or(|queries| queries.schema.sets.len() < 2)
    }

    /// Whether a row passes the filters.
    pub fn is_wanted(&self, id: ParamId) -> bool {
        let is_hidden = !self.hidden.is_empty() && self.params.spec(id).is_some_and(|s| s.name == self.hidden);
        let is_hidden = is_hidden || self.has_no_choice(id);
        if is_hidden || !self.params.is_shown(id) || (self.only_changed && !self.is_changed(id)) {
            return false;
        }
        let group = self.params.groups().get(usize::from(id.group));
        let is_found =
            |spec: &ParamSpec| group.is_some_and(|group| self.search.fit(group, spec, &self.params.path(id)));
        self.search.is_empty() || self.params.spec(id).is_some_and(is_found)
    }

    pub fn ids(&self, group: usize, item: usize) -> Vec<ParamId> {
        let fields = self.params.groups()[group].in_order();
        let ids = fields.map(|f| ParamId { item: item as u16, ..ParamId::of(group, f) });
        ids.filter(|id| self.params.has(*id)).collect()
    }
}
