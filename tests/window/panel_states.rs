//! Every view and the window × empty, live, error × dark at 100 %, and live × light at 200 %: drawn, not blank, in the colours
//! of its theme, and every control has a name. A theme changes colours and a scale changes layouts, so two of the four pairs
//! show what all four would. No test depends on single pixels, so any Vulkan driver works. Pictures are
//! written when `NEUROPIL_SHOTS` names a folder.

use crate::support::harness::can_draw;
use crate::support::{fake, fake_population, names, population, window};
use egui_kittest::{Harness, kittest::Queryable};
use neuropil::{
    app::{Start, create, document::command::UiCommand, kit::theme::Tokens, views},
    engine::SimSchema,
    sim::{SimError, Simulation},
};
use std::{
    collections::{BTreeSet, HashMap},
    path::PathBuf,
    sync::Arc,
};
use window::{Window, assign, open, start, until};

/// The states of a window and of its panels.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// No simulation yet.
    Closed,
    /// A simulation that has not run.
    Empty,
    Live,
    /// A simulation that stopped before it had anything to show.
    Error,
    /// A simulation that could not be built.
    Unbuilt,
}

/// The simulations. Together they fill every view.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Subject {
    Brain,
    Population,
}

impl Subject {
    fn build(self, seed: u64, state: State) -> Box<dyn Simulation> {
        let diverges_at = if state == State::Error { 0 } else { u64::MAX };
        match self {
            Self::Brain => {
                let mut brain = fake::new(seed);
                (brain.diverges_at, brain.script.is_wired) = (diverges_at, true);
                Box::new(brain)
            }
            Self::Population => {
                let mut population = fake_population::new();
                population.diverges_at = diverges_at;
                Box::new(population)
            }
        }
    }

    fn select(self) -> (&'static str, Vec<u32>) {
        match self {
            Self::Brain => ("neurons", vec![3210, 3300, 3420]),
            Self::Population => (population::CELLS, (0..9).collect()),
        }
    }

    /// The panels in a state: all that fit the simulation; of the population only those the brain lacks.
    fn panels(self, w: &Window, state: State) -> Vec<&'static str> {
        if matches!(state, State::Closed | State::Unbuilt) {
            return vec!["window"];
        }
        let all = views::suggest(&w.state().session().live.schema).into_iter();
        all.filter(|v| self == Self::Brain || POPULATION.contains(v)).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// States to test. Without a simulation, windows are equal; texts in place of data have the same colours in every panel,
    /// so that one theme shows them.
    fn states(self, theme: egui::Theme) -> &'static [State] {
        const ALL: &[State] = &[State::Empty, State::Error, State::Live, State::Closed, State::Unbuilt];
        let first = if theme == egui::Theme::Dark { 0 } else { 2 };
        let end = if self == Self::Brain { ALL.len() } else { 3 };
        &ALL[first..end]
    }
}

/// Views that only the population fills.
const POPULATION: [&str; 10] =
    ["circle", "scatter", "phases", "lineage", "matrix", "links", "bands", "distribution", "texts", "tokens"];

fn start_in(subject: Subject, state: State) -> Start {
    let build = move |seed| match state {
        State::Unbuilt => Err(SimError::Input("edges.csv, line 7: `x` is not a number".into())),
        _ => Ok(subject.build(seed, state)),
    };
    Start { builder: Some(Arc::new(move |_, scene, _| build(scene.seed))), ..start(true) }
}

/// A window in a state.
fn window_in(subject: Subject, state: State, theme: egui::Theme) -> Window {
    let start = start_in(subject, state);
    let mut w = Harness::builder()
        .with_size([1400.0, 860.0])
        .with_max_steps(30)
        .with_theme(theme)
        .with_render_cursor(false)
        .wgpu()
        .build_eframe(move |cc| create(cc, start).expect("threads"));
    w.run();
    if state != State::Closed {
        w.get_by_label("Run").click_accesskit();
    }
    let ctx = w.ctx.clone();
    let (set, selected) = subject.select();
    match state {
        State::Closed => {}
        State::Live | State::Empty => {
            until(&mut w, "it has run", |w| w.state().session().live.clock.step > 500);
            w.state_mut().session_mut().selection.replace(set, selected);
            w.state_mut().command(&ctx, UiCommand::RunPause);
            until(&mut w, "it pauses", |w| !w.state().session().live.running);
        }
        State::Error => until(&mut w, "it has stopped", |w| w.state().session().live.stop_reason.is_some()),
        State::Unbuilt => until(&mut w, "it has failed", |w| w.state().session().live.error.is_some()),
    }
    if state == State::Empty {
        w.state_mut().session_mut().selection.replace(set, vec![]);
        w.state_mut().command(&ctx, UiCommand::Rewind);
        until(&mut w, "it is rewound", |w| w.state().session().live.clock.step == 0);
    }
    w
}

/// Number of visible panels with a Run button, and of those with an error.
fn waiting_and_failed(w: &Window) -> [usize; 2] {
    // One more is in the run bar.
    let waiting = w.query_all_by_label("Run").count() - 1;
    [waiting, w.query_all_by_label("The simulation stopped").count()]
}

fn picture(w: &mut Window, name: &str) -> image::RgbaImage {
    w.run_steps(3);
    let picture = w.render().unwrap_or_else(|e| panic!("{name}: {e}"));
    if let Some(folder) = std::env::var_os("NEUROPIL_SHOTS") {
        picture.save(PathBuf::from(folder).join(format!("{name}.png"))).expect("a writable folder");
    }
    picture
}

/// Colours in every third row of a part of the picture and how often each occurs.
fn colors(picture: &image::RgbaImage, part: egui::Rect, scale: f32) -> HashMap<[u8; 4], usize> {
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let range = |range: egui::Rangef, end: usize| (range.min * scale) as usize..((range.max * scale) as usize).min(end);
    let (pixels, _) = picture.as_raw().as_chunks::<4>();
    let mut out = HashMap::new();
    for y in range(part.y_range(), height).step_by(3) {
        let row = &pixels[y * width..][range(part.x_range(), width)];
        // Most neighbours are alike, and there are millions.
        for run in row.chunk_by(|a, b| a == b) {
            *out.entry(run[0]).or_default() += run.len();
        }
    }
    out
}

/// Most pixels have the theme's background, and some differ.
fn assert_drawn(picture: &image::RgbaImage, part: egui::Rect, scale: f32, t: &Tokens, name: &str) {
    let colors = colors(picture, part, scale);
    let all: usize = colors.values().sum();
    let (most, n) = colors.iter().max_by_key(|(_, n)| **n).expect("pixels");
    let grounds = [t.canvas, t.panel, t.raised].map(|c| [c.r(), c.g(), c.b()]);
    let near = |a: &[u8; 3], b: &[u8; 4]| a.iter().zip(b).all(|(a, b)| a.abs_diff(*b) <= 3);
    assert!(grounds.iter().any(|g| near(g, most)), "{name}: most of it is {most:?}, not {grounds:?}");
    assert!(colors.len() > 8 && *n < all, "{name} is blank: {} colours", colors.len());
}

/// Theme, its name in files, pixels per point.
type Look = (egui::Theme, &'static str, f32);
const DARK: Look = (egui::Theme::Dark, "dark-100", 1.0);
const LIGHT: Look = (egui::Theme::Light, "light-200", 2.0);

fn bring_up(w: &mut Window, view: &'static str) {
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::ShowView(view));
    for _ in 0..4 {
        w.step();
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn every_panel_of_a_brain_in_every_state_in_the_dark_theme() {
    look_at(Subject::Brain, DARK);
}

#[test]
fn every_panel_of_a_brain_in_every_state_in_the_light_theme() {
    look_at(Subject::Brain, LIGHT);
}

#[test]
fn every_panel_of_a_population_in_every_state_in_the_dark_theme() {
    look_at(Subject::Population, DARK);
}

#[test]
fn every_panel_of_a_population_in_every_state_in_the_light_theme() {
    look_at(Subject::Population, LIGHT);
}

#[test]
fn the_simulations_cover_every_view() {
    let schema = |sim: Box<dyn Simulation>| SimSchema {
        probes: sim.probes(),
        lanes: (0..sim.probes().len()).map(|probe| sim.lanes(probe as u16)).collect(),
        sets: sim.sets().to_vec(),
        connectivity: sim.connectivity(),
        has_graph: true, // `graph_editor` draws it
        ..SimSchema::default()
    };
    let brain = views::suggest(&schema(Subject::Brain.build(1, State::Live)));
    let population = views::suggest(&schema(Subject::Population.build(1, State::Live)));
    let shown: BTreeSet<_> =
        brain.into_iter().chain(population.into_iter().filter(|v| POPULATION.contains(v))).collect();
    assert_eq!(shown, views::ALL.iter().map(|v| v.name).collect::<BTreeSet<_>>());
}

/// Panels without data have a Run button; after a failure the same panels show the error and a recovery button.
fn look_at(subject: Subject, (theme, theme_name, scale): Look) {
    if !can_draw() {
        return;
    }
    let tokens = if theme == egui::Theme::Dark { Tokens::dark() } else { Tokens::light() };
    let mut waiting_in = HashMap::new();
    for state in subject.states(theme) {
        let mut w = window_in(subject, *state, theme);
        w.set_pixels_per_point(scale);
        for view in subject.panels(&w, *state) {
            if view != "window" {
                bring_up(&mut w, view);
            }
            assert_picture(&mut w, &format!("{view}-{state:?}-{theme_name}").to_lowercase(), &tokens, scale);
            w.run_steps(2); // a panel that came up is laid out in the next frames
            let [waiting, failed] = waiting_and_failed(&w);
            match state {
                State::Empty => drop(waiting_in.insert(view, waiting)),
                State::Error => {
                    let said = |w: &Window| Some(&waiting_and_failed(w)[1]) == waiting_in.get(view);
                    until(&mut w, &format!("{view} says it after a fault"), said);
                }
                _ => assert_eq!(failed, 0, "{view}, {state:?}"),
            }
        }
        let said = if *state == State::Error { "17 is not a number" } else { "edges.csv, line 7" };
        if matches!(state, State::Error | State::Unbuilt) {
            assert!(w.query_all_by_label_contains(said).next().is_some(), "{said} in {theme_name}");
        }
    }
    // A population is there before it moves.
    let most = subject == Subject::Population || theme == egui::Theme::Light || waiting_in.values().sum::<usize>() > 5;
    assert!(most, "most panels wait for the model to run: {waiting_in:?}");
}

/// Draws the window and looks at both halves of it.
fn assert_picture(w: &mut Window, name: &str, tokens: &Tokens, scale: f32) {
    let picture = picture(w, name);
    let screen = w.ctx.content_rect();
    let (left, right) = screen.split_left_right_at_fraction(0.5);
    for (part, side) in [(left, "left"), (right, "right")] {
        assert_drawn(&picture, part, scale, tokens, &format!("{name}, {side} half"));
    }
    assert_eq!(names::unnamed(w.root()), [""; 0], "{name}");
}

/// Dialogs, menus and the palette.
#[test]
fn dialogs_and_popups_name_their_controls() {
    let mut w = open(start(true));
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 10);
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::RunPause);
    until(&mut w, "it pauses", |w| !w.state().session().live.running);
    assign(&mut w, "lif.tau_m=11");
    w.run();
    assert_eq!(names::unnamed(w.root()), [""; 0]);
    for menu in ["File", "Edit", "Simulation", "View", "Help", "Presets and clipboard", "History"] {
        w.get_by_label(menu).click();
        w.run();
        assert_eq!(names::unnamed(w.root()), [""; 0], "menu {menu}");
        w.key_press(egui::Key::Escape);
        w.run();
    }
    let all = [
        UiCommand::Open,
        UiCommand::SaveAs,
        UiCommand::Help,
        UiCommand::About,
        UiCommand::Palette,
        UiCommand::SaveLayout,
    ];
    for command in all {
        let name = format!("{command:?}");
        w.state_mut().command(&ctx, command);
        w.run();
        assert_eq!(names::unnamed(w.root()), [""; 0], "{name}");
        w.key_press(egui::Key::Escape);
        w.run();
    }
    for combo in ["network.source", "lif.precision", "Speed"] {
        w.query_all_by_label(combo).next().expect(combo).click();
        w.run();
        assert_eq!(names::unnamed(w.root()), [""; 0], "{combo}");
        w.key_press(egui::Key::Escape);
        w.run();
    }
}
