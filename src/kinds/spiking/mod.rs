//! The spiking kind (card to be written).

mod params;
pub use params::*;

use crate::{
    gpu::ModuleSpec,
    sim::{ActionSpec, Device, Kind, ProbeSpec, Progress, Scene, SimError, Simulation},
};
use std::sync::Arc;

/// The kind.
pub struct Card;

impl Kind for Card {
    const TITLE: &'static str = "Spiking network";
    const ABOUT: &'static str = "Leaky integrate-and-fire neurons on a connectome.";
    const NAME: &'static str = "spiking";
    const PROBES: &'static [ProbeSpec] = &[];
    const ACTIONS: &'static [ActionSpec] = &[];
    const MODULES: &'static [ModuleSpec] = &[];
    type Params = Params;
    type Setup = ();
    fn secs_per_step(params: &Params) -> f64 {
        params.lif.dt * 1e-3
    }
    fn prepare(_: &Params, _: &Scene, _: &Progress) -> Result<(), SimError> {
        Ok(())
    }
    fn start(_: &Params, _: &Scene, _: Arc<()>, _: &Device) -> Result<Box<dyn Simulation>, SimError> {
        Err(SimError::NoDevice("not written yet".into()))
    }
}
