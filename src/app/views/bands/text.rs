//! Texts of the distribution view: its caption, and the tooltip of a state.

use super::{
    Bands,
    draw::Chart,
    markers,
    summary::{MEDIAN, QUANTILES},
};
use crate::{
    app::{
        kit,
        views::{ViewCtx, hidden_text},
    },
    sim::{ElementSet, ProbeSpec},
};

impl Bands {
    pub(super) fn caption(&self, set: &ElementSet, ctx: &ViewCtx<'_>) -> String {
        let history = self.course.history();
        let n = self.course.front().map_or(0, |f| f.state.n);
        let mut text = format!("{} of {}", kit::thousands(n.into()), kit::counted(set.len.into(), &set.noun()));
        let steps = history.last().zip(history.entries().first()).map_or(0, |(last, (first, _))| last - first);
        let across = kit::steps(steps as f64, ctx.clock.base);
        text += &match history.entries().len() {
            1 => "  |  1 state".to_owned(),
            n => format!("  |  {} states of {across}", kit::thousands(n as u64)),
        };
        if history.every() > 1 {
            text += &format!(", 1 in {} kept", history.every());
        }
        text += &match self.is_heat_map {
            true => format!("  |  share per bin, colour maximum {} %", kit::reading(100.0 * self.image.most())),
            false => "  |  bands: 5 to 95 % and 25 to 75 %; lines: median, minimum, maximum".to_owned(),
        };
        text + &hidden_text(ctx.filter.shown().n_hidden(set))
    }

    /// Returns the tooltip: the quantiles of a state, and the values of the selected elements.
    pub(super) fn tooltip_text(
        &self,
        i: usize,
        (probe, set): (&ProbeSpec, &ElementSet),
        chart: &Chart<'_>,
        ctx: &ViewCtx<'_>,
    ) -> String {
        let (step, state) = &self.course.history().entries()[i];
        let secs = *step as f64 * ctx.clock.base.per_step();
        let time = chart.line.unit(ctx.clock).text(secs, ctx.clock.base.per_step());
        let mut text = format!("{time}\n{}", kit::counted(state.n.into(), &set.noun()));
        for (i, value) in state.quantiles.iter().enumerate().rev() {
            let name = match i {
                0 => markers::NAMES[0].to_owned(),
                MEDIAN => markers::NAMES[1].to_owned(),
                i if i == QUANTILES.len() - 1 => markers::NAMES[2].to_owned(),
                i => format!("{:.0} %", 100.0 * QUANTILES[i]),
            };
            text += &format!("\n{name}  {}", kit::with_unit(f64::from(*value), probe.unit));
        }
        for (i, element) in self.history_lines.elements().iter().enumerate() {
            if let Some(value) = self.history_lines.at(i, *step as f64) {
                text += &format!("\n{}  {}", set.label(*element), kit::with_unit(value.into(), probe.unit));
            }
        }
        text
    }
}
