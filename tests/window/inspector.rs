//! The rows of the inspector: typing, stepping, copying, presets, and edits applied by the engine.

use crate::support::window;
use egui::{Event, Key, Modifiers, accesskit::Role};
use egui_kittest::kittest::Queryable;
use neuropil::{
    params::{self, path},
    project,
};
use window::{Window, assign, open, set, start, until, value};

fn fresh() -> Window {
    let mut w = open(start(false));
    w.run();
    w
}

fn type_into(w: &mut Window, label: &str, text: &str) {
    w.get_by_label(label).click();
    w.run();
    w.event(Event::Text(text.into()));
    w.run();
}

fn enter(w: &mut Window) {
    w.key_press(Key::Enter);
    w.run();
}

/// Hovers over the row of a parameter.
fn hover(w: &mut Window, name: &str) {
    let at = w.get_by_role_and_label(Role::Slider, name).rect().left_center() - egui::vec2(30.0, 0.0);
    w.hover_at(at);
    w.run();
}

#[test]
fn expressions_and_units_are_understood() {
    let mut w = fresh();
    for (typed, want) in [
        ("0.015 s", "15 ms"),
        ("60/4", "15 ms"),
        ("2*pi ms", "6.283185307179586 ms"),
        ("2,5", "2.5 ms"),
        ("1e1", "10 ms"),
    ] {
        type_into(&mut w, "lif.tau_m value", typed);
        enter(&mut w);
        assert_eq!(value(&w, "lif.tau_m"), want, "{typed}");
    }
}

#[test]
fn invalid_input_shows_its_reason_and_changes_nothing() {
    let mut w = fresh();
    type_into(&mut w, "lif.tau_m value", "20 mV");
    assert!(w.query_by_label_contains("is a voltage; expected a time in ms").is_some());
    enter(&mut w);
    assert!(w.query_by_label_contains("expected a time in ms").is_some(), "Enter keeps the field open");
    assert_eq!(value(&w, "lif.tau_m"), "20 ms");
    w.key_press(Key::Escape);
    w.run();
    assert!(w.query_by_label_contains("expected a time").is_none());
    type_into(&mut w, "lif.tau_m value", "1 h");
    assert!(w.query_by_label_contains("above 10000 ms, the highest accepted").is_some());
    w.key_press(Key::Escape);
    w.run();
    assert_eq!((value(&w, "lif.tau_m"), w.state().session().is_dirty()), ("20 ms".into(), false));
}

/// The slider goes from 1 to 100 ms, 5 s are accepted when typed, and dragging from there does not jump.
#[test]
fn typed_values_may_exceed_the_slider_range() {
    let mut w = fresh();
    type_into(&mut w, "lif.tau_m value", "5 s");
    enter(&mut w);
    assert_eq!(value(&w, "lif.tau_m"), "5000 ms");
    w.get_by_label("Reset lif.tau_m").click();
    w.run();
    let rect = w.get_by_label("lif.tau_m value").rect();
    w.drag_at(rect.center());
    w.run();
    for x in [100.0, 500.0, 2000.0] {
        w.hover_at(rect.center() + egui::vec2(x, 0.0));
        w.run();
    }
    w.drop_at(rect.center() + egui::vec2(2000.0, 0.0));
    w.run();
    assert_eq!(value(&w, "lif.tau_m"), "100 ms", "the end of the slider");
    assert_eq!(w.state().session().history.counts().0, 3, "typed, reset, dragged");
}

#[test]
fn arrow_keys_step() {
    let mut w = fresh();
    w.get_by_label("lif.v_threshold value").click();
    w.run();
    for (modifiers, key, want) in [
        (Modifiers::NONE, Key::ArrowUp, "-44.8 mV"),
        (Modifiers::SHIFT, Key::ArrowUp, "-42.8 mV"),
        (Modifiers::COMMAND, Key::ArrowDown, "-42.82 mV"),
    ] {
        w.key_press_modifiers(modifiers, key);
        w.run();
        assert_eq!(value(&w, "lif.v_threshold"), want);
    }
}

#[test]
fn keys_over_a_row_reset_copy_and_paste() {
    let mut w = fresh();
    assign(&mut w, "lif.tau_m=33");
    w.run();
    hover(&mut w, "lif.tau_m");
    w.event(Event::Copy);
    w.step();
    let copied = w
        .output()
        .platform_output
        .commands
        .iter()
        .any(|c| matches!(c, egui::OutputCommand::CopyText(t) if t == "33 ms"));
    assert!(copied, "{:?}", w.output().platform_output.commands);
    w.key_press(Key::Backspace);
    w.run();
    assert_eq!(value(&w, "lif.tau_m"), "20 ms");
    w.event(Event::Paste("0.033 s".into()));
    w.run();
    assert_eq!(value(&w, "lif.tau_m"), "33 ms");
    w.event(Event::Paste("33 mV".into()));
    w.run();
    assert_eq!(value(&w, "lif.tau_m"), "33 ms");
    assert!(w.state().messages().iter().any(|m| m.contains("expected a time in ms")), "{:?}", w.state().messages());
}

#[test]
fn presets_and_pasted_parameters_are_one_undo_step_each() {
    let mut w = fresh();
    assign(&mut w, "lif.tau_m=33");
    assign(&mut w, "lif.w_syn=0.5");
    w.run();
    w.get_by_label("Presets and clipboard").click();
    w.run();
    w.get_by_label("Copy changed parameters").click();
    w.step();
    let text = w.output().platform_output.commands.iter().find_map(|c| match c {
        egui::OutputCommand::CopyText(text) => Some(text.clone()),
        _ => None,
    });
    let text = text.expect("on the clipboard");
    assert!(text.contains("\"lif.tau_m\": \"33 ms\"") && text.contains("\"lif.w_syn\": \"0.5 mV\""), "{text}");
    w.run();
    w.get_by_label("Presets and clipboard").click();
    w.run();
    w.get_by_label("Shiu 2024 LIF").click();
    w.run();
    assert_eq!((value(&w, "lif.tau_m"), value(&w, "lif.w_syn")), ("20 ms".into(), "0.275 mV".into()));
    let steps = w.state().session().history.counts().0;
    w.get_by_label("Presets and clipboard").click();
    w.run();
    w.get_by_label("Paste parameters here").click();
    w.run();
    w.event(Event::Paste(text));
    w.run();
    assert_eq!((value(&w, "lif.tau_m"), value(&w, "lif.w_syn")), ("33 ms".into(), "0.5 mV".into()));
    assert_eq!(w.state().session().history.counts().0, steps + 1);
}

#[test]
fn edits_are_pending_until_the_engine_applies_them() {
    let mut w = open(start(true));
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.query_by_label("Pause").is_some());
    let id = neuropil::params::path::find(w.state().session().project.model.params(), "lif.tau_m").expect("path").0;
    assign(&mut w, "lif.tau_m=31");
    let mut was_pending = false;
    until(&mut w, "it is applied", |w| {
        let taken = &w.state().session().live.acks;
        was_pending |= taken.is_pending(id);
        taken.applied_at(id).is_some() && !taken.is_pending(id)
    });
    assert!(was_pending, "for a frame at least");
    assert!(w.state().session().live.build_time.is_some());
}

#[test]
fn a_parameter_follows_a_formula() {
    let mut w = fresh();
    type_into(&mut w, "lif.tau_syn value", "= lif.tau_m / 2");
    enter(&mut w);
    assert_eq!(value(&w, "lif.tau_syn"), "10 ms");
    assert!(w.query_by_label("Formula of lif.tau_syn").is_some() && w.query_by_label("lif.tau_syn value").is_none());
    assert!(w.query_by_label("LIF neuron › Synaptic time constant = lif.tau_m / 2").is_some(), "all links are listed");
    assert_eq!(
        w.state().session().history.labels().0,
        Some("link LIF neuron › Synaptic time constant to lif.tau_m / 2")
    );
    assign(&mut w, "lif.tau_m=30");
    w.run();
    assert_eq!(value(&w, "lif.tau_syn"), "15 ms");
    type_into(&mut w, "lif.tau_m value", "= 2 * lif.tau_syn");
    enter(&mut w);
    assert!(w.state().messages().iter().any(|m| m.contains("it would follow itself")), "{:?}", w.state().messages());
    assert_eq!(value(&w, "lif.tau_m"), "30 ms");
    // The file keeps it, and another value for it is refused.
    let text = project::write(&w.state().session().project).expect("written");
    let (mut again, warnings) = project::read(&text).expect("read");
    assert_eq!((again.links.len(), warnings.len()), (1, 0));
    let here = std::path::Path::new(".");
    again.set("lif.tau_m=40", here).expect("set");
    assert_eq!(
        again.model.params().get(path::find(again.model.params(), "lif.tau_syn").expect("path").0),
        params::Value::Real(20.0)
    );
    let refused = again.set("lif.tau_syn=1", here).expect_err("linked").to_string();
    assert!(refused.contains("linked to `lif.tau_m / 2`"), "{refused}");
    w.get_by_label("Unlink LIF neuron › Synaptic time constant").click();
    w.run();
    assert_eq!((value(&w, "lif.tau_syn"), w.state().session().project.links.len()), ("15 ms".into(), 0));
    for _ in 0..3 {
        w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
        w.run();
    }
    assert_eq!((value(&w, "lif.tau_syn"), w.state().session().is_dirty()), ("5 ms".into(), false));
}

#[test]
fn rows_are_filtered_by_change_and_by_text() {
    let mut w = fresh();
    assign(&mut w, "lif.tau_m=33");
    w.run();
    w.get_by_label("Only changed parameters").click();
    w.run();
    assert!(w.query_by_label("lif.tau_m value").is_some() && w.query_by_label("lif.tau_syn value").is_none());
    w.get_by_label("Only changed parameters").click();
    w.run();
    type_into(&mut w, "Filter parameters", "refractory");
    assert!(w.query_by_label("lif.t_refractory value").is_some() && w.query_by_label("lif.tau_m value").is_none());
}

#[test]
fn long_names_do_not_widen_the_inspector() {
    let mut w = fresh();
    let width = |w: &Window| w.get_by_label("Filter parameters").rect().width();
    let before = width(&w);
    let name = "a_very_long_name_without_any_space_in_it_that_does_not_fit_into_the_width_of_the_panel".repeat(2);
    let params = w.state_mut().session_mut().project.model.params_mut();
    for (group, _) in params.groups().iter().enumerate().filter(|(_, g)| g.list).collect::<Vec<_>>() {
        params.push(group as u8);
        let id = params::ParamId::of(group, 0);
        params.set(&params::Change { id, value: params::Value::Text(name.clone()) });
    }
    w.run_steps(6);
    assert!((width(&w) - before).abs() < 1.0, "{} before, {} now", before, width(&w));
}

#[test]
fn a_formula_does_not_widen_the_inspector() {
    let mut w = fresh();
    let width = |w: &Window| w.get_by_label("Filter parameters").rect().width();
    let before = width(&w);
    type_into(&mut w, "lif.tau_syn value", "= lif.tau_m / 2");
    enter(&mut w);
    w.run_steps(10);
    assert!(w.query_by_label("Formula of lif.tau_syn").is_some());
    assert!((width(&w) - before).abs() < 1.0, "{} before, {} now", before, width(&w));
}

#[test]
fn the_palette_grows_with_its_results() {
    let mut w = open(start(true));
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 10);
    w.get_by_label("Pause").click();
    until(&mut w, "it pauses", |w| !w.state().session().live.running);
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, neuropil::app::document::command::UiCommand::Palette);
    w.run_steps(3);
    w.event(Event::Text("#3210".into()));
    w.run_steps(30);
    for _ in 0..5 {
        w.key_press(Key::Backspace);
        w.run_steps(4);
    }
    let rows = w.query_all_by_label_contains("New project").filter(|n| n.rect().height() > 10.0).count();
    let last = w.query_all_by_role(Role::Button).map(|n| n.rect().bottom()).fold(0.0_f32, f32::max);
    assert!(rows > 0 && last > 300.0, "{rows} rows, down to {last}");
}

#[test]
fn a_filter_over_a_field_is_evaluated_while_paused() {
    let mut w = open(start(true));
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 10);
    w.get_by_label("Pause").click();
    until(&mut w, "it pauses", |w| !w.state().session().live.running);
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, neuropil::app::document::command::UiCommand::ShowView("filter"));
    w.run_steps(4);
    w.get_by_label("Filter query").focus();
    w.run();
    w.event(Event::Text("rate >= 0 Hz".into()));
    until(&mut w, "it is evaluated", |w| w.query_by_label_contains("4,000 shown of 4,000").is_some());
    assert!(w.query_by_label_contains("no values yet").is_none());
}

/// A new stimulus is disabled until it has a valid target; an invalid query stays in the field with its reason.
#[test]
fn a_new_stimulus_is_enabled_by_its_first_valid_target() {
    let mut w = open(start(true));
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 10);
    w.query_all_by_label("Add stimulus").last().expect("a button").scroll_to_me();
    w.run_steps(4);
    w.query_all_by_label("Add stimulus").last().expect("a button").click();
    w.run_steps(4);
    let id = |w: &Window, field: &str| {
        let params = w.state().session().project.model.params();
        let group = params.groups().iter().position(|g| g.name == "interventions").expect("a list");
        let field = params.groups()[group].params.iter().position(|p| p.name == field).expect("a field");
        let item = (params.len(group as u8) - 1) as u16;
        params::ParamId { item, ..params::ParamId::of(group, field) }
    };
    let get = |w: &Window, field: &str| w.state().session().project.model.params().get(id(w, field));
    assert_eq!(get(&w, "enabled"), params::Value::Bool(false), "it has no target yet");
    let target = w.state().session().project.model.params().path(id(&w, "target"));
    let enter_target = |w: &mut Window, text: &str| {
        w.get_by_role_and_label(Role::TextInput, &target).focus();
        w.run_steps(2);
        w.key_press_modifiers(Modifiers::COMMAND, Key::A);
        w.event(Event::Text(text.into()));
        w.run_steps(2);
        w.key_press(Key::Enter);
        w.run_steps(4);
    };
    enter_target(&mut w, "super_clas = optic");
    assert!(w.query_by_label_contains("did you mean `super_class`").is_some(), "the reason is at the row");
    assert_eq!((get(&w, "target"), get(&w, "enabled")), (params::Value::Text("".into()), params::Value::Bool(false)));
    enter_target(&mut w, "super_class = optic");
    assert!(w.query_by_label_contains("did you mean").is_none());
    let valid = (params::Value::Text("super_class = optic".into()), params::Value::Bool(true));
    assert_eq!((get(&w, "target"), get(&w, "enabled")), valid);
}

/// Selecting elements leaves the parameters where they are.
#[test]
fn the_selection_card_does_not_move_the_parameters() {
    let mut w = open(start(true));
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 10);
    w.get_by_label("Pause").click();
    until(&mut w, "it pauses", |w| !w.state().session().live.running);
    w.run_steps(3);
    let before = w.get_by_label("lif.tau_m value").rect();
    w.state_mut().session_mut().selection.replace("neurons", vec![3, 5, 8]);
    w.run_steps(4);
    assert!(w.query_by_label_contains("3 neurons").is_some());
    assert_eq!(w.get_by_label("lif.tau_m value").rect(), before);
}

/// The parameters of a choice within a choice are rows of their own; another choice shows others.
#[test]
fn a_choice_within_a_choice_has_rows() {
    let mut w = open(start(true));
    w.run();
    let sliders = |w: &Window| {
        ["lif.start.spread.half_width", "lif.start.spread.sigma"]
            .map(|path| w.query_by_role_and_label(Role::Slider, path).is_some())
    };
    assert_eq!(sliders(&w), [false, false], "all neurons start at rest");
    set(&mut w, "lif.start=AroundRest");
    assert_eq!(sliders(&w), [true, false]);
    set(&mut w, "lif.start.spread=Normal");
    assert_eq!(sliders(&w), [false, true]);
    set(&mut w, "lif.start.spread.sigma=4");
    assert_eq!(value(&w, "lif.start"), "AroundRest(spread: Normal(sigma: 4 mV))");
    set(&mut w, "lif.start=AtRest");
    assert_eq!(sliders(&w), [false, false]);
}

#[test]
fn the_filter_finds_labels_and_tells_when_nothing_matches() {
    let mut w = fresh();
    let is_shown = |w: &Window, name: &str| w.query_by_label(&format!("Reset {name}")).is_some();
    let search = |w: &mut Window, text: &str| {
        w.get_by_label("Filter parameters").focus();
        w.run();
        w.key_press_modifiers(Modifiers::COMMAND, Key::A);
        type_into(w, "Filter parameters", text);
    };
    // On screen; neither in its path nor in its description.
    search(&mut w, "synaptic weight");
    assert!(is_shown(&w, "lif.w_syn") && !is_shown(&w, "lif.tau_m"));
    search(&mut w, "no such parameter");
    assert!(!is_shown(&w, "lif.w_syn"));
    w.get_by_label("Clear filter").click();
    w.run();
    assert!(is_shown(&w, "lif.tau_m"), "all are shown again");
}
