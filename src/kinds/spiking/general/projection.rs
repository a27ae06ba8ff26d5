//! Projections and external input of a network from rules.

use super::{homeostasis::Scaling, patterns::PatternInput, plasticity::Plasticity};
use crate::{
    choices, one_of, params,
    params::{Distribution, PathText, one_of::NoParameters},
};

choices! {
    /// Receptor of the postsynaptic neurons.
    pub enum Receptor {
        /// The excitatory receptor if the median weight is above 0, otherwise the inhibitory one.
        #[title("By sign of the weight")]
        BySign,
        /// The excitatory receptor.
        Excitatory,
        /// The inhibitory receptor.
        Inhibitory,
    }
}

choices! {
    /// Connection probability as a function of the distance d.
    pub enum Profile {
        /// p exp(-d² / (2 λ²)).
        Gaussian,
        /// p exp(-d / λ).
        Exponential,
        /// p up to the distance λ, otherwise 0.
        Within,
    }
}

params! {
    /// Every presynaptic neuron connects to every postsynaptic neuron.
    pub struct AllToAll {
        /// Whether neurons connect to themselves.
        #[param(title = "Autapses", apply = Rebuild)]
        autapses: bool = true,
    }
}

params! {
    /// Each pair is connected independently with the same probability.
    pub struct PairwiseBernoulli {
        /// Probability of a connection from a presynaptic to a postsynaptic neuron.
        #[param(title = "Probability", range = 1e-4..=1.0, hard = 0.0..=1.0, scale = Log, symbol = "p", apply = Rebuild)]
        p: f64 = 0.1,

        /// Whether neurons connect to themselves.
        #[param(title = "Autapses", apply = Rebuild)]
        autapses: bool = true,
    }
}

params! {
    /// Each neuron has the same number of synapses, with random partners.
    pub struct FixedDegree {
        /// Number of synapses per neuron.
        #[param(title = "Synapses per neuron", range = 1.0..=10_000.0, hard = 0.0..=1e6, scale = Log, symbol = "K", apply = Rebuild)]
        n: i64 = 100,

        /// Whether neurons connect to themselves.
        #[param(title = "Autapses", apply = Rebuild)]
        autapses: bool = true,

        /// Whether a pair of neurons has several synapses.
        #[param(title = "Multapses", apply = Rebuild)]
        multapses: bool = true,
    }
}

params! {
    /// A fixed number of synapses, each with random neurons at both ends. A pair may have several synapses.
    pub struct FixedTotal {
        /// Number of synapses of the projection.
        #[param(title = "Synapses", range = 1.0..=1e9, hard = 0.0..=1e12, scale = Log, symbol = "K", apply = Rebuild)]
        n: i64 = 10_000,

        /// Whether neurons connect to themselves.
        #[param(title = "Autapses", apply = Rebuild)]
        autapses: bool = true,
    }
}

params! {
    /// Each pair is connected independently with a probability that decreases with the distance.
    pub struct ByDistance {
        /// Connection probability as a function of the distance.
        #[param(title = "Profile", apply = Rebuild)]
        profile: Profile = Profile::Gaussian,

        /// Probability at distance 0.
        #[param(title = "Probability at distance 0", range = 0.0..=1.0, symbol = "p", apply = Rebuild)]
        p: f64 = 0.5,

        /// Length scale of the profile.
        #[param(title = "Length scale", unit = Um, range = 1.0..=1000.0, hard = 0.001..=1e6, scale = Log, symbol = "λ", apply = Rebuild)]
        scale: f64 = 100.0,

        /// Whether neurons connect to themselves.
        #[param(title = "Autapses", apply = Rebuild)]
        autapses: bool = false,
    }
}

params! {
    /// Connections from an edge list. The indices are those of the neurons within the two populations.
    pub struct FromFile {
        /// Edge list: edges.parquet or edges.csv with pre, post, w, and optionally delay_ms, which replaces the delay. The weight of
        /// a connection is w times a draw of the weight: a weight of 1 takes w as it is, in pA or mV. Without fractions and delays,
        /// w is a synapse count, and rows of one pair are added up. Or SONATA edges (.h5) with syn_weight or nsyns, or with these by edge
        /// type in edge_types.csv beside the file.
        #[param(title = "Edge file", apply = Rebuild)]
        path: PathText = PathText::default(),
    }
}

one_of! {
    /// Rule of a projection.
    pub enum ConnectionRule {
        /// Every presynaptic neuron connects to every postsynaptic one.
        AllToAll(AllToAll),
        /// Neurons with the same index are connected; both populations have the same size.
        OneToOne(NoParameters),
        /// Each pair is connected with the same probability.
        #[title("Pairwise Bernoulli")]
        Bernoulli(PairwiseBernoulli),
        /// Each postsynaptic neuron has the same number of inputs.
        #[title("Fixed in-degree")]
        FixedInDegree(FixedDegree),
        /// Each presynaptic neuron has the same number of outputs.
        #[title("Fixed out-degree")]
        FixedOutDegree(FixedDegree),
        /// A fixed number of synapses connects random neurons.
        #[title("Fixed total number")]
        FixedTotal(FixedTotal),
        /// Each pair is connected with a probability that decreases with the distance.
        ByDistance(ByDistance),
        /// Connections are read from an edge list.
        FromFile(FromFile),
    }
}

params! {
    /// A projection: connections from one population to another, or within one.
    pub struct Projection {
        /// Population of the presynaptic neurons.
        #[param(title = "From", role = Role::From, apply = Rebuild)]
        from: String = String::new(),

        /// Population of the postsynaptic neurons.
        #[param(title = "To", role = Role::To, apply = Rebuild)]
        to: String = String::new(),

        /// Rule that makes the connections.
        #[param(title = "Rule", apply = Rebuild)]
        rule: ConnectionRule = ConnectionRule::Bernoulli(PairwiseBernoulli::default()),

        /// Weight of a synapse, in the unit of the postsynaptic model: pA, or mV for delta and CUBA; negative inhibits.
        #[param(title = "Weight", role = Role::Weight, range = -500.0..=500.0, hard = -1e9..=1e9, symbol = "w", source = "Potjans & Diesmann 2014", apply = Rebuild)]
        weight: Distribution = Distribution::constant(87.8),

        /// Delay from a spike to its effect, rounded to time steps. One delay is at most 1 s; several span at most 64 steps.
        #[param(title = "Delay", unit = Ms, range = 0.1..=20.0, hard = 0.001..=1000.0, scale = Log, symbol = "d", apply = Rebuild)]
        delay: Distribution = Distribution::constant(1.5),

        /// Receptor of the postsynaptic neurons.
        #[param(title = "Receptor", apply = Rebuild)]
        receptor: Receptor = Receptor::BySign,

        /// Plasticity of the synapses.
        #[param(title = "Plasticity", apply = Rebuild)]
        plasticity: Plasticity = Plasticity::Static(NoParameters {}),

        /// Part of the delay before the synapse, rounded to time steps; the rest, at least one step, is dendritic. Postsynaptic spikes
        /// reach the synapse after the dendritic part.
        #[param(title = "Axonal delay", unit = Ms, range = 0.0..=20.0, hard = 0.0..=1000.0, symbol = "d_a", apply = Rebuild)]
        #[show_if(|s| !matches!(s.plasticity, Plasticity::Static(_) | Plasticity::TsodyksMarkram(_)))]
        axonal_delay: f64 = 0.0,

        /// Whether spikes change the weights. If not, weights and eligibilities keep their values, and traces continue.
        #[param(title = "Learning")]
        #[show_if(|s| !matches!(s.plasticity, Plasticity::Static(_) | Plasticity::TsodyksMarkram(_)))]
        learning: bool = true,

        /// Homeostatic scaling of the weights of each postsynaptic neuron, while the projection learns (Turrigiano 2008).
        #[param(title = "Homeostatic scaling", source = "Turrigiano 2008", apply = Rebuild)]
        #[show_if(|s| !matches!(s.plasticity, Plasticity::Static(_) | Plasticity::TsodyksMarkram(_)))]
        scaling: Scaling = Scaling::Unscaled(NoParameters {}),
    }
}

params! {
    /// Poisson spike trains, independent for each neuron. Several spikes may arrive in a step.
    pub struct PoissonInput {
        /// Spikes per second and neuron, of all presynaptic neurons together.
        #[param(title = "Rate", unit = Hz, range = 0.0..=50_000.0, hard = 0.0..=1e7, symbol = "ν")]
        rate: f64 = 10_000.0,

        /// Weight of a spike, in the unit of the model: pA, or mV for delta and CUBA; negative inhibits.
        #[param(title = "Weight", range = -500.0..=500.0, hard = -1e9..=1e9, symbol = "w", source = "Potjans & Diesmann 2014")]
        weight: f64 = 87.8,

        /// Receptor of the neurons.
        #[param(title = "Receptor")]
        receptor: Receptor = Receptor::BySign,

        /// Delay of the first spikes.
        #[param(title = "Delay", unit = Ms, range = 0.1..=20.0, hard = 0.001..=1000.0, scale = Log, symbol = "d")]
        delay: f64 = 1.5,
    }
}

params! {
    /// A constant current.
    pub struct CurrentInput {
        /// Current of each neuron, in the unit of the model: pA, or mV of steady-state depolarisation for CUBA.
        #[param(title = "Amplitude", range = -500.0..=500.0, hard = -1e9..=1e9, symbol = "I")]
        amplitude: Distribution = Distribution::constant(0.0),
    }
}

one_of! {
    /// External input of a population.
    pub enum InputSource {
        /// Poisson spike trains into a receptor.
        #[title("Poisson spikes")]
        Poisson(PoissonInput),
        /// A constant current.
        Current(CurrentInput),
        /// Patterns, one after another, as voltage pulses.
        #[title("Presented patterns")]
        Patterns(PatternInput),
    }
}

params! {
    /// External input of all neurons of a population during the whole run.
    pub struct ExternalInput {
        /// Population that receives the input.
        #[param(title = "Population", role = Role::OfNode, apply = Rebuild)]
        population: String = String::new(),

        /// Source of the input.
        #[param(title = "Source", apply = Rebuild)]
        source: InputSource = InputSource::Poisson(PoissonInput::default()),
    }
}
