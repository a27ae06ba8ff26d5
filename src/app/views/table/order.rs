//! Rows of the table, filtered and sorted on the pool.

use crate::{
    app::{
        document::filter::{FilterMask, QueryContext},
        kit::pool,
    },
    sim::{ElementSet, ProbeId},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

/// Minimum interval between sorts by live values.
pub const RESORT_EVERY: Duration = Duration::from_millis(500);

/// Sort key of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// The index in the set.
    #[default]
    Index,
    Id,
    Name,
    /// The categories of a column, in the order of their codes.
    Category(usize),
    /// The current value of a field.
    Field(ProbeId),
}

#[derive(Clone, Debug, Default, PartialEq)]
struct RowsRequest {
    filter: String,
    shown: u64,
    by: By,
    descending: bool,
}

/// The rows, or the error of the filter's query.
type RowsResult = Result<Vec<u32>, String>;

#[derive(Default)]
pub struct Order {
    rows: Arc<Vec<u32>>,
    request: RowsRequest,
    done: Option<(RowsRequest, Instant)>,
    job: Option<(RowsRequest, mpsc::Receiver<RowsResult>)>,
    mistake: Option<String>,
}

impl Order {
    /// Returns the elements in display order.
    pub fn rows(&self) -> Arc<Vec<u32>> {
        self.rows.clone()
    }

    /// Returns the error of the filter; `None` if it is valid.
    pub fn mistake(&self) -> Option<&str> {
        self.mistake.as_deref()
    }

    /// Whether a new order is being computed.
    pub fn is_busy(&self) -> bool {
        self.job.is_some() && self.done.as_ref().is_none_or(|(request, _)| *request != self.request)
    }

    /// Returns whether rows are sorted in ascending order by this key; `None` if they are sorted by another one.
    pub fn sorted(&self, by: By) -> Option<bool> {
        (self.request.by == by).then_some(!self.request.descending)
    }

    /// Sorts by a key, or reverses the order if rows are already sorted by it. Fields are first sorted in descending order.
    pub fn sort_by(&mut self, by: By) {
        let descending = if self.request.by == by { !self.request.descending } else { matches!(by, By::Field(_)) };
        self.request = RowsRequest { by, descending, ..std::mem::take(&mut self.request) };
    }

    /// Takes a finished result and starts a job if the filter, the order or live values have changed.
    pub fn update(
        &mut self,
        ctx: &egui::Context,
        set: &Arc<ElementSet>,
        filter: &str,
        shown: &FilterMask,
        query_context: impl FnOnce() -> QueryContext,
        values: &BTreeMap<ProbeId, Arc<Vec<f32>>>,
        reads_fields: bool,
    ) {
        self.request.shown = shown.generation;
        if self.request.filter != filter {
            filter.clone_into(&mut self.request.filter);
        }
        if let Some((request, receiver)) = &self.job {
            match receiver.try_recv() {
                Ok(rows) => {
                    self.mistake = rows.as_ref().err().cloned();
                    if let Ok(rows) = rows {
                        self.rows = Arc::new(rows);
                    }
                    self.done = Some((request.clone(), Instant::now()));
                    self.job = None;
                }
                Err(mpsc::TryRecvError::Disconnected) => self.job = None,
                Err(mpsc::TryRecvError::Empty) => return,
            }
        }
        let field = if let By::Field(probe) = self.request.by { values.get(&probe).cloned() } else { None };
        let is_live = field.is_some() || reads_fields;
        let is_done =
            self.done.as_ref().is_some_and(|(w, at)| *w == self.request && !(is_live && at.elapsed() > RESORT_EVERY));
        if is_done {
            return;
        }
        if (RowsRequest { shown: 0, ..self.request.clone() }) == RowsRequest::default()
            && shown.mask(set.name).is_none()
        {
            self.rows = Arc::new((0..set.len).collect());
            self.done = Some((self.request.clone(), Instant::now()));
            return;
        }
        let (sender, receiver) = mpsc::channel();
        let (set, request) = (set.clone(), self.request.clone());
        let (mask, context) = (shown.shared(set.name), query_context());
        pool::spawn(ctx, move || {
            // The query is evaluated on the pool; sending fails if the view was closed.
            let rows = match is_query(&request.filter) {
                true => context.with(|known| known.select(&request.filter)).map_err(|wrong| wrong.of(&request.filter)),
                false => Ok(matching(&set, &request.filter)),
            };
            let is_shown = |e: &u32| mask.as_ref().is_none_or(|m| m.get(*e as usize) == Some(&true));
            let rows = rows.map(|rows| rows.into_iter().filter(is_shown).collect());
            sender.send(rows.map(|rows| arrange(rows, &set, &request, field.as_deref().map_or(&[], |v| v)))).ok();
        });
        self.job = Some((self.request.clone(), receiver));
    }
}

/// Whether a text is a query rather than search words.
fn is_query(text: &str) -> bool {
    text.contains(['=', '<', '>', '~', '(']) || ["in ", "not "].iter().any(|w| text.trim_start().starts_with(w))
}

fn arrange(mut rows: Vec<u32>, set: &ElementSet, request: &RowsRequest, values: &[f32]) -> Vec<u32> {
    let value = |e: &u32| values.get(*e as usize).copied().unwrap_or(f32::NEG_INFINITY);
    let code = |c: usize, e: &u32| set.columns.get(c).and_then(|c| c.codes.get(*e as usize)).copied().unwrap_or(0);
    match request.by {
        By::Index => {}
        By::Id => rows.sort_by_key(|e| set.ids.get(*e as usize).copied().unwrap_or(0)),
        By::Name => rows.sort_by(|a, b| set.names.get(*a as usize).cmp(&set.names.get(*b as usize))),
        By::Category(c) => rows.sort_by_key(|e| code(c, e)),
        By::Field(_) => rows.sort_by(|a, b| value(a).total_cmp(&value(b))),
    }
    if request.descending {
        rows.reverse();
    }
    rows
}

/// Returns the elements that match every word of the filter. A word matches if the id, the name or a category contains it, or if
/// it is the index.
fn matching(set: &ElementSet, filter: &str) -> Vec<u32> {
    let words: Vec<String> = filter.split_whitespace().map(str::to_lowercase).collect();
    let tests: Vec<Word> = words.iter().map(|w| Word::new(set, w)).collect();
    (0..set.len).filter(|e| tests.iter().all(|t| t.matches(set, *e))).collect()
}

/// One word of a filter. Categories are compared once per label instead of once per element.
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
        assert_eq!(arrange(vec![0, 1, 2, 3], &set(), &order.request, &[0.5, 9.0, f32::NAN, 3.0])[1..], [1, 3, 0]);
        order.sort_by(By::Field(3));
        assert_eq!(order.sorted(By::Field(3)), Some(true));
    }
}
