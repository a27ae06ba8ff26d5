//! Structs and constants that Rust and the kernels of networks from rules share.

use crate::device_struct;

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
        /// First plastic projection onto the population
        plastic_from: u32,
        /// End of the plastic projections onto the population (exclusive)
        plastic_to: u32,
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
        /// Index among the plastic projections plus 1; 0 for constant weights
        plastic: u32,
    }
}

device_struct! {
    /// Table of the decay of a trace, see [`Decay`](crate::kinds::spiking::general::plasticity::decay::Decay).
    pub struct RulesDecay {
        /// Index of its first entry
        first: u32,
        /// Number of its entries less one
        last: u32,
    }
}

device_struct! {
    /// Plasticity of a projection, see [`Rule`](crate::kinds::spiking::general::plasticity::laws::Rule).
    pub struct RulesPlastic {
        /// Index of its first row among the states of rows
        rows: u64,
        /// Index of its first weight
        weights: u64,
        /// Index of its first eligibility
        eligibility: u64,
        /// Index of the head of its first history
        heads: u64,
        /// Index of the first entry of its histories
        entries: u64,
        /// Index of the first slow trace of its histories
        seconds: u64,
        /// Decay of the presynaptic trace; of x with short-term plasticity
        plus: RulesDecay,
        /// Decay of the postsynaptic trace; of u with short-term plasticity
        minus: RulesDecay,
        /// Decay of the slow presynaptic trace
        slow_pre: RulesDecay,
        /// Decay of the slow postsynaptic trace
        slow_post: RulesDecay,
        /// Decay of the eligibility
        eligible: RulesDecay,
        /// Law of the weight changes
        law: u32,
        /// Index of the projection
        projection: u32,
        /// Smallest dendritic delay, steps
        dendritic_min: u32,
        /// Entries of a history less one
        mask: u32,
        /// Synapse time up to which all rows are up to date
        settled: u32,
        /// Whether spikes set traces to 1
        is_nearest: u32,
        /// Whether there are slow traces
        has_slow: u32,
        /// Whether weights of 0 are inhibitory
        is_inhibitory: u32,
        /// Whether spikes change weights and eligibilities
        is_learning: u32,
        /// Amplitude of potentiation; learning rate; with short-term plasticity the utilisation
        a_plus: f32,
        /// Amplitude of depression; depression per presynaptic spike
        a_minus: f32,
        /// Amplitude of potentiation by triplets
        b_plus: f32,
        /// Amplitude of depression by triplets
        b_minus: f32,
        /// Exponent of potentiation
        mu_plus: f32,
        /// Exponent of depression
        mu_minus: f32,
        /// Maximum weight
        w_max: f32,
        /// Weight of one unit of the sums
        unit: f32,
        /// Units of the sums per weight
        scale: f32,
    }
}

device_struct! {
    /// State of a row of plastic synapses, see [`RowState`](crate::kinds::spiking::general::plasticity::part::RowState).
    pub struct RulesRowState {
        /// Synapse time of the last presynaptic spike
        last: u32,
        /// Presynaptic trace at that time, the spike included
        trace: f32,
        /// Slow presynaptic trace at that time, the spike included
        second: f32,
        /// Padding to sixteen bytes
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
        /// Neurons of a block of a plastic network
        span: u32,
        /// Entries of all tables of decays
        decays: u32,
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

/// Value of [`RulesPlastic::law`] for pair-based STDP.
pub const PLASTIC_PAIR: u32 = 0;
/// Value of [`RulesPlastic::law`] for power-law STDP.
pub const PLASTIC_POWER_LAW: u32 = 1;
/// Value of [`RulesPlastic::law`] for triplet STDP.
pub const PLASTIC_TRIPLET: u32 = 2;
/// Value of [`RulesPlastic::law`] for inhibitory STDP.
pub const PLASTIC_INHIBITORY: u32 = 3;
/// Value of [`RulesPlastic::law`] for reward-modulated STDP.
pub const PLASTIC_REWARD: u32 = 4;
/// Value of [`RulesPlastic::law`] for short-term plasticity.
pub const PLASTIC_SHORT_TERM: u32 = 5;
