//! Event counts of the selected range, computed on the pool.

use crate::{
    app::{
        document::{features::probes_where, open_document::Document, time::spikes::between},
        kit::{self, pool, theme::Tokens},
        views::rate,
    },
    sim::{ProbeId, Shape, Spike},
};
use egui::{Grid, RichText, Ui};
use std::sync::Arc;

/// Event counts of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Figures {
    events: u64,
    active: u32,
    busiest: (u32, u32),
}

type TimeStatsKey = (u64, u64, u64);
type Counted = Vec<(ProbeId, Figures)>;

/// Event counts of the last range, and the job that counts a new range.
#[derive(Default)]
pub struct Stats {
    shown: Option<(TimeStatsKey, Counted)>,
    pool_job: pool::PoolJob<TimeStatsKey, Counted>,
}

fn count(chunks: &[Arc<Vec<Spike>>], from: u32, to: u32, n: usize) -> Figures {
    let mut counts = vec![0u32; n];
    for spike in chunks.iter().flat_map(|chunk| between(chunk, from, to)) {
        if let Some(count) = counts.get_mut(spike.lane as usize) {
            *count += 1;
        }
    }
    let busiest = counts.iter().enumerate().max_by_key(|(_, n)| **n).map_or((0, 0), |(e, n)| (e as u32, *n));
    Figures {
        events: counts.iter().map(|n| u64::from(*n)).sum(),
        active: counts.iter().filter(|n| **n > 0).count() as u32,
        busiest,
    }
}

impl Stats {
    fn update(&mut self, ctx: &egui::Context, document: &Document, key: TimeStatsKey) {
        if let Some(counted) = self.pool_job.poll() {
            self.shown = Some(counted);
        }
        if !self.pool_job.is_free(&key) || self.shown.as_ref().is_some_and(|(of, _)| *of == key) {
            return;
        }
        let schema = &document.session.live.schema;
        let parts: Vec<_> = document
            .time
            .past
            .trains()
            .filter_map(|(id, train)| {
                let Shape::Spikes { over } = schema.probes.get(usize::from(id))?.shape else { return None };
                let history = &train.history;
                let mut chunks: Vec<Arc<Vec<Spike>>> = history.chunks().map(|(_, c)| c.clone()).collect();
                chunks.push(Arc::new(history.tail().to_vec()));
                let relative = |step: u64| step.saturating_sub(history.origin()).min(u64::from(u32::MAX)) as u32;
                Some((id, chunks, relative(key.0), relative(key.1), schema.set(over)?.len as usize))
            })
            .collect();
        self.pool_job.start(ctx, key, move || {
            parts.iter().map(|(id, chunks, from, to, n)| (*id, count(chunks, *from, *to, *n))).collect()
        });
    }
}

pub(super) fn ui(ui: &mut Ui, document: &Document, stats: &mut Stats, (from, to): (f64, f64)) {
    let t = Tokens::of(ui.ctx());
    let sequence = document.time.past.trains().map(|(_, train)| train.history.sequence()).sum();
    // For a past range, later spikes do not change the result.
    let complete_to = document.time.past.complete_to(document.time.past.newest());
    let sequence = if to < complete_to as f64 { 0 } else { sequence };
    stats.update(ui.ctx(), document, (from as u64, to.ceil() as u64, sequence));
    ui.set_width(240.0);
    ui.label(RichText::new(format!("{} to {}", document.time_text(from), document.time_text(to))).color(t.text_strong));
    let base = document.session.live.clock.base;
    let shown = stats.shown.as_ref().map_or(&[][..], |(_, counted)| counted);
    let schema = &document.session.live.schema;
    for (id, spec) in probes_where(schema, |s| matches!(s, Shape::Spikes { .. })) {
        let Some((_, figures)) = shown.iter().find(|(of, _)| *of == id) else { continue };
        let Shape::Spikes { over } = spec.shape else { continue };
        let Some(set) = schema.set(over) else { continue };
        Grid::new(("range", id)).num_columns(2).spacing([16.0, 2.0]).show(ui, |ui| {
            let mut row = |name: &str, value: String| {
                ui.label(RichText::new(name).small().color(t.text_sub));
                ui.label(RichText::new(value).small().monospace().color(t.text));
                ui.end_row();
            };
            row(&kit::spaced(spec.name), kit::thousands(figures.events));
            let active = f64::from(figures.active) / f64::from(set.len.max(1)) * 100.0;
            row("Active", format!("{} ({active:.1} %)", kit::thousands(u64::from(figures.active))));
            let mean = rate::rate(figures.events as f64, set.len, to - from, base);
            row(&format!("Rate ({})", rate::unit_of(set, set.len, base)), kit::reading(mean as f32));
            row(
                "Most active",
                format!("{} ({})", set.label(figures.busiest.0), kit::thousands(u64::from(figures.busiest.1))),
            );
        });
    }
    if stats.pool_job.is_busy() {
        ui.spinner();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_counted_exactly() {
        let spikes = (0..1_000u32).map(|i| Spike { step: i, lane: i % 7 }).collect();
        let figures = count(&[Arc::new(spikes)], 100, 171, 10);
        assert_eq!((figures.events, figures.active), (71, 7));
        assert_eq!(figures.busiest.1, 11);
    }
}
