//! Layouts in files: the workspaces of a project, and named layouts.

use super::{Pane, Workspaces, arrangement::Arrangement, view_of};
use crate::{
    app::{
        document::{color_scales::ColorScales, graph::places::Places, layout::Target, saved_view::SavedView},
        views,
    },
    data::io_reason,
    engine::SimSchema,
    project,
};
use egui_tiles::{Tile, Tree};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Layout with a name.
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Layout {
    pub name: String,
    pub arrangement: Arrangement,
}

#[derive(Clone, Default)]
pub struct Layouts {
    /// Layouts stored in the project.
    pub project: Vec<Layout>,
    /// Layouts stored in the user's folder.
    pub user: Vec<Layout>,
}

impl Layouts {
    /// Iterates over all layouts, those of the project first.
    pub fn iter(&self) -> impl Iterator<Item = &Layout> {
        self.project.iter().chain(&self.user)
    }
}

/// Window state that a project stores.
#[derive(Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Saved {
    /// Index of the active workspace.
    pub active: usize,
    pub workspaces: Vec<Arrangement>,
    pub layouts: Vec<Layout>,
    /// Ranges and colormaps of variables.
    #[serde(rename = "tints", skip_serializing_if = "ColorScales::is_empty")]
    pub color_scales: ColorScales,
    /// Saved camera positions of spatial views.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<SavedView>,
    /// Positions of the nodes of the graph that the project describes.
    #[serde(skip_serializing_if = "Places::is_empty")]
    pub nodes: Places,
    /// Choices of probe and arguments, by panel.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub choices: BTreeMap<Pane, String>,
}

/// Reads the stored window state, without layouts that have no known view. `None` if it is unreadable or no workspace is left.
pub fn read(text: &str) -> Option<Saved> {
    let mut saved: Saved = project::from_ron(text).ok()?;
    saved.workspaces.retain(|w| is_known(&w.tree));
    saved.layouts.retain(|l| is_known(&l.arrangement.tree));
    (!saved.workspaces.is_empty()).then_some(saved)
}

fn is_known(tree: &Tree<Pane>) -> bool {
    tree.root().is_some()
        && tree.tiles.tiles().any(|t| matches!(t, Tile::Pane(p) if views::find(super::view_of(p)).is_some()))
}

/// Reads the user's named layouts. Unreadable files are skipped.
pub fn read_folder(folder: &Path) -> Vec<Layout> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "ron")).collect();
    files.sort();
    let read = |file: PathBuf| {
        let layout: Layout = project::from_ron(&std::fs::read_to_string(file).ok()?).ok()?;
        is_known(&layout.arrangement.tree).then_some(layout)
    };
    files.into_iter().filter_map(read).collect()
}

/// Writes a named layout to the user's folder. Returns the file, or the reason why it could not be written.
pub fn write_to_folder(folder: &Path, layout: &Layout) -> Result<PathBuf, String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {}", folder.display(), io_reason(&e)))?;
    let plain = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let file = folder.join(layout.name.chars().map(plain).collect::<String>()).with_extension("ron");
    let text = project::to_ron(layout).map_err(|e| e.to_string())?;
    project::write_atomic(&file, text.as_bytes(), false).map_err(|e| e.to_string())?;
    Ok(file)
}

impl Workspaces {
    fn saved(&self) -> Saved {
        Saved {
            active: self.active,
            workspaces: self.list.iter().filter(|w| !w.now.tree.is_empty()).map(|w| w.now.clone()).collect(),
            layouts: self.layouts.project.clone(),
            color_scales: self.color_scales.clone(),
            views: self.saved_views.clone(),
            nodes: self.places(),
            choices: self.views.iter().filter_map(|(pane, view)| Some((pane.clone(), view.choice()?))).collect(),
        }
    }

    /// Returns the window state as text for the project. Before a simulation is loaded, this is the layout that was opened with
    /// the project and the positions of nodes; `None` if there is neither.
    pub fn to_text(&self, opened: Option<&str>) -> Option<String> {
        if self.list.iter().any(|w| w.panes().any(|pane| views::needs_simulation(view_of(pane)))) {
            return project::to_ron(&self.saved()).ok();
        }
        let opened = opened.and_then(|text| project::from_ron::<Saved>(text).ok());
        if opened.is_none() && self.graph.places.is_empty() {
            return None;
        }
        project::to_ron(&Saved { nodes: self.places(), ..opened.unwrap_or_default() }).ok()
    }

    /// Returns the positions of the present nodes.
    fn places(&self) -> Places {
        let nodes = self.graph.graph.iter().flat_map(|graph| &graph.nodes);
        self.graph.places.only(nodes.map(|node| node.name.as_str()))
    }

    /// Reads the positions of nodes from the saved window state, unless positions are known.
    pub fn read_places(&mut self, saved: Option<&str>) {
        if self.graph.places.is_empty()
            && let Some(saved) = saved.and_then(|text| project::from_ron::<Saved>(text).ok())
        {
            self.graph.places = saved.nodes;
        }
    }

    /// Records the present layout as the last saved one.
    pub fn mark_saved(&mut self) {
        self.stored = Some(self.saved());
    }

    /// Whether there is a layout to reset to.
    pub fn can_reset(&self, target: Target) -> bool {
        self.arrangement_of(target, &SimSchema::default()).is_some()
    }

    fn arrangement_of(&self, target: Target, schema: &SimSchema) -> Option<Arrangement> {
        let now = &self.now().now;
        let from = |saved: &Option<Saved>| {
            let list = &saved.as_ref()?.workspaces;
            list.iter().find(|w| w.title == now.title).or_else(|| list.iter().find(|w| w.page == now.page)).cloned()
        };
        match target {
            Target::Workspace => Some(super::arrangement(now.page, schema)),
            Target::Project => from(&self.opened),
            Target::Saved => from(&self.stored),
        }
    }

    /// Resets the layout of the active workspace, as one undo step.
    pub fn reset_layout(&mut self, target: Target, schema: &SimSchema) {
        if let Some(then) = self.arrangement_of(target, schema) {
            self.now_mut().replace(then.tree);
            self.sync_views(schema);
        }
    }

    /// Adds the layout of the active workspace to the named layouts of the project or of the user, and returns it.
    pub fn save_layout(&mut self, name: &str, in_project: bool) -> Layout {
        let layout = Layout { name: name.to_owned(), arrangement: self.now().now.clone() };
        let list = if in_project { &mut self.layouts.project } else { &mut self.layouts.user };
        list.retain(|l| l.name != name);
        list.push(layout.clone());
        layout
    }

    /// Applies a named layout in the workspace of its page.
    pub fn apply(&mut self, name: &str, schema: &SimSchema) {
        let Some(layout) = self.layouts.iter().find(|l| l.name == name).cloned() else { return };
        if self.page() != layout.arrangement.page {
            self.show_page(layout.arrangement.page);
        }
        self.is_home = false;
        self.now_mut().replace(layout.arrangement.tree);
        self.sync_views(schema);
    }
}
