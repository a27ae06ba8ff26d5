//! A window with one view, operated by simulated input.

mod document;
mod pointer;
mod speed;

use super::{fake_fly::Activity, harness::can_draw};
use egui::{Event, Modifiers, PointerButton, Pos2, Vec2};
use egui_kittest::{
    Harness,
    kittest::{NodeT as _, Queryable as _},
    wgpu::{WgpuTestRenderer, create_render_state, default_wgpu_setup},
};
use egui_wgpu::{RenderState, RendererOptions};
use neuropil::{
    app::{
        document::{experiment::NoExperiments, profile::Profile, selection::Selection, time::Time},
        kit::{style, theme::Tokens},
        views::{self, View, ViewCtx},
    },
    engine::SimSchema,
    sim::{Clock, Frame},
};
use neuropil_test_support::PATIENCE;
use std::{collections::HashSet, path::PathBuf, sync::Arc, time::Instant};

/// As [`can_draw`].
pub fn graphics() -> Option<()> {
    can_draw().then_some(())
}

/// CPU time of this thread, ms: frame time without other programs. 0 on systems other than Linux.
fn busy_ms() -> f64 {
    #[cfg(target_os = "linux")]
    {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the system call writes one `timespec`.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
        now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 * 1e-6
    }
    #[cfg(not(target_os = "linux"))]
    0.0
}

struct Inside {
    view: Box<dyn View>,
    schema: SimSchema,
    clock: Clock,
    running: bool,
    selection: Selection,
    time: Time,
    filter: neuropil::app::document::filter::Filter,
    features: neuropil::app::document::features::KindFeatures,
    requests: Vec<views::ViewRequest>,
    profile: Profile,
    color_scales: neuropil::app::document::color_scales::ColorScales,
    saved_views: Vec<neuropil::app::document::saved_view::SavedView>,
    graph: neuropil::app::document::graph::EditedGraph,
    render_state: Option<RenderState>,
    tokens: Arc<Tokens>,
    ui_ms: f64,
    slowest_ms: f64,
    busiest_ms: f64,
    runs: neuropil::app::document::library::Library,
    experiments: NoExperiments,
}

impl Inside {
    fn ui(&mut self, ui: &mut egui::Ui) {
        let (start, busy) = (Instant::now(), busy_ms());
        let mut requests = vec![];
        let live_edge = self.time.past.complete_to(self.clock.step);
        self.time.axis.line.update(ui, live_edge as f64);
        self.filter.update(ui.ctx(), &self.schema, &self.features);
        let mut ctx = ViewCtx {
            schema: &self.schema,
            clock: self.clock,
            running: self.running,
            stop_reason: None,
            unrecorded: vec![],
            views: &views::ALL,
            icon: self.view.declaration().icon,
            tokens: &self.tokens,
            selection: &mut self.selection,
            time: &mut self.time,
            filter: &mut self.filter,
            features: &self.features,
            runs: &mut self.runs,
            experiments: self.experiments.context(),
            color_scales: &mut self.color_scales,
            saved_views: &mut self.saved_views,
            graph: &mut self.graph,
            render_state: self.render_state.as_ref(),
            timing_docs: &|_| None,
            keys: &|_| String::new(),
            share_levels: &[],
            profile: &mut self.profile,
            requests: &mut requests,
        };
        self.view.ui(ui, &mut ctx);
        self.requests.append(&mut requests);
        self.ui_ms = start.elapsed().as_secs_f64() * 1e3;
        self.slowest_ms = self.slowest_ms.max(self.ui_ms);
        self.busiest_ms = self.busiest_ms.max(busy_ms() - busy);
    }
}

/// One view in a test window.
pub struct Stage {
    harness: Option<Harness<'static, Inside>>,
    inside: Option<Inside>,
    size: (f32, f32),
    pub activity: Activity,
}

impl Stage {
    pub fn new(name: &str, schema: SimSchema, size: (f32, f32)) -> Self {
        let mut view = views::by_name(name).expect("a view of this name");
        view.reset(&schema);
        let inside = Inside {
            view,
            clock: Clock::seconds(0, 1e-4),
            running: false,
            selection: Selection::default(),
            time: Time::default(),
            filter: Default::default(),
            features: Default::default(),
            requests: vec![],
            profile: Profile::default(),
            color_scales: Default::default(),
            saved_views: vec![],
            graph: Default::default(),
            render_state: None,
            tokens: Tokens::dark(),
            ui_ms: 0.0,
            slowest_ms: 0.0,
            busiest_ms: 0.0,
            schema: schema.clone(),
            runs: Default::default(),
            experiments: NoExperiments::default(),
        };
        Self { harness: None, inside: Some(inside), size, activity: Activity::new(schema) }
    }

    /// Before it is built.
    #[allow(dead_code)]
    pub fn with_profile(mut self, f: impl FnOnce(&mut Profile)) -> Self {
        f(&mut self.inside.as_mut().expect("not built yet").profile);
        self
    }

    #[allow(dead_code)]
    pub fn profile<T>(&mut self, f: impl FnOnce(&mut Profile) -> T) -> T {
        f(&mut self.harness().state_mut().profile)
    }

    /// Without pictures.
    pub fn headless(mut self) -> Self {
        self.build(None, true);
        self
    }

    /// With pictures, in a theme.
    pub fn on(mut self, _: &(), dark: bool) -> Self {
        let state = create_render_state(default_wgpu_setup(), RendererOptions::PREDICTABLE);
        self.build(Some(state), dark);
        self
    }

    fn build(&mut self, state: Option<RenderState>, dark: bool) {
        let mut inside = self.inside.take().expect("built once");
        inside.tokens = if dark { Tokens::dark() } else { Tokens::light() };
        inside.render_state = state.clone();
        let mut builder = Harness::builder()
            .with_size(Vec2::new(self.size.0, self.size.1))
            .with_theme(if dark { egui::Theme::Dark } else { egui::Theme::Light })
            .with_step_dt(1.0 / 60.0)
            .with_context_setup(style::apply);
        if let Some(state) = state {
            builder = builder.renderer(WgpuTestRenderer::from_render_state(state));
        }
        let draw = |ui: &mut egui::Ui, inside: &mut Inside| {
            let all = ui.ctx().content_rect();
            ui.scope_builder(egui::UiBuilder::new().max_rect(all), |ui| inside.ui(ui));
        };
        self.harness = Some(builder.build_ui_state(draw, inside));
    }

    fn harness(&mut self) -> &mut Harness<'static, Inside> {
        self.harness.as_mut().expect("headless() or on() first")
    }

    pub fn with(mut self, f: impl FnOnce(&mut Self)) -> Self {
        f(&mut self);
        self
    }

    pub fn with_mut(&mut self, f: impl FnOnce(&mut Self)) {
        f(self);
    }

    pub fn run(&mut self, frames: usize) {
        self.harness().run_steps(frames);
    }

    /// Steps until the thread pool has been idle for twelve frames.
    pub fn settle(&mut self) {
        let since = Instant::now();
        let mut idle = 0;
        while idle < 12 {
            let ctx = self.harness().ctx.clone();
            let was_busy = neuropil::app::kit::pool::is_busy(&ctx);
            self.run(1);
            idle = if was_busy || neuropil::app::kit::pool::is_busy(&ctx) { 0 } else { idle + 1 };
            if idle == 0 {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            assert!(since.elapsed() < PATIENCE, "the pool does not come to an end");
        }
    }

    /// Adds activity of this many steps and draws a frame.
    pub fn feed(&mut self, steps: u64) {
        let frame = self.activity.frame(steps, 500);
        self.absorb(frame);
        self.run(1);
    }

    /// Gives the view a frame.
    pub fn absorb(&mut self, mut frame: Frame) {
        let inside = self.harness().state_mut();
        inside.clock = frame.clock;
        inside.running = true;
        let schema = inside.schema.clone();
        inside.time.absorb(&schema, &mut frame);
        inside.profile.absorb(&frame);
        inside.view.absorb(&schema, &frame);
    }

    /// Fills the history with about this many spikes.
    pub fn crowd(&mut self, spikes: u64) {
        for _ in 0..(spikes / 500_000).max(1) {
            let frame = self.activity.frame(2_000, 2_500);
            self.absorb(frame);
        }
    }

    /// Duration of the view's `ui`, ms.
    pub fn timed_frame(&mut self) -> f64 {
        self.run(1);
        self.harness().state().ui_ms
    }

    /// The slowest `ui` since this was last asked, and the one that kept a processor busy longest, ms; draws one frame.
    pub fn slowest_frame(&mut self) -> (f64, f64) {
        self.run(1);
        let inside = self.harness().state_mut();
        (std::mem::take(&mut inside.slowest_ms), std::mem::take(&mut inside.busiest_ms))
    }

    /// Stops the activity.
    pub fn pause(&mut self) {
        self.harness().state_mut().running = false;
    }

    /// One notch of the wheel and one frame.
    pub fn wheel_once(&mut self, at: Pos2, points: f32, modifiers: Modifiers) {
        self.harness().event(Event::PointerMoved(at));
        self.turn_wheel(points, modifiers);
    }

    /// One short drag: three frames.
    pub fn drag_once(&mut self, from: Pos2, by: Vec2) {
        self.event(Event::PointerMoved(from), Modifiers::NONE);
        self.button(from, true, Modifiers::NONE);
        self.event(Event::PointerMoved(from + by), Modifiers::NONE);
        self.button(from + by, false, Modifiers::NONE);
    }

    /// The times in view, steps.
    pub fn times(&mut self) -> (f64, f64) {
        let line = &self.harness().state().time.axis.line;
        (line.t0, line.t1)
    }

    /// The line under the view.
    pub fn caption(&mut self) -> String {
        let nodes = self.harness().get_all_by_role(egui::Role::Label);
        let texts = nodes.filter_map(|n| n.accesskit_node().value()).collect::<Vec<_>>();
        texts.into_iter().find(|t| t.contains("1 px =") || t.contains("samples")).unwrap_or_default()
    }

    pub fn select(&mut self, elements: &[u32]) {
        self.harness().state_mut().selection.replace("neurons", elements.to_vec());
        self.run(2);
    }

    pub fn select_of(&mut self, set: &'static str, elements: &[u32]) {
        self.harness().state_mut().selection.replace(set, elements.to_vec());
        self.run(2);
    }

    /// Presses the secondary button here.
    pub fn menu_at(&mut self, at: Pos2) {
        self.event(Event::PointerMoved(at), Modifiers::NONE);
        self.run(2);
        for pressed in [true, false] {
            let (button, modifiers) = (PointerButton::Secondary, Modifiers::NONE);
            self.event(Event::PointerButton { pos: at, button, pressed, modifiers }, modifiers);
        }
        self.run(3);
    }

    /// Whether a label contains this text.
    pub fn says(&mut self, text: &str) -> bool {
        self.harness().query_by_label_contains(text).is_some()
    }

    /// Steps until a label contains this text; returns the wall time, seconds.
    pub fn until(&mut self, text: &str) -> f64 {
        let since = Instant::now();
        while !self.says(text) {
            assert!(since.elapsed().as_secs() < 60, "nothing says `{text}`");
            std::thread::sleep(std::time::Duration::from_millis(5));
            self.run(1);
        }
        since.elapsed().as_secs_f64()
    }

    /// Shapes below a height, except backgrounds and lines; texts by their content.
    pub fn painted_below(&mut self, y: f32) -> Vec<String> {
        fn text_of(shape: &egui::Shape) -> Option<String> {
            match shape {
                egui::Shape::Text(text) => Some(text.galley.text().to_owned()),
                egui::Shape::Noop | egui::Shape::Rect(_) | egui::Shape::LineSegment { .. } => None,
                _ => Some("something drawn".to_owned()),
            }
        }
        fn flat(shape: &egui::Shape, clip: egui::Rect, out: &mut Vec<(egui::Rect, Option<String>)>) {
            match shape {
                egui::Shape::Vec(shapes) => shapes.iter().for_each(|shape| flat(shape, clip, out)),
                one => out.push((one.visual_bounding_rect().intersect(clip), text_of(one))),
            }
        }
        let mut all = vec![];
        self.harness().output().shapes.iter().for_each(|s| flat(&s.shape, s.clip_rect, &mut all));
        // A point of overlap is a rounded edge.
        let is_below = |rect: &egui::Rect| rect.is_positive() && rect.bottom() > y + 1.0;
        all.into_iter().filter(|(rect, _)| is_below(rect)).filter_map(|(_, text)| text).collect()
    }

    /// Of a panel with data this high: what it frames its canvas with gives way, and its content leaves the caption
    /// alone.
    pub fn lower(view: &str, schema: &SimSchema, feed: impl Fn(&mut Self)) {
        let mut stage = Self::new(view, schema.clone(), (420.0, 140.0)).headless();
        stage.run(2);
        feed(&mut stage);
        for height in [140.0, 108.0, 100.0, 70.0, 54.0] {
            stage.size.1 = height;
            stage.harness().set_size(Vec2::new(420.0, height));
            stage.settle();
            let seen = stage.painted_below(height - 20.0);
            assert!(height < 108.0 || seen.len() <= 1, "{view} of {height} points draws over its caption: {seen:?}");
        }
    }

    /// Presses what has this label.
    pub fn press(&mut self, label: &str) {
        self.harness().get_by_label(label).click();
        self.run(3);
    }

    /// Presses what has this label with the secondary button.
    pub fn menu(&mut self, label: &str) {
        self.harness().get_by_label(label).click_secondary();
        self.run(3);
    }

    /// Narrows the window's filter.
    pub fn filter(&mut self, query: &str) {
        self.harness().state_mut().filter.narrow(query);
        self.settle();
    }

    /// Requests of the view since the last call.
    pub fn requests(&mut self) -> Vec<views::ViewRequest> {
        std::mem::take(&mut self.harness().state_mut().requests)
    }

    /// Presses a key over the middle of the view.
    pub fn key(&mut self, key: egui::Key) {
        let at = egui::pos2(self.size.0 / 2.0, self.size.1 / 2.0);
        self.event(Event::PointerMoved(at), Modifiers::NONE);
        self.harness().key_press(key);
        self.run(3);
    }

    /// What the kind lets be named and done.
    pub fn allow(&mut self, features: neuropil::app::document::features::KindFeatures) {
        self.harness().state_mut().features = features;
    }

    pub fn selection(&mut self) -> Vec<u32> {
        self.harness().state().selection.elements.to_vec()
    }

    /// Chooses in a drop-down.
    pub fn choose(&mut self, list: &str, option: &str) {
        self.harness().get_by_role_and_label(egui::Role::ComboBox, list).click();
        self.run(4);
        self.harness().get_by_label(option).click();
        self.run(4);
        self.event(Event::PointerGone, Modifiers::NONE);
    }

    /// Renders; how many pixels have exactly this colour.
    pub fn count_pixels(&mut self, color: [u8; 4]) -> usize {
        self.harness().render().expect("a picture").pixels().filter(|p| p.0 == color).count()
    }

    /// Renders; writes a PNG when `NEUROPIL_SHOTS` names a folder. Returns the number of different colours.
    pub fn shoot(&mut self, name: &str) -> usize {
        let image = self.harness().render().expect("a picture");
        if let Ok(folder) = std::env::var("NEUROPIL_SHOTS") {
            image.save(PathBuf::from(folder).join(format!("{name}.png"))).expect("a writable folder");
        }
        image.pixels().map(|p| p.0).collect::<HashSet<_>>().len()
    }
}

impl Stage {
    /// Taps of the view.
    pub fn taps(&mut self) -> Vec<neuropil::sim::Tap> {
        let inside = self.harness().state();
        inside.view.taps(&inside.schema, &inside.selection)
    }

    /// Types into the field with this label.
    pub fn type_into(&mut self, label: &str, text: &str) {
        self.harness().get_by_label(label).focus();
        self.run(2);
        self.harness().event(Event::Text(text.into()));
        self.run(3);
    }
}
