//! What the palette offers: commands, settings, parameters, lists of the project, runs, and what was found of the model.

use super::{elements::Found, score::score};
use crate::{
    app::{App, commands::UiCommand, icons, inspector, interventions, text},
    params::{Change, ParamId, Params, path},
};
use std::path::PathBuf;

/// Entries shown at most.
const MAX_SHOWN: usize = 60;
/// How much more something counts that was used lately.
const RECENT: i32 = 400;

/// What an entry does.
#[derive(Clone)]
pub enum Entry {
    /// As from the menu.
    Command(UiCommand),
    /// Shows a parameter in the inspector.
    Show(ParamId),
    /// Sets a parameter.
    Set(Change),
    /// Shows a setting in its dialog.
    Setting(String),
    /// Selects a named set of the project.
    SelectSet(String),
    /// Shows a list of the project in the inspector.
    Group(&'static str),
    /// Shows a run.
    Run(PathBuf),
    /// Selects something of the model.
    Select(Found),
    /// Cannot be carried out.
    Wrong,
}

/// A line of the palette.
pub struct Row {
    /// What it does.
    pub entry: Entry,
    /// Its glyph.
    pub glyph: &'static str,
    /// What it is called.
    pub text: String,
    /// Keys, value, what it is of.
    pub aside: String,
    /// Why it cannot be chosen now.
    pub why_not: Option<&'static str>,
}

/// What fits the query, best first; without one, what was used lately and then the commands.
pub fn matching(ctx: &egui::Context, app: &App, query: &str, found: &[Found]) -> Vec<Row> {
    let query = query.trim();
    if query.contains('=') && !query.contains(" = ") {
        return vec![assignment(app.session.project.model.params(), query)];
    }
    let mut rows: Vec<(i32, Row)> = vec![];
    commands(ctx, app, query, &mut rows);
    if !query.is_empty() {
        parameters(app, query, &mut rows);
        settings(app, query, &mut rows);
        lists(app, query, &mut rows);
        runs(app, query, &mut rows);
        rows.extend(found.iter().map(|f| element(f, query)));
    }
    for (score, row) in &mut rows {
        let rank = app.used.iter().position(|name| *name == row.text);
        *score += rank.map_or(0, |rank| RECENT - rank as i32 * 10);
    }
    rows.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    rows.into_iter().map(|(_, row)| row).take(MAX_SHOWN).collect()
}

fn commands(ctx: &egui::Context, app: &App, query: &str, rows: &mut Vec<(i32, Row)>) {
    for command in UiCommand::all(app) {
        let text = command.text(app);
        let Some(score) = score(&text, query).max(in_words(command.tooltip(), query)) else { continue };
        let aside = app.keymap.text(ctx, &command);
        let (glyph, why_not) = (command.icon(), command.why_not(app));
        rows.push((score, Row { entry: Entry::Command(command), glyph, text, aside, why_not }));
    }
}

fn parameters(app: &App, query: &str, rows: &mut Vec<(i32, Row)>) {
    let params = app.session.project.model.params();
    for (id, score) in fitting(params, query) {
        let Some(spec) = params.spec(id) else { continue };
        let aside = path::show(spec, &params.get(id));
        let row = Row { entry: Entry::Show(id), glyph: icons::SLIDERS, text: params.path(id), aside, why_not: None };
        rows.push((score - 1, row));
    }
}

fn settings(app: &App, query: &str, rows: &mut Vec<(i32, Row)>) {
    for (id, score) in fitting(&app.settings, query) {
        let Some(spec) = app.settings.spec(id) else { continue };
        let name = app.settings.path(id);
        let text = format!("Setting: {}", spec.label().to_lowercase());
        let aside = path::show(spec, &app.settings.get(id));
        rows.push((score - 2, Row { entry: Entry::Setting(name), glyph: icons::GEAR, text, aside, why_not: None }));
    }
}

/// A sentence fits only with the words as they were typed: single letters in order are in most sentences.
fn in_words(sentence: &str, query: &str) -> Option<i32> {
    let is_there = query.len() > 2 && sentence.to_lowercase().contains(&query.to_lowercase());
    is_there.then_some(300)
}

/// Parameters whose path or first sentence fits.
fn fitting(params: &dyn Params, query: &str) -> Vec<(ParamId, i32)> {
    let fits = |id: ParamId| {
        let spec = params.spec(id).filter(|_| params.is_shown(id))?;
        let by_docs = in_words(&text::first_sentence(spec.docs), query);
        Some((id, score(&params.path(id), query).max(by_docs)?))
    };
    params.ids().into_iter().filter_map(fits).collect()
}

/// Named selections, stimuli and whatever else the project lists.
fn lists(app: &App, query: &str, rows: &mut Vec<(i32, Row)>) {
    let params = app.session.project.model.params();
    for set in interventions::named(params).into_iter().filter(|s| !s.name.is_empty()) {
        let text = format!("Select {}", set.name);
        if let Some(score) = score(&text, query) {
            let aside = text::first_line(&set.query);
            let entry = Entry::SelectSet(set.name);
            rows.push((score, Row { entry, glyph: icons::SELECTION, text, aside, why_not: None }));
        }
    }
    for (g, group) in params.groups().iter().enumerate().filter(|(_, g)| g.list) {
        for item in 0..params.len(g as u8) {
            let text = inspector::item_name(params, g, item);
            if let Some(score) = score(&text, query) {
                let aside = format!("{} of the project", group.label().to_lowercase());
                let entry = Entry::Group(group.name);
                rows.push((score, Row { entry, glyph: icons::SELECTION, text, aside, why_not: None }));
            }
        }
    }
}

fn runs(app: &App, query: &str, rows: &mut Vec<(i32, Row)>) {
    for run in &app.library.runs {
        if let Some(score) = score(&run.name, query).max(score(&run.note, query)) {
            let (text, aside) = (format!("Run {}", run.name), run.status_text().to_owned());
            let entry = Entry::Run(run.folder.clone());
            rows.push((score - 3, Row { entry, glyph: icons::FLASK, text, aside, why_not: None }));
        }
    }
}

fn element(found: &Found, query: &str) -> (i32, Row) {
    let (glyph, text, aside) = match found {
        Found::Element { text, aside, .. } => (icons::CROSSHAIR, text.clone(), aside.clone()),
        Found::Category { set, text, count, .. } => {
            (icons::SELECTION, text.clone(), format!("select {} {set}", text::count(u64::from(*count))))
        }
    };
    let score = score(&text, query).unwrap_or(0) - 5;
    (score, Row { entry: Entry::Select(found.clone()), glyph, text, aside, why_not: None })
}

fn assignment(params: &dyn Params, query: &str) -> Row {
    let (entry, text, why_not) = match path::parse(params, query) {
        Ok(change) => {
            let value = params.spec(change.id).map(|s| path::show(s, &change.value)).unwrap_or_default();
            let text = format!("Set {} to {value}", params.path(change.id));
            (Entry::Set(change), text, None)
        }
        Err(e) => (Entry::Wrong, e.to_string(), Some("")),
    };
    Row { entry, glyph: icons::SLIDERS, text, aside: String::new(), why_not }
}
