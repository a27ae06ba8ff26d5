//! Size of a step, pausing of the display, and progress of a run to a target step.

use crate::{
    app::{
        document::{live::Live, session::Session},
        kit::{icons, text, theme::Tokens, widgets},
    },
    engine::EngineCounters,
    sim::TimeBase,
};
use egui::{ComboBox, DragValue, ProgressBar, RichText, Ui};

/// Unit of the step button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// One step of the simulation.
    #[default]
    Step,
    /// A millisecond of simulated time.
    Millisecond,
    /// A second of simulated time.
    Second,
    /// One batch of the engine.
    Batch,
}

impl Level {
    const ALL: [Self; 4] = [Self::Step, Self::Millisecond, Self::Second, Self::Batch];

    const fn label(self, base: TimeBase) -> &'static str {
        match self {
            Self::Step => base.singular(),
            Self::Millisecond => "ms",
            Self::Second => "s",
            Self::Batch => "batch",
        }
    }

    /// Whether the unit is defined for steps of this time base.
    fn fits(self, base: TimeBase) -> bool {
        !base.is_count() || matches!(self, Self::Step | Self::Batch)
    }
}

/// Step size, and whether the display is paused.
#[derive(Clone, Copy)]
pub struct Pacing {
    /// Unit of a step.
    pub level: Level,
    /// Number of units per step.
    pub count: u32,
    /// Whether the display is paused: the engine runs freely, and only its clock is drawn.
    pub updates_are_off: bool,
}

impl Default for Pacing {
    fn default() -> Self {
        Self { level: Level::default(), count: 100, updates_are_off: false }
    }
}

impl Pacing {
    /// Returns the number of simulation steps that the step button takes.
    pub fn steps(&self, session: &Session) -> u64 {
        let base = session.project.model.time_base();
        let of = |time: f64| (time / base.per_step()).round().max(1.0) as u64;
        let one = match self.level {
            level if !level.fits(base) => 1,
            Level::Step => 1,
            Level::Millisecond => of(1e-3),
            Level::Second => of(1.0),
            Level::Batch => session.live.counters().map_or(1, |g| EngineCounters::read(&g.batch_steps).max(1)),
        };
        one.saturating_mul(u64::from(self.count))
    }

    /// Formats the size of `times` steps for the step button: `100`, `5 ms`.
    pub fn text(&self, times: u32) -> String {
        let n = u64::from(self.count) * u64::from(times);
        if self.level == Level::Step { n.to_string() } else { format!("{n} {}", self.level.label(TimeBase::STEPS)) }
    }
}

/// Draws the controls of the step unit and the number of units.
pub fn step_ui(ui: &mut Ui, base: TimeBase, pacing: &mut Pacing) {
    let levels: Vec<Level> = Level::ALL.into_iter().filter(|level| level.fits(base)).collect();
    if !levels.contains(&pacing.level) {
        pacing.level = Level::Step;
    }
    let combo = ComboBox::from_id_salt("step level").width(48.0).selected_text(pacing.level.label(base));
    let response = combo.show_ui(ui, |ui| {
        for level in levels {
            ui.selectable_value(&mut pacing.level, level, level.label(base));
        }
    });
    response.response.accessible_name("Step unit").on_hover_text("Unit of one step");
    ui.add(DragValue::new(&mut pacing.count).range(1..=1_000_000).speed(1.0).prefix("× "))
        .accessible_name("Steps per step")
        .on_hover_text("Steps per click");
}

/// Draws the button that pauses the display.
pub fn updates_ui(ui: &mut Ui, live: &mut Live, pacing: &mut Pacing) {
    let off = pacing.updates_are_off;
    let name = if off { "Resume display" } else { "Pause display: run freely, draw only the clock" };
    if widgets::icon_toggle(ui, icons::EYE_OFF, name, off).clicked() {
        pacing.updates_are_off = !off;
        live.set_quiet(!off);
    }
}

/// Draws the progress of a run to a target step, if it takes long.
pub fn progress_ui(ui: &mut Ui, live: &Live) {
    let Some(target) = live.target.filter(|t| t.since.elapsed().as_millis() > 500) else { return };
    let t = Tokens::of(ui.ctx());
    let done = live.clock.step.saturating_sub(target.from) as f32 / (target.to - target.from).max(1) as f32;
    ui.add(ProgressBar::new(done).desired_width(90.0).desired_height(6.0).fill(t.accent));
    ui.label(RichText::new(text::eta(done, target.since.elapsed())).small().color(t.text_sub));
}

/// Draws a placeholder instead of the views while the display is paused.
pub fn quiet_ui(ui: &mut Ui, live: &mut Live, pacing: &mut Pacing) {
    let t = Tokens::of(ui.ctx());
    let speed = match (live.pace.real_time_factor(), live.pace.steps_per_sec()) {
        (Some(x), Some(steps)) if !live.clock.base.is_count() => {
            format!("× {} real time, {} steps/s", text::short(x), text::short(steps))
        }
        (_, Some(steps)) => format!("{} {}/s", text::short(steps), live.clock.base.plural()),
        _ => "paused".to_owned(),
    };
    let area = egui::Rect::from_center_size(ui.max_rect().center(), egui::vec2(380.0, 150.0));
    ui.scope_builder(egui::UiBuilder::new().max_rect(area), |ui| {
        ui.vertical_centered(|ui| {
            ui.label(icons::rich(icons::EYE_OFF).size(34.0).color(Tokens::fade(t.text_sub, 0.5)));
            ui.label(RichText::new("Display paused").color(t.text));
            ui.label(widgets::sub(ui, "The engine runs freely; no data is sampled for the window").small());
            ui.label(RichText::new(speed).monospace().color(t.text_strong));
            ui.add_space(6.0);
            if ui.button("Resume display").clicked() {
                pacing.updates_are_off = false;
                live.set_quiet(false);
            }
        });
    });
}
