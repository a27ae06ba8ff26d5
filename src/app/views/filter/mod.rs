//! Which elements all views show: categories that are ticked, and a query. Worked out on the pool; live values are
//! looked at again twice a second.

mod panel;
mod tree;

pub use panel::Panel;

use super::{Abilities, brain::is_time_since, pool::Pooled, probes_where};
use crate::{
    engine::SimSchema,
    query::{self, Field, Known, Mistake, Named, Query},
    sim::{Connectivity, ElementSet, Frame, ProbeId, Reading, Shape, Tap},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tree::Tree;

/// Live values are asked anew at most this often.
const AGAIN: Duration = Duration::from_millis(500);

/// Which elements of a set views show. Cheap to clone.
#[derive(Clone, Default)]
pub struct Shown {
    set: &'static str,
    mask: Option<Arc<Vec<bool>>>,
    n: u32,
    /// Counts up whenever who is shown changes.
    pub generation: u64,
}

impl Shown {
    /// One flag per element of a set; `None` when all are shown.
    pub fn mask(&self, set: &str) -> Option<&[bool]> {
        self.mask.as_ref().filter(|_| self.set == set).map(|m| m.as_slice())
    }

    /// The same, to take along to the pool.
    pub fn shared(&self, set: &str) -> Option<Arc<Vec<bool>>> {
        self.mask.as_ref().filter(|_| self.set == set).cloned()
    }

    /// Whether an element of a set is shown.
    pub fn shows(&self, set: &str, element: u32) -> bool {
        self.mask(set).is_none_or(|m| m.get(element as usize).copied().unwrap_or(true))
    }

    /// How many of a set are hidden.
    pub fn n_hidden(&self, set: &ElementSet) -> u32 {
        self.mask(set.name).map_or(0, |_| set.len - self.n)
    }
}

/// What decides who is shown.
#[derive(Clone, Default, PartialEq)]
struct Wish {
    set: u64,
    query: String,
    named: Vec<Named>,
    hidden: Arc<Vec<Vec<bool>>>,
}

/// The outcome of a wish.
struct Chosen {
    mask: Vec<bool>,
    n: u32,
}

type Values = BTreeMap<ProbeId, Arc<Vec<f32>>>;

/// The filter of the window.
#[derive(Default)]
pub struct Filter {
    set: Option<Arc<ElementSet>>,
    set_generation: u64,
    query: String,
    trees: Pooled<u64, Vec<Tree>>,
    hidden: Arc<Vec<Vec<bool>>>,
    values: Values,
    are_values_new: bool,
    chosen: Pooled<Wish, Result<Chosen, Mistake>>,
    shown: Shown,
    mistake: Option<Mistake>,
}

impl Filter {
    /// Who is shown.
    pub const fn shown(&self) -> &Shown {
        &self.shown
    }

    /// Shows everyone again.
    pub fn clear(&mut self) {
        self.query.clear();
        self.hidden = Arc::new(vec![]);
    }

    /// Narrows what is shown to a query.
    pub fn narrow(&mut self, query: impl Into<String>) {
        self.query = query.into();
    }

    /// Whether it hides anyone.
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

    fn take_set(&mut self, set: Option<Arc<ElementSet>>) {
        let is_alike = matches!((&self.set, &set), (Some(a), Some(b)) if a.columns == b.columns && a.name == b.name);
        if !is_alike {
            self.hidden = Arc::new(vec![]);
        }
        self.set = set;
        self.set_generation += 1;
        self.values.clear();
    }

    /// The live values the query names, by probe.
    fn probes(&self, schema: &SimSchema) -> Vec<ProbeId> {
        let (Some(set), Ok(query)) = (&self.set, query::parse(&self.query)) else { return vec![] };
        let mut words = Vec::new();
        columns(&query, &mut words);
        let fields = probes_where(schema, |s| matches!(s, Shape::Field { over, .. } if *over == set.name));
        let is_meant = |name: &str| {
            let short = name.strip_suffix("_field").unwrap_or(name);
            words.iter().any(|w| w.eq_ignore_ascii_case(name) || w.eq_ignore_ascii_case(short))
        };
        fields.filter(|(_, p)| is_meant(p.name) && set.column(p.name).is_none()).map(|(id, _)| id).collect()
    }

    /// The column that refines this one, when there is one.
    pub fn finer(&self, set: &ElementSet, column: usize) -> Option<usize> {
        let tree = self.trees.get().filter(|_| self.set.as_ref().is_some_and(|s| s.name == set.name))?.first()?;
        let at = tree.columns.iter().position(|c| *c == column)?;
        tree.columns.get(at + 1).copied()
    }

    /// What it needs to be read.
    pub fn taps(&self, schema: &SimSchema) -> Vec<Tap> {
        self.probes(schema).into_iter().map(super::tap).collect()
    }

    /// New data.
    pub fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        for id in self.probes(schema) {
            if let Some(Reading::Field(values)) = frame.reading(id) {
                self.values.insert(id, Arc::new(values.clone()));
                self.are_values_new = true;
            }
        }
    }

    /// Once a frame: takes what the pool has finished, asks it for what is missing.
    pub fn update(&mut self, ctx: &egui::Context, schema: &SimSchema, abilities: &Abilities) {
        self.settle(schema);
        let Some(set) = self.set.clone() else { return };
        let for_trees = set.clone();
        self.trees.want(ctx, self.set_generation, move |_| Some(tree::trees(&for_trees)));
        if self.chosen.poll() {
            self.take_chosen(set.name);
        }
        if !self.is_on() {
            self.mistake = None;
            self.chosen.clear();
            if self.shown.mask.is_some() {
                self.shown = Shown { generation: self.shown.generation + 1, ..Shown::default() };
            }
            return;
        }
        let wish = Wish {
            set: self.set_generation,
            query: self.query.clone(),
            named: abilities.named.to_vec(),
            hidden: self.hidden.clone(),
        };
        let is_due = self.are_values_new && self.chosen.age() > AGAIN && !self.chosen.is_busy();
        if is_due || self.chosen.is_stale(&wish) {
            self.ask(ctx, schema, abilities, set, wish, is_due);
        }
    }

    fn ask(
        &mut self,
        ctx: &egui::Context,
        schema: &SimSchema,
        abilities: &Abilities,
        set: Arc<ElementSet>,
        wish: Wish,
        again: bool,
    ) {
        self.are_values_new = false;
        let asked = Asked::new(schema, abilities, set, &self.values);
        let (trees, theirs) = (self.trees.get().cloned(), wish.clone());
        let make = move |_: &crate::sim::Progress| Some(asked.choose(&theirs, trees.as_deref().map_or(&[], |t| t)));
        match again {
            true => self.chosen.start(ctx, wish, make),
            false => self.chosen.want(ctx, wish, make),
        }
    }

    fn take_chosen(&mut self, set: &'static str) {
        match self.chosen.get().map(|c| &**c) {
            Some(Ok(chosen)) => {
                self.mistake = None;
                if self.shown.mask(set) != Some(&chosen.mask) {
                    let generation = self.shown.generation + 1;
                    self.shown = Shown { set, mask: Some(Arc::new(chosen.mask.clone())), n: chosen.n, generation };
                }
            }
            Some(Err(mistake)) => self.mistake = Some(mistake.clone()),
            None => {}
        }
    }

    /// What is shown, as a query, unless it depends on live values.
    fn as_query(&self, schema: &SimSchema) -> Option<String> {
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

/// The columns a query compares.
fn columns(query: &Query, out: &mut Vec<String>) {
    match query {
        Query::All | Query::Set(_) => {}
        Query::Test(column, ..) => out.push(column.text.clone()),
        Query::Not(inner) | Query::Choose { of: inner, .. } | Query::Linked { of: inner, .. } => columns(inner, out),
        Query::And(a, b) | Query::Or(a, b) => {
            columns(a, out);
            columns(b, out);
        }
    }
}

/// All a query needs to be answered, to take along to the pool.
pub struct Asked {
    set: Arc<ElementSet>,
    named: Arc<[Named]>,
    fields: Vec<(&'static str, &'static str, Arc<Vec<f32>>)>,
    wiring: Option<Connectivity>,
    seed: u64,
    listed: super::Listed,
}

impl Asked {
    /// Of the elements of a set, with the values known of them.
    pub fn new(schema: &SimSchema, abilities: &Abilities, set: Arc<ElementSet>, values: &Values) -> Self {
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
            named: abilities.named.clone(),
            seed: abilities.seed,
            listed: abilities.listed.clone(),
            set,
        }
    }

    /// With what a query is asked of.
    pub fn with<R>(&self, ask: impl FnOnce(&Known<'_>) -> R) -> R {
        let fields: Vec<Field<'_>> =
            self.fields.iter().map(|(name, unit, values)| Field { name, unit, values }).collect();
        let listed = |path: &str| (self.listed)(path, &self.set);
        ask(&Known {
            set: &self.set,
            named: &self.named,
            fields: &fields,
            links: self.wiring.as_ref().map(|w| &*w.connections),
            seed: self.seed,
            listed: &listed,
        })
    }

    fn choose(&self, wish: &Wish, trees: &[Tree]) -> Result<Chosen, Mistake> {
        let n = self.set.len as usize;
        let mut mask = vec![wish.query.trim().is_empty(); n];
        if !wish.query.trim().is_empty() {
            for e in self.with(|known| known.select(&wish.query))? {
                mask[e as usize] = true;
            }
        }
        for (tree, hidden) in trees.iter().zip(wish.hidden.iter()) {
            tree.hide(hidden, &mut mask);
        }
        let n = mask.iter().filter(|s| **s).count() as u32;
        Ok(Chosen { mask, n })
    }
}
