//! The editor of a network: a network is drawn from an empty project and runs; edits, undo and references; an incomplete network.

use crate::support::{
    stage::{Stage, graphics},
    window,
};
use egui::{Event, Key, Modifiers, PointerButton, Pos2, Vec2, accesskit::Role};
use egui_kittest::{
    Harness,
    kittest::{NodeT as _, Queryable as _},
};
use neuropil::{
    app::{Start, create, document::command::UiCommand, kit::theme::Tokens},
    engine::SimSchema,
    params::path,
    project::{DeviceChoice, Project, new_project},
};
use window::{Window, is_built, start, until, value};

/// Clicks and drags by which the first test draws its network at most.
const MOST_GESTURES: usize = 14;

/// The window, operated by clicks and drags that are counted.
struct Hand {
    w: Window,
    gestures: usize,
}

impl Hand {
    fn new(project: Option<Project>) -> Self {
        let start = Start { builder: None, project, ..start(true) };
        // Frames are short, so that two presses are a double-click.
        let builder = Harness::builder().with_size([1440.0, 900.0]).with_max_steps(30).with_step_dt(1.0 / 60.0);
        let mut w: Window = builder.build_eframe(move |cc| create(cc, start).expect("threads"));
        w.run_steps(4);
        Self { w, gestures: 0 }
    }

    /// A window with two populations, a projection from E to I and an input of E.
    fn pair() -> Self {
        Self::new(Some(Self::pair_project()))
    }

    fn pair_project() -> Project {
        let mut project = rules();
        let params = project.model.params_mut();
        for list in ["populations", "populations", "projections", "external_inputs"] {
            let group = params.groups().iter().position(|group| group.name == list).expect(list);
            params.push(group as u8);
        }
        for text in [
            "populations.0.name=E",
            "populations.1.name=I",
            "projections.0.from=E",
            "projections.0.to=I",
            "external_inputs.0.population=E",
        ] {
            let change = path::parse(params, text).expect(text);
            assert!(params.set(&change), "{text}");
        }
        project
    }

    /// Clicks a control, the one in the centre if the side panels have controls of equal names.
    fn click(&mut self, label: &str) {
        let is_beside = |node: &egui_kittest::Node<'_>| !(240.0..1050.0).contains(&node.rect().center().x);
        self.w.query_all_by_label(label).min_by_key(is_beside).expect(label).click();
        self.gestures += 1;
        self.w.run_steps(5);
    }

    /// Centre and radius of a circle.
    fn circle(&self, name: &str) -> (Pos2, f32) {
        let rect = self.w.get_by_label_contains(&format!("Circle {name}:")).rect();
        (rect.center(), rect.width() / 2.0 - 7.0)
    }

    /// Drags from the rim of a circle to the centre of another.
    fn connect(&mut self, from: &str, to: &str) {
        let ((a, radius), (b, _)) = (self.circle(from), self.circle(to));
        let along = if from == to { -Vec2::Y } else { (b - a).normalized() };
        self.drag(a + along * radius, b);
    }

    fn drag(&mut self, from: Pos2, to: Pos2) {
        let button = |pos: Pos2, pressed: bool| Event::PointerButton {
            pos,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        let mut events = vec![Event::PointerMoved(from), button(from, true)];
        events.extend((1..=6).map(|i| Event::PointerMoved(from + (to - from) * (i as f32 / 6.0))));
        events.push(button(to, false));
        for event in events {
            self.w.event(event);
            self.w.run_steps(1);
        }
        self.gestures += 1;
        self.w.run_steps(30); // so that the next press is no double-click
    }

    fn command(&mut self, command: UiCommand) {
        let ctx = self.w.ctx.clone();
        self.w.state_mut().command(&ctx, command);
        self.w.run_steps(4);
    }

    fn says(&self, text: &str) -> bool {
        self.w.query_all_by_label_contains(text).next().is_some()
    }

    /// Lines by their titles, with their signs.
    fn lines(&self) -> Vec<String> {
        let nodes = self.w.query_all_by_role(Role::Button).filter_map(|node| node.accesskit_node().label());
        nodes.filter_map(|label| Some(label.strip_prefix("Line ")?.to_owned())).collect()
    }

    /// Numbers of undo steps.
    fn steps(&self) -> usize {
        self.w.state().session().history.counts().0
    }
}

/// The new project *Network from rules*, on the CPU.
fn rules() -> Project {
    let mut project = new_project("rules").expect("a template");
    (project.run.device, project.run.threads) = (DeviceChoice::Cpu, 1);
    project
}

#[test]
fn a_balanced_network_is_drawn_from_an_empty_project_and_spikes() {
    let mut hand = Hand::new(Some(window::continuous()));
    hand.click("File");
    hand.click("New project: network from rules");
    assert!(!hand.w.state().session().live.is_load_pending(), "an empty network is not built");
    hand.click("Add a population");
    hand.click("Add external input");
    hand.click("Add population");
    hand.click("Add external input");
    let (e, i) = ("Population 1", "Population 2");
    hand.connect(e, e);
    hand.connect(e, i);
    hand.click("Inhibitory");
    hand.connect(i, i);
    hand.connect(i, e);
    let wanted = [
        "Population 1 → Population 1: excitatory",
        "Population 1 → Population 2: excitatory",
        "Population 2 → Population 2: inhibitory",
        "Population 2 → Population 1: inhibitory",
    ];
    assert_eq!(hand.lines(), wanted);
    assert_eq!(hand.steps(), 8, "each edit is one undo step: {:?}", hand.w.state().session().history.steps());
    assert!(hand.says("200 neurons  |  4,000 connections  |  "), "the caption states what a build makes");
    hand.w.state_mut().session_mut().project.run.device = DeviceChoice::Cpu;
    hand.click("Run");
    assert!(hand.gestures <= MOST_GESTURES, "{} gestures", hand.gestures);
    until(&mut hand.w, "it runs", |w| is_built(w) && w.state().session().live.clock.step > 500);
    until(&mut hand.w, "neurons spike", |w| w.state().time().past.trains().any(|(_, train)| train.history.len() > 20));
    hand.command(UiCommand::RunPause);
    hand.command(UiCommand::ShowView("graph_editor"));
    assert_eq!(hand.lines(), wanted, "the editor is a panel after the build");
}

/// A population without spikes over a second is a problem, which leads to its input.
#[test]
fn a_silent_population_is_named_with_its_input() {
    let mut project = Hand::pair_project();
    let params = project.model.params_mut();
    let change = path::parse(params, "external_inputs.0.source.rate=0").expect("a rate");
    assert!(params.set(&change));
    project.run.continuous = true;
    let mut hand = Hand::new(Some(project));
    hand.command(UiCommand::RunPause);
    until(&mut hand.w, "it is built", is_built);
    let silent = |w: &Window| w.state().problems().into_iter().find(|p| p.text.starts_with("Population E is silent"));
    until(&mut hand.w, "it is named", |w| silent(w).is_some());
    hand.command(UiCommand::RunPause);
    let problem = silent(&hand.w).expect("a problem");
    assert_eq!(problem.parameter.as_deref(), Some("external_inputs.0"));
    assert!(problem.text.ends_with("Raise its input (External input › → E)"), "{}", problem.text);
    hand.w.get_by_label("2 problems").click();
    hand.w.run_steps(3);
    hand.w.query_all_by_label("Show parameter").next().expect("a button").click();
    hand.w.run_steps(3);
    assert!(hand.says("Spikes per second and neuron") || hand.says("Rate"), "the input is shown");
}

#[test]
fn a_network_is_drawn_in_both_themes() {
    let Some(graphics) = graphics() else { return };
    let project = Hand::pair_project();
    for dark in [true, false] {
        let mut stage = Stage::new("graph_editor", SimSchema::default(), (700.0, 420.0)).on(&graphics, dark);
        stage.run(2);
        assert!(stage.says("No network to draw"));
        stage.show_graph(&project.model);
        let tokens = if dark { Tokens::dark() } else { Tokens::light() };
        let n = stage.count_pixels(tokens.excitatory.to_array());
        assert!(n > 200, "the line in its colour: {n} pixels");
        stage.shoot(if dark { "graph-editor-dark" } else { "graph-editor-light" });
    }
}

/// Name of an edit, the edit, and the numbers of circles, lines and inputs after it.
type Edit = (&'static str, fn(&mut Hand), [usize; 3]);

#[test]
fn edits_are_undone_one_by_one() {
    let mut hand = Hand::pair();
    assert_eq!(hand.lines(), ["E → I: excitatory"]);
    let edits: [Edit; 7] = [
        ("reverse a sign", |hand| hand.menu_on("Line E → I", "Make inhibitory"), [2, 1, 1]),
        ("connect", |hand| hand.connect("I", "E"), [2, 2, 1]),
        ("duplicate a line", |hand| hand.keys_on("Line E → I", Modifiers::COMMAND, Key::D), [2, 2, 1]),
        ("duplicate a circle", |hand| hand.keys_on("Circle E", Modifiers::COMMAND, Key::D), [3, 2, 2]),
        ("remove a circle", |hand| hand.keys_on("Circle E", Modifiers::NONE, Key::Delete), [1, 0, 0]),
        ("add by double-click", |hand| hand.double_click(Vec2::new(0.0, 200.0)), [3, 1, 1]),
        ("add an input", |hand| hand.select_and_press("Circle I", "Add external input"), [2, 1, 2]),
    ];
    for (what, edit, counts) in edits {
        let before = hand.w.state().session().project.clone();
        let steps = hand.steps();
        edit(&mut hand);
        assert_eq!((hand.counts(), hand.steps()), (counts, steps + 1), "{what}");
        hand.command(UiCommand::Undo);
        assert_eq!(hand.w.state().session().project, before, "{what}");
    }
}

#[test]
fn a_name_is_changed_with_its_references_in_one_step() {
    let mut hand = Hand::pair();
    hand.drag(hand.circle("E").0, Pos2::new(650.0, 300.0));
    let at = hand.circle("E").0;
    assert!(at.distance(Pos2::new(650.0, 300.0)) < 2.0, "a circle is moved: {at:?}");
    assert_eq!(hand.steps(), 0, "positions are no part of the document");
    hand.keys_on("Circle E", Modifiers::NONE, Key::F2);
    let field = hand.w.get_by_label("New name");
    field.focus();
    hand.w.run_steps(2);
    hand.w.key_press_modifiers(Modifiers::COMMAND, Key::A);
    hand.w.event(Event::Text("Exc".into()));
    hand.w.run_steps(2);
    hand.w.key_press(Key::Enter);
    hand.w.run_steps(6);
    assert_eq!(hand.lines(), ["Exc → I: excitatory"]);
    assert_eq!(value(&hand.w, "external_inputs.0.population"), "Exc");
    assert_eq!((hand.steps(), hand.circle("Exc").0), (1, at), "one step, and the circle stays");
    hand.command(UiCommand::Undo);
    assert_eq!((hand.lines(), hand.circle("E").0), (vec!["E → I: excitatory".to_owned()], at));
    let text = hand.w.state().session().layout.clone();
    assert_eq!(text, None, "the project was never saved");
}

#[test]
fn the_keyboard_moves_selects_and_connects() {
    let mut hand = Hand::pair();
    let before = hand.circle("E").0;
    hand.focus_and_press("Circle E", Key::ArrowRight);
    assert!(hand.circle("E").0.x > before.x + 5.0, "an arrow key moves the circle");
    hand.focus_and_press("Circle I", Key::Enter);
    hand.click("Connect");
    hand.focus_and_press("Circle E", Key::Enter);
    assert_eq!(hand.lines(), ["E → I: excitatory", "I → E: excitatory"], "from the selected circle to the second");
    assert_eq!(hand.steps(), 1);
}

#[test]
fn a_sign_is_reversed_and_the_keys_in_menus_are_those_in_use() {
    let mut hand = Hand::pair();
    hand.menu_on("Line E → I", "Make inhibitory");
    assert_eq!(hand.lines(), ["E → I: inhibitory"]);
    assert!(value(&hand.w, "projections.0.weight").starts_with('-'), "{}", value(&hand.w, "projections.0.weight"));
    hand.menu_on("Line E → I", "Make excitatory");
    assert_eq!((hand.lines(), hand.steps()), (vec!["E → I: excitatory".to_owned()], 2));
    hand.w.query_all_by_label_contains("Line E → I").next().expect("a line").click_secondary();
    hand.w.run_steps(4);
    assert!(hand.says("Ctrl+D"), "the key of Duplicate");
}

#[test]
fn the_wheel_enlarges_and_a_drag_moves_the_section() {
    let mut hand = Hand::pair();
    let canvas = hand.w.get_by_role_and_label(Role::Image, "Network").rect();
    let distance = |hand: &Hand| hand.circle("E").0.distance(hand.circle("I").0);
    let (whole, at) = (distance(&hand), canvas.center());
    hand.w.event(Event::PointerMoved(at));
    let delta = Vec2::new(0.0, 100.0);
    let (unit, phase, source) = (egui::MouseWheelUnit::Point, egui::TouchPhase::Move, egui::MouseWheelSource::Wheel);
    hand.w.event(Event::MouseWheel { unit, delta, phase, source, modifiers: Modifiers::NONE });
    hand.w.run_steps(30);
    assert!(distance(&hand) > 1.2 * whole, "{} after {whole}", distance(&hand));
    let before = hand.circle("E").0;
    let from = canvas.left_bottom() + Vec2::new(20.0, -20.0);
    hand.drag(from, from + Vec2::new(10.0, -15.0));
    let moved = hand.circle("E").0 - before;
    // The motion before the press counts as a drag is not part of it.
    assert!((moved - Vec2::new(10.0, -15.0)).length() < 4.0, "{moved:?}");
    assert_eq!(hand.steps(), 0, "the section is no part of the document");
    hand.click("Show all");
    assert!((distance(&hand) - whole).abs() < 1.0);
}

#[test]
fn an_incomplete_network_is_drawn_and_says_what_is_wrong() {
    let mut hand = Hand::pair();
    window::set(&mut hand.w, "projections.0.to=X");
    hand.w.run_steps(3);
    let why = "there is no population `X`; there is E, I";
    assert!(hand.lines()[0].contains(why), "{:?}", hand.lines());
    assert!(hand.says(&format!("E → X: To: {why}")), "the list of problems names it");
    hand.click("Run");
    let live = &hand.w.state().session().live;
    assert!(live.progress().is_none() && !live.is_loaded(), "it is not built");
    assert!(hand.w.state().messages().iter().any(|m| m.contains(why)), "{:?}", hand.w.state().messages());
    window::set(&mut hand.w, "projections.0.to=I");
    hand.w.run_steps(3);
    assert_eq!(hand.lines(), ["E → I: excitatory"]);
}

impl Hand {
    /// Selects a part of the drawing and presses a key.
    fn keys_on(&mut self, label: &str, modifiers: Modifiers, key: Key) {
        self.w.query_all_by_label_contains(label).next().expect(label).click();
        self.w.run_steps(20);
        self.w.key_press_modifiers(modifiers, key);
        self.w.run_steps(4);
    }

    /// Chooses an entry of the menu of a part of the drawing.
    fn menu_on(&mut self, label: &str, entry: &str) {
        self.w.query_all_by_label_contains(label).next().expect(label).click_secondary();
        self.w.run_steps(20);
        self.w.query_all_by_label_contains(entry).next().expect(entry).click();
        self.w.run_steps(5);
    }

    fn focus_and_press(&mut self, label: &str, key: Key) {
        self.w.query_all_by_label_contains(label).next().expect(label).focus();
        self.w.run_steps(2);
        self.w.key_press(key);
        self.w.run_steps(4);
    }

    fn select_and_press(&mut self, label: &str, button: &str) {
        self.w.query_all_by_label_contains(label).next().expect(label).click();
        self.w.run_steps(4);
        self.click(button);
    }

    /// Double-clicks at a distance from the middle of the canvas.
    fn double_click(&mut self, from_middle: Vec2) {
        let at = self.w.get_by_role_and_label(Role::Image, "Network").rect().center() + from_middle;
        self.w.event(Event::PointerMoved(at));
        for pressed in [true, false, true, false] {
            let (button, modifiers) = (PointerButton::Primary, Modifiers::NONE);
            self.w.event(Event::PointerButton { pos: at, button, pressed, modifiers });
        }
        self.w.run_steps(4);
        self.gestures += 1;
    }

    /// Numbers of circles, lines and inputs of the document.
    fn counts(&self) -> [usize; 3] {
        let params = self.w.state().session().project.model.params();
        ["populations", "projections", "external_inputs"]
            .map(|name| params.len(params.groups().iter().position(|group| group.name == name).expect(name) as u8))
    }
}
