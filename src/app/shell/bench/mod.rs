//! `neuropil bench window`: the UI-thread time per frame of the whole window, without painting, while a scripted simulation sends
//! spikes at a fixed rate through the real engine; and the cost of the window for running projects.

pub mod drawing;
mod load;
pub mod projects;

use crate::{
    app::{
        document::{live::Builder, time::Time},
        shell::{app::create, start::Start},
    },
    kinds::shared::trials::TrialSet,
    project::{Project, RunPlan},
    sim::Simulation,
};
use load::Load;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Measured rates, spikes per second of wall time.
pub const RATES: [f64; 2] = [1e6, 30e6];
/// Number of trials of the simulation with several, which sends spikes at the lowest rate.
pub const TRIALS: u32 = 32;
/// Time per frame of a display with 60 frames per second.
const FRAME: Duration = Duration::from_micros(16_667);
/// Maximum UI-thread time of a frame, ms.
const BUDGET_MS: f64 = 8.0;
/// Duration before the measurement begins.
const WARM_UP: Duration = Duration::from_secs(2);
const SIZE: egui::Vec2 = egui::vec2(1440.0, 900.0);

/// Result of the measurement at one rate.
#[derive(Clone, Debug, serde::Serialize)]
pub struct WindowRow {
    /// Spikes sent per second of wall time, by each trial.
    pub spikes_per_s: f64,
    /// Number of trials of the simulation, of which one is shown.
    pub trials: u32,
    pub frames: usize,
    /// Median UI-thread time per frame, ms: update, layout and tessellation.
    pub ui_median_ms: f64,
    /// 99th percentile of the UI-thread time per frame, ms.
    pub ui_p99_ms: f64,
    /// 99th percentiles of the parts of the UI-thread time per frame, ms: update, layout, tessellation.
    pub parts_p99_ms: [f64; 3],
    /// Number of frames over the budget of [`BUDGET_MS`].
    pub over_budget: usize,
    /// Spikes that arrived in the window per second of wall time.
    pub received_per_s: f64,
    /// Spikes lost because the window or its indexer lagged.
    pub lost: u64,
    /// Simulated seconds whose density is in memory.
    pub density_s: f64,
    /// Simulated seconds of single spikes in memory.
    pub single_s: f64,
}

/// Measures for `secs` seconds at each rate, and with several trials. Fails if the app cannot be created or `secs` is too short for a frame.
pub fn run(secs: f64) -> Result<Vec<WindowRow>, String> {
    let rows = RATES.map(|rate| (rate, 1)).into_iter().chain([(RATES[0], TRIALS)]);
    rows.map(|(rate, trials)| measure(rate, trials, Duration::from_secs_f64(secs))).collect()
}

/// Formats the result as one line per rate, or as JSON.
pub fn report(rows: &[WindowRow], json: bool) -> Vec<String> {
    if json {
        return vec![serde_json::to_string_pretty(rows).unwrap_or_default()];
    }
    let line = |row: &WindowRow| {
        format!(
            "{:5.1} M spikes/s  {:2} trials  UI thread median {:6.2} ms  p99 {:6.2} ms (update {:.2}, layout {:.2}, tessellation {:.2})  \
             {} of {} frames over {BUDGET_MS} ms  received {:5.1} M/s  lost {}  density {:.1} s  single spikes {:.1} s",
            row.spikes_per_s * 1e-6,
            row.trials,
            row.ui_median_ms,
            row.ui_p99_ms,
            row.parts_p99_ms[0],
            row.parts_p99_ms[1],
            row.parts_p99_ms[2],
            row.over_budget,
            row.frames,
            row.received_per_s * 1e-6,
            row.lost,
            row.density_s,
            row.single_s
        )
    };
    rows.iter().map(line).collect()
}

fn measure(rate: f64, trials: u32, length: Duration) -> Result<WindowRow, String> {
    let ctx = egui::Context::default();
    let start = start(move || {
        let simulation = || Box::new(Load::simulation(rate)) as Box<dyn Simulation>;
        TrialSet::new((0..trials).map(|_| simulation()).collect(), &[], trials as usize)
    });
    let mut app = create(&eframe::CreationContext::_new_kittest(ctx.clone()), start)?;
    let mut frame = eframe::Frame::_new_kittest();
    let (begin, mut ms) = (Instant::now(), Vec::new());
    let mut first = None;
    while begin.elapsed() < WARM_UP + length {
        let due = Instant::now() + FRAME;
        let took = draw(&ctx, &mut app, &mut frame, begin);
        if begin.elapsed() > WARM_UP {
            first.get_or_insert_with(|| (Instant::now(), spikes(app.time())));
            ms.push(took);
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    let (since, n) = first.ok_or("the measurement was too short")?;
    let received_per_s = (spikes(app.time()) - n) as f64 / since.elapsed().as_secs_f64();
    let sorted = |of: fn(&[f64; 3]) -> f64| {
        let mut all: Vec<f64> = ms.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let total = sorted(|parts| parts.iter().sum());
    let past = &app.time().past;
    let secs = |from: u64| past.newest().saturating_sub(from) as f64 * app.session().live.clock.base.per_step();
    let skipped: u64 = past.trains().map(|(_, train)| train.skipped).sum();
    Ok(WindowRow {
        spikes_per_s: rate,
        trials,
        frames: ms.len(),
        ui_median_ms: quantile(&total, 0.5),
        ui_p99_ms: quantile(&total, 0.99),
        parts_p99_ms: [sorted(|p| p[0]), sorted(|p| p[1]), sorted(|p| p[2])].map(|part| quantile(&part, 0.99)),
        over_budget: total.iter().filter(|ms| **ms > BUDGET_MS).count(),
        received_per_s,
        lost: skipped + past.n_lost(),
        density_s: secs(past.first()),
        single_s: secs(past.oldest()),
    })
}

/// Returns a start of the window that runs a simulation without a duration and saves nothing.
fn start<S: Simulation + 'static>(simulation: impl Fn() -> S + Send + Sync + 'static) -> Start {
    let builder: Builder = Arc::new(move |_, _, _| Ok(Box::new(simulation()) as Box<dyn Simulation>));
    Start {
        project: Some(Project { run: RunPlan { continuous: true, ..RunPlan::default() }, ..Project::default() }),
        builder: Some(builder),
        run: true,
        native_dialogs: false,
        state_dir: None,
        config_dir: None,
        ..Start::default()
    }
}

/// Returns a quantile of sorted numbers; NaN without numbers.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get(((sorted.len() as f64 * q) as usize).min(last)).copied().unwrap_or(f64::NAN)
}

/// Returns the number of spikes indexed so far.
fn spikes(time: &Time) -> u64 {
    time.past.trains().map(|(_, train)| train.history.sequence()).sum()
}

/// Runs one frame. Returns the times of update, layout and tessellation, ms.
fn draw(ctx: &egui::Context, app: &mut impl eframe::App, frame: &mut eframe::Frame, begin: Instant) -> [f64; 3] {
    let ([update, layout], mut output) = lay_out(ctx, app, frame, begin);
    output.textures_delta.clear(); // nothing is painted
    let laid_out = Instant::now();
    drop(ctx.tessellate(std::mem::take(&mut output.shapes), output.pixels_per_point));
    [update, layout, laid_out.elapsed().as_secs_f64() * 1e3]
}

/// Updates and lays out one frame. Returns the times of both, ms, and the output.
fn lay_out(
    ctx: &egui::Context,
    app: &mut impl eframe::App,
    frame: &mut eframe::Frame,
    begin: Instant,
) -> ([f64; 2], egui::FullOutput) {
    let input = egui::RawInput {
        screen_rect: Some(egui::Rect::from_min_size(egui::Pos2::ZERO, SIZE)),
        time: Some(begin.elapsed().as_secs_f64()),
        ..egui::RawInput::default()
    };
    let start = Instant::now();
    eframe::App::logic(app, ctx, frame);
    let updated = Instant::now();
    let output = ctx.run_ui(input, |ui| eframe::App::ui(app, ui, frame));
    ([updated - start, updated.elapsed()].map(|part| part.as_secs_f64() * 1e3), output)
}
