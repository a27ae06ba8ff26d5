//! Frames of the 3D view with many points.

use super::graphics::{Graphics, SIZE_PX};
use crate::{
    num::rng::philox4x32,
    view3d::{Camera, Look, Scene, Vec2, Vec3, selected},
};
use egui_wgpu::wgpu;
use std::time::{Duration, Instant};

/// Numbers of points: the neurons of the fly's brain, and the sizes of larger ones.
pub const SIZES: [usize; 3] = [138_639, 1_000_000, 10_000_000];
/// Time after which the glow of a spike has decayed to 1/e, ms of simulated time.
const TAU_MS: f32 = 100.0;
const N_CLASSES: usize = 8;
/// Rotation of the camera per frame, pixels of dragging.
const TURN_PX: f32 = 3.0;

/// What changes from frame to frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing but the camera, which turns.
    Camera,
    /// Time since the last spike of every point, as in a run.
    Values,
}

/// Points in a scene on a graphics processor.
pub struct Points<'a> {
    graphics: &'a Graphics,
    scene: Scene,
    camera: Camera,
    values: Vec<f32>,
    look: Look,
}

/// Returns four uniform numbers in [0, 1) of a point; `purpose` selects independent numbers.
fn uniform(point: u32, purpose: u32) -> [f32; 4] {
    philox4x32([point, purpose, 0, 0], [32, 0]).map(|bits| (bits >> 8) as f32 / (1 << 24) as f32)
}

/// Returns points in an ellipsoid of the proportions of the fly's brain, with edges of length 2, 1 and 0.6.
fn positions(n: usize) -> Vec<[f32; 3]> {
    let place = |i: u32| {
        let [a, b, c, _] = uniform(i, 0);
        let (z, phi) = (2.0 * a - 1.0, std::f32::consts::TAU * b);
        let (r, flat) = (c.cbrt(), (1.0 - z * z).max(0.0).sqrt());
        [r * flat * phi.cos(), 0.5 * r * flat * phi.sin(), 0.3 * r * z]
    };
    (0..n as u32).map(place).collect()
}

impl<'a> Points<'a> {
    /// Uploads `n` points, of which a tenth have spiked within the last decay time. `glow_on_device` as in
    /// [`Scene::set_glow_on_device`].
    pub fn new(graphics: &'a Graphics, n: usize, glow_on_device: bool) -> Self {
        let (device, queue) = (&graphics.state.device, &graphics.state.queue);
        let mut scene = Scene::new(device, graphics.state.target_format);
        scene.set_glow_on_device(glow_on_device);
        scene.set_points(device, &positions(n));
        let codes: Vec<u32> = (0..n).map(|i| selected((i % N_CLASSES) as u16, false)).collect();
        scene.set_codes(queue, &codes);
        let hue = |i: usize| [60 + 24 * i as u8, 220 - 20 * i as u8, 120 + 16 * i as u8, 255];
        scene.set_palette(device, queue, &(0..N_CLASSES).map(hue).collect::<Vec<_>>());
        let mut camera = Camera::default();
        camera.enclose(Vec3::new(-1.0, -0.5, -0.3), Vec3::new(1.0, 0.5, 0.3));
        camera.fit(Vec3::new(-1.0, -0.5, -0.3), Vec3::new(1.0, 0.5, 0.3), SIZE_PX[0] as f32 / SIZE_PX[1] as f32);
        let values = (0..n as u32).map(|i| uniform(i, 1)[0] * 10.0 * TAU_MS).collect();
        let look = Look::new(&camera, Vec2::ONE, 1.0, 1.0);
        let mut points = Self { graphics, scene, camera, values, look };
        points.turn(0.0);
        points.scene.set_values(&points.values);
        points
    }

    fn turn(&mut self, by_px: f32) {
        let size = Vec2::new(SIZE_PX[0] as f32, SIZE_PX[1] as f32);
        self.camera.orbit(Vec2::new(by_px, 0.0), size.y);
        let radius = self.camera.radius * 0.6 / (self.values.len() as f32).sqrt();
        self.look = Look::new(&self.camera, size, radius, 0.75);
        self.look.background = [0.04, 0.05, 0.07, 1.0];
        self.look.range = [0.0, 1.0, TAU_MS, 0.42];
        self.look.flags = [2, 0, 0, 1];
    }

    /// Advances the time since the last spike by a frame of 16 ms; points begin again when their glow has decayed.
    fn advance(&mut self) {
        for value in &mut self.values {
            *value += 16.0;
            *value -= if *value > 10.0 * TAU_MS { 10.0 * TAU_MS } else { 0.0 };
        }
        self.scene.set_values(&self.values);
    }

    /// Draws one frame after a change. Returns its time, ms; the change itself is not part of it.
    pub fn frame(&mut self, change: Option<Change>) -> Result<f64, String> {
        match change {
            Some(Change::Camera) => self.turn(TURN_PX),
            Some(Change::Values) => self.advance(),
            None => {}
        }
        let Self { graphics, scene, look, .. } = self;
        let (device, queue) = (&graphics.state.device, &graphics.state.queue);
        let scene = std::cell::RefCell::new(scene);
        let prepare = |encoder: &mut wgpu::CommandEncoder| {
            scene.borrow_mut().draw(device, queue, encoder, look);
            vec![]
        };
        graphics.frame(prepare, |pass| scene.borrow().blit(pass))
    }

    /// Returns the times of frames for `length`, ms, sorted; at least three frames.
    pub fn times(&mut self, change: Change, length: Duration) -> Result<Vec<f64>, String> {
        self.frame(Some(change))?; // the first frame allocates
        let (since, mut ms) = (Instant::now(), vec![]);
        while since.elapsed() < length || ms.len() < 3 {
            ms.push(self.frame(Some(change))?);
        }
        ms.sort_by(f64::total_cmp);
        Ok(ms)
    }
}
