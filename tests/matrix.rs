//! Every view and the whole window × empty, live, error × dark, light × 100 %, 200 %: drawn, not blank, in the colours of
//! its theme, and everything that can be operated has a name. Nothing depends on single pixels, so any Vulkan driver
//! will do. Pictures are written when `NEUROPIL_SHOTS` names a folder.

#[path = "fake_brain/mod.rs"]
mod fake;
#[path = "support/names.rs"]
mod names;
#[path = "support/window.rs"]
mod window;

use egui_kittest::{Harness, kittest::Queryable};
use neuropil::{
    app::{App, Start, commands::UiCommand, theme::Tokens, views},
    sim::SimError,
};
use std::{collections::HashMap, path::PathBuf, sync::Arc};
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

const STATES: [State; 5] = [State::Closed, State::Empty, State::Live, State::Error, State::Unbuilt];

fn has_graphics() -> bool {
    let has_driver = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"].iter().any(|p| PathBuf::from(p).exists());
    if !has_driver {
        eprintln!("SKIPPED: no Vulkan driver; install mesa-vulkan-drivers to draw pictures");
    }
    has_driver
}

fn start_in(state: State) -> Start {
    match state {
        State::Unbuilt => Start {
            builder: Some(Arc::new(|_, _, _| Err(SimError::Input("edges.csv, line 7: `x` is not a number".into())))),
            ..start(true)
        },
        State::Error => Start {
            builder: Some(Arc::new(|_, scene, _| {
                let mut sim = fake::Fake::new(scene.seed);
                sim.diverges_at = 0;
                Ok(Box::new(sim))
            })),
            ..start(true)
        },
        _ => start(true),
    }
}

/// A window in a state.
fn window_in(state: State, theme: egui::Theme) -> Window {
    let start = start_in(state);
    let mut w = Harness::builder()
        .with_size([1400.0, 860.0])
        .with_max_steps(30)
        .with_theme(theme)
        .with_render_cursor(false)
        .wgpu()
        .build_eframe(move |cc| App::new(cc, start).expect("threads"));
    w.run();
    if state != State::Closed {
        w.get_by_label("Run").click_accesskit();
    }
    let ctx = w.ctx.clone();
    match state {
        State::Closed => {}
        State::Live | State::Empty => {
            until(&mut w, "it has run", |w| w.state().session().live.clock.step > 500);
            w.state_mut().session_mut().selection.replace("neurons", vec![3210, 3300, 3420]);
            w.state_mut().command(&ctx, UiCommand::RunPause);
            until(&mut w, "it pauses", |w| !w.state().session().live.running);
        }
        State::Error => until(&mut w, "it has stopped", |w| w.state().session().live.trouble.is_some()),
        State::Unbuilt => until(&mut w, "it has failed", |w| w.state().session().live.error.is_some()),
    }
    if state == State::Empty {
        w.state_mut().session_mut().selection.replace("neurons", vec![]);
        w.state_mut().command(&ctx, UiCommand::Rewind);
        until(&mut w, "it is rewound", |w| w.state().session().live.clock.step == 0);
    }
    w
}

/// The panels there are in a state: all that fit the simulation.
fn panels_in(w: &Window, state: State) -> Vec<&'static str> {
    match state {
        State::Closed | State::Unbuilt => vec!["window"],
        _ => views::suggest(&w.state().session().live.exhibit),
    }
}

/// Panels on screen that wait for the model to run, and those that say why it does not.
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

/// Colours inside a part of the picture and how often each occurs.
fn colors(picture: &image::RgbaImage, part: egui::Rect, scale: f32) -> HashMap<[u8; 3], usize> {
    let inside = |x: u32, y: u32| part.contains(egui::pos2(x as f32 / scale, y as f32 / scale));
    let mut out = HashMap::new();
    for (_, _, p) in picture.enumerate_pixels().filter(|(x, y, _)| inside(*x, *y)) {
        *out.entry([p.0[0], p.0[1], p.0[2]]).or_default() += 1;
    }
    out
}

/// Most of it is the theme's ground, and there is something on it.
fn assert_drawn(picture: &image::RgbaImage, part: egui::Rect, scale: f32, t: &Tokens, name: &str) {
    let colors = colors(picture, part, scale);
    let all: usize = colors.values().sum();
    let (most, n) = colors.iter().max_by_key(|(_, n)| **n).expect("pixels");
    let grounds = [t.canvas, t.panel, t.raised].map(|c| [c.r(), c.g(), c.b()]);
    let near = |a: &[u8; 3], b: &[u8; 3]| a.iter().zip(b).all(|(a, b)| a.abs_diff(*b) <= 3);
    assert!(grounds.iter().any(|g| near(g, most)), "{name}: most of it is {most:?}, not {grounds:?}");
    assert!(colors.len() > 8 && *n < all, "{name} is blank: {} colours", colors.len());
}

fn themes() -> [(egui::Theme, Arc<Tokens>, &'static str); 2] {
    [(egui::Theme::Dark, Tokens::dark(), "dark"), (egui::Theme::Light, Tokens::light(), "light")]
}

fn bring_up(w: &mut Window, view: &'static str) {
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::ShowView(view));
    for _ in 0..4 {
        w.step();
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// Views join by themselves: each is brought to the front in turn. Where a panel waits for the model to run, it says so
/// and has a button; after a fault the same panels say what it was, and have a way out.
#[test]
fn every_panel_in_every_state_theme_and_scale() {
    if !has_graphics() {
        return;
    }
    let mut n = 0;
    for (theme, tokens, theme_name) in themes() {
        let mut waiting_in = HashMap::new();
        for state in STATES {
            let mut w = window_in(state, theme);
            for view in panels_in(&w, state) {
                if view != "window" {
                    bring_up(&mut w, view);
                }
                for scale in [1.0, 2.0] {
                    w.set_pixels_per_point(scale);
                    let name = format!("{view}-{state:?}-{theme_name}-{}", scale as u32 * 100).to_lowercase();
                    let picture = picture(&mut w, &name);
                    let screen = w.ctx.content_rect();
                    let (left, right) = screen.split_left_right_at_fraction(0.5);
                    for (part, side) in [(left, "left"), (right, "right")] {
                        assert_drawn(&picture, part, scale, &tokens, &format!("{name}, {side} half"));
                    }
                    assert_eq!(names::unnamed(w.root()), [""; 0], "{name}");
                    n += 1;
                }
                w.set_pixels_per_point(1.0);
                w.run_steps(2);
                let [waiting, failed] = waiting_and_failed(&w);
                match state {
                    State::Empty => drop(waiting_in.insert(view, waiting)),
                    State::Error => assert_eq!(Some(&failed), waiting_in.get(view), "{view} after a fault"),
                    _ => assert_eq!(failed, 0, "{view}, {state:?}"),
                }
            }
            let said = if state == State::Error { "neuron 17 is not a number" } else { "edges.csv, line 7" };
            if matches!(state, State::Error | State::Unbuilt) {
                assert!(w.query_all_by_label_contains(said).next().is_some(), "{said} in {theme_name}");
            }
        }
        assert!(waiting_in.values().sum::<usize>() > 5, "most panels wait for the model to run: {waiting_in:?}");
    }
    println!("{n} pictures");
}

/// Everything that opens over the window: dialogs, menus, the palette.
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
