//! Points on the device, and the rendered image.
//!
//! Positions are uploaded once and when they change; classes when the colouring or the selection changes; values when they
//! colour the points. The base image (all points in their colours) is drawn only when it changed; glow is drawn on a copy of
//! the base image.

use super::{
    extras::{End, Extras},
    lights::{LIGHT, Light, PointData, SELECTED},
    look::Look,
    pipelines::{bind, bind_layout, pipelines},
    shell::Mesh,
    targets::{Blit, COLOR_FORMAT, Targets},
};
use std::time::{Duration, Instant};
use wgpu::util::DeviceExt as _;

/// Coordinate outside every view, at which no shader draws a point. Must match `is_nowhere` in points.wgsl.
const NOWHERE: f32 = 1e30;

fn place(p: &[f32; 3]) -> [f32; 3] {
    if p.iter().all(|x| x.is_finite()) { *p } else { [NOWHERE; 3] }
}

/// Adds the bit of selected points to a class code.
pub fn selected(code: u16, is_selected: bool) -> u32 {
    u32::from(code) | if is_selected { SELECTED } else { 0 }
}

/// Points and their image on the device.
pub struct Scene {
    blit: Blit,
    body: wgpu::RenderPipeline,
    /// Glow of all points, for a graphics processor.
    glow_all: wgpu::RenderPipeline,
    /// Glow of the points selected on the CPU.
    glow: wgpu::RenderPipeline,
    halo: wgpu::RenderPipeline,
    extras: Extras,
    layout: wgpu::BindGroupLayout,
    look: wgpu::Buffer,
    palette: wgpu::Texture,
    ramp: wgpu::Texture,
    bind: wgpu::BindGroup,
    points: Option<Points>,
    targets: Option<Targets>,
    drawn: Option<Look>,
    grounded: Option<Look>,
    /// Whether values or positions have changed since the image was drawn.
    owes: bool,
    /// Whether positions have changed since the last upload.
    moved: bool,
    /// Whether values have changed since the last upload.
    revalued: bool,
    glow_on_device: bool,
    drawn_at: Instant,
    rest: Duration,
    redraws: u64,
}

struct Points {
    positions: wgpu::Buffer,
    codes: wgpu::Buffer,
    values: wgpu::Buffer,
    sizes: wgpu::Buffer,
    lights: wgpu::Buffer,
    len: u32,
    given: PointData,
    /// Last content of `lights`.
    shining: Vec<Light>,
}

impl Points {
    fn bind_to(&self, pass: &mut wgpu::RenderPass<'_>) {
        for (slot, buffer) in [&self.positions, &self.codes, &self.values, &self.sizes].into_iter().enumerate() {
            pass.set_vertex_buffer(slot as u32, buffer.slice(..));
        }
    }
}

impl Scene {
    /// Creates an empty scene for a window of this format.
    pub fn new(device: &wgpu::Device, window_format: wgpu::TextureFormat) -> Self {
        let layout = bind_layout(device);
        let [body, glow_all, glow, halo] = pipelines(device, &layout);
        let look = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("look"),
            size: size_of::<Look>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let (palette, ramp) = (strip(device, 1), strip(device, 1));
        let bind = bind(device, &layout, &look, &palette, &ramp);
        let blit = Blit::new(device, window_format);
        Self {
            blit,
            body,
            glow_all,
            glow,
            halo,
            extras: Extras::new(device, &layout),
            layout,
            look,
            palette,
            ramp,
            bind,
            points: None,
            targets: None,
            drawn: None,
            grounded: None,
            owes: false,
            moved: false,
            revalued: false,
            glow_on_device: false,
            drawn_at: Instant::now(),
            rest: Duration::ZERO,
            redraws: 0,
        }
    }

    /// Replaces the points; those with non-finite coordinates are not drawn. Classes and values start at 0, sizes at 1.
    pub fn set_points(&mut self, device: &wgpu::Device, positions: &[[f32; 3]]) {
        let positions: Vec<[f32; 3]> = positions.iter().map(place).collect();
        let ones = vec![1.0_f32; positions.len()];
        let zeros = vec![0u32; positions.len()];
        let buffer = |label, contents: &[u8]| {
            device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: Some(label),
                contents,
                usage: wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_DST,
            })
        };
        self.points = (!positions.is_empty()).then(|| Points {
            positions: buffer("positions", bytemuck::cast_slice(&positions)),
            codes: buffer("codes", bytemuck::cast_slice(&zeros)),
            values: buffer("values", bytemuck::cast_slice(&zeros)),
            sizes: buffer("sizes", bytemuck::cast_slice(&ones)),
            lights: buffer("lights", bytemuck::cast_slice(&[0u8; LIGHT as usize])),
            len: positions.len() as u32,
            given: PointData { values: vec![0.0; positions.len()], positions, codes: zeros, sizes: ones },
            shining: vec![],
        });
        self.start_over();
    }

    /// Sets positions; points with non-finite coordinates are not drawn. A different number of points is ignored.
    pub fn move_points(&mut self, positions: &[[f32; 3]]) {
        if let Some(points) = self.points.as_mut().filter(|p| p.len as usize == positions.len()) {
            points.given.positions.clear();
            points.given.positions.extend(positions.iter().map(place));
            (self.moved, self.owes) = (true, true);
        }
    }

    /// Sets the radii of the points, relative to [`Look::size`]; another number of radii is ignored.
    pub fn set_sizes(&mut self, queue: &wgpu::Queue, sizes: &[f32]) {
        if let Some(points) = self.points.as_mut().filter(|p| p.len as usize == sizes.len()) {
            queue.write_buffer(&points.sizes, 0, bytemuck::cast_slice(sizes));
            points.given.sizes.copy_from_slice(sizes);
            self.start_over();
        }
    }

    /// Marks the whole image as outdated.
    fn start_over(&mut self) {
        (self.drawn, self.grounded) = (None, None);
    }

    /// Sets the surface around the points, which is drawn while the opacity in [`Look::shell`] is above 0.
    pub fn set_shell(&mut self, device: &wgpu::Device, mesh: &Mesh) {
        self.extras.set_shell(device, mesh);
        self.start_over();
    }

    /// Sets lines between points: two vertices each.
    pub fn set_lines(&mut self, device: &wgpu::Device, ends: &[End]) {
        if !ends.is_empty() || self.extras.has_lines() {
            self.extras.set_lines(device, ends);
            self.start_over();
        }
    }

    /// Sets one [`selected`] code per point; another number of codes is ignored.
    pub fn set_codes(&mut self, queue: &wgpu::Queue, codes: &[u32]) {
        if let Some(points) = self.points.as_mut().filter(|p| p.len as usize == codes.len()) {
            queue.write_buffer(&points.codes, 0, bytemuck::cast_slice(codes));
            points.given.codes.copy_from_slice(codes);
            self.start_over();
        }
    }

    /// Sets one value per point; another number of values is ignored.
    pub fn set_values(&mut self, values: &[f32]) {
        if let Some(points) = self.points.as_mut().filter(|p| p.len as usize == values.len()) {
            points.given.values.copy_from_slice(values);
            (self.revalued, self.owes) = (true, true);
        }
    }

    /// Sets the colour of each class. A class whose alpha is 0 is not drawn.
    pub fn set_palette(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, colors: &[[u8; 4]]) {
        let rows = colors.len().div_ceil(256).max(1) as u32;
        if self.palette.height() != rows {
            self.palette = strip(device, rows);
            self.bind = bind(device, &self.layout, &self.look, &self.palette, &self.ramp);
        }
        let mut texels = colors.to_vec();
        texels.resize(rows as usize * 256, [0; 4]);
        write(queue, &self.palette, &texels);
        self.start_over();
    }

    /// Sets the colormap of values, from low to high; the first and the last colour are for values beyond the range.
    pub fn set_ramp(&mut self, queue: &wgpu::Queue, colors: &[[u8; 4]; 256]) {
        write(queue, &self.ramp, colors);
        self.start_over();
    }

    /// Returns the number of times that the image was drawn.
    pub fn redraws(&self) -> u64 {
        self.redraws
    }

    /// Draws the image if it has changed; changed values wait for the time of [`Scene::set_rest`].
    pub fn draw(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        look: &Look,
    ) {
        let size_px = [(look.size[0] as u32).max(1), (look.size[1] as u32).max(1)];
        if self.targets.as_ref().is_none_or(|t| t.size_px != size_px) {
            self.targets = Some(self.blit.targets(device, size_px));
            self.start_over();
        }
        // The brightness of a glow depends on the values: its change alone does not redraw the image.
        let same = |drawn: Look| {
            let mut now = *look;
            now.background[3] = drawn.background[3];
            drawn == now
        };
        if self.drawn.is_some_and(same) && (!self.owes || self.drawn_at.elapsed() < self.rest) {
            return;
        }
        queue.write_buffer(&self.look, 0, bytemuck::bytes_of(look));
        // With a colormap of values, new values change the base image.
        let is_map = look.flags[0] == 1;
        if self.grounded != Some(look.of_ground()) || ((is_map || self.moved) && self.owes) {
            if let Some(points) = self.points.as_ref().filter(|_| std::mem::take(&mut self.moved)) {
                queue.write_buffer(&points.positions, 0, bytemuck::cast_slice(&points.given.positions));
            }
            if is_map {
                self.upload_values(queue);
            }
            self.record_ground(encoder, look);
            self.grounded = Some(look.of_ground());
        }
        self.record_lights(device, queue, encoder, look);
        self.drawn = Some(*look);
        self.owes = false;
        self.drawn_at = Instant::now();
        self.redraws += 1;
    }

    /// Sets whether the device selects the glowing points. A graphics processor processes all points in each image, which a
    /// software renderer cannot do in time.
    pub fn set_glow_on_device(&mut self, glow_on_device: bool) {
        self.glow_on_device = glow_on_device;
        self.start_over();
    }

    /// Sets the minimum time between images if only values changed: on a software renderer an image costs more than all other
    /// drawing of the window, which must stay responsive.
    pub fn set_rest(&mut self, rest: Duration) {
        self.rest = rest;
    }

    /// Returns the remaining time until changed values are drawn; `None` if nothing is pending.
    pub fn owed_in(&self) -> Option<Duration> {
        self.owes.then(|| self.rest.saturating_sub(self.drawn_at.elapsed()))
    }

    /// Uploads changed values.
    fn upload_values(&mut self, queue: &wgpu::Queue) {
        if let Some(points) = self.points.as_ref().filter(|_| std::mem::take(&mut self.revalued)) {
            queue.write_buffer(&points.values, 0, bytemuck::cast_slice(&points.given.values));
        }
    }

    fn record_ground(&self, encoder: &mut wgpu::CommandEncoder, look: &Look) {
        let Some(targets) = &self.targets else { return };
        let [r, g, b, _] = look.background.map(f64::from);
        let depth_ops = Some(wgpu::Operations { load: wgpu::LoadOp::Clear(1.0), store: wgpu::StoreOp::Discard });
        let depth = wgpu::RenderPassDepthStencilAttachment { view: &targets.depth, depth_ops, stencil_ops: None };
        let clear = wgpu::LoadOp::Clear(wgpu::Color { r, g, b, a: 1.0 });
        let mut pass = begin(encoder, &targets.ground, clear, Some(depth));
        let Some(points) = &self.points else { return };
        pass.set_pipeline(&self.body);
        pass.set_bind_group(0, &self.bind, &[]);
        points.bind_to(&mut pass);
        pass.draw(0..4, 0..points.len);
        self.extras.record(&mut pass, &self.bind, look.shell[3] > 0.0);
    }

    /// Copies the base image and draws the highlights on the copy.
    fn record_lights(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        look: &Look,
    ) {
        let glow_on_device = self.glow_on_device && look.flags[0] == 2;
        if glow_on_device {
            self.upload_values(queue);
        }
        let Some(targets) = &self.targets else { return };
        let (ground, color) = (targets.ground.texture(), targets.color.texture());
        encoder.copy_texture_to_texture(ground.as_image_copy(), color.as_image_copy(), color.size());
        let Some(points) = &mut self.points else { return };
        let (n_glowing, n_lights) = points.given.lights(look, glow_on_device, &mut points.shining);
        let lights = &points.shining[..n_lights];
        let (n_glowing, n_lights) = (n_glowing as u32, n_lights as u32);
        if n_lights == 0 && !glow_on_device {
            return;
        }
        if points.lights.size() < u64::from(n_lights) * LIGHT {
            points.lights = device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("lights"),
                size: u64::from(n_lights.next_power_of_two()) * LIGHT,
                usage: wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
        }
        queue.write_buffer(&points.lights, 0, bytemuck::cast_slice(lights));
        let mut pass = begin(encoder, &targets.color, wgpu::LoadOp::Load, None);
        pass.set_bind_group(0, &self.bind, &[]);
        if glow_on_device {
            pass.set_pipeline(&self.glow_all);
            points.bind_to(&mut pass);
            pass.draw(0..4, 0..points.len);
        }
        pass.set_vertex_buffer(0, points.lights.slice(..));
        for (pipeline, range) in [(&self.glow, 0..n_glowing), (&self.halo, n_glowing..n_lights)] {
            pass.set_pipeline(pipeline);
            pass.draw(0..4, range);
        }
    }

    /// Copies the image into the window's pass so that it fills the viewport.
    pub fn blit(&self, pass: &mut wgpu::RenderPass<'_>) {
        if let Some(targets) = &self.targets {
            self.blit.paint(targets, pass);
        }
    }
}

fn begin<'a>(
    encoder: &'a mut wgpu::CommandEncoder,
    color: &wgpu::TextureView,
    load: wgpu::LoadOp<wgpu::Color>,
    depth: Option<wgpu::RenderPassDepthStencilAttachment<'_>>,
) -> wgpu::RenderPass<'a> {
    encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        label: Some("points"),
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view: color,
            depth_slice: None,
            resolve_target: None,
            ops: wgpu::Operations { load, store: wgpu::StoreOp::Store },
        })],
        depth_stencil_attachment: depth,
        timestamp_writes: None,
        occlusion_query_set: None,
        multiview_mask: None,
    })
}

/// Creates a texture with 256 colours per row.
fn strip(device: &wgpu::Device, rows: u32) -> wgpu::Texture {
    device.create_texture(&wgpu::TextureDescriptor {
        label: Some("colours"),
        size: wgpu::Extent3d { width: 256, height: rows, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: COLOR_FORMAT,
        usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
        view_formats: &[],
    })
}

fn write(queue: &wgpu::Queue, texture: &wgpu::Texture, texels: &[[u8; 4]]) {
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(1024), rows_per_image: None };
    queue.write_texture(texture.as_image_copy(), bytemuck::cast_slice(texels), layout, texture.size());
}
