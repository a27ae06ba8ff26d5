//! Categories from the named selections of the project, with their colours.

use super::View3d;
use crate::{
    app::{
        document::filter::QueryContext,
        kit::{colors, pool::PooledResult, theme::Tokens},
        views::ViewCtx,
    },
    query::Named,
    sim::{Column, ElementSet, Individuals},
};
use egui::{Color32, Context};
use std::sync::Arc;

/// Name of the categories by selection, in place of a column's name.
pub(super) const BY_SELECTION: &str = "selection";

/// Inputs of the categories: named selections, pointer of the set, seed, pointer of the individuals.
type SelectionColumnKey = (Vec<Named>, usize, u64, usize);

/// Named selection of each element, as a column.
#[derive(Default)]
pub(super) struct SelectionColumn {
    column: PooledResult<SelectionColumnKey, Column>,
    /// Colours chosen in the project, by selection; `None`: the colour at its index.
    colors: Vec<Option<u8>>,
    /// Counter that every change of categories or colours increments.
    pub generation: u64,
}

impl SelectionColumn {
    /// Evaluates the selections of a set on the pool if they have changed. An element of several selections has the category of
    /// the last one; an element of none has an empty label.
    fn update(&mut self, egui: &Context, set: &Arc<ElementSet>, ctx: &ViewCtx<'_>) {
        self.generation += u64::from(self.column.poll());
        let named = ctx.features.named_over(ctx.schema, set.name);
        let colors = named.iter().map(|s| ctx.features.colors.get(&s.name).copied()).collect();
        if self.colors != colors {
            (self.colors, self.generation) = (colors, self.generation + 1);
        }
        let now = ctx.features.individuals(set.name).filter(|_| set.are_slots);
        let now: usize = now.map_or(0, |now: &Arc<Individuals>| Arc::as_ptr(now) as usize);
        let key = (named.to_vec(), Arc::as_ptr(set) as usize, ctx.features.seed, now);
        if self.column.is_stale(&key) {
            let context = QueryContext::new(ctx.schema, ctx.features, set.clone(), &Default::default());
            let n = set.len as usize;
            self.column.want(egui, key, move |progress| {
                let mut codes = vec![0; n];
                for (i, selection) in named.iter().enumerate().take(usize::from(u16::MAX) - 1) {
                    if progress.is_cancelled() {
                        return None;
                    }
                    // The project tree shows errors of a query.
                    let found = context.with(|known| known.select(&selection.query)).unwrap_or_default();
                    found.iter().for_each(|e| codes[*e as usize] = i as u16 + 1);
                }
                let labels = [String::new()].into_iter().chain(named.iter().map(|s| s.name.clone())).collect();
                Some(Column { name: BY_SELECTION.to_owned(), labels, codes })
            });
        }
    }

    fn of_codes(&self, column: &Column, tokens: &Tokens) -> Vec<Color32> {
        let color = |i: usize| match self.colors.get(i).copied().flatten() {
            Some(number) => colors::categorical(usize::from(number.max(1) - 1), tokens),
            None => colors::categorical(i, tokens),
        };
        [tokens.other].into_iter().chain((1..column.labels.len()).map(|code| color(code - 1))).collect()
    }
}

impl View3d {
    /// Updates the selections while they are the categories.
    pub(super) fn follow_selections(&mut self, egui: &Context, set: &Arc<ElementSet>, ctx: &ViewCtx<'_>) {
        let has_selections = !ctx.features.named_over(ctx.schema, set.name).is_empty();
        if self.column.is_empty() && has_selections {
            self.column = BY_SELECTION.to_owned(); // The set has no other categories.
        }
        if self.column == BY_SELECTION {
            self.by_selection.update(egui, set, ctx);
        }
    }

    /// Returns the categories of the elements; `None` if they have none yet.
    pub(super) fn category<'a>(&'a self, set: &'a ElementSet) -> Option<&'a Column> {
        match self.column.as_str() {
            BY_SELECTION => self.by_selection.column.get().map(|c| &**c).filter(|c| c.codes.len() == set.len as usize),
            name => set.column(name),
        }
    }

    /// Returns the categories by selection; `None` if they are not shown.
    pub(super) fn by_selection(&self) -> Option<Arc<Column>> {
        self.by_selection.column.get().filter(|_| self.column == BY_SELECTION).cloned()
    }

    /// Returns the colour of each category.
    pub(super) fn category_colors(&self, column: &Column, tokens: &Tokens) -> Vec<Color32> {
        match self.column.as_str() {
            BY_SELECTION => self.by_selection.of_codes(column, tokens),
            _ => colors::of_column(column, tokens),
        }
    }
}
