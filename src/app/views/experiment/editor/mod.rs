//! Editor of the document's experiment: conditions, seeds, measures and recording, with its size before it starts.

mod conditions;
mod fields;
mod measures;
mod menus;
mod settings;

use super::results_bar;
use crate::app::{
    document::{command::UiCommand, experiment::edit, layout::Page},
    kit::{self, icons, theme::Tokens, widgets},
    views::{View, ViewCtx, ViewDeclaration, ViewRequest},
};
use egui::{Button, Rect, RichText, ScrollArea, Ui, UiBuilder};

/// Margin of the editor, points.
const MARGIN: f32 = 10.0;

/// Editor of an experiment. All data are in the document.
#[derive(Default)]
pub struct ExperimentEditor;

impl ExperimentEditor {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "experiment_editor",
        title: "Conditions",
        icon: icons::SLIDERS,
        help: "# Conditions\n\nAn experiment runs the project under every condition with every seed, and computes measures from each \
         trial. It is part of the project file; undo works on every edit, and finished experiments do not change.\n\n\
         **Conditions** are a name with changes (*By hand*), a value of a parameter each (*Values*), all combinations of several \
         (*Grid*), or one per element of a query (*Silence each*). Right-click a group, a selection or an \
         intervention elsewhere to add one. Values are `10, 20 ms` or `10..40 ms/4`.\n\n\
         **A sweep**: right-click a parameter in the inspector and choose *Vary…*. The dialog asks for values, a second parameter \
         for a grid, and seeds; it starts the experiment with recorded trials, or adds the conditions to the others.\n\n\
         **Control** is the condition with which the others are compared; without one, the unchanged project is added. Conditions \
         share the **seeds**, so that differences are paired; `1..10` are ten trials per condition.\n\n\
         **Measures** reduce a probe over a span of time to a number: the mean rate of a group, the latency of its first spike, \
         the last value of a loss.\n\n\
         **Recording**: *Measures only* keeps the table with a hash per trial; *Every trial* also keeps a run folder per trial, \
         which opens in Runs and replays alone.\n\n\
         The line below counts trials, time and bytes. The window can be used while an experiment runs; *Cancel* keeps \
         finished trials, and *Continue* runs the rest.",
        gestures: &[
            ("right-click a group or intervention", "add a condition"),
            ("right-click a parameter › Vary…", "start a sweep"),
        ],
        pages: &[Page::Experiment],
        fits: |_| true,
        can_repeat: false,
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for ExperimentEditor {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let plan = ctx.experiments.state.plan.get().filter(|_| ctx.experiments.edited.is_some());
        let caption = plan.map_or_else(String::new, |plan| plan.text());
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| toolbar_ui(ui, ctx));
        ui.painter().rect_filled(canvas, 0.0, ctx.tokens.panel);
        let area = canvas.shrink2(egui::vec2(MARGIN, 4.0));
        ui.scope_builder(UiBuilder::new().max_rect(area), |ui| {
            ui.shrink_clip_rect(canvas);
            ScrollArea::vertical().min_scrolled_height(0.0).auto_shrink(false).show(ui, |ui| {
                // The scroll bar covers the right edge.
                ui.set_max_width((area.width() - MARGIN).max(60.0));
                ui.add_enabled_ui(!ctx.experiments.is_read_only, |ui| content_ui(ui, ctx, area));
            });
        });
    }
}

fn toolbar_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    let is_running = ctx.experiments.state.running.is_some();
    if !is_running {
        let problem = problem(ctx);
        let start = ui.add_enabled_ui(problem.is_none(), |ui| widgets::primary(ui, "Start")).inner;
        let start = start.on_hover_text("Runs every condition with every seed, next to the window’s simulation");
        if start.on_disabled_hover_text(problem.unwrap_or_default()).clicked() {
            ctx.requests.push(ViewRequest::Command(UiCommand::StartExperiment));
        }
    } else {
        results_bar::progress_ui(ui, ctx, None);
    }
}

/// Returns the reason why the experiment cannot start; `None` if it can.
fn problem(ctx: &ViewCtx<'_>) -> Option<String> {
    if ctx.experiments.is_read_only {
        return Some("A finished run is read-only: rerun it first".to_owned());
    }
    if ctx.experiments.edited.is_none() {
        return Some("Add a condition first".to_owned());
    }
    match ctx.experiments.state.plan.get() {
        Some(plan) => plan.problem.clone(),
        None => Some("The experiment is being checked".to_owned()),
    }
}

fn content_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, area: Rect) {
    if ctx.experiments.is_read_only {
        ui.label(RichText::new("A finished run is read-only: rerun it to edit its experiment").color(ctx.tokens.warn));
    }
    heading_ui(ui, ctx.tokens, "Conditions");
    conditions::ui(ui, ctx);
    menus::add_conditions_ui(ui, ctx);
    if ctx.experiments.edited.is_none() {
        ui.add_space(8.0);
        let text = "An experiment compares conditions: the project as it is, and with changes. Add one to begin.";
        ui.label(widgets::sub(ui, text));
        return;
    }
    settings::ui(ui, ctx);
    heading_ui(ui, ctx.tokens, "Measures");
    measures::ui(ui, ctx);
    settings::recording_ui(ui, ctx);
    summary_ui(ui, ctx);
    remove_ui(ui, ctx);
    ui.add_space(area.height() * 0.1);
}

fn heading_ui(ui: &mut Ui, tokens: &Tokens, title: &str) {
    ui.add_space(8.0);
    ui.label(RichText::new(title).color(tokens.text_strong).family(widgets::semibold()));
    ui.add_space(2.0);
}

/// Draws the size of the experiment, or its first mistake.
fn summary_ui(ui: &mut Ui, ctx: &ViewCtx<'_>) {
    heading_ui(ui, ctx.tokens, "Before it starts");
    let Some(plan) = ctx.experiments.state.plan.get() else { return };
    ui.label(plan.text());
    if plan.is_partial {
        let text = "Conditions of queries are counted when the model is built; it is built at the start";
        ui.label(widgets::sub(ui, text).small());
    }
    if let Some(why) = &plan.problem {
        ui.label(RichText::new(why).color(ctx.tokens.warn));
    }
    let duration = ctx.experiments.duration.clone();
    if !duration.is_empty() {
        ui.label(widgets::sub(ui, duration).small());
    }
    if !plan.names.is_empty() {
        let rest = plan.n_conditions - plan.names.len();
        let more = if rest > 0 { format!("\n… and {rest} more") } else { String::new() };
        let names = format!("{}{more}", plan.names.join("\n"));
        let few: Vec<&str> = plan.names.iter().take(4).map(String::as_str).collect();
        let dots = if plan.n_conditions > few.len() { ", …" } else { "" };
        let text = widgets::sub(ui, format!("{}{dots}", few.join(", "))).small();
        ui.add(egui::Label::new(text).wrap()).on_hover_text(names);
    }
}

/// Draws the button that removes the experiment from the document.
fn remove_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    ui.add_space(8.0);
    let button = Button::new((icons::rich(icons::TRASH).size(13.0), "Remove the experiment")).frame(false);
    let hint = "Removes conditions and measures from the project; results on disk stay, and undo restores them";
    if ui.add(button).on_hover_text(hint).clicked() {
        *ctx.experiments.edited = None;
    }
}

/// Returns the experiment of the document, which is created if there is none.
fn edited<'a>(ctx: &'a mut ViewCtx<'_>) -> &'a mut crate::project::experiment::Experiment {
    edit::of_document(ctx.experiments.edited, ctx.experiments.model)
}
