//! Rows of the menu *View*: views, what acts on the focused panel, and the look of the window.

use crate::app::{
    document::{command::UiCommand as C, settings::Theme},
    kit::icons,
    shell::commands::{
        CommandState,
        requirements::{selection, simulation_of_view, unless},
        row::{CTRL, NONE, Row},
    },
};
use egui::Key;

const COLOURS: &str = "Variable that colours the focused panel";
const SIZE: &str = "Size of everything in the window";

pub const VIEWS: &[Row] =
    &[Row::labelled_by(C::ShowView(""), view_text, "Brings the view to the front, or adds it", icons::GRID)
        .each(|state| state.around.workspace.view_names(&state.document.session.live.schema).map(C::ShowView).collect())
        .needs(&[simulation_of_view])];

pub const FOCUS: &[Row] = &[
    Row::new(C::FocusSelection, "Focus selection", "Frames the selection in spatial views", icons::CROSSHAIR)
        .keys(NONE, Key::F)
        .after_separator()
        .needs(&[selection]),
    Row::new(C::ColorMenu, "Colour by…", COLOURS, icons::SLIDERS).keys(NONE, Key::C).needs(&[variables]),
    Row::new(
        C::ToggleRange,
        "Lock colour range",
        "Keeps the colour range of the focused panel, or lets it follow the data",
        icons::SLIDERS,
    )
    .keys(NONE, Key::R),
    Row::labelled_by(C::ColorBy(0), variable_text, COLOURS, icons::SLIDERS)
        .each(|state| (0..colorings(state).0.len()).map(C::ColorBy).collect())
        .only_in_palette()
        .without_keys()
        .needs(&[variables]),
];

pub const LOOK: &[Row] = &[
    theme_row(Theme::Dark, "Dark theme").after_separator(),
    theme_row(Theme::Light, "Light theme"),
    theme_row(Theme::System, "System theme"),
    Row::new(C::ZoomIn, "Zoom in", SIZE, icons::SEARCH).keys(CTRL, Key::Plus).after_separator(),
    Row::new(C::ZoomOut, "Zoom out", SIZE, icons::SEARCH).keys(CTRL, Key::Minus),
    Row::new(C::ZoomReset, "Original size", SIZE, icons::SEARCH).keys(CTRL, Key::Num0),
    Row::new(C::FullScreen, "Full screen", "The window fills the screen", icons::MAXIMISE).keys(NONE, Key::F11),
];

const fn theme_row(theme: Theme, label: &'static str) -> Row {
    Row::new(C::Theme(theme), label, "Colours of the window", icons::SUN)
}

/// Returns the variables that the focused panel can be coloured by, and the index of the current one.
fn colorings(state: &CommandState<'_>) -> (Vec<String>, usize) {
    state.around.workspace.colorings(&state.document.session.live.schema)
}

fn view_text(command: &C, state: &CommandState<'_>) -> String {
    let C::ShowView(name) = command else { return String::new() };
    format!("Show {}", state.around.workspace.view_title(&state.document.session.live.schema, name))
}

fn variable_text(command: &C, state: &CommandState<'_>) -> String {
    let C::ColorBy(at) = command else { return String::new() };
    let (options, current) = colorings(state);
    let name = options.get(*at).map_or("", String::as_str);
    format!("Colour by {name}{}", if *at == current { " (current)" } else { "" })
}

fn variables(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    unless(!colorings(state).0.is_empty(), "This panel has no colour options")
}
