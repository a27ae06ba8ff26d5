//! Memory by owner: allocated bytes, and those predicted before the build.

use crate::{
    app::{
        document::layout::Page,
        kit::{self, colors, icons, text},
        views::{View, ViewCtx, ViewDeclaration},
    },
    gpu::Place,
    sim::MemoryReport,
};
use egui::{Align2, Color32, Rect, RichText, ScrollArea, Sense, Ui, UiBuilder, Vec2, pos2};

/// Height of a row, points.
const ROW: f32 = 20.0;
/// Width of the allocated bytes after a bar, points.
const FIGURES: f32 = 78.0;
/// Maximum number of owners named in the caption.
const LARGEST: usize = 3;

/// The memory panel.
#[derive(Default)]
pub struct Memory;

/// An owner with its allocated and predicted bytes.
#[derive(Clone, Debug, PartialEq)]
struct Owner {
    name: &'static str,
    held: u64,
    predicted: Option<u64>,
}

/// Maximum number of buffers named in a tooltip.
const NAMED: usize = 12;

/// Returns the owners, largest first. Predicted owners without allocations are included.
fn owners(held: &MemoryReport, predicted: &MemoryReport) -> Vec<Owner> {
    let (held, predicted) = (held.by_owner(), predicted.by_owner());
    let of = |name: &str, list: &[(&'static str, u64)]| list.iter().find(|(n, _)| *n == name).map(|(_, b)| *b);
    let mut owners: Vec<Owner> = vec![];
    for (name, _) in held.iter().chain(&predicted) {
        if owners.iter().all(|o| o.name != *name) {
            owners.push(Owner { name, held: of(name, &held).unwrap_or(0), predicted: of(name, &predicted) });
        }
    }
    owners.sort_by_key(|o| std::cmp::Reverse(o.held.max(o.predicted.unwrap_or(0))));
    owners
}

fn caption(owners: &[Owner], ctx: &ViewCtx<'_>) -> String {
    let held: u64 = owners.iter().map(|o| o.held).sum();
    let machine = &ctx.profile.machine;
    let mut parts = vec![match machine.total {
        0 => format!("allocated {}", text::bytes(held)),
        all => format!("allocated {} of {}", text::bytes(held), text::bytes(all)),
    }];
    let predicted = machine.predicted.total();
    if predicted > 0 {
        let off = held as f64 / predicted as f64 - 1.0;
        parts.push(format!("predicted {} ({})", text::bytes(predicted), super::figures::percent_signed(off)));
    }
    let largest: Vec<&str> = owners.iter().filter(|o| o.held > 0).take(LARGEST).map(|o| o.name).collect();
    parts.push(format!("largest: {}", largest.join(", ")));
    parts.join("  |  ")
}

/// Returns the width of the names in rows of a width: that of the longest name, if the bars keep a third of the row.
fn names_width(ui: &Ui, owners: &[Owner], row: f32) -> f32 {
    let font = kit::small(ui);
    let width = |owner: &Owner| ui.painter().layout_no_wrap(owner.name.into(), font.clone(), Color32::WHITE).size().x;
    let widest = owners.iter().map(width).fold(0.0, f32::max) + 8.0;
    widest.clamp(60.0, (row * 2.0 / 3.0 - FIGURES).max(60.0))
}

fn row_ui(ui: &mut Ui, at: usize, owner: &Owner, (most, names): (u64, f32), ctx: &ViewCtx<'_>) {
    let (rect, response) = ui.allocate_exact_size(Vec2::new(ui.available_width(), ROW), Sense::hover());
    let (painter, t) = (ui.painter(), ctx.tokens);
    if response.hovered() {
        painter.rect_filled(rect, 0.0, t.hover);
    }
    let track = Rect::from_min_max(
        pos2(rect.left() + names, rect.top() + 5.0),
        pos2((rect.right() - FIGURES).max(rect.left() + names + 4.0), rect.bottom() - 5.0),
    );
    let name = kit::elide(painter, owner.name, &kit::small(ui), names - 8.0);
    let color = if at < LARGEST { t.text_strong } else { t.text };
    painter.text(rect.left_center(), Align2::LEFT_CENTER, name, kit::small(ui), color);
    let width = |bytes: u64| track.width() * (bytes as f64 / most.max(1) as f64) as f32;
    painter.rect_filled(track, 2.0, t.hover);
    let bar = Rect::from_min_size(track.min, Vec2::new(width(owner.held).max(1.0), track.height()));
    painter.rect_filled(bar, 2.0, colors::categorical(at.min(6), t));
    if let Some(predicted) = owner.predicted {
        let x = track.left() + width(predicted);
        painter.vline(x, track.expand2(Vec2::new(0.0, 3.0)).y_range(), (1.5, t.text_strong));
    }
    painter.text(rect.right_center(), Align2::RIGHT_CENTER, text::bytes(owner.held), kit::mono(ui), t.text);
    response.on_hover_ui_at_pointer(|ui| {
        ui.label(RichText::new(owner.name).strong());
        ui.label(format!("allocated {} B", kit::thousands(owner.held)));
        match owner.predicted {
            Some(predicted) => ui.label(format!("predicted {} B (tick mark)", kit::thousands(predicted))),
            None => ui.label("not predicted"),
        };
        buffers_ui(ui, &ctx.schema.memory, owner.name);
    });
}

/// Draws the largest buffers of an owner that has several.
fn buffers_ui(ui: &mut Ui, report: &MemoryReport, owner: &str) {
    let buffers = report.of(owner);
    if buffers.len() < 2 {
        return;
    }
    egui::Grid::new("buffers of an owner").num_columns(3).spacing([12.0, 1.0]).show(ui, |ui| {
        for held in buffers.iter().take(NAMED) {
            ui.label(held.name);
            ui.label(RichText::new(text::bytes(held.bytes)).monospace());
            ui.label(match held.place {
                Place::Device => "",
                Place::Pinned => "page-locked",
                Place::Host => "host",
            });
            ui.end_row();
        }
    });
    if buffers.len() > NAMED {
        ui.label(format!("and {} more", buffers.len() - NAMED));
    }
}

impl Memory {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "memory",
        title: "Memory",
        icon: icons::GRID,
        help: "# Memory\n\nMemory of the simulation by owner, largest first; a tooltip lists the buffers of an owner. The \
         tick mark is the prediction made before the build; \
         a prediction that is far off is worth a bug report. On a GPU the total is compared with the memory of the \
         device.",
        pages: &[Page::Profile],
        fits: |schema| !schema.probes.is_empty(),
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Memory {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let owners = owners(&ctx.schema.memory, &ctx.profile.machine.predicted);
        let held: u64 = owners.iter().map(|o| o.held).sum();
        let (tokens, caption) = (ctx.tokens, caption(&owners, ctx));
        let caption = (held > 0).then_some(caption);
        let canvas = kit::panel_ui(ui, tokens, caption.as_deref(), |ui| {
            let device = if ctx.profile.machine.device.is_empty() { "memory" } else { &ctx.profile.machine.device };
            ui.label(RichText::new(device).small().color(tokens.text_sub));
            ui.label(RichText::new(text::bytes(held)).font(kit::mono(ui)).color(tokens.text_strong));
        });
        if held == 0 {
            let how = "Memory is listed once the simulation is built";
            kit::empty_ui(ui, canvas, ctx, "No memory allocated", how, None);
            return;
        }
        ui.painter().rect_filled(canvas, 0.0, tokens.canvas);
        let most = owners.iter().map(|o| o.held.max(o.predicted.unwrap_or(0))).max().unwrap_or(1);
        // Only whole rows are drawn.
        let area = canvas.shrink2(Vec2::new(10.0, 4.0));
        let area = area.with_max_y(area.top() + (area.height() / (ROW + 1.0)).floor().max(1.0) * (ROW + 1.0));
        ui.scope_builder(UiBuilder::new().max_rect(area), |ui| {
            ui.set_clip_rect(area.intersect(ui.clip_rect()));
            ui.spacing_mut().item_spacing.y = 1.0;
            ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                let names = names_width(ui, &owners, ui.available_width());
                owners.iter().enumerate().for_each(|(at, owner)| row_ui(ui, at, owner, (most, names), ctx));
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_listed_once_and_largest_first() {
        let list = owners(&[("a", 5), ("b", 9), ("a", 2)].into(), &[("b", 8), ("c", 8)].into());
        let parts: Vec<_> = list.iter().map(|o| (o.name, o.held, o.predicted)).collect();
        assert_eq!(parts, [("b", 9, Some(8)), ("c", 0, Some(8)), ("a", 7, None)]);
    }
}
