//! The plan of a network from rules: everything that follows from the parameters before a connection is drawn. A plan exists
//! only for a network that can be built; [`plan`] refuses all others with a message that names the cause.

use super::{
    ConnectionRule, Placement, PointNeuron, Population, Projection, Receptor, RefractoryInput,
    delay::delay_steps,
    edge_file::FileFacts,
    fixed_point,
    homeostasis::plan::AdaptationPlan,
    inputs,
    patterns::schedule::PatternPlan,
    plasticity::plan::{self as plasticity, PlasticityPlan},
    rule_size,
};
use crate::{
    kinds::spiking::params::Params,
    num::{digits::group_digits, poisson::PoissonTable},
    params::Distribution,
    sim::SimError,
};

/// Number of neurons in a block of the state; populations begin at multiples.
pub const BLOCK: u32 = 16;
/// Number of bits of the target in the word of a synapse; the bits above hold the delay.
pub const TARGET_BITS: u32 = 26;
/// Largest number of steps that the delays of one projection span, and of slots of a ring.
pub const MAX_SLOTS: u32 = 1 << (u32::BITS - TARGET_BITS);
/// Largest number of neurons of a network.
const MAX_NEURONS: u64 = 1 << TARGET_BITS;
/// Largest number of synapses of a network.
pub const MAX_SYNAPSES: u64 = 1 << 36;

/// Receptors of a neuron: excitatory and inhibitory.
pub const RECEPTORS: usize = 2;

/// A network that can be built.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Time step, ms.
    pub dt_ms: f64,
    /// Number of neurons.
    pub n: u32,
    /// Number of entries of a state array: [`Plan::n`] with each population rounded up to [`BLOCK`].
    pub stride: u32,
    /// Number of slots of the rings: the power of two that is not below the number of delays of any projection.
    pub slots: u32,
    /// Populations, in the order of the neurons.
    pub populations: Vec<PopulationPlan>,
    /// Projections, in the order of the list.
    pub projections: Vec<ProjectionPlan>,
    /// External inputs, in the order of the list.
    pub inputs: Vec<InputPlan>,
    /// Presented patterns; `None` if no input presents any.
    pub patterns: Option<PatternPlan>,
    /// Whether weights and thresholds are held, because training has ended.
    pub is_held: bool,
}

/// A population of a plan.
#[derive(Clone, Debug)]
pub struct PopulationPlan {
    /// Name of the population.
    pub name: String,
    /// Index of the first neuron.
    pub first: u32,
    /// Number of neurons.
    pub n: u32,
    /// Index of the first neuron in the state arrays.
    pub state: u32,
    /// Model and its parameters.
    pub model: PointNeuron,
    /// Positions of the neurons.
    pub placement: Placement,
    /// Adaptation of the thresholds; `None` if they are constant.
    pub adaptation: Option<AdaptationPlan>,
    /// Exponent of the unit of the sums of each receptor: an integer `i` means `i · 2^exponent`.
    pub exponents: [i32; RECEPTORS],
}

/// A projection of a plan.
#[derive(Clone, Debug)]
pub struct ProjectionPlan {
    /// Index of the presynaptic population.
    pub from: usize,
    /// Index of the postsynaptic population.
    pub to: usize,
    /// Rule that makes the connections.
    pub rule: ConnectionRule,
    /// Weights, in the unit of the postsynaptic model.
    pub weight: Distribution,
    /// Format of the weights, and the unit of an integer.
    pub format: WeightFormat,
    /// Delays in ms.
    pub delay: Distribution,
    /// Smallest delay, steps, at least 1.
    pub delay_min: u32,
    /// Number of steps from the smallest to the largest delay, both included; at most [`MAX_SLOTS`].
    pub delays: u32,
    /// Index of the receptor.
    pub receptor: usize,
    /// Expected number of synapses.
    pub synapses: u64,
    /// Edge list of the projection; `None` for other rules, and before the file is read.
    pub file: Option<FileFacts>,
    /// Plasticity of the synapses; `None` if they are static.
    pub plasticity: Option<PlasticityPlan>,
}

impl ProjectionPlan {
    /// Returns the median weight of a synapse.
    pub fn median_weight(&self) -> f64 {
        self.weight.quantile(0.5) * self.file.map_or(1.0, |file| file.median)
    }
}

/// Format of the weights of a projection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WeightFormat {
    /// One weight for all synapses, in units of the receptor's sums; nothing is stored per synapse.
    Constant(i32),
    /// 16 bits per synapse, shifted left by this number of bits when they are added.
    Narrow(u32),
    /// 32 bits per synapse, in units of the receptor's sums.
    Wide,
}

impl WeightFormat {
    /// Returns the number of bytes of a stored weight.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Constant(_) => 0,
            Self::Narrow(_) => 2,
            Self::Wide => 4,
        }
    }
}

/// External input of a plan.
#[derive(Clone, Debug)]
pub struct InputPlan {
    /// Index of the population.
    pub population: usize,
    /// Source of the input.
    pub drive: Drive,
}

/// Source of an external input.
#[derive(Clone, Debug)]
pub enum Drive {
    /// Poisson counts per step and neuron.
    Poisson {
        /// Distribution of the counts.
        table: PoissonTable,
        /// Weight of a spike, in units of the receptor's sums.
        weight: i32,
        /// Index of the receptor.
        receptor: usize,
        /// First step with spikes.
        since: u64,
    },
    /// A constant current, in the unit of the model.
    Current(Distribution),
    /// Presented patterns, which are stimuli.
    Patterns,
}

impl PointNeuron {
    /// Returns the treatment of input during the refractory period.
    pub const fn refractory_input(&self) -> RefractoryInput {
        match self {
            Self::IafPscExp(m) => m.refractory_input,
            Self::IafPscAlpha(m) => m.refractory_input,
            Self::IafPscDelta(m) => m.refractory_input,
            Self::Cuba(m) => m.refractory_input,
        }
    }
}

impl Plan {
    /// Returns the expected number of synapses.
    pub fn synapses(&self) -> u64 {
        self.projections.iter().map(|p| p.synapses).sum()
    }

    /// Returns the expected memory of the connections, bytes: words, weights and row starts.
    pub fn connection_bytes(&self) -> u64 {
        let of =
            |p: &ProjectionPlan| p.synapses * (4 + p.format.bytes()) + 8 * (u64::from(self.populations[p.from].n) + 1);
        self.projections.iter().map(of).sum()
    }

    /// Returns the population of a neuron.
    pub fn population_of(&self, neuron: u32) -> usize {
        self.populations.partition_point(|p| p.first <= neuron).saturating_sub(1)
    }

    /// Returns the index of a neuron in the state arrays.
    pub fn state_of(&self, neuron: u32) -> u32 {
        let population = &self.populations[self.population_of(neuron)];
        population.state + (neuron - population.first)
    }
}

/// Makes the plan of the parameters. Files are not read: their projections have no synapses. Fails with the first reason for
/// which the network cannot be built.
pub fn plan(params: &Params) -> Result<Plan, SimError> {
    with_files(params, &[])
}

/// Makes the plan of the parameters with the edge lists of another plan. Fails as [`plan`] does.
pub fn with_files_of(params: &Params, other: &Plan) -> Result<Plan, SimError> {
    with_files(params, &other.projections.iter().map(|p| p.file).collect::<Vec<_>>())
}

/// Makes the plan of the parameters and of the edge lists that were read, by projection. Fails as [`plan`] does.
pub fn with_files(params: &Params, files: &[Option<FileFacts>]) -> Result<Plan, SimError> {
    let dt_ms = params.rules.dt;
    if !(dt_ms > 0.0 && dt_ms.is_finite()) {
        return Err(input(format!("rules.dt: a time step of {dt_ms} ms is not possible; it is above 0")));
    }
    let (mut populations, n, stride) = populations(&params.populations, dt_ms)?;
    let mut projections = params
        .projections
        .iter()
        .enumerate()
        .map(|(i, p)| {
            projection(p, &populations, dt_ms, files.get(i).copied().flatten())
                .map_err(|why| input(format!("projections.{i} ({} → {}): {why}", p.from.trim(), p.to.trim())))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let total = projections.iter().try_fold(0_u64, |sum, p| sum.checked_add(p.synapses)).unwrap_or(u64::MAX);
    if total > MAX_SYNAPSES {
        return Err(input(format!(
            "projections: {} synapses in total; at most {} are possible. Lower sizes, degrees or probabilities",
            group_digits(total),
            group_digits(MAX_SYNAPSES)
        )));
    }
    let inputs = params
        .external_inputs
        .iter()
        .enumerate()
        .map(|(i, input)| inputs::check(i, input, &populations))
        .collect::<Result<Vec<_>, _>>()?;
    let patterns = inputs::patterns(&inputs, &populations, dt_ms)?;
    fixed_point::choose(&mut populations, &mut projections, &inputs, dt_ms).map_err(input)?;
    let inputs = inputs.iter().map(|(at, of)| inputs::plan(*at, of, &populations[*at], dt_ms)).collect();
    let slots = projections.iter().map(|p| p.delays).max().unwrap_or(1).next_power_of_two();
    Ok(Plan { dt_ms, n, stride, slots, populations, projections, inputs, patterns, is_held: false })
}

pub(super) fn input(why: String) -> SimError {
    SimError::Input(why)
}

/// Checks the populations; returns them with the numbers of neurons and of entries of a state array.
fn populations(list: &[Population], dt_ms: f64) -> Result<(Vec<PopulationPlan>, u32, u32), SimError> {
    if list.is_empty() {
        return Err(input("populations: there is none. Add a population".to_owned()));
    }
    let (mut planned, mut first, mut state) = (Vec::<PopulationPlan>::new(), 0_u64, 0_u64);
    for (i, population) in list.iter().enumerate() {
        let name = population.name.trim();
        let refuse = |why: String| {
            Err(input(format!(
                "populations.{i}{}: {why}",
                if name.is_empty() { String::new() } else { format!(" ({name})") }
            )))
        };
        if name.is_empty() {
            return refuse("it has no name. Projections refer to populations by name".to_owned());
        }
        if let Some(at) = planned.iter().position(|p| p.name == name) {
            return refuse(format!("populations.{at} has the same name. Rename one of them"));
        }
        if population.size < 1 {
            return refuse(format!(
                "a size of {} is not possible; a population has at least 1 neuron",
                population.size
            ));
        }
        let n = population.size as u64;
        if first + n > MAX_NEURONS {
            return refuse(format!(
                "the network would have {} neurons up to here; at most {} are possible",
                group_digits(first + n),
                group_digits(MAX_NEURONS)
            ));
        }
        let adaptation = match AdaptationPlan::new(&population.adaptation, dt_ms) {
            Ok(adaptation) => adaptation,
            Err(why) => return refuse(why),
        };
        planned.push(PopulationPlan {
            name: name.to_owned(),
            first: first as u32,
            n: n as u32,
            state: state as u32,
            model: population.model.clone(),
            placement: population.positions.clone(),
            adaptation,
            exponents: [0; RECEPTORS],
        });
        first += n;
        state += n.next_multiple_of(BLOCK.into());
    }
    Ok((planned, first as u32, state as u32))
}

/// Finds a population by its name. The error lists the names.
pub(super) fn named(name: &str, populations: &[PopulationPlan]) -> Result<usize, String> {
    let name = name.trim();
    populations.iter().position(|p| p.name == name).ok_or_else(|| {
        let known = populations.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ");
        format!("there is no population `{name}`; there is {known}")
    })
}

/// Returns the smallest and the largest value that draws from a random word can have.
pub(super) fn extremes(of: Distribution) -> (f64, f64) {
    const LEAST: f64 = 0.5 / 4_294_967_296.0;
    (of.quantile(LEAST), of.quantile(1.0 - LEAST))
}

fn projection(
    of: &Projection,
    populations: &[PopulationPlan],
    dt_ms: f64,
    file: Option<FileFacts>,
) -> Result<ProjectionPlan, String> {
    let from = named(&of.from, populations).map_err(|why| format!("from: {why}"))?;
    let to = named(&of.to, populations).map_err(|why| format!("to: {why}"))?;
    let of_law = delays(of.delay, dt_ms)?;
    let (delay_min, delays) = file.and_then(|file| file.delays).unwrap_or(of_law);
    let of_rule = rule_size::synapses(&of.rule, &populations[from], &populations[to], from == to)?;
    let synapses = file.map_or(of_rule, |file| file.synapses);
    if !extremes(of.weight).0.is_finite() || !extremes(of.weight).1.is_finite() {
        return Err("weight: it is not a finite number".to_owned());
    }
    let rule = of.rule.clone();
    let (weight, delay, format) = (of.weight, of.delay, WeightFormat::Wide);
    let (receptor_of, plasticity) = (of.receptor, None);
    let mut plan = ProjectionPlan {
        from,
        to,
        rule,
        weight,
        format,
        delay,
        delay_min,
        delays,
        receptor: 0,
        synapses,
        file,
        plasticity,
    };
    plan.receptor = receptor(receptor_of, plan.median_weight());
    let spans = (delay_min, delays);
    let by_name = |name: &str| named(name, populations).map(|i| (i, populations[i].n));
    plan.plasticity = plasticity::plan(of, by_name, dt_ms, spans, plan.median_weight())?;
    Ok(plan)
}

/// Returns the index of the receptor that a projection with a median weight chooses.
pub(super) fn receptor(choice: Receptor, weight: f64) -> usize {
    match choice {
        Receptor::BySign => usize::from(weight <= 0.0),
        Receptor::Excitatory => 0,
        Receptor::Inhibitory => 1,
    }
}

/// Returns the smallest delay and the number of delays, steps.
fn delays(of: Distribution, dt_ms: f64) -> Result<(u32, u32), String> {
    let (low, high) = extremes(of);
    if of.as_constant().is_some() && low < dt_ms * (1.0 - 1e-9) {
        return Err(format!("delay: {low} ms is below the time step of {dt_ms} ms. Raise the delay or lower rules.dt"));
    }
    let (first, last) = (delay_steps(low, dt_ms), delay_steps(high, dt_ms));
    if first < 1.0 {
        return Err(format!(
            "delay: values can be below the time step of {dt_ms} ms. Bound the distribution: `… in {dt_ms}..{} ms`",
            dt_ms * f64::from(MAX_SLOTS)
        ));
    }
    if last - first >= f64::from(MAX_SLOTS) {
        return Err(format!(
            "delay: values span {} steps of {dt_ms} ms; the delays of a projection span at most {MAX_SLOTS} steps. Bound \
             the distribution: `… in {low}..{} ms`",
            last - first + 1.0,
            low + dt_ms * f64::from(MAX_SLOTS - 1)
        ));
    }
    Ok((first as u32, (last - first) as u32 + 1))
}
