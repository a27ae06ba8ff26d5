//! Frames of the whole window while 30 million spikes per second arrive.

use super::{
    super::{FRAME, Load, SIZE, WARM_UP, lay_out, spikes, start},
    graphics::{Graphics, Picture, SIZE_PX},
};
use crate::app::shell::app::create;
use egui::{ClippedPrimitive, Context, FullOutput};
use egui_wgpu::ScreenDescriptor;
use std::time::{Duration, Instant};

/// Rate of the spikes, per second of wall time.
pub const RATE: f64 = 30e6;
/// Number of steps on screen at which the raster draws each spike, and not their density.
pub const SINGLE_STEPS: f64 = 400.0;

/// The window, fed by a simulation that only sends spikes. It is drawn by `graphics[0]`.
pub struct Frames<'a, A> {
    graphics: &'a [&'a Graphics],
    ctx: Context,
    app: A,
    /// Sets the number of steps on screen.
    zoom: fn(&mut A, f64),
    /// Returns the number of spikes that arrived.
    arrived: fn(&A) -> u64,
    frame: eframe::Frame,
    begin: Instant,
    primitives: Vec<ClippedPrimitive>,
}

/// Times of frames, ms, each sorted.
pub struct Times {
    /// Update, layout and tessellation.
    pub ui_ms: Vec<f64>,
    /// Drawing, until the graphics processor has finished it.
    pub draw_ms: Vec<f64>,
    /// Number of spikes that arrived per second of wall time.
    pub received_per_s: f64,
}

/// Opens the window and waits until its views show activity.
///
/// # Errors
/// Fails if the window cannot be created or drawn.
pub fn open<'a>(graphics: &'a [&'a Graphics]) -> Result<Frames<'a, impl eframe::App>, String> {
    let ctx = Context::default();
    let app = create(&eframe::CreationContext::_new_kittest(ctx.clone()), start(|| Load::simulation(RATE)))?;
    let mut frames = Frames {
        graphics,
        ctx,
        app,
        zoom: |app, steps| app.zoom_time(steps),
        arrived: |app| spikes(app.time()),
        frame: eframe::Frame::_new_kittest(),
        begin: Instant::now(),
        primitives: vec![],
    };
    while frames.begin.elapsed() < WARM_UP {
        frames.next()?;
    }
    Ok(frames)
}

impl<A: eframe::App> Frames<'_, A> {
    /// Shows so few steps that each spike is drawn, and not the density of the spikes.
    pub fn show_single_spikes(&mut self) {
        (self.zoom)(&mut self.app, SINGLE_STEPS);
    }

    /// Lays the window out and draws it. Returns the times of both, ms.
    fn next(&mut self) -> Result<[f64; 2], String> {
        let due = Instant::now() + FRAME;
        let since = Instant::now();
        let (_, mut output) = lay_out(&self.ctx, &mut self.app, &mut self.frame, self.begin);
        self.primitives = self.ctx.tessellate(std::mem::take(&mut output.shapes), output.pixels_per_point);
        let ui_ms = since.elapsed().as_secs_f64() * 1e3;
        let freed = self.update_textures(&mut output);
        let draw_ms = self.draw(0)?;
        for graphics in self.graphics {
            let mut renderer = graphics.state.renderer.write();
            freed.iter().for_each(|id| renderer.free_texture(id));
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        Ok([ui_ms, draw_ms])
    }

    /// Uploads changed textures to all graphics processors. Returns the textures to free after drawing.
    fn update_textures(&self, output: &mut FullOutput) -> Vec<egui::TextureId> {
        for (id, images) in output.textures_delta.set.drain() {
            for image in images {
                for graphics in self.graphics {
                    let state = &graphics.state;
                    state.renderer.write().update_texture(&state.device, &state.queue, id, &image);
                }
            }
        }
        output.textures_delta.free.drain().collect()
    }

    fn draw(&self, at: usize) -> Result<f64, String> {
        let state = &self.graphics[at].state;
        let screen = ScreenDescriptor { size_in_pixels: SIZE_PX, pixels_per_point: SIZE_PX[0] as f32 / SIZE.x };
        let renderer = std::cell::RefCell::new(state.renderer.write());
        let primitives = &self.primitives;
        self.graphics[at].frame(
            |encoder| renderer.borrow_mut().update_buffers(&state.device, &state.queue, encoder, primitives, &screen),
            |pass| renderer.borrow().render(pass, primitives, &screen),
        )
    }

    /// Returns the times of the frames of `length`.
    ///
    /// # Errors
    /// Fails if the device is lost.
    pub fn times(&mut self, length: Duration) -> Result<Times, String> {
        let (since, before) = (Instant::now(), (self.arrived)(&self.app));
        let (mut ui_ms, mut draw_ms) = (vec![], vec![]);
        while since.elapsed() < length || ui_ms.len() < 3 {
            let [ui, draw] = self.next()?;
            ui_ms.push(ui);
            draw_ms.push(draw);
        }
        let received_per_s = ((self.arrived)(&self.app) - before) as f64 / since.elapsed().as_secs_f64();
        ui_ms.sort_by(f64::total_cmp);
        draw_ms.sort_by(f64::total_cmp);
        Ok(Times { ui_ms, draw_ms, received_per_s })
    }

    /// Draws the last frame once more on every graphics processor. Returns the pictures, in their order.
    ///
    /// # Errors
    /// Fails if the device is lost.
    pub fn pictures(&self) -> Result<Vec<Picture>, String> {
        let one = |at: usize| self.draw(at).and_then(|_| self.graphics[at].picture());
        (0..self.graphics.len()).map(one).collect()
    }
}
