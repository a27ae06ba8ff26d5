//! The saved state: each tensor of weights and its moments is a section of its name.

use super::{
    backend::{Counters, StateBuffer},
    simulation::{State, TransformerSim},
};
use crate::{
    num::hash::StreamHash,
    sim::{SimError, Snapshot, snapshot::misfit},
};

const MODEL: &str = "transformer";

/// Before the name of a tensor.
const fn prefix(buffer: StateBuffer) -> &'static str {
    match buffer {
        StateBuffer::Weights => "",
        StateBuffer::FirstMoment => "first_moment/",
        StateBuffer::SecondMoment => "second_moment/",
    }
}

impl TransformerSim {
    /// Everything needed to continue.
    pub(super) fn saved(&mut self) -> Result<Snapshot, SimError> {
        let mut out = Snapshot::new(MODEL);
        let state = &self.state;
        out.number("step", state.step);
        out.number("tokens", state.tokens);
        out.number("hash", state.hash.0);
        let counters = self.backend.counters()?;
        out.number("updates", counters.updates);
        out.number("finite_steps", counters.finite_steps);
        out.number("loss_scale", counters.loss_scale);
        out.list("frozen", state.frozen.iter().map(|f| u32::from(*f)).collect());
        for buffer in StateBuffer::ALL {
            for view in self.layout.map.views() {
                let mut values = vec![0.0_f32; view.len()];
                self.backend.read(buffer, view.start, &mut values)?;
                out.array(&format!("{}{}", prefix(buffer), view.name), &view.shape, values);
            }
        }
        Ok(out)
    }

    /// Loads weights, moments and counters; the rest of the state is returned. An error changes nothing.
    pub(super) fn restore(&mut self, from: &Snapshot) -> Result<State, SimError> {
        from.expect_model(MODEL)?;
        let map = self.layout.map.clone();
        let mut buffers = Vec::with_capacity(3);
        for buffer in StateBuffer::ALL {
            let mut values = vec![0.0_f32; map.len()];
            for view in map.views() {
                from.copy(&format!("{}{}", prefix(buffer), view.name), &view.shape, &mut values[view.range()])?;
            }
            buffers.push(values);
        }
        let counters = Counters {
            updates: from.read_number("updates")?,
            loss_scale: from.read_number("loss_scale")?,
            finite_steps: from.read_number("finite_steps")?,
        };
        let frozen = from.read::<u32>("frozen", &[self.layout.n_layers()])?;
        let state = State {
            step: from.read_number("step")?,
            tokens: from.read_number("tokens")?,
            hash: StreamHash(from.read_number("hash")?),
            frozen: frozen.iter().map(|f| *f != 0).collect(),
        };
        if counters.updates > state.step {
            return Err(misfit("it is inconsistent"));
        }
        let all = StateBuffer::ALL.into_iter().zip(&buffers);
        if all.clone().any(|(_, values)| values.iter().any(|x| !x.is_finite())) {
            return Err(misfit("a weight or moment is not finite"));
        }
        for (buffer, values) in all {
            self.backend.write(buffer, values)?;
        }
        self.backend.set_counters(counters)?;
        Ok(state)
    }
}
