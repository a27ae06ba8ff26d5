//! Spans in which interventions acted. The past span of an intervention stays after it is removed or changed.

use super::Span;

/// Maximum number of past spans, of which the newest are kept.
const MAX_PAST: usize = 500;

/// Interventions of a run, past and present.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Acted {
    present: Vec<Span>,
    past: Vec<Span>,
}

impl Acted {
    /// Sets the interventions that act from a step on. Former interventions that are not among them end at the step.
    pub fn declare(&mut self, step: u64, spans: Vec<Span>) {
        let step = step as f64;
        let mut old = std::mem::take(&mut self.present);
        // Unchanged spans are matched first, then renamed spans, which act as before.
        let as_known = |known: &Span, span: &Span| Span { since: span.since, ..known.clone() };
        let mut since = vec![None; spans.len()];
        for may_rename in [false, true] {
            for (span, since) in spans.iter().zip(&mut since).filter(|(_, since)| since.is_none()) {
                let is_same = |known: &Span| {
                    let known = as_known(known, span);
                    known == *span || may_rename && Span { label: span.label.clone(), ..known } == *span
                };
                *since = old.iter().position(is_same).map(|i| old.remove(i).since);
            }
        }
        let with_since = |(span, since): (Span, Option<f64>)| Span { since: since.unwrap_or(step), ..span };
        self.present = spans.into_iter().zip(since).map(with_since).collect();
        // Spans that never acted are not part of the history.
        let ended = old.into_iter().map(|span| Span { to: span.to.min(step), ..span });
        self.past.extend(ended.filter(|span| span.from.max(span.since) < span.to));
        self.past.drain(..self.past.len().saturating_sub(MAX_PAST));
    }

    /// Returns all spans, the past ones first.
    pub fn spans(&self) -> Vec<Span> {
        self.past.iter().chain(&self.present).cloned().collect()
    }
}

/// Assigns a row to each span, so that overlapping spans do not share a row. There are at most `most` rows; the last row
/// contains all remaining spans.
pub fn rows(spans: &[Span], most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by(|a, b| spans[*a].start().total_cmp(&spans[*b].start()));
    let (mut rows, mut ends) = (vec![0; spans.len()], Vec::<f64>::new());
    for i in order {
        let free = ends.iter().position(|end| *end <= spans[i].start());
        let row = free.unwrap_or(ends.len()).min(most.max(1) - 1);
        if row == ends.len() {
            ends.push(f64::NEG_INFINITY);
        }
        ends[row] = ends[row].max(spans[i].to);
        rows[i] = row;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(label: &str, from: f64, to: f64) -> Span {
        Span { label: label.into(), from, to, since: 0.0, is_lesion: false, pulses: None }
    }

    #[test]
    fn an_undone_stimulus_stays_where_it_acted() {
        let mut acted = Acted::default();
        acted.declare(0, vec![span("a", 0.0, f64::INFINITY)]);
        acted.declare(500, vec![span("a", 0.0, f64::INFINITY), span("b", 0.0, f64::INFINITY)]);
        acted.declare(900, vec![span("a", 0.0, f64::INFINITY)]);
        let spans = acted.spans();
        assert_eq!(spans.len(), 2);
        let b = spans.iter().find(|s| s.label == "b").expect("it acted");
        assert_eq!(b.parts(0.0, 2000.0).collect::<Vec<_>>(), [(500.0, 900.0)]);
        // Intervention c is removed before it would act, and a is changed.
        acted.declare(1000, vec![span("a", 0.0, 5000.0), span("c", 9000.0, 9100.0)]);
        acted.declare(1200, vec![span("a", 0.0, 5000.0)]);
        let spans = acted.spans();
        assert!(spans.iter().all(|s| s.label != "c"), "it never acted");
        let a: Vec<(f64, f64)> = spans.iter().filter(|s| s.label == "a").flat_map(|s| s.parts(0.0, 9e9)).collect();
        assert_eq!(a, [(0.0, 1000.0), (1000.0, 5000.0)]);
    }

    #[test]
    fn a_renamed_stimulus_acts_as_before() {
        let mut acted = Acted::default();
        acted.declare(0, vec![span("a", 0.0, f64::INFINITY), span("b", 0.0, f64::INFINITY)]);
        acted.declare(500, vec![span("c", 0.0, f64::INFINITY), span("b", 0.0, f64::INFINITY)]);
        let spans = acted.spans();
        let found: Vec<(&str, f64)> = spans.iter().map(|s| (s.label.as_str(), s.since)).collect();
        assert_eq!(found, [("c", 0.0), ("b", 0.0)]);
    }

    #[test]
    fn spans_that_overlap_have_rows_of_their_own() {
        let spans = [span("a", 0.0, 100.0), span("b", 50.0, 200.0), span("c", 100.0, 150.0), span("d", 60.0, 70.0)];
        assert_eq!(rows(&spans, 3), [0, 1, 0, 2]);
        assert_eq!(rows(&spans, 2), [0, 1, 0, 1], "the last row takes the rest");
        assert_eq!(rows(&[], 3), Vec::<usize>::new());
    }
}
