//! Drawing of the path between two elements over the image: arrows, and names that can be clicked.

use super::{View3d, pixels};
use crate::{
    app::{kit, views::ViewCtx},
    sim::ElementSet,
    view3d::Projector,
};
use egui::{Align2, Pos2, Rect, Sense, Stroke, Ui, Vec2, vec2};

/// Distance of an arrow from its elements, points. Their circles have a smaller radius.
const GAP: f32 = 7.0;
/// Length of an arrow head, points.
const HEAD: f32 = 8.0;

impl View3d {
    /// Draws the path. A click on a name selects the element.
    pub(super) fn path_ui(&mut self, ui: &mut Ui, canvas: Rect, set: &ElementSet, ctx: &mut ViewCtx<'_>) {
        let Some(path) = ctx.selection.path.clone().filter(|path| path.set == set.name) else { return };
        let (projector, scale) = (Projector::new(&self.camera, pixels(ui, canvas)), ui.pixels_per_point());
        let places = self.places(set);
        let at = |element: u32| {
            let (at, _) = projector.project(*places.get(element as usize)?)?;
            Some(canvas.min + vec2(at.x, at.y) / scale)
        };
        let (painter, t) = (ui.painter_at(canvas), ctx.tokens);
        for step in &path.steps {
            let (Some(from), Some(to)) = (at(step.from), at(step.to)) else { continue };
            let ink = if step.weight < 0.0 { t.inhibitory } else { t.excitatory };
            let Some((tail, tip)) = between(from, to) else { continue };
            painter.line_segment([tail, tip], Stroke::new(4.0, t.canvas));
            painter.line_segment([tail, tip], Stroke::new(2.0, ink));
            let back = (tail - tip).normalized() * HEAD;
            let side = back.rot90() * 0.5;
            for barb in [back + side, back - side] {
                painter.line_segment([tip, tip + barb], Stroke::new(2.0, ink));
            }
        }
        let mut chosen = None;
        for element in path.elements() {
            let Some(center) = at(element).filter(|center| canvas.contains(*center)) else { continue };
            painter.circle_stroke(center, GAP - 2.0, Stroke::new(2.0, t.accent));
            let name = set.label(element);
            let galley = painter.layout_no_wrap(name.clone(), kit::small(ui), t.text_strong);
            let corner = Align2::LEFT_CENTER.anchor_size(center + vec2(GAP + 3.0, 0.0), galley.size()).expand(3.0);
            let label = ui.interact(corner, ui.scope_id().with(("path element", element)), Sense::click());
            label.widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::Button, true, &name));
            let fill = if label.hovered() { t.hover } else { t.raised };
            painter.rect(corner, 3.0, fill, Stroke::new(1.0, t.line), egui::StrokeKind::Inside);
            painter.galley(corner.min + Vec2::splat(3.0), galley, t.text_strong);
            if label.on_hover_text("Select").clicked() {
                chosen = Some(element);
            }
        }
        if let Some(element) = chosen {
            ctx.selection.replace(set.name, vec![element]);
        }
    }
}

/// Returns the ends of an arrow between two elements; `None` if these are too close.
fn between(from: Pos2, to: Pos2) -> Option<(Pos2, Pos2)> {
    let way = to - from;
    let gap = way.normalized() * GAP;
    (way.length() > 2.0 * GAP + HEAD).then(|| (from + gap, to - gap))
}
