//! Points in a plane, one per element, for the phase circle and the scatter plot. Large sets are placed on the pool. Up to
//! [`MAX_SINGLE`] points are drawn individually. Hover, click, rectangle and lasso select elements.

use super::{MenuTarget, ViewCtx, menu};
use crate::{
    app::{
        kit::{dots::Dots, pool},
        views::element,
    },
    sim::ElementSet,
    view3d::{Vec2, inside_polygon},
};
use egui::{Color32, Painter, Pos2, Rect, Response, Stroke, Ui, pos2};

/// Maximum number of points drawn individually.
pub const MAX_SINGLE: usize = 10_000;
/// Maximum number of elements whose points are placed on the UI thread.
const MAX_INLINE: usize = 20_000;
/// Maximum distance from a point to the pointer, points.
const SLACK: f32 = 7.0;
/// Maximum number of selected points with rings; more selected points only have their colour.
const MAX_RINGS: usize = 1_500;

/// Pointer gestures, shown in the status bar.
pub const GESTURES: &[(&str, &str)] =
    &[("click", "select"), ("drag", "rectangle"), ("Alt+drag", "lasso"), ("Ctrl", "add"), ("right-click", "menu")];

/// Positions of the elements, and statistics computed with them.
#[derive(Default)]
pub struct Placed<T> {
    /// The placed elements, ascending.
    pub of: Vec<u32>,
    /// Positions of the elements, from 0 to 1 to the right and upwards.
    pub at: Vec<[f32; 2]>,
    pub found: T,
}

/// Generations of the inputs of a placement: values, settings, filter. A change of any of them recomputes it.
pub type CloudKey = [u64; 3];

/// The points, and their pointer state.
pub struct Cloud<T> {
    placed: Placed<T>,
    key: Option<CloudKey>,
    /// Counter that every new placement increments.
    pub generation: u64,
    pool_job: pool::PoolJob<CloudKey, Placed<T>>,
    lasso: Vec<Pos2>,
    is_rectangle: bool,
    under_pointer: Option<u32>,
    /// The element for which the context menu was opened.
    menu_element: Option<u32>,
}

impl<T: Default> Default for Cloud<T> {
    fn default() -> Self {
        Self {
            placed: Placed::default(),
            key: None,
            generation: 0,
            pool_job: pool::PoolJob::default(),
            lasso: vec![],
            is_rectangle: false,
            under_pointer: None,
            menu_element: None,
        }
    }
}

impl<T: Default + Send + 'static> Cloud<T> {
    /// Places the points again if `key` has changed: immediately, or on the pool if `n` is large. The previous points are shown
    /// until then.
    pub fn update<J>(&mut self, ctx: &egui::Context, key: CloudKey, n: usize, job: impl FnOnce() -> J)
    where
        J: FnOnce() -> Placed<T> + Send + 'static,
    {
        if let Some(arrived) = self.pool_job.poll() {
            self.take(arrived);
        }
        if self.key == Some(key) || !self.pool_job.is_free(&key) {
            return;
        }
        let place = job();
        if n <= MAX_INLINE {
            return self.take((key, place()));
        }
        self.pool_job.start(ctx, key, place);
    }

    fn take(&mut self, (key, placed): (CloudKey, Placed<T>)) {
        (self.key, self.placed) = (Some(key), placed);
        self.generation += 1;
    }

    pub fn clear(&mut self) {
        *self = Self { generation: self.generation + 1, ..Self::default() };
    }

    pub fn placed(&self) -> &Placed<T> {
        &self.placed
    }

    /// Returns the element under the pointer; `None` if there is none.
    pub fn under_pointer(&self) -> Option<u32> {
        self.under_pointer
    }

    /// Handles the pointer. `area` is the unit square on the screen.
    pub fn gestures_ui(&mut self, ui: &Ui, response: &Response, area: Rect, set: &ElementSet, ctx: &mut ViewCtx<'_>) {
        self.drag(ui, response, area, set, ctx);
        let found = response.hover_pos().filter(|_| !response.dragged()).and_then(|at| self.pick(area, at));
        if (found.is_some() || self.under_pointer.is_some())
            && (ctx.selection.set == set.name || ctx.selection.set.is_empty())
        {
            ctx.selection.hovered = found;
        }
        self.under_pointer = found;
        self.menu_ui(response, set, ctx);
        let Some(element) = found.filter(|_| response.clicked()) else { return };
        if ui.input(|i| i.modifiers.command) {
            ctx.selection.toggle(set.name, element);
        } else {
            ctx.selection.replace(set.name, vec![element]);
        }
    }

    fn menu_ui(&mut self, response: &Response, set: &ElementSet, ctx: &mut ViewCtx<'_>) {
        if response.secondary_clicked() {
            self.menu_element = self.under_pointer;
        }
        response.context_menu(|ui| {
            let subject = MenuTarget::at(ctx, set, self.menu_element);
            menu::ui(ui, ctx, set, &subject);
        });
    }

    fn drag(&mut self, ui: &Ui, response: &Response, area: Rect, set: &ElementSet, ctx: &mut ViewCtx<'_>) {
        let modifiers = ui.input(|i| i.modifiers);
        if response.dragged()
            && let (Some(here), Some(start)) = (response.interact_pointer_pos(), ui.input(|i| i.pointer.press_origin()))
        {
            if self.lasso.is_empty() {
                self.is_rectangle = !modifiers.alt;
            }
            if self.is_rectangle {
                self.lasso = vec![start, pos2(here.x, start.y), here, pos2(start.x, here.y)];
            } else if self.lasso.last().is_none_or(|last| last.distance(here) > 2.0) {
                self.lasso.push(here);
            }
        }
        if response.drag_stopped() && !self.lasso.is_empty() {
            let polygon = std::mem::take(&mut self.lasso);
            let selected_points = self.inside(area, &polygon);
            if modifiers.command {
                ctx.selection.extend(set.name, &selected_points);
            } else {
                ctx.selection.replace(set.name, selected_points);
            }
        }
    }

    fn pick(&self, area: Rect, at: Pos2) -> Option<u32> {
        let near = |(of, p): (&u32, &[f32; 2])| (place(area, *p).distance_sq(at), *of);
        let best = self.placed.of.iter().zip(&self.placed.at).map(near).min_by(|a, b| a.0.total_cmp(&b.0))?;
        (best.0 <= SLACK * SLACK).then_some(best.1)
    }

    fn inside(&self, area: Rect, polygon: &[Pos2]) -> Vec<u32> {
        let bounds = Rect::from_points(polygon);
        let polygon: Vec<Vec2> = polygon.iter().map(|p| Vec2::new(p.x, p.y)).collect();
        let selected_points = |(_, at): &(&u32, &[f32; 2])| {
            let at = place(area, **at);
            bounds.contains(at) && inside_polygon(&polygon, Vec2::new(at.x, at.y))
        };
        self.placed.of.iter().zip(&self.placed.at).filter(selected_points).map(|(of, _)| *of).collect()
    }

    /// Draws the points individually, or only the selected ones in large sets. Selected points and the hovered one have rings.
    pub fn paint(
        &self,
        painter: &Painter,
        area: Rect,
        set: &ElementSet,
        ctx: &ViewCtx<'_>,
        color: impl Fn(u32) -> Color32,
    ) {
        let selected = ctx.selection.of(set.name);
        let n = self.placed.of.len();
        let radius = if n > 2_000 { 1.6 } else { 2.6 };
        // The opacity decreases with the number of points.
        let opacity = (1.15 - 0.16 * (n.max(1) as f32).log10()).clamp(0.45, 0.9);
        let aside = if selected.is_empty() { opacity } else { opacity * 0.45 };
        let is_selected = |of: u32| selected.binary_search(&of).is_ok();
        let points = || self.placed.of.iter().zip(&self.placed.at).map(|(of, at)| (*of, place(area, *at)));
        if n <= MAX_SINGLE {
            let mut dots = Dots::new(painter.ctx(), radius);
            points()
                .filter(|(of, _)| !is_selected(*of))
                .for_each(|(of, at)| dots.add(at, color(of).gamma_multiply(aside)));
            dots.paint(painter);
        }
        if !selected.is_empty() {
            let mut dots = Dots::new(painter.ctx(), radius + 0.6);
            for (of, at) in points().filter(|(of, _)| is_selected(*of)).take(MAX_SINGLE) {
                dots.add(at, color(of));
                if selected.len() <= MAX_RINGS {
                    painter.circle_stroke(at, radius + 2.2, Stroke::new(1.25, ctx.tokens.accent));
                }
            }
            dots.paint(painter);
        }
        if let Some(hovered) = ctx.selection.hovered_in(set.name)
            && let Ok(i) = self.placed.of.binary_search(&hovered)
        {
            let at = place(area, self.placed.at[i]);
            painter.circle_stroke(at, radius + 4.0, Stroke::new(1.5, ctx.tokens.text_strong));
        }
        self.paint_lasso(painter, ctx);
    }

    fn paint_lasso(&self, painter: &Painter, ctx: &ViewCtx<'_>) {
        let Some(first) = self.lasso.first().filter(|_| self.lasso.len() > 1) else { return };
        if self.is_rectangle {
            painter.rect_filled(Rect::from_points(&self.lasso), 0.0, ctx.tokens.accent.gamma_multiply(0.12));
        }
        let outline = self.lasso.iter().chain([first]).copied().collect();
        painter.line(outline, Stroke::new(1.25, ctx.tokens.accent));
    }

    /// Shows the tooltip of the element under the pointer.
    pub fn tooltip_ui(&self, response: &Response, set: &ElementSet, ctx: &ViewCtx<'_>, values: &[(String, String)]) {
        if let Some(element) = self.under_pointer.filter(|_| response.hovered()) {
            response.clone().on_hover_ui_at_pointer(|ui| element::element_ui(ui, ctx, set, element, values));
        }
    }
}

/// Converts a position in the unit square to the screen.
pub fn place(area: Rect, [x, y]: [f32; 2]) -> Pos2 {
    pos2(area.left() + x * area.width(), area.bottom() - y * area.height())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_picked_and_selected_at_their_drawn_positions() {
        let placed = Placed { of: vec![3, 8], at: vec![[0.5, 0.5], [0.25, 1.0]], found: () };
        let mut cloud = Cloud::default();
        cloud.take(([1; 3], placed));
        let area = Rect::from_min_max(pos2(100.0, 50.0), pos2(300.0, 150.0));
        assert_eq!(cloud.pick(area, pos2(203.0, 98.0)), Some(3));
        assert_eq!(cloud.pick(area, pos2(150.0, 54.0)), Some(8));
        assert_eq!(cloud.pick(area, pos2(150.0, 140.0)), None);
        let left = [(120.0, 40.0), (180.0, 40.0), (180.0, 160.0), (120.0, 160.0)].map(|(x, y)| pos2(x, y));
        assert_eq!(cloud.inside(area, &left), [8]);
    }
}
