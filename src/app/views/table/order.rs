//! Which rows are shown in which order: filtered and sorted on the pool.

use crate::{
    app::views::{
        filter::{Asked, Shown},
        pool,
    },
    sim::{ElementSet, ProbeId},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

/// Live values are sorted anew at most this often.
const AGAIN: Duration = Duration::from_millis(500);

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Place in the set.
    #[default]
    Index,
    /// Public identifier.
    Id,
    /// Name.
    Name,
    /// A column's categories, in their display order.
    Category(usize),
    /// Present value of a field.
    Field(ProbeId),
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Wish {
    filter: String,
    shown: u64,
    by: By,
    descending: bool,
}

/// The rows, or what is wrong with the filter.
type Found = Result<Vec<u32>, String>;

/// The rows.
#[derive(Default)]
pub struct Order {
    rows: Arc<Vec<u32>>,
    wish: Wish,
    done: Option<(Wish, Instant)>,
    job: Option<(Wish, mpsc::Receiver<Found>)>,
    mistake: Option<String>,
}

impl Order {
    /// Elements in the order shown.
    pub fn rows(&self) -> Arc<Vec<u32>> {
        self.rows.clone()
    }

    /// What is wrong with the filter.
    pub fn mistake(&self) -> Option<&str> {
        self.mistake.as_deref()
    }

    /// Whether a new order is being made.
    pub fn is_busy(&self) -> bool {
        self.job.is_some() && self.done.as_ref().is_none_or(|(wish, _)| *wish != self.wish)
    }

    /// Ascending (`true`) or descending, when sorted by this.
    pub fn sorted(&self, by: By) -> Option<bool> {
        (self.wish.by == by).then_some(!self.wish.descending)
    }

    /// Sorts by this; a second time the other way round. Values begin with the highest.
    pub fn sort_by(&mut self, by: By) {
        let descending = if self.wish.by == by { !self.wish.descending } else { matches!(by, By::Field(_)) };
        self.wish = Wish { by, descending, ..std::mem::take(&mut self.wish) };
    }

    /// Takes what the pool has finished and asks it for what is missing.
    pub fn update(
        &mut self,
        ctx: &egui::Context,
        set: &Arc<ElementSet>,
        filter: &str,
        shown: &Shown,
        asked: impl FnOnce() -> Asked,
        values: &BTreeMap<ProbeId, Arc<Vec<f32>>>,
    ) {
        self.wish.shown = shown.generation;
        if self.wish.filter != filter {
            filter.clone_into(&mut self.wish.filter);
        }
        if let Some((wish, receiver)) = &self.job {
            match receiver.try_recv() {
                Ok(rows) => {
                    self.mistake = rows.as_ref().err().cloned();
                    if let Ok(rows) = rows {
                        self.rows = Arc::new(rows);
                    }
                    self.done = Some((wish.clone(), Instant::now()));
                    self.job = None;
                }
                Err(mpsc::TryRecvError::Disconnected) => self.job = None,
                Err(mpsc::TryRecvError::Empty) => return,
            }
        }
        let field = if let By::Field(probe) = self.wish.by { values.get(&probe).cloned() } else { None };
        let is_live = field.is_some();
        let is_done = self.done.as_ref().is_some_and(|(w, at)| *w == self.wish && !(is_live && at.elapsed() > AGAIN));
        if is_done {
            return;
        }
        if (Wish { shown: 0, ..self.wish.clone() }) == Wish::default() && shown.mask(set.name).is_none() {
            self.rows = Arc::new((0..set.len).collect());
            self.done = Some((self.wish.clone(), Instant::now()));
            return;
        }
        let (sender, receiver) = mpsc::channel();
        let (set, wish) = (set.clone(), self.wish.clone());
        let (mask, asked) = (shown.shared(set.name), asked());
        pool::spawn(ctx, move || {
            // The view may be gone by then.
            let rows = match is_query(&wish.filter) {
                true => asked.with(|known| known.select(&wish.filter)).map_err(|wrong| wrong.of(&wish.filter)),
                false => Ok(matching(&set, &wish.filter)),
            };
            let is_shown = |e: &u32| mask.as_ref().is_none_or(|m| m.get(*e as usize) == Some(&true));
            let rows = rows.map(|rows| rows.into_iter().filter(is_shown).collect());
            sender.send(rows.map(|rows| arrange(rows, &set, &wish, field.as_deref().map_or(&[], |v| v)))).ok();
        });
        self.job = Some((self.wish.clone(), receiver));
    }
}

/// Whether a text is a query rather than words to look for.
fn is_query(text: &str) -> bool {
    text.contains(['=', '<', '>', '~', '(']) || ["in ", "not "].iter().any(|w| text.trim_start().starts_with(w))
}

fn arrange(mut rows: Vec<u32>, set: &ElementSet, wish: &Wish, values: &[f32]) -> Vec<u32> {
    let value = |e: &u32| values.get(*e as usize).copied().unwrap_or(f32::NEG_INFINITY);
    let code = |c: usize, e: &u32| set.columns.get(c).and_then(|c| c.codes.get(*e as usize)).copied().unwrap_or(0);
    match wish.by {
        By::Index => {}
        By::Id => rows.sort_by_key(|e| set.ids.get(*e as usize).copied().unwrap_or(0)),
        By::Name => rows.sort_by(|a, b| set.names.get(*a as usize).cmp(&set.names.get(*b as usize))),
        By::Category(c) => rows.sort_by_key(|e| code(c, e)),
        By::Field(_) => rows.sort_by(|a, b| value(a).total_cmp(&value(b))),
    }
    if wish.descending {
        rows.reverse();
    }
    rows
}

/// Elements whose index, id, name or one of whose categories contains the text; every word must match.
fn matching(set: &ElementSet, filter: &str) -> Vec<u32> {
    let words: Vec<String> = filter.split_whitespace().map(str::to_lowercase).collect();
    let tests: Vec<Word> = words.iter().map(|w| Word::new(set, w)).collect();
    (0..set.len).filter(|e| tests.iter().all(|t| t.matches(set, *e))).collect()
}

/// One word of a filter; categories are compared once per label, not once per element.
struct Word<'a> {
    text: &'a str,
    is_number: bool,
    labels: Vec<Vec<bool>>,
}

impl<'a> Word<'a> {
    fn new(set: &ElementSet, text: &'a str) -> Self {
        let hit = |label: &String| label.to_lowercase().contains(text);
        let labels = set.columns.iter().map(|c| c.labels.iter().map(hit).collect()).collect();
        Self { text, is_number: text.bytes().all(|b| b.is_ascii_digit()), labels }
    }

    fn matches(&self, set: &ElementSet, element: u32) -> bool {
        let i = element as usize;
        let category = |(column, hits): (&crate::sim::Column, &Vec<bool>)| {
            column.codes.get(i).is_some_and(|code| hits.get(usize::from(*code)).copied().unwrap_or(false))
        };
        set.columns.iter().zip(&self.labels).any(category)
            || set.names.get(i).is_some_and(|n| n.to_lowercase().contains(self.text))
            || self.is_number
                && (set.ids.get(i).is_some_and(|id| id.to_string().contains(self.text))
                    || element.to_string() == self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Column;

    fn set() -> ElementSet {
        ElementSet {
            name: "cells",
            len: 4,
            ids: vec![7201, 7202, 7303, 7404],
            columns: vec![Column::from_texts("class", &["sensory", "motor", "sensory", "central"])],
            ..ElementSet::default()
        }
    }

    #[test]
    fn filters_by_any_text() {
        assert_eq!(matching(&set(), "Sens"), [0, 2]);
        assert_eq!(matching(&set(), "sens 73"), [2]);
        assert_eq!(matching(&set(), ""), [0, 1, 2, 3]);
        assert!(matching(&set(), "nothing").is_empty());
    }

    #[test]
    fn sorts_by_value_highest_first() {
        let mut order = Order::default();
        order.sort_by(By::Field(3));
        assert_eq!(arrange(vec![0, 1, 2, 3], &set(), &order.wish, &[0.5, 9.0, f32::NAN, 3.0])[1..], [1, 3, 0]);
        order.sort_by(By::Field(3));
        assert_eq!(order.sorted(By::Field(3)), Some(true));
    }
}
