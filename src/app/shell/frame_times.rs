//! Frame times of the window, without the wait for presentation.
//!
//! eframe's CPU time excludes acquiring the surface, submitting and presenting, but includes requests to the window system. X11
//! answers these only after it has accepted the previous frame, so the time includes waiting for presentation. This module
//! measures the window's own work: from the input to the end of the upload (logic, layout, tessellation), and recording the
//! render commands. It excludes the wait for the surface in between. Only eframe's time includes finishing the command buffer.
//! The developer statistics show both.

use crate::app::document::run_stats::Samples;
use egui::{LayerId, Rect, Shape};
use egui_wgpu::{CallbackResources, CallbackTrait, wgpu};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

#[derive(Default)]
struct FrameInProgress {
    since: Option<Instant>,
    prepared: Option<Duration>,
    painting: Option<Instant>,
    done: Option<Duration>,
}

impl FrameInProgress {
    fn is_prepared(&mut self) {
        self.prepared = self.since.map(|since| since.elapsed());
    }

    fn is_painting(&mut self) {
        self.painting = Some(Instant::now());
    }

    fn is_painted(&mut self) {
        self.done = self.prepared.zip(self.painting).map(|(before, at)| before + at.elapsed());
    }
}

/// Part of the window whose layout is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Menus, tabs, run bar, status bar and log.
    Bars,
    TimePanel,
    ProjectTree,
    Inspector,
    /// The views, or the page shown instead of them.
    Centre,
    /// Palette, dialogs and messages.
    Overlays,
}

impl Part {
    /// All parts, in the order in which they are laid out.
    pub const ALL: [Self; 6] =
        [Self::Bars, Self::TimePanel, Self::ProjectTree, Self::Inspector, Self::Centre, Self::Overlays];

    /// Returns the name of the part for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bars => "bars",
            Self::TimePanel => "time panel",
            Self::ProjectTree => "project tree",
            Self::Inspector => "inspector",
            Self::Centre => "views",
            Self::Overlays => "overlays",
        }
    }
}

/// Frame times of a window.
pub struct FrameTimes {
    frame: Arc<Mutex<FrameInProgress>>,
    /// Time of the window's own work, ms.
    pub own: Samples,
    /// Time that eframe measures, ms.
    pub with_window_system: Samples,
    /// Layout times of each [`Part`], ms; frames without the part do not count.
    parts: [Samples; Part::ALL.len()],
}

impl Default for FrameTimes {
    fn default() -> Self {
        let samples = || Samples::keeping(600);
        let parts = std::array::from_fn(|_| samples());
        Self { frame: Arc::default(), own: samples(), with_window_system: samples(), parts }
    }
}

impl FrameTimes {
    /// Records the time of the frame that has ended, and begins a new one.
    pub fn begin(&mut self) {
        let fresh = FrameInProgress { since: Some(Instant::now()), ..FrameInProgress::default() };
        let before = std::mem::replace(&mut *self.frame.lock().unwrap_or_else(PoisonError::into_inner), fresh);
        if let Some(done) = before.done {
            self.own.push(done.as_secs_f32() * 1e3);
        }
    }

    /// Records the layout time of a part, which began at `since` and has ended.
    pub fn laid_out(&mut self, part: Part, since: Instant) {
        self.parts[part as usize].push(since.elapsed().as_secs_f32() * 1e3);
    }

    /// Returns the layout times of a part, ms.
    pub fn part(&self, part: Part) -> &Samples {
        &self.parts[part as usize]
    }

    /// Adds a time mark before all shapes of this frame.
    pub fn mark_first(&self, ctx: &egui::Context) {
        self.mark(ctx, LayerId::background(), true);
    }

    /// Adds a time mark after all shapes of this frame.
    pub fn mark_last(&self, ctx: &egui::Context) {
        self.mark(ctx, LayerId::debug(), false);
    }

    fn mark(&self, ctx: &egui::Context, layer: LayerId, is_first: bool) {
        // egui skips callbacks with an empty area.
        let place = Rect::from_min_size(ctx.viewport_rect().min, egui::Vec2::splat(1.0));
        let callback = egui_wgpu::Callback::new_paint_callback(place, Mark { frame: self.frame.clone(), is_first });
        ctx.layer_painter(layer).add(Shape::Callback(callback));
    }
}

struct Mark {
    frame: Arc<Mutex<FrameInProgress>>,
    is_first: bool,
}

impl CallbackTrait for Mark {
    fn finish_prepare(
        &self,
        _: &wgpu::Device,
        _: &wgpu::Queue,
        _: &mut wgpu::CommandEncoder,
        _: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        self.frame.lock().unwrap_or_else(PoisonError::into_inner).is_prepared();
        vec![]
    }

    fn paint(&self, _: egui::PaintCallbackInfo, _: &mut wgpu::RenderPass<'static>, _: &CallbackResources) {
        let mut frame = self.frame.lock().unwrap_or_else(PoisonError::into_inner);
        match self.is_first {
            true => frame.is_painting(),
            false => frame.is_painted(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_the_surface_is_left_out() {
        let mut watch = FrameTimes::default();
        watch.begin();
        watch.frame.lock().unwrap().is_prepared();
        std::thread::sleep(Duration::from_millis(200));
        let mut frame = watch.frame.lock().unwrap();
        frame.is_painting();
        std::thread::sleep(Duration::from_millis(5));
        frame.is_painted();
        drop(frame);
        watch.begin();
        let ms = watch.own.last().unwrap();
        assert!((5.0..200.0).contains(&ms), "{ms}");
        watch.begin();
        assert_eq!(watch.own.count(), 1, "a frame that was not painted does not count");
    }
}
