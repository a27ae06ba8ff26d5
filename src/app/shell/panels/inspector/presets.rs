//! Menu of the inspector: presets with their citation and changes, and copying and pasting of parameters.

use crate::{
    app::{
        document::session::Session,
        kit::{icons, level::Level, text, theme::Tokens, widgets},
    },
    kinds::Model,
    params::{Change, ParamId, path, titles},
    project::clipboard,
    sim::Preset,
};
use egui::{
    Button, PopupCloseBehavior, RichText, Ui,
    containers::menu::{MenuButton, MenuConfig},
};

/// Draws the button, and the menu if it is open.
pub fn menu_ui(ui: &mut Ui, session: &mut Session, messages: &mut Vec<(Level, String)>) {
    let t = Tokens::of(ui.ctx());
    let button = Button::new(icons::rich(icons::LIST).size(15.0).color(t.text_sub)).frame_when_inactive(false);
    let stays = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    let (response, _) = MenuButton::from_button(button).config(stays).ui(ui, |ui| {
        // Without a fixed width, the paste field would make the menu as wide as the window.
        ui.set_width(240.0);
        for preset in session.project.model.presets() {
            preset_ui(ui, session, preset, messages);
        }
        ui.separator();
        copy_ui(ui, session, messages);
        paste_ui(ui, session, messages);
    });
    response.accessible_name("Presets and clipboard").on_hover_text("Presets, copy and paste");
}

fn preset_ui(ui: &mut Ui, session: &mut Session, preset: &Preset, messages: &mut Vec<(Level, String)>) {
    let changes = changes(session, preset);
    let button = ui.add_enabled(!changes.is_empty(), Button::new(preset.name)).accessible_name(preset.name);
    let hover = |ui: &mut Ui| tooltip_ui(ui, preset, &changes);
    if button.on_hover_ui(hover).on_disabled_hover_ui(hover).clicked() {
        apply(&mut session.project.model, preset);
        let n = text::plural(changes.len(), "parameter", "parameters");
        messages.push((Level::Info, format!("{}: {n} changed", preset.name)));
        ui.close();
    }
}

/// Sets the parameters of a preset.
fn apply(model: &mut Model, preset: &Preset) {
    let params = model.params_mut();
    // The parameters are set one after the other, because a choice determines which parameters exist.
    for text in preset.set {
        if let Ok(change) = path::parse(params, text) {
            params.set(&change);
        }
    }
}

/// Returns a line for each parameter that the preset changes: `LIF neuron › Spike threshold: -40 mV → -45 mV`.
fn changes(session: &Session, preset: &Preset) -> Vec<String> {
    let now = &session.project.model;
    let mut then = now.clone();
    apply(&mut then, preset);
    let line = |change: Change| {
        let spec = now.params().spec(change.id)?;
        let (id, old) = (change.id, titles::shown(spec, &now.params().get(change.id)));
        Some(format!("{}: {old} → {}", titles::title(now.params(), id), titles::shown(spec, &change.value)))
    };
    then.params().changes_since(now.params()).into_iter().filter_map(line).collect()
}

fn tooltip_ui(ui: &mut Ui, preset: &Preset, changes: &[String]) {
    let t = Tokens::of(ui.ctx());
    ui.set_max_width(380.0);
    ui.label(RichText::new(preset.name).family(widgets::semibold()).color(t.text_strong));
    ui.label(text::unwrap(preset.docs));
    ui.label(widgets::sub(ui, preset.source).small());
    ui.add_space(4.0);
    for line in changes.iter().take(24) {
        ui.label(RichText::new(line).size(11.0));
    }
    let rest = match changes.len() {
        0 => "No changes".to_owned(),
        n if n > 24 => format!("and {} more", n - 24),
        _ => return,
    };
    ui.label(widgets::sub(ui, rest).small());
}

fn copy_ui(ui: &mut Ui, session: &Session, messages: &mut Vec<(Level, String)>) {
    let (model, defaults) = (&session.project.model, session.defaults.params());
    let params = model.params();
    let changed = |id: ParamId| params.get(id) != defaults.get(id);
    let all = |_: ParamId| true;
    let choices: [(&str, &dyn Fn(ParamId) -> bool); 2] =
        [("Copy all parameters", &all), ("Copy changed parameters", &changed)];
    for (name, wanted) in choices {
        let n = params.ids().into_iter().filter(|id| wanted(*id)).count();
        let button = Button::new((icons::rich(icons::COPY).size(13.0), name));
        if ui.add_enabled(n > 0, button).accessible_name(name).clicked() {
            ui.ctx().copy_text(clipboard::copy(params, model.name(), wanted));
            messages.push((Level::Info, format!("Copied {}", text::plural(n, "parameter", "parameters"))));
            ui.close();
        }
    }
}

/// Draws a field for pasting. The clipboard's text arrives only as an event of a focused text field.
fn paste_ui(ui: &mut Ui, session: &mut Session, messages: &mut Vec<(Level, String)>) {
    let mut typed = String::new();
    let field = egui::TextEdit::singleline(&mut typed).hint_text("Paste parameters here").desired_width(f32::INFINITY);
    let response = ui.add(field).accessible_name("Paste parameters here");
    response.on_hover_text("Pastes parameters copied from the inspector");
    if typed.is_empty() {
        return;
    }
    let mut edited = session.project.model.clone();
    messages.push(match clipboard::paste(edited.params_mut(), &typed) {
        Ok((taken, left)) => {
            session.project.model = edited;
            let taken = text::plural(taken, "parameter", "parameters");
            match left.first() {
                None => (Level::Info, format!("{taken} pasted")),
                Some(first) => (Level::Warning, format!("{taken} pasted, {} not: {first}", left.len())),
            }
        }
        Err(why) => (Level::Warning, why),
    });
    ui.close();
}
