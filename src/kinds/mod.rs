//! The simulation kinds, and the only list of them.

use crate::{
    gpu::{Memory, ModuleSpec, Place},
    params::{ParamWarning, Params},
    sim::{
        ActionSpec, BuildContext, Device, DeviceKind, Exactness, HostMemory, Kind, MemoryReport, Preset, ProbeId,
        ProbeSpec, Progress, RequestSpec, RooflineWork, ShareLevel, SimError, Simulation, StepCount, Tap, TimeBase,
    },
};
use std::sync::Arc;

#[cfg(feature = "demo")]
pub mod demo;
pub mod edit;
mod field_readback;
pub mod language;
pub mod nuclei;
pub mod query_files;
mod scheduled;
pub mod spiking;
pub mod synaptic;
pub mod transformer;
pub mod weights;

use scheduled::ScheduledSim;
pub use spiking::files::read_neurons as read_list;

/// A model with its network read or generated, which can be started repeatedly: per trial, per device.
pub trait Prepared: Send + Sync {
    /// Starts a simulation. The seed is that of its random draws; a generated network keeps the seed of the project.
    fn start(&self, seed: u64, on: &Device) -> Result<Box<dyn Simulation>, SimError>;
    /// Checks what starting a simulation and tapping these probes check, without allocating the simulation.
    fn check(&self, on: DeviceKind, taps: &[Tap]) -> Result<(), SimError>;
    /// Predicted memory on a device, by owner; empty if unknown.
    fn predict(&self, on: DeviceKind) -> MemoryReport;
    /// Notices about the input, one sentence each.
    fn notices(&self) -> Vec<String>;
    /// The setup of its kind ([`Kind::Setup`]), for [`InputData`](crate::sim::InputData).
    fn setup(&self) -> Arc<dyn std::any::Any + Send + Sync>;
}

/// [`Prepared`] of one kind.
struct PreparedKind<K: Kind> {
    params: K::Params,
    context: BuildContext,
    setup: Arc<K::Setup>,
}

impl<K: Kind<Params: Send + Sync, Setup: 'static> + 'static> PreparedKind<K> {
    fn prepare(params: &K::Params, context: &BuildContext, progress: &Progress) -> Result<Box<dyn Prepared>, SimError> {
        if !context.ignores_memory {
            let mut predicted = K::predict(params, None, DeviceKind::Cpu { threads: 1 });
            predicted += K::scratch(params);
            HostMemory::now().map_or(Ok(()), |memory| memory.check(&predicted))?;
        }
        let setup = Arc::new(K::prepare(params, context, progress)?);
        Ok(Box::new(Self { params: params.clone(), context: context.clone(), setup }))
    }

    /// Its interventions that set a parameter.
    fn settings(&self) -> Result<Vec<scheduled::Setting>, SimError> {
        scheduled::settings(&self.params, K::time_base(&self.params))
    }

    /// Whether the kind accepts other parameters with this setup.
    fn accepts(
        &self,
        context: &BuildContext,
        on: DeviceKind,
    ) -> impl Fn(&K::Params) -> Result<(), SimError> + Send + use<K> {
        let (context, setup) = (context.clone(), self.setup.clone());
        move |params| K::check(params, &context, &setup, on, &[])
    }
}

impl<K: Kind<Params: Send + Sync> + 'static> Prepared for PreparedKind<K> {
    fn setup(&self) -> Arc<dyn std::any::Any + Send + Sync> {
        self.setup.clone()
    }

    fn start(&self, seed: u64, on: &Device) -> Result<Box<dyn Simulation>, SimError> {
        if let Device::Cuda(gpu) = on {
            fits(&self.predict(DeviceKind::Cuda), gpu.memory()?)?;
            gpu.expect_modules(&K::loaded_modules(&self.params, gpu));
        }
        let context = BuildContext { seed, ..self.context.clone() };
        let (settings, accepts) = (self.settings()?, self.accepts(&context, on.kind()));
        scheduled::check(&self.params, &settings, &accepts)?;
        let sim = K::start(&self.params, &context, self.setup.clone(), on)?;
        let notices = self.notices();
        Ok(Box::new(ScheduledSim::new(sim, self.params.clone(), settings, Box::new(accepts), notices)?))
    }

    fn check(&self, on: DeviceKind, taps: &[Tap]) -> Result<(), SimError> {
        scheduled::check(&self.params, &self.settings()?, self.accepts(&self.context, on))?;
        K::check(&self.params, &self.context, &self.setup, on, taps)
    }

    fn predict(&self, on: DeviceKind) -> MemoryReport {
        K::predict(&self.params, Some(&self.setup), on)
    }

    fn notices(&self) -> Vec<String> {
        K::notices(&self.setup)
    }
}

/// Checks that the predicted memory fits on a GPU.
fn fits(predicted: &MemoryReport, memory: Memory) -> Result<(), SimError> {
    let predicted = predicted.required();
    let needed = predicted.on(Place::Device);
    if needed <= memory.free {
        return Ok(());
    }
    let mb = |bytes: u64| format!("{:.0} MB", bytes as f64 * 1e-6);
    Err(SimError::NoDevice(format!(
        "needs about {} on the GPU, most of it for {}; of its {} it has {} free: make the model smaller, close other programs that use the GPU, or run on the CPU",
        mb(needed),
        predicted.of_device().largest(),
        mb(memory.total),
        mb(memory.free)
    )))
}

macro_rules! kinds {
    ($( $(#[doc = $docs:literal])* $(#[cfg($cfg:meta)])? $Variant:ident = $module:ident :: $Kind:ident ),* $(,)?) => {
        /// A project's model: which kind, and its parameters.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub enum Model { $( $(#[doc = $docs])* $(#[cfg($cfg)])? $Variant(Box<$module::Params>), )* }

        impl Model {
            /// One default model of every kind: the "New project" menu.
            pub fn all() -> Vec<Self> { Vec::from([ $( $(#[cfg($cfg)])? Self::$Variant(Default::default()) ),* ]) }

            /// A default model by the kind's stable name.
            pub fn by_name(name: &str) -> Option<Self> { Self::all().into_iter().find(|m| m.name() == name) }

            /// Name in menus.
            pub fn title(&self) -> &'static str { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::TITLE, )* } }

            /// Stable lower-case name.
            pub fn name(&self) -> &'static str { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::NAME, )* } }

            /// What it models, with references.
            pub fn about(&self) -> &'static str { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::ABOUT, )* } }

            /// A page on its mechanisms and on what was measured; empty: none.
            pub fn help(&self) -> &'static str { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::HELP, )* } }

            /// Its probes.
            pub fn probes(&self) -> &'static [ProbeSpec] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::PROBES, )* } }

            /// How exactly the data of a probe are repeated; of no probe: the digest.
            pub fn exactness(&self, probe: Option<&str>) -> Exactness {
                let (kind, probes) = match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => (<$module::$Kind as Kind>::EXACTNESS, <$module::$Kind as Kind>::EXACT_PROBES), )* };
                let own = probes.iter().find(|(name, _)| probe == Some(*name));
                own.map_or(kind, |(_, exactness)| *exactness)
            }

            /// Its actions.
            pub fn actions(&self) -> &'static [ActionSpec] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::ACTIONS, )* } }

            /// Requests to its simulations.
            pub fn requests(&self) -> &'static [RequestSpec] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::REQUESTS, )* } }

            /// Named parameter values with a citation.
            pub fn presets(&self) -> &'static [Preset] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::PRESETS, )* } }

            /// Its CUDA modules.
            pub fn modules(&self) -> &'static [ModuleSpec] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::MODULES, )* } }

            /// Description of a timing row, by name.
            pub fn timing_docs(&self, row: &str) -> Option<&'static str> {
                let spans = match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::SPANS, )* };
                let kernel = || self.modules().iter().flat_map(|m| m.kernels).find(|k| k.name == row).map(|k| k.docs);
                spans.iter().find(|(name, _)| *name == row).map(|(_, docs)| *docs).or_else(kernel)
            }

            /// Reference values of the share of timing rows in a step.
            pub fn share_levels(&self) -> &'static [ShareLevel] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::SHARE_LEVELS, )* } }

            /// Memory traffic and arithmetic per work item of its timing rows.
            pub fn work(&self) -> &'static [RooflineWork] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::WORK, )* } }

            /// Its parameters, for widgets and the engine.
            pub fn params(&self) -> &dyn Params { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => &**p, )* } }

            /// Its parameters, to edit in place.
            pub fn params_mut(&mut self) -> &mut dyn Params { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => &mut **p, )* } }

            /// Whether a recording ends with a checkpoint by default.
            pub fn keeps_final_state(&self) -> bool { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::KEEPS_FINAL_STATE, )* } }

            /// What a step does, in numbers.
            pub fn counts(&self) -> Vec<StepCount> { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::counts(p), )* } }

            /// What a step is.
            pub fn time_base(&self) -> TimeBase { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::time_base(p), )* } }

            /// Predicted memory of a simulation, by owner, from the parameters alone; empty if unknown.
            pub fn predict(&self, on: DeviceKind) -> MemoryReport {
                match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::predict(p, None, on), )* }
            }

            /// Warnings about values that are valid but unusual.
            pub fn warnings(&self) -> Vec<ParamWarning> { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::warnings(p), )* } }

            /// Probes without meaning for the model that the parameters choose.
            pub fn unused_probes(&self) -> Vec<ProbeId> { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::unused_probes(p), )* } }

            /// Builds a simulation from parameters; runs on the loader thread.
            pub fn build(&self, context: &BuildContext, on: &Device, progress: &Progress) -> Result<Box<dyn Simulation>, SimError> {
                self.prepare(context, progress)?.start(context.seed, on)
            }

            /// The slow part of [`Model::build`]; the result can be started repeatedly.
            pub fn prepare(&self, context: &BuildContext, progress: &Progress) -> Result<Box<dyn Prepared>, SimError> {
                match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => PreparedKind::<$module::$Kind>::prepare(p, context, progress), )* }
            }
        }

        impl Default for Model {
            fn default() -> Self { Self::all().into_iter().next().expect("`kinds!` lists at least one kind") }
        }
    };
}

kinds! {
    /// Whole-brain and generated networks of leaky integrate-and-fire neurons.
    Spiking = spiking::SpikingKind,
    /// Populations of candidate solutions with coupled phases.
    Nuclei = nuclei::NucleiKind,
    /// A transformer language model in training.
    Transformer = transformer::TransformerKind,
    /// A language model with presynaptic release and a lineage of experts.
    Synaptic = synaptic::SynapticKind,
    /// Experts on a stream of symbols: a demonstration of all shapes of data.
    #[cfg(feature = "demo")]
    Demo = demo::DemoKind,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicted_memory_beyond_the_gpu_is_refused() {
        let mut predicted = MemoryReport::default();
        predicted.add("connectivity", "words", Place::Device, 6_000_000_000);
        predicted.add("neurons", "states", Place::Device, 40_000_000);
        predicted.host("names", 7_000_000_000);
        let memory = |free| Memory { free, total: 8_000_000_000 };
        assert!(fits(&predicted, memory(6_040_000_000)).is_ok());
        assert!(fits(&MemoryReport::default(), memory(0)).is_ok(), "unknown memory is not refused");
        predicted.add_optional("connectivity by block", "heads", Place::Device, 90_000_000_000);
        assert!(fits(&predicted, memory(6_040_000_000)).is_ok(), "the simulation runs without it");
        let Err(SimError::NoDevice(why)) = fits(&predicted, memory(1_500_000_000)) else { panic!("it fitted") };
        assert!(why.starts_with(
            "needs about 6040 MB on the GPU, most of it for connectivity; of its 8000 MB it has 1500 MB free"
        ));
        assert!(why.contains("CPU"));
    }
}
