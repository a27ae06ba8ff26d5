//! Rows of the menu *File*, and of the examples.

use crate::{
    app::{
        document::command::UiCommand as C,
        kit::icons,
        shell::{
            commands::{
                CommandState,
                requirements::{open_project, simulation, unless},
                row::{CTRL, Row, SHIFT_CTRL},
            },
            pages::examples,
        },
    },
    kinds::Model,
};
use egui::Key;

const OPENS: &str =
    "Opens a project file, a run or a SONATA circuit; the current simulation continues until the new one is ready";
const SAVES: &str = "Parameters, stimuli, groups, probes and layout; run data is stored in run folders";

pub const ROWS: &[Row] = &[
    Row::new(C::NewLike, "New project", "Starts from the defaults of the open project's kind", icons::FILE_PLUS)
        .keys(CTRL, Key::N),
    Row::labelled_by(C::New(""), new_text, "Starts from a small project of this kind", icons::FILE_PLUS)
        .each(|_| Model::all().iter().flat_map(new_projects).collect()),
    Row::new(C::Open, "Open…", OPENS, icons::FOLDER).keys(CTRL, Key::O),
    Row::new(C::ImportData, "Import connectivity…", "Builds a network from CSV or Parquet files", icons::IMPORT),
    Row::labelled_by(C::Example(""), example_text, "Opens the example and runs it", icons::BRAIN)
        .each(|_| examples::ALL.iter().map(|example| C::Example(example.name)).collect())
        .only_in_palette()
        .without_keys(),
    Row::labelled_by(C::OpenRecent(0), recent_text, OPENS, icons::FOLDER)
        .each(|state| (0..state.around.recent.projects.len()).map(C::OpenRecent).collect())
        .without_keys()
        .needs(&[existing_file]),
    Row::new(C::Save, "Save", SAVES, icons::SAVE).keys(CTRL, Key::S).after_separator().needs(&[open_project]),
    Row::new(C::SaveAs, "Save as…", SAVES, icons::SAVE).keys(SHIFT_CTRL, Key::S).needs(&[open_project]),
    Row::new(
        C::ExportPanel,
        "Export panel as figure…",
        "Exports the focused panel at a journal width, as PNG or as SVG with text as text",
        icons::EXPORT,
    )
    .keys(CTRL, Key::E)
    .after_separator()
    .needs(&[shown_panel]),
    Row::new(C::Quit, "Quit", "Closes a recording in progress, then quits", icons::CLOSE)
        .keys(CTRL, Key::Q)
        .after_separator(),
];

/// Returns the commands that create the new projects of a kind.
fn new_projects(model: &Model) -> Vec<C> {
    let further = model.templates().iter().map(|template| template.name);
    [model.name()].into_iter().chain(further).map(C::New).collect()
}

fn new_text(command: &C, _: &CommandState<'_>) -> String {
    let C::New(name) = command else { return String::new() };
    let further = Model::all().into_iter().flat_map(|model| model.templates()).find(|template| template.name == *name);
    let of_kind = || Model::by_name(name).map_or(*name, |model| model.title());
    let title = further.map_or_else(of_kind, |template| template.title);
    format!("New project: {}", title.to_lowercase())
}

fn example_text(command: &C, _: &CommandState<'_>) -> String {
    let C::Example(name) = command else { return String::new() };
    format!("Example: {}", examples::by_name(name).map_or(*name, |example| example.title))
}

fn recent_text(command: &C, state: &CommandState<'_>) -> String {
    let C::OpenRecent(at) = command else { return String::new() };
    let project = state.around.recent.projects.get(*at);
    format!("Open {}", project.map(|project| project.path.display().to_string()).unwrap_or_default())
}

/// Requires a panel on the screen: a simulation, except on pages without one, and not the welcome page.
fn shown_panel(command: &C, state: &CommandState<'_>) -> Option<&'static str> {
    match state.around.workspace {
        workspace if workspace.is_home => Some("No panel is shown"),
        workspace if workspace.page().needs_no_simulation() => None,
        _ => simulation(command, state),
    }
}

fn existing_file(command: &C, state: &CommandState<'_>) -> Option<&'static str> {
    let C::OpenRecent(at) = command else { return None };
    let project = state.around.recent.projects.get(*at);
    unless(project.is_some_and(|project| !project.is_missing), "The file no longer exists")
}
