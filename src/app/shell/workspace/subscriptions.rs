//! Subscriptions of a window's views.

use super::{Pane, Workspaces};
use crate::{
    engine::SimSchema,
    sim::{Shape, Tap},
};

/// Slots up to which a lineage is followed while no view on screen shows it.
const MAX_HIDDEN_LINEAGE: u32 = 1 << 14;

impl Workspaces {
    /// The subscriptions of all views of all workspaces: what is switched on is recorded whether it is visible or not.
    /// Hidden views do without what has no history (matrices, tokens, links), and without the lineage of a large population,
    /// whose events are more than a view keeps: it begins with the individuals alive when it is shown.
    pub fn taps(&self, schema: &SimSchema, selection: &crate::app::document::selection::Selection) -> Vec<Tap> {
        let mut union: Vec<Tap> = Vec::new();
        let shown = self.now().visible();
        let shown: Vec<&Pane> = shown.iter().filter(|_| !self.is_home).filter_map(|id| self.now().pane(*id)).collect();
        let is_for_shown = |tap: &Tap| match schema.probes.get(usize::from(tap.probe)).map(|p| p.shape) {
            Some(Shape::Matrix { .. } | Shape::Tokens { .. } | Shape::Links { .. }) => true,
            Some(Shape::Lineage { over, .. }) => schema.set(over).is_some_and(|set| set.len > MAX_HIDDEN_LINEAGE),
            _ => false,
        };
        let wanted = self.views.iter().map(|(pane, view)| {
            let mut taps = view.taps(schema, self.pins.get(pane).unwrap_or(selection));
            taps.retain(|tap| shown.contains(&pane) || !is_for_shown(tap));
            taps
        });
        Tap::merge(&mut union, wanted.flatten());
        union.sort_by_cached_key(Tap::key);
        union
    }
}
