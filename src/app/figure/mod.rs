//! A panel as a picture: PNG with the pixels of the screen, or SVG, by the ending of the file.

mod svg;

use super::{
    App,
    jobs::{JobResult, Purpose},
    log::Level,
};
use egui::{ColorImage, Context, LayerId, Rect, epaint::ClippedShape};
use std::{path::Path, sync::Arc};

/// Points on paper: a hundred per cent is 96 points to the inch, whatever the screen says of itself.
const POINTS_PER_INCH: f32 = 96.0;
/// Millimetres per point.
const MM: f32 = 25.4 / POINTS_PER_INCH;

/// The panel that is wanted: its name, and where it is.
pub struct Wish {
    /// Proposed name of the file.
    pub name: String,
    /// Points.
    pub area: Rect,
}

/// A panel as it was on screen.
pub struct Figure {
    name: String,
    area: Rect,
    scale: f32,
    shapes: Vec<ClippedShape>,
    screen: Arc<ColorImage>,
}

/// A figure on its way to a file.
#[derive(Clone)]
pub struct Taken(pub Arc<Figure>);

impl PartialEq for Taken {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Taken {}

impl std::fmt::Debug for Taken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.name)
    }
}

impl Taken {
    /// Proposed name of the file.
    pub fn file_name(&self) -> String {
        format!("{}.png", self.0.name)
    }
}

impl App {
    /// Asks for a picture of the panel that keys are for.
    pub(super) fn export_panel(&mut self) {
        let schema = &self.session.live.schema;
        let view = self.workspace.focused_view().map(|view| view.title(schema));
        match (view, self.workspace.focused_area) {
            (Some(title), Some(area)) => {
                let name = format!("{} {}", self.session.project.name, title.to_lowercase());
                let is_plain = |c: char| c.is_alphanumeric() || c == '-';
                let name = name.replace(|c| !is_plain(c), "-");
                self.figure = Some(Wish { name, area });
            }
            _ => self.notify(Level::Warning, "There is no panel to export"),
        }
    }

    /// After the panels were drawn: what is in the panel now, and its pixels as soon as they are there.
    pub(super) fn take_figure(&mut self, ctx: &Context) {
        let Some(Wish { name, area }) = self.figure.take() else { return };
        let inside = |list: &egui::layers::PaintList| -> Vec<ClippedShape> {
            list.all_entries().filter(|shape| shape.clip_rect.intersects(area)).cloned().collect()
        };
        let shapes = ctx.graphics(|layers| layers.get(LayerId::background()).map(inside)).unwrap_or_default();
        let (scale, mail, wake) = (ctx.pixels_per_point(), self.jobs.outbox(), ctx.clone());
        ctx.request_screenshot(move |screen| {
            let figure = Figure { name, area, scale, shapes, screen };
            mail.try_send(JobResult::Figure(Taken(Arc::new(figure)))).ok();
            wake.request_repaint();
        });
    }

    /// Where it goes is asked for once it is there.
    pub(super) fn took_figure(&mut self, figure: Taken) {
        self.pick(Purpose::Figure(figure));
    }
}

/// Writes a figure; the ending decides how.
pub fn write(figure: &Figure, path: &Path) -> Result<String, String> {
    let is_svg = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg"));
    let bytes = match is_svg {
        true => svg::write(&figure.shapes, figure.area, &|part| figure.png(part).ok().map(|png| base64(&png))).into(),
        false => figure.png(figure.area).map_err(|e| format!("{}: {e}", path.display()))?,
    };
    std::fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))?;
    let mm = figure.area.size() * MM;
    let dpi = if is_svg { String::new() } else { format!(" at {:.0} dpi", POINTS_PER_INCH * figure.scale) };
    Ok(format!("Wrote {}, {:.0} × {:.0} mm{dpi}", path.display(), mm.x, mm.y))
}

impl Figure {
    /// A part of the screen, points.
    fn png(&self, part: Rect) -> Result<Vec<u8>, String> {
        let [width, height] = self.screen.size;
        let clamp = |v: f32, most: usize| ((v * self.scale).round().max(0.0) as usize).min(most);
        let (left, right) = (clamp(part.left(), width), clamp(part.right(), width));
        let (top, bottom) = (clamp(part.top(), height), clamp(part.bottom(), height));
        if left >= right || top >= bottom {
            return Err("it is not on the screen".to_owned());
        }
        let row = |y: usize| &self.screen.pixels[y * width + left..y * width + right];
        let rgb: Vec<u8> = (top..bottom).flat_map(row).flat_map(|c| [c.r(), c.g(), c.b()]).collect();
        encode(&rgb, (right - left) as u32, (bottom - top) as u32, self.scale).map_err(|e| e.to_string())
    }
}

/// Red, green and blue as a PNG that says how large it is on paper, so that it is in a text what it is on the screen.
fn encode(rgb: &[u8], width: u32, height: u32, scale: f32) -> Result<Vec<u8>, png::EncodingError> {
    let mut out = vec![];
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let per_metre = (scale * 1e3 / MM).round() as u32;
    let unit = png::Unit::Meter;
    encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: per_metre, yppu: per_metre, unit }));
    let mut writer = encoder.write_header()?;
    writer.write_image_data(rgb)?;
    writer.finish()?;
    Ok(out)
}

/// Bytes as letters.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let n = (0..3).fold(0_u32, |n, i| n << 8 | u32::from(chunk.get(i).copied().unwrap_or(0)));
        for i in 0..4 {
            let letter = LETTERS[(n >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_say_how_large_they_are_on_paper() {
        for (scale, per_metre) in [(1.0, 3_780), (2.0, 7_559), (3.0, 11_339)] {
            let bytes = encode(&[7; 3 * 6], 3, 2, scale).expect("a picture");
            let reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("its head");
            let size = reader.info().pixel_dims.expect("pHYs");
            assert_eq!((size.xppu, size.yppu, size.unit), (per_metre, per_metre, png::Unit::Meter), "96 dpi × {scale}");
        }
    }

    #[test]
    fn letters_stand_for_bytes() {
        assert_eq!(
            ["", "f", "fo", "foo", "foob"].map(|t| base64(t.as_bytes())),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
    }
}
