//! Dialog of a figure: size on paper, resolution, theme and text size. The panel is then drawn alone at that size for a few
//! frames, without toolbar and caption, and captured.

use super::{FigureRequest, Figures, POINTS_PER_INCH, font::FigureFont, offscreen, settling::Settling};
use crate::app::{
    document::settings::Settings,
    kit::{self, fonts, modal, theme::Tokens, widgets},
};
use egui::{Align, ComboBox, DragValue, Frame, Grid, Id, Layout, Margin, Modal, Rect, RichText, Ui, Vec2, vec2};

/// Millimetres per inch.
const INCH_MM: f32 = 25.4;
/// Printer's points per inch.
const PRINTER_POINTS: f32 = 72.0;
/// Text size of captions and axes in the window, screen points.
const TEXT_POINTS: f32 = 11.0;

/// Properties of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureSpec {
    width_mm: f32,
    height_mm: f32,
    dpi: f32,
    text_pt: f32,
    is_light: bool,
    font: FigureFont,
}

impl FigureSpec {
    /// Returns the properties of a panel as on the screen, in the light theme.
    fn of_panel(size: Vec2, pixels_per_point: f32) -> Self {
        let mm = size * INCH_MM / POINTS_PER_INCH;
        Self {
            width_mm: mm.x.round(),
            height_mm: mm.y.round(),
            dpi: (POINTS_PER_INCH * pixels_per_point).round(),
            text_pt: TEXT_POINTS * PRINTER_POINTS / POINTS_PER_INCH,
            is_light: true,
            font: FigureFont::default(),
        }
    }

    /// Millimetres per point of the layout. A larger text size gives fewer points.
    fn mm_per_point(&self) -> f32 {
        INCH_MM / PRINTER_POINTS * self.text_pt / TEXT_POINTS
    }

    /// Size of the layout, points.
    fn size(&self) -> Vec2 {
        vec2(self.width_mm, self.height_mm) / self.mm_per_point()
    }

    fn pixels_per_point(&self) -> f32 {
        self.dpi / INCH_MM * self.mm_per_point()
    }
}

/// State of the open dialog.
pub struct FigureDialog {
    name: String,
    spec: FigureSpec,
}

/// Figure that is being drawn.
pub struct FigureStage {
    name: String,
    spec: FigureSpec,
    is_begun: bool,
    settling: Settling,
    /// Captured shapes, which are drawn in the next frame.
    request: Option<FigureRequest>,
}

impl FigureStage {
    fn new(name: String, spec: FigureSpec) -> Self {
        Self { name, spec, is_begun: false, settling: Settling::default(), request: None }
    }
}

/// Draws the dialog if it is open.
pub fn ui(ctx: &egui::Context, figures: &mut Figures, state: Option<&egui_wgpu::RenderState>) {
    let Some(mut dialog) = figures.dialog.take() else { return };
    let t = Tokens::of(ctx);
    let frame = Frame::popup(&ctx.global_style()).inner_margin(Margin::same(20)).corner_radius(8).fill(t.raised);
    let max_side = offscreen::max_side(state);
    let shown = Modal::new(Id::unique("figure dialog")).frame(frame).show(ctx, |ui| {
        ui.set_width(380.0);
        dialog.ui(ui, max_side)
    });
    let should_close = modal::is_closed(&shown);
    match shown.inner {
        Some(true) => {
            let FigureDialog { name, spec } = dialog;
            figures.stage = Some(FigureStage::new(name, spec));
            ctx.request_repaint();
        }
        Some(false) => {}
        None if should_close => {}
        None => figures.dialog = Some(dialog),
    }
}

impl FigureDialog {
    /// Draws the dialog. Returns `true` to export, `false` to cancel, `None` while it is open.
    fn ui(&mut self, ui: &mut Ui, max_side: u32) -> Option<bool> {
        ui.label(RichText::new("Export figure").size(16.0).family(widgets::semibold()));
        ui.add_space(6.0);
        let max_dpi = offscreen::max_dpi([self.spec.width_mm, self.spec.height_mm], max_side);
        let spec = &mut self.spec;
        Grid::new("figure").num_columns(2).spacing([12.0, 6.0]).show(ui, |ui| {
            let mut row = |label: &str, value: &mut f32, range: std::ops::RangeInclusive<f32>, suffix: &str| {
                ui.label(label);
                ui.add(DragValue::new(value).range(range).suffix(suffix).speed(0.5).max_decimals(1))
                    .accessible_name(label);
                ui.end_row();
            };
            row("Width", &mut spec.width_mm, 20.0..=400.0, " mm");
            row("Height", &mut spec.height_mm, 15.0..=400.0, " mm");
            row("Text size", &mut spec.text_pt, 4.0..=16.0, " pt");
            row("Resolution of PNG", &mut spec.dpi, 20.0..=1200.0, " dpi");
            ui.label("Font");
            let combo = ComboBox::from_id_salt("figure font").selected_text(spec.font.name()).show_ui(ui, |ui| {
                widgets::raise_list(ui);
                FigureFont::ALL.iter().for_each(|font| drop(ui.selectable_value(&mut spec.font, *font, font.name())));
            });
            combo.response.accessible_name("Font");
            ui.end_row();
            ui.label("Light theme");
            widgets::switch(ui, &mut spec.is_light, "Light theme");
            ui.end_row();
        });
        if spec.dpi > max_dpi {
            spec.dpi = max_dpi;
        }
        if !spec.font.is_bundled() {
            ui.label(widgets::sub(ui, "A PNG is drawn with Inter instead").small());
        }
        let px = vec2(spec.width_mm, spec.height_mm) * spec.dpi / INCH_MM;
        let note = format!(
            "PNG: {:.0} × {:.0} pixels; in this size at most {max_dpi:.0} dpi. SVG is independent of the resolution",
            px.x, px.y
        );
        ui.label(widgets::sub(ui, note).small());
        ui.add_space(8.0);
        let row = vec2(ui.available_width(), 26.0);
        let buttons = ui.allocate_ui_with_layout(row, Layout::right_to_left(Align::Center), |ui| {
            let exports = ui.button("Export…").clicked();
            let cancels = ui.button("Cancel").clicked();
            (exports, cancels)
        });
        match buttons.inner {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }
}

impl Figures {
    /// Opens the dialog for a panel with this area.
    pub fn open(&mut self, name: String, area: Rect, pixels_per_point: f32) {
        self.dialog = Some(FigureDialog { name, spec: FigureSpec::of_panel(area.size(), pixels_per_point) });
    }

    /// Begins a frame in which the panel of a figure is drawn alone. Returns its area; `None` without a figure.
    pub fn begin_frame(&mut self, ctx: &egui::Context) -> Option<Rect> {
        let stage = self.stage.as_mut()?;
        if !std::mem::replace(&mut stage.is_begun, true) {
            ctx.set_theme(if stage.spec.is_light { egui::Theme::Light } else { ctx.theme() });
            ctx.set_pixels_per_point(stage.spec.pixels_per_point());
            stage.spec.font.install(ctx);
            kit::panel::set_staged(ctx, true);
        }
        stage.settling.begin_frame(ctx);
        Some(Rect::from_min_size(ctx.content_rect().min, stage.spec.size()))
    }

    /// Ends the frame. Returns the captured shapes in the frame after the capture, otherwise `None`.
    pub fn end_frame(&mut self, ctx: &egui::Context, area: Rect) -> Option<FigureRequest> {
        let stage = self.stage.as_mut()?;
        let is_cancelled = ctx.input(|i| i.key_pressed(egui::Key::Escape));
        // The textures of the last frame are now on the device.
        let request = stage.request.take();
        if is_cancelled || request.is_some() {
            kit::panel::set_staged(ctx, false);
            (self.was_staged, self.stage) = (true, None);
            return request.filter(|_| !is_cancelled);
        }
        if stage.settling.is_settled(ctx) {
            let (name, mm_per_point, font) = (stage.name.clone(), stage.spec.mm_per_point(), stage.spec.font);
            stage.request = Some(FigureRequest::capture(ctx, name, area, mm_per_point, font));
        }
        None
    }

    /// Restores theme, zoom and fonts in the frame after the capture.
    pub fn restore(&mut self, ctx: &egui::Context, settings: &Settings) {
        if std::mem::take(&mut self.was_staged) {
            settings.apply(ctx);
            fonts::install(ctx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_resolution_follow_from_the_paper() {
        let spec = FigureSpec {
            width_mm: 90.0,
            height_mm: 60.0,
            dpi: 300.0,
            text_pt: 8.25,
            is_light: true,
            font: FigureFont::Inter,
        };
        let pixels = spec.size() * spec.pixels_per_point();
        assert!((pixels.x - 90.0 / 25.4 * 300.0).abs() < 0.1 && (pixels.y - 60.0 / 25.4 * 300.0).abs() < 0.1);
        let small = FigureSpec { text_pt: 4.125, ..spec.clone() };
        assert!((small.size().x / spec.size().x - 2.0).abs() < 1e-3, "half the text size, twice the points");
        let screen = FigureSpec::of_panel(vec2(960.0, 480.0), 1.0);
        assert_eq!((screen.width_mm, screen.height_mm, screen.dpi), (254.0, 127.0, 96.0));
        assert!((screen.size().x - 960.0).abs() < 1.0 && (screen.pixels_per_point() - 1.0).abs() < 1e-3);
    }
}
