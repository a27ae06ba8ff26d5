//! Entries of the palette: commands, settings, parameters, lists of the project, runs and elements of the model.

use super::{elements::SearchHit, score::score};
use crate::{
    app::{
        document::{command::UiCommand, interventions, items, library::Library, settings::Settings},
        host::recent::RecentCommands,
        kit::{icons, text},
        shell::commands::CommandState,
    },
    params::{Change, ParamId, Params, path, titles},
    project::{PlanTree, Project, RunPlan},
    sim::RequestSpec,
};
use std::path::PathBuf;

/// Maximum number of entries shown.
const MAX_SHOWN: usize = 60;
/// Score that is added for the most recently used entry.
const RECENT: i32 = 400;

/// Action of an entry.
#[derive(Clone)]
pub enum Entry {
    /// Runs a command.
    Command(UiCommand),
    /// Opens the window of requests with this one selected.
    Request(&'static RequestSpec),
    /// Shows the parameter or run setting with this path in the inspector.
    Show(String),
    /// Sets a parameter.
    Set(Change),
    /// Opens the settings dialog with this setting.
    Setting(String),
    /// Selects the elements of a named selection.
    SelectSet(String),
    /// Shows a list of the project in the inspector.
    Group(&'static str),
    /// Shows a run.
    Run(PathBuf),
    /// Selects elements of the model.
    Select(SearchHit),
    /// Has no action, because the text is invalid.
    Invalid,
}

/// Line of the palette.
pub struct Row {
    pub entry: Entry,
    pub glyph: &'static str,
    pub text: String,
    /// Additional text: shortcut, value or origin.
    pub aside: String,
    /// Reason why the entry is disabled; `None` if it is enabled.
    pub why_not: Option<&'static str>,
}

/// Data from which entries are made.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    pub state: CommandState<'a>,
    pub settings: &'a Settings,
}

/// Returns the entries that match the query, in descending order of score. Without a query these are recent entries, then all
/// commands.
pub fn matching(
    ctx: &egui::Context,
    Sources { state, settings: own }: Sources<'_>,
    used: &RecentCommands,
    query: &str,
    found: &[SearchHit],
) -> Vec<Row> {
    let document = state.document;
    let query = query.trim();
    if query.contains('=') && !query.contains(" = ") {
        return vec![assignment(document.session.project.model.params(), query)];
    }
    let mut rows: Vec<(i32, Row)> = vec![];
    commands(ctx, &state, query, &mut rows);
    if !query.is_empty() {
        requests(&state, query, &mut rows);
        parameters(document.session.project.model.params(), "", query, &mut rows);
        run_settings(&document.session.project, query, &mut rows);
        settings(own, query, &mut rows);
        lists(document.session.project.model.params(), query, &mut rows);
        runs(&document.library, query, &mut rows);
        rows.extend(found.iter().map(|f| element(f, query)));
    }
    for (score, row) in &mut rows {
        let rank = used.iter().position(|name| *name == row.text);
        *score += rank.map_or(0, |rank| RECENT - rank as i32 * 10);
    }
    rows.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    rows.into_iter().map(|(_, row)| row).take(MAX_SHOWN).collect()
}

fn commands(ctx: &egui::Context, state: &CommandState<'_>, query: &str, rows: &mut Vec<(i32, Row)>) {
    // Menus have no room for second panels of views, so they are offered only in searches.
    let more = state.around.workspace.repeatable_views().filter(|_| !query.is_empty()).map(UiCommand::OpenAnother);
    for command in UiCommand::all(state).into_iter().chain(more) {
        let text = command.text(state);
        let Some(score) = score(&text, query).max(match_sentence(command.tooltip(), query)) else { continue };
        let aside = state.around.keymap.text(ctx, &command);
        let (glyph, why_not) = (command.icon(), command.why_not(state));
        rows.push((score, Row { entry: Entry::Command(command), glyph, text, aside, why_not }));
    }
}

/// Adds the matching requests of the kind.
fn requests(state: &CommandState<'_>, query: &str, rows: &mut Vec<(i32, Row)>) {
    let (command, model) = (UiCommand::Requests, &state.document.session.project.model);
    for spec in model.requests() {
        let text = format!("{}…", spec.label());
        let Some(score) = score(&text, query).max(match_sentence(spec.docs, query)) else { continue };
        let (glyph, why_not) = (command.icon(), command.why_not(state));
        let row = Row { entry: Entry::Request(spec), glyph, text, aside: "question".into(), why_not };
        rows.push((score, row));
    }
}

/// Adds the matching parameters, except the one with the path `hidden`.
fn parameters(params: &dyn Params, hidden: &str, query: &str, rows: &mut Vec<(i32, Row)>) {
    for (id, path, score) in matching_params(params, query).into_iter().filter(|(_, path, _)| path != hidden) {
        let Some(spec) = params.spec(id) else { continue };
        let (text, aside) = (titles::title(params, id), titles::shown(spec, &params.get(id)));
        let row = Row { entry: Entry::Show(path), glyph: icons::SLIDERS, text, aside, why_not: None };
        rows.push((score - 1, row));
    }
}

/// Adds the matching run settings that the kind uses.
fn run_settings(project: &Project, query: &str, rows: &mut Vec<(i32, Row)>) {
    let hidden = format!("run.{}", RunPlan::unused(project.model.time_base()));
    parameters(&PlanTree { run: project.run.clone() }, &hidden, query, rows);
}

fn settings(settings: &Settings, query: &str, rows: &mut Vec<(i32, Row)>) {
    for (id, name, score) in matching_params(settings, query) {
        let Some(spec) = settings.spec(id) else { continue };
        let text = format!("Setting: {}", spec.label().to_lowercase());
        let aside = titles::shown(spec, &settings.get(id));
        rows.push((score - 2, Row { entry: Entry::Setting(name), glyph: icons::GEAR, text, aside, why_not: None }));
    }
}

/// Scores a sentence that contains the query. Letters in order are not sufficient, because most sentences contain those of any
/// short query.
fn match_sentence(sentence: &str, query: &str) -> Option<i32> {
    let is_there = query.len() > 2 && sentence.to_lowercase().contains(&query.to_lowercase());
    is_there.then_some(300)
}

/// Returns the parameters whose path, label or first sentence of the documentation matches, with their paths and scores.
fn matching_params(params: &dyn Params, query: &str) -> Vec<(ParamId, String, i32)> {
    let fits = |id: ParamId| {
        let spec = params.spec(id).filter(|_| params.is_shown(id))?;
        let by_docs = match_sentence(&text::first_sentence(spec.docs), query);
        let path = params.path(id);
        let by_name = score(&path, query).max(match_sentence(&titles::title(params, id), query));
        Some((id, path, by_name.max(by_docs)?))
    };
    params.ids().into_iter().filter_map(fits).collect()
}

/// Adds the matching items of the project's lists: named selections, stimuli and others.
fn lists(params: &dyn Params, query: &str, rows: &mut Vec<(i32, Row)>) {
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
            let text = items::item_name(params, g, item);
            if let Some(score) = score(&text, query) {
                let aside = format!("{} of the project", group.label().to_lowercase());
                let entry = Entry::Group(group.name);
                rows.push((score, Row { entry, glyph: icons::SELECTION, text, aside, why_not: None }));
            }
        }
    }
}

fn runs(library: &Library, query: &str, rows: &mut Vec<(i32, Row)>) {
    for run in &library.runs {
        if let Some(score) = score(&run.name, query).max(score(&run.labels.note, query)) {
            let (text, aside) = (format!("Run {}", run.name), run.status_text().to_owned());
            let entry = Entry::Run(run.folder.clone());
            rows.push((score - 3, Row { entry, glyph: icons::FLASK, text, aside, why_not: None }));
        }
    }
}

fn element(found: &SearchHit, query: &str) -> (i32, Row) {
    let (glyph, text, aside) = match found {
        SearchHit::Element { text, aside, .. } => (icons::CROSSHAIR, text.clone(), aside.clone()),
        SearchHit::Category { set, text, count, .. } => {
            (icons::SELECTION, text.clone(), format!("select {} {set}", text::count(u64::from(*count))))
        }
    };
    let score = score(&text, query).unwrap_or(0) - 5;
    (score, Row { entry: Entry::Select(found.clone()), glyph, text, aside, why_not: None })
}

fn assignment(params: &dyn Params, query: &str) -> Row {
    let (entry, text, why_not) = match path::parse(params, query) {
        Ok(change) => {
            let value = params.spec(change.id).map(|s| titles::shown(s, &change.value)).unwrap_or_default();
            let text = format!("Set {} to {value}", titles::title(params, change.id));
            (Entry::Set(change), text, None)
        }
        Err(e) => (Entry::Invalid, titles::in_text(params, &e.to_string()), Some("")),
    };
    Row { entry, glyph: icons::SLIDERS, text, aside: String::new(), why_not }
}
