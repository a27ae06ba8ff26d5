//! Toolbar of the sweep plot: parameters, series, statistic, scales and exports.

use super::{SweepPlot, choices::Number, export, groups::SweptPaths, runs::Part};
use crate::app::{
    document::command::UiCommand,
    kit,
    views::{ViewCtx, ViewRequest},
};
use egui::Ui;

/// Width of the controls other than those of the parameters and the statistic, points.
const CHOICES: f32 = 450.0;

/// Whether runs differ in exactly these parameters, in any order.
pub(super) fn has(all: &[SweptPaths], paths: &[String]) -> bool {
    all.iter().any(|swept| swept.paths.len() == paths.len() && paths.iter().all(|path| swept.paths.contains(path)))
}

/// Returns all parameters, in descending order of the number of runs.
fn firsts(all: &[SweptPaths]) -> Vec<String> {
    let mut out: Vec<String> = vec![];
    for path in all.iter().flat_map(|swept| &swept.paths) {
        if !out.contains(path) {
            out.push(path.clone());
        }
    }
    out
}

/// Returns the parameters that can be drawn together with `first`.
fn seconds(all: &[SweptPaths], first: &String) -> Vec<String> {
    let pairs = all.iter().filter(|swept| swept.paths.len() == 2 && swept.paths.contains(first));
    pairs.flat_map(|swept| swept.paths.iter().filter(|path| *path != first)).cloned().collect()
}

/// Returns the parameters after `first` was chosen as the first one. The second parameter is kept if runs differ in both; the two
/// are swapped if `first` was the second.
fn with_first(all: &[SweptPaths], now: &[String], first: String) -> Vec<String> {
    let (old, second) = (now.first(), now.get(1));
    let kept = if second == Some(&first) { old } else { second };
    let kept = kept.map(|kept| vec![first.clone(), kept.clone()]).filter(|pair| has(all, pair));
    let alone = || vec![first.clone()];
    let any = || seconds(all, &first).into_iter().next().map(|second| vec![first.clone(), second]);
    kept.or_else(|| if has(all, &alone()) { None } else { any() }).unwrap_or_else(alone)
}

impl SweepPlot {
    pub(super) fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        self.sweeps_ui(ui, ctx.runs);
        if self.shown.groups.is_empty() && self.shown.swept.is_empty() {
            return;
        }
        self.parameters_ui(ui, ctx);
        let numbers = Number::ALL.map(|(number, name)| (number, name.to_owned()));
        let mut number = self.shown.number;
        if kit::choice_ui(ui, ctx.tokens, "Number", &mut number, &numbers) {
            (self.choices.number, self.is_stale) = (Some(number), true);
        }
        kit::overflow_ui(ui, CHOICES, |ui| {
            self.series_ui(ui, ctx);
            self.scales_ui(ui);
        });
        ui.menu_button("Export", |ui| self.export_ui(ui, ctx))
            .response
            .on_hover_text("The numbers of all runs, or the picture");
    }

    /// Draws the menus of the first and the second parameter, and that of the heat maps if there are several.
    fn parameters_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>) {
        let (tokens, swept) = (ctx.tokens, &self.shown.swept);
        let mut paths = self.shown.paths.clone();
        let Some(mut first) = paths.first().cloned() else { return };
        let named = |path: String| (path.clone(), self.shown.title(&path).to_owned());
        let names = |paths: Vec<String>| paths.into_iter().map(named).collect::<Vec<_>>();
        if kit::choice_ui(ui, tokens, "Parameter", &mut first, &names(firsts(swept))) {
            paths = with_first(swept, &paths, first.clone());
        }
        let others = seconds(swept, &first);
        if !others.is_empty() {
            let mut second = paths.get(1).cloned().unwrap_or_default();
            let mut options = names(others);
            if has(swept, &paths[..1]) {
                options.insert(0, (String::new(), "none".into()));
            }
            if kit::choice_ui(ui, tokens, "Second", &mut second, &options) {
                paths.truncate(1);
                paths.extend(Some(second).filter(|second| !second.is_empty()));
            }
        }
        if paths != self.shown.paths {
            (self.choices.paths, self.choices.is_log, self.is_stale) = (paths, [None; 2], true);
        }
        if self.shown.has_map() && self.shown.groups.len() > 1 {
            let labels: Vec<_> = self.shown.groups.iter().map(|g| (g.label.clone(), g.label.clone())).collect();
            self.among.clone_from(&self.shown.groups[self.shown.map].label);
            self.is_stale |= kit::choice_ui(ui, tokens, "Of", &mut self.among, &labels);
        }
    }

    /// Draws the menus of the series, its lane, and the part of the steps.
    fn series_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>) {
        let (tokens, choices) = (ctx.tokens, &mut self.choices);
        if let Some(series) = self.shown.series.clone() {
            let mut key = series.key.clone();
            let names: Vec<_> = self.shown.offered.iter().map(|s| (s.key.clone(), s.title.clone())).collect();
            if kit::choice_ui(ui, tokens, "Series", &mut key, &names) {
                (choices.series, choices.lane, self.is_stale) = (Some(key), 0, true);
            }
            if !series.lanes.is_empty() {
                let names: Vec<_> = series.lanes.iter().cloned().enumerate().collect();
                self.is_stale |= kit::choice_ui(ui, tokens, "Curve", &mut choices.lane, &names);
            }
        }
        let parts = Part::ALL.map(|(part, name)| (part, name.to_owned()));
        self.is_stale |= kit::choice_ui(ui, tokens, "Over", &mut choices.part, &parts);
    }

    /// Draws the toggles of logarithmic axes.
    fn scales_ui(&mut self, ui: &mut Ui) {
        let names = if self.shown.has_map() { &["log x", "log y"][..] } else { &["log"] };
        for (axis, name) in names.iter().enumerate().filter(|(axis, _)| self.shown.is_numeric(*axis)) {
            let mut is_log = self.is_log(axis);
            let hint = format!("Logarithmic axis of {}", self.shown.title(&self.shown.paths[axis]));
            if ui.toggle_value(&mut is_log, *name).on_hover_text(hint).changed() {
                self.choices.is_log[axis] = Some(is_log);
            }
        }
    }

    fn export_ui(&self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let names: Vec<&str> = self.shown.paths.iter().filter_map(|path| path.rsplit('.').next()).collect();
        let name = format!("sweep-{}.csv", names.join("-"));
        if ui.button("Copy as CSV").clicked() {
            ui.copy_text(export::csv(&self.shown, self.choices.lane));
            ui.close();
        }
        if ui.button("Save as CSV…").clicked() {
            let text = export::csv(&self.shown, self.choices.lane);
            ctx.requests.push(ViewRequest::SaveText { name, text });
            ui.close();
        }
        if ui.button("Figure…").on_hover_text("PNG or SVG").clicked() {
            ctx.requests.push(ViewRequest::Command(UiCommand::ExportPanel));
            ui.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_first_parameter_keeps_the_second_where_it_can() {
        let paths = |text: &str| text.split(' ').map(ToOwned::to_owned).collect::<Vec<_>>();
        let swept = |text: &str| SweptPaths { paths: paths(text), n_runs: 2, ..SweptPaths::default() };
        let all = ["a", "b", "a b", "b c", "d c"].map(swept);
        for (now, first, expected) in
            [("a b", "b", "b a"), ("a b", "c", "c b"), ("a", "b", "b"), ("a b", "d", "d c"), ("b c", "a", "a")]
        {
            assert_eq!(with_first(&all, &paths(now), first.into()), paths(expected), "{now}, then {first}");
        }
        assert_eq!((firsts(&all), seconds(&all, &"c".to_owned())), (paths("a b c d"), paths("b d")));
        assert!(has(&all, &paths("b a")) && !has(&all, &paths("a c")) && !has(&all, &paths("c")));
    }
}
