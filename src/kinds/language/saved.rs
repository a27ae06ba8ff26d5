//! Saved state, in which each parameter tensor and each of its moments is a section.

use super::{
    backend::{Backend as _, StateBuffer},
    kind::LanguageKind,
    model::Ranges as _,
    simulation::{LanguageSim, State},
};
use crate::{
    num::hash::StreamHash,
    sim::{SimError, Snapshot, snapshot::misfit},
};

/// Returns the prefix of a section's name, before the name of the tensor.
const fn prefix(buffer: StateBuffer) -> &'static str {
    match buffer {
        StateBuffer::Weights => "",
        StateBuffer::FirstMoment => "first_moment/",
        StateBuffer::SecondMoment => "second_moment/",
    }
}

/// Reads a section of flags. Fails if the section does not exist or has another shape.
pub fn flags(from: &Snapshot, name: &str, shape: &[usize]) -> Result<Vec<bool>, SimError> {
    Ok(from.read::<u32>(name, shape)?.iter().map(|flag| *flag != 0).collect())
}

/// Fails if a value of a saved array is not finite. The error names the array.
pub fn expect_finite(values: &[f32], what: &str) -> Result<(), SimError> {
    match values.iter().all(|x| x.is_finite()) {
        true => Ok(()),
        false => Err(misfit(&format!("{what} is not finite"))),
    }
}

impl<K: LanguageKind> LanguageSim<K> {
    /// Saves the complete training state. Fails if the device fails.
    pub(super) fn saved(&mut self) -> Result<Snapshot, SimError> {
        let mut out = Snapshot::new(K::NAME);
        out.number("step", self.state.step);
        out.number("tokens", self.state.tokens);
        out.number("hash", self.state.hash.0);
        let counters = self.backend.counters()?;
        out.number("updates", counters.updates);
        out.list("frozen", self.state.frozen.iter().map(|f| u32::from(*f)).collect());
        K::save(self, &counters, &mut out)?;
        for buffer in K::buffers(&self.params).iter().copied() {
            for view in self.layout.map().views() {
                let mut values = vec![0.0_f32; view.len()];
                self.backend.read(buffer, view.start, &mut values)?;
                out.array(&format!("{}{}", prefix(buffer), view.name), &view.shape, values);
            }
        }
        Ok(out)
    }

    /// Loads weights, moments and counters into the backend, and returns the other state. Fails if the snapshot does not
    /// fit; the simulation is then unchanged.
    pub(super) fn restore(&mut self, from: &Snapshot) -> Result<State, SimError> {
        from.expect_model(K::NAME)?;
        K::check_saved(&self.config, from)?;
        let map = self.layout.map().clone();
        let of_kind = K::buffers(&self.params);
        let mut buffers = Vec::with_capacity(of_kind.len());
        for buffer in of_kind.iter().copied() {
            let mut values = vec![0.0_f32; map.len()];
            for view in map.views() {
                from.copy(&format!("{}{}", prefix(buffer), view.name), &view.shape, &mut values[view.range()])?;
            }
            buffers.push(values);
        }
        let state = State {
            step: from.read_number("step")?,
            tokens: from.read_number("tokens")?,
            hash: StreamHash(from.read_number("hash")?),
            frozen: flags(from, "frozen", &[self.state.frozen.len()])?,
        };
        let counters = K::saved_counters(from, from.read_number("updates")?)?;
        if counters.updates > state.step {
            return Err(misfit("it is inconsistent"));
        }
        buffers.iter().try_for_each(|values| expect_finite(values, "a weight or moment"))?;
        K::load(self, from, state.step, &buffers[0])?;
        for (buffer, values) in of_kind.iter().zip(&buffers) {
            self.backend.write(*buffer, 0, values)?;
        }
        self.backend.set_counters(counters)?;
        Ok(state)
    }
}
