//! Declarations that Rust and the kernels of networks from rules share.

use crate::{
    device_constants, device_struct,
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

device_struct! {
    /// Sizes and seed of a network from rules; rewritten between steps.
    pub struct RulesModel {
        /// Seed of the draws
        seed: u64,
        /// Neurons of the network
        n: u32,
        /// Entries of a state array
        stride: u32,
        /// Populations of the network
        n_populations: u32,
        /// Number of slots of the sums less one; the number is a power of two, as in the next two fields
        slot_mask: u32,
        /// Entries of the list of steps less one
        list_mask: u32,
        /// Ring size of spikes less one
        spike_mask: u32,
        /// Largest number of projections of a population whose smallest delay is one step
        near: u32,
        /// Largest number of projections of a population with a longer smallest delay
        far: u32,
        /// Different smallest delays above one step
        n_far: u32,
        /// Whether weights are changed
        has_gains: u32,
        /// Whether there are kicks
        has_kicks: u32,
        /// Neurons that are sampled
        n_traced: u32,
        /// Whether a projection has a smallest delay of one step, and longer ones
        has_longer: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

device_struct! {
    /// The steps of a graph.
    pub struct RulesClock {
        /// First step of the graph
        step: u64,
        /// First listed kick
        kick_from: u32,
        /// End of its listed kicks (exclusive)
        kick_to: u32,
        /// Row of the samples of the first step
        slot: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

device_struct! {
    /// Population as the step reads it.
    pub struct RulesPopulation {
        /// Index of the first neuron in the state arrays
        state: u32,
        /// Index of the first neuron
        first: u32,
        /// Neurons of the population
        n: u32,
        /// Model of the synapses
        synapses: u32,
        /// Whether input to refractory neurons is lost
        drops: u32,
        /// Index of the first coefficient
        values: u32,
        /// Distance from one coefficient of a neuron to the next
        pitch: u32,
        /// Distance from a coefficient of one neuron to that of the next: 1 or 0
        varies: u32,
        /// First Poisson input
        inputs_from: u32,
        /// End of the Poisson inputs (exclusive)
        inputs_to: u32,
        /// First outgoing projection with a smallest delay of one step
        near_from: u32,
        /// First outgoing projection with a longer smallest delay; end of those with one step
        far_from: u32,
        /// End of the outgoing projections
        far_to: u32,
    }
}

device_struct! {
    /// Projection as the delivery reads it.
    pub struct RulesProjection {
        /// Index of the start of its first row
        starts: u64,
        /// Index of the word of its first synapse
        words: u64,
        /// Offset of its first weight, bytes
        weights: u64,
        /// Index of the sum of the first postsynaptic neuron, in a slot
        target: u32,
        /// Smallest delay, steps
        delay_min: u32,
        /// Format of the weights
        format: u32,
        /// Weight of all synapses
        constant: i32,
        /// Bits by which stored weights are shifted
        shift: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

device_struct! {
    /// A Poisson input of a population.
    pub struct RulesInput {
        /// First step with events
        since: u64,
        /// Index of the first entry of its distribution
        table: u32,
        /// Entries of its distribution
        entries: u32,
        /// Weight of an event, in units of the sums
        weight: i32,
        /// Receptor that receives the events
        receptor: u32,
        /// Purpose and stream of its draws
        address: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

device_struct! {
    /// Sizes of the tables that the persistent kernel copies to shared memory.
    pub struct RulesTables {
        /// Whether the tables fit
        cached: u32,
        /// Projections of the network
        projections: u32,
        /// Poisson inputs of the network
        inputs: u32,
        /// Entries of all distributions of Poisson counts
        entries: u32,
    }
}

device_struct! {
    /// The spikes of one step: their range in the ring.
    pub struct RulesList {
        /// Synaptic events of the step
        events: u64,
        /// Offset in the ring of spikes
        start: u32,
        /// Number of spikes
        count: u32,
    }
}

device_struct! {
    /// A distribution whose quantiles are evaluated.
    pub struct RulesLaw {
        /// First argument; of a uniform distribution the lowest value
        a: f64,
        /// Second argument; of a uniform distribution the width
        b: f64,
        /// Lowest value
        low: f64,
        /// Largest value
        high: f64,
        /// Lowest value of the standard normal number
        z_low: f64,
        /// Largest value of the standard normal number
        z_high: f64,
        /// Probability below the lowest value
        below: f64,
        /// Probability between lowest and largest value
        below_width: f64,
        /// Probability above the largest value
        above: f64,
        /// Probability between lowest and largest value, as a difference of upper tails
        above_width: f64,
        /// Family of distributions
        kind: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

device_struct! {
    /// A projection whose rows are made.
    pub struct RulesRowArgs {
        /// Seed of the draws
        seed: u64,
        /// Index of the start of its first row
        starts: u64,
        /// Index of the word of its first synapse
        words: u64,
        /// Offset of its first weight, bytes
        weights: u64,
        /// Probability of a pair
        p: f64,
        /// 1 / ln(1 - p); 0 for p = 1
        per_log: f64,
        /// Time step, ms
        dt_ms: f64,
        /// Weight that is stored as 1
        scale: f64,
        /// Distribution of the weights
        weight: RulesLaw,
        /// Distribution of the delays, ms
        delay: RulesLaw,
        /// Purpose and stream of its draws
        address: u32,
        /// Rule of the connections
        rule: u32,
        /// Number of presynaptic neurons
        n_from: u32,
        /// Number of postsynaptic neurons
        n_to: u32,
        /// Partners of each neuron
        degree: u32,
        /// Whether a neuron never connects to itself
        skips_own: u32,
        /// Whether a pair may be connected several times
        multapses: u32,
        /// Format of the weights
        format: u32,
        /// Weight of all synapses
        constant: i32,
        /// Bits by which stored weights are shifted
        shift: u32,
        /// Smallest delay, steps
        delay_min: u32,
        /// Steps from the smallest to the largest delay, both included
        delays: u32,
        /// Index of the projection
        projection: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

/// Value of [`RulesLaw::kind`] for a constant.
pub const LAW_CONSTANT: u32 = 0;
/// Value of [`RulesLaw::kind`] for a uniform distribution.
pub const LAW_UNIFORM: u32 = 1;
/// Value of [`RulesLaw::kind`] for a normal distribution.
pub const LAW_NORMAL: u32 = 2;
/// Value of [`RulesLaw::kind`] for the exponential of a normal distribution.
pub const LAW_LOG_NORMAL: u32 = 3;
/// Value of [`RulesRowArgs::rule`] for all pairs.
pub const RULE_ALL: u32 = 0;
/// Value of [`RulesRowArgs::rule`] for pairs of equal index.
pub const RULE_ONE: u32 = 1;
/// Value of [`RulesRowArgs::rule`] for pairs with a probability.
pub const RULE_PAIRS: u32 = 2;
/// Value of [`RulesRowArgs::rule`] for a number of inputs per neuron.
pub const RULE_IN_DEGREE: u32 = 3;
/// Value of [`RulesRowArgs::rule`] for rows of known length.
pub const RULE_DEGREE: u32 = 4;

/// Value of [`RulesProjection::format`] for one weight.
pub const WEIGHT_CONSTANT: u32 = 0;
/// Value of [`RulesProjection::format`] for weights of 16 bits.
pub const WEIGHT_NARROW: u32 = 1;
/// Value of [`RulesProjection::format`] for weights of 32 bits.
pub const WEIGHT_WIDE: u32 = 2;
/// Value of [`RulesPopulation::synapses`] for currents that decay exponentially.
pub const SYNAPSES_EXPONENTIAL: u32 = 0;
/// Value of [`RulesPopulation::synapses`] for alpha-shaped currents.
pub const SYNAPSES_ALPHA: u32 = 1;
/// Value of [`RulesPopulation::synapses`] for jumps of u.
pub const SYNAPSES_DELTA: u32 = 2;

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
    SYNAPSES_DELTA
];

kernels! {
    /// Kernels of networks from rules.
    pub struct RulesKernels in "spiking/rules.cu" using [
        RingLayout, LifConstants, Model, Window, Segment, Chunk, DeviceRate, KickSource, Kick, Overflow, WeightGain,
        RulesModel, RulesClock, RulesPopulation, RulesProjection, RulesInput, RulesList, RulesTables,
    ] with [SHARED, SYNAPSE, RULES] {
        /// Adds the rows of the spikes that arrive in the first step of a launch. Items: synaptic events.
        #[block(256)]
        fn deliver_rules as DeliverRules(
            model: In<RulesModel>, clock: In<RulesClock>, populations: In<RulesPopulation>, projections: In<RulesProjection>,
            outgoing: In<u32>, far_delays: In<u32>, starts: In<u64>, splits: In<u32>, words: In<u32>, weights: In<u8>, gain_of: In<u16>,
            gains: In<WeightGain>, lists: InOut<RulesList>, spikes: In<u32>, sums: InOut<i32>
        );

        /// Steps every neuron, lists the spikes, and adds the rows of the spikes that arrive in the next step. Items: synaptic
        /// events.
        #[block(256)]
        fn step_rules as StepRules(
            model: In<RulesModel>, clock: In<RulesClock>, index: Size<u32>, delivers: Size<u32>, populations: In<RulesPopulation>,
            population_of: In<u16>, values: In<f32>, inputs: In<RulesInput>, tables: In<u32>, kicking: In<Model>,
            sources: In<KickSource>, chances: In<u64>, masks: In<u32>, trains: In<u32>, kicks: In<Kick>, marks: In<u32>,
            traced: In<u32>, projections: In<RulesProjection>, outgoing: In<u32>, far_delays: In<u32>, starts: In<u64>, splits: In<u32>,
            words: In<u32>, weights: In<u8>, gain_of: In<u16>, gains: In<WeightGain>, lists: InOut<RulesList>,
            spikes: InOut<u32>, sums: InOut<i32>, state: InOut<f32>, non_finite: InOut<u64>, samples: InOut<f32>
        );

        /// Runs many steps per launch, like `step_rules`, with the neurons in registers. Items: synaptic events.
        #[block(768)]
        fn step_rules_persistent as StepRulesPersistent(
            model: In<RulesModel>, clock: In<RulesClock>, n_steps: Size<u32>, table_sizes: Size<RulesTables>, populations: In<RulesPopulation>,
            population_of: In<u16>, values: In<f32>, inputs: In<RulesInput>, tables: In<u32>, kicking: In<Model>,
            sources: In<KickSource>, chances: In<u64>, masks: In<u32>, trains: In<u32>, kicks: In<Kick>, marks: In<u32>,
            traced: In<u32>, projections: In<RulesProjection>, outgoing: In<u32>, far_delays: In<u32>, starts: In<u64>, splits: In<u32>,
            words: In<u32>, weights: In<u8>, gain_of: In<u16>, gains: In<WeightGain>, lists: InOut<RulesList>,
            spikes: InOut<u32>, sums: InOut<i32>, state: InOut<f32>, non_finite: InOut<u64>, samples: InOut<f32>, barrier: InOut<u32>
        );

        /// Computes the potential of every neuron, for views.
        #[block(256)]
        fn read_rules_potentials as ReadRulesPotentials(
            model: In<RulesModel>, populations: In<RulesPopulation>, population_of: In<u16>, values: In<f32>, state: In<f32>,
            v: InOut<f32>
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

impl RulesKernels {
    /// Whether all blocks of a grid of `step_rules_persistent` are resident at once, as the grid barrier requires.
    /// Fails if the driver fails.
    pub fn fits_persistent(&self, grid: Grid) -> Result<bool, GpuError> {
        self.step_rules_persistent.fits_at_once(grid)
    }
}
