//! The demonstration as a [`Kind`].

use super::{
    cuda::{self, DeviceWeights},
    params::Params,
    probes, requests,
    simulation::{DemoSim, TOKENS},
    source::{self, Source},
};
use crate::{
    gpu::ModuleSpec,
    sim::{
        ActionSpec, Buffers as _, BuildContext, Device, DeviceKind, Exactness, Kind, MemoryReport, Preset, ProbeSpec,
        Progress, RequestSpec, ShareLevel, SimError, Simulation, StartRequest, StepCount, Tap, TimeBase,
    },
};
use std::sync::Arc;

/// The demonstration kind, registered in `kinds!`.
pub struct DemoKind;

impl Kind for DemoKind {
    const TITLE: &'static str = "Experts (demonstration)";
    const ABOUT: &'static str = "Experts that learn to predict a stream of symbols and split while they learn. It shows \
        every shape of data that a kind can publish.";
    const NAME: &'static str = "demo";
    const PROBES: &'static [ProbeSpec] = probes::PROBES;
    const EXACTNESS: Exactness = Exactness::AnyBackend;
    const EXACT_PROBES: &'static [(&'static str, Exactness)] = probes::EXACT_PROBES;
    const ACTIONS: &'static [ActionSpec] = probes::ACTIONS;
    const REQUESTS: &'static [RequestSpec] = requests::REQUESTS;
    const SPANS: &'static [(&'static str, &'static str)] = probes::SPANS;
    const SHARE_LEVELS: &'static [ShareLevel] = &[ShareLevel { row: "record", name: "goal", share: 0.05 }];
    const MODULES: &'static [ModuleSpec] = &[cuda::ExpertKernels::SPEC];
    const PRESETS: &'static [Preset] = &[];
    const KEEPS_FINAL_STATE: bool = true;
    type Params = Params;
    type Setup = Source;

    fn time_base(_: &Params) -> TimeBase {
        TOKENS
    }

    /// Each token reads and writes one row of a table, with about six operations per weight.
    fn counts(_: &Params) -> Vec<StepCount> {
        let n_weights = source::N_SYMBOLS as f64;
        vec![
            StepCount::items("tokens", 1.0),
            StepCount::ops("of the model", 6.0 * n_weights),
            StepCount::bytes("of weights", 4.0 * n_weights),
        ]
    }

    fn prepare(params: &Params, context: &BuildContext, progress: &Progress) -> Result<Source, SimError> {
        progress.report("source", 0.0)?;
        match params.source.text.0.trim() {
            "" => Ok(Source::new(context.seed)),
            typed => Source::read(&context.resolve(typed), progress),
        }
    }

    fn predict(params: &Params, setup: Option<&Source>, on: DeviceKind) -> MemoryReport {
        match on {
            DeviceKind::Cuda => DeviceWeights::predict(&cuda::sizes(params, setup)),
            DeviceKind::Cpu { .. } => [("weights", params.n_weights() as u64 * 2)].into(),
        }
    }

    fn check(_: &Params, _: &BuildContext, _: &Arc<Source>, _: DeviceKind, taps: &[Tap]) -> Result<(), SimError> {
        probes::check(taps)
    }

    fn start(request: StartRequest<'_, Self>) -> Result<Box<dyn Simulation>, SimError> {
        let StartRequest { params, context, setup, device: on, .. } = request;
        let gpu = match on {
            Device::Cpu { .. } => None,
            Device::Cuda(gpu) => Some(gpu),
        };
        Ok(Box::new(DemoSim::new(params, context.seed, setup, gpu)?))
    }
}
