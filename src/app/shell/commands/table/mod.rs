//! The table of commands: one row per command, or per value where values differ. A command is named in [`UiCommand`], in its row
//! and in the arm of [`execute::run`](crate::app::shell::execute::run) that executes it.

mod edit;
mod file;
mod help;
mod queued;
mod runs;
mod simulation;
mod view;
mod window;

pub use window::LAYOUT;

use super::row::Row;
use crate::app::document::command::UiCommand;
use std::{
    collections::HashMap,
    mem::{Discriminant, discriminant},
    sync::LazyLock,
};

/// Titles of the menus, in order.
pub const MENUS: [&str; 7] = ["File", "Edit", "Simulation", "Runs", "View", "Window", "Help"];

/// Title of the menu (empty: none) and rows, in the order of the palette. Sections of a menu are in its order.
static SECTIONS: [(&str, &[Row]); 14] = [
    ("File", file::ROWS),
    ("Edit", edit::ROWS),
    ("Simulation", simulation::RUN),
    ("Runs", runs::ROWS),
    ("View", view::VIEWS),
    ("Simulation", simulation::RERUN),
    ("View", view::FOCUS),
    ("Simulation", simulation::TIME),
    ("View", view::LOOK),
    ("Window", window::WORKSPACES),
    ("Window", window::LAYOUT),
    ("Window", window::PANELS),
    ("Help", help::ROWS),
    ("", queued::ROWS),
];

/// Title of the menu of a row (empty: none), and the row.
type Placed = (&'static str, &'static Row);

/// Iterates over all rows with the titles of their menus, in the order of the palette.
pub fn rows() -> impl Iterator<Item = Placed> {
    let placed = |(menu, rows): &(&'static str, &'static [Row])| {
        let menu = *menu;
        rows.iter().map(move |row| (if row.only_in_palette { "" } else { menu }, row))
    };
    SECTIONS.iter().flat_map(placed)
}

/// Rows of each variant, with the titles of their menus.
static BY_VARIANT: LazyLock<HashMap<Discriminant<UiCommand>, Vec<Placed>>> = LazyLock::new(|| {
    let mut rows_of = HashMap::<_, Vec<_>>::new();
    rows().for_each(|(menu, row)| rows_of.entry(discriminant(&row.command)).or_default().push((menu, row)));
    rows_of
});

/// Returns the row of a command with the title of its menu: the row of this value, else the first of the variant.
pub fn find(command: &UiCommand) -> Placed {
    let of_variant = &BY_VARIANT[&discriminant(command)]; // a test requires a row of each variant
    *of_variant.iter().find(|(_, row)| row.command == *command).unwrap_or(&of_variant[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::shell::commands::row::Offered;
    use egui::KeyboardShortcut;
    use std::collections::BTreeSet;

    /// Name of the variant of a command.
    fn variant(command: &UiCommand) -> String {
        format!("{command:?}").chars().take_while(|c| c.is_alphanumeric()).collect()
    }

    #[test]
    fn each_command_has_a_row() {
        let source = include_str!("../../../document/command.rs");
        let (_, body) = source.split_once("pub enum UiCommand {").expect("the declaration");
        let (body, _) = body.split_once("\n}").expect("its end");
        let lines = body.lines().map(str::trim).filter(|line| line.starts_with(char::is_uppercase));
        let declared: BTreeSet<String> =
            lines.map(|line| line.chars().take_while(|c| c.is_alphanumeric()).collect()).collect();
        let listed: BTreeSet<String> = rows().map(|(_, row)| variant(&row.command)).collect();
        assert_eq!(declared, listed);
        let n = rows().count();
        let commands: BTreeSet<String> = rows().map(|(_, row)| format!("{:?}", row.command)).collect();
        assert_eq!(commands.len(), n, "two rows have the same value");
    }

    #[test]
    fn default_shortcuts_differ() {
        let workspaces = (0..10).map(UiCommand::Workspace);
        let commands: Vec<UiCommand> = rows().map(|(_, row)| row.command.clone()).chain(workspaces.skip(1)).collect();
        let keys = |command: &UiCommand| -> Vec<KeyboardShortcut> {
            let (_, row) = find(command);
            row.shortcut(command).into_iter().chain(row.fixed_keys).collect()
        };
        let mut known: Vec<(KeyboardShortcut, &UiCommand)> = vec![];
        for command in &commands {
            for keys in keys(command) {
                let other = known.iter().find(|(other, _)| *other == keys);
                assert!(other.is_none(), "{command:?} and {other:?} have the same keys");
                known.push((keys, command));
            }
        }
        assert!(known.len() > 50, "{} shortcuts", known.len());
    }

    #[test]
    fn rows_of_menus_are_offered() {
        for (menu, row) in SECTIONS.iter().flat_map(|(menu, rows)| rows.iter().map(move |row| (*menu, row))) {
            assert_eq!(menu.is_empty(), matches!(row.offered, Offered::Never), "{:?}", row.command);
            assert!(menu.is_empty() || MENUS.contains(&menu), "{menu}");
        }
        for menu in MENUS {
            assert!(rows().any(|(title, _)| title == menu), "the menu {menu} is empty");
        }
    }
}
