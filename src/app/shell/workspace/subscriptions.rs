//! Subscriptions to probes for the views of the window.

use super::{Pane, Workspaces};
use crate::{
    engine::SimSchema,
    sim::{Shape, Tap},
};

/// Maximum number of slots of a population whose lineage is sampled while no view on screen shows it.
const MAX_HIDDEN_LINEAGE: u32 = 1 << 14;

impl Workspaces {
    /// Returns the taps of all views of all workspaces, so that hidden views record data too. Probes without a history (matrices,
    /// tokens, links) are tapped only for visible views. So is the lineage of a large population, which has more events than a
    /// view keeps; when it is shown, it begins with the living individuals.
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
