//! Estimate of the cost of a rebuild.

use crate::{
    app::{document::live::Live, kit::text},
    project::Project,
    sim::DeviceKind,
};
use std::time::Duration;

/// Estimates the cost of a rebuild from the last build and the declarations: `138,639 neurons, about 1.2 s, 410 MB`.
pub fn cost(live: &Live, project: &Project, on: DeviceKind) -> String {
    let bytes = |project: &Project| project.model.predict_trials(on, project.run.trials).total();
    let (wanted, built) = (bytes(project), live.built_project().map_or(0, bytes));
    let mut parts = vec![];
    if wanted == built
        && let Some(set) = live.schema.sets.iter().max_by_key(|s| s.len)
    {
        parts.push(text::counted(set.len.into(), &set.noun()));
    }
    if let Some(last) = live.build_time {
        parts.push(format!("about {}", seconds(last, wanted, built)));
    }
    if wanted > 0 {
        parts.push(text::bytes(wanted));
    }
    parts.join(", ")
}

/// Formats the time of the last build, scaled by the ratio of the predicted memory if both are known.
fn seconds(last: Duration, wanted: u64, built: u64) -> String {
    let ratio = if wanted > 0 && built > 0 { wanted as f64 / built as f64 } else { 1.0 };
    match last.as_secs_f64() * ratio {
        s if s < 0.95 => format!("{:.1} s", s.max(0.1)),
        s if s < 60.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_follows_the_size() {
        let two = Duration::from_secs(2);
        assert_eq!(seconds(two, 0, 0), "2 s");
        assert_eq!(seconds(two, 300, 100), "6 s");
        assert_eq!(seconds(two, 10, 100), "0.2 s");
        assert_eq!(seconds(Duration::from_micros(1), 1, 1), "0.1 s");
        assert_eq!(seconds(two, 6000, 100), "2 min");
    }
}
