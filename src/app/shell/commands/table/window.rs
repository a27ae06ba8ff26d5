//! Rows of the menu *Window*: workspaces and their panels, the layout, and the panels at the sides.

use crate::app::{
    document::{command::UiCommand as C, layout::Target},
    kit::icons,
    shell::{
        commands::{
            CommandState,
            requirements::unless,
            row::{ALT_CTRL, CTRL, NONE, Row, SHIFT},
        },
        workspace,
    },
};
use egui::{Key, KeyboardShortcut};

const FOCUSES: &str = "Moves the focus from panel to panel";
const LAYOUT_ONLY: &str = "Changes the layout only; parameters stay";
const TOGGLES: &str = "Shows or hides the panel";
const NUMBERS: [Key; workspace::WITH_KEYS] = [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6];

pub const WORKSPACES: &[Row] = &[
    Row::new(C::Home, "Home", "Examples, recent projects, import", icons::HOUSE).after_separator(),
    Row::labelled_by(C::Workspace(0), workspace_text, "Brings the workspace to the front", icons::GRID)
        .each(|state| (0..state.around.workspace.titles().count()).map(C::Workspace).collect())
        .keys_by(workspace_keys),
    Row::new(C::NewWorkspace, "New workspace", "Copies the current workspace", icons::PLUS).after_separator(),
    Row::new(C::CloseWorkspace, "Close workspace", "Its panels stay in the other workspaces", icons::CLOSE)
        .needs(&[|_, state| unless(state.around.workspace.can_close(), "Only a copy of a workspace can be closed")]),
    Row::new(C::Maximise, "Maximise or restore panel", "The focused panel fills the centre", icons::MAXIMISE)
        .keys(SHIFT, Key::F)
        .after_separator(),
    Row::new(C::FilterPanel, "Filter panel", "Focuses the filter field of the panel", icons::FUNNEL).keys(CTRL, Key::F),
    Row::new(C::NextPanel, "Next panel", FOCUSES, icons::GRID).keys(NONE, Key::F6),
    Row::new(C::PreviousPanel, "Previous panel", FOCUSES, icons::GRID).keys(SHIFT, Key::F6),
];

pub const LAYOUT: &[Row] = &[
    Row::new(C::UndoLayout, "Undo layout change", LAYOUT_ONLY, icons::UNDO)
        .keys(ALT_CTRL, Key::Z)
        .after_separator()
        .needs(&[|_, state| unless(state.around.workspace.steps().0 > 0, "No layout change to undo")]),
    Row::new(C::RedoLayout, "Redo layout change", LAYOUT_ONLY, icons::REDO)
        .keys(ALT_CTRL, Key::Y)
        .needs(&[|_, state| unless(state.around.workspace.steps().1 > 0, "No layout change to redo")]),
    Row::new(
        C::ResetLayout(Target::Workspace),
        "Reset layout to workspace default",
        "The layout suggested for this simulation",
        icons::GRID,
    )
    .after_separator(),
    Row::new(
        C::ResetLayout(Target::Project),
        "Reset layout to project default",
        "The layout stored in the opened project",
        icons::GRID,
    )
    .needs(&[|_, state| unless(state.around.workspace.can_reset(Target::Project), "The project has no layout")]),
    Row::new(
        C::ResetLayout(Target::Saved),
        "Reset layout to last saved",
        "The layout last saved with the project",
        icons::GRID,
    )
    .needs(&[|_, state| unless(state.around.workspace.can_reset(Target::Saved), "No saved layout in the project")]),
    Row::new(
        C::SaveLayout,
        "Save layout as…",
        "Saves this layout under a name, for this project or for all",
        icons::SAVE,
    )
    .after_separator(),
    Row::labelled_by(C::ApplyLayout(0), layout_text, "Applies the saved layout", icons::GRID)
        .each(|state| (0..state.around.workspace.layouts.iter().count()).map(C::ApplyLayout).collect())
        .without_keys(),
];

pub const PANELS: &[Row] = &[
    Row::new(C::ToggleTree, "Project tree", TOGGLES, icons::SIDEBAR).keys(CTRL, Key::B).after_separator(),
    Row::new(C::ToggleInspector, "Inspector", TOGGLES, icons::SIDEBAR).keys(CTRL, Key::I),
    Row::new(C::ToggleLog, "Log", TOGGLES, icons::TERMINAL).keys(CTRL, Key::J),
];

fn workspace_text(command: &C, state: &CommandState<'_>) -> String {
    let C::Workspace(at) = command else { return String::new() };
    format!("Workspace {}", state.around.workspace.titles().nth(*at).unwrap_or_default())
}

fn workspace_keys(command: &C) -> Option<KeyboardShortcut> {
    let C::Workspace(at) = command else { return None };
    NUMBERS.get(*at).map(|key| KeyboardShortcut::new(CTRL, *key))
}

fn layout_text(command: &C, state: &CommandState<'_>) -> String {
    let C::ApplyLayout(at) = command else { return String::new() };
    format!("Layout “{}”", state.around.workspace.layouts.iter().nth(*at).map_or("", |layout| &layout.name))
}
