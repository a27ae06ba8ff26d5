//! The list of views.

use super::{
    View, bands, circle, compare, connectivity, declaration::ViewDeclaration, distribution, experiment, filter_panel,
    graph_editor, hist, lanes, lineage, links, matrix, phases, plot, profile, raster, runs, scatter,
    single_probe::ProbeContents as _, statistics, sweep, table, texts, token_text, view_3d, weights,
};
use crate::{app::document::layout::Page, engine::SimSchema, sim::Shape};

/// The declarations of all views, in the order of menus.
pub static ALL: [&ViewDeclaration; 34] = [
    &view_3d::View3d::DECLARATION,
    &raster::Raster::DECLARATION,
    &plot::Rates::DECLARATION,
    &plot::Traces::DECLARATION,
    &profile::Steps::DECLARATION,
    &profile::Timeline::DECLARATION,
    &profile::Kernels::DECLARATION,
    &profile::Roofline::DECLARATION,
    &profile::Memory::DECLARATION,
    &profile::Numerics::DECLARATION,
    &table::Table::DECLARATION,
    &hist::Histogram::DECLARATION,
    &filter_panel::Panel::DECLARATION,
    &connectivity::ConnectivityView::DECLARATION,
    &graph_editor::GraphEditor::DECLARATION,
    &weights::Weights::DECLARATION,
    &statistics::Statistics::DECLARATION,
    &matrix::Matrix::DECLARATION,
    &links::Links::DECLARATION,
    &distribution::Distribution::DECLARATION,
    &texts::Texts::DECLARATION,
    &token_text::TokenText::DECLARATION,
    &runs::Runs::DECLARATION,
    &compare::Compare::DECLARATION,
    &sweep::SweepPlot::DECLARATION,
    &experiment::ExperimentEditor::DECLARATION,
    &experiment::EffectTable::DECLARATION,
    &experiment::EffectPlot::DECLARATION,
    &circle::Circle::DECLARATION,
    &scatter::Scatter::DECLARATION,
    &phases::Phases::DECLARATION,
    &lineage::Lineage::DECLARATION,
    &bands::Bands::DECLARATION,
    &lanes::Lanes::DECLARATION,
];

/// Returns the declaration of a view by its stable name; `None` if no view has this name.
pub fn find(name: &str) -> Option<&'static ViewDeclaration> {
    ALL.into_iter().find(|view| view.name == name)
}

/// Creates a view by its stable name; `None` if no view has this name.
pub fn by_name(name: &str) -> Option<Box<dyn View>> {
    find(name).map(|view| (view.create)())
}

/// Returns the view that the project tree opens for a probe of a shape.
pub fn showing(shape: &Shape) -> &'static ViewDeclaration {
    match shape {
        Shape::Series { of: "" } => &plot::Rates::DECLARATION,
        Shape::Series { .. } => &plot::Traces::DECLARATION,
        Shape::Spikes { .. } => &raster::Raster::DECLARATION,
        Shape::Field { .. } => &hist::Histogram::DECLARATION,
        Shape::Matrix { .. } => &matrix::Matrix::DECLARATION,
        Shape::Lineage { .. } => &lineage::Lineage::DECLARATION,
        Shape::Text | Shape::Samples => &texts::Texts::DECLARATION,
        Shape::Histogram { .. } => &distribution::Distribution::DECLARATION,
        Shape::Tokens { .. } => &token_text::TokenText::DECLARATION,
        Shape::Links { .. } => &links::Links::DECLARATION,
    }
}

/// Returns the main page of a view; `None` if it is unknown.
pub fn page_of(name: &str) -> Option<Page> {
    find(name)?.pages.first().copied()
}

/// Whether a view shows nothing without a simulation; an unknown view does not.
pub fn needs_simulation(name: &str) -> bool {
    !page_of(name).is_some_and(Page::needs_no_simulation)
}

/// Whether a menu offers a view: all before a simulation is built, then those whose data it publishes.
pub fn is_offered(view: &ViewDeclaration, schema: &SimSchema) -> bool {
    schema.probes.is_empty() || (view.fits)(schema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_view_is_found_by_its_unique_name() {
        assert_eq!(ALL.iter().map(|view| view.name).collect::<BTreeSet<_>>().len(), ALL.len());
        for view in ALL {
            assert!(find(view.name).is_some_and(|found| std::ptr::eq(found, view)), "{}", view.name);
            assert_eq!(by_name(view.name).expect("a view").declaration().name, view.name);
        }
        assert!(find("nothing").is_none());
    }

    #[test]
    fn every_declaration_has_a_help_text_and_an_icon() {
        for view in ALL {
            assert!(view.help.starts_with("# "), "{}", view.name);
            assert!(!view.icon.is_empty() && !view.title.is_empty() && !view.pages.is_empty(), "{}", view.name);
        }
    }
}
