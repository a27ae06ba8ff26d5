//! Settings dialog: rows that are drawn from the declarations of [`Settings`], and keyboard shortcuts.

use crate::{
    app::{
        document::{command::UiCommand, settings::Settings},
        kit::{
            icons,
            theme::{TITLE, Tokens},
            widgets,
        },
        shell::{
            commands::{self, CommandState},
            keymap::{Keymap, ShortcutError},
            panels::inspector,
        },
    },
    params::Params,
};
use egui::{
    Align, Button, Event, Frame, Id, Key, KeyboardShortcut, Layout, Margin, Modal, Modifiers, RichText, ScrollArea,
    TextEdit, TextStyle, Ui, vec2,
};
use std::{borrow::Cow, path::Path};

/// Page of the dialog.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Page {
    #[default]
    Settings,
    Keys,
}

/// State of the open dialog.
#[derive(Default)]
pub struct SettingsDialog {
    page: Page,
    search: String,
    /// Command that waits for its new shortcut; `None` if no shortcut is being entered.
    waiting: Option<UiCommand>,
    problem: String,
}

impl SettingsDialog {
    /// Creates the dialog at a page, with a filter text.
    pub fn at(page: Page, search: &str) -> Self {
        Self { page, search: search.to_owned(), ..Self::default() }
    }
}

/// Draws the dialog if it is open. Returns the shortcuts if they were changed.
pub fn ui(
    ctx: &egui::Context,
    dialog: &mut Option<SettingsDialog>,
    settings: &mut Settings,
    config_dir: Option<&Path>,
    state: &CommandState<'_>,
) -> Option<Keymap> {
    let mut open = dialog.take()?;
    let mut keymap = Cow::Borrowed(state.around.keymap);
    let frame = Frame::popup(&ctx.global_style()).inner_margin(Margin::same(20)).corner_radius(8);
    let size = vec2(720.0, 520.0).min(ctx.content_rect().size() - vec2(80.0, 120.0));
    let modal = Modal::new(Id::unique("settings")).frame(frame).show(ctx, |ui| {
        ui.set_width(size.x);
        ui.set_max_height(size.y);
        open.ui(ui, (settings, &mut keymap), config_dir, state)
    });
    let was_waiting = open.waiting.is_some();
    if !modal.inner && (was_waiting || !modal.should_close()) {
        *dialog = Some(open);
    }
    match keymap {
        Cow::Borrowed(_) => None,
        Cow::Owned(changed) => Some(changed),
    }
}

impl SettingsDialog {
    /// Draws header, body and footer. Returns `true` if the dialog was closed.
    fn ui(
        &mut self,
        ui: &mut Ui,
        (settings, keymap): (&mut Settings, &mut Cow<'_, Keymap>),
        config_dir: Option<&Path>,
        state: &CommandState<'_>,
    ) -> bool {
        let t = Tokens::of(ui.ctx());
        ui.horizontal(|ui| {
            ui.label(RichText::new("Settings").text_style(TextStyle::Name(TITLE.into())).color(t.text_strong));
            ui.add_space(16.0);
            for (page, name) in [(Page::Settings, "Window"), (Page::Keys, "Keys")] {
                if ui.selectable_label(self.page == page, name).clicked() {
                    *self = Self::at(page, "");
                }
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let field = TextEdit::singleline(&mut self.search).hint_text("Filter").desired_width(180.0);
                ui.add(field).accessible_name("Filter settings");
            });
        });
        ui.add_space(8.0);
        let body = ui.available_height() - 40.0;
        let scroll = ScrollArea::vertical().max_height(body).min_scrolled_height(body).auto_shrink([false, true]);
        scroll.show(ui, |ui| match self.page {
            Page::Settings => settings_ui(ui, settings, config_dir, &self.search),
            Page::Keys => self.keys_ui(ui, keymap, state),
        });
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            let (changed, name) = match self.page {
                Page::Settings => (*settings != Settings::default(), "Reset all settings"),
                Page::Keys => (keymap.has_changes(), "Reset all keys"),
            };
            if ui.add_enabled(changed, Button::new(name)).clicked() {
                match self.page {
                    Page::Settings => *settings = Settings::default(),
                    Page::Keys => keymap.to_mut().reset_all(),
                }
            }
            ui.label(RichText::new(&self.problem).color(t.warn));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| widgets::primary(ui, "Done").clicked()).inner
        })
        .inner
    }

    fn keys_ui(&mut self, ui: &mut Ui, keymap: &mut Cow<'_, Keymap>, state: &CommandState<'_>) {
        let all = UiCommand::all(state);
        let needle = self.search.trim().to_lowercase();
        self.capture(ui, keymap, state, &all);
        for menu in commands::MENUS {
            let fits =
                |c: &&UiCommand| c.menu() == menu && c.has_own_keys() && c.text(state).to_lowercase().contains(&needle);
            let entries: Vec<&UiCommand> = all.iter().filter(fits).collect();
            if entries.is_empty() {
                continue;
            }
            ui.add_space(6.0);
            ui.label(RichText::new(menu).family(widgets::semibold()));
            for command in entries {
                self.key_row_ui(ui, keymap, state, (&all, command));
            }
        }
    }

    fn key_row_ui(
        &mut self,
        ui: &mut Ui,
        keymap: &mut Cow<'_, Keymap>,
        state: &CommandState<'_>,
        (all, command): (&[UiCommand], &UiCommand),
    ) {
        let t = Tokens::of(ui.ctx());
        let name = command.text(state);
        ui.horizontal(|ui| {
            ui.set_min_height(24.0);
            ui.label(icons::rich(command.icon()).color(t.text_sub));
            ui.label(&name);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let changed = keymap.is_changed(command);
                if widgets::state_dot(ui, changed, false, &format!("Reset the keys of {name}")).clicked() && changed {
                    let done = keymap.to_mut().reset(all, command);
                    self.show_result(state, done);
                }
                let is_waiting = self.waiting.as_ref() == Some(command);
                let keys = keymap.text(ui.ctx(), command);
                let shown = match (is_waiting, keys.is_empty()) {
                    (true, _) => "Press keys…",
                    (_, true) => "—",
                    _ => &keys,
                };
                let ink = if is_waiting { t.accent } else { t.text };
                let button = Button::new(RichText::new(shown).monospace().color(ink)).min_size(vec2(140.0, 20.0));
                let response = ui.add(button).accessible_name(format!("Keys of {name}"));
                if response.on_hover_text("Click, then press the keys. Backspace: none. Esc: cancel").clicked() {
                    self.waiting = if is_waiting { None } else { Some(command.clone()) };
                    self.problem.clear();
                }
            });
        });
    }

    /// Assigns the next pressed keys to the waiting command. Escape cancels the assignment; Backspace removes the shortcut.
    fn capture(&mut self, ui: &Ui, keymap: &mut Cow<'_, Keymap>, state: &CommandState<'_>, all: &[UiCommand]) {
        let Some(command) = self.waiting.clone() else { return };
        let pressed = ui.input_mut(|i| {
            let at = i.events.iter().position(|e| matches!(e, Event::Key { pressed: true, .. }))?;
            match i.events.remove(at) {
                Event::Key { key, modifiers, .. } => Some((key, modifiers)),
                _ => None,
            }
        });
        let Some((key, modifiers)) = pressed else { return };
        self.waiting = None;
        let wanted = match (key, modifiers.any()) {
            (Key::Escape, false) => return,
            (Key::Backspace, false) => None,
            _ => {
                let plain = Modifiers { ctrl: false, mac_cmd: false, ..modifiers };
                Some(KeyboardShortcut::new(plain, key))
            }
        };
        let done = keymap.to_mut().set(all, &command, wanted);
        self.show_result(state, done);
    }

    fn show_result(&mut self, state: &CommandState<'_>, done: Result<(), ShortcutError>) {
        self.problem = match done {
            Ok(()) => String::new(),
            Err(ShortcutError::InUse(other)) => {
                format!("These keys belong to “{}”: change that first", other.text(state))
            }
            Err(ShortcutError::Reserved) => "These keys move between fields".to_owned(),
        };
    }
}

fn settings_ui(ui: &mut Ui, settings: &mut Settings, config_dir: Option<&Path>, search: &str) {
    let defaults = Settings::default();
    for group in 0..defaults.groups().len() {
        inspector::declared_ui(ui, settings, &defaults, group, search);
    }
    if search.is_empty() {
        ui.add_space(10.0);
        let config = config_dir.map_or_else(|| "no folder".to_owned(), |d| d.display().to_string());
        ui.label(widgets::sub(ui, format!("Saved in {config}")).small());
        ui.label(widgets::sub(ui, "No update checks; no data leaves this computer").small());
    }
}
