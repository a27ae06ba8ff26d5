//! Declarations of the kernels of networks from rules.

pub use super::structs::*;
use crate::{
    device_constants,
    gpu::{
        GpuError, Grid,
        kernel::{In, InOut, Size},
        layout::Constant,
    },
    kernels,
    kinds::spiking::{
        constants::LifConstants,
        cuda::kernels::{
            Chunk, DeviceRate, Kick, KickSource, Model, Overflow, RingLayout, SHARED, Segment, WeightGain, Window,
        },
        general::{
            coefficients::index::{self, DECAY, DRIVE, REFRACTORY, RESET, REST, THETA},
            cpu::step::LEFT,
            draws::stage::{PERMUTATION as STAGE_PERMUTATION, SYNAPSE as STAGE_SYNAPSE},
            plan::{BLOCK as STATE_BLOCK, TARGET_BITS},
        },
    },
};

const TO_U_EX: usize = index::TO_U[0];
const TO_U_IN: usize = index::TO_U[1];
const SYNAPTIC_DECAY_EX: usize = index::SYNAPTIC_DECAY[0];
const SYNAPTIC_DECAY_IN: usize = index::SYNAPTIC_DECAY[1];
const UNIT_EX: usize = index::UNIT[0];
const UNIT_IN: usize = index::UNIT[1];
const RISE_TO_U_EX: usize = index::RISE_TO_U[0];
const RISE_TO_U_IN: usize = index::RISE_TO_U[1];
const RISE_TO_CURRENT_EX: usize = index::RISE_TO_CURRENT[0];
const RISE_TO_CURRENT_IN: usize = index::RISE_TO_CURRENT[1];

/// Constants of the storage of synapses.
const SYNAPSE: &[Constant] = device_constants![TARGET_BITS, WEIGHT_CONSTANT, WEIGHT_NARROW, WEIGHT_WIDE];

/// Constants of the rules that make connections.
const CONNECT: &[Constant] = device_constants![
    STAGE_SYNAPSE,
    STAGE_PERMUTATION,
    LAW_CONSTANT,
    LAW_UNIFORM,
    LAW_NORMAL,
    LAW_LOG_NORMAL,
    RULE_ALL,
    RULE_ONE,
    RULE_PAIRS,
    RULE_IN_DEGREE,
    RULE_DEGREE
];

/// Constants of the step.
const RULES: &[Constant] = device_constants![
    STATE_BLOCK,
    LEFT,
    DECAY,
    DRIVE,
    THETA,
    RESET,
    REFRACTORY,
    REST,
    TO_U_EX,
    TO_U_IN,
    SYNAPTIC_DECAY_EX,
    SYNAPTIC_DECAY_IN,
    UNIT_EX,
    UNIT_IN,
    RISE_TO_U_EX,
    RISE_TO_U_IN,
    RISE_TO_CURRENT_EX,
    RISE_TO_CURRENT_IN,
    SYNAPSES_EXPONENTIAL,
    SYNAPSES_ALPHA,
    SYNAPSES_DELTA,
    PLASTIC_PAIR,
    PLASTIC_POWER_LAW,
    PLASTIC_TRIPLET,
    PLASTIC_INHIBITORY,
    PLASTIC_REWARD,
    PLASTIC_SHORT_TERM
];

/// Declares kernels as [`kernels!`] does. The arguments `..delivery` and `..step` stand for those that all kernels of a delivery or a step
/// have after the model and the clock, `..plastic` for those of plastic synapses.
macro_rules! rules_kernels {
    (@next [$($head:tt)*] [$($done:tt)*]) => {
        kernels! { $($head)* { $($done)* } }
    };
    (@next $head:tt $done:tt $(#[$($meta:tt)*])* fn $name:ident as $Args:ident ($($args:tt)*); $($rest:tt)*) => {
        rules_kernels! { @args $head $done {$(#[$($meta)*])* fn $name as $Args} [] ($($args)*) $($rest)* }
    };
    (@args $head:tt [$($done:tt)*] {$($kernel:tt)*} $args:tt () $($rest:tt)*) => {
        rules_kernels! { @kernel $head [$($done)*] {$($kernel)*} $args $($rest)* }
    };
    (@kernel $head:tt [$($done:tt)*] {$($kernel:tt)*} [$($args:tt)*] $($rest:tt)*) => {
        rules_kernels! { @next $head [$($done)* $($kernel)* ($($args)*);] $($rest)* }
    };
    (@args $head:tt $done:tt $kernel:tt [$($args:tt)*] (..delivery $(, $($more:tt)*)?) $($rest:tt)*) => {
        rules_kernels! { @args $head $done $kernel [$($args)*
            populations: In<RulesPopulation>, projections: In<RulesProjection>,
            outgoing: In<u32>, far_delays: In<u32>, starts: In<u64>, splits: In<u32>, words: In<u32>, weights: In<u8>, gain_of: In<u16>,
            gains: In<WeightGain>, lists: InOut<RulesList>, spikes: In<u32>, sums: InOut<i32>,
        ] ($($($more)*)?) $($rest)* }
    };
    (@args $head:tt $done:tt $kernel:tt [$($args:tt)*] (..step $(, $($more:tt)*)?) $($rest:tt)*) => {
        rules_kernels! { @args $head $done $kernel [$($args)*
            populations: In<RulesPopulation>,
            population_of: In<u16>, values: In<f32>, inputs: In<RulesInput>, tables: In<u32>, kicking: In<Model>,
            sources: In<KickSource>, chances: In<u64>, masks: In<u32>, trains: In<u32>, kicks: In<Kick>, marks: In<u32>,
            traced: In<u32>, projections: In<RulesProjection>, outgoing: In<u32>, far_delays: In<u32>, starts: In<u64>, splits: In<u32>,
            words: In<u32>, weights: In<u8>, gain_of: In<u16>, gains: In<WeightGain>, lists: InOut<RulesList>,
            spikes: InOut<u32>, sums: InOut<i32>, state: InOut<f32>, non_finite: InOut<u64>, samples: InOut<f32>,
        ] ($($($more)*)?) $($rest)* }
    };
    (@args $head:tt $done:tt $kernel:tt [$($args:tt)*] (..plastic $(, $($more:tt)*)?) $($rest:tt)*) => {
        rules_kernels! { @args $head $done $kernel [$($args)*
            plastic: In<RulesPlastic>, incoming: In<u32>, decays: In<f32>, rows: InOut<RulesRowState>, heads: InOut<u64>, entries: InOut<u64>,
            seconds: InOut<f32>, plastic_weights: InOut<f32>, eligibility: InOut<f32>,
            weight_hash: InOut<u64>,
        ] ($($($more)*)?) $($rest)* }
    };
    (@args $head:tt $done:tt $kernel:tt [$($args:tt)*] ($arg:ident : $Use:ident<$Type:ident> $(, $($more:tt)*)?) $($rest:tt)*) => {
        rules_kernels! { @args $head $done $kernel [$($args)* $arg: $Use<$Type>,] ($($($more)*)?) $($rest)* }
    };
    (
        $(#[$($meta:tt)*])* pub struct $Kernels:ident in $file:tt using [$($used:tt)*] with [$($constants:tt)*] {
            $($kernels:tt)*
        }
    ) => {
        rules_kernels! {
            @next [$(#[$($meta)*])* pub struct $Kernels in $file using [$($used)*] with [$($constants)*]] [] $($kernels)*
        }
    };
}

rules_kernels! {
    /// Kernels of networks from rules.
    pub struct RulesKernels in "spiking/rules.cu" using [
        RingLayout, LifConstants, Model, Window, Segment, Chunk, DeviceRate, KickSource, Kick, Overflow, WeightGain,
        RulesModel, RulesClock, RulesPopulation, RulesProjection, RulesInput, RulesList, RulesTables, RulesDecay, RulesPlastic,
        RulesRowState,
    ] with [SHARED, SYNAPSE, RULES] {
        /// Adds the rows of the spikes that arrive in the first step of a launch. Items: synaptic events.
        #[block(256)]
        fn deliver_rules as DeliverRules(model: In<RulesModel>, clock: In<RulesClock>, ..delivery);

        /// Steps every neuron, lists the spikes, and adds the rows of the spikes that arrive in the next step. Items: synaptic
        /// events.
        #[block(256)]
        fn step_rules as StepRules(model: In<RulesModel>, clock: In<RulesClock>, index: Size<u32>, delivers: Size<u32>, ..step);

        /// Runs many steps per launch, like `step_rules`, with the neurons in registers. Items: synaptic events.
        #[block(768)]
        fn step_rules_persistent as StepRulesPersistent(
            model: In<RulesModel>, clock: In<RulesClock>, n_steps: Size<u32>, table_sizes: Size<RulesTables>, ..step,
            barrier: InOut<u32>
        );

        /// Computes the potential of every neuron, for views.
        #[block(256)]
        fn read_rules_potentials as ReadRulesPotentials(
            model: In<RulesModel>, populations: In<RulesPopulation>, population_of: In<u16>, values: In<f32>, state: In<f32>,
            v: InOut<f32>
        );
    }
}

rules_kernels! {
    /// Kernels of networks from rules with plastic synapses.
    pub struct RulesPlasticKernels in "spiking/rules_plastic.cu" using [
        RingLayout, LifConstants, Model, Window, Segment, Chunk, DeviceRate, KickSource, Kick, Overflow, WeightGain,
        RulesModel, RulesClock, RulesPopulation, RulesProjection, RulesInput, RulesList, RulesTables, RulesDecay, RulesPlastic,
        RulesRowState,
    ] with [SHARED, SYNAPSE, RULES] {
        /// Like `deliver_rules`, and updates the weights that it adds. Items: synaptic events.
        #[block(256)]
        fn deliver_rules_plastic as DeliverRulesPlastic(model: In<RulesModel>, clock: In<RulesClock>, ..delivery, ..plastic);

        /// Like `step_rules`, and updates the weights that it adds. Items: synaptic events.
        #[block(256)]
        fn step_rules_plastic as StepRulesPlastic(
            model: In<RulesModel>, clock: In<RulesClock>, index: Size<u32>, delivers: Size<u32>, ..step, ..plastic
        );

        /// Like `step_rules_persistent`, and updates the weights that it adds. Items: synaptic events.
        #[block(512)]
        fn step_rules_plastic_persistent as StepRulesPlasticPersistent(
            model: In<RulesModel>, clock: In<RulesClock>, n_steps: Size<u32>, table_sizes: Size<RulesTables>, ..step,
            barrier: InOut<u32>, ..plastic
        );

        /// Sets the weights of a plastic projection to their start values. Items: synapses.
        #[block(256)]
        fn start_rules_weights as StartRulesWeights(
            index: Size<u32>, projection: Size<u32>, synapses: Size<u64>, plastic: In<RulesPlastic>,
            projections: In<RulesProjection>, weights: In<u8>, plastic_weights: InOut<f32>
        );

        /// Adds the absolute weights of a plastic projection to the sums of their postsynaptic neurons, as integers. Items: synapses.
        #[block(256)]
        fn sum_rules_inputs as SumRulesInputs(
            index: Size<u32>, projection: Size<u32>, synapses: Size<u64>, scale: Size<f32>, plastic: In<RulesPlastic>,
            projections: In<RulesProjection>, words: In<u32>, plastic_weights: In<f32>, input_sums: InOut<u64>
        );

        /// Multiplies the weights of a plastic projection by the factors of their postsynaptic neurons. Items: synapses.
        #[block(256)]
        fn scale_rules_inputs as ScaleRulesInputs(
            index: Size<u32>, projection: Size<u32>, synapses: Size<u64>, plastic: In<RulesPlastic>,
            projections: In<RulesProjection>, words: In<u32>, factors: In<f32>, plastic_weights: InOut<f32>
        );

        /// Brings all rows of a plastic projection up to date. Items: synapses.
        #[block(256)]
        fn update_rules_rows as UpdateRulesRows(
            index: Size<u32>, projection: Size<u32>, n_rows: Size<u32>, to: Size<u32>, gain: Size<f32>,
            projections: In<RulesProjection>, starts: In<u64>, words: In<u32>, ..plastic
        );
    }
}

kernels! {
    /// Kernels that make the connections of networks from rules.
    pub struct RulesConnectKernels in "spiking/rules_connect.cu" using [RulesLaw, RulesRowArgs] with [SYNAPSE, CONNECT] {
        /// Counts the synapses of each row, for rules whose draws decide the number. Items: synapses.
        #[block(256)]
        fn count_rules_rows as CountRulesRows(r: Size<RulesRowArgs>, degrees: InOut<u32>);

        /// Makes all synapses of a projection. Items: synapses.
        #[block(256)]
        fn fill_rules_rows as FillRulesRows(
            r: Size<RulesRowArgs>, starts: In<u64>, splits: InOut<u32>, cursors: InOut<u32>, words: InOut<u32>, weights: InOut<u8>
        );

        /// Adds the mixed synapses of a projection to the hash of all connections. Items: synapses.
        #[block(256)]
        fn hash_rules_rows as HashRulesRows(
            r: Size<RulesRowArgs>, starts: In<u64>, words: In<u32>, weights: In<u8>, hash: InOut<u64>
        );
    }
}

impl RulesPlasticKernels {
    /// Whether all blocks of a grid of `step_rules_plastic_persistent` are resident at once, as the grid barrier requires.
    /// Fails if the driver fails.
    pub fn fits_persistent(&self, grid: Grid) -> Result<bool, GpuError> {
        self.step_rules_plastic_persistent.fits_at_once(grid)
    }
}

impl RulesKernels {
    /// Whether all blocks of a grid of `step_rules_persistent` are resident at once, as the grid barrier requires.
    /// Fails if the driver fails.
    pub fn fits_persistent(&self, grid: Grid) -> Result<bool, GpuError> {
        self.step_rules_persistent.fits_at_once(grid)
    }
}
