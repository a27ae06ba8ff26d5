//! Uploads of the scene's data to the device. Unchanged data are not uploaded again.

use super::{Coloring, View3d, by_selection::BY_SELECTION, effects::COLORS, pixels};
use crate::{
    app::{
        kit::{self, colormap::Colormap, colors},
        views::ViewCtx,
    },
    sim::ElementSet,
    view3d::{Look, Scene, Vec2, selected},
};
use egui::{Rect, Ui};
use egui_wgpu::{CallbackResources, CallbackTrait, ScreenDescriptor, wgpu};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// Maximum number of selected points with rings; more selected points only have their colour.
const MAX_RINGS: usize = 1_500;

/// Minimum number of elements that the radius of points is computed for, so that points of a small set are not too large.
const MIN_DENSITY: u32 = 60;

/// Opacity of the shell at its silhouette.
const SHELL: f32 = 0.3;

/// The scene, and versions of the data on the device.
#[derive(Default)]
pub(super) struct Uploaded {
    scene: Option<Arc<Mutex<Scene>>>,
    points: u64,
    codes: Option<((u64, u64), String, u64, u64)>,
    palette: Option<((u64, u64), String, u64, bool)>,
    /// The colormap and whether its range is fixed; whether the theme is dark.
    colormap: Option<((Colormap, bool), bool)>,
    values: u64,
    places: u64,
    sizes: u64,
}

struct Draw {
    scene: Arc<Mutex<Scene>>,
    look: Look,
}

impl CallbackTrait for Draw {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        _: &ScreenDescriptor,
        encoder: &mut wgpu::CommandEncoder,
        _: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        let mut scene = self.scene.lock().unwrap_or_else(PoisonError::into_inner);
        scene.draw(device, queue, encoder, &self.look);
        vec![]
    }

    fn paint(&self, _: egui::PaintCallbackInfo, pass: &mut wgpu::RenderPass<'static>, _: &CallbackResources) {
        self.scene.lock().unwrap_or_else(PoisonError::into_inner).blit(pass);
    }
}

impl View3d {
    /// Returns the parameters of an image of a size in pixels.
    pub(super) fn look(&self, size_px: Vec2, pixels_per_point: f32, ctx: &ViewCtx<'_>) -> Look {
        let Some(set) = &self.set else { return Look::new(&self.camera, size_px, 1.0, 1.0) };
        let n = set.len.max(MIN_DENSITY) as f32;
        let radius = self.camera.radius * 0.6 / n.sqrt() * self.point_size;
        let min_px = 0.75 * pixels_per_point * self.point_size.min(1.0);
        let coloring = self.coloring(ctx.schema);
        let is_fresh = self.values_of == coloring.probe() && !self.values.is_empty();
        // Before the first activity there is no glow, so points have plain colours instead of a dark image.
        let (mode, base) = match coloring {
            Coloring::Class => (0, 1.0),
            Coloring::Field(_) | Coloring::Effect if is_fresh => (1, 1.0),
            Coloring::Glow(_) if is_fresh && self.has_glowed => (2, if ctx.tokens.dark { 0.42 } else { 0.4 }),
            _ => (0, 1.0),
        };
        let selection = ctx.selection.of(set.name);
        let rings = if selection.is_empty() { 0 } else { 1 + u32::from(selection.len() > MAX_RINGS) };
        let hovered = ctx.selection.hovered_in(set.name).map_or(0, |h| h + 1);
        let mut look = Look::new(&self.camera, size_px, radius, min_px);
        look.background = colors::rgba(ctx.tokens.canvas);
        look.background[3] = self.exposure;
        look.accent = colors::rgba(ctx.tokens.accent);
        let probe = coloring.probe().and_then(|p| ctx.schema.probes.get(usize::from(p)));
        let plain = if coloring == Coloring::Effect { self.effects.range } else { (0.0, 1.0) };
        let (low, high) = probe.map_or(plain, |p| ctx.color_scales.of(p.name).range.unwrap_or(self.data_range));
        look.range = [low, high, self.tau_ms, base];
        look.flags = [mode, rings, hovered, u32::from(ctx.tokens.dark)];
        look.shell = colors::rgba(ctx.tokens.text_sub);
        look.shell[3] = if self.has_shell(set) { SHELL } else { 0.0 };
        look
    }

    pub(super) fn paint(&mut self, ui: &Ui, canvas: Rect, set: &ElementSet, ctx: &ViewCtx<'_>) {
        let Some(state) = ctx.render_state else {
            ui.painter().rect_filled(canvas, 0.0, ctx.tokens.canvas);
            let how = "No graphics device: 3D view unavailable";
            let font = kit::small(ui);
            ui.painter().text(canvas.center(), egui::Align2::CENTER_CENTER, how, font, ctx.tokens.text_sub);
            return;
        };
        let look = self.look(pixels(ui, canvas), ui.pixels_per_point(), ctx);
        let scene = self.upload(state, set, ctx);
        if let Some(rest) = scene.lock().unwrap_or_else(PoisonError::into_inner).owed_in() {
            ui.ctx().request_repaint_after(rest.max(SOON));
        }
        ui.painter_at(canvas).add(egui_wgpu::Callback::new_paint_callback(canvas, Draw { scene, look }));
    }

    fn upload(&mut self, state: &egui_wgpu::RenderState, set: &ElementSet, ctx: &ViewCtx<'_>) -> Arc<Mutex<Scene>> {
        let probe = self.coloring(ctx.schema).probe().and_then(|p| ctx.schema.probes.get(usize::from(p)));
        let map = probe
            .map(|p| (ctx.color_scales.colormap(p), ctx.color_scales.of(p.name).range.is_some()))
            .unwrap_or_else(|| match self.coloring(ctx.schema) {
                Coloring::Effect => (COLORS, false),
                _ => Default::default(),
            });
        let in_motion = self.is_in_motion();
        let by_selection = self.by_selection();
        let column = by_selection.as_deref().or_else(|| set.column(&self.column));
        // While the selections are evaluated, all elements have the colour of elements without one.
        let pending = (self.column == BY_SELECTION).then(|| vec![ctx.tokens.other]);
        let colors = column.map(|c| self.category_colors(c, ctx.tokens)).or(pending);
        let categories = (self.set_generation, self.by_selection.generation);
        let Uploaded { scene, points, codes, palette, colormap, values, places, sizes } = &mut self.uploaded;
        let (device, queue) = (&state.device, &state.queue);
        let shared = scene.get_or_insert_with(|| Arc::new(Mutex::new(new_scene(state)))).clone();
        let mut scene = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if *points != self.set_generation {
            *points = self.set_generation;
            (*codes, *palette, *values, *places, *sizes) = (None, None, 0, 0, 0);
            match &set.positions {
                none if none.is_empty() => scene.set_points(device, &vec![[f32::NAN; 3]; set.len as usize]),
                positions => scene.set_points(device, positions),
            }
        }
        let placed = &self.placement;
        if in_motion && *places != placed.places_generation {
            *places = placed.places_generation;
            scene.move_points(&placed.places);
        }
        if *sizes != placed.sizes_generation {
            *sizes = placed.sizes_generation;
            match &placed.sizes {
                none if none.is_empty() => scene.set_sizes(queue, &vec![1.0; set.len as usize]),
                sizes => scene.set_sizes(queue, sizes),
            }
        }
        let shown = ctx.filter.shown();
        let key = (categories, self.column.clone(), ctx.selection.generation, shown.generation);
        if codes.as_ref() != Some(&key) {
            *codes = Some(key);
            let mut all = vec![0; set.len as usize];
            for (code, class) in all.iter_mut().zip(column.map_or(&[][..], |c| &c.codes)) {
                *code = selected(*class, false);
            }
            for element in ctx.selection.of(set.name) {
                if let Some(code) = all.get_mut(*element as usize) {
                    *code = selected(*code as u16, true);
                }
            }
            // Elements hidden by the filter get an extra category that is not drawn.
            let hidden_code = column.map_or(1, |c| c.labels.len()) as u16;
            for (code, _) in all.iter_mut().zip(shown.mask(set.name).unwrap_or(&[])).filter(|(_, shown)| !**shown) {
                *code = selected(hidden_code, false);
            }
            scene.set_codes(queue, &all);
        }
        let key = (categories, self.column.clone(), self.hidden_generation, ctx.tokens.dark);
        if palette.as_ref() != Some(&key) {
            *palette = Some(key);
            let hidden = self.hidden.get(&self.column);
            let colors = colors.unwrap_or_else(|| vec![ctx.tokens.categorical[0]]);
            let shown = |(code, color): (usize, &egui::Color32)| {
                let [r, g, b, _] = color.to_array();
                [r, g, b, if hidden.is_some_and(|h| h.contains(&(code as u16))) { 0 } else { 255 }]
            };
            let colors = colors.iter().enumerate().map(shown).chain([[0; 4]]);
            scene.set_palette(device, queue, &colors.collect::<Vec<_>>());
        }
        if *colormap != Some((map, ctx.tokens.dark)) {
            *colormap = Some((map, ctx.tokens.dark));
            let (map, is_fixed) = map;
            let table = if is_fixed { map.fixed_table(ctx.tokens) } else { map.table(ctx.tokens.dark) };
            scene.set_ramp(queue, &table);
        }
        if *values != self.values_generation && !self.values.is_empty() {
            *values = self.values_generation;
            scene.set_values(&self.values);
        }
        self.upload_shell_edges(&mut scene, device, set, ctx);
        drop(scene);
        shared
    }
}

/// Minimum delay of a repaint request for a pending image.
const SOON: Duration = Duration::from_millis(50);

/// Pause between two images on a software renderer.
const SOFTWARE_REST: Duration = Duration::from_millis(500);

fn new_scene(state: &egui_wgpu::RenderState) -> Scene {
    let mut scene = Scene::new(&state.device, state.target_format);
    match crate::view3d::is_software(&state.adapter) {
        true => scene.set_rest(SOFTWARE_REST),
        false => scene.set_glow_on_device(true),
    }
    scene
}
