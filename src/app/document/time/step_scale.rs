//! The quantity of a horizontal axis other than steps: wall time, or items that steps process.

use super::StepCurve;
use crate::{app::kit, sim::TimeBase};
use std::sync::Arc;

/// Quantity along which steps are drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum StepQuantity {
    /// Elapsed wall-clock time without pauses, seconds.
    WallTime,
    /// Number of processed items with this plural name: `tokens`.
    Items(Arc<str>),
}

/// Horizontal axis of another quantity than steps.
#[derive(Clone, Debug, PartialEq)]
pub struct StepScale {
    pub quantity: StepQuantity,
    /// The quantity by step.
    pub curve: Arc<StepCurve>,
}

impl StepScale {
    /// Returns the title of an axis from one amount to another, and the factor of its labels.
    pub fn title(&self, from: f64, to: f64) -> (String, f64) {
        match &self.quantity {
            StepQuantity::WallTime => {
                let unit = kit::TimeUnit::of(TimeBase::seconds(0.0), to, to - from);
                (format!("wall time ({})", unit.name), unit.scale)
            }
            StepQuantity::Items(name) => {
                let (scale, prefix) = kit::prefix(to.abs().max(from.abs()));
                (if prefix.is_empty() { (**name).to_owned() } else { format!("{prefix} {name}") }, scale)
            }
        }
    }

    /// Formats the amount at a step: `after 12 s`, `40,960 tokens`.
    pub fn text(&self, step: f64) -> String {
        let amount = self.curve.amount_at(step);
        match &self.quantity {
            StepQuantity::WallTime => format!("after {}", kit::duration(amount)),
            StepQuantity::Items(name) => kit::counted(amount.max(0.0).round() as u64, name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_named_with_their_unit() {
        let curve: Arc<StepCurve> = Arc::new([(0.0, 0.0), (100.0, 51_200.0)].into_iter().collect());
        let tokens = StepScale { quantity: StepQuantity::Items("tokens".into()), curve: curve.clone() };
        assert_eq!(tokens.text(80.0), "40,960 tokens");
        assert_eq!(tokens.title(0.0, 900.0), ("tokens".to_owned(), 1.0));
        assert_eq!(tokens.title(0.0, 2.5e6), ("M tokens".to_owned(), 1e-6));
        let wall = StepScale { quantity: StepQuantity::WallTime, curve };
        assert_eq!(
            (wall.text(1.0), wall.title(0.0, 60.0)),
            ("after 512 s".to_owned(), ("wall time (s)".to_owned(), 1.0))
        );
    }
}
