//! The kinds and what they compute on: every backend against the definition, the references and itself.
//! Tests with `cuda` or `gpu` in their path need an NVIDIA GPU: `cargo test --test kinds -- cuda gpu`.

mod conformance;
mod damaged;
mod device;
mod evolution;
#[cfg(feature = "demo")]
mod experts;
mod fields_on_screen;
mod generator_limits;
mod gpu;
mod nn;
mod nuclei;
mod prepare_failures;
mod settings;
mod spiking;
mod synaptic;
mod transformer;

#[global_allocator]
static ALLOCATOR: neuropil_test_support::allocator::Counting = neuropil_test_support::allocator::Counting;
