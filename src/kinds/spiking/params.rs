//! Parameters of a spiking project, in user units. `derive()` in `layout.rs` folds them with the time step.

use crate::{
    choices, param_tree, params,
    params::{PathText, Query},
};

choices! {
    /// What the neurons are.
    pub enum NeuronModel {
        /// Leaky integrate-and-fire neurons with exponential synapses, after Shiu et al. 2024: group `lif`.
        ExponentialLif,
        /// Leaky units in steps of 1 ms, all with uniform noise, after the FastFly demonstration: group `leaky`.
        NoisyLeaky,
    }
}

choices! {
    /// Arithmetic of the state.
    pub enum Precision {
        /// Double precision: follows Brian2 spike for spike.
        F64,
        /// Single precision: half the memory traffic; individual spikes may shift, rates do not.
        F32,
    }
}

choices! {
    /// Where the wiring comes from.
    pub enum Source {
        /// A folder or files on disk: edge list and, when there is one, neuron table.
        Files,
        /// Generated: the size, signs, degrees, classes and sides of the FlyWire v783 connectome, random partners.
        FlyStandIn,
        /// Generated: sparse random network of excitatory and inhibitory neurons.
        Balanced,
    }
}

choices! {
    /// What an intervention does to its target while it lasts.
    pub enum Effect {
        /// Independent Poisson trains that kick the membrane; the targets lose their refractory period.
        Poisson,
        /// Kicks at listed steps, from a CSV file with columns idx, step; targets lose their refractory period.
        Kicks,
        /// Constant input current, as the depolarisation it would settle at.
        Current,
        /// Weak Poisson kicks that keep the refractory period: background noise.
        Noise,
        /// Spikes of the targets reach nobody.
        SilenceOutgoing,
        /// Spikes of the targets reach nobody, and nothing reaches the targets.
        SilenceBoth,
        /// Multiplies the outgoing weights of the targets.
        ScaleWeights,
        /// Makes all outgoing weights of the targets excitatory or inhibitory.
        SignOverride,
    }
}

choices! {
    /// Sign of a transmitter.
    pub enum Sign {
        /// Depolarises.
        Excitatory,
        /// Hyperpolarises.
        Inhibitory,
    }
}

params! {
    /// Leaky integrate-and-fire neurons with exponential synapses (Shiu et al. 2024), the same for all neurons.
    pub struct Lif {
        /// Membrane time constant.
        #[param(unit = Ms, range = 1.0..=100.0, hard = 0.1..=10_000.0, scale = Log, symbol = "τ_m", formula = "τ_m dv/dt = v_0 - v + g", source = "Shiu et al. 2024")]
        tau_m: f64 = 20.0,

        /// Decay time constant of the synaptic drive g.
        #[param(unit = Ms, range = 0.5..=50.0, hard = 0.1..=10_000.0, scale = Log, symbol = "τ_syn", formula = "τ_syn dg/dt = -g", source = "Shiu et al. 2024")]
        tau_syn: f64 = 5.0,

        /// Resting potential.
        #[param(unit = Mv, range = -90.0..=-30.0, hard = -1000.0..=1000.0, symbol = "v_0", formula = "τ_m dv/dt = v_0 - v + g", source = "Shiu et al. 2024")]
        v_rest: f64 = -52.0,

        /// Potential after a spike.
        #[param(unit = Mv, range = -90.0..=-30.0, hard = -1000.0..=1000.0, symbol = "v_rst", source = "Shiu et al. 2024")]
        v_reset: f64 = -52.0,

        /// A spike is fired when the potential lies strictly above this.
        #[param(unit = Mv, range = -60.0..=-20.0, hard = -1000.0..=1000.0, symbol = "v_th", formula = "v > v_th: v ← v_rst, g ← 0", source = "Shiu et al. 2024")]
        v_threshold: f64 = -45.0,

        /// After a spike the neuron is frozen this long, and input that reaches it is lost.
        #[param(unit = Ms, range = 0.0..=20.0, hard = 0.0..=1000.0, symbol = "t_ref", source = "Shiu et al. 2024")]
        t_refractory: f64 = 2.2,

        /// Depolarising drive per synapse: an edge of n synapses adds n times this to g.
        #[param(unit = Mv, range = 0.0..=1.0, hard = -100.0..=100.0, symbol = "w_syn", formula = "g ← g + n w_syn", source = "Shiu et al. 2024")]
        w_syn: f64 = 0.275,

        /// From a spike to its effect on g, the same for all synapses.
        #[param(unit = Ms, range = 0.1..=10.0, hard = 0.01..=1000.0, symbol = "t_dly", apply = Rebuild, source = "Shiu et al. 2024")]
        t_delay: f64 = 1.8,

        /// Time step.
        #[param(unit = Ms, range = 0.05..=1.0, hard = 0.001..=10.0, scale = Log, apply = Rebuild)]
        dt: f64 = 0.1,

        /// Arithmetic of the state.
        #[param(apply = Rebuild)]
        precision: Precision = Precision::F64,
    }
}

params! {
    /// Leaky units with uniform noise: the model of the FastFly demonstration, for comparing speed like with like.
    /// Rest lies at 0 mV and the threshold at 1 mV, so whatever is given or shown in mV (kicks, currents, potentials) is
    /// in units of the threshold.
    pub struct Leaky {
        /// What a step leaves of the potential: 0.9 per millisecond is a time constant of 9.5 ms.
        #[param(range = 0.5..=1.0, hard = 0.0..=1.0)]
        decay: f64 = 0.9,

        /// Every step adds noise between minus this and this to every unit, in units of the threshold.
        #[param(range = 0.0..=1.0, hard = 0.0..=100.0)]
        noise_amplitude: f64 = 0.4,

        /// Mean size of a connection, in units of the threshold: a connection of n synapses weighs n times this,
        /// divided by the mean number of synapses of all connections.
        #[param(range = 0.0..=0.2, hard = 0.0..=100.0)]
        mean_weight: f64 = 0.03,

        /// Time step, and the delay of all connections.
        #[param(unit = Ms, range = 0.1..=10.0, hard = 0.001..=100.0, scale = Log, apply = Rebuild)]
        dt: f64 = 1.0,
    }
}

params! {
    /// Neurons and their wiring.
    pub struct Network {
        /// What the neurons are.
        #[param(apply = Rebuild)]
        model: NeuronModel = NeuronModel::ExponentialLif,

        /// Where the wiring comes from.
        #[param(apply = Rebuild)]
        source: Source = Source::FlyStandIn,

        /// Folder with edges.parquet or edges.csv (pre, post, w) and, when there is one, neurons.parquet,
        /// neurons.csv or nodes.csv; or with Completeness_783.csv and Connectivity_783.parquet; or an edge file.
        #[param(apply = Rebuild)]
        #[show_if(|s| s.source == Source::Files)]
        path: PathText = PathText::default(),

        /// Neuron table, when it is not beside the edges: any of root_id, name, super_class, class, cell_type,
        /// side, nt, x, y, z.
        #[param(apply = Rebuild)]
        #[show_if(|s| s.source == Source::Files)]
        neurons: PathText = PathText::default(),

        /// FlyWire annotations (tab-separated), for classes and positions by root_id.
        #[param(apply = Rebuild)]
        #[show_if(|s| s.source == Source::Files)]
        annotations: PathText = PathText::default(),

        /// Neurons of the generated network.
        #[param(range = 100.0..=1_000_000.0, hard = 2.0..=16_000_000.0, scale = Log, apply = Rebuild)]
        #[show_if(|s| s.source == Source::Balanced)]
        n_neurons: u32 = 4000,

        /// Mean number of inputs per neuron.
        #[param(range = 1.0..=1000.0, hard = 0.0..=100_000.0, scale = Log, apply = Rebuild)]
        #[show_if(|s| s.source == Source::Balanced)]
        in_degree: u32 = 80,

        /// Fraction of excitatory neurons.
        #[param(range = 0.0..=1.0, apply = Rebuild)]
        #[show_if(|s| s.source == Source::Balanced)]
        excitatory_fraction: f64 = 0.8,

        /// Synapses per excitatory connection.
        #[param(range = 1.0..=100.0, hard = 0.0..=2000.0, apply = Rebuild)]
        #[show_if(|s| s.source == Source::Balanced)]
        excitatory_count: u32 = 6,

        /// Synapses per inhibitory connection.
        #[param(range = 1.0..=500.0, hard = 0.0..=2000.0, apply = Rebuild)]
        #[show_if(|s| s.source == Source::Balanced)]
        inhibitory_count: u32 = 33,
    }
}

params! {
    /// Input read from files: the quickest way to drive a network.
    pub struct Stimulus {
        /// CSV with columns idx, step: the membrane of neuron idx is kicked in that step. Driven neurons
        /// have no refractory period.
        #[param()]
        kicks: PathText = PathText::default(),

        /// CSV with a column idx: these neurons get independent Poisson trains. Driven neurons have no
        /// refractory period.
        #[param()]
        poisson: PathText = PathText::default(),

        /// Rate of the Poisson trains.
        #[param(unit = Hz, range = 0.0..=300.0, hard = 0.0..=10_000.0)]
        rate_hz: f64 = 150.0,

        /// Kick to the membrane per event: 250 synapses.
        #[param(unit = Mv, range = 0.0..=100.0, hard = -1000.0..=1000.0)]
        weight_mv: f64 = 68.75,
    }
}

choices! {
    /// Colour of a set in lists and legends.
    pub enum SetColor {
        /// None of its own.
        Plain,
        /// The first categorical colour.
        Amber,
        /// The second.
        Sky,
        /// The third.
        Green,
        /// The fourth.
        Straw,
        /// The fifth.
        Blue,
        /// The sixth.
        Rust,
        /// The seventh.
        Plum,
    }
}

params! {
    /// A named set of neurons.
    pub struct Selection {
        /// Name, to be used as a target.
        #[param()]
        name: String = String::new(),

        /// Which neurons: `super_class = sensory and side = left`, `root_id = 720575940660219265`,
        /// `idx = 1, 2, 5..9`, `file = sugar.csv`, `random 21 of class = gustatory`, `all`.
        #[param()]
        query: Query = Query::default(),

        /// Colour in lists and legends.
        #[param()]
        color: SetColor = SetColor::Plain,
    }
}

params! {
    /// A stimulus or a lesion on a set of neurons, over a span of time.
    pub struct Intervention {
        /// Name, for lists and logs.
        #[param()]
        name: String = String::new(),

        /// Whether it takes part.
        #[param()]
        enabled: bool = true,

        /// What it does.
        #[param()]
        effect: Effect = Effect::Poisson,

        /// On whom: the name of a selection, or a query.
        #[param()]
        #[show_if(|s| s.effect != Effect::Kicks)]
        target: Query = Query::default(),

        /// CSV with columns idx, step.
        #[param()]
        #[show_if(|s| s.effect == Effect::Kicks)]
        file: PathText = PathText::default(),

        /// Events per second and neuron.
        #[param(unit = Hz, range = 0.0..=300.0, hard = 0.0..=10_000.0)]
        #[show_if(|s| matches!(s.effect, Effect::Poisson | Effect::Noise))]
        rate_hz: f64 = 150.0,

        /// Kick to the membrane per event.
        #[param(unit = Mv, range = 0.0..=100.0, hard = -1000.0..=1000.0)]
        #[show_if(|s| matches!(s.effect, Effect::Poisson | Effect::Noise | Effect::Kicks))]
        weight_mv: f64 = 68.75,

        /// Depolarisation the current would settle at without threshold; leaky units take it up anew in every step.
        #[param(unit = Mv, range = -20.0..=20.0, hard = -1000.0..=1000.0)]
        #[show_if(|s| s.effect == Effect::Current)]
        current_mv: f64 = 8.0,

        /// Multiplies the outgoing synapse counts, rounded to whole synapses.
        #[param(range = 0.0..=4.0, hard = -100.0..=100.0)]
        #[show_if(|s| s.effect == Effect::ScaleWeights)]
        factor: f64 = 1.0,

        /// Sign given to the outgoing weights.
        #[param()]
        #[show_if(|s| s.effect == Effect::SignOverride)]
        sign: Sign = Sign::Excitatory,

        /// Begins at this time.
        #[param(unit = Ms, range = 0.0..=10_000.0, hard = 0.0..=1e12)]
        from_ms: f64 = 0.0,

        /// Ends at this time; 0 means never.
        #[param(unit = Ms, range = 0.0..=10_000.0, hard = 0.0..=1e12)]
        to_ms: f64 = 0.0,

        /// Between its begin and its end it comes in pulses, one after each such time; 0 means without a break.
        #[param(unit = Ms, range = 0.0..=2000.0, hard = 0.0..=1e12)]
        #[show_if(|s| s.effect != Effect::Kicks)]
        every_ms: f64 = 0.0,

        /// Length of a pulse.
        #[param(unit = Ms, range = 1.0..=1000.0, hard = 0.0..=1e12, scale = Log)]
        #[show_if(|s| s.effect != Effect::Kicks && s.every_ms > 0.0)]
        pulse_ms: f64 = 50.0,
    }
}

params! {
    /// How measurements are taken. Changes nothing in the simulation.
    pub struct Measure {
        /// Time between samples of v and g of chosen neurons.
        #[param(unit = Ms, range = 0.1..=10.0, hard = 0.01..=1000.0, scale = Log)]
        trace_every_ms: f64 = 0.5,

        /// Bin of the population and class rates.
        #[param(unit = Ms, range = 1.0..=100.0, hard = 0.1..=10_000.0, scale = Log)]
        rate_bin_ms: f64 = 5.0,

        /// Time constant of the running rate of each neuron.
        #[param(unit = Ms, range = 10.0..=1000.0, hard = 1.0..=100_000.0, scale = Log)]
        rate_tau_ms: f64 = 100.0,

        /// Column whose categories the class rates and the raster are grouped by.
        #[param()]
        group_by: String = "super_class".to_owned(),

        /// Beside every measured batch, delivers the spikes of the last window once more in all ways: the rows variant_…
        /// of the kernel table, in synaptic events per second, with their error against `deliver`. On a GPU only.
        #[param()]
        variants: bool = false,
    }
}

param_tree! {
    /// Parameters of a spiking project.
    pub struct Params {
        /// Neurons and their wiring.
        network: Network,
        /// The neuron model.
        #[show_if(|p| p.network.model == NeuronModel::ExponentialLif)]
        lif: Lif,
        /// Input read from files.
        stimulus: Stimulus,
        /// Named sets of neurons.
        selections: [Selection],
        /// Stimuli and lesions, each on a set of neurons and over a span of time.
        interventions: [Intervention],
        /// How measurements are taken.
        measure: Measure,
        /// The noisy leaky unit. Threshold and rest lie at 1 mV and 0 mV: mV means units of the threshold.
        // The last, because logged edits know groups by their number.
        #[show_if(|p| p.network.model == NeuronModel::NoisyLeaky)]
        leaky: Leaky,
    }
}

impl Params {
    /// Time step of the chosen model, ms.
    pub fn dt_ms(&self) -> f64 {
        match self.network.model {
            NeuronModel::ExponentialLif => self.lif.dt,
            NeuronModel::NoisyLeaky => self.leaky.dt,
        }
    }
}
