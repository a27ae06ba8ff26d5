//! Rows of the menu *Help*.

use crate::app::{
    document::command::UiCommand as C,
    kit::icons,
    shell::commands::row::{CTRL, NONE, Row, SHIFT, SHIFT_CTRL},
};
use egui::Key;

pub const ROWS: &[Row] = &[
    Row::new(
        C::Palette,
        "Command palette",
        "Search commands and parameters; type parameter=value to set one",
        icons::COMMAND,
    )
    .keys(CTRL, Key::K)
    .fixed_keys(SHIFT_CTRL, Key::P),
    Row::new(C::Help, "Keyboard shortcuts", "Lists all shortcuts", icons::HELP).keys(SHIFT, Key::Questionmark),
    Row::new(C::PanelHelp, "Panel help", "Describes the focused panel", icons::HELP).keys(NONE, Key::F1),
    Row::new(C::ModelHelp, "Model help", "Describes the mechanisms of the model, and what was measured", icons::HELP),
    Row::new(
        C::Semantics,
        "Semantics of a step",
        "Shows the order of a step, refractory input and silencing, beside what other simulators do",
        icons::LIST,
    ),
    Row::new(
        C::ExportFormats,
        "Export formats",
        "Shows what each format of an exported run holds, and which programs read it",
        icons::LIST,
    ),
    Row::new(C::Settings, "Settings…", "Colours, sizes, numbers, autosave", icons::GEAR)
        .keys(CTRL, Key::Comma)
        .after_separator(),
    Row::new(C::Keys, "Edit shortcuts…", "Assigns shortcuts to commands", icons::COMMAND),
    Row::new(C::ToggleDev, "Developer statistics", "Frame times, latency, batch times", icons::GAUGE)
        .keys(NONE, Key::F12)
        .after_separator(),
    Row::new(
        C::System,
        "System information",
        "Devices, drivers, folders and environment, for a bug report",
        icons::CPU,
    ),
    Row::new(C::About, "About Neuropil", "Version and licences", icons::INFO),
];
