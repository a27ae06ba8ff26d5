//! Toolbar of the 3D view: colours, positions and camera.

use super::{Coloring, View3d, by_selection::BY_SELECTION};
use crate::{
    app::{kit, views::ViewCtx},
    engine::SimSchema,
    view3d::Preset,
};
use egui::{DragValue, Ui};

/// Minimum width of the toolbar without an overflow menu, points.
const REST: f32 = 620.0;
/// Width of [`View3d::place_ui`], points.
const PLACE: f32 = 420.0;
/// Minimum width at which the legend is open by default, points.
const LEGEND_FROM: f32 = 380.0;

impl View3d {
    pub(super) fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let (Some(set), tokens) = (self.set.clone(), ctx.tokens) else { return };
        let mut chosen = self.coloring(ctx.schema);
        let options = self.options(ctx.schema);
        if kit::choice_ui(ui, tokens, "Colour", &mut chosen, &options) {
            self.coloring = Some(chosen);
        }
        if !matches!(chosen, Coloring::Field(_) | Coloring::Effect) {
            let mut columns: Vec<_> = set.columns.iter().map(|c| (c.name.clone(), kit::column(&c.name))).collect();
            if !ctx.features.named_over(ctx.schema, set.name).is_empty() {
                columns.push((BY_SELECTION.to_owned(), "Selection".to_owned()));
            }
            if kit::choice_ui(ui, tokens, "By", &mut self.column, &columns) {
                self.hidden_generation += 1;
            }
        }
        if let Coloring::Field(probe) = chosen {
            ctx.color_scales.choice_ui(ui, tokens, &ctx.schema.probes[usize::from(probe)], self.data_range);
        }
        ui.separator();
        let mut is_legend_open = self.is_legend_open(ui.max_rect().width(), ctx.schema);
        if self.category(&set).is_some()
            && ui
                .toggle_value(&mut is_legend_open, "Legend")
                .on_hover_text("Categories and their counts; click to hide or show")
                .changed()
        {
            self.legend_choice = Some(is_legend_open);
        }
        if ui.button("Fit").on_hover_text("Fit everything into the view (double-click on empty space)").clicked() {
            self.viewport.fit(&mut self.camera);
        }
        // A narrow toolbar has only one menu, because a second button would be cut off.
        let is_narrow = ui.available_width() < REST;
        kit::overflow_ui(ui, REST, |ui| {
            self.shell_edges_ui(ui, ctx, &set);
            self.camera_ui(ui, matches!(chosen, Coloring::Glow(_)));
            self.saved_views_ui(ui, ctx);
            if is_narrow {
                ui.separator();
                self.place_ui(ui, ctx, &set);
            }
        });
        if !is_narrow {
            kit::overflow_as_ui(ui, PLACE, ("Positions", "Positions and sizes"), |ui| self.place_ui(ui, ctx, &set));
        }
    }

    /// Whether the legend is open: the user's choice, otherwise whether colours are categories and the panel is wide enough.
    pub(super) fn is_legend_open(&self, width: f32, schema: &SimSchema) -> bool {
        let is_field = matches!(self.coloring(schema), Coloring::Field(_) | Coloring::Effect);
        self.legend_choice.unwrap_or(width >= LEGEND_FROM && !is_field)
    }

    /// Draws the controls of camera presets, projection, point size and glow.
    fn camera_ui(&mut self, ui: &mut Ui, glows: bool) {
        for (i, preset) in Preset::ALL.into_iter().enumerate() {
            let hint = format!("View from the {} ({})", preset.label().to_lowercase(), i + 1);
            if ui.button(preset.label()).on_hover_text(hint).clicked() {
                self.view_from(preset);
            }
        }
        ui.toggle_value(&mut self.camera.orthographic, "Ortho")
            .on_hover_text("Orthographic projection: the scale bar is exact at every depth");
        let size = DragValue::new(&mut self.point_size).range(0.2..=8.0).speed(0.02).prefix("size ").fixed_decimals(1);
        ui.add(size).on_hover_text("Size of the points");
        if glows {
            let drag = DragValue::new(&mut self.tau_ms).range(2.0..=2000.0).speed(1.0).prefix("τ ").suffix(" ms");
            ui.add(drag).on_hover_text("Decay time of the glow after activity, in simulated time");
        }
    }
}
