//! Statistics of spike trains of the selection or of all elements: ISI, CV, Fano factor, correlations and power.

mod compute;
mod plots;
mod sonogram;
mod table;

use super::{MenuEntry, View, ViewCtx, ViewDeclaration, placeholder, rate, run_ui, unfit_ui};
use crate::{
    app::{
        document::{
            features::{has_probe, probes_where, tap},
            layout::Page,
            selection::Selection,
        },
        kit::{self, icons, pool::PooledResult},
    },
    engine::SimSchema,
    sim::{ElementSet, ProbeId, SPIKES, Shape, Tap, TimeBase},
};
use compute::{Stats, Task};
use egui::{Rect, Ui};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Inverse of the maximum fraction of a thread's time that statistics take while the simulation runs.
const DUTY: u32 = 10;
/// Maximum number of spikes analysed while the simulation runs; only the newest are.
const MAX_LIVE_SPIKES: usize = 4_000_000;
/// Minimum time between two updates.
const UPDATE_INTERVAL: Duration = Duration::from_millis(1_000);

/// Minimum height of a narrow panel with plots, points; a lower one shows only the table.
const TABLE_ONLY_HEIGHT: f32 = 230.0;

/// The statistics view.
pub struct Statistics {
    probe: Option<ProbeId>,
    /// Name of the events in texts: `spikes`, `births`.
    noun: String,
    set: Option<Arc<ElementSet>>,
    is_all: bool,
    last_secs: f64,
    fano_ms: f64,
    bin_ms: f64,
    stats: PooledResult<StatisticsKey, Stats>,
    table: table::StatsTable,
    /// Whether power is drawn as a spectrogram.
    over_time: bool,
    pictures: plots::Pictures,
    n_results: u64,
    /// Start time of the last job. `took` is the duration of the last finished one.
    asked: Option<Instant>,
    took: Duration,
    /// Whether only the newest spikes were analysed.
    is_sample: bool,
    /// Generation of the filter, and the elements that it shows.
    filtered: (u64, Arc<Vec<u32>>),
}

/// Parameters of a result.
#[derive(Clone, Debug, Default, PartialEq)]
struct StatisticsKey {
    of: Option<Arc<Vec<u32>>>,
    last_bits: u64,
    fano_bits: u64,
    bin_bits: u64,
    epoch: u64,
}

impl Default for Statistics {
    fn default() -> Self {
        Self {
            probe: None,
            noun: SPIKES.into(),
            set: None,
            is_all: false,
            last_secs: 0.0,
            fano_ms: 100.0,
            bin_ms: 5.0,
            stats: PooledResult::default(),
            table: table::StatsTable::default(),
            over_time: false,
            pictures: plots::Pictures::default(),
            n_results: 0,
            asked: None,
            took: Duration::ZERO,
            is_sample: false,
            filtered: (0, Arc::default()),
        }
    }
}

impl Statistics {
    fn settle(&mut self, schema: &SimSchema) {
        let spikes = |s: &Shape| matches!(s, Shape::Spikes { .. });
        let found = probes_where(schema, spikes).next();
        self.probe = found.map(|(id, _)| id);
        self.noun = found.map_or_else(|| SPIKES.to_owned(), |(_, probe)| probe.events());
        let over = self.probe.and_then(|p| match schema.probes[usize::from(p)].shape {
            Shape::Spikes { over } => schema.set(over),
            _ => None,
        });
        self.set = over.cloned();
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>) {
        let options = [(false, "selection".to_owned()), (true, "all".to_owned())];
        kit::choice_ui(ui, ctx.tokens, "Of", &mut self.is_all, &options);
        let spans = [(0.0, "all in memory"), (10.0, "last 10 s"), (2.0, "last 2 s"), (0.5, "last 500 ms")];
        kit::choice_ui(ui, ctx.tokens, "Over", &mut self.last_secs, &spans.map(|(s, text)| (s, text.to_owned())));
        let ms = |v: f64| (v, format!("{v} ms"));
        kit::choice_ui(ui, ctx.tokens, "Fano window", &mut self.fano_ms, &[50.0, 100.0, 500.0, 1000.0].map(ms));
        kit::choice_ui(ui, ctx.tokens, "r bin", &mut self.bin_ms, &[1.0, 2.0, 5.0, 10.0, 50.0].map(ms));
        let powers = [(false, "PSD".to_owned()), (true, "spectrogram".to_owned())];
        kit::choice_ui(ui, ctx.tokens, "Power", &mut self.over_time, &powers);
        placeholder::job_status_ui(ui, ctx.tokens, &mut self.stats);
    }

    /// Returns the elements that the filter shows; `None` without a filter.
    fn filtered(&mut self, ctx: &ViewCtx<'_>, set: &ElementSet) -> Option<Arc<Vec<u32>>> {
        let filter = ctx.filter.shown();
        let mask = filter.mask(set.name)?;
        if self.filtered.0 != filter.generation {
            let shown = (0..).zip(mask).filter(|(_, is_shown)| **is_shown).map(|(element, _)| element);
            self.filtered = (filter.generation, Arc::new(shown.collect()));
        }
        Some(self.filtered.1.clone())
    }

    fn ask(&mut self, ui: &Ui, ctx: &ViewCtx<'_>, set: &ElementSet) {
        let Some(train) = self.probe.and_then(|p| ctx.time.past.train(p)) else { return };
        let of = if self.is_all { self.filtered(ctx, set) } else { Some(ctx.selection.elements.clone()) };
        let bits = [self.last_secs, self.fano_ms, self.bin_ms].map(f64::to_bits);
        let key = StatisticsKey {
            of: of.clone(),
            last_bits: bits[0],
            fano_bits: bits[1],
            bin_bits: bits[2],
            epoch: train.history.sequence(),
        };
        if self.stats.poll() {
            self.n_results += 1;
            self.took = self.asked.map_or(Duration::ZERO, |asked| asked.elapsed());
        }
        let only_time =
            self.stats.key().is_some_and(|known| StatisticsKey { epoch: key.epoch, ..known.clone() } == key);
        if self.stats.is_busy() && only_time || !self.stats.is_stale(&key) {
            return;
        }
        let pause = if ctx.running { UPDATE_INTERVAL.max(self.took * (DUTY - 1)) } else { UPDATE_INTERVAL };
        if only_time && self.stats.age() < pause {
            return ui.ctx().request_repaint_after(pause);
        }
        let to = ctx.live_edge().saturating_sub(train.history.origin()).min(u64::from(u32::MAX)) as u32;
        let oldest = train.history.first_step().filter(|_| train.history.dropped() > 0).unwrap_or(0);
        let span = (self.last_secs / ctx.clock.base.per_step()) as u32;
        let from = if self.last_secs > 0.0 { oldest.max(to.saturating_sub(span)) } else { oldest };
        let live = train.history.first_step_of_newest(MAX_LIVE_SPIKES).filter(|live| ctx.running && *live > from);
        self.is_sample = live.is_some();
        let from = live.unwrap_or(from);
        self.asked = Some(Instant::now());
        let task = Task {
            is_parallel: !ctx.running,
            spikes: train.history.share(from, to),
            steps: (from, to),
            origin: train.history.origin(),
            base: ctx.clock.base,
            of,
            lists_silent: !self.is_all,
            n: set.len,
            fano_ms: self.fano_ms,
            bin_ms: self.bin_ms,
        };
        self.stats.want(ui.ctx(), key, move |progress| compute::compute(&task, progress));
    }

    fn caption(&self, stats: Option<&Stats>, set: &ElementSet, base: TimeBase) -> String {
        let Some(stats) = stats else { return String::new() };
        let noun = &self.noun;
        let unit = rate::unit_of(set, stats.n_elements, base);
        let mean = stats.mean_fano.map_or_else(String::new, |(mean, n)| {
            format!("  |  Fano factor mean {}, n = {}", kit::value(mean), kit::thousands(n as u64))
        });
        format!(
            "{} {unit}  |  {} in {}{mean}",
            kit::reading(stats.rate as f32),
            kit::counted(stats.n_spikes, noun),
            kit::steps(stats.secs / base.per_step(), base),
        ) + &if self.is_sample { format!("  |  the newest {noun}; all when paused") } else { String::new() }
    }

    fn body_ui(&mut self, ui: &mut Ui, canvas: Rect, ctx: &mut ViewCtx<'_>, set: &Arc<ElementSet>, stats: &Arc<Stats>) {
        let (mut left, mut right) = (canvas, canvas);
        // A low and narrow panel shows only the table.
        if canvas.width() <= 640.0 && canvas.height() < TABLE_ONLY_HEIGHT {
            return self.table.ui(ui, canvas, ctx, (set, &self.noun), stats);
        }
        if canvas.width() > 640.0 {
            let middle = canvas.left() + canvas.width() * 0.62;
            (left.max.x, right.min.x) = (middle, middle);
        } else {
            let middle = canvas.top() + canvas.height() * 0.6;
            (left.max.y, right.min.y) = (middle, middle);
        }
        plots::ui(
            ui,
            left.shrink(2.0),
            ctx,
            (set, &self.noun),
            stats,
            self.bin_ms,
            &mut self.pictures,
            self.over_time,
            self.n_results,
        );
        self.table.ui(ui, right, ctx, (set, &self.noun), stats);
    }
}

impl Statistics {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "statistics",
        title: "Statistics",
        icon: icons::GRID,
        help: "# Statistics\n\nOf the events in memory, for the selection or for all; updated every \
         second while the simulation runs. The rate is a mean over all of them, silent ones included. Variances divide by n, as in Elephant and NumPy.\n\n\
         **ISI**: intervals between the spikes of each element, all together, in bins of equal ratios.\n\n\
         **CV**: standard deviation of an element's intervals over their mean (*elephant.statistics.cv*); needs three \
         spikes. A regular train has 0, a Poisson train 1.\n\n\
         **Fano factor**: variance of an element's counts in adjacent windows over their mean \
         (*elephant.statistics.fanofactor*, windows in place of trials). A Poisson train has 1.\n\n\
         **Correlation**: Pearson's, of counts in bins (*elephant.spike_train_correlation.correlation_coefficient*), among \
         the most active.\n\n\
         **PSD**: power of the mean rate per element, sampled every millisecond, after Welch (1967) with Hann windows, \
         50 % overlap and the mean removed (*elephant.spectral.welch_psd*); or over time as a **spectrogram** of at least \
         sixteen segments.",
        pages: &[Page::Simulate, Page::Explore],
        fits: |schema| has_probe(schema, |shape| matches!(shape, Shape::Spikes { .. })),
        menu: Some(MenuEntry::plot(1, "Statistics")),
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Statistics {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn taps(&self, schema: &SimSchema, _: &Selection) -> Vec<Tap> {
        let spikes = |s: &Shape| matches!(s, Shape::Spikes { .. });
        probes_where(schema, spikes).next().map(|(id, _)| tap(id)).into_iter().collect()
    }

    fn reset(&mut self, schema: &SimSchema) {
        self.settle(schema);
        self.stats.clear();
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        self.settle(ctx.schema);
        let Some(set) = self.set.clone() else {
            return unfit_ui(ui, ctx, ["No events", "This simulation reports no events in time"]);
        };
        let is_empty = !self.is_all && ctx.selection.of(set.name).is_empty();
        if !is_empty {
            self.ask(ui, ctx, &set);
        }
        let stats = self.stats.get().cloned().filter(|_| !is_empty);
        let caption = self.caption(stats.as_deref(), &set, ctx.clock.base);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx));
        ui.painter().rect_filled(canvas, 0.0, ctx.tokens.canvas);
        if is_empty {
            let how = format!("Select {} in any view", set.noun());
            if kit::empty_ui(ui, canvas, ctx, "Nothing selected", &how, Some(&format!("Use all {}", set.noun()))) {
                self.is_all = true;
            }
            return;
        }
        match stats {
            Some(stats) => self.body_ui(ui, canvas, ctx, &set, &stats),
            None if self.stats.is_busy() || self.stats.ended().is_some() => {
                placeholder::job_ui(ui, canvas, ctx, "Computing statistics", &mut self.stats);
            }
            None => run_ui(ui, canvas, ctx, &format!("No {} yet", self.noun), "Run to see statistics"),
        }
    }
}
