//! `neuropil bench drawing`: times of frames on the graphics processor and on the software renderer, offscreen, and whether both
//! draw the same pictures.

mod difference;
mod graphics;
mod points;
mod window;

use super::quantile;
use difference::Difference;
use graphics::{Graphics, Picture, SIZE_PX};
use points::{Change, Points};
use serde::Serialize;
use std::{path::Path, time::Duration};

/// Result of one scene on one graphics processor.
#[derive(Clone, Debug, Serialize)]
pub struct DrawingRow {
    pub scene: String,
    /// Graphics processor, with its driver.
    pub adapter: String,
    pub is_software: bool,
    pub frames: usize,
    /// Median time from recording a frame until the graphics processor has finished it, ms.
    pub median_ms: f64,
    /// 99th percentile of that time, ms.
    pub p99_ms: f64,
    /// Median time of update, layout and tessellation before, ms; 0 for a scene without a window.
    pub ui_median_ms: f64,
    /// Difference to the picture of the software renderer; `None` on it, and without it.
    pub difference: Option<Difference>,
}

/// Measures every scene on every graphics processor, for `secs` seconds each. Pictures are written to `folder`.
///
/// # Errors
/// Fails if no graphics processor can be used, or a picture cannot be written.
pub fn run(secs: f64, folder: Option<&Path>) -> Result<Vec<DrawingRow>, String> {
    let all = graphics::all()?;
    let length = Duration::from_secs_f64(secs);
    let mut rows = vec![];
    for n in points::SIZES {
        rows.extend(points_rows(&all, n, length, folder)?);
    }
    for at in 0..all.len() {
        // The measured processor is the first; the others only draw its last frame.
        let mut order: Vec<&Graphics> = all.iter().collect();
        order.swap(0, at);
        rows.extend(window_rows(&order, length, folder)?);
    }
    Ok(rows)
}

/// Formats the result as one line per row, or as JSON.
pub fn report(rows: &[DrawingRow], json: bool) -> Vec<String> {
    if json {
        return vec![serde_json::to_string_pretty(rows).unwrap_or_default()];
    }
    rows.iter().map(line).collect()
}

/// Whether all pictures that were compared are equal within the tolerance.
pub fn are_equal(rows: &[DrawingRow]) -> bool {
    rows.iter().filter_map(|row| row.difference).all(|difference| difference.is_equal())
}

fn line(row: &DrawingRow) -> String {
    let ui = if row.ui_median_ms > 0.0 { format!("  UI thread {:.2} ms", row.ui_median_ms) } else { String::new() };
    let picture = row.difference.map_or_else(String::new, |d| {
        let verdict = if d.is_equal() { "equal to" } else { "DIFFERENT from" };
        format!("  {verdict} the software renderer's: {:.3} % of pixels differ, at most {}", 100.0 * d.share, d.largest)
    });
    let DrawingRow { scene, adapter, frames, median_ms, p99_ms, .. } = row;
    format!("{scene:38} {adapter}  {frames} frames, median {median_ms:.2} ms, p99 {p99_ms:.2} ms{ui}{picture}")
}

fn row(scene: String, on: &Graphics, ms: &[f64], difference: Option<Difference>) -> DrawingRow {
    DrawingRow {
        scene,
        adapter: on.name.clone(),
        is_software: on.is_software,
        frames: ms.len(),
        median_ms: quantile(ms, 0.5),
        p99_ms: quantile(ms, 0.99),
        ui_median_ms: 0.0,
        difference,
    }
}

fn points_rows(all: &[Graphics], n: usize, length: Duration, to: Option<&Path>) -> Result<Vec<DrawingRow>, String> {
    let mut scenes = all.iter().map(|on| Points::new(on, n, !on.is_software)).collect::<Vec<_>>();
    let mut pictures = vec![];
    for (scene, on) in scenes.iter_mut().zip(all) {
        scene.frame(None)?;
        let picture = on.picture()?;
        save(to, &format!("points-{n}-{}", kind(on)), &picture)?;
        pictures.push(picture);
    }
    let mut rows = vec![];
    for (at, (scene, on)) in scenes.iter_mut().zip(all).enumerate() {
        let difference = compared(all.iter().collect(), &pictures, at);
        for (change, name) in [(Change::Camera, "camera turns"), (Change::Values, "values change")] {
            let title = format!("3D, {} points, {name}", crate::app::kit::text::count(n as u64));
            let difference = difference.filter(|_| change == Change::Camera);
            rows.push(row(title, on, &scene.times(change, length)?, difference));
        }
    }
    Ok(rows)
}

fn window_rows(order: &[&Graphics], length: Duration, to: Option<&Path>) -> Result<Vec<DrawingRow>, String> {
    let mut frames = window::open(order)?;
    let mut rows = vec![];
    for (name, file) in [("density", "density"), ("single spikes", "spikes")] {
        if file == "spikes" {
            frames.show_single_spikes();
        }
        let times = frames.times(length)?;
        let pictures = frames.pictures()?;
        for (on, picture) in order.iter().zip(&pictures) {
            save(to, &format!("window-{file}-{}", kind(on)), picture)?;
        }
        let received = times.received_per_s * 1e-6;
        let title = format!("window, {received:.0} M spikes/s, {name}");
        let mut row = row(title, order[0], &times.draw_ms, compared(order.to_vec(), &pictures, 0));
        row.ui_median_ms = quantile(&times.ui_ms, 0.5);
        rows.push(row);
    }
    Ok(rows)
}

/// Compares a picture with that of the software renderer.
fn compared(order: Vec<&Graphics>, pictures: &[Picture], at: usize) -> Option<Difference> {
    let software = order.iter().position(|on| on.is_software).filter(|software| *software != at)?;
    Some(Difference::between(&pictures[at], &pictures[software]))
}

fn kind(on: &Graphics) -> &'static str {
    if on.is_software { "software" } else { "hardware" }
}

/// Writes a picture as PNG to the folder, if there is one.
fn save(folder: Option<&Path>, name: &str, picture: &Picture) -> Result<(), String> {
    let Some(folder) = folder else { return Ok(()) };
    let path = folder.join(format!("{name}.png"));
    let bytes = crate::app::shell::figure::encode(picture.as_flattened(), SIZE_PX[0], SIZE_PX[1], 4.0);
    let bytes = bytes.map_err(|e| format!("{}: {e}", path.display()))?;
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, bytes))
        .map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_drawn_the_same_after_a_turn_and_back() {
        let all = match graphics::all() {
            Ok(all) => all,
            Err(why) => return neuropil_test_support::skip(neuropil_test_support::Need::Graphics, why),
        };
        let on = all.last().expect("an adapter");
        let mut scene = Points::new(on, 2_000, false);
        scene.frame(None).expect("a frame");
        let first = on.picture().expect("its pixels");
        scene.frame(Some(Change::Camera)).expect("a frame");
        let turned = Difference::between(&first, &on.picture().expect("its pixels"));
        assert!(turned.drawn > 0.01 && turned.share > 0.001, "the picture changes: {turned:?}");
        for glow_on_device in [false, true] {
            let mut scene = Points::new(on, 2_000, glow_on_device);
            let again = scene.frame(None).and_then(|_| on.picture()).expect("the same picture");
            assert_eq!(Difference::between(&first, &again).largest, 0, "glow on the device: {glow_on_device}");
        }
    }
}
