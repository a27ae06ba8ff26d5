//! Exported figures: the dialog, sizes on paper, and a picture without anything that belongs to the screen.

use crate::support::{harness::can_draw, window};
use egui::{Event, Key, Modifiers, Pos2, vec2};
use egui_kittest::{Harness, kittest::Queryable};
use neuropil::app::{Start, create, document::command::UiCommand};
use neuropil_test_support::temp::TempFolder;
use std::path::Path;
use window::{Window, start, until};

/// A window with a graphics device whose simulation has run and is paused, with a view in the focused panel.
fn window_with(view: &'static str, start: Start) -> Window {
    let builder = Harness::builder().with_size([1440.0, 900.0]).with_max_steps(30);
    let mut w = builder.wgpu().build_eframe(move |cc| create(cc, start).expect("threads"));
    until(&mut w, "it is laid out", |w| w.query_by_label("Run").is_some());
    w.get_by_label("Run").click_accesskit();
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 200);
    w.get_by_label("Pause").click_accesskit();
    until(&mut w, "it pauses", |w| !w.state().session().live.running);
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::ShowView(view));
    w.run_steps(3);
    w
}

/// Clicks a node of the dialog without the pointer.
fn choose(w: &mut Window, name: &str) {
    w.query_all_by_label(name).last().unwrap_or_else(|| panic!("`{name}`")).click_accesskit();
    w.run_steps(3);
}

/// Exports the panel in the dialog that is open, to a file.
fn export(w: &mut Window, file: &Path) -> Vec<u8> {
    w.get_by_label("Export…").click_accesskit();
    until(w, "it asks where to", |w| w.query_by_label("Path").is_some());
    // Behind the dialog, jobs of views may take any time, and a view repaints until they are done.
    w.get_by_label("Path").focus();
    w.run_steps(3);
    w.key_press_modifiers(Modifiers::COMMAND, Key::A);
    w.event(Event::Text(file.display().to_string()));
    w.run_steps(3);
    w.key_press(Key::Enter);
    let start = format!("Wrote {}", file.display());
    until(w, "it is written", |w| w.state().messages().iter().any(|m| m.starts_with(&start)));
    std::fs::read(file).expect("a file")
}

fn open_dialog(w: &mut Window) {
    w.key_press_modifiers(Modifiers::COMMAND, Key::E);
    w.run_steps(3);
    assert!(w.query_all_by_label("Width (mm)").next().is_some(), "the dialog asks for the size on paper");
}

/// Chooses a height that does not depend on the panel.
fn choose_height(w: &mut Window) {
    w.query_all_by_label("Height").last().expect("the rule").click();
    w.run_steps(3);
    w.get_by_label("3:2").click();
    w.run_steps(3);
}

/// A figure of 85 × 56.7 mm at 150 dpi.
fn figure(w: &mut Window, file: &Path) -> image::RgbImage {
    open_dialog(w);
    choose(w, "Width (mm): 85");
    choose(w, "Resolution (dpi): 150");
    // The panel is lower when the selected range has a row below it.
    choose_height(w);
    image::load_from_memory(&export(w, file)).expect("a picture").to_rgb8()
}

fn drag(w: &mut Window, from: Pos2, to: Pos2) {
    w.hover_at(from);
    w.run_steps(2);
    w.drag_at(from);
    w.run_steps(2);
    w.hover_at(to);
    w.run_steps(2);
    w.drop_at(to);
    w.run_steps(3);
}

/// With the pointer over the panel, a selected time range and the time cursor in the past, the figure of 85 mm has the same pixels
/// as without them.
#[test]
fn a_figure_has_no_screen_furniture() {
    if !can_draw() {
        return;
    }
    let folder = TempFolder::new("furniture");
    for (view, label) in [("rates", "Rates over time"), ("raster", "Spike raster")] {
        let mut w = window_with(view, start(true));
        w.remove_cursor();
        w.run_steps(3);
        let plain = figure(&mut w, &folder.join(format!("{view}-plain.png")));
        assert_eq!(plain.width(), 502, "85 mm at 150 dpi");
        let colors: std::collections::HashSet<_> = plain.pixels().map(|p| p.0).collect();
        assert!(colors.len() > 20, "{view}: {} colours", colors.len());
        let area = w.get_by_label(label).rect();
        let axis = area.left_bottom() + vec2(area.width() * 0.5, -6.0);
        drag(&mut w, axis, axis + vec2(60.0, 0.0));
        assert!(w.state().time().axis.range.is_some(), "{view}: a range is selected");
        let ctx = w.ctx.clone();
        w.state_mut().command(&ctx, UiCommand::MoveCursor(-1));
        w.hover_at(area.center());
        w.run_steps(3);
        assert!(w.state().time().axis.cursor().is_some());
        let furnished = figure(&mut w, &folder.join(format!("{view}-furnished.png")));
        let differing = plain.pixels().zip(furnished.pixels()).filter(|(a, b)| a != b).count();
        assert_eq!((plain.dimensions(), differing), (furnished.dimensions(), 0), "{view}");
    }
}

#[test]
fn the_focused_panel_is_exported_as_svg_with_text() {
    if !can_draw() {
        return;
    }
    let folder = TempFolder::new("figure-svg");
    let mut w = window_with("rates", start(true));
    open_dialog(&mut w);
    w.query_all_by_label("Font").last().expect("the choice").click();
    w.run_steps(3);
    w.get_by_label("Times (SVG)").click();
    w.run_steps(3);
    assert!(w.query_by_label("A PNG is drawn with Inter instead").is_some());
    let text = String::from_utf8(export(&mut w, &folder.join("rates.svg"))).expect("text");
    assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"), "{}", &text[..200]);
    assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
    assert!(text.contains("width=\"85mm\"") || text.contains("width=\"84.99") || text.contains("width=\"85.00"));
    for said in ["Class rates (Hz)", "optic", "motor", "minimum to maximum per pixel"] {
        assert!(text.contains(said), "`{said}` is text: the legend is complete, and the caption says what a line is");
    }
    assert!(!text.contains("more"), "no entry of the legend is left out");
    assert!(text.contains("font-family=\"Times New Roman, Times, serif\""), "in the chosen font");
    let canvas = neuropil::app::kit::theme::Tokens::light().canvas;
    let light = format!("#{:02x}{:02x}{:02x}", canvas.r(), canvas.g(), canvas.b());
    assert!(text.contains(&light), "in the light theme");
    assert_eq!(w.ctx.theme(), egui::Theme::Dark, "the window keeps its theme");
    assert!(text.matches("<path").count() > 5, "curves are lines");
}

#[test]
fn a_png_has_its_size_on_paper_and_the_choice_is_kept() {
    if !can_draw() {
        return;
    }
    let folder = TempFolder::new("figure-png");
    let config = folder.join("config");
    let mut w = window_with("rates", Start { config_dir: Some(config.clone()), ..start(true) });
    open_dialog(&mut w);
    choose(&mut w, "Width (mm): 114");
    choose(&mut w, "Resolution (dpi): 600");
    choose_height(&mut w);
    let bytes = export(&mut w, &folder.join("rates.png"));
    let picture = image::load_from_memory(&bytes).expect("a picture").to_rgb8();
    assert_eq!(picture.dimensions(), (2693, 1795), "114 × 76 mm at 600 dpi");
    let corner = image::imageops::crop_imm(&picture, 2000, 0, 693, 1795);
    let colors: std::collections::HashSet<_> = corner.to_image().pixels().map(|p| p.0).collect();
    assert!(colors.len() > 20, "the part outside the window is drawn: {} colours", colors.len());
    let head = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().expect("its head");
    let dims = head.info().pixel_dims.map(|d| (d.xppu, d.yppu, d.unit));
    assert_eq!(dims, Some((23_622, 23_622, png::Unit::Meter)), "600 dpi");
    let message = w.state().messages().join("\n");
    assert!(message.contains("114 × 76 mm at 600 dpi (") && message.contains("B)"), "{message}");
    until(&mut w, "the message is drawn", |w| w.query_by_label("Show in folder").is_some());
    let kept = || std::fs::read_to_string(config.join("settings.ron")).unwrap_or_default();
    until(&mut w, "the choice is kept", |_| kept().contains("width_mm"));
    assert!(kept().contains("114") && kept().contains("ThreeToTwo"), "{}", kept());
    // The next figure begins with the same choice.
    open_dialog(&mut w);
    assert!(w.query_by_label_contains("114 × 76 mm. PNG: 2,693 × 1,795 pixels").is_some());
}

/// A panel without data gives no figure, but a message.
#[test]
fn an_empty_panel_gives_no_figure() {
    if !can_draw() {
        return;
    }
    let mut w = window_with("traces", start(true));
    open_dialog(&mut w);
    w.get_by_label("Export…").click_accesskit();
    until(&mut w, "it is refused", |w| w.state().messages().iter().any(|m| m.starts_with("No figure: the panel")));
    until(&mut w, "the window is back", |w| w.query_all_by_label("Run").next().is_some());
    assert!(w.query_by_label("Path").is_none());
}

/// The label that counts entries without room opens the list of all, whose rows hide and show lanes.
#[test]
fn a_legend_without_room_opens() {
    let mut w = window::open(start(true));
    until(&mut w, "it is laid out", |w| w.query_by_label("Run").is_some());
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| w.state().session().live.clock.step > 200);
    w.get_by_label("Pause").click();
    until(&mut w, "it pauses", |w| !w.state().session().live.running);
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::ShowView("rates"));
    w.run_steps(3);
    // The six lanes have room in a large panel, but not in a low window.
    w.set_size(vec2(900.0, 560.0));
    w.run_steps(4);
    let is_more = |w: &Window| w.query_all_by_label_contains("more: show the whole legend").next().is_some();
    until(&mut w, "lanes have no room", is_more);
    let shown = |w: &Window| w.query_all_by_label("motor").count();
    let before = shown(&w);
    w.query_all_by_label_contains("more: show the whole legend").next().expect("a label").click();
    w.run_steps(4);
    assert!(shown(&w) > before, "the list names the last lane");
}
