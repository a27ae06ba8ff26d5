//! How long the window's own work on a frame takes, without the wait for the picture to be shown.
//!
//! eframe's figure leaves out three of its calls: for the surface's next image, for handing in the commands, for
//! presenting. It holds questions to the window system before and after them, though, which under X11 are answered only
//! when the server has taken the picture before: waiting for presentation under another name. So this counts what is
//! ours: from the input's arrival (logic, layout, tessellation) until all is copied to the device, and writing down the
//! commands for it. Between them lies the wait for the surface; after them closing the list of commands, submitting and
//! presenting, which only eframe's figure can hold. The developer figures show both.

use super::meter::Samples;
use egui::{LayerId, Rect, Shape};
use egui_wgpu::{CallbackResources, CallbackTrait, wgpu};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

#[derive(Default)]
struct Lap {
    since: Option<Instant>,
    prepared: Option<Duration>,
    painting: Option<Instant>,
    done: Option<Duration>,
}

impl Lap {
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

/// The stopwatch of a window.
pub struct Stopwatch {
    lap: Arc<Mutex<Lap>>,
    /// Own work, in milliseconds.
    pub own: Samples,
    /// As eframe counts, in milliseconds.
    pub with_window_system: Samples,
}

impl Default for Stopwatch {
    fn default() -> Self {
        Self { lap: Arc::default(), own: Samples::keeping(600), with_window_system: Samples::keeping(600) }
    }
}

impl Stopwatch {
    /// A frame begins; the one before is over.
    pub fn begin(&mut self) {
        let fresh = Lap { since: Some(Instant::now()), ..Lap::default() };
        let before = std::mem::replace(&mut *self.lap.lock().unwrap_or_else(PoisonError::into_inner), fresh);
        if let Some(done) = before.done {
            self.own.push(done.as_secs_f32() * 1e3);
        }
    }

    /// Puts a mark before all else that is painted in this frame.
    pub fn mark_first(&self, ctx: &egui::Context) {
        self.mark(ctx, LayerId::background(), true);
    }

    /// Puts a mark behind all else.
    pub fn mark_last(&self, ctx: &egui::Context) {
        self.mark(ctx, LayerId::debug(), false);
    }

    fn mark(&self, ctx: &egui::Context, layer: LayerId, is_first: bool) {
        // A callback without an area would not be called.
        let place = Rect::from_min_size(ctx.viewport_rect().min, egui::Vec2::splat(1.0));
        let callback = egui_wgpu::Callback::new_paint_callback(place, Mark { lap: self.lap.clone(), is_first });
        ctx.layer_painter(layer).add(Shape::Callback(callback));
    }
}

struct Mark {
    lap: Arc<Mutex<Lap>>,
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
        self.lap.lock().unwrap_or_else(PoisonError::into_inner).is_prepared();
        vec![]
    }

    fn paint(&self, _: egui::PaintCallbackInfo, _: &mut wgpu::RenderPass<'static>, _: &CallbackResources) {
        let mut lap = self.lap.lock().unwrap_or_else(PoisonError::into_inner);
        match self.is_first {
            true => lap.is_painting(),
            false => lap.is_painted(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_the_surface_is_left_out() {
        let mut watch = Stopwatch::default();
        watch.begin();
        watch.lap.lock().unwrap().is_prepared();
        std::thread::sleep(Duration::from_millis(200));
        let mut lap = watch.lap.lock().unwrap();
        lap.is_painting();
        std::thread::sleep(Duration::from_millis(5));
        lap.is_painted();
        drop(lap);
        watch.begin();
        let ms = watch.own.last().unwrap();
        assert!((5.0..200.0).contains(&ms), "{ms}");
        watch.begin();
        assert_eq!(watch.own.count(), 1, "a frame that was not painted does not count");
    }
}
