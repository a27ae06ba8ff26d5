//! Parameters of a spiking project, in user units. `derive()` in `constants.rs` converts them to model constants.

use super::{
    general::{ExternalInput, Population, Projection},
    start::StartPotentials,
};
use crate::{
    choices, interventions, param_tree, params,
    params::{Distribution, PathText, one_of::NoParameters},
};

pub use super::rewiring::Rewiring;
pub use crate::{kinds::shared::real::StatePrecision, params::Selection};

choices! {
    /// Neuron model.
    pub enum NeuronModel {
        /// Leaky integrate-and-fire neurons with exponential synapses, after Shiu et al. 2024: group `lif`.
        #[title("LIF, exponential synapses")]
        ExponentialLif,
        /// Leaky units in steps of 1 ms with uniform noise, after the FastFly demonstration: group `leaky`.
        #[title("Leaky integrator (FastFly)")]
        NoisyLeaky,
    }
}

choices! {
    /// Source of the network.
    pub enum Source {
        /// A folder or files on disk: an edge list and optionally a neuron table.
        #[role(ReadsFolder)]
        Files,
        /// Generated: the size, signs, degrees, classes and sides of the FlyWire v783 connectome, random partners.
        #[title("Synthetic fly network")]
        FlyStandIn,
        /// Generated: sparse random network of excitatory and inhibitory neurons.
        #[title("Balanced random network")]
        Balanced,
        /// Populations and projections of this project: groups `rules`, `populations`, `projections` and `external_inputs`.
        #[title("From rules")]
        Rules,
    }
}

choices! {
    /// Sign of a weight.
    pub enum Sign {
        /// Depolarises.
        Excitatory,
        /// Hyperpolarises.
        Inhibitory,
    }
}

params! {
    /// Leaky integrate-and-fire neurons with exponential synapses (Shiu et al. 2024), identical for all neurons.
    pub struct Lif {
        /// Membrane time constant.
        #[param(title = "Membrane time constant", unit = Ms, range = 1.0..=100.0, hard = 0.1..=10_000.0, scale = Log, symbol = "τ_m", formula = "τ_m dv/dt = v_0 - v + g", source = "Shiu et al. 2024")]
        tau_m: f64 = 20.0,

        /// Decay time constant of the synaptic drive g.
        #[param(title = "Synaptic time constant", unit = Ms, range = 0.5..=50.0, hard = 0.1..=10_000.0, scale = Log, symbol = "τ_syn", formula = "τ_syn dg/dt = -g", source = "Shiu et al. 2024")]
        tau_syn: f64 = 5.0,

        /// Resting potential.
        #[param(title = "Resting potential", unit = Mv, range = -90.0..=-30.0, hard = -1000.0..=1000.0, symbol = "v_0", formula = "τ_m dv/dt = v_0 - v + g", source = "Shiu et al. 2024")]
        v_rest: f64 = -52.0,

        /// Potential after a spike.
        #[param(title = "Reset potential", unit = Mv, range = -90.0..=-30.0, hard = -1000.0..=1000.0, symbol = "v_rst", source = "Shiu et al. 2024")]
        v_reset: f64 = -52.0,

        /// The neuron spikes when its potential is strictly above this.
        #[param(title = "Spike threshold", unit = Mv, range = -60.0..=-20.0, hard = -1000.0..=1000.0, symbol = "v_th", formula = "v > v_th: v ← v_rst, g ← 0", source = "Shiu et al. 2024")]
        v_threshold: f64 = -45.0,

        /// Duration after a spike in which the potential is frozen and input is lost.
        #[param(title = "Refractory period", unit = Ms, range = 0.0..=20.0, hard = 0.0..=1000.0, symbol = "t_ref", source = "Shiu et al. 2024")]
        t_refractory: f64 = 2.2,

        /// Weight of one synapse: a connection of n synapses adds n times this to g.
        #[param(title = "Synaptic weight (per synapse)", unit = Mv, range = 0.0..=1.0, hard = -100.0..=100.0, symbol = "w_syn", formula = "g ← g + n w_syn", source = "Shiu et al. 2024")]
        w_syn: f64 = 0.275,

        /// Delay from a spike to its effect on g, the same for all synapses.
        #[param(title = "Synaptic delay", unit = Ms, range = 0.1..=10.0, hard = 0.01..=1000.0, symbol = "t_dly", apply = Rebuild, source = "Shiu et al. 2024")]
        t_delay: f64 = 1.8,

        /// Time step.
        #[param(title = "Time step", unit = Ms, range = 0.05..=1.0, hard = 0.001..=10.0, scale = Log, apply = Rebuild)]
        dt: f64 = 0.1,

        /// Precision of the state: with double precision, spikes are those of Brian2; with single precision, individual spikes
        /// may shift, but rates do not.
        #[param(title = "Precision", apply = Rebuild)]
        precision: StatePrecision = StatePrecision::F64,

        /// Membrane potentials at step 0.
        #[param(title = "Start potentials", apply = Rewind)]
        start: StartPotentials = StartPotentials::AtRest(NoParameters {}),
    }
}

params! {
    /// Leaky units with uniform noise: the model of the FastFly demonstration, for benchmarks. The resting potential is
    /// 0 mV and the threshold 1 mV, so all values in mV (pulses, currents, potentials) are in units of the threshold.
    pub struct Leaky {
        /// Decay factor of the potential per step: 0.9 per millisecond is a time constant of 9.5 ms.
        #[param(title = "Decay per step", range = 0.5..=1.0, hard = 0.0..=1.0)]
        decay: f64 = 0.9,

        /// Uniform noise between minus this and this is added to every unit in every step, in units of the threshold.
        #[param(title = "Noise amplitude", range = 0.0..=1.0, hard = 0.0..=100.0)]
        noise_amplitude: f64 = 0.4,

        /// Mean weight of a connection, in units of the threshold: a connection of n synapses weighs n times this,
        /// divided by the mean number of synapses per connection.
        #[param(title = "Mean weight", range = 0.0..=0.2, hard = 0.0..=100.0)]
        mean_weight: f64 = 0.03,

        /// Time step, and the delay of all connections.
        #[param(title = "Time step", unit = Ms, range = 0.1..=10.0, hard = 0.001..=100.0, scale = Log, apply = Rebuild)]
        dt: f64 = 1.0,
    }
}

params! {
    /// Neuron model, neurons and connectivity.
    pub struct Network {
        /// Neuron model.
        #[param(title = "Neuron model", apply = Rebuild)]
        #[show_if(|s| s.source != Source::Rules)]
        model: NeuronModel = NeuronModel::ExponentialLif,

        /// Source of neurons and connectivity.
        #[param(title = "Source", apply = Rebuild)]
        source: Source = Source::FlyStandIn,

        /// Folder with edges.parquet or edges.csv (pre, post, w) and optionally neurons.parquet, neurons.csv or
        /// nodes.csv; or with Completeness_783.csv and Connectivity_783.parquet; or an edge file.
        #[param(title = "Network folder or file", role = Role::NetworkFolder, apply = Rebuild)]
        #[show_if(|s| s.source == Source::Files)]
        path: PathText = PathText::default(),

        /// Table of names, classes and positions in addition to that of the folder: any of root_id, name, super_class, class,
        /// cell_type, side, nt, x, y, z. Its rows are joined by root_id with the ids of the network.
        #[param(title = "Neuron table", apply = Rebuild)]
        #[show_if(|s| s.source == Source::Files)]
        neurons: PathText = PathText::default(),

        /// Column that identifies the neurons in the neuron table, or else in the table of the folder: ids, or texts that
        /// are the names of the network. Empty: root_id, then idx, then name.
        #[param(title = "Key column", apply = Rebuild)]
        #[show_if(|s| s.source == Source::Files)]
        neuron_key: String = String::new(),

        /// FlyWire annotations (tab-separated), for classes and positions by root_id.
        #[param(title = "Annotations (FlyWire)", apply = Rebuild)]
        #[show_if(|s| s.source == Source::Files)]
        annotations: PathText = PathText::default(),

        /// Number of neurons.
        #[param(title = "Neurons", range = 100.0..=1_000_000.0, hard = 2.0..=16_000_000.0, scale = Log, apply = Rebuild)]
        #[show_if(|s| s.source == Source::Balanced)]
        n_neurons: u32 = 4000,

        /// Number of presynaptic neurons per neuron.
        #[param(title = "Inputs per neuron", range = 1.0..=1000.0, hard = 0.0..=100_000.0, scale = Log, apply = Rebuild)]
        #[show_if(|s| s.source == Source::Balanced)]
        in_degree: u32 = 80,

        /// Fraction of excitatory neurons.
        #[param(title = "Excitatory fraction", range = 0.0..=1.0, apply = Rebuild)]
        #[show_if(|s| s.source == Source::Balanced)]
        excitatory_fraction: f64 = 0.8,

        /// Synapses per excitatory connection: whole numbers, drawn for each connection.
        #[param(title = "Synapses per exc. connection", range = 1.0..=100.0, hard = 0.0..=2000.0, apply = Rebuild)]
        #[show_if(|s| s.source == Source::Balanced)]
        excitatory_count: Distribution = Distribution::constant(6.0),

        /// Synapses per inhibitory connection: whole numbers, drawn for each connection.
        #[param(title = "Synapses per inh. connection", range = 1.0..=500.0, hard = 0.0..=2000.0, apply = Rebuild)]
        #[show_if(|s| s.source == Source::Balanced)]
        inhibitory_count: Distribution = Distribution::constant(33.0),

        /// Random wiring that keeps chosen properties of the network, as a control for effects of the wiring. A condition of an
        /// experiment, as in `--vary network.rewire=Original,DegreePreserving`. Networks from rules are not rewired.
        #[param(title = "Rewiring", source = "Maslov & Sneppen 2002", apply = Rebuild)]
        #[show_if(|s| s.source != Source::Rules || s.rewire != Rewiring::Original)]
        rewire: Rewiring = Rewiring::Original,

        /// Seed of the rewiring. It does not depend on the seed of the project, so all trials have the same wiring; vary it to
        /// compare several wirings.
        #[param(title = "Rewiring seed", range = 0.0..=1000.0, hard = 0.0..=4_294_967_295.0, apply = Rebuild)]
        #[show_if(|s| s.rewire != Rewiring::Original)]
        rewire_seed: u32 = 1,
    }
}

params! {
    /// Input files: stimuli from CSV files.
    pub struct Stimulus {
        /// CSV with columns idx, step: neuron idx receives a voltage pulse in that step. Targets have no refractory
        /// period.
        #[param(title = "Voltage pulses (file)")]
        kicks: PathText = PathText::default(),

        /// CSV with a column idx: these neurons receive independent Poisson trains. Targets have no refractory period.
        #[param(title = "Poisson targets (file)")]
        poisson: PathText = PathText::default(),

        /// Rate of the Poisson trains.
        #[param(title = "Rate", unit = Hz, range = 0.0..=300.0, hard = 0.0..=10_000.0)]
        #[show_if(|s| !s.poisson.0.trim().is_empty())]
        rate_hz: f64 = 150.0,

        /// Voltage pulse to the membrane per event; 68.75 mV is 250 synapses.
        #[param(title = "Pulse amplitude", unit = Mv, range = 0.0..=100.0, hard = -1000.0..=1000.0)]
        #[show_if(|s| !s.poisson.0.trim().is_empty() || !s.kicks.0.trim().is_empty())]
        weight_mv: f64 = 68.75,
    }
}

params! {
    /// Network from rules.
    pub struct Rules {
        /// Time step of the network.
        #[param(title = "Time step", unit = Ms, range = 0.05..=1.0, hard = 0.001..=10.0, scale = Log, apply = Rebuild)]
        dt: f64 = 0.1,

        /// Time between samples of plastic weights: mean, standard deviation and histogram. Does not affect the simulation.
        #[param(title = "Weight interval", unit = Ms, range = 1.0..=1000.0, hard = 0.01..=1e6, scale = Log)]
        weight_interval_ms: f64 = 100.0,
    }
}

params! {
    /// A plastic synapse with recorded weight, traces and eligibility. Neurons are given by name, id or index.
    pub struct RecordedSynapse {
        /// Presynaptic neuron; empty: the first with a plastic synapse to the postsynaptic neuron.
        #[param(title = "Presynaptic neuron")]
        from: String = String::new(),

        /// Postsynaptic neuron; empty: the first in the order of the network.
        #[param(title = "Postsynaptic neuron")]
        to: String = String::new(),

        /// Number of the synapse among the plastic synapses from one neuron to the other, from 0.
        #[param(title = "Number of the synapse", range = 0.0..=10.0, hard = 0.0..=1e9)]
        number: u32 = 0,
    }
}

interventions! {
    /// Effect of an intervention while it is active.
    pub enum Effect {
        /// Independent Poisson trains of voltage pulses to the membrane; targets have no refractory period.
        #[title("Poisson input")]
        #[role(Excites)]
        Poisson,
        /// Voltage pulses at listed steps, from a CSV file with columns idx, step; targets have no refractory period.
        #[title("Voltage pulses (file)")]
        #[role(ExcitesFromFile)]
        Kicks,
        /// Constant input current, given as its steady-state depolarisation.
        #[title("Current injection")]
        #[role(Excites)]
        Current,
        /// Poisson voltage pulses that keep the refractory period: background noise.
        #[title("Background noise")]
        #[role(Excites)]
        Noise,
        /// Spikes of the targets are not delivered.
        #[title("Silence output")]
        #[role(SilencesOutput)]
        SilenceOutgoing,
        /// Spikes of the targets are not delivered, and the targets receive no input.
        #[title("Silence input and output")]
        #[role(Silences)]
        SilenceBoth,
        /// Multiplies the outgoing weights of the targets.
        #[title("Scale weights")]
        #[role(Scales)]
        ScaleWeights,
        /// Makes all outgoing weights of the targets excitatory or inhibitory.
        #[title("Override sign")]
        #[role(Scales)]
        SignOverride,
        /// Permutes the plastic weights of each neuron once, at the start; with a period, at the start of each pulse. The
        /// distribution of the weights stays: a control for what was learned about single inputs.
        #[title("Shuffle plastic weights")]
        #[role(Shuffles)]
        ShuffleWeights,
    }

    /// A stimulus, or silencing, of a set of neurons over a time interval; or another value of a parameter.
    pub struct Intervention(f64, Ms) {
        /// CSV file with columns idx, step.
        #[param(title = "Pulse file")]
        #[show_if(|s| s.effect == Effect::Kicks)]
        file: PathText = PathText::default(),

        /// Events per second and neuron.
        #[param(title = "Rate", unit = Hz, range = 0.0..=300.0, hard = 0.0..=10_000.0)]
        #[show_if(|s| matches!(s.effect, Effect::Poisson | Effect::Noise))]
        rate_hz: f64 = 150.0,

        /// Voltage pulse to the membrane per event.
        #[param(title = "Pulse amplitude", unit = Mv, range = 0.0..=100.0, hard = -1000.0..=1000.0)]
        #[show_if(|s| matches!(s.effect, Effect::Poisson | Effect::Noise | Effect::Kicks))]
        weight_mv: f64 = 68.75,

        /// Steady-state depolarisation without threshold; for leaky units, added in every step.
        #[param(title = "Current", unit = Mv, range = -20.0..=20.0, hard = -1000.0..=1000.0)]
        #[show_if(|s| s.effect == Effect::Current)]
        current_mv: f64 = 8.0,

        /// Factor of the outgoing synapse counts, rounded to whole synapses.
        #[param(title = "Weight factor", range = 0.0..=4.0, hard = -100.0..=100.0)]
        #[show_if(|s| s.effect == Effect::ScaleWeights)]
        factor: f64 = 1.0,

        /// Sign of the outgoing weights.
        #[param(title = "Sign")]
        #[show_if(|s| s.effect == Effect::SignOverride)]
        sign: Sign = Sign::Excitatory,

        /// Projections with changing weights, separated by commas, by name (`E → E`) or index in the list of projections. Empty:
        /// all of them.
        #[param(title = "Shuffled projections")]
        #[show_if(|s| s.effect == Effect::ShuffleWeights)]
        projections: String = String::new(),
    }
}

params! {
    /// Recording of traces and rates. Does not affect the simulation.
    pub struct Measure {
        /// Time between samples of v and g of traced neurons.
        #[param(title = "Trace interval", unit = Ms, range = 0.1..=10.0, hard = 0.01..=1000.0, scale = Log)]
        trace_every_ms: f64 = 0.5,

        /// Bin width of the population and class rates.
        #[param(title = "Rate bin", unit = Ms, range = 1.0..=100.0, hard = 0.1..=10_000.0, scale = Log)]
        rate_bin_ms: f64 = 5.0,

        /// Time constant of the running rate of each neuron.
        #[param(title = "Rate time constant", unit = Ms, range = 10.0..=1000.0, hard = 1.0..=100_000.0, scale = Log)]
        rate_tau_ms: f64 = 100.0,

        /// Column of the neuron table that groups the class rates and the raster.
        #[param(title = "Group by")]
        group_by: String = "super_class".to_owned(),

        /// Times other methods of spike delivery in every profiled batch: the rows variant_… of the kernel table, in
        /// synaptic events per second, with their error relative to `deliver_spikes`. Has an effect only on a GPU.
        #[param(title = "Compare delivery methods")]
        variants: bool = false,
    }
}

param_tree! {
    /// Parameters of a spiking project.
    pub struct Params {
        /// Neuron model, neurons and connectivity.
        #[title("Network")]
        network: Network,
        /// Parameters of the LIF neuron, the same for all neurons.
        #[title("LIF neuron")]
        #[show_if(|p| p.network.source != Source::Rules && p.network.model == NeuronModel::ExponentialLif)]
        lif: Lif,
        /// Stimuli from CSV files.
        #[title("Input files")]
        stimulus: Stimulus,
        /// Named sets of neurons, for use as targets and in views.
        #[title("Neuron groups")]
        #[role(Selections)]
        selections: [Selection],
        /// Stimuli and silencing, each of a set of neurons over a time interval.
        #[title("Stimuli & silencing")]
        #[role(Interventions)]
        interventions: [Intervention],
        /// Traces, rates and grouping. Does not affect the simulation.
        #[title("Recording")]
        measure: Measure,
        /// Parameters of the noisy leaky unit. The threshold is 1 mV and rest is 0 mV, so mV are units of the
        /// threshold.
        #[title("Leaky integrator")]
        #[show_if(|p| p.network.source != Source::Rules && p.network.model == NeuronModel::NoisyLeaky)]
        leaky: Leaky,
        /// Settings of a network from populations and projections.
        #[title("Network from rules")]
        #[show_if(|p| p.network.source == Source::Rules)]
        rules: Rules,
        /// Populations of neurons, each with one neuron model.
        #[title("Populations")]
        #[role(Nodes)]
        #[show_if(|p| p.network.source == Source::Rules)]
        populations: [Population],
        /// Connections from one population to another, or within one.
        #[title("Projections")]
        #[role(Edges)]
        #[show_if(|p| p.network.source == Source::Rules)]
        projections: [Projection],
        /// Poisson spikes and currents into populations.
        #[title("External input")]
        #[show_if(|p| p.network.source == Source::Rules)]
        external_inputs: [ExternalInput],
        /// Plastic synapses with recorded weight, traces and eligibility. Does not affect the simulation.
        #[title("Recorded synapses")]
        #[show_if(|p| p.network.source == Source::Rules)]
        recorded_synapses: [RecordedSynapse],
    }
}

impl Params {
    /// Returns the time step of the selected model, ms.
    pub fn dt_ms(&self) -> f64 {
        match self.network.model {
            _ if self.network.source == Source::Rules => self.rules.dt,
            NeuronModel::ExponentialLif => self.lif.dt,
            NeuronModel::NoisyLeaky => self.leaky.dt,
        }
    }
}
