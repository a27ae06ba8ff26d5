//! Mean of the trials in place of the shown trial, with a band of one standard deviation.

use super::super::samples::{Extent, Samples};
use crate::{
    app::document::features::tap,
    engine::SimSchema,
    sim::{Frame, ProbeId, Reading, Tap, TapKey, TrialChoice, TrialStatistic},
};
use egui::{Color32, Mesh, Painter, RichText, Ui, pos2};
use std::collections::BTreeMap;

/// Opacity of the band.
const BAND: f32 = 0.22;
/// Name of the choice in project files.
const NAME: &str = "trials";
const MEAN: &str = "mean";

/// Choice of the mean, and the standard deviations of its samples.
#[derive(Default)]
pub(super) struct TrialMean {
    is_chosen: bool,
    deviations: BTreeMap<ProbeId, Samples>,
}

impl TrialMean {
    /// Whether the mean is shown: it is chosen, and there are several trials.
    pub(super) fn is_shown(&self, schema: &SimSchema) -> bool {
        self.is_chosen && schema.trials > 1
    }

    /// Draws the switch if there are several trials. Returns whether it was switched, after which the curves start over.
    pub(super) fn toggle_ui(&mut self, ui: &mut Ui, schema: &SimSchema) -> bool {
        if schema.trials < 2 {
            return false;
        }
        let hint = "Mean of all trials with a band of one sample standard deviation (n - 1); off: the shown trial. The \
                    curves start over";
        ui.toggle_value(&mut self.is_chosen, RichText::new("Mean of trials").small()).on_hover_text(hint).changed()
    }

    /// Returns the taps of a shown series.
    pub(super) fn taps(&self, schema: &SimSchema, probe: ProbeId) -> Vec<Tap> {
        let of = |statistic| Tap { trial: TrialChoice::Statistic(statistic), ..tap(probe) };
        match self.is_shown(schema) {
            true => vec![of(TrialStatistic::Mean), of(TrialStatistic::Sd)],
            false => vec![tap(probe)],
        }
    }

    /// Returns the key of the readings that a curve shows.
    pub(super) fn key(&self, schema: &SimSchema, probe: ProbeId) -> TapKey {
        match self.is_shown(schema) {
            true => key(probe, TrialStatistic::Mean),
            false => probe.into(),
        }
    }

    /// Takes the standard deviations of a frame.
    pub(super) fn absorb(&mut self, frame: &Frame, probe: ProbeId) {
        if let Some(Reading::Series(series)) = frame.reading(key(probe, TrialStatistic::Sd)) {
            self.deviations.entry(probe).or_default().push(series.lanes as usize, &series.steps, &series.values);
        }
    }

    pub(super) fn clear(&mut self) {
        self.deviations.clear();
    }

    /// Returns the standard deviations of a series; `None` if the shown trial is drawn.
    pub(super) fn deviations(&self, schema: &SimSchema, probe: ProbeId) -> Option<&Samples> {
        self.deviations.get(&probe).filter(|_| self.is_shown(schema))
    }

    /// Returns the name of a curve in an exported table.
    pub(super) fn named(&self, schema: &SimSchema, name: &str) -> String {
        if self.is_shown(schema) { format!("{name}, mean of {} trials", schema.trials) } else { name.to_owned() }
    }

    /// Returns the part of the caption.
    pub(super) fn caption(&self, schema: &SimSchema) -> String {
        if self.is_shown(schema) { format!("  |  mean of {} trials ± SD", schema.trials) } else { String::new() }
    }

    pub(super) fn to_part(&self) -> Option<String> {
        self.is_chosen.then(|| format!("{NAME}={MEAN}"))
    }

    pub(super) fn read_part(&mut self, name: &str, value: &str) {
        self.is_chosen |= name == NAME && value == MEAN;
    }
}

fn key(probe: ProbeId, statistic: TrialStatistic) -> TapKey {
    TapKey { trial: TrialChoice::Statistic(statistic), ..probe.into() }
}

/// Returns the band around means: lowest mean - SD and highest mean + SD of each pixel column.
pub(super) fn band(means: &[Extent], deviations: &[Extent]) -> Vec<Extent> {
    let mut band = vec![];
    let mut rest = deviations.iter().peekable();
    for mean in means {
        while rest.next_if(|deviation| deviation.column < mean.column).is_some() {}
        if let Some(deviation) = rest.peek().filter(|deviation| deviation.column == mean.column) {
            band.push(Extent { min: mean.min - deviation.max, max: mean.max + deviation.max, ..*mean });
        }
    }
    band
}

/// Draws a band as an area, interrupted at gaps.
pub(super) fn paint_band(
    painter: &Painter,
    band: &[Extent],
    x: impl Fn(f32) -> f32,
    y: impl Fn(f32) -> f32,
    color: Color32,
) {
    let mut mesh = Mesh::default();
    let color = color.gamma_multiply(BAND);
    for (i, column) in band.iter().enumerate() {
        let at = mesh.vertices.len() as u32;
        mesh.colored_vertex(pos2(x(column.column), y(column.min)), color);
        mesh.colored_vertex(pos2(x(column.column), y(column.max)), color);
        if i > 0 && !column.gap {
            mesh.add_triangle(at - 2, at - 1, at);
            mesh.add_triangle(at - 1, at, at + 1);
        }
    }
    painter.add(mesh);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_band_surrounds_the_columns_of_both_statistics() {
        let extent = |column: f32, min: f32, max: f32| Extent { column, min, max, gap: false };
        let means = [extent(0.0, 1.0, 2.0), extent(1.0, 4.0, 4.0), extent(2.0, 5.0, 5.0)];
        let deviations = [extent(0.0, 0.25, 0.5), extent(2.0, 1.0, 1.0)];
        assert_eq!(band(&means, &deviations), [extent(0.0, 0.5, 2.5), extent(2.0, 4.0, 6.0)]);
    }
}
