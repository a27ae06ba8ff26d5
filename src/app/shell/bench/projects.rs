//! Cost of the window for running projects: steps per second with all subscriptions of the window, while it is laid out 60 times
//! per second, relative to an engine without a window that samples the probes that the project records.

use super::{FRAME, WARM_UP, draw, quantile};
use crate::{
    app::{
        document::live::{Builder, Live},
        host::device::Devices,
        kit::text,
        shell::{app::create, start::Start},
    },
    engine::{Command, Engine, EngineCounters, Event},
    project::Project,
    sim::{Progress, Simulation, Tap},
};
use serde::Serialize;
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

/// Maximum time to build a simulation and take its first step.
const BUILD_AT_MOST: Duration = Duration::from_secs(300);

/// Project to measure.
#[derive(Clone)]
pub struct Case {
    /// Name of the project in the result.
    pub name: String,
    pub project: Project,
    /// Folder that relative paths of the project start from.
    pub folder: PathBuf,
}

/// Result of one project.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProjectRow {
    pub project: String,
    pub kind: &'static str,
    pub device: String,
    /// Steps per second of wall time without a window, median. The probes that the project records are sampled, as by
    /// `neuropil run`: periodic measurements such as held-out losses are part of the run.
    pub headless_steps_per_s: f64,
    /// Median change for an engine that samples nothing, percent of the speed without a window: the cost of those
    /// measurements.
    pub unrecorded_change_percent: f64,
    /// Steps per second of wall time with the window, median.
    pub window_steps_per_s: f64,
    /// Median change of the pairs, percent; negative if the window costs time.
    pub change_percent: f64,
    /// Median change for an engine that samples the window's subscriptions without a window, percent: the part of the readings.
    pub readings_change_percent: f64,
    /// Median UI-thread time per frame, ms.
    pub ui_median_ms: f64,
    /// 99th percentile of the UI-thread time per frame, ms.
    pub ui_p99_ms: f64,
    /// Median and 99th percentile of the parts of the UI-thread time per frame, ms: update, layout, tessellation.
    pub parts_ms: [[f64; 2]; 3],
    /// Median and 99th percentile of the CPU time of the UI thread per frame, ms, which excludes time that other
    /// threads take on a busy machine. 0 if the system does not report it.
    pub ui_cpu_ms: [f64; 2],
    /// Median and 99th percentile of the layout time of each part of the window, ms, of the last repetition.
    pub panels_ms: Vec<(&'static str, [f32; 2])>,
    /// Names of the probes that the window subscribes to.
    pub subscribed: Vec<&'static str>,
}

/// One measurement of a project in the window.
struct InWindow {
    steps_per_s: f64,
    frames_ms: Vec<[f64; 3]>,
    cpu_ms: Vec<f64>,
    panels_ms: Vec<(&'static str, [f32; 2])>,
    subscribed: Vec<&'static str>,
    taps: Vec<Tap>,
}

/// Returns the CPU time of this thread, ms; 0 if the system does not report it.
fn thread_cpu_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(0.0) * 1e-6
}

/// Measures each project `repeats` times for `secs` seconds without and with the window. Fails if a simulation cannot be built or
/// fails.
pub fn run(cases: Vec<Case>, secs: f64, repeats: u32) -> Result<Vec<ProjectRow>, String> {
    let length = Duration::from_secs_f64(secs);
    cases.iter().map(|case| measure(case, length, repeats).map_err(|why| format!("{}: {why}", case.name))).collect()
}

/// Formats the result as a table, or as JSON.
pub fn report(rows: &[ProjectRow], json: bool) -> Vec<String> {
    if json {
        return vec![serde_json::to_string_pretty(rows).unwrap_or_default()];
    }
    let head = format!(
        "{:20} {:11} {:>14} {:>14} {:>9}  {:>11}  {:>12}  device",
        "project", "kind", "headless", "window", "change", "readings", "UI p99"
    );
    let line = |row: &ProjectRow| {
        format!(
            "{:20} {:11} {:>12}/s {:>12}/s {:>+7.1} %  {:>+9.1} %  {:>9.2} ms  {}",
            row.project,
            row.kind,
            text::short(row.headless_steps_per_s),
            text::short(row.window_steps_per_s),
            row.change_percent,
            row.readings_change_percent,
            row.ui_p99_ms,
            row.device
        )
    };
    std::iter::once(head).chain(rows.iter().map(line)).collect()
}

fn measure(case: &Case, length: Duration, repeats: u32) -> Result<ProjectRow, String> {
    let devices = Arc::new(Devices::default());
    let (mut rates, mut frames_ms, mut cpu_ms) = (vec![], vec![], vec![]);
    let (mut panels_ms, mut subscribed) = (vec![], vec![]);
    for _ in 0..repeats.max(1) {
        let headless = without_window(case, &devices, length, case.project.taps().0)?;
        let window = in_window(case, &devices, length)?;
        let with_readings = without_window(case, &devices, length, window.taps)?;
        let unrecorded = without_window(case, &devices, length, vec![])?;
        rates.push([headless, window.steps_per_s, with_readings, unrecorded]);
        frames_ms.extend(window.frames_ms);
        cpu_ms.extend(window.cpu_ms);
        (panels_ms, subscribed) = (window.panels_ms, window.subscribed);
    }
    let quantiles = |of: &dyn Fn(&[f64; 3]) -> f64| {
        let mut all: Vec<f64> = frames_ms.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        [0.5, 0.99].map(|q| quantile(&all, q))
    };
    cpu_ms.sort_by(f64::total_cmp);
    let [ui_median_ms, ui_p99_ms] = quantiles(&|parts: &[f64; 3]| parts.iter().sum());
    let median = |of: &dyn Fn(&[f64; 4]) -> f64| {
        let mut values: Vec<f64> = rates.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        quantile(&values, 0.5)
    };
    Ok(ProjectRow {
        project: case.name.clone(),
        kind: case.project.model.name(),
        device: devices.chosen().name,
        headless_steps_per_s: median(&|rates| rates[0]),
        window_steps_per_s: median(&|rates| rates[1]),
        unrecorded_change_percent: median(&|rates| 100.0 * (rates[3] / rates[0] - 1.0)),
        change_percent: median(&|rates| 100.0 * (rates[1] / rates[0] - 1.0)),
        readings_change_percent: median(&|rates| 100.0 * (rates[2] / rates[0] - 1.0)),
        ui_median_ms,
        ui_p99_ms,
        parts_ms: [0, 1, 2].map(|part| quantiles(&|parts: &[f64; 3]| parts[part])),
        ui_cpu_ms: [0.5, 0.99].map(|q| quantile(&cpu_ms, q)),
        panels_ms,
        subscribed,
    })
}

/// Builds the simulation of a case on its device.
fn build(case: &Case, devices: &Devices, progress: &Progress) -> Result<Box<dyn Simulation>, crate::sim::SimError> {
    let Case { project, folder, .. } = case;
    devices.build(&project.model, &project.build_context(folder), &project.run, progress)
}

/// Measures the steps per second of an engine without a window. It samples `taps`, if any, and its frames are dropped.
fn without_window(case: &Case, devices: &Devices, length: Duration, taps: Vec<Tap>) -> Result<f64, String> {
    let sim = build(case, devices, &Progress::default()).map_err(|e| e.to_string())?;
    let engine = Engine::spawn(|| {}).map_err(|e| e.to_string())?;
    engine.send(Command::Load(sim));
    if !taps.is_empty() {
        engine.send(Command::Subscribe(taps));
    }
    engine.send(Command::Play);
    let step = || EngineCounters::read(&engine.counters.step);
    let mut clock = StepClock::default();
    while clock.is_running(step(), length) {
        while let Ok(event) = engine.events.try_recv() {
            if let Event::Failed(error) = event {
                return Err(error.to_string());
            }
        }
        drop(engine.take_frame());
        clock.check()?;
        std::thread::sleep(FRAME);
    }
    Ok(clock.steps_per_s(step()))
}

/// Measures the steps per second while a window is laid out as on a screen.
fn in_window(case: &Case, devices: &Arc<Devices>, length: Duration) -> Result<InWindow, String> {
    let (built, opened) = (case.clone(), devices.clone());
    let builder: Builder = Arc::new(move |_, _, progress| build(&built, &opened, progress));
    let project = Some(case.project.clone());
    let start = Start { project, builder: Some(builder), run: true, native_dialogs: false, ..Start::default() };
    let ctx = egui::Context::default();
    let mut app = create(&eframe::CreationContext::_new_kittest(ctx.clone()), start)?;
    let (mut frame, begin) = (eframe::Frame::_new_kittest(), Instant::now());
    let (mut clock, mut frames_ms, mut cpu_ms) = (StepClock::default(), vec![], vec![]);
    while clock.is_running(step_of(&app.session().live), length) {
        let due = Instant::now() + FRAME;
        let cpu_before = thread_cpu_ms();
        let parts = draw(&ctx, &mut app, &mut frame, begin);
        if clock.since.is_some() {
            frames_ms.push(parts);
            cpu_ms.push(thread_cpu_ms() - cpu_before);
        }
        keep_running(&mut app.session_mut().live)?;
        clock.check()?;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    let schema = &app.session().live.schema;
    let taps = app.session().live.subscriptions().to_vec();
    let name = |tap: &Tap| Some(schema.probes.get(usize::from(tap.probe))?.name);
    let subscribed = taps.iter().filter_map(name).collect();
    let steps_per_s = clock.steps_per_s(step_of(&app.session().live));
    Ok(InWindow { steps_per_s, frames_ms, cpu_ms, panels_ms: app.panels_ms(), subscribed, taps })
}

/// Returns the step that the engine of a window has reached.
fn step_of(live: &Live) -> u64 {
    live.counters().map_or(0, |counters| EngineCounters::read(&counters.step))
}

/// Fails if the simulation failed. Continues one that has reached its planned end.
fn keep_running(live: &mut Live) -> Result<(), String> {
    if let Some(why) = live.error.clone().or_else(|| live.stop_reason.as_ref().map(|reason| reason.why.to_string())) {
        return Err(why);
    }
    if !live.running && live.clock.step > 0 {
        live.play();
    }
    Ok(())
}

/// Counts steps after a warm-up, which begins with the first step and takes at most as long as the measurement.
struct StepClock {
    created: Instant,
    first_step: Option<Instant>,
    /// Time and step at which the measurement began.
    since: Option<(Instant, u64)>,
}

impl Default for StepClock {
    fn default() -> Self {
        Self { created: Instant::now(), first_step: None, since: None }
    }
}

impl StepClock {
    /// Whether the measurement continues.
    fn is_running(&mut self, step: u64, length: Duration) -> bool {
        if step > 0 && self.first_step.get_or_insert_with(Instant::now).elapsed() >= WARM_UP.min(length) {
            self.since.get_or_insert_with(|| (Instant::now(), step));
        }
        // A step that takes longer than the measurement is counted as a whole.
        self.since.is_none_or(|(since, from)| since.elapsed() < length || step == from)
    }

    /// Fails if no step was taken within [`BUILD_AT_MOST`].
    fn check(&self) -> Result<(), String> {
        let is_late = self.first_step.is_none() && self.created.elapsed() > BUILD_AT_MOST;
        if is_late { Err(format!("no step within {} s", BUILD_AT_MOST.as_secs())) } else { Ok(()) }
    }

    fn steps_per_s(&self, step: u64) -> f64 {
        self.since.map_or(0.0, |(since, from)| (step - from) as f64 / since.elapsed().as_secs_f64())
    }
}
