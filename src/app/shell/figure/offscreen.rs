//! Drawing of a figure into its own texture, so that its pixels do not depend on those of the window.

use egui::{Color32, ColorImage, Context, epaint::ClippedShape};
use egui_wgpu::{RenderState, ScreenDescriptor, wgpu};

/// Maximum number of pixels in a figure.
const MAX_PIXELS: f64 = 50e6;
/// Alignment of the rows of a copied texture, bytes.
const ALIGNMENT: u32 = wgpu::COPY_BYTES_PER_ROW_ALIGNMENT;

/// Returns the maximum resolution, dots per inch, of a figure of this size. It is limited by the number of pixels and by the
/// longest side of a texture.
pub fn max_dpi([width_mm, height_mm]: [f32; 2], max_side_px: u32) -> f32 {
    let [width, height] = [width_mm, height_mm].map(|mm| f64::from(mm.max(1.0)) / 25.4);
    let by_side = f64::from(max_side_px) / width.max(height);
    let by_pixels = (MAX_PIXELS / (width * height)).sqrt();
    by_side.min(by_pixels).floor().max(20.0) as f32
}

/// Returns the maximum side of a texture, pixels.
pub fn max_side(state: Option<&RenderState>) -> u32 {
    state.map_or(2048, |state| state.device.limits().max_texture_dimension_2d)
}

/// Draws shapes whose textures are on the device. A later call of [`poll`] calls `done` with the image when it is ready.
///
/// # Errors
/// Fails if images of the window's texture format cannot be read.
pub fn draw(
    state: &RenderState,
    ctx: &Context,
    shapes: Vec<ClippedShape>,
    [width, height]: [u32; 2],
    (scale, background): (f32, Color32),
    done: impl FnOnce(Result<ColorImage, String>) + Send + 'static,
) -> Result<(), String> {
    is_bgra(state)?; // before anything is drawn
    let (device, queue) = (&state.device, &state.queue);
    let texture = target(device, state.target_format, [width, height]);
    let jobs = ctx.tessellate(shapes, scale);
    let screen = ScreenDescriptor { size_in_pixels: [width, height], pixels_per_point: scale };
    let mut encoder = device.create_command_encoder(&Default::default());
    let mut renderer = state.renderer.write();
    let mut commands = renderer.update_buffers(device, queue, &mut encoder, &jobs, &screen);
    let view = texture.create_view(&Default::default());
    let [r, g, b, _] = background.to_array().map(|c| f64::from(c) / 255.0);
    let ops =
        wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color { r, g, b, a: 1.0 }), store: wgpu::StoreOp::Store };
    let attachment = wgpu::RenderPassColorAttachment { view: &view, depth_slice: None, resolve_target: None, ops };
    let mut pass = encoder
        .begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("figure"),
            color_attachments: &[Some(attachment)],
            ..Default::default()
        })
        .forget_lifetime();
    renderer.render(&mut pass, &jobs, &screen);
    drop(pass);
    drop(renderer);
    let reading = copy(state, &mut encoder, &texture)?;
    commands.push(encoder.finish());
    queue.submit(commands);
    reading.read(done);
    Ok(())
}

/// Creates a texture that is drawn into and read.
pub fn target(device: &wgpu::Device, format: wgpu::TextureFormat, [width, height]: [u32; 2]) -> wgpu::Texture {
    device.create_texture(&wgpu::TextureDescriptor {
        label: Some("figure"),
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    })
}

/// Buffer into which an image is copied.
pub struct Reading {
    buffer: wgpu::Buffer,
    size_px: [usize; 2],
    bytes_per_row: usize,
    is_bgra: bool,
}

/// Whether blue is the first of the colours in the window's format.
///
/// # Errors
/// Fails if images of this format cannot be read.
fn is_bgra(state: &RenderState) -> Result<bool, String> {
    use wgpu::TextureFormat::{Bgra8Unorm, Rgba8Unorm};
    match state.target_format {
        Bgra8Unorm => Ok(true),
        Rgba8Unorm => Ok(false),
        _ => Err("the graphics driver draws in a colour format that cannot be read".to_owned()),
    }
}

/// Records the copy of an image; the encoder must be submitted before [`Reading::read`].
///
/// # Errors
/// Fails if images of the window's texture format cannot be read.
pub fn copy(
    state: &RenderState,
    encoder: &mut wgpu::CommandEncoder,
    texture: &wgpu::Texture,
) -> Result<Reading, String> {
    let (size, is_bgra) = (texture.size(), is_bgra(state)?);
    let bytes_per_row = (size.width * 4).next_multiple_of(ALIGNMENT);
    let buffer = state.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("figure"),
        size: u64::from(bytes_per_row) * u64::from(size.height),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(bytes_per_row), rows_per_image: None };
    let target = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
    encoder.copy_texture_to_buffer(texture.as_image_copy(), target, size);
    let size_px = [size.width as usize, size.height as usize];
    Ok(Reading { buffer, size_px, bytes_per_row: bytes_per_row as usize, is_bgra })
}

impl Reading {
    /// Calls `done` with the image, or the reason of a failure, when the device is polled and has finished the copy.
    pub fn read(self, done: impl FnOnce(Result<ColorImage, String>) + Send + 'static) {
        let Self { buffer, size_px, bytes_per_row, is_bgra } = self;
        let mapped = buffer.clone();
        buffer.slice(..).map_async(wgpu::MapMode::Read, move |result| {
            let picture = result.map_err(|e| e.to_string()).and_then(|()| {
                let bytes = mapped.slice(..).get_mapped_range().map_err(|e| e.to_string())?;
                let rows = bytes.chunks_exact(bytes_per_row).map(|row| &row[..size_px[0] * 4]);
                let color = |p: &[u8]| if is_bgra { [p[2], p[1], p[0]] } else { [p[0], p[1], p[2]] };
                let rgb: Vec<u8> = rows.flat_map(|row| row.chunks_exact(4)).flat_map(color).collect();
                Ok(ColorImage::from_rgb(size_px, &rgb))
            });
            mapped.unmap();
            done(picture);
        });
    }
}

/// Lets the device report finished images, without waiting.
pub fn poll(state: &RenderState) {
    state.device.poll(wgpu::PollType::Poll).ok(); // A lost device causes an error, which the window reports.
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resolution_is_limited_by_the_side_and_by_the_pixels() {
        assert_eq!(max_dpi([180.0, 120.0], 8192), 1155.0, "the longer side has 8,192 pixels");
        assert_eq!(max_dpi([400.0, 400.0], 8192), 449.0, "50 million pixels");
        assert!(max_dpi([180.0, 120.0], 2048) < 300.0);
    }
}
