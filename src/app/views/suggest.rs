//! Default layouts: the views that fit a simulation, in the order in which a page arranges them.

use super::{
    bands::Bands, circle::Circle, declaration::ViewDeclaration, graph_editor::GraphEditor, lineage::Lineage,
    matrix::Matrix, plot::Rates, raster::Raster, registry::ALL, scatter::Scatter, single_probe::ProbeContents as _,
    texts::Texts, token_text::TokenText, view_3d::View3d,
};
use crate::{
    app::document::{features::has_probe, layout::Page},
    engine::SimSchema,
    sim::Shape,
};

/// View that a page arranges before the others, under a condition.
struct First {
    page: Page,
    view: &'static ViewDeclaration,
    when: fn(&SimSchema) -> bool,
}

/// Views that a page arranges before the others; the first that fits is the large one.
const FIRST: [First; 11] = {
    const fn first(page: Page, view: &'static ViewDeclaration, when: fn(&SimSchema) -> bool) -> First {
        First { page, view, when }
    }
    [
        first(Page::Simulate, &Rates::DECLARATION, writes_texts),
        first(Page::Simulate, &Lineage::DECLARATION, writes_texts),
        first(Page::Simulate, &Texts::DECLARATION, writes_texts),
        first(Page::Simulate, &View3d::DECLARATION, |schema| writes_texts(schema) && has_generations(schema)),
        first(Page::Simulate, &TokenText::DECLARATION, writes_texts),
        first(Page::Simulate, &Matrix::DECLARATION, writes_texts),
        first(Page::Simulate, &Circle::DECLARATION, |_| true),
        first(Page::Simulate, &Scatter::DECLARATION, has_phases),
        first(Page::Explore, &Scatter::DECLARATION, has_phases),
        first(Page::Explore, &GraphEditor::DECLARATION, |_| true),
        first(Page::Simulate, &Rates::DECLARATION, has_phases),
    ]
};

/// Pairs of views whose first is arranged before the second, although menus list it after it.
const BEFORE: [[&ViewDeclaration; 2]; 2] =
    [[&Lineage::DECLARATION, &Rates::DECLARATION], [&TokenText::DECLARATION, &Texts::DECLARATION]];

/// Whether elements have phases.
fn has_phases(schema: &SimSchema) -> bool {
    (Circle::DECLARATION.fits)(schema)
}

/// Whether elements are born and die.
fn has_generations(schema: &SimSchema) -> bool {
    (Lineage::DECLARATION.fits)(schema)
}

/// Whether a model writes texts while curves show its progress: learning is visible in the curves first.
fn writes_texts(schema: &SimSchema) -> bool {
    let (has_curves, has_events) = ((Rates::DECLARATION.fits)(schema), (Raster::DECLARATION.fits)(schema));
    has_probe(schema, |shape| matches!(shape, Shape::Samples)) && has_curves && !has_events && !has_phases(schema)
}

/// Whether the default layout of a page contains a view.
fn is_on(page: Page, view: &ViewDeclaration, schema: &SimSchema) -> bool {
    let is = |other: &ViewDeclaration| page == Page::Simulate && view.name == other.name;
    let is_wanted = if is(&Scatter::DECLARATION) {
        has_phases(schema)
    } else if is(&Bands::DECLARATION) {
        has_generations(schema)
    } else {
        true
    };
    view.pages.contains(&page) && is_wanted
}

/// Returns the names of the views that fit the probes' shapes, in the order of menus.
pub fn suggest(schema: &SimSchema) -> Vec<&'static str> {
    ALL.iter().filter(|view| (view.fits)(schema)).map(|view| view.name).collect()
}

/// Returns the names of the views that fit and belong on a page, in layout order.
pub fn suggest_for(page: Page, schema: &SimSchema) -> Vec<&'static str> {
    let first = FIRST.iter().filter(|first| first.page == page && (first.when)(schema)).map(|first| first.view);
    let before = |view: &ViewDeclaration| BEFORE.into_iter().find(|[_, later]| later.name == view.name);
    let others = ALL.into_iter().flat_map(|view| before(view).map(|[earlier, _]| earlier).into_iter().chain([view]));
    let mut names = vec![];
    for view in first.chain(others.filter(|view| is_on(page, view, schema))) {
        if (view.fits)(schema) && !names.contains(&view.name) {
            names.push(view.name);
        }
    }
    names
}
