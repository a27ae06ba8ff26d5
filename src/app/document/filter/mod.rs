//! The element filter shared by all views: ticked categories and a query, evaluated on the pool. A query that reads live
//! values is evaluated again twice per second.

pub mod tree;

use super::features::{KindFeatures, is_time_since, probes_where};
use crate::{
    app::kit::pool::PooledResult,
    engine::SimSchema,
    query::{self, Field, Known, Mistake, Named, Query},
    sim::{Connectivity, ElementSet, Frame, Individuals, ProbeId, Reading, Shape, Tap},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tree::Tree;

/// Minimum interval between evaluations of live values.
const REEVALUATE_EVERY: Duration = Duration::from_millis(500);

/// Mask of the elements of a set that views show. Clones share the mask.
#[derive(Clone, Default)]
pub struct FilterMask {
    set: &'static str,
    mask: Option<Arc<Vec<bool>>>,
    n: u32,
    /// Counter of the changes of the shown elements.
    pub generation: u64,
}

impl FilterMask {
    #[cfg(test)]
    pub(crate) fn of(set: &'static str, mask: Vec<bool>) -> FilterMask {
        let n = mask.iter().filter(|shows| **shows).count() as u32;
        FilterMask { set, mask: Some(Arc::new(mask)), n, generation: 1 }
    }

    /// Returns one flag per element of a set; `None` if all elements are shown.
    pub fn mask(&self, set: &str) -> Option<&[bool]> {
        self.mask.as_ref().filter(|_| self.set == set).map(|m| m.as_slice())
    }

    /// Returns the flags per element of a set for jobs on the pool; `None` if all elements are shown.
    pub fn shared(&self, set: &str) -> Option<Arc<Vec<bool>>> {
        self.mask.as_ref().filter(|_| self.set == set).cloned()
    }

    /// Whether an element of a set is shown.
    pub fn shows(&self, set: &str, element: u32) -> bool {
        self.mask(set).is_none_or(|m| m.get(element as usize).copied().unwrap_or(true))
    }

    /// Returns the number of hidden elements of a set, at most its length: after a rebuild the mask can be that of a larger set.
    pub fn n_hidden(&self, set: &ElementSet) -> u32 {
        self.mask(set.name).map_or(0, |mask| (mask.len() as u32 - self.n).min(set.len))
    }
}

/// Inputs of an evaluation.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct FilterKey {
    set: u64,
    query: String,
    named: Vec<Named>,
    hidden: Arc<Vec<Vec<bool>>>,
}

/// Result of an evaluation.
pub(crate) struct FilterResult {
    mask: Vec<bool>,
    n: u32,
}

type Values = BTreeMap<ProbeId, Arc<Vec<f32>>>;

/// The filter of the window.
#[derive(Default)]
pub struct Filter {
    pub(crate) set: Option<Arc<ElementSet>>,
    pub(crate) set_generation: u64,
    pub(crate) query: String,
    pub(crate) trees: PooledResult<u64, Vec<Tree>>,
    pub(crate) hidden: Arc<Vec<Vec<bool>>>,
    pub(crate) values: Values,
    pub(crate) are_values_new: bool,
    pub(crate) chosen: PooledResult<FilterKey, Result<FilterResult, Mistake>>,
    pub(crate) shown: FilterMask,
    pub(crate) mistake: Option<Mistake>,
    pub(crate) named: Arc<[Named]>,
    /// Names of the fields in the query that have no values yet.
    pub(crate) sampling: Vec<&'static str>,
    /// Whether values are missing that were not missing before.
    pub(crate) needs_sample: bool,
}

impl Filter {
    /// Returns the mask of shown elements.
    pub const fn shown(&self) -> &FilterMask {
        &self.shown
    }

    /// Removes the filter.
    pub fn clear(&mut self) {
        self.query.clear();
        self.hidden = Arc::new(vec![]);
    }

    /// Filters by a query.
    pub fn narrow(&mut self, query: impl Into<String>) {
        self.query = query.into();
    }

    /// Whether the filter hides anything.
    pub fn is_on(&self) -> bool {
        !self.query.trim().is_empty() || self.hidden.iter().flatten().any(|h| *h)
    }

    fn settle(&mut self, schema: &SimSchema) {
        let name = self.set.as_ref().map(|s| s.name);
        let set = name.and_then(|n| schema.set(n)).or_else(|| schema.sets.first());
        let is_same = match (&self.set, set) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        if !is_same {
            self.take_set(set.cloned());
        }
    }

    pub(crate) fn take_set(&mut self, set: Option<Arc<ElementSet>>) {
        let is_alike = matches!((&self.set, &set), (Some(a), Some(b)) if a.columns == b.columns && a.name == b.name);
        if !is_alike {
            self.hidden = Arc::new(vec![]);
        }
        self.set = set;
        self.set_generation += 1;
        self.values.clear();
    }

    /// Returns the probes of the live values that the query reads.
    fn probes(&self, schema: &SimSchema) -> Vec<ProbeId> {
        self.set.as_ref().map(|set| field_probes(schema, set, &self.query, &self.named)).unwrap_or_default()
    }

    /// Returns the next finer column of the tree that contains `column`; `None` if there is no finer column.
    pub fn finer(&self, set: &ElementSet, column: usize) -> Option<usize> {
        let tree = self.trees.get().filter(|_| self.set.as_ref().is_some_and(|s| s.name == set.name))?.first()?;
        let at = tree.columns.iter().position(|c| *c == column)?;
        tree.columns.get(at + 1).copied()
    }

    /// Creates taps of the query's live values.
    pub fn taps(&self, schema: &SimSchema) -> Vec<Tap> {
        self.probes(schema).into_iter().map(super::features::tap).collect()
    }

    /// Takes the live values of the query from a frame.
    pub fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        let set = self.set.as_ref().map_or("", |set| set.name);
        self.are_values_new |= frame.individuals.iter().any(|(over, _)| *over == set) && self.names_individuals();
        for id in self.probes(schema) {
            if let Some(Reading::Field(values)) = frame.reading(id) {
                self.values.insert(id, values.clone());
                self.are_values_new = true;
            }
        }
    }

    /// Whether the query, or a named group, may contain ids of individuals, so that the engine must report the individuals.
    pub fn names_individuals(&self) -> bool {
        let is_of_slots = self.set.as_ref().is_some_and(|set| set.are_slots);
        is_of_slots && (self.query.contains("id") || self.named.iter().any(|named| named.query.contains("id")))
    }

    /// Returns the names of the fields in the query whose values have not arrived yet.
    pub fn sampling(&self) -> &[&'static str] {
        &self.sampling
    }

    /// Whether the query has started to read further fields since the last call. If views already tap these fields, a
    /// paused simulation sends them only after another subscription.
    pub fn take_needs_sample(&mut self) -> bool {
        std::mem::take(&mut self.needs_sample)
    }

    /// Takes finished results and starts missing jobs. Called once per frame.
    pub fn update(&mut self, ctx: &egui::Context, schema: &SimSchema, features: &KindFeatures) {
        self.settle(schema);
        self.named.clone_from(&features.named);
        let Some(set) = self.set.clone() else { return };
        let for_trees = set.clone();
        self.trees.want(ctx, self.set_generation, move |_| Some(tree::trees(&for_trees)));
        if self.chosen.poll() {
            self.take_chosen(set.name);
        }
        if !self.is_on() {
            self.mistake = None;
            self.sampling.clear();
            self.chosen.clear();
            if self.shown.mask.is_some() {
                self.shown = FilterMask { generation: self.shown.generation + 1, ..FilterMask::default() };
            }
            return;
        }
        let key = FilterKey {
            set: self.set_generation,
            query: self.query.clone(),
            named: features.named.to_vec(),
            hidden: self.hidden.clone(),
        };
        let missing = self.probes(schema).into_iter().filter(|id| !self.values.contains_key(id));
        let missing: Vec<_> = missing.map(|id| schema.probes[usize::from(id)].name).collect();
        self.needs_sample |= missing.iter().any(|name| !self.sampling.contains(name));
        self.sampling = missing;
        if !self.sampling.is_empty() {
            self.mistake = None;
            return ctx.request_repaint_after(REEVALUATE_EVERY);
        }
        if self.are_values_new {
            ctx.request_repaint_after(REEVALUATE_EVERY);
        }
        let is_due = self.are_values_new && self.chosen.age() > REEVALUATE_EVERY && !self.chosen.is_busy();
        if is_due || self.chosen.is_stale(&key) {
            self.ask(ctx, schema, features, set, key, is_due);
        }
    }

    fn ask(
        &mut self,
        ctx: &egui::Context,
        schema: &SimSchema,
        features: &KindFeatures,
        set: Arc<ElementSet>,
        key: FilterKey,
        again: bool,
    ) {
        self.are_values_new = false;
        let context = QueryContext::new(schema, features, set, &self.values);
        let (trees, of_job) = (self.trees.get().cloned(), key.clone());
        let make = move |_: &crate::sim::Progress| Some(context.choose(&of_job, trees.as_deref().map_or(&[], |t| t)));
        match again {
            true => self.chosen.start(ctx, key, make),
            false => self.chosen.want(ctx, key, make),
        }
    }

    fn take_chosen(&mut self, set: &'static str) {
        match self.chosen.get().map(|c| &**c) {
            Some(Ok(chosen)) => {
                self.mistake = None;
                if self.shown.mask(set) != Some(&chosen.mask) {
                    let generation = self.shown.generation + 1;
                    self.shown = FilterMask { set, mask: Some(Arc::new(chosen.mask.clone())), n: chosen.n, generation };
                }
            }
            Some(Err(mistake)) => self.mistake = Some(mistake.clone()),
            None => {}
        }
    }

    /// Returns the shown elements as a query; `None` if the query depends on live values or the trees are not computed yet.
    pub(crate) fn as_query(&self, schema: &SimSchema) -> Option<String> {
        let (set, trees) = (self.set.as_ref()?, self.trees.get()?);
        if !self.probes(schema).is_empty() {
            return None;
        }
        let typed = Some(self.query.trim()).filter(|q| !q.is_empty()).map(str::to_owned);
        let ticked = trees.iter().zip(self.hidden.iter()).filter_map(|(tree, hidden)| tree.query(set, hidden));
        let parts: Vec<String> = typed.into_iter().chain(ticked).collect();
        match parts.as_slice() {
            [] => Some("all".into()),
            [one] => Some(one.clone()),
            many => Some(many.iter().map(|p| format!("({p})")).collect::<Vec<_>>().join(" and ")),
        }
    }
}

/// Returns the probes of the fields that a query reads, directly or through named groups.
pub fn field_probes(schema: &SimSchema, set: &ElementSet, query: &str, named: &[Named]) -> Vec<ProbeId> {
    let mut words = Vec::new();
    words_of(query, named, &mut words, 0);
    let fields = probes_where(schema, |s| matches!(s, Shape::Field { over, .. } if *over == set.name));
    let is_read = |name: &str| {
        let short = name.strip_suffix("_field").unwrap_or(name);
        words.iter().any(|w| w.eq_ignore_ascii_case(name) || w.eq_ignore_ascii_case(short))
    };
    fields.filter(|(_, p)| is_read(p.name) && set.column(p.name).is_none()).map(|(id, _)| id).collect()
}

/// Maximum nesting of named groups that is followed.
const MAX_NESTING: usize = 20;

fn words_of(query: &str, named: &[Named], out: &mut Vec<String>, depth: usize) {
    let Ok(query) = query::parse(query) else { return };
    let mut groups = Vec::new();
    columns(&query, out, &mut groups);
    for group in named.iter().filter(|n| depth < MAX_NESTING && groups.contains(&n.name)) {
        words_of(&group.query, named, out, depth + 1);
    }
}

/// Appends the columns that a query compares to `out`, and the groups that it names to `groups`.
fn columns(query: &Query, out: &mut Vec<String>, groups: &mut Vec<String>) {
    match query {
        Query::All => {}
        Query::Set(name) => groups.push(name.text.clone()),
        Query::Test(column, ..) => out.push(column.text.clone()),
        Query::Not(inner) | Query::Choose { of: inner, .. } | Query::Linked { of: inner, .. } => {
            columns(inner, out, groups)
        }
        Query::And(all) | Query::Or(all) => all.iter().for_each(|query| columns(query, out, groups)),
    }
}

/// Data needed to evaluate a query on the pool.
pub struct QueryContext {
    set: Arc<ElementSet>,
    individuals: Option<Arc<Individuals>>,
    named: Arc<[Named]>,
    fields: Vec<(&'static str, &'static str, Arc<Vec<f32>>)>,
    wiring: Option<Connectivity>,
    seed: u64,
    listed: super::features::ElementListReader,
}

impl QueryContext {
    /// Creates the context of a set, with the sampled values of its fields.
    pub fn new(schema: &SimSchema, features: &KindFeatures, set: Arc<ElementSet>, values: &Values) -> Self {
        let over = set.name;
        let fields = probes_where(schema, |s| matches!(s, Shape::Field { over: o, .. } if *o == over));
        let never = |v: &f32| if *v < 0.0 { f32::INFINITY } else { *v };
        let fields = fields.map(|(id, probe)| {
            let values = values.get(&id).cloned().unwrap_or_default();
            let values = if is_time_since(probe) { Arc::new(values.iter().map(never).collect()) } else { values };
            (probe.name, probe.unit, values)
        });
        Self {
            fields: fields.collect(),
            wiring: schema.connectivity.clone().filter(|w| w.over == over),
            named: features.named_over(schema, over),
            seed: features.seed,
            listed: features.listed.clone(),
            individuals: features.individuals(over).cloned(),
            set,
        }
    }

    /// Calls `ask` with the data that the query language uses.
    pub fn with<R>(&self, ask: impl FnOnce(&Known<'_>) -> R) -> R {
        let fields: Vec<Field<'_>> =
            self.fields.iter().map(|(name, unit, values)| Field { name, unit, values }).collect();
        let listed = |path: &str| (self.listed)(path, &self.set);
        ask(&Known {
            set: &self.set,
            individuals: self.individuals.as_ref().map_or(&[], |now| &now.ids),
            named: &self.named,
            fields: &fields,
            links: self.wiring.as_ref().map(|w| &*w.connections),
            seed: self.seed,
            listed: &listed,
        })
    }

    fn choose(&self, key: &FilterKey, trees: &[Tree]) -> Result<FilterResult, Mistake> {
        let n = self.set.len as usize;
        let mut mask = vec![key.query.trim().is_empty(); n];
        if !key.query.trim().is_empty() {
            for e in self.with(|known| known.select(&key.query))? {
                mask[e as usize] = true;
            }
        }
        for (tree, hidden) in trees.iter().zip(key.hidden.iter()) {
            tree.hide(hidden, &mut mask);
        }
        let n = mask.iter().filter(|s| **s).count() as u32;
        Ok(FilterResult { mask, n })
    }
}
