//! Texts of the lanes view: caption and tooltip.

use super::{Lanes, grid::Balance};
use crate::{
    app::{document::time::Timeline, kit, views::ViewCtx},
    sim::ProbeSpec,
};

impl Lanes {
    pub(super) fn caption(&self, ctx: &ViewCtx<'_>) -> String {
        let visible = &self.visible;
        let line = self.link.line(&ctx.time.axis);
        let across = kit::steps(line.span, ctx.clock.base);
        let probe = self.probe(ctx.schema);
        let id = probe.map(|(id, _)| usize::from(id));
        let mean = if probe.is_some_and(|(_, p)| p.is_angle()) { "circular mean" } else { "mean" };
        let n = id.and_then(|id| ctx.schema.lanes.get(id)).map_or(0, Vec::len);
        let (rows, samples) = (kit::counted(n as u64, "rows"), kit::counted(visible.grid.n as u64, "samples"));
        let mut text = format!("{rows}  |  window {across}  |  {samples}, {mean} per column");
        if let Some(Balance { evenness, imbalance, silent }) = visible.balance {
            text += &format!("  |  evenness {evenness:.2}  |  imbalance {imbalance:.1}");
            text += &format!("  |  {silent} of {n} silent in view");
        }
        let dropped =
            self.probe(ctx.schema).and_then(|(id, _)| self.series.get(&id)).map_or(0, |r| r.samples.dropped());
        if dropped > 0 {
            text += &format!("  |  oldest {} dropped from memory", kit::thousands(dropped));
        }
        text
    }

    /// Returns the tooltip of a lane at a step: its value, and its share of all lanes.
    pub(super) fn tooltip_text(
        &self,
        lane: usize,
        step: f64,
        (probe, lanes): (&ProbeSpec, &[String]),
        line: &Timeline,
        ctx: &ViewCtx<'_>,
    ) -> String {
        let visible = &self.visible;
        let time = line.unit(ctx.clock).text(step * ctx.clock.base.per_step(), ctx.clock.base.per_step());
        let mut text = format!("{}\n{time}", lanes.get(lane).map_or("", String::as_str));
        let columns = visible.grid.cut.columns;
        let column = visible.grid.cut.column(step);
        let value = column.map(|c| visible.grid.means[lane * columns + c]).filter(|v| v.is_finite());
        text += &match value {
            Some(value) => format!("\n{}", kit::with_unit(f64::from(value), probe.unit)),
            None => "\nno sample".to_owned(),
        };
        if let (Some(value), Some(column), true) = (value, column, visible.is_positive) {
            let all =
                (0..visible.grid.rows).map(|l| visible.grid.means[l * columns + column]).filter(|v| v.is_finite());
            let sum: f32 = all.sum();
            if sum > 0.0 {
                text += &format!("\n{:.1} % of this column", 100.0 * value / sum);
            }
        }
        text
    }
}
