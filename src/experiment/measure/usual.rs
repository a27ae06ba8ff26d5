//! Measure of an experiment that names none.

use super::parse;
use crate::{kinds::Model, project::experiment::Measure, sim::Shape};

/// Returns the last value of the result of a model, or the mean rate of its events. `None` if it has neither.
pub fn usual(model: &Model) -> Option<Measure> {
    let events = || model.probes().iter().find(|probe| matches!(probe.shape, Shape::Spikes { .. }));
    let text = match model.result_probe() {
        Some(probe) => format!("last {probe}"),
        None => format!("mean {}", events()?.name),
    };
    parse(&text).ok()
}
