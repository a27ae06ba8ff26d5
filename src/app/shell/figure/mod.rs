//! Export of a panel as a figure: PNG at a chosen resolution, or SVG, selected by the file extension.

pub mod dialog;
mod font;
pub mod offscreen;
mod settling;
pub mod stage;
mod svg;

use crate::{app::document::figure_settings::FigureFont, data::io_reason};
use egui::{ColorImage, Context, LayerId, Rect, epaint::ClippedShape};
use std::{path::Path, sync::Arc};

/// Captured shapes of a figure.
pub struct FigureRequest {
    name: String,
    area: Rect,
    mm_per_point: f32,
    font: FigureFont,
    scale: f32,
    shapes: Vec<ClippedShape>,
}

impl FigureRequest {
    /// Captures the shapes that were drawn in an area so far in this frame.
    fn capture(ctx: &Context, name: String, area: Rect, mm_per_point: f32, font: FigureFont) -> Self {
        let inside = |list: &egui::layers::PaintList| -> Vec<ClippedShape> {
            list.all_entries().filter(|shape| shape.clip_rect.intersects(area)).cloned().collect()
        };
        let shapes = ctx.graphics(|layers| layers.get(LayerId::background()).map(inside)).unwrap_or_default();
        Self { name, area, mm_per_point, font, scale: ctx.pixels_per_point(), shapes }
    }
}

/// State of the figures in progress.
#[derive(Default)]
pub struct Figures {
    /// Whether the device is drawing a figure.
    is_drawing: bool,
    pub(crate) dialog: Option<dialog::FigureDialog>,
    stage: Option<stage::FigureStage>,
    /// Whether the theme and zoom of a figure were applied and must be restored.
    was_staged: bool,
}

/// Panel captured as a figure.
pub struct Figure {
    name: String,
    area: Rect,
    mm_per_point: f32,
    font: FigureFont,
    scale: f32,
    shapes: Vec<ClippedShape>,
    /// Pixels of the panel, from the corner of the area.
    screen: Arc<ColorImage>,
}

/// Shared handle of a captured figure.
#[derive(Clone)]
pub struct FigureHandle(pub Arc<Figure>);

impl PartialEq for FigureHandle {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for FigureHandle {}

impl std::fmt::Debug for FigureHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.name)
    }
}

impl FigureHandle {
    /// Returns the proposed file name.
    pub fn file_name(&self) -> String {
        format!("{}.png", self.0.name)
    }
}

impl Figures {
    /// Draws captured shapes at the resolution of the figure; `done` receives the image on another thread. Fails if the device
    /// cannot read images.
    pub fn draw(
        &mut self,
        ctx: &Context,
        state: &egui_wgpu::RenderState,
        request: FigureRequest,
        done: impl FnOnce(Result<FigureHandle, String>) + Send + 'static,
    ) -> Result<(), String> {
        let FigureRequest { name, area, mm_per_point, font, scale, shapes } = request;
        let size_px = [area.width(), area.height()].map(|side| (side * scale).round().max(1.0) as u32);
        let background = crate::app::kit::theme::Tokens::of(ctx).canvas;
        let drawn = shapes.clone();
        let done = move |picture: Result<ColorImage, String>| {
            done(picture.map(|picture| {
                let screen = Arc::new(picture);
                FigureHandle(Arc::new(Figure { name, area, mm_per_point, font, scale, shapes, screen }))
            }));
        };
        offscreen::draw(state, ctx, drawn, size_px, (scale, background), done)?;
        self.is_drawing = true;
        Ok(())
    }

    /// Polls the device for a figure that it is drawing.
    pub fn poll(&self, ctx: &Context, state: Option<&egui_wgpu::RenderState>) {
        if let Some(state) = state.filter(|_| self.is_drawing) {
            offscreen::poll(state);
            ctx.request_repaint_after(std::time::Duration::from_millis(20));
        }
    }

    /// Records that the device has drawn the figure.
    pub fn end_drawing(&mut self) {
        self.is_drawing = false;
    }
}

/// Writes a figure in the format of the file extension. Returns its size on paper for a message, or the reason why it could not
/// be written.
pub fn write(figure: &Figure, path: &Path) -> Result<String, String> {
    let is_svg = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg"));
    let bytes = match is_svg {
        true => svg::write(&figure.shapes, figure.area, figure.mm_per_point, figure.font, &|part| {
            figure.png(part).ok().map(base64::encode)
        })
        .into(),
        false => figure.png(figure.area).map_err(|e| format!("{}: {e}", path.display()))?,
    };
    std::fs::write(path, bytes).map_err(|e| format!("{}: {}", path.display(), io_reason(&e)))?;
    let mm = figure.area.size() * figure.mm_per_point;
    let dpi = if is_svg { String::new() } else { format!(" at {:.0} dpi", 25.4 * figure.scale / figure.mm_per_point) };
    Ok(format!(", {:.0} × {:.0} mm{dpi}", mm.x, mm.y))
}

impl Figure {
    /// Encodes a part of the figure (points) as PNG. Fails if the part is outside of the image.
    fn png(&self, part: Rect) -> Result<Vec<u8>, String> {
        let [width, height] = self.screen.size;
        let clamp = |v: f32, most: usize| ((v * self.scale).round().max(0.0) as usize).min(most);
        let (left, right) = (clamp(part.left(), width), clamp(part.right(), width));
        let (top, bottom) = (clamp(part.top(), height), clamp(part.bottom(), height));
        if left >= right || top >= bottom {
            return Err("the panel is outside the window".to_owned());
        }
        let row = |y: usize| &self.screen.pixels[y * width + left..y * width + right];
        let rgb: Vec<u8> = (top..bottom).flat_map(row).flat_map(|c| [c.r(), c.g(), c.b()]).collect();
        let per_mm = self.scale / self.mm_per_point;
        encode(&rgb, (right - left) as u32, (bottom - top) as u32, per_mm).map_err(|e| e.to_string())
    }
}

/// Encodes RGB pixels as PNG with their physical resolution, so that the figure has its size on paper in a document.
pub fn encode(rgb: &[u8], width: u32, height: u32, per_mm: f32) -> Result<Vec<u8>, png::EncodingError> {
    let mut out = vec![];
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let per_metre = (per_mm * 1e3).round() as u32;
    let unit = png::Unit::Meter;
    encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: per_metre, yppu: per_metre, unit }));
    let mut writer = encoder.write_header()?;
    writer.write_image_data(rgb)?;
    writer.finish()?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn png_stores_the_physical_resolution() {
        for (scale, per_metre) in [(1.0, 3_780), (2.0, 7_559), (3.0, 11_339)] {
            let bytes = encode(&[7; 3 * 6], 3, 2, scale * 96.0 / 25.4).expect("a picture");
            let reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("its head");
            let size = reader.info().pixel_dims.expect("pHYs");
            assert_eq!((size.xppu, size.yppu, size.unit), (per_metre, per_metre, png::Unit::Meter), "96 dpi × {scale}");
        }
    }
}
