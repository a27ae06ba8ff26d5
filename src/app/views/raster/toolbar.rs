//! Toolbar of the raster.

use super::{
    Raster,
    count_colors::Scale,
    rows::{Order, Sort},
};
use crate::{
    app::{
        document::features::probes_where,
        kit,
        views::{View as _, ViewCtx, element, fields},
    },
    sim::{ElementSet, Shape},
};

/// Width of the controls in the overflow menu, points.
const REST: f32 = 330.0;

impl Raster {
    pub(super) fn toolbar_ui(&mut self, ui: &mut egui::Ui, ctx: &mut ViewCtx<'_>) {
        let Some(set) = self.set.clone() else { return };
        let before = self.arrange.order.clone();
        let mut columns: Vec<(String, String)> =
            set.columns.iter().map(|c| (c.name.clone(), kit::column(&c.name))).collect();
        columns.push((String::new(), "none".into()));
        self.events_ui(ui, ctx);
        if columns.len() > 1 && kit::choice_ui(ui, ctx.tokens, "Group by", &mut self.arrange.order.column, &columns) {
            self.arrange.order.collapsed.clear();
        }
        element::time_ui(ui, ctx, &mut self.link);
        ui.separator();
        kit::overflow_ui(ui, REST, |ui| self.rest_ui(ui, &set, ctx));
        if self.arrange.order != before {
            let Order { column, collapsed, .. } = &before;
            let refit = *column != self.arrange.order.column || *collapsed != self.arrange.order.collapsed;
            self.arrange.ask(refit);
        }
    }

    /// Draws a menu of the event streams, if there are several.
    fn events_ui(&mut self, ui: &mut egui::Ui, ctx: &ViewCtx<'_>) {
        let spikes = |s: &Shape| matches!(s, Shape::Spikes { .. });
        let all: Vec<_> = probes_where(ctx.schema, spikes).map(|(id, p)| (id, fields::label(p))).collect();
        let mut chosen = self.probe.unwrap_or_default();
        if all.len() > 1 && kit::choice_ui(ui, ctx.tokens, "Events", &mut chosen, &all) {
            self.probe = Some(chosen);
            self.reset(ctx.schema);
        }
    }

    fn rest_ui(&mut self, ui: &mut egui::Ui, set: &ElementSet, ctx: &mut ViewCtx<'_>) {
        kit::choice_ui(ui, ctx.tokens, "Sort", &mut self.arrange.order.sort, &Sort::options(set));
        let scales: Vec<_> = Scale::ALL.map(|s| (s, s.label().to_owned())).into();
        kit::choice_ui(ui, ctx.tokens, "Scale", &mut self.scale, &scales);
        let hint = format!("Rows only for {} with {} since the start of the run", set.noun(), self.noun);
        if ui.toggle_value(&mut self.is_active_only, "Active only").on_hover_text(hint).changed() {
            self.arrange.ask(true);
        }
        if ui.button("Fit").on_hover_text("All rows, newest second (double-click)").clicked() {
            self.fit(ctx);
        }
    }

    /// Resets the window to all rows and the newest data.
    pub(super) fn fit(&mut self, ctx: &mut ViewCtx<'_>) {
        (self.window.r0, self.window.r1) = (0.0, f64::from(self.rows.len().max(1)));
        self.link.line_mut(&mut ctx.time.axis).fit(ctx.clock.base);
    }
}
