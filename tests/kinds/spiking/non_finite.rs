//! How both neuron models report a non-finite state.

use neuropil::{gpu::Pass, sim::Simulation};

/// Takes 400 steps in batches of so many, in which neurons 17 and 91 become non-finite at step 200.
pub fn is_reported(sim: &mut dyn Simulation, batch: u32) {
    let mut run = || (0..400 / batch).try_for_each(|_| sim.advance(batch, &mut Pass::default()));
    let error = run().expect_err("a non-finite state").to_string();
    assert!(error.starts_with("the state of neuron #17 became NaN or infinite at step 200"), "{error}");
    assert!(run().is_err(), "the error persists");
    sim.rewind().expect("it rewinds");
    sim.advance(200, &mut Pass::default()).expect("finite until then");
}
