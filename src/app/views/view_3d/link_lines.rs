//! Lines between elements that a `Links` probe connects, coloured by value.

use super::{View3d, shell_edges::Edges};
use crate::{
    app::{
        kit::{self, color_scale::ColorScale, colors},
        views::{ViewCtx, links},
    },
    engine::SimSchema,
    sim::{ElementSet, Frame, Link, ProbeId, ProbeSpec, Reading, Shape},
    view3d::{End, Scene},
};
use egui_wgpu::wgpu;
use std::sync::Arc;

/// Minimum number of pixels of the image per line.
const PIXELS_PER_LINE: f32 = 120.0;

/// Inputs of the lines: generations of links, positions and set, dark theme, maximum number of lines, fixed range.
type LinkLinesKey = (u64, u64, u64, bool, usize, Option<(f32, f32)>);

/// The latest links, and the key and number of the lines on the device.
#[derive(Default)]
pub(super) struct LinkLines {
    links: Arc<Vec<Link>>,
    generation: u64,
    sent: Option<LinkLinesKey>,
    n_drawn: usize,
}

/// Returns the probes of links among the elements of a set.
pub(super) fn probes<'a>(schema: &'a SimSchema, set: &ElementSet) -> Vec<(ProbeId, &'a ProbeSpec)> {
    let name = set.name;
    let is_own = |s: &Shape| matches!(s, Shape::Links { from, to } if *from == name && *to == name);
    crate::app::document::features::probes_where(schema, is_own).collect()
}

impl View3d {
    /// Returns the probe of the chosen links; `None` if no links are chosen.
    pub(super) fn link_probe(&self) -> Option<ProbeId> {
        if let Edges::Links(probe) = self.shell_edges.edges { Some(probe) } else { None }
    }

    pub(super) fn follow_links(&mut self, schema: &SimSchema, frame: &Frame) {
        let Some(id) = self.link_probe() else { return };
        let key = schema.tap(id, &crate::sim::TapArgs::NONE).key();
        if let Some(Reading::Links(links)) = frame.reading(key) {
            self.link_lines.links = links.clone();
            self.link_lines.generation += 1;
        }
    }

    /// Removes the links, because those of another probe or simulation are not shown.
    pub(super) fn clear_links(&mut self) {
        self.link_lines.links = Arc::default();
        self.link_lines.generation += 1;
    }

    pub(super) fn links_caption(&self) -> String {
        let (n, drawn) = (self.link_lines.links.len() as u64, self.link_lines.n_drawn as u64);
        if drawn < n {
            return format!("the {} strongest of {}", kit::thousands(drawn), kit::counted(n, "links"));
        }
        kit::counted(n, "links")
    }

    /// Uploads the lines if links, positions or colours have changed.
    pub(super) fn upload_links(
        &mut self,
        scene: &mut Scene,
        device: &wgpu::Device,
        probe: ProbeId,
        set: &ElementSet,
        ctx: &ViewCtx<'_>,
    ) {
        let Some(spec) = ctx.schema.probes.get(usize::from(probe)) else { return };
        let size_px = self.viewport.size_px;
        let most = (size_px.x * size_px.y / PIXELS_PER_LINE) as usize;
        let fixed = ctx.color_scales.of(spec.name).range;
        let lines = &self.link_lines;
        let key =
            (lines.generation, self.placement.places_generation, self.set_generation, ctx.tokens.dark, most, fixed);
        if lines.sent == Some(key) {
            return;
        }
        let links = links::strongest(&lines.links, most.min(links::MAX_SORTED));
        let scale = ColorScale::new(links::scale_colors(&links), false, links::range(&links), fixed, ctx.tokens);
        let places = self.places(set);
        let end = |element: u32, color: [u8; 4]| {
            let position = places.get(element as usize).copied().filter(|p| p.iter().all(|x| x.is_finite()))?;
            Some(End { position, color })
        };
        let line = |link: &Link| {
            let color = colors::rgba(scale.color(link.weight)).map(|c| (c * 255.0) as u8);
            let color = [color[0], color[1], color[2], 215];
            Some([end(link.from, color)?, end(link.to, color)?])
        };
        // The strongest links are drawn last, over the others.
        let ends: Vec<End> = links.iter().rev().filter_map(line).flatten().collect();
        scene.set_lines(device, &ends);
        (self.link_lines.sent, self.link_lines.n_drawn) = (Some(key), ends.len() / 2);
    }

    /// Marks the lines on the device as out of date. Returns whether there were any.
    pub(super) fn drop_link_lines(&mut self) -> bool {
        self.link_lines.n_drawn = 0;
        self.link_lines.sent.take().is_some()
    }
}
