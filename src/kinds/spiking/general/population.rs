//! Populations of a network from rules: neuron models, sizes and positions.

use super::homeostasis::Adaptation;
use crate::{
    choices, one_of, params,
    params::{Distribution, one_of::NoParameters},
};

choices! {
    /// Treatment of synaptic input that reaches a refractory neuron.
    pub enum RefractoryInput {
        /// Synaptic currents decay and receive input while the potential is held, as in NEST. With delta synapses, the input
        /// is kept and added when the refractory period ends (`refractory_input = true` in NEST).
        #[title("Accumulate (NEST)")]
        Accumulate,
        /// Synaptic variables are frozen and input is lost, as in Brian2 with `(unless refractory)` on every variable.
        #[title("Drop (Brian2)")]
        Drop,
    }
}

params! {
    /// Integrate-and-fire neuron with exponential synaptic currents, as `iaf_psc_exp` of NEST; exact integration.
    pub struct PscExp {
        /// Capacitance of the membrane.
        #[param(title = "Membrane capacitance", unit = Pf, range = 1.0..=1000.0, hard = 0.001..=1e6, scale = Log, symbol = "C_m", formula = "dV/dt = -(V - E_L) / τ_m + (I_ex + I_in + I_e) / C_m", source = "Potjans & Diesmann 2014")]
        c_m: Distribution = Distribution::constant(250.0),

        /// Time constant of the membrane without synapses.
        #[param(title = "Membrane time constant", unit = Ms, range = 1.0..=100.0, hard = 0.1..=10_000.0, scale = Log, symbol = "τ_m", formula = "dV/dt = -(V - E_L) / τ_m + (I_ex + I_in + I_e) / C_m", source = "Potjans & Diesmann 2014")]
        tau_m: Distribution = Distribution::constant(10.0),

        /// Potential without input.
        #[param(title = "Resting potential", unit = Mv, range = -90.0..=-30.0, hard = -1000.0..=1000.0, symbol = "E_L", source = "Potjans & Diesmann 2014")]
        e_l: Distribution = Distribution::constant(-65.0),

        /// A neuron spikes when its potential reaches the threshold.
        #[param(title = "Spike threshold", unit = Mv, range = -70.0..=0.0, hard = -1000.0..=1000.0, symbol = "V_th", formula = "V ≥ V_th: V ← V_reset", source = "Potjans & Diesmann 2014")]
        v_th: Distribution = Distribution::constant(-50.0),

        /// Potential after a spike, held during the refractory period.
        #[param(title = "Reset potential", unit = Mv, range = -90.0..=-30.0, hard = -1000.0..=1000.0, symbol = "V_reset", source = "Potjans & Diesmann 2014")]
        v_reset: Distribution = Distribution::constant(-65.0),

        /// Duration after a spike in which the potential is held.
        #[param(title = "Refractory period", unit = Ms, range = 0.0..=20.0, hard = 0.0..=1000.0, symbol = "t_ref", source = "Potjans & Diesmann 2014")]
        t_ref: Distribution = Distribution::constant(2.0),

        /// Decay time constant of the excitatory current.
        #[param(title = "Excitatory time constant", unit = Ms, range = 0.1..=50.0, hard = 0.01..=10_000.0, scale = Log, symbol = "τ_ex", formula = "dI_ex/dt = -I_ex / τ_ex", source = "Potjans & Diesmann 2014")]
        tau_syn_ex: Distribution = Distribution::constant(0.5),

        /// Decay time constant of the inhibitory current.
        #[param(title = "Inhibitory time constant", unit = Ms, range = 0.1..=50.0, hard = 0.01..=10_000.0, scale = Log, symbol = "τ_in", formula = "dI_in/dt = -I_in / τ_in", source = "Potjans & Diesmann 2014")]
        tau_syn_in: Distribution = Distribution::constant(0.5),

        /// Constant input current.
        #[param(title = "Constant current", unit = Pa, range = -500.0..=500.0, hard = -1e6..=1e6, symbol = "I_e")]
        i_e: Distribution = Distribution::constant(0.0),

        /// Treatment of input during the refractory period.
        #[param(title = "Input while refractory", apply = Rebuild)]
        refractory_input: RefractoryInput = RefractoryInput::Accumulate,
    }
}

params! {
    /// Integrate-and-fire neuron with alpha-shaped synaptic currents, as `iaf_psc_alpha` of NEST; exact integration. A weight
    /// is the peak of the current.
    pub struct PscAlpha {
        /// Capacitance of the membrane.
        #[param(title = "Membrane capacitance", unit = Pf, range = 1.0..=1000.0, hard = 0.001..=1e6, scale = Log, symbol = "C_m", formula = "dV/dt = -(V - E_L) / τ_m + (I_ex + I_in + I_e) / C_m", source = "NEST, hpc_benchmark")]
        c_m: Distribution = Distribution::constant(250.0),

        /// Time constant of the membrane without synapses.
        #[param(title = "Membrane time constant", unit = Ms, range = 1.0..=100.0, hard = 0.1..=10_000.0, scale = Log, symbol = "τ_m", formula = "dV/dt = -(V - E_L) / τ_m + (I_ex + I_in + I_e) / C_m", source = "NEST, hpc_benchmark")]
        tau_m: Distribution = Distribution::constant(10.0),

        /// Potential without input.
        #[param(title = "Resting potential", unit = Mv, range = -90.0..=30.0, hard = -1000.0..=1000.0, symbol = "E_L", source = "NEST, hpc_benchmark")]
        e_l: Distribution = Distribution::constant(0.0),

        /// A neuron spikes when its potential reaches the threshold.
        #[param(title = "Spike threshold", unit = Mv, range = -70.0..=50.0, hard = -1000.0..=1000.0, symbol = "V_th", formula = "V ≥ V_th: V ← V_reset", source = "NEST, hpc_benchmark")]
        v_th: Distribution = Distribution::constant(20.0),

        /// Potential after a spike, held during the refractory period.
        #[param(title = "Reset potential", unit = Mv, range = -90.0..=30.0, hard = -1000.0..=1000.0, symbol = "V_reset", source = "NEST, hpc_benchmark")]
        v_reset: Distribution = Distribution::constant(0.0),

        /// Duration after a spike in which the potential is held.
        #[param(title = "Refractory period", unit = Ms, range = 0.0..=20.0, hard = 0.0..=1000.0, symbol = "t_ref", source = "NEST, hpc_benchmark")]
        t_ref: Distribution = Distribution::constant(0.5),

        /// Rise time of the excitatory current.
        #[param(title = "Excitatory time constant", unit = Ms, range = 0.1..=50.0, hard = 0.01..=10_000.0, scale = Log, symbol = "τ_ex", formula = "I_ex = w (t / τ_ex) exp(1 - t / τ_ex)", source = "NEST, hpc_benchmark")]
        tau_syn_ex: Distribution = Distribution::constant(0.325_827_224_037_228_4),

        /// Rise time of the inhibitory current.
        #[param(title = "Inhibitory time constant", unit = Ms, range = 0.1..=50.0, hard = 0.01..=10_000.0, scale = Log, symbol = "τ_in", formula = "I_in = w (t / τ_in) exp(1 - t / τ_in)", source = "NEST, hpc_benchmark")]
        tau_syn_in: Distribution = Distribution::constant(0.325_827_224_037_228_4),

        /// Constant input current.
        #[param(title = "Constant current", unit = Pa, range = -500.0..=500.0, hard = -1e6..=1e6, symbol = "I_e")]
        i_e: Distribution = Distribution::constant(0.0),

        /// Treatment of input during the refractory period.
        #[param(title = "Input while refractory", apply = Rebuild)]
        refractory_input: RefractoryInput = RefractoryInput::Accumulate,
    }
}

params! {
    /// Integrate-and-fire neuron whose potential jumps by the weight, as `iaf_psc_delta` of NEST; exact integration. The
    /// jumps of a step precede the comparison with the threshold.
    pub struct PscDelta {
        /// Membrane capacitance; scales the constant current only.
        #[param(title = "Membrane capacitance", unit = Pf, range = 1.0..=1000.0, hard = 0.001..=1e6, scale = Log, symbol = "C_m", formula = "dV/dt = -(V - E_L) / τ_m + I_e / C_m", source = "NEST, brunel_delta_nest")]
        c_m: Distribution = Distribution::constant(1.0),

        /// Time constant of the membrane without synapses.
        #[param(title = "Membrane time constant", unit = Ms, range = 1.0..=100.0, hard = 0.1..=10_000.0, scale = Log, symbol = "τ_m", formula = "dV/dt = -(V - E_L) / τ_m + I_e / C_m", source = "NEST, brunel_delta_nest")]
        tau_m: Distribution = Distribution::constant(20.0),

        /// Potential without input.
        #[param(title = "Resting potential", unit = Mv, range = -90.0..=30.0, hard = -1000.0..=1000.0, symbol = "E_L", source = "NEST, brunel_delta_nest")]
        e_l: Distribution = Distribution::constant(0.0),

        /// A neuron spikes when its potential reaches the threshold.
        #[param(title = "Spike threshold", unit = Mv, range = -70.0..=50.0, hard = -1000.0..=1000.0, symbol = "V_th", formula = "V ≥ V_th: V ← V_reset", source = "NEST, brunel_delta_nest")]
        v_th: Distribution = Distribution::constant(20.0),

        /// Potential after a spike, held during the refractory period.
        #[param(title = "Reset potential", unit = Mv, range = -90.0..=30.0, hard = -1000.0..=1000.0, symbol = "V_reset", source = "NEST, brunel_delta_nest")]
        v_reset: Distribution = Distribution::constant(0.0),

        /// Duration after a spike in which the potential is held.
        #[param(title = "Refractory period", unit = Ms, range = 0.0..=20.0, hard = 0.0..=1000.0, symbol = "t_ref", source = "NEST, brunel_delta_nest")]
        t_ref: Distribution = Distribution::constant(2.0),

        /// Constant input current.
        #[param(title = "Constant current", unit = Pa, range = -500.0..=500.0, hard = -1e6..=1e6, symbol = "I_e")]
        i_e: Distribution = Distribution::constant(0.0),

        /// Treatment of input during the refractory period.
        #[param(title = "Input while refractory", apply = Rebuild)]
        refractory_input: RefractoryInput = RefractoryInput::Drop,
    }
}

params! {
    /// Integrate-and-fire neuron with exponential synapses in mV, after Vogels & Abbott (2005); exact integration.
    pub struct Cuba {
        /// Time constant of the membrane without synapses.
        #[param(title = "Membrane time constant", unit = Ms, range = 1.0..=100.0, hard = 0.1..=10_000.0, scale = Log, symbol = "τ_m", formula = "τ_m dV/dt = g_e + g_i + I - (V - E_L)", source = "Brette et al. 2007")]
        tau_m: Distribution = Distribution::constant(20.0),

        /// Potential without input. Above the threshold, neurons spike without input.
        #[param(title = "Resting potential", unit = Mv, range = -90.0..=-30.0, hard = -1000.0..=1000.0, symbol = "E_L", source = "Brette et al. 2007")]
        e_l: Distribution = Distribution::constant(-49.0),

        /// A neuron spikes when its potential reaches the threshold.
        #[param(title = "Spike threshold", unit = Mv, range = -70.0..=0.0, hard = -1000.0..=1000.0, symbol = "V_th", formula = "V ≥ V_th: V ← V_reset", source = "Brette et al. 2007")]
        v_th: Distribution = Distribution::constant(-50.0),

        /// Potential after a spike, held during the refractory period.
        #[param(title = "Reset potential", unit = Mv, range = -90.0..=-30.0, hard = -1000.0..=1000.0, symbol = "V_reset", source = "Brette et al. 2007")]
        v_reset: Distribution = Distribution::constant(-60.0),

        /// Duration after a spike in which the potential is held.
        #[param(title = "Refractory period", unit = Ms, range = 0.0..=20.0, hard = 0.0..=1000.0, symbol = "t_ref", source = "Brette et al. 2007")]
        t_ref: Distribution = Distribution::constant(5.0),

        /// Decay time constant of the excitatory drive.
        #[param(title = "Excitatory time constant", unit = Ms, range = 0.1..=50.0, hard = 0.01..=10_000.0, scale = Log, symbol = "τ_e", formula = "τ_e dg_e/dt = -g_e", source = "Brette et al. 2007")]
        tau_syn_ex: Distribution = Distribution::constant(5.0),

        /// Decay time constant of the inhibitory drive.
        #[param(title = "Inhibitory time constant", unit = Ms, range = 0.1..=50.0, hard = 0.01..=10_000.0, scale = Log, symbol = "τ_i", formula = "τ_i dg_i/dt = -g_i", source = "Brette et al. 2007")]
        tau_syn_in: Distribution = Distribution::constant(10.0),

        /// Constant drive, as its steady-state depolarisation.
        #[param(title = "Constant drive", unit = Mv, range = -20.0..=20.0, hard = -1000.0..=1000.0, symbol = "I")]
        i_e: Distribution = Distribution::constant(0.0),

        /// Treatment of input during the refractory period.
        #[param(title = "Input while refractory", apply = Rebuild)]
        refractory_input: RefractoryInput = RefractoryInput::Accumulate,
    }
}

one_of! {
    /// Neuron model of a population.
    pub enum PointNeuron {
        /// Exponential synaptic currents; weights in pA.
        #[title("iaf_psc_exp")]
        IafPscExp(PscExp),
        /// Alpha-shaped synaptic currents; weights in pA, the peak of the current.
        #[title("iaf_psc_alpha")]
        IafPscAlpha(PscAlpha),
        /// Jumps of the potential; weights in mV.
        #[title("iaf_psc_delta")]
        IafPscDelta(PscDelta),
        /// Exponential synapses after Vogels & Abbott; weights in mV.
        #[title("CUBA")]
        Cuba(Cuba),
    }
}

impl PointNeuron {
    /// Returns the unit of a weight into neurons of this model.
    pub const fn weight_unit(&self) -> &'static str {
        match self {
            Self::IafPscExp(_) | Self::IafPscAlpha(_) => "pA",
            Self::IafPscDelta(_) | Self::Cuba(_) => "mV",
        }
    }
}

params! {
    /// A square grid in the plane z = constant, row by row.
    pub struct Grid {
        /// Distance between neighbours.
        #[param(title = "Spacing", unit = Um, range = 1.0..=100.0, hard = 0.001..=1e6, scale = Log, apply = Rebuild)]
        spacing: f64 = 10.0,

        /// Height of the plane.
        #[param(title = "z", unit = Um, range = -1000.0..=1000.0, hard = -1e6..=1e6, apply = Rebuild)]
        z: f64 = 0.0,
    }
}

params! {
    /// Positions are uniformly distributed in a box around the point (0, 0, z).
    pub struct InBox {
        /// Length of the box along x.
        #[param(title = "Width", unit = Um, range = 1.0..=2000.0, hard = 0.0..=1e6, scale = Log, apply = Rebuild)]
        width: f64 = 1000.0,

        /// Length of the box along y.
        #[param(title = "Depth", unit = Um, range = 1.0..=2000.0, hard = 0.0..=1e6, scale = Log, apply = Rebuild)]
        depth: f64 = 1000.0,

        /// Length of the box along z.
        #[param(title = "Height", unit = Um, range = 1.0..=2000.0, hard = 0.0..=1e6, scale = Log, apply = Rebuild)]
        height: f64 = 1000.0,

        /// Height of the centre.
        #[param(title = "z", unit = Um, range = -1000.0..=1000.0, hard = -1e6..=1e6, apply = Rebuild)]
        z: f64 = 0.0,
    }
}

params! {
    /// Positions are uniformly distributed in a ball around the point (0, 0, z).
    pub struct InBall {
        /// Radius of the ball.
        #[param(title = "Radius", unit = Um, range = 1.0..=2000.0, hard = 0.0..=1e6, scale = Log, apply = Rebuild)]
        radius: f64 = 500.0,

        /// Height of the centre.
        #[param(title = "z", unit = Um, range = -1000.0..=1000.0, hard = -1e6..=1e6, apply = Rebuild)]
        z: f64 = 0.0,
    }
}

params! {
    /// Positions are uniformly distributed in a round layer around the z axis, as under a square millimetre of cortex.
    pub struct InLayer {
        /// Radius of the layer.
        #[param(title = "Radius", unit = Um, range = 1.0..=2000.0, hard = 0.0..=1e6, scale = Log, apply = Rebuild)]
        radius: f64 = 564.0,

        /// Height of the lower surface.
        #[param(title = "Bottom", unit = Um, range = -2000.0..=2000.0, hard = -1e6..=1e6, symbol = "z", apply = Rebuild)]
        bottom: f64 = 0.0,

        /// Thickness of the layer.
        #[param(title = "Thickness", unit = Um, range = 1.0..=2000.0, hard = 0.0..=1e6, scale = Log, apply = Rebuild)]
        thickness: f64 = 300.0,
    }
}

one_of! {
    /// Positions of the neurons of a population. The 3D view and connections by distance use them.
    pub enum Placement {
        /// Neurons have no positions.
        #[title("None")]
        Nowhere(NoParameters),
        /// Positions are the points of a square grid.
        Grid(Grid),
        /// Positions are uniformly distributed in a box.
        #[title("Box")]
        InBox(InBox),
        /// Positions are uniformly distributed in a ball.
        #[title("Ball")]
        InBall(InBall),
        /// Positions are uniformly distributed in a round layer.
        #[title("Layer")]
        InLayer(InLayer),
    }
}

params! {
    /// A population: neurons with one model.
    pub struct Population {
        /// Name, which projections and inputs refer to.
        #[param(title = "Name", role = Role::Name, apply = Rebuild)]
        name: String = String::new(),

        /// Number of neurons.
        #[param(title = "Neurons", role = Role::Size, range = 1.0..=100_000.0, hard = 1.0..=16_000_000.0, scale = Log, apply = Rebuild)]
        size: i64 = 100,

        /// Neuron model and its parameters. A parameter with a distribution is drawn for each neuron.
        #[param(title = "Neuron model", apply = Rebuild)]
        model: PointNeuron = PointNeuron::IafPscExp(PscExp::default()),

        /// Membrane potential at step 0. Synaptic variables are 0.
        #[param(title = "Start potential", unit = Mv, range = -90.0..=30.0, hard = -1000.0..=1000.0, symbol = "V(0)", apply = Rewind)]
        v_start: Distribution = Distribution::constant(-65.0),

        /// Adaptation of the neurons to their own activity.
        #[param(title = "Adaptation", apply = Rebuild)]
        adaptation: Adaptation = Adaptation::Constant(NoParameters {}),

        /// Positions of the neurons.
        #[param(title = "Positions", apply = Rebuild)]
        positions: Placement = Placement::Nowhere(NoParameters {}),
    }
}
