//! Views that are offered for a simulation, by the shapes of its probes, and their order in layouts.

use super::{fields, lanes};
use crate::{
    app::document::{features::probes_where, layout::Page},
    engine::SimSchema,
    sim::{Meaning, Shape},
};

/// Pages of a view, and the condition under which it fits a simulation.
struct Fit {
    view: &'static str,
    pages: &'static [Page],
    fits: fn(&SimSchema) -> bool,
}

fn has(schema: &SimSchema, wanted: fn(&Shape) -> bool) -> bool {
    probes_where(schema, wanted).next().is_some()
}

/// Whether elements have phases.
fn has_phases(schema: &SimSchema) -> bool {
    has(schema, |s| s.meaning() == Some(Meaning::Angle))
}

fn has_curves(schema: &SimSchema) -> bool {
    has(schema, |s| matches!(s, Shape::Series { of: "" }))
}

/// Whether there are fields of numbers or of times since an event.
fn has_values(schema: &SimSchema) -> bool {
    has(schema, |s| matches!(s.meaning(), Some(Meaning::Number | Meaning::TimeSince)))
}

/// Whether elements are born and die.
fn has_generations(schema: &SimSchema) -> bool {
    has(schema, |s| matches!(s, Shape::Lineage { .. }))
}

/// Whether there are two fields to compare.
fn has_pairs(schema: &SimSchema) -> bool {
    schema.sets.iter().any(|s| fields::over(schema, s.name, |m| m == Meaning::Number).len() > 1)
}

/// Whether a model writes texts while curves show its progress: learning is visible in the curves first.
fn writes_texts(schema: &SimSchema) -> bool {
    let has_events = has(schema, |s| matches!(s, Shape::Spikes { .. }));
    has(schema, |s| matches!(s, Shape::Samples)) && has_curves(schema) && !has_events && !has_phases(schema)
}

/// Whether elements have places.
fn has_places(schema: &SimSchema) -> bool {
    schema.sets.iter().any(|s| s.has_places())
}

fn has_tokens(schema: &SimSchema) -> bool {
    has(schema, |s| matches!(s, Shape::Tokens { .. }))
}

fn has_matrices(schema: &SimSchema) -> bool {
    has(schema, |s| matches!(s, Shape::Matrix { .. }))
}

/// Views in layout order; the first view of a page is the large one. If a view is listed several times, the first fitting entry
/// determines its position.
const FITS: &[Fit] = {
    use Page::{Explore, Profile, Runs, Simulate};
    &[
        Fit { view: "rates", pages: &[Simulate], fits: writes_texts },
        Fit { view: "lineage", pages: &[Simulate], fits: |e| writes_texts(e) && has_generations(e) },
        Fit { view: "texts", pages: &[Simulate], fits: writes_texts },
        Fit { view: "brain", pages: &[Simulate], fits: |e| writes_texts(e) && has_generations(e) && has_places(e) },
        Fit { view: "tokens", pages: &[Simulate], fits: |e| writes_texts(e) && has_tokens(e) },
        Fit { view: "matrix", pages: &[Simulate], fits: |e| writes_texts(e) && has_matrices(e) },
        Fit { view: "circle", pages: &[Simulate], fits: has_phases },
        Fit { view: "scatter", pages: &[Simulate, Explore], fits: |e| has_phases(e) && has_pairs(e) },
        Fit { view: "rates", pages: &[Simulate], fits: |e| has_phases(e) && has_curves(e) },
        Fit { view: "brain", pages: &[Simulate, Explore], fits: has_places },
        Fit { view: "raster", pages: &[Simulate], fits: |e| has(e, |s| matches!(s, Shape::Spikes { .. })) },
        Fit { view: "lineage", pages: &[Simulate], fits: has_generations },
        Fit { view: "rates", pages: &[Simulate], fits: has_curves },
        Fit {
            view: "traces",
            pages: &[Simulate],
            fits: |e| has(e, |s| matches!(s, Shape::Series { of } if !of.is_empty())),
        },
        Fit { view: "steps", pages: &[Profile], fits: |e| !e.probes.is_empty() },
        Fit { view: "timeline", pages: &[Profile], fits: |e| !e.probes.is_empty() },
        Fit { view: "timing", pages: &[Profile], fits: |e| !e.probes.is_empty() },
        Fit { view: "roofline", pages: &[Profile], fits: |e| !e.probes.is_empty() },
        Fit { view: "memory", pages: &[Profile], fits: |e| !e.probes.is_empty() },
        Fit { view: "numerics", pages: &[Profile], fits: |e| !e.probes.is_empty() },
        Fit { view: "table", pages: &[Explore, Simulate], fits: |e| !e.sets.is_empty() },
        Fit { view: "histogram", pages: &[Explore, Simulate], fits: |e| has(e, |s| matches!(s, Shape::Field { .. })) },
        Fit {
            view: "filter",
            pages: &[Explore],
            fits: |e| e.sets.iter().any(|s| !s.columns.is_empty()) || has_pairs(e),
        },
        Fit { view: "connectivity", pages: &[Explore], fits: |e| e.connectivity.is_some() },
        Fit { view: "weights", pages: &[Explore], fits: |e| e.connectivity.is_some() },
        Fit {
            view: "statistics",
            pages: &[Simulate, Explore],
            fits: |e| has(e, |s| matches!(s, Shape::Spikes { .. })),
        },
        Fit { view: "matrix", pages: &[Simulate, Explore], fits: has_matrices },
        Fit { view: "links", pages: &[Simulate, Explore], fits: |e| has(e, |s| matches!(s, Shape::Links { .. })) },
        Fit {
            view: "distribution",
            pages: &[Simulate, Explore],
            fits: |e| has(e, |s| matches!(s, Shape::Histogram { .. })),
        },
        Fit { view: "tokens", pages: &[Simulate, Explore], fits: has_tokens },
        Fit {
            view: "texts",
            pages: &[Simulate, Explore],
            fits: |e| has(e, |s| matches!(s, Shape::Samples)) || has(e, |s| matches!(s, Shape::Text)),
        },
        Fit { view: "phases", pages: &[Simulate, Explore], fits: has_phases },
        Fit { view: "runs", pages: &[Runs], fits: |_| true },
        Fit { view: "compare", pages: &[Runs], fits: |_| true },
        Fit { view: "sweep", pages: &[Runs], fits: |_| true },
        Fit { view: "scatter", pages: &[Explore], fits: |e| !has_phases(e) && has_pairs(e) },
        Fit { view: "bands", pages: &[Explore], fits: |e| has_values(e) && !has_generations(e) },
        Fit { view: "bands", pages: &[Simulate, Explore], fits: |e| has_values(e) && has_generations(e) },
        Fit { view: "lanes", pages: &[Explore], fits: |e| !lanes::probes(e).is_empty() },
    ]
};

/// Returns the names of the views that fit the probes' shapes, in layout order.
pub fn suggest(schema: &SimSchema) -> Vec<&'static str> {
    first_of_each(FITS.iter().filter(|f| (f.fits)(schema)))
}

/// Whether a simulation publishes what a view shows.
pub fn fits(view: &str, schema: &SimSchema) -> bool {
    FITS.iter().any(|f| f.view == view && (f.fits)(schema))
}

/// Whether a menu offers a view: all before a simulation is built, then those whose data it publishes.
pub fn is_offered(view: &str, schema: &SimSchema) -> bool {
    schema.probes.is_empty() || fits(view, schema)
}

/// Returns the names of the views that fit and belong on a page, in layout order.
pub fn suggest_for(page: Page, schema: &SimSchema) -> Vec<&'static str> {
    first_of_each(FITS.iter().filter(|f| f.pages.contains(&page) && (f.fits)(schema)))
}

/// Returns the main page of a view; `None` if it is unknown.
pub fn page_of(view: &str) -> Option<Page> {
    FITS.iter().find(|f| f.view == view).and_then(|f| f.pages.first()).copied()
}

/// Whether a view works without a simulation.
pub fn needs_no_simulation(view: &str) -> bool {
    page_of(view).is_some_and(Page::needs_no_simulation)
}

fn first_of_each(fits: impl Iterator<Item = &'static Fit>) -> Vec<&'static str> {
    let mut names = vec![];
    for fit in fits {
        if !names.contains(&fit.view) {
            names.push(fit.view);
        }
    }
    names
}
