//! SVG export. Shapes and texts are exported as such; textured shapes and GPU callbacks are embedded as pixels.

use crate::app::document::figure_settings::FigureFont;
use egui::{
    Color32, Pos2, Rect, Shape, Stroke,
    epaint::{
        CircleShape, ClippedShape, ColorMode, Mesh, PathShape, PathStroke, RectShape, TextShape,
        text::{Glyph, Row},
    },
};
use std::fmt::Write as _;

/// Ratio of row height to font size of the window's font.
const FONT_HEIGHT: f32 = 1.21;
/// Maximum number of triangles of a mesh that is not embedded as pixels.
const MAX_TRIANGLES: usize = 2_000;

/// Formats the shapes inside an area as SVG; `mm` is the number of millimetres per point. `pixels` returns a part of the figure
/// as base-64 PNG.
pub fn write(
    shapes: &[ClippedShape],
    area: Rect,
    mm: f32,
    font: FigureFont,
    pixels: &dyn Fn(Rect) -> Option<String>,
) -> String {
    let (w, h) = (area.width(), area.height());
    let mut svg = Svg { out: String::new(), font, pixels };
    let _ = writeln!(
        svg.out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" \
         width=\"{}mm\" height=\"{}mm\" viewBox=\"{} {} {w} {h}\">",
        w * mm,
        h * mm,
        area.left(),
        area.top()
    );
    for clipped in shapes {
        let clip = clipped.clip_rect.intersect(area);
        if clip.is_positive() && clipped.shape.visual_bounding_rect().intersects(clip) {
            svg.clipped(clip, &clipped.shape);
        }
    }
    svg.out += "</svg>\n";
    svg.out
}

struct Svg<'a> {
    out: String,
    font: FigureFont,
    pixels: &'a dyn Fn(Rect) -> Option<String>,
}

/// Returns a colour as `#rrggbb`, and its opacity. egui premultiplies alpha, SVG does not.
fn hex_color(color: Color32) -> (String, f32) {
    let [r, g, b, a] = color.to_srgba_unmultiplied();
    (format!("#{r:02x}{g:02x}{b:02x}"), f32::from(a) / 255.0)
}

fn painted(what: &str, color: Color32) -> String {
    match hex_color(color) {
        (_, 0.0) => format!("{what}=\"none\""),
        (hex, 1.0) => format!("{what}=\"{hex}\""),
        (hex, opacity) => format!("{what}=\"{hex}\" {what}-opacity=\"{opacity:.3}\""),
    }
}

fn stroked(stroke: Stroke) -> String {
    match stroke.is_empty() {
        true => "stroke=\"none\"".to_owned(),
        false => format!("{} stroke-width=\"{}\"", painted("stroke", stroke.color), stroke.width),
    }
}

fn plain(stroke: &PathStroke) -> Stroke {
    match stroke.color {
        ColorMode::Solid(color) => Stroke::new(stroke.width, color),
        ColorMode::UV(_) => Stroke::NONE,
    }
}

/// Returns the colour of a glyph: the override of the shape, otherwise its own, otherwise the fallback of the shape.
fn color_of(shape: &TextShape, row: &Row, glyph: &Glyph) -> Color32 {
    let own = row.visuals.mesh.vertices.get(glyph.first_vertex as usize).map(|v| v.color);
    let own = own.filter(|c| *c != Color32::PLACEHOLDER).unwrap_or(shape.fallback_color);
    shape.override_text_color.unwrap_or(own).gamma_multiply(shape.opacity_factor)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Svg<'_> {
    /// Writes a shape in a nested SVG element, which clips to its rectangle.
    fn clipped(&mut self, clip: Rect, shape: &Shape) {
        let before = self.out.len();
        let (x, y, w, h) = (clip.left(), clip.top(), clip.width(), clip.height());
        let _ =
            writeln!(self.out, "<svg x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" viewBox=\"{x} {y} {w} {h}\">");
        let opened = self.out.len();
        self.shape(shape, clip);
        match self.out.len() == opened {
            true => self.out.truncate(before),
            false => self.out += "</svg>\n",
        }
    }

    fn shape(&mut self, shape: &Shape, clip: Rect) {
        match shape {
            Shape::Noop => {}
            Shape::Vec(shapes) => shapes.iter().for_each(|shape| self.shape(shape, clip)),
            Shape::Circle(circle) => self.circle(circle),
            Shape::LineSegment { points, stroke } => self.path(points, false, Color32::TRANSPARENT, *stroke),
            Shape::Path(PathShape { points, closed, fill, stroke }) => {
                self.path(points, *closed, *fill, plain(stroke));
            }
            Shape::Rect(rect) if rect.brush.is_some() => self.pixels(rect.rect.intersect(clip)),
            Shape::Rect(rect) => self.rect(rect),
            Shape::Text(text) => self.text(text),
            Shape::Mesh(mesh) => self.mesh(mesh, clip),
            other => self.pixels(other.visual_bounding_rect().intersect(clip)),
        }
    }

    fn circle(&mut self, circle: &CircleShape) {
        let CircleShape { center, radius, fill, stroke, .. } = circle;
        let (fill, stroke) = (painted("fill", *fill), stroked(*stroke));
        let _ = writeln!(self.out, "<circle cx=\"{}\" cy=\"{}\" r=\"{radius}\" {fill} {stroke}/>", center.x, center.y);
    }

    fn path(&mut self, points: &[Pos2], is_closed: bool, fill: Color32, stroke: Stroke) {
        let mut d = String::new();
        for (i, p) in points.iter().enumerate() {
            let _ = write!(d, "{}{:.2} {:.2}", if i == 0 { 'M' } else { 'L' }, p.x, p.y);
        }
        let end = if is_closed { "Z" } else { "" };
        let _ = writeln!(self.out, "<path d=\"{d}{end}\" {} {}/>", painted("fill", fill), stroked(stroke));
    }

    fn rect(&mut self, shape: &RectShape) {
        let RectShape { rect, fill, stroke, corner_radius, .. } = shape;
        if *fill == Color32::TRANSPARENT && stroke.is_empty() {
            return;
        }
        let (fill, stroke) = (painted("fill", *fill), stroked(*stroke));
        let _ = writeln!(
            self.out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\" {fill} {stroke}/>",
            rect.left(),
            rect.top(),
            rect.width(),
            rect.height(),
            corner_radius.average()
        );
    }

    /// Writes one text element per run of glyphs of equal size and colour. Icon glyphs are omitted.
    fn text(&mut self, shape: &TextShape) {
        for row in &shape.galley.rows {
            let is_icon = |c: char| ('\u{e000}'..='\u{f8ff}').contains(&c);
            let glyphs: Vec<&Glyph> = row.row.glyphs.iter().filter(|g| !is_icon(g.chr)).collect();
            let look = |g: &Glyph| {
                (color_of(shape, &row.row, g).to_array(), (g.font_height * 8.0) as i32, (g.pos.y * 8.0) as i32)
            };
            for run in glyphs.chunk_by(|a, b| a.chr == ' ' || b.chr == ' ' || look(a) == look(b)) {
                if let Some(first) = run.iter().find(|g| g.chr != ' ') {
                    let look = (color_of(shape, &row.row, first), first.font_height / FONT_HEIGHT);
                    self.run(shape, shape.pos + row.pos.to_vec2(), run, look);
                }
            }
        }
    }

    /// Writes a run of glyphs of one row that have equal colour and size.
    fn run(&mut self, shape: &TextShape, row: Pos2, run: &[&Glyph], (color, size): (Color32, f32)) {
        let (first, last) = (run[0], run[run.len() - 1]);
        let (at, width) = (row + first.pos.to_vec2(), last.pos.x + last.advance_width - first.pos.x);
        let words: String = run.iter().map(|g| g.chr).collect();
        let turn = match shape.angle {
            0.0 => String::new(),
            angle => format!(" transform=\"rotate({} {} {})\"", angle.to_degrees(), shape.pos.x, shape.pos.y),
        };
        let (fill, words) = (painted("fill", color), escaped(&words));
        let _ = writeln!(
            self.out,
            "<text x=\"{:.2}\" y=\"{:.2}\" font-family=\"{}\" font-size=\"{size:.2}\" \
             textLength=\"{width:.2}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\" {fill}{turn}>{words}</text>",
            at.x,
            at.y,
            self.font.svg_family()
        );
    }

    /// Writes an untextured mesh as triangles, and others as pixels.
    fn mesh(&mut self, mesh: &Mesh, clip: Rect) {
        let is_plain = mesh.texture_id == egui::TextureId::default();
        if !is_plain || mesh.indices.len() > MAX_TRIANGLES * 3 {
            return self.pixels(mesh.calc_bounds().intersect(clip));
        }
        for corners in mesh.indices.chunks_exact(3) {
            let corners: Vec<_> = corners.iter().filter_map(|i| mesh.vertices.get(*i as usize)).collect();
            let points: Vec<Pos2> = corners.iter().map(|v| v.pos).collect();
            let fill = corners.first().map_or(Color32::TRANSPARENT, |v| v.color);
            // A thin stroke hides seams between triangles.
            self.path(&points, true, fill, Stroke::new(0.25, fill));
        }
    }

    fn pixels(&mut self, part: Rect) {
        if !part.is_positive() {
            return;
        }
        if let Some(png) = (self.pixels)(part) {
            let _ = writeln!(
                self.out,
                "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
                 xlink:href=\"data:image/png;base64,{png}\"/>",
                part.left(),
                part.top(),
                part.width(),
                part.height()
            );
        }
    }
}
