//! The simulation kinds, and the only list of them.

use crate::{
    gpu::ModuleSpec,
    params::{Change, ParamWarning, Params},
    sim::{
        ActionSpec, Bench, BuildContext, CellModel, Device, DeviceKind, Exactness, Example, FileValues, GraphForecast,
        HuggingFaceModel, ImportedNetwork, Kind, MemoryReport, Preset, ProbeId, ProbeSpec, Progress, RequestSpec,
        RooflineWork, Semantics, ShareLevel, SimError, Simulation, Snapshot, StepCount, Template, TimeBase,
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
        /// Model of a project: its kind and its parameters.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub enum Model { $( $(#[doc = $docs])* $(#[cfg($cfg)])? $Variant(Box<$module::Params>), )* }

        impl Model {
            /// Returns one default model of every kind, for the "New project" menu.
            pub fn all() -> Vec<Self> { Vec::from([ $( $(#[cfg($cfg)])? Self::$Variant(Default::default()) ),* ]) }

            /// Returns the default model of the kind with a stable name; `None` if there is no such kind.
            pub fn by_name(name: &str) -> Option<Self> { Self::all().into_iter().find(|m| m.name() == name) }

            /// Returns the name of the kind in menus.
            pub fn title(&self) -> &'static str { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::TITLE, )* } }

            /// Returns the stable name of the kind, in lower case.
            pub fn name(&self) -> &'static str { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::NAME, )* } }

            /// Describes what the kind models, with references.
            pub fn about(&self) -> &'static str { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::ABOUT, )* } }

            /// Returns the help page on the mechanisms of the kind; empty if there is none.
            pub fn help(&self) -> &'static str { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::HELP, )* } }

            /// Returns the probes of its simulations.
            pub fn probes(&self) -> &'static [ProbeSpec] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::PROBES, )* } }

            /// Returns how exactly a replay repeats the data of a probe, or the digest with `None`.
            pub fn exactness(&self, probe: Option<&str>) -> Exactness {
                let (kind, probes) = match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => (<$module::$Kind as Kind>::EXACTNESS, <$module::$Kind as Kind>::EXACT_PROBES), )* };
                let own = probes.iter().find(|(name, _)| probe == Some(*name));
                own.map_or(kind, |(_, exactness)| *exactness)
            }

            /// Returns the actions on its simulations.
            pub fn actions(&self) -> &'static [ActionSpec] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::ACTIONS, )* } }

            /// Returns the requests to its simulations.
            pub fn requests(&self) -> &'static [RequestSpec] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::REQUESTS, )* } }

            /// Returns named sets of parameter values, with citations.
            pub fn presets(&self) -> &'static [Preset] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::PRESETS, )* } }

            /// Returns the text of a new project file; empty for the defaults.
            pub fn template(&self) -> &'static str { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::TEMPLATE, )* } }

            /// Returns further templates of new projects.
            pub fn templates(&self) -> &'static [Template] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::TEMPLATES, )* } }

            /// Returns the example projects of the kind.
            pub fn examples(&self) -> &'static [Example] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::EXAMPLES, )* } }

            /// Returns the benchmark of `neuropil bench KIND`; `None` if the kind has none.
            pub fn bench(&self) -> Option<Bench> { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::BENCH, )* } }

            /// Returns the CUDA modules of the kind.
            pub fn modules(&self) -> &'static [ModuleSpec] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::MODULES, )* } }

            /// Returns the description of a timing row; `None` if there is no row with this name.
            pub fn timing_docs(&self, row: &str) -> Option<&'static str> {
                let spans = match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::SPANS, )* };
                let kernel = || self.modules().iter().flat_map(|m| m.kernels).find(|k| k.name == row).map(|k| k.docs);
                spans.iter().find(|(name, _)| *name == row).map(|(_, docs)| *docs).or_else(kernel)
            }

            /// Returns reference values of the share of timing rows in a step.
            pub fn share_levels(&self) -> &'static [ShareLevel] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::SHARE_LEVELS, )* } }

            /// Returns memory traffic and arithmetic per work item of its timing rows.
            pub fn work(&self) -> &'static [RooflineWork] { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::WORK, )* } }

            /// Returns the parameters, for widgets and the engine.
            pub fn params(&self) -> &dyn Params { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => &**p, )* } }

            /// Returns the parameters, to be edited in place.
            pub fn params_mut(&mut self) -> &mut dyn Params { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => &mut **p, )* } }

            /// Returns the path of the parameter that names a file from which other parameters follow; empty if there
            /// is none.
            pub fn shape_file(&self) -> &'static str { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::SHAPE_FILE, )* } }

            /// Reads the values of other parameters from the file that [`Model::shape_file`] names. Fails as the kind
            /// does.
            pub fn values_of_file(&self, context: &BuildContext) -> Result<FileValues, SimError> {
                match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::values_of_file(p, context), )* }
            }

            /// Whether saved states can be exported for `transformers`.
            pub fn has_hugging_face(&self) -> bool { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::HAS_HUGGING_FACE, )* } }

            /// Returns the weights of a saved state for `transformers`. Fails as the kind does.
            pub fn hugging_face(&self, state: &Snapshot) -> Result<HuggingFaceModel, SimError> {
                match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::hugging_face(p, state), )* }
            }

            /// Reads the network of a SONATA circuit from its configuration, with the first kind that has networks of neurons. Fails
            /// as the kind does, or if there is no such kind.
            pub fn of_circuit(path: &std::path::Path) -> Result<ImportedNetwork<Self>, SimError> {
                $( $(#[cfg($cfg)])? if let Some(read) = <$module::$Kind as Kind>::of_circuit(path) {
                    return read.map(|network| network.map(|params| Self::$Variant(Box::new(params))));
                } )*
                Err(SimError::Input("no kind reads circuits".to_owned()))
            }

            /// Returns the neuron models of the elements with the values of their parameters; empty for kinds without neurons.
            pub fn cell_models(&self) -> Vec<CellModel> { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::cell_models(p), )* } }

            /// Names of the edge lists of the connections; empty without connections.
            pub fn edge_lists(&self) -> Vec<String> { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::edge_lists(p), )* } }

            /// Whether a recording ends with a checkpoint by default.
            pub fn keeps_final_state(&self) -> bool { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::KEEPS_FINAL_STATE, )* } }

            /// Returns the probe of a series whose last value is the result of a run; `None` if there is none.
            pub fn result_probe(&self) -> Option<&'static str> { match self { $( $(#[cfg($cfg)])? Self::$Variant(_) => <$module::$Kind as Kind>::RESULT_PROBE, )* } }

            /// Returns the work per step: items, operations and bytes.
            pub fn counts(&self) -> Vec<StepCount> { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::counts(p), )* } }

            /// Whether trials with these changes can share a build ([`Prepared::start_trials`]). Fails if a value is not
            /// accepted.
            pub fn shares_build(&self, changes: &[Change]) -> Result<bool, SimError> {
                match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => shared::edit::are_live(&**p, changes), )* }
            }

            /// Returns the unit of time that a step is.
            pub fn time_base(&self) -> TimeBase { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::time_base(p), )* } }

            /// Predicts the memory of a simulation, by owner, from the parameters alone; empty if it is unknown.
            pub fn predict(&self, on: DeviceKind) -> MemoryReport {
                match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::predict(p, None, on), )* }
            }

            /// Predicts the memory of `n` trials, which share the setup, as [`Model::predict`] does that of one.
            pub fn predict_trials(&self, on: DeviceKind, n: u32) -> MemoryReport {
                match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::predict_trials(p, None, on, n), )* }
            }

            /// Returns the number of trainable parameters; `None` if the kind trains none, or the number depends on
            /// files.
            pub fn n_parameters(&self) -> Option<u64> {
                match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::n_parameters(p, None), )* }
            }

            /// Predicts the network that a build makes from the nodes and edges of the parameters; `None` if there are
            /// none.
            pub fn forecast(&self) -> Option<GraphForecast> { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::forecast(p), )* } }

            /// Returns warnings about values that are valid but unusual.
            pub fn warnings(&self) -> Vec<ParamWarning> { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::warnings(p), )* } }

            /// Describes the order and the rules of a step, in which simulators differ.
            pub fn semantics(&self) -> Semantics { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::semantics(p), )* } }

            /// Returns the probes without meaning for the model that the parameters choose.
            pub fn unused_probes(&self) -> Vec<ProbeId> { match self { $( $(#[cfg($cfg)])? Self::$Variant(p) => <$module::$Kind as Kind>::unused_probes(p), )* } }

            /// Builds a simulation from parameters, on the loader thread. Fails if an input is invalid, the device
            /// fails, or `progress` cancels.
            pub fn build(&self, context: &BuildContext, on: &Device, progress: &Progress) -> Result<Box<dyn Simulation>, SimError> {
                self.prepare(context, progress)?.start_with(context.seed, on, progress)
            }

            /// Runs the slow part of [`Model::build`]; the result can be started repeatedly. Fails if an input is
            /// invalid or `progress` cancels.
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
