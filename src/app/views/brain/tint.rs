//! How the values of each field become colours: remembered by the field's name.

use super::Brain;
use crate::{
    app::{
        theme::Tokens,
        views::colors::{self, Ramp, Shade},
    },
    sim::ProbeSpec,
};

/// How the values of a field become colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tint {
    /// As chosen; else what fits the field.
    pub ramp: Option<Ramp>,
    /// The range follows the data.
    pub is_auto: bool,
    /// Values of the ends of the colour map.
    pub range: (f32, f32),
}

impl Default for Tint {
    fn default() -> Self {
        Self { ramp: None, is_auto: true, range: (0.0, 1.0) }
    }
}

impl Brain {
    pub(super) fn tint(&self, probe: &ProbeSpec) -> Tint {
        self.tints.get(probe.name).copied().unwrap_or_default()
    }

    pub(super) fn tint_mut(&mut self, probe: &ProbeSpec) -> &mut Tint {
        self.tints.entry(probe.name).or_default()
    }

    /// The colour map of a field: as chosen, else what fits it.
    pub(super) fn ramp_of(&self, probe: &ProbeSpec) -> Ramp {
        self.tint(probe).ramp.unwrap_or_else(|| Ramp::of(probe))
    }

    /// How the values of the field become colours.
    pub(super) fn shade(&self, probe: &ProbeSpec, tokens: &Tokens) -> Shade {
        let Tint { is_auto, range, .. } = self.tint(probe);
        match is_auto {
            true => Shade::following(self.ramp_of(probe), range, tokens),
            false => Shade::fixed(self.ramp_of(probe), range, &self.values, tokens),
        }
    }

    /// Sets the range from the data, when it is automatic.
    pub(super) fn take_range(&mut self, probe: &ProbeSpec) {
        if self.tint(probe).is_auto {
            self.tint_mut(probe).range = colors::range_of(probe, &self.values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Meaning, Shape};

    #[test]
    fn every_field_has_its_own_range() {
        let shape = Shape::Field { over: "cells", range: (0.0, 1.0), meaning: Meaning::Number };
        let [rate, v] = ["rate", "v"].map(|name| ProbeSpec { name, docs: "", unit: "", shape });
        let mut brain = Brain { values: vec![0.0, 5.0, 10.0], ..Brain::default() };
        brain.take_range(&rate);
        assert_eq!(brain.tint(&rate).range, (0.0, 10.0));
        *brain.tint_mut(&rate) = Tint { is_auto: false, range: (2.0, 4.0), ..Tint::default() };
        brain.take_range(&rate);
        brain.take_range(&v);
        assert_eq!((brain.tint(&rate).range, brain.tint(&v).range), ((2.0, 4.0), (0.0, 10.0)));
    }
}
