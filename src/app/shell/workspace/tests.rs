use super::*;
use crate::app::document::{graph::edit::GraphEdit, layout::Target};
use crate::sim::{Shape, Tap};
use neuropil_test_support::temp::TempFolder;

fn schema() -> SimSchema {
    SimSchema { probes: crate::kinds::Model::default().probes(), ..SimSchema::default() }
}

#[test]
fn a_layout_survives_the_file() {
    let schema = schema();
    let mut w = Workspaces::default();
    assert_eq!(w.to_text(None), None);
    w.open(None, &schema);
    w.show_view("brain", &schema);
    w.duplicate();
    w.open_another("raster", &schema);
    let text = w.to_text(None).unwrap();
    let mut again = Workspaces::default();
    again.open(Some(&text), &schema);
    assert_eq!(
        again.titles().collect::<Vec<_>>(),
        ["Simulate", "Explore", "Profile", "Runs", "Experiment", "Simulate 2"]
    );
    assert!(again.now().now == w.now().now);
    assert!(again.now().panes().any(|p| p == "raster#2"));
    let mut other = Workspaces::default();
    other.open(Some("not a layout"), &schema);
    assert!(!other.now().now.tree.is_empty());
}

#[test]
fn positions_of_nodes_are_saved_before_a_simulation_is_built() {
    let templates = crate::kinds::Model::all().into_iter().flat_map(|model| model.templates());
    let mut w = Workspaces::default();
    let model = templates.filter_map(|template| crate::project::new_project(template.name)).find_map(|mut project| {
        GraphEdit::AddNode(None).apply(project.model.params_mut())?;
        Some(project.model)
    });
    w.graph.update(&model.expect("a kind with a graph"));
    let name = w.graph.graph.as_ref().expect("a graph").nodes[0].name.clone();
    w.graph.places.set(&name, [0.25, 0.75]);
    w.graph.places.set("removed", [0.5, 0.5]);
    let text = w.to_text(None).expect("positions");
    let mut again = Workspaces::default();
    again.read_places(Some(&text));
    assert_eq!(again.graph.places.of(&name), [0.25, 0.75]);
    assert_eq!(again.graph.places, w.graph.places.only([name.as_str()].into_iter()), "of present nodes");
    again.graph.places.set(&name, [0.5, 0.25]);
    again.open(Some(&text), &schema());
    assert!(!again.now().now.tree.is_empty(), "the default layout");
    assert_eq!(again.graph.places.of(&name), [0.5, 0.25], "moved since");
    assert!(w.to_text(Some(&again.to_text(None).expect("a layout"))).expect("both").contains("raster"));
}

#[test]
fn layout_changes_can_be_undone() {
    let schema = schema();
    let mut w = Workspaces::default();
    w.open(None, &schema);
    let before = w.now().now.tree.clone();
    w.open_another("raster", &schema);
    w.now_mut().commit();
    assert_eq!(w.steps(), (1, 0));
    w.travel(true, &schema);
    assert!(w.now().now.tree == before);
    assert!(!w.views.contains_key("raster#2"), "its view is dropped");
    w.travel(false, &schema);
    assert!(w.now().panes().any(|p| p == "raster#2"));
    w.show(2);
    assert_eq!(w.steps(), (0, 0), "every workspace has its own");
}

#[test]
fn layouts_are_saved_under_a_name() {
    let schema = schema();
    let temp = TempFolder::new("layouts");
    let folder = temp.join("made when it is needed");
    let mut w = Workspaces::default();
    w.open(None, &schema);
    w.open_another("raster", &schema);
    let layout = w.save_layout("Two rasters", false);
    let wanted = w.now().now.tree.clone();
    saved::write_to_folder(&folder, &layout).unwrap();
    std::fs::write(folder.join("broken.ron"), "no layout").unwrap();
    let mut other = Workspaces::default();
    other.open(None, &schema);
    other.layouts.user = saved::read_folder(&folder);
    assert_eq!(other.layouts.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(), ["Two rasters"]);
    other.show_page(Page::Runs);
    other.apply("Two rasters", &schema);
    assert!(other.page() == Page::Simulate && other.now().now.tree == wanted);
}

#[test]
fn a_layout_resets_to_three_targets() {
    let schema = schema();
    let mut w = Workspaces::default();
    w.open(None, &schema);
    let fits = w.now().now.tree.clone();
    w.open_another("raster", &schema);
    let text = w.to_text(None).unwrap();
    let mut w = Workspaces::default();
    w.open(Some(&text), &schema);
    let shipped = w.now().now.tree.clone();
    w.open_another("rates", &schema);
    w.mark_saved();
    let stored = w.now().now.tree.clone();
    w.open_another("rates", &schema);
    for (target, tree) in [(Target::Saved, stored), (Target::Project, shipped), (Target::Workspace, fits)] {
        w.reset_layout(target, &schema);
        assert!(w.now().now.tree == tree, "{target:?}");
    }
}

/// Creates the probes of a population with this number of slots.
fn population(slots: u32) -> SimSchema {
    use crate::{kinds::Model, sim::ElementSet};
    let model = Model::all().into_iter().find(|model| model.name() == "nuclei").expect("the kind");
    let set = ElementSet { name: "nuclei", len: slots, are_slots: true, ..ElementSet::default() };
    SimSchema { probes: model.probes(), sets: vec![std::sync::Arc::new(set)], ..SimSchema::default() }
}

#[test]
fn the_lineage_of_a_large_population_is_followed_only_on_screen() {
    for (slots, is_followed_hidden) in [(1_024, true), (262_144, false)] {
        let schema = population(slots);
        let follows = |w: &Workspaces| {
            let is_lineage = |tap: &Tap| matches!(schema.probes[usize::from(tap.probe)].shape, Shape::Lineage { .. });
            w.taps(&schema, &crate::app::document::selection::Selection::default()).iter().any(is_lineage)
        };
        let mut w = Workspaces::default();
        w.open(None, &schema);
        assert_eq!(follows(&w), is_followed_hidden, "{slots} slots, behind another tab");
        w.show_view("lineage", &schema);
        assert!(follows(&w), "{slots} slots, on screen");
        w.show_page(Page::Runs);
        assert_eq!(follows(&w), is_followed_hidden, "{slots} slots, in another workspace");
    }
}
