//! Discs of equal size drawn as one mesh, because one shape per disc takes much longer to add and to tessellate.

use egui::{Color32, ColorImage, Context, Id, Mesh, Painter, Pos2, Rect, TextureHandle, TextureOptions, Vec2, pos2};

/// List of discs of one radius, each with its own colour.
pub struct Dots {
    mesh: Mesh,
    /// Side of the square that holds a disc, points.
    side: f32,
}

impl Dots {
    /// Creates an empty list of discs; `radius` in points.
    pub fn new(ctx: &Context, radius: f32) -> Self {
        let radius_px = radius * ctx.pixels_per_point();
        let key = Id::unique("disc").with(radius_px.to_bits());
        let known = ctx.data(|data| data.get_temp::<TextureHandle>(key));
        let texture = known.unwrap_or_else(|| {
            let texture = ctx.load_texture("disc", disc(radius_px), TextureOptions::LINEAR);
            ctx.data_mut(|data| data.insert_temp(key, texture.clone()));
            texture
        });
        let side = texture.size()[0] as f32 / ctx.pixels_per_point();
        Self { mesh: Mesh::with_texture(texture.id()), side }
    }

    /// Adds a disc.
    pub fn add(&mut self, at: Pos2, color: Color32) {
        let whole = Rect::from_min_max(Pos2::ZERO, pos2(1.0, 1.0));
        self.mesh.add_rect_with_uv(Rect::from_center_size(at, Vec2::splat(self.side)), whole, color);
    }

    /// Draws all discs, in the order in which they were added.
    pub fn paint(self, painter: &Painter) {
        painter.add(self.mesh);
    }
}

/// Creates the image of a white disc with a soft edge of one pixel, and a transparent margin.
fn disc(radius_px: f32) -> ColorImage {
    let side = (2.0 * radius_px).ceil() as usize + 3;
    let middle = side as f32 / 2.0;
    let coverage = |i: usize| {
        let (x, y) = ((i % side) as f32 + 0.5 - middle, (i / side) as f32 + 0.5 - middle);
        (radius_px + 0.5 - x.hypot(y)).clamp(0.0, 1.0)
    };
    let pixels = (0..side * side).map(|i| Color32::WHITE.gamma_multiply(coverage(i))).collect();
    ColorImage::new([side, side], pixels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disc_covers_its_area_and_has_a_transparent_border() {
        for radius in [0.7_f32, 1.6, 2.6, 5.0] {
            let image = disc(radius);
            let [side, _] = image.size;
            let covered: f32 = image.pixels.iter().map(|pixel| f32::from(pixel.a()) / 255.0).sum();
            // The expected sum is the integral of the coverage of a disc whose edge falls linearly within one pixel.
            let area = std::f32::consts::PI * (radius * radius + 1.0 / 12.0);
            assert!((covered / area - 1.0).abs() < 0.1, "{radius}: {covered} pixels of {area}");
            assert!((0..side).all(|i| image.pixels[i].a() == 0), "{radius}");
        }
    }
}
