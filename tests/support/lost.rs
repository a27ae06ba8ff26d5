//! A state that is no number, as both models of a neuron have to tell it.

use neuropil::{gpu::Pass, sim::Simulation};

/// Takes 400 steps in batches of so many, in which neurons 17 and 91 are lost from step 200 on.
pub fn is_told(sim: &mut dyn Simulation, batch: u32) {
    let mut run = || (0..400 / batch).try_for_each(|_| sim.advance(batch, &mut Pass::default()));
    let said = run().expect_err("a number that is none").to_string();
    assert!(said.starts_with("the state of neuron #17 left all bounds in step 200"), "{said}");
    assert!(run().is_err(), "it does not go on as if nothing had happened");
    sim.rewind().expect("it rewinds");
    sim.advance(200, &mut Pass::default()).expect("all is well until then");
}
