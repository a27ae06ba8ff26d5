//! Members of the project's named groups in the running simulation, found on the pool.

use super::{
    features::KindFeatures,
    filter::{QueryContext, field_probes},
};
use crate::{app::kit::pool::PooledResult, engine::SimSchema, query::Named, sim::ElementSet};
use egui::Context;
use std::sync::Arc;

/// Members of a named group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub name: String,
    /// Indices of the elements, sorted.
    pub elements: Vec<u32>,
    /// Reason why the query has no elements; `None` if it was evaluated.
    pub problem: Option<String>,
}

/// Inputs of the evaluation: groups, pointer of the set, seed, pointer of the individuals in its slots.
type Key = (Vec<Named>, usize, u64, usize);

/// The named groups over a set.
#[derive(Default)]
pub struct Groups {
    found: PooledResult<Key, Vec<Group>>,
    /// Counter that every change of the members increments.
    pub generation: u64,
}

impl Groups {
    /// Evaluates the queries again if groups, elements or individuals have changed. Queries over live values have no elements,
    /// because their members would change with every frame.
    pub fn update(&mut self, egui: &Context, schema: &SimSchema, features: &KindFeatures, set: &Arc<ElementSet>) {
        let before = self.found.get().cloned();
        if self.found.poll() && self.found.get() != before.as_ref() {
            self.generation += 1;
        }
        let named = features.named_over(schema, set.name);
        let now = features.individuals(set.name).filter(|_| set.are_slots);
        let now: usize = now.map_or(0, |now| Arc::as_ptr(now) as usize);
        let key = (named.to_vec(), Arc::as_ptr(set) as usize, features.seed, now);
        if !self.found.is_stale(&key) {
            return;
        }
        let context = QueryContext::new(schema, features, set.clone(), &Default::default());
        let is_live = |group: &Named| !field_probes(schema, set, &group.query, &named).is_empty();
        let live: Vec<bool> = named.iter().map(is_live).collect();
        self.found.want(egui, key, move |progress| {
            let mut groups = vec![];
            for (group, is_live) in named.iter().zip(live).filter(|(group, _)| !group.name.is_empty()) {
                if progress.is_cancelled() {
                    return None;
                }
                let select =
                    || context.with(|known| known.select(&group.query)).map_err(|wrong| wrong.of(&group.query));
                let found = if is_live { Err("its query reads live values".to_owned()) } else { select() };
                let problem = found.as_ref().err().cloned();
                groups.push(Group { name: group.name.clone(), elements: found.unwrap_or_default(), problem });
            }
            Some(groups)
        });
    }

    /// Returns the groups in the order of the project; `None` until they are evaluated.
    pub fn get(&self) -> Option<&Arc<Vec<Group>>> {
        self.found.get()
    }
}
