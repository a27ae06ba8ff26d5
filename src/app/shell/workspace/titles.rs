//! Titles of workspaces and names of views.

use super::{Workspaces, tiles};
use crate::{
    app::{document::layout::Page, views},
    engine::SimSchema,
};

/// Tab that is being renamed, and the typed title.
#[derive(Default)]
pub struct TabRename {
    pub at: Option<usize>,
    pub text: String,
}

impl Workspaces {
    /// Iterates over the titles of the workspaces, in tab order.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|w| w.now.title.as_str())
    }

    /// Iterates over the page and title of each workspace and whether it is in front, in tab order.
    pub fn tabs(&self) -> impl Iterator<Item = (Page, &str, bool)> {
        let in_front = (!self.is_home).then_some(self.active);
        self.list.iter().enumerate().map(move |(at, w)| (w.now.page, w.now.title.as_str(), in_front == Some(at)))
    }

    /// Renames a workspace, unless another one has the title.
    pub fn set_title(&mut self, at: usize, title: String) {
        if self.titles().all(|other| other != title)
            && let Some(workspace) = self.list.get_mut(at)
        {
            workspace.now.title = title;
        }
    }

    /// Returns the title of a view; its name if it is unknown.
    pub fn view_title(&self, schema: &SimSchema, name: &str) -> String {
        let sample = self.samples.iter().find(|v| v.declaration().name == name);
        sample.map_or_else(|| name.to_owned(), |v| v.title(schema))
    }

    /// Iterates over the names of the views that menus offer.
    pub fn view_names(&self, schema: &SimSchema) -> impl Iterator<Item = &'static str> {
        views::ALL.iter().filter(|view| views::is_offered(view, schema)).map(|view| view.name)
    }

    /// Iterates over the names of the views that have a panel and can have another one.
    pub fn repeatable_views(&self) -> impl Iterator<Item = &'static str> {
        let views = views::ALL.iter().filter(|view| view.can_repeat).map(|view| view.name);
        views.filter(|name| self.list.iter().any(|w| w.panel_of(name).is_some()))
    }

    /// Returns the label of the command that opens another panel of a view: `Another raster`.
    pub fn another_title(&self, schema: &SimSchema, name: &str) -> String {
        format!("Another {}", tiles::lower(&self.view_title(schema, name)))
    }
}
