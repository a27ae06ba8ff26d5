//! The window, driven through its accessibility tree as a screen reader would.

use crate::support::window;
use egui_kittest::{Harness, kittest::Queryable};
use neuropil::{
    app::{Start, create, document::command::UiCommand},
    engine::LoggedCommand,
    params::path,
    project::{self, Project},
};
use neuropil_test_support::temp::TempFolder;
use neuropil_test_support::{Need, skip};
use window::{Window, assign, open, set, start, until, value};

fn window(engine: bool) -> Window {
    open(start(engine))
}

#[test]
fn run_and_pause() {
    let mut w = window(true);
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.query_by_label("Pause").is_some());
    until(&mut w, "steps are taken", |w| w.state().session().live.clock.step > 50);
    w.get_by_label("Pause").click();
    until(&mut w, "it pauses", |w| w.query_all_by_label("Run").next().is_some());
    let step = w.state().session().live.clock.step;
    w.get_by_label("Step × 100").click();
    until(&mut w, "it has stepped", |w| w.state().session().live.clock.step == step + 100);
    w.key_press(egui::Key::Space);
    until(&mut w, "the key runs it", |w| w.query_by_label("Pause").is_some());
}

#[test]
fn slider_edits_undo_and_redo() {
    let mut w = window(false);
    w.run();
    w.get_by_role_and_label(egui::accesskit::Role::Slider, "lif.tau_m").set_value_accesskit(30.0);
    w.run();
    assert_eq!(value(&w, "lif.tau_m"), "30 ms");
    w.get_by_label("Undo").click();
    w.run();
    assert_eq!(value(&w, "lif.tau_m"), "20 ms");
    w.key_press_modifiers(egui::Modifiers::COMMAND | egui::Modifiers::SHIFT, egui::Key::Z);
    w.run();
    assert_eq!(value(&w, "lif.tau_m"), "30 ms");
    w.get_by_label("Reset lif.tau_m").click();
    w.run();
    assert_eq!(value(&w, "lif.tau_m"), "20 ms");
}

#[test]
fn a_drag_is_one_step() {
    let mut w = window(false);
    w.run();
    let rect = w.get_by_role_and_label(egui::accesskit::Role::Slider, "lif.v_threshold").rect();
    w.drag_at(rect.center());
    w.run();
    for x in [4.0, 8.0, 12.0] {
        w.hover_at(rect.center() + egui::vec2(x, 0.0));
        w.run();
    }
    w.drop_at(rect.center() + egui::vec2(12.0, 0.0));
    w.run();
    assert_ne!(value(&w, "lif.v_threshold"), "-45 mV");
    assert_eq!(w.state().session().history.counts(), (1, 0));
}

#[test]
fn typed_values_take_units() {
    let mut w = window(false);
    w.run();
    let field = w.get_by_label("lif.tau_m value");
    field.click();
    w.run();
    w.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::A);
    w.event(egui::Event::Text("0.015 s".into()));
    w.run();
    w.key_press(egui::Key::Enter);
    w.run();
    assert_eq!(value(&w, "lif.tau_m"), "15 ms");
}

#[test]
fn choices_show_their_parameters() {
    let mut w = window(false);
    w.run();
    assert!(w.query_by_label("network.in_degree").is_none());
    w.get_by_label("network.source").click();
    w.run();
    w.get_by_label("Balanced random network").click();
    w.run();
    assert_eq!(value(&w, "network.source"), "Balanced");
    assert!(w.query_all_by_label("network.in_degree").next().is_some());
}

#[test]
fn lists_grow_and_shrink() {
    let mut w = window(false);
    w.run();
    w.query_all_by_label("Add neuron group").next().expect("a row").click();
    w.run();
    w.run();
    assert_eq!(w.state().session().project.model.params().len(3), 1);
    w.get_by_label("Remove Neuron group 1").click();
    w.run();
    assert_eq!(w.state().session().project.model.params().len(3), 0);
}

#[test]
fn palette_runs_commands_and_sets_parameters() {
    let mut w = window(false);
    w.run();
    w.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::K);
    w.run();
    w.get_by_label("Palette").type_text("project tree");
    w.run();
    w.key_press(egui::Key::Enter);
    w.run();
    assert!(w.query_by_label("Section Model").is_none());
    w.get_by_label("Search commands and parameters").click();
    w.run();
    w.get_by_label("Palette").type_text("lif.tau_m=25");
    w.run();
    w.key_press(egui::Key::Enter);
    w.run();
    assert_eq!(value(&w, "lif.tau_m"), "25 ms");
    assert!(w.query_by_label("Palette").is_none());
}

#[test]
fn the_palette_finds_run_settings() {
    let mut w = window(false);
    w.run();
    w.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::K);
    w.run();
    w.get_by_label("Palette").type_text("speed limit");
    w.run();
    assert!(w.query_all_by_label("Run settings › Speed limit").next().is_some());
    w.key_press(egui::Key::Enter);
    w.run();
    let shows = |name: &str| w.query_all_by_label(name).next().is_some();
    assert!(shows("run.speed") && !shows("lif.tau_m"), "only its row is shown");
}

#[test]
fn the_palette_opens_another_panel_of_a_view() {
    let mut w = window(true);
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.query_all_by_label("Close Rates").count() == 1);
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Palette);
    w.run_steps(3);
    w.get_by_label("Palette").type_text("another rates");
    w.run_steps(3);
    w.key_press(egui::Key::Enter);
    w.run_steps(4);
    let close = w.query_all_by_label_contains("Close Rates");
    assert_eq!(close.count(), 2);
}

#[test]
fn unsaved_changes_ask_before_closing() {
    let mut w = window(false);
    w.run();
    set(&mut w, "lif.tau_m=11");
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::New("spiking"));
    w.run();
    w.get_by_label("Cancel").click();
    w.run();
    assert_eq!(value(&w, "lif.tau_m"), "11 ms");
    let folder = TempFolder::new("asks");
    let (file, trees) = (folder.join("other.ron"), folder.join("run.nwk"));
    project::save(&Project::default(), &file).expect("saved");
    std::fs::write(&trees, "('a':20,'b':10):10;\n").expect("written");
    // A window of lineages replaces nothing, so nothing is asked.
    open_path(&mut w, &trees);
    until(&mut w, "the lineages are shown", |w| w.query_by_label("Lineage of run.nwk").is_some());
    assert!(w.query_by_label("Discard changes").is_none() && w.state().session().is_dirty());
    open_path(&mut w, &file);
    assert!(w.query_by_label("Path").is_none() && w.state().session().path.is_none());
    w.get_by_label("Discard changes").click();
    until(&mut w, "the project is open", |w| w.state().session().path.as_deref() == Some(&*file));
}

/// Opens a file by its path.
fn open_path(w: &mut Window, path: &std::path::Path) {
    w.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::O);
    w.run_steps(3);
    assert!(w.query_by_label("Discard changes").is_none(), "nothing is discarded yet");
    w.get_by_label("Path").type_text(&path.display().to_string());
    w.run_steps(3);
    w.get_by_role_and_label(egui::accesskit::Role::Button, "Open").click();
    w.run_steps(4);
}

#[test]
fn a_project_is_saved_and_opened_again() {
    let folder = TempFolder::new("ui");
    let file = folder.join("kept.ron");
    let mut w = window(false);
    set(&mut w, "lif.tau_m=12");
    w.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::S);
    w.run();
    w.get_by_label("Path").focus();
    w.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::A);
    w.run();
    w.event(egui::Event::Text(file.display().to_string()));
    w.run();
    w.get_by_label("Save").click();
    until(&mut w, "it is saved", |w| !w.state().session().is_dirty());
    assert_eq!(w.state().session().project.name, "kept", "what was named after no file is named after its first");
    drop(w);
    let start = Start { path: Some(file), ..start(false) };
    let mut w =
        Harness::builder().with_size([1440.0, 900.0]).build_eframe(move |cc| create(cc, start).expect("threads"));
    until(&mut w, "it is open", |w| w.state().session().path.is_some());
    assert_eq!(value(&w, "lif.tau_m"), "12 ms");
}

#[test]
fn unsaved_work_survives_a_crash() {
    let temp = TempFolder::new("journal");
    let folder = temp.join("state");
    let with_state = |folder: &std::path::Path| Start { state_dir: Some(folder.to_owned()), ..start(false) };
    let open = |start: Start| -> Window {
        Harness::builder()
            .with_size([1440.0, 900.0])
            .with_max_steps(30)
            .build_eframe(move |cc| create(cc, start).expect("threads"))
    };
    let mut w = open(with_state(&folder));
    w.run();
    set(&mut w, "lif.tau_m=17");
    let mine = folder.join(format!("journal-{}.ron", std::process::id()));
    let kept = || std::fs::read_to_string(&mine).is_ok_and(|text| text.ends_with('\n'));
    until(&mut w, "it is kept", |_| kept());
    std::mem::forget(w); // the crash
    std::fs::rename(&mine, folder.join("journal-4194999.ron")).expect("a process that is gone");
    let mut w = open(with_state(&folder));
    until(&mut w, "it is offered", |w| w.query_by_label("Restore").is_some());
    w.get_by_label("Restore").click();
    w.run();
    assert_eq!(value(&w, "lif.tau_m"), "17 ms");
    assert!(w.state().session().is_dirty());
}

#[test]
fn edits_and_undo_reach_the_running_simulation() {
    let mut w = window(true);
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.query_by_label("Pause").is_some());
    w.get_by_role_and_label(egui::accesskit::Role::Slider, "lif.tau_m").set_value_accesskit(30.0);
    until(&mut w, "the edit was seen", |w| w.state().session().live.latency.samples.count() == 1);
    w.get_by_label("Undo").click();
    until(&mut w, "the undo was seen", |w| w.state().session().live.latency.samples.count() == 2);
}

#[test]
fn rebuild_parameters_show_a_notice() {
    let mut w = window(true);
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.query_by_label("Pause").is_some());
    let params = w.state_mut().session_mut().project.model.params_mut();
    let change = path::parse(params, "lif.dt=0.2").expect("assignment");
    params.set(&change);
    until(&mut w, "the notice is there", |w| w.query_by_label("Rebuild now").is_some());
    w.get_by_label("Rebuild now").click();
    until(&mut w, "the notice is gone", |w| w.query_by_label("Rebuild now").is_none());
    until(&mut w, "it runs again", |w| w.query_by_label("Pause").is_some());
}

#[test]
fn actions_of_the_kind_act_on_the_selection() {
    let mut w = window(true);
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 10);
    assert!(w.query_by_label("Voltage pulse").is_none());
    w.state_mut().session_mut().selection.replace("neurons", vec![1, 2, 30]);
    until(&mut w, "there is a button", |w| w.query_by_label("Voltage pulse").is_some());
    w.run_steps(5); // the card has its height
    w.get_by_label("Voltage pulse").click();
    let kicked = |logged: &LoggedCommand| matches!(logged, LoggedCommand::Act(a) if a.name == "kick" && a.elements == [1, 2, 30]);
    until(&mut w, "the simulation was kicked", |w| {
        let since = w.state().session().live.run_log();
        since.is_some_and(|since| since.log.iter().any(|(_, logged)| kicked(logged)))
    });
}

/// Renders the window to `target/screenshots`, or `NEUROPIL_SCREENSHOTS`.
#[test]
fn pictures() {
    let folder =
        std::env::var_os("NEUROPIL_SCREENSHOTS").map_or_else(|| "target/screenshots".into(), std::path::PathBuf::from);
    if std::env::var_os("NEUROPIL_NO_PICTURES").is_some() {
        skip(Need::Graphics, "pictures, because NEUROPIL_NO_PICTURES is set");
        return;
    }
    std::fs::create_dir_all(&folder).expect("folder");
    for (theme, name) in [(egui::Theme::Dark, "dark"), (egui::Theme::Light, "light")] {
        let start = Start { project: Some(example()), ..start(true) };
        let mut w: Window = Harness::builder()
            .with_size([1440.0, 900.0])
            .with_max_steps(30)
            .with_theme(theme)
            .with_render_cursor(false)
            .wgpu()
            .build_eframe(move |cc| create(cc, start).expect("threads"));
        w.run();
        save(&mut w, &folder.join(format!("home-{name}.png")));
        w.get_by_label("Run").click_accesskit();
        until(&mut w, "it runs", |w| w.state().session().live.clock.step > 1000);
        w.state_mut().session_mut().selection.replace("neurons", vec![3210, 3300, 3420]);
        w.get_by_role_and_label(egui::accesskit::Role::Slider, "lif.tau_m").set_value_accesskit(30.0);
        until(&mut w, "it has run", |w| w.state().session().live.clock.step > 30_000);
        save(&mut w, &folder.join(format!("workbench-{name}.png")));
        w.get_by_label("Pause").click_accesskit();
        until(&mut w, "it pauses", |w| w.query_all_by_label("Run").next().is_some());
        w.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::K);
        w.run_steps(3);
        save(&mut w, &folder.join(format!("palette-{name}.png")));
        w.key_press(egui::Key::Escape);
        w.run_steps(2);
        w.get_by_label("Simulation").click_accesskit();
        w.key_press(egui::Key::F12);
        w.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::J);
        assign(&mut w, "network.source=Balanced");
        let ctx = w.ctx.clone();
        w.state_mut().command(&ctx, neuropil::app::document::command::UiCommand::Stimulate);
        w.run_steps(4);
        save(&mut w, &folder.join(format!("menu-{name}.png")));
        w.key_press(egui::Key::Escape);
        w.run_steps(2);
        w.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::O);
        w.run_steps(4);
        save(&mut w, &folder.join(format!("dialog-{name}.png")));
    }
}

fn example() -> Project {
    let mut project = Project { name: "Sugar to motor".into(), ..window::continuous() };
    let params = project.model.params_mut();
    for (group, items) in [(3, 2), (4, 2)] {
        for _ in 0..items {
            params.push(group);
        }
    }
    for text in [
        "selections.0.name=Sugar GRNs",
        "selections.0.query=class = gustatory and side = right",
        "selections.1.name=MN9",
        "selections.1.query=class = motor",
        "interventions.0.name=Poisson on sugar",
        "interventions.0.target=Sugar GRNs",
        "interventions.1.name=Silence MN9",
        "interventions.1.target=MN9",
        "interventions.1.effect=SilenceBoth",
        "interventions.1.enabled=false",
        "lif.w_syn=0.31",
    ] {
        let change = path::parse(params, text).expect(text);
        params.set(&change);
    }
    project.record.push("spikes".into());
    project.run.speed = 2.0;
    project
}

fn save(w: &mut Window, file: &std::path::Path) {
    match w.render() {
        Ok(image) => image.save(file).expect("picture"),
        Err(e) => skip(Need::Graphics, format!("{}: {e}", file.display())),
    }
}
