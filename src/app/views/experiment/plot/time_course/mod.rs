//! Rates and series of recorded trials over time: mean and interval of each condition.

mod draw;
mod read;

pub use read::Quantity;

use super::choices::Choices;
use crate::app::{
    document::experiment::Results,
    kit::{self, pool::PooledResult},
    views::{ViewCtx, placeholder},
};
use crate::project::experiment::TrialRecording;
use egui::{DragValue, Rect, Ui};
use read::{Courses, Request};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// Maximum number of conditions that are drawn.
const MAX_CONDITIONS: usize = 8;

/// Whether the trials of an experiment are recorded.
pub fn is_possible(results: &Results) -> bool {
    let experiment = results.folder.project.experiment.as_ref();
    experiment.is_some_and(|experiment| experiment.record == TrialRecording::EveryTrial)
}

/// Time courses on display, and the job that reads them.
#[derive(Default)]
pub struct TimeCourses {
    courses: PooledResult<Request, Courses>,
    /// Folders of the recorded trials by condition, and the results from which they were listed.
    recorded: BTreeMap<usize, Arc<Vec<PathBuf>>>,
    recorded_of: Option<Arc<Results>>,
}

impl TimeCourses {
    /// Draws the choices of quantity, alignment, bin and single trials.
    pub fn toolbar_ui(&self, ui: &mut Ui, ctx: &ViewCtx<'_>, choices: &mut Choices) {
        let offered = self.courses.get().map_or(&[][..], |courses| &courses.offered);
        let offered = if offered.is_empty() { &[(choices.quantity.clone(), "—".to_owned())][..] } else { offered };
        kit::choice_ui(ui, ctx.tokens, "Of", &mut choices.quantity, offered);
        let base = ctx.clock.base;
        let suffix = if base.is_count() { format!(" {}", base.plural()) } else { " ms".to_owned() };
        let drag = |value, prefix| DragValue::new(value).speed(0.5).prefix(prefix).suffix(&suffix);
        ui.add(drag(&mut choices.align, "align to ").range(0.0..=1e9))
            .on_hover_text("Time 0 of the plot: a bin begins there");
        ui.add(drag(&mut choices.bin, "bin ").range(0.1..=1e6)).on_hover_text("Width of a bin");
        ui.toggle_value(&mut choices.has_trials, "Trials").on_hover_text("A thin line per trial");
    }

    /// Describes the courses on display.
    pub fn caption(&self, results: &Results) -> String {
        let Some(courses) = self.courses.get() else { return String::new() };
        let n = courses.list.iter().map(|(_, course)| course.trials.len());
        let (low, high) = n.fold((usize::MAX, 0), |(low, high), n| (low.min(n), high.max(n)));
        let trials = match low == high {
            true => kit::plural(high, "trial", "trials"),
            false => format!("{low} to {high} trials"),
        };
        let width = courses.bins.map_or_else(String::new, |bins| kit::steps(bins.width as f64, courses.base));
        match courses.list.len() {
            0 => String::new(),
            n => format!(
                "{n} of {} with {trials} each  |  mean and 95 % interval (Student’s t) in bins of {width}",
                kit::plural(results.table.conditions.len(), "condition", "conditions")
            ),
        }
    }

    /// Draws the plot; `order` are the conditions in the order of their effects.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        canvas: Rect,
        ctx: &ViewCtx<'_>,
        results: &Arc<Results>,
        choices: &Choices,
        order: &[usize],
    ) {
        if !self.recorded_of.as_ref().is_some_and(|of| Arc::ptr_eq(of, results)) {
            self.recorded.clear();
            self.recorded_of = Some(results.clone());
        }
        let request = self.request(ctx, results, choices, order);
        let groups = ctx.runs.groups.of(&ctx.features.named);
        self.courses.want(ui.ctx(), request.clone(), move |progress| read::read(&request, &groups, progress));
        let Some(courses) = self.courses.get().cloned() else {
            return placeholder::job_ui(ui, canvas, ctx, "", &mut self.courses);
        };
        if !courses.problem.is_empty() {
            kit::empty_ui(ui, canvas, ctx, "No time course", &courses.problem, None);
            return;
        }
        draw::ui(ui, canvas, ctx, (results, &courses), choices.has_trials);
    }

    /// Returns the inputs of the reading: the control, the marked condition, and the first in order, as far as they are recorded.
    fn request(&mut self, ctx: &ViewCtx<'_>, results: &Results, choices: &Choices, order: &[usize]) -> Request {
        let marked = ctx.experiments.state.selected.as_ref();
        let marked = results.table.conditions.iter().position(|name| Some(name) == marked);
        let mut conditions = vec![];
        for condition in [results.control()].into_iter().chain(marked).chain(order.iter().copied()) {
            let is_new = conditions.iter().all(|(known, _)| *known != condition);
            if is_new && conditions.len() < MAX_CONDITIONS {
                let list = || Arc::new(results.recorded(condition));
                let trials = self.recorded.entry(condition).or_insert_with(list).clone();
                conditions.extend((!trials.is_empty()).then_some((condition, trials)));
            }
        }
        let is_selected = choices.quantity == Quantity::Selected;
        let selected =
            if is_selected { (ctx.selection.set, ctx.selection.elements.clone()) } else { ("", Arc::default()) };
        let groups = ctx.runs.groups.of(&ctx.features.named).generation(matches!(choices.quantity, Quantity::Group(_)));
        let (align, bin, quantity) = (choices.align, choices.bin, choices.quantity.clone());
        Request { quantity, selected, conditions, align, bin, groups }
    }
}
