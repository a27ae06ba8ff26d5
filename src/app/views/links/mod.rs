//! Links from the elements of one set to those of another, as lines between two columns, an adjacency matrix or a list.

mod diagram;
mod list;

use super::{
    ViewCtx, ViewDeclaration,
    connectivity::element_name,
    single_probe::{Notice, ProbeContents, SingleProbe},
};
use crate::{
    app::{
        document::{features::has_probe, layout::Page},
        kit::{
            self,
            color_scale::ScaleColors,
            colormap::Colormap,
            heatmap::{AxisLabel, Heatmap, HeatmapTexture, HeatmapTitles},
            icons,
        },
    },
    engine::{SchemaChanges, SetChange, SimSchema},
    sim::{ElementSet, Link, ProbeSpec, Reading, Shape},
};
use egui::{Rect, Sense, Ui};
use std::{collections::HashMap, sync::Arc};

/// Maximum number of rows and columns of the matrix; larger ones are summed in square blocks.
const MAX_CELLS: usize = 512;
/// Maximum number of links that are sorted and listed; only the strongest are.
pub(super) const MAX_SORTED: usize = 20_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Lines between two columns of elements.
    #[default]
    Lines,
    /// Adjacency matrix from rows to columns.
    Matrix,
    List,
}

/// The links view.
#[derive(Default)]
pub struct Links {
    mode: Mode,
    links: Arc<Vec<Link>>,
    /// Links of the last reading in descending order of strength, at most [`MAX_SORTED`].
    strongest: Vec<Link>,
    sorted_generation: u64,
    generation: u64,
    diagram: diagram::Diagram,
    list: list::List,
    heat: Option<(u64, Heatmap)>,
    picture: HeatmapTexture,
}

/// Names of the sets at both ends of the links, and the sets if the simulation publishes them.
struct Ends<'a> {
    names: [&'static str; 2],
    sets: [Option<&'a Arc<ElementSet>>; 2],
}

impl<'a> Ends<'a> {
    fn of(probe: &ProbeSpec, schema: &'a SimSchema) -> Option<Self> {
        let Shape::Links { from, to } = probe.shape else { return None };
        Some(Self { names: [from, to], sets: [schema.set(from), schema.set(to)] })
    }

    /// Returns the name of an element of the first (0) or the second (1) set.
    fn label(&self, side: usize, element: u32) -> String {
        self.sets[side].map_or_else(|| format!("#{element}"), |set| element_name(set, element))
    }
}

pub(super) fn is_links(shape: &Shape) -> bool {
    matches!(shape, Shape::Links { .. })
}

/// Returns at most `most` links, in descending order of magnitude. Links of equal magnitude keep their order.
pub(super) fn strongest(links: &[Link], most: usize) -> Vec<Link> {
    let mut order: Vec<u32> = (0..links.len() as u32).collect();
    let by_strength = |a: &u32, b: &u32| {
        let weight = |i: &u32| links[*i as usize].weight.abs();
        weight(b).total_cmp(&weight(a)).then(a.cmp(b))
    };
    if order.len() > most {
        order.select_nth_unstable_by(most, by_strength);
        order.truncate(most);
    }
    order.sort_unstable_by(by_strength);
    order.into_iter().map(|i| links[i as usize]).collect()
}

/// Renumbers links after a change of their sets. Links of removed elements are left out.
fn follow(links: &[Link], from: Option<&SetChange>, to: Option<&SetChange>) -> Vec<Link> {
    let now = |change: &SetChange| -> HashMap<u32, u32> {
        (0..).zip(change.former.iter()).filter_map(|(i, former)| Some(((*former)?, i))).collect()
    };
    let (from, to) = (from.map(now), to.map(now));
    let moved = |places: &Option<HashMap<u32, u32>>, element: u32| match places {
        Some(places) => places.get(&element).copied(),
        None => Some(element),
    };
    let link = |l: &Link| Some(Link { from: moved(&from, l.from)?, to: moved(&to, l.to)?, ..*l });
    links.iter().filter_map(link).collect()
}

/// Returns the colours of values: diverging if there are negative ones.
pub(super) fn scale_colors(links: &[Link]) -> ScaleColors {
    if links.iter().any(|l| l.weight < 0.0) { ScaleColors::Diverging } else { ScaleColors::Map(Colormap::Viridis) }
}

/// Returns the colour range of values: symmetric if there are negative ones, otherwise from 0.
pub(super) fn range(links: &[Link]) -> (f32, f32) {
    let of = |(a, b): (f32, f32), v: f32| (a.min(v), b.max(v));
    let (low, high) = links.iter().map(|l| l.weight).filter(|v| v.is_finite()).fold((0.0, f32::MIN_POSITIVE), of);
    if low < 0.0 { (-high.max(-low), high.max(-low)) } else { (low, high) }
}

/// Returns the adjacency matrix. A cell is the sum of its values, NaN without a link.
fn adjacency(links: &[Link], ends: &Ends<'_>) -> Heatmap {
    let last = |end: fn(&Link) -> u32| links.iter().map(end).max().map_or(0, |last| last as usize + 1);
    let len = |side: usize, end| ends.sets[side].map_or(0, |set| set.len as usize).max(last(end));
    let (n_rows, n_columns) = (len(0, |l| l.from), len(1, |l| l.to));
    let per_block = n_rows.max(n_columns).div_ceil(MAX_CELLS).max(1);
    let (rows, columns) = (n_rows.div_ceil(per_block), n_columns.div_ceil(per_block));
    let mut values = vec![f32::NAN; rows * columns];
    for link in links {
        let cell = &mut values[link.from as usize / per_block * columns + link.to as usize / per_block];
        *cell = if cell.is_nan() { link.weight } else { *cell + link.weight };
    }
    let names = |side: usize, n: usize| {
        (0..n).map(|i| AxisLabel { text: ends.label(side, (i * per_block) as u32), color: None }).collect()
    };
    let (rows, columns) = (names(0, rows), names(1, columns));
    Heatmap { rows, columns, values, scale_colors: scale_colors(links), span: None, is_log: false }
}

impl Links {
    fn sort(&mut self) {
        if self.sorted_generation != self.generation {
            self.sorted_generation = self.generation;
            self.strongest = strongest(&self.links, MAX_SORTED);
        }
    }

    fn text(&self, ends: &Ends<'_>, unit: &str) -> String {
        let number = |n: usize| kit::thousands(n as u64);
        let n = self.links.len();
        let shown = match self.mode {
            Mode::Lines => self.diagram.n_drawn(),
            Mode::Matrix => n,
            Mode::List => self.strongest.len(),
        };
        let count = if shown < n {
            format!("the {} strongest of {}", number(shown), kit::counted(n as u64, "links"))
        } else {
            kit::counted(n as u64, "links")
        };
        let sizes = ends.sets.map(|set| set.map_or_else(String::new, |set| format!(" {}", number(set.len as usize))));
        let unit = if unit.is_empty() { String::new() } else { format!("  |  {unit}") };
        format!("{count}  |  {}{} → {}{}{unit}", ends.names[0], sizes[0], ends.names[1], sizes[1])
    }

    fn matrix_ui(&mut self, ui: &mut Ui, canvas: Rect, ends: &Ends<'_>, probe: &ProbeSpec, ctx: &ViewCtx<'_>) {
        if self.heat.as_ref().is_none_or(|(generation, _)| *generation != self.generation) {
            self.heat = Some((self.generation, adjacency(&self.links, ends)));
        }
        let Some((generation, heat)) = &self.heat else { return };
        self.picture.fixed = ctx.color_scales.of(probe.name).range;
        let [rows, columns] = ends.names.map(kit::spaced);
        let titles = HeatmapTitles {
            rows: format!("from {rows}"),
            columns: format!("to {columns}"),
            values: probe.unit.to_owned(),
        };
        let places = heat.places_titled(ui, canvas, titles);
        let response = ui.interact(places.cells, ui.scope_id().with("cells"), Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Links as a matrix"));
        let hovered = response.hover_pos().and_then(|at| heat.at(&places, at));
        heat.paint(ui, &places, &mut self.picture, *generation, hovered, ctx.tokens);
        if let Some((row, column)) = hovered {
            let value = heat.values[row * heat.columns.len() + column];
            let text = if value.is_nan() { "no link".to_owned() } else { kit::with_unit(value.into(), probe.unit) };
            let (from, to) = (&heat.rows[row].text, &heat.columns[column].text);
            response.on_hover_text_at_pointer(format!("{from} → {to}\n{text}"));
        }
    }
}

impl ProbeContents for Links {
    const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "links",
        title: "Links",
        icon: icons::TREE,
        help: "# Links\n\nThe present links from the elements of one set to those of another, or of the same set. Colour is the \
         value.\n\n\
         **Lines**: both sets as columns, a line per link. Where there are more than the picture has room for, the \
         strongest are drawn; the caption says how many. The links of the element under the pointer stand out; a click \
         selects it, **Ctrl** adds it.\n\n\
         **Matrix**: from rows to columns; large sets are summed in square blocks.\n\n\
         **List**: the strongest links. A click on an end selects it.\n\n\
         The 3D view draws the links among its elements: *Edges* in its toolbar.",
        gestures: &[("click", "select"), ("Ctrl+click", "add or remove")],
        pages: &[Page::Simulate, Page::Explore],
        fits: |schema| has_probe(schema, is_links),
        ..ViewDeclaration::of::<SingleProbe<Self>>()
    };
    const MENU: &'static str = "Links";
    const NO_PROBE: [&'static str; 2] = ["No links", "This simulation publishes no links"];

    fn is_shown(shape: &Shape) -> bool {
        is_links(shape)
    }

    fn clear(&mut self) {
        self.links = Arc::default();
        self.generation += 1;
    }

    /// Renumbers the links after a change of their sets. Links of removed elements are removed.
    fn schema_changed(&mut self, probe: &ProbeSpec, changes: &SchemaChanges) {
        let Shape::Links { from, to } = probe.shape else { return };
        let change = |name: &str| changes.sets.iter().find(|c| c.name == name);
        if let (None, None) = (change(from), change(to)) {
            return;
        }
        self.links = Arc::new(follow(&self.links, change(from), change(to)));
        self.generation += 1;
    }

    fn take(&mut self, reading: &Reading) {
        if let Reading::Links(links) = reading {
            self.links = links.clone();
            self.generation += 1;
        }
    }

    fn range(&self) -> Option<(f32, f32)> {
        Some(range(&self.strongest))
    }

    fn caption(&mut self, probe: &ProbeSpec, ctx: &ViewCtx<'_>) -> String {
        self.sort();
        Ends::of(probe, ctx.schema).map_or_else(String::new, |ends| self.text(&ends, probe.unit))
    }

    fn mode_ui(&mut self, ui: &mut Ui) {
        for (mode, word, hint) in [
            (Mode::Lines, "Lines", "Lines between two columns"),
            (Mode::Matrix, "Matrix", "From rows to columns"),
            (Mode::List, "List", "The strongest links as a table"),
        ] {
            ui.selectable_value(&mut self.mode, mode, word).on_hover_text(hint);
        }
        ui.separator();
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, probe: &ProbeSpec) {
        if self.mode != Mode::List {
            ctx.color_scales.range_ui(ui, probe.name, range(&self.strongest));
        }
    }

    fn notice(&self, _: &ProbeSpec, ctx: &ViewCtx<'_>) -> Option<Notice> {
        let how = if ctx.running { "There are none now" } else { "Run to see the links" };
        self.links.is_empty().then_some(Notice::NeedsRun("No links yet", how))
    }

    fn contents_ui(&mut self, ui: &mut Ui, canvas: Rect, probe: &ProbeSpec, ctx: &mut ViewCtx<'_>) {
        let Some(ends) = Ends::of(probe, ctx.schema) else { return };
        match self.mode {
            Mode::Lines => self.diagram.ui(ui, canvas, (&self.links, &self.strongest), &ends, probe, ctx),
            Mode::Matrix => self.matrix_ui(ui, canvas, &ends, probe, ctx),
            Mode::List => self.list.ui(ui, canvas, &self.strongest, &ends, probe, ctx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(from: u32, to: u32, weight: f32) -> Link {
        Link { from, to, weight }
    }

    #[test]
    fn the_strongest_come_first_whatever_their_sign() {
        let links = [link(0, 0, 0.5), link(1, 0, -2.0), link(2, 1, 0.5), link(3, 1, 1.0)];
        let order = |most| strongest(&links, most).iter().map(|l| l.from).collect::<Vec<_>>();
        assert_eq!((order(9), order(2)), (vec![1, 3, 0, 2], vec![1, 3]));
        assert_eq!((range(&links), range(&links[2..])), ((-2.0, 2.0), (0.0, 1.0)));
        assert!(strongest(&[], 5).is_empty());
    }

    #[test]
    fn links_follow_the_elements_of_a_set_that_changed() {
        let change = SetChange { name: "cells", former: Arc::new(vec![Some(2), None, Some(0)]) };
        let links = [link(0, 5, 1.0), link(1, 6, 2.0), link(2, 7, 3.0)];
        assert_eq!(follow(&links, Some(&change), None), [link(2, 5, 1.0), link(0, 7, 3.0)], "element 1 is gone");
    }

    #[test]
    fn large_sets_are_summed_in_blocks() {
        let set = |len| Arc::new(ElementSet { name: "cells", len, ..ElementSet::default() });
        let (many, few) = (set(2_000), set(3));
        let ends = Ends { names: ["cells", "cells"], sets: [Some(&many), Some(&few)] };
        let heat = adjacency(&[link(0, 0, 1.0), link(3, 2, 2.0), link(1_999, 0, 4.0)], &ends);
        assert_eq!((heat.rows.len(), heat.columns.len()), (500, 1), "4 rows and columns per block");
        assert!(heat.values[0] == 3.0 && heat.values[499] == 4.0 && heat.values[1].is_nan());
    }
}
