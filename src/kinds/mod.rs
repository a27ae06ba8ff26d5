//! The simulation kinds, and the only list of them.

use crate::{
    gpu::ModuleSpec,
    params::{ParamWarning, Params},
    sim::{
        ActionSpec, Bench, BuildContext, Device, DeviceKind, Exactness, Example, FileValues, GraphForecast,
        HuggingFaceModel, Kind, MemoryReport, Preset, ProbeId, ProbeSpec, Progress, RequestSpec, RooflineWork,
        Semantics, ShareLevel, SimError, Simulation, Snapshot, StepCount, Template, TimeBase,
    },
};

#[cfg(feature = "demo")]
pub mod demo;
pub mod evolution;
pub mod language;
pub mod nuclei;
pub mod shared;
pub mod spiking;
pub mod synaptic;
pub mod transformer;

pub use shared::prepared::Prepared;
use shared::prepared::PreparedKind;

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

            /// Probes of its simulations.
            pub fn probes(&self) -> &'static [ProbeSpec] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::PROBES, )* } }

            /// How exactly the data of a probe are repeated; of no probe: the digest.
            pub fn exactness(&self, probe: Option<&str>) -> Exactness {
                let (kind, probes) = match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => (<$module::$Kind as Kind>::EXACTNESS, <$module::$Kind as Kind>::EXACT_PROBES), )* };
                let own = probes.iter().find(|(name, _)| probe == Some(*name));
                own.map_or(kind, |(_, exactness)| *exactness)
            }

            /// Actions on its simulations.
            pub fn actions(&self) -> &'static [ActionSpec] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::ACTIONS, )* } }

            /// Requests to its simulations.
            pub fn requests(&self) -> &'static [RequestSpec] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::REQUESTS, )* } }

            /// Named parameter values with a citation.
            pub fn presets(&self) -> &'static [Preset] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::PRESETS, )* } }

            /// File of a new project; empty: the defaults.
            pub fn template(&self) -> &'static str { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::TEMPLATE, )* } }

            /// Further new projects.
            pub fn templates(&self) -> &'static [Template] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::TEMPLATES, )* } }

            /// Its example projects.
            pub fn examples(&self) -> &'static [Example] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::EXAMPLES, )* } }

            /// Benchmark behind `neuropil bench KIND`, if the kind has one.
            pub fn bench(&self) -> Option<Bench> { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::BENCH, )* } }

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

            /// Path of the parameter that names a file from which other parameters follow; empty: none.
            pub fn shape_file(&self) -> &'static str { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::SHAPE_FILE, )* } }

            /// Values of other parameters that follow from the file that [`Model::shape_file`] names. Fails as the kind does.
            pub fn values_of_file(&self, context: &BuildContext) -> Result<FileValues, SimError> {
                match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::values_of_file(p, context), )* }
            }

            /// Whether saved states can be exported for `transformers`.
            pub fn has_hugging_face(&self) -> bool { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::HAS_HUGGING_FACE, )* } }

            /// Weights of a saved state for `transformers`. Fails as the kind does.
            pub fn hugging_face(&self, state: &Snapshot) -> Result<HuggingFaceModel, SimError> {
                match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::hugging_face(p, state), )* }
            }

            /// Whether a recording ends with a checkpoint by default.
            pub fn keeps_final_state(&self) -> bool { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::KEEPS_FINAL_STATE, )* } }

            /// Probe of a series whose last value is the result of a run.
            pub fn result_probe(&self) -> Option<&'static str> { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::RESULT_PROBE, )* } }

            /// What a step does, in numbers.
            pub fn counts(&self) -> Vec<StepCount> { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::counts(p), )* } }

            /// What a step is.
            pub fn time_base(&self) -> TimeBase { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::time_base(p), )* } }

            /// Predicted memory of a simulation, by owner, from the parameters alone; empty if unknown.
            pub fn predict(&self, on: DeviceKind) -> MemoryReport {
                match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::predict(p, None, on), )* }
            }

            /// Number of trainable parameters; `None` if the kind trains none, or the number depends on files.
            pub fn n_parameters(&self) -> Option<u64> {
                match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::n_parameters(p, None), )* }
            }

            /// What a build makes of the nodes and edges of the parameters; `None` if they have none.
            pub fn forecast(&self) -> Option<GraphForecast> { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::forecast(p), )* } }

            /// Warnings about values that are valid but unusual.
            pub fn warnings(&self) -> Vec<ParamWarning> { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::warnings(p), )* } }

            /// What a step does where simulators differ.
            pub fn semantics(&self) -> Semantics { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::semantics(p), )* } }

            /// Probes without meaning for the model that the parameters choose.
            pub fn unused_probes(&self) -> Vec<ProbeId> { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::unused_probes(p), )* } }

            /// Builds a simulation from parameters; runs on the loader thread.
            pub fn build(&self, context: &BuildContext, on: &Device, progress: &Progress) -> Result<Box<dyn Simulation>, SimError> {
                self.prepare(context, progress)?.start_with(context.seed, on, progress)
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
    /// A language model of ternary weights that evolves without gradients.
    Evolution = evolution::EvolutionKind,
    /// Experts on a stream of symbols: a demonstration of all shapes of data.
    #[cfg(feature = "demo")]
    Demo = demo::DemoKind,
}
