//! Tree file in the lineage view, in its own window.

use crate::{
    app::{
        document::{
            color_scales::ColorScales, experiment::NoExperiments, features::KindFeatures, filter::Filter,
            graph::EditedGraph, library::Library, profile::Profile, selection::Selection, time::Time,
        },
        kit::{icons, theme::Tokens},
        views::{self, View, ViewCtx, lineage::Lineage},
    },
    engine::SimSchema,
    export::{Format, newick::Trees},
    sim::{Clock, Frame, ProbeSpec, Progress, Reading, Shape, TimeBase},
};
use egui::{ProgressBar, Window, vec2};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// Lineage of the individuals in a file.
const PROBES: &[ProbeSpec] = &[ProbeSpec {
    name: "lineage",
    title: "",
    docs: "Births and deaths of the individuals in a file.",
    unit: "",
    shape: Shape::Lineage { over: "individuals", attributes: &[] },
    args: &[],
}];

/// Duration after which the progress of reading a file is shown.
const SHOWN_AFTER: Duration = Duration::from_millis(300);

/// Open file of trees with the data that a view needs. The file shares nothing with the open simulation.
pub struct TreeFile {
    name: String,
    clock: Clock,
    schema: SimSchema,
    view: Box<dyn View>,
    selection: Selection,
    time: Time,
    filter: Filter,
    runs: Library,
    profile: Profile,
    color_scales: ColorScales,
    experiments: NoExperiments,
}

/// File of trees that is being read.
pub struct ReadingTrees {
    pub path: PathBuf,
    pub progress: Arc<Progress>,
    pub since: Instant,
}

/// Whether a path has the extension of a file of trees.
pub fn is_tree_file(path: &Path) -> bool {
    path.extension().is_some_and(|name| name.eq_ignore_ascii_case(Format::Newick.extension()))
}

impl TreeFile {
    /// Creates the view of a file's trees.
    pub fn new(path: &Path, trees: Trees) -> Self {
        let schema = SimSchema { probes: PROBES, lanes: vec![vec![]], ..SimSchema::default() };
        let clock = Clock { step: trees.last, base: TimeBase::STEPS };
        let mut view = Box::new(Lineage::default());
        view.reset(&schema);
        let mut frame = Frame { clock, ..Frame::default() };
        frame.push(0, Reading::lineage(trees.events));
        view.absorb(&schema, &frame);
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Self {
            name,
            clock,
            schema,
            view,
            selection: Selection::default(),
            time: Time::default(),
            filter: Filter::default(),
            runs: Library::default(),
            profile: Profile::default(),
            color_scales: ColorScales::default(),
            experiments: NoExperiments::default(),
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui) {
        let (tokens, features) = (Tokens::of(ui.ctx()), KindFeatures::default());
        // Requests of the view are dropped, because there is no simulation.
        let (mut requests, mut saved_views, mut graph) = (vec![], vec![], EditedGraph::default());
        self.time.axis.line.update(ui, self.clock.step as f64);
        let mut ctx = ViewCtx {
            schema: &self.schema,
            clock: self.clock,
            running: false,
            stop_reason: None,
            icon: icons::GRID,
            unrecorded: vec![],
            views: &views::ALL,
            tokens: &tokens,
            selection: &mut self.selection,
            time: &mut self.time,
            filter: &mut self.filter,
            features: &features,
            runs: &mut self.runs,
            experiments: self.experiments.context(),
            color_scales: &mut self.color_scales,
            saved_views: &mut saved_views,
            graph: &mut graph,
            render_state: None,
            timing_docs: &|_| None,
            keys: &|_| String::new(),
            share_levels: &[],
            profile: &mut self.profile,
            requests: &mut requests,
        };
        ctx.enter(&*self.view);
        self.view.ui(ui, &mut ctx);
    }
}

/// Draws the window of an open file, or the progress of a file that is being read.
pub fn ui(ctx: &egui::Context, open: &mut Option<TreeFile>, reading: Option<&ReadingTrees>) {
    if let Some(reading) = reading {
        reading_ui(ctx, reading);
    }
    let Some(file) = open else { return };
    let mut is_open = true;
    let area = ctx.content_rect().shrink(60.0);
    Window::new(format!("Lineage of {}", file.name))
        .id(egui::Id::unique("tree file"))
        .open(&mut is_open)
        .default_rect(area)
        .min_size(vec2(320.0, 200.0))
        .collapsible(false)
        .show(ctx, |ui| file.ui(ui));
    if !is_open {
        *open = None;
    }
}

/// Draws the progress of reading a file, and a button to cancel.
fn reading_ui(ctx: &egui::Context, reading: &ReadingTrees) {
    ctx.request_repaint_after(Duration::from_millis(100));
    // Most files are read so fast that their progress would only flash.
    if reading.since.elapsed() < SHOWN_AFTER {
        return;
    }
    let (stage, done) = reading.progress.now();
    let name = reading.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Window::new(format!("Opening {name}"))
        .id(egui::Id::unique("reading trees"))
        .collapsible(false)
        .resizable(false)
        .show(ctx, |ui| {
            ui.add(ProgressBar::new(done).desired_width(240.0).desired_height(6.0));
            ui.label(crate::app::kit::widgets::sub(ui, stage));
            if ui.button("Cancel").clicked() {
                reading.progress.cancel();
            }
        });
}
