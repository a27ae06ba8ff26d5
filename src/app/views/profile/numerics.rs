//! Comparison of this backend with the reference: all fields element by element, and the hash.

use crate::{
    app::{
        document::{command::UiCommand, layout::Page},
        kit::{self, icons},
        views::{View, ViewCtx, ViewDeclaration, ViewRequest},
    },
    engine::parity::{FieldParity, Parity, ULPS},
};
use egui::{Align, Layout, RichText, ScrollArea, Sense, Ui, UiBuilder, Vec2};

pub struct Numerics {
    steps: u64,
}

impl Default for Numerics {
    fn default() -> Self {
        Self { steps: 200 }
    }
}

impl Numerics {
    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        if let Some(progress) = &ctx.profile.comparison.progress {
            let (stage, fraction) = progress.now();
            ui.spinner();
            ui.label(RichText::new(format!("{stage} {:.0} %", fraction * 100.0)).small().color(ctx.tokens.text_sub));
            if ui.small_button("Cancel").clicked() {
                progress.cancel();
            }
            ui.ctx().request_repaint_after(std::time::Duration::from_millis(100));
            return;
        }
        let options = [20, 200, 2_000, 20_000].map(|n| (n, kit::counted(n, "steps")));
        kit::choice_ui(ui, ctx.tokens, "Steps", &mut self.steps, &options);
        let hint = "Builds the current project twice and runs both from step 0; the current run continues";
        if ui.small_button("Compare with CPU").on_hover_text(hint).clicked() {
            ctx.requests.push(ViewRequest::Command(UiCommand::Compare(self.steps)));
        }
    }
}

/// Describes the result of the comparison in one sentence.
fn verdict(parity: &Parity) -> String {
    let (reference, subject) = &parity.names;
    let steps = kit::counted(parity.steps, "steps");
    match (parity.is_exact(), parity.first) {
        (true, _) => format!("{subject} equals {reference} bit for bit over {steps}"),
        (false, Some(first)) => {
            format!("{subject} differs from {reference} by step {}", kit::thousands(first))
        }
        (false, None) => {
            format!("{subject} has the same events as {reference} over {steps}; fields differ by rounding")
        }
    }
}

fn parity_ui(ui: &mut Ui, parity: &Parity, ctx: &ViewCtx<'_>) {
    let t = ctx.tokens;
    let color = if parity.is_exact() || parity.first.is_none() { t.ok } else { t.warn };
    ui.label(RichText::new(verdict(parity)).color(color));
    let totals = |digest: &crate::sim::Digest| {
        digest
            .totals
            .iter()
            .map(|(name, n)| format!("{} {}", kit::thousands(*n), kit::spaced(name)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (a, b) = &parity.digests;
    let parts = if a == b { totals(a) } else { format!("{} against {}", totals(a), totals(b)) };
    ui.label(RichText::new(parts).small().color(t.text_sub));
    ui.add_space(4.0);
    let most = most_values(parity);
    egui::Grid::new("fields").num_columns(6).spacing([14.0, 3.0]).show(ui, |ui| {
        for (head, hint) in HEADS {
            ui.label(RichText::new(head).small().color(t.text_sub)).on_hover_text(hint);
        }
        let scale = format!("units in the last place, bars to {} values (log)", kit::thousands(most));
        let hint = "Values by distance: equal, 1, 2–4, more. All fields have one scale";
        ui.label(RichText::new(scale).small().color(t.text_sub)).on_hover_text(hint);
        ui.end_row();
        for field in &parity.fields {
            field_ui(ui, field, most, ctx);
            ui.end_row();
        }
    });
}

/// Returns the number of values of the largest field, at which a bar has its full height.
fn most_values(parity: &Parity) -> u64 {
    parity.fields.iter().map(|field| field.ulps.iter().sum()).max().unwrap_or(0)
}

/// Returns the height of a bar between 0 and 1 on a logarithmic scale that ends at `most` values.
fn bar_height(n: u64, most: u64) -> f32 {
    (n as f32 + 1.0).ln() / (most as f32 + 1.0).ln().max(1.0)
}

const HEADS: [(&str, &str); 4] = [
    ("field", "Field of the model"),
    ("max |d|", "Largest difference of a single value, at any compared step"),
    ("max rel", "Largest difference relative to the reference"),
    ("first", "First compared step with a difference"),
];

fn field_ui(ui: &mut Ui, field: &FieldParity, most: u64, ctx: &ViewCtx<'_>) {
    let t = ctx.tokens;
    let name = RichText::new(kit::spaced(field.name)).color(t.text);
    ui.label(name).on_hover_text(format!("largest difference at #{}", kit::thousands(field.element.into())));
    let mut figure = |text: String| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.label(RichText::new(text).font(kit::mono(ui)).color(t.text));
        });
    };
    figure(kit::with_unit(field.max_abs, field.unit));
    figure(kit::value(field.max_rel));
    figure(field.first.map_or_else(|| "never".to_owned(), kit::thousands));
    ulps_ui(ui, field, most, ctx);
}

/// Draws four bars on the logarithmic scale of all fields, so that one value among millions is visible.
fn ulps_ui(ui: &mut Ui, field: &FieldParity, most: u64, ctx: &ViewCtx<'_>) {
    let (rect, response) = ui.allocate_exact_size(Vec2::new(120.0, 16.0), Sense::hover());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Distances in units of the last place"));
    let colors = [ctx.tokens.ok, ctx.tokens.categorical[0], ctx.tokens.warn, ctx.tokens.error];
    for (i, (n, color)) in field.ulps.iter().zip(colors).enumerate() {
        let width = rect.width() / 4.0;
        let height = bar_height(*n, most) * rect.height();
        let left = rect.left() + i as f32 * width;
        let foot = egui::Rect::from_min_max(
            egui::pos2(left, rect.bottom() - 1.0),
            egui::pos2(left + width - 2.0, rect.bottom()),
        );
        ui.painter().rect_filled(foot, 0.0, ctx.tokens.line);
        let bar = egui::Rect::from_min_max(egui::pos2(left, rect.bottom() - height), foot.max);
        ui.painter().rect_filled(bar, 1.0, color);
    }
    let parts: Vec<String> =
        ULPS.iter().zip(&field.ulps).map(|(name, n)| format!("{name}: {}", kit::thousands(*n))).collect();
    response.on_hover_text(parts.join("\n"));
}

impl Numerics {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "numerics",
        title: "Numerics",
        icon: icons::GRID,
        help: "# Numerics\n\nBuilds the project twice, with its current parameters: on one CPU thread, the reference, and \
         on the current device (on the CPU: with all threads). Both take the same steps from step 0. The hash says \
         whether their events are the same (spikes, births); each field is compared element by element: largest difference, the \
         first step with a difference, and how many values are how many units of the last place apart (bars are logarithmic, on one scale for all fields).",
        pages: &[Page::Profile],
        fits: |schema| !schema.probes.is_empty(),
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Numerics {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let tokens = ctx.tokens;
        let caption = ctx.profile.comparison.done.as_ref().and_then(|d| d.as_ref().ok()).map(|p| {
            format!(
                "{} from step 0, compared every {}  |  reference: {}",
                kit::counted(p.steps, "steps"),
                p.every,
                p.names.0
            )
        });
        let canvas = kit::panel_ui(ui, tokens, caption.as_deref(), |ui| self.toolbar_ui(ui, ctx));
        let Some(done) = ctx.profile.comparison.done.clone() else {
            let how = "Runs the project on one CPU thread and compares step by step";
            let button = ctx.profile.comparison.progress.is_none().then_some("Compare");
            if kit::empty_ui(ui, canvas, ctx, "Not compared yet", how, button) {
                ctx.requests.push(ViewRequest::Command(UiCommand::Compare(self.steps)));
            }
            return;
        };
        ui.painter().rect_filled(canvas, 0.0, tokens.canvas);
        ui.scope_builder(UiBuilder::new().max_rect(canvas.shrink2(Vec2::new(10.0, 6.0))), |ui| {
            ScrollArea::both().auto_shrink(false).show(ui, |ui| match &done {
                Ok(parity) => parity_ui(ui, parity, ctx),
                Err(why) => {
                    ui.label(RichText::new(why).color(tokens.error));
                }
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_counts_have_equal_bars_in_fields_of_different_sizes() {
        let field = |name, ulps| FieldParity { name, ulps, ..FieldParity::default() };
        let fields = vec![field("v", [9, 1, 0, 0]), field("weights", [999_999, 1, 0, 0])];
        let parity = Parity { fields, ..Parity::default() };
        let most = most_values(&parity);
        assert_eq!(most, 1_000_000);
        let height = |field: usize, i: usize| bar_height(parity.fields[field].ulps[i], most);
        assert_eq!(height(0, 1), height(1, 1));
        assert!(height(0, 0) < 0.2 && height(1, 0) > 0.99 && height(0, 3) == 0.0);
    }
}
