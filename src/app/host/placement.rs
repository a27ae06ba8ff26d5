//! Saves the position and size of the window.

use crate::project;
use egui::{Pos2, Vec2, ViewportBuilder, ViewportInfo};
use std::path::{Path, PathBuf};

/// File name in the state folder.
const FILE: &str = "window.ron";
/// Default size of the window, points.
const DEFAULT_SIZE: [f32; 2] = [1440.0, 900.0];

/// Position and size of the window, in screen points.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Placement {
    position: Option<(f32, f32)>,
    size: Option<(f32, f32)>,
    monitor: Option<(f32, f32)>,
    maximised: bool,
}

impl Placement {
    /// Reads the last placement; returns the default if the file is missing or damaged.
    pub fn load(state_dir: Option<&Path>) -> Self {
        let text = state_dir.and_then(|d| std::fs::read_to_string(d.join(FILE)).ok());
        text.and_then(|t| project::from_ron(&t).ok()).unwrap_or_default()
    }

    /// Applies the placement. A position mostly outside the screen and an invalid size are ignored.
    pub fn build(self, builder: ViewportBuilder) -> ViewportBuilder {
        let is_valid = |(w, h): &(f32, f32)| (400.0..20_000.0).contains(w) && (300.0..20_000.0).contains(h);
        let size = self.size.filter(is_valid).map_or(DEFAULT_SIZE, |(w, h)| [w, h]);
        let builder = builder.with_inner_size(size).with_maximized(self.maximised);
        let is_visible = |(x, y): &(f32, f32)| {
            let (w, h) = self.monitor.unwrap_or((f32::INFINITY, f32::INFINITY));
            *x > -size[0] + 120.0 && *x < w - 120.0 && *y > -20.0 && *y < h - 80.0
        };
        match self.position.filter(is_visible) {
            Some((x, y)) => builder.with_position([x, y]),
            None => builder,
        }
    }

    /// Stores the current placement, unless the window is minimised or full screen.
    pub fn follow(&mut self, info: &ViewportInfo, zoom: f32) {
        if info.minimized == Some(true) || info.fullscreen == Some(true) {
            return;
        }
        self.maximised = info.maximized == Some(true);
        self.monitor = info.monitor_size.map(|size| points(size * zoom));
        if !self.maximised {
            self.size = info.inner_rect.map(|rect| points(rect.size() * zoom)).or(self.size);
            self.position = info.outer_rect.map(|rect| corner(rect.min, zoom)).or(self.position);
        }
    }

    /// Writes the placement on the calling thread, because the program is about to end.
    pub fn keep(&self, state_dir: Option<&PathBuf>) {
        let (Some(folder), Ok(text)) = (state_dir, project::to_ron(self)) else { return };
        std::fs::create_dir_all(folder).ok();
        std::fs::write(folder.join(FILE), text).ok();
    }
}

fn points(size: Vec2) -> (f32, f32) {
    (size.x.round(), size.y.round())
}

fn corner(at: Pos2, zoom: f32) -> (f32, f32) {
    ((at.x * zoom).round(), (at.y * zoom).round())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_off_the_screen_is_placed_by_the_system() {
        let known = Placement {
            position: Some((100.0, 50.0)),
            size: Some((1200.0, 700.0)),
            monitor: Some((1920.0, 1080.0)),
            maximised: false,
        };
        let built = known.build(ViewportBuilder::default());
        assert_eq!(built.position, Some(Pos2::new(100.0, 50.0)));
        assert_eq!(built.inner_size, Some(Vec2::new(1200.0, 700.0)));
        let lost = Placement { position: Some((2500.0, 50.0)), size: Some((3.0, 4.0)), ..known };
        let built = lost.build(ViewportBuilder::default());
        assert_eq!((built.position, built.inner_size), (None, Some(DEFAULT_SIZE.into())));
        let text = project::to_ron(&known).unwrap();
        assert_eq!(project::from_ron::<Placement>(&text).unwrap(), known);
    }
}
