//! Plots of an experiment: conditions with intervals, heat map of two factors, and differences against q.

mod choices;
mod map;
mod marks;
mod points;
mod time_course;
mod volcano;

use super::{results_bar, texts, without_results_ui};
use crate::{
    app::{
        document::{
            experiment::{
                Results,
                effects::{SortBy, order},
            },
            layout::Page,
        },
        kit::{self, heatmap::HeatmapTexture, icons},
        views::{View, ViewCtx, ViewDeclaration, ViewRequest},
    },
    engine::SimSchema,
};
use choices::{Choices, MapValue, PlotKind};
use egui::Ui;
use std::sync::Arc;
use time_course::TimeCourses;

/// Plot of the effects of all conditions.
#[derive(Default)]
pub struct EffectPlot {
    choices: Choices,
    order: Vec<usize>,
    order_of: Option<(Arc<Results>, usize)>,
    texture: HeatmapTexture,
    courses: TimeCourses,
}

impl EffectPlot {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "experiment_plot",
        title: "Effect plot",
        icon: icons::DISTRIBUTION,
        help: "# Effect plot\n\n*Points* draws the mean of every condition with its 95 % interval (Student’s t): against the value of \
         a parameter if all conditions vary one (a sweep, an F-I curve), otherwise in the order of their differences from the control. The dashed line and \
         the band are the mean and the interval of the control. *Trials* adds a small point per trial.\n\n\
         *Heat map* has a cell per combination of two parameters; *Value* chooses the mean, the difference from the control or the \
         effect size. *Volcano* draws the difference from the control against −log₁₀ q: conditions above the line have q < 0.05. \
         Conditions without a q value (one trial, no variance) are not in this plot, and the caption counts them.\n\n\
         *Time course* draws rates, counted from the recorded spikes in bins that are aligned to a time, or recorded series, of the \
         control, the marked condition and the first ones in the order of their differences: the mean over the trials and its 95 % \
         interval as a band. *Trials* adds a thin line per trial. The trials must be recorded (*Record* in the editor).\n\n\
         - hover: all statistics of a condition · click: mark it, select its element, and show its runs if they were recorded\n\
         - *3D*: colours the 3D view by the effects, where each condition silences one element\n\
         - *Figure…*: PNG or SVG with axes, n and interval",
        gestures: &[("hover", "all statistics"), ("click", "mark and show runs")],
        pages: &[Page::Experiment],
        fits: |_| true,
        ..ViewDeclaration::of::<Self>()
    };

    /// Returns the kinds of plots that the experiment allows.
    fn kinds(results: &Results) -> Vec<(PlotKind, String)> {
        let has_map = results.factors.as_ref().is_some_and(|factors| factors.axes.len() == 2);
        let has_courses = time_course::is_possible(results);
        let is_possible = |kind: &PlotKind| match kind {
            PlotKind::Map => has_map,
            PlotKind::TimeCourse => has_courses,
            PlotKind::Points | PlotKind::Volcano => true,
        };
        PlotKind::ALL.into_iter().filter(is_possible).map(|kind| (kind, kind.label().to_owned())).collect()
    }

    /// Returns the kind of plot: the chosen one if it is possible, otherwise a heat map for two factors, otherwise points.
    fn kind(&self, results: &Results) -> PlotKind {
        let kinds = Self::kinds(results);
        let is_possible = |kind: &PlotKind| kinds.iter().any(|(known, _)| known == kind);
        self.choices.kind.filter(is_possible).unwrap_or(match is_possible(&PlotKind::Map) {
            true => PlotKind::Map,
            false => PlotKind::Points,
        })
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, results: &Results) {
        let mut kind = self.kind(results);
        if kit::choice_ui(ui, ctx.tokens, "Plot", &mut kind, &Self::kinds(results)) {
            self.choices.kind = Some(kind);
        }
        if kind != PlotKind::TimeCourse {
            results_bar::measure_ui(ui, ctx, results);
        }
        match kind {
            PlotKind::Points => {
                let hint = "A small point per trial";
                ui.toggle_value(&mut self.choices.has_trials, "Trials").on_hover_text(hint);
            }
            PlotKind::Map => {
                let options = MapValue::ALL.map(|value| (value, value.label().to_owned()));
                kit::choice_ui(ui, ctx.tokens, "Value", &mut self.choices.value, &options);
            }
            PlotKind::Volcano => {}
            PlotKind::TimeCourse => self.courses.toolbar_ui(ui, ctx, &mut self.choices),
        }
        if results.has_elements() && ui.button("3D").on_hover_text("Colours the 3D view by these effects").clicked() {
            ctx.requests.push(ViewRequest::ColorByEffect);
        }
        results_bar::figure_ui(ui, ctx);
    }

    fn update(&mut self, results: &Arc<Results>, measure: usize) {
        let is_same = |(of, by): &(Arc<Results>, usize)| Arc::ptr_eq(of, results) && *by == measure;
        if !self.order_of.as_ref().is_some_and(is_same) {
            self.order = order(results, measure, SortBy::Difference);
            self.order_of = Some((results.clone(), measure));
        }
    }
}

impl View for EffectPlot {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn choice(&self) -> Option<String> {
        self.choices.to_text()
    }

    fn choose(&mut self, _: &SimSchema, text: &str) {
        self.choices = Choices::from_text(text);
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let results = ctx.experiments.state.results();
        let measure = results.as_ref().map_or(0, |results| ctx.experiments.state.measure_of(results));
        let mut caption = results.as_ref().map_or_else(String::new, |results| texts::caption(results, measure));
        if let Some(results) = &results
            && self.kind(results) == PlotKind::Volcano
        {
            caption += &volcano::caption(results, measure);
        }
        if let Some(results) = &results
            && self.kind(results) == PlotKind::TimeCourse
        {
            caption = self.courses.caption(results);
        }
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| {
            if let Some(results) = &results {
                self.toolbar_ui(ui, ctx, results);
            }
        });
        let Some(results) = results else { return without_results_ui(ui, canvas, ctx) };
        self.update(&results, measure);
        if !kit::fill_ui(ui, canvas, ctx.tokens) {
            return;
        }
        match self.kind(&results) {
            PlotKind::Points => points::ui(ui, canvas, ctx, (&results, measure), &self.order, self.choices.has_trials),
            PlotKind::Map => map::ui(ui, canvas, ctx, (&results, measure), self.choices.value, &mut self.texture),
            PlotKind::Volcano => volcano::ui(ui, canvas, ctx, (&results, measure)),
            PlotKind::TimeCourse => self.courses.ui(ui, canvas, ctx, &results, &self.choices, &self.order),
        }
    }
}
