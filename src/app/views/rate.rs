//! Definition of rates in all views: events per second and displayed element, including silent elements.

use crate::{
    app::kit::{self, text},
    sim::{ElementSet, TimeBase},
};

/// Computes the rate of `n_events` events of `n_elements` elements in `steps` steps: events per element and second. If steps have
/// no duration, the rate is the number of events per step of all elements together.
pub fn rate(n_events: f64, n_elements: u32, steps: f64, base: TimeBase) -> f64 {
    match base {
        TimeBase::Seconds { per_step } => {
            n_events / (f64::from(n_elements.max(1)) * steps * per_step).max(f64::MIN_POSITIVE)
        }
        TimeBase::Count { .. } => n_events / steps.max(f64::MIN_POSITIVE),
    }
}

/// Returns the unit of a rate without its elements: `Hz`; empty if steps have no duration.
pub fn short_unit(base: TimeBase) -> &'static str {
    if base.is_count() { "" } else { "Hz" }
}

/// Returns the unit of a rate: `Hz per neuron`, or `per generation`.
pub fn unit(set: &ElementSet, base: TimeBase) -> String {
    unit_over(&set.noun(), base)
}

/// Returns the unit of a rate of elements with this plural noun.
pub fn unit_over(noun: &str, base: TimeBase) -> String {
    match base {
        TimeBase::Seconds { .. } => format!("Hz per {}", text::singular(&kit::spaced(noun))),
        TimeBase::Count { .. } => format!("per {}", base.singular()),
    }
}

/// Returns the unit of a rate for an axis, with the number of elements if the rate is per element: `Hz per neuron, n = 408`.
pub fn unit_of(set: &ElementSet, n_elements: u32, base: TimeBase) -> String {
    match base {
        TimeBase::Seconds { .. } => format!("{}, n = {}", unit(set, base), kit::thousands(n_elements.into())),
        TimeBase::Count { .. } => unit(set, base),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_elements_count_and_the_unit_names_their_number() {
        let neurons = ElementSet { name: "neurons", len: 408, ..ElementSet::default() };
        let (seconds, counts) = (TimeBase::seconds(1e-4), TimeBase::count("generation", "generations"));
        assert!((rate(408.0, 408, 1_000.0, seconds) - 10.0).abs() < 1e-9);
        assert_eq!(rate(30.0, 408, 10.0, counts), 3.0, "events of all elements per step");
        assert_eq!(rate(0.0, 0, 0.0, seconds), 0.0);
        assert_eq!(unit_of(&neurons, 408, seconds), "Hz per neuron, n = 408");
        assert_eq!(unit_of(&neurons, 408, counts), "per generation");
    }
}
