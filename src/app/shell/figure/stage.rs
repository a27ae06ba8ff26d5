//! Drawing of a panel alone at the size of a figure, for a few frames, without toolbar, scroll bars and pointer. Its shapes are
//! then captured.

use super::{FigureRequest, Figures, settling::Settling};
use crate::app::{
    document::{
        figure_settings::{FigureFont, FigureSettings},
        settings::Settings,
    },
    kit::{
        fonts,
        panel::{self, Staging},
    },
};
use egui::{Context, Event, Plugin, RawInput, Rect, Vec2, vec2};

/// Millimetres per inch.
pub(super) const INCH_MM: f32 = 25.4;
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
    has_caption: bool,
    font: FigureFont,
}

impl FigureSpec {
    /// Resolves the settings for a panel whose height is `panel_aspect` times its width.
    pub(super) fn new(settings: &FigureSettings, panel_aspect: f64) -> Self {
        Self {
            width_mm: settings.width_mm as f32,
            height_mm: settings.height_on_paper(panel_aspect) as f32,
            dpi: settings.dpi as f32,
            text_pt: settings.text_pt as f32,
            is_light: settings.is_light,
            has_caption: settings.has_caption,
            font: settings.font,
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
    pub(super) fn new(name: String, spec: FigureSpec) -> Self {
        Self { name, spec, is_begun: false, settling: Settling::default(), request: None }
    }
}

impl Figures {
    /// Begins a frame in which the panel of a figure is drawn alone. Returns its area; `None` without a figure.
    pub fn begin_frame(&mut self, ctx: &Context) -> Option<Rect> {
        let stage = self.stage.as_mut()?;
        if !std::mem::replace(&mut stage.is_begun, true) {
            ctx.set_theme(if stage.spec.is_light { egui::Theme::Light } else { ctx.theme() });
            ctx.set_pixels_per_point(stage.spec.pixels_per_point());
            stage.spec.font.install(ctx);
            panel::set_staging(ctx, Some(Staging { has_caption: stage.spec.has_caption }));
        }
        stage.settling.begin_frame(ctx);
        Some(Rect::from_min_size(ctx.content_rect().min, stage.spec.size()))
    }

    /// Ends the frame. Returns the captured shapes in the frame after the capture, or the reason why there is no figure; otherwise
    /// `None`.
    pub fn end_frame(&mut self, ctx: &Context, area: Rect) -> Option<Result<FigureRequest, String>> {
        let stage = self.stage.as_mut()?;
        let is_cancelled = ctx.input(|i| i.key_pressed(egui::Key::Escape));
        // The textures of the last frame are now on the device.
        let request = stage.request.take();
        let is_settled = stage.settling.is_settled(ctx);
        let notice = panel::empty_notice(ctx).filter(|_| is_settled && request.is_none());
        if is_cancelled || request.is_some() || notice.is_some() {
            panel::set_staging(ctx, None);
            (self.was_staged, self.stage) = (true, None);
            let empty = |title: String| Err(format!("No figure: the panel shows no data (“{title}”)"));
            return request.map(Ok).or(notice.map(empty)).filter(|_| !is_cancelled);
        }
        if is_settled {
            let (name, mm_per_point, font) = (stage.name.clone(), stage.spec.mm_per_point(), stage.spec.font);
            stage.request = Some(FigureRequest::capture(ctx, name, area, mm_per_point, font));
        }
        None
    }

    /// Restores theme, zoom and fonts in the frame after the capture.
    pub fn restore(&mut self, ctx: &Context, settings: &Settings) {
        if std::mem::take(&mut self.was_staged) {
            settings.apply(ctx);
            fonts::install(ctx);
        }
    }
}

/// Hides the pointer from the panel of a figure, so that nothing in it is hovered and no gesture changes it.
pub struct HiddenPointer;

impl Plugin for HiddenPointer {
    fn debug_name(&self) -> &'static str {
        "hidden pointer of figures"
    }

    fn input_hook(&mut self, ctx: &Context, input: &mut RawInput) {
        if !panel::is_staged(ctx) {
            return;
        }
        // A release is kept, because a button must not stay pressed when the window returns.
        input.events.retain(|event| match event {
            Event::PointerButton { pressed, .. } => !pressed,
            Event::PointerMoved(_) | Event::MouseMoved(_) | Event::MouseWheel { .. } | Event::Zoom(_) => false,
            Event::Touch { .. } => false,
            _ => true,
        });
        input.events.push(Event::PointerGone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_resolution_follow_from_the_paper() {
        let settings = FigureSettings { width_mm: 90.0, text_pt: 8.25, ..FigureSettings::default() };
        let spec = FigureSpec::new(&settings, 60.0 / 90.0);
        let pixels = spec.size() * spec.pixels_per_point();
        assert!((pixels.x - 90.0 / 25.4 * 300.0).abs() < 0.1 && (pixels.y - 60.0 / 25.4 * 300.0).abs() < 0.1);
        let small = FigureSpec { text_pt: 4.125, ..spec.clone() };
        assert!((small.size().x / spec.size().x - 2.0).abs() < 1e-3, "half the text size, twice the points");
        let screen = FigureSpec { dpi: 96.0, ..spec };
        assert!((screen.pixels_per_point() - 1.0).abs() < 1e-3, "text of 8.25 pt is as large as on the screen");
    }

    /// A hover before the figure, motion and a press during it have no effect on it; a release is passed on.
    #[test]
    fn a_figure_has_no_pointer() {
        let (ctx, at) = (Context::default(), egui::pos2(20.0, 20.0));
        ctx.add_plugin(HiddenPointer);
        let frame = |events: Vec<Event>| {
            let input = RawInput { events, ..RawInput::default() };
            let (mut is_hovered, mut is_down) = (false, false);
            let mut output = ctx.run_ui(input, |ui| {
                let area = Rect::from_min_size(egui::Pos2::ZERO, Vec2::splat(50.0));
                is_hovered = ui.interact(area, egui::Id::unique("area"), egui::Sense::click_and_drag()).hovered();
                is_down = ui.input(|i| i.pointer.any_down());
            });
            output.textures_delta.clear(); // nothing is painted
            (is_hovered, is_down)
        };
        let button = |pressed| Event::PointerButton {
            pos: at,
            button: egui::PointerButton::Primary,
            pressed,
            modifiers: egui::Modifiers::NONE,
        };
        frame(vec![Event::PointerMoved(at)]);
        assert_eq!(frame(vec![button(true)]), (true, true));
        panel::set_staging(&ctx, Some(Staging { has_caption: false }));
        frame(vec![button(false)]);
        assert_eq!(frame(vec![Event::PointerMoved(at), button(true)]), (false, false));
        assert_eq!(frame(vec![]), (false, false));
        panel::set_staging(&ctx, None);
        frame(vec![Event::PointerMoved(at)]);
        assert_eq!(frame(vec![]), (true, false));
    }
}
