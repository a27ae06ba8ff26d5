//! The models to check: one per kind and variant.

use crate::{nuclei, settings, spiking};
use neuropil::{
    kinds::{Model, spiking::Source},
    params::Distribution,
};

/// A model to check.
pub struct Case {
    pub model: Model,
    /// Steps of a run.
    pub steps: u32,
    /// Changes that the running simulation takes, as for `--set`; each changes the run.
    pub edits: &'static [&'static str],
    /// An action in the middle of it: name, elements, values.
    pub action: (&'static str, &'static [u32], &'static [f64]),
}

fn balanced(mut params: neuropil::kinds::spiking::Params) -> Model {
    params.network.source = Source::Balanced;
    (params.network.n_neurons, params.network.in_degree) = (150, 15);
    params.network.excitatory_count = Distribution::uniform(3.0, 9.0);
    Model::Spiking(Box::new(params))
}

pub fn lif() -> Case {
    Case {
        model: balanced(spiking::small_network::busy()),
        steps: 2000,
        edits: &[
            "interventions.0.rate_hz=300",
            "interventions.3.current_mv=2",
            "interventions.7.factor=0.3",
            "lif.tau_m=12",
            "lif.tau_syn=8",
            "lif.v_threshold=-46.5",
            "lif.v_rest=-53",
            "lif.v_reset=-55",
            "lif.t_refractory=1",
            "lif.w_syn=0.4",
            "measure.rate_bin_ms=2",
            "interventions.1.enabled=false",
        ],
        action: ("kick", &[3, 9], &[80.0]),
    }
}

pub fn lif_f32() -> Case {
    let mut case = lif();
    settings::set(case.model.params_mut(), &["lif.precision=F32"]);
    case
}

/// A population of each model, with constant and distributed parameters, weights and delays.
pub fn rules() -> Case {
    let text = r#"(version: 2, model: Spiking((
        network: (source: Rules),
        populations: [
            (name: "a", size: 61, model: IafPscExp(tau_m: "uniform(8, 12)", t_ref: "uniform(0, 3)"), v_start: "uniform(-65, -48)", positions: Grid()),
            (name: "b", size: 40, model: IafPscAlpha(refractory_input: Drop), v_start: "uniform(0, 22)"),
            (name: "c", size: 33, model: IafPscDelta(refractory_input: Accumulate), v_start: "uniform(0, 22)"),
            (name: "d", size: 50, model: Cuba(), v_start: "uniform(-60, -50)", positions: InBall(radius: 50)),
        ],
        projections: [
            (from: "a", to: "b", rule: FixedTotal(n: 900), weight: "normal(120, 12)", delay: "normal(1.5, 0.7) in 0.1..6"),
            (from: "b", to: "a", rule: FixedInDegree(n: 12), weight: -200, delay: 0.8),
            (from: "c", to: "c", rule: FixedOutDegree(n: 8, autapses: false), weight: "uniform(0.2, 1)", delay: 2),
            (from: "d", to: "d", rule: Bernoulli(p: 0.2), weight: 1, delay: "uniform(0.5, 3)"),
            (from: "d", to: "a", rule: ByDistance(p: 0.5), weight: "log_normal(4, 0.5) in 0..2000", delay: 3),
            (from: "c", to: "d", rule: AllToAll(), weight: -0.2, delay: 0.3),
        ],
        external_inputs: [
            (population: "a", source: Poisson(rate: 9000, weight: 60)),
            (population: "b", source: Poisson(rate: 3000, weight: 90)),
            (population: "c", source: Poisson(rate: 9000, weight: 0.15)),
            (population: "b", source: Current(amplitude: "normal(200, 20)")),
        ],
        selections: [(name: "group", query: "population = a")],
        interventions: [
            (name: "noise", effect: Noise, target: "population = d", rate_hz: 200.0, weight_mv: 3.0),
            (name: "driven", effect: Poisson, target: "idx = 3, 70..80", rate_hz: 100.0, weight_mv: 30.0, start: 20.0),
            (name: "current", effect: Current, target: "in group", current_mv: 1.0, start: 50.0),
            (name: "silent", effect: SilenceBoth, target: "idx = 10..14, 90", start: 60.0, stop: 100.0),
            (name: "weaker", effect: ScaleWeights, target: "population = c", factor: 0.7, start: 30.0),
            (name: "sign", effect: SignOverride, target: "random 5 of population = b", sign: Excitatory, start: 90.0),
        ],
        measure: (group_by: "population"),
    )))"#;
    let (project, warnings) = neuropil::project::read(text).expect("a project");
    assert_eq!(warnings, [], "the project is as written");
    Case {
        model: project.model,
        steps: 2000,
        edits: &[
            "external_inputs.0.source.rate=8000",
            "external_inputs.1.source.weight=80",
            "external_inputs.3.source.amplitude=normal(250, 20)",
            "populations.0.model.tau_m=uniform(9, 12)",
            "populations.1.model.v_th=18",
            "populations.2.model.t_ref=1",
            "populations.3.model.e_l=-48.5",
            "interventions.0.rate_hz=300",
            "interventions.2.current_mv=2",
            "interventions.4.factor=0.3",
            "measure.rate_tau_ms=50",
            "interventions.1.enabled=false",
        ],
        action: ("kick", &[3, 150], &[80.0]),
    }
}

/// Plastic projections with each kind of change of a weight, adaptive thresholds, scaling, and presented patterns.
pub fn plastic() -> Case {
    let text = r#"(version: 2, model: Spiking((
        network: (source: Rules),
        populations: [
            (name: "input", size: 64, model: IafPscDelta(v_th: 15, t_ref: 0), v_start: 0),
            (name: "e", size: 37, model: Cuba(e_l: -65, v_reset: -65, tau_m: 10), v_start: -65, adaptation: Threshold(increase: 0.4, tau: 200, interval: 7)),
            (name: "i", size: 20, model: IafPscExp(), v_start: "uniform(-65, -50)"),
        ],
        projections: [
            (from: "input", to: "e", rule: AllToAll(), weight: "uniform(1, 3)", delay: 0.5, plasticity: PairStdp(a_plus: 0.03, a_minus: 0.01, w_max: 10), scaling: Sum(sum: 150, interval: 11)),
            (from: "e", to: "i", rule: Bernoulli(p: 0.4), weight: 300, delay: "uniform(0.5, 2)", plasticity: RewardStdp(third_factor: 0.5, modulator: "i", per_rate: 0.02, interval: 2.3, w_max: 600), scaling: Rate(rate: 20, beta: 0.05, interval: 9)),
            (from: "i", to: "e", rule: Bernoulli(p: 0.5), weight: -20, delay: 1, plasticity: InhibitoryStdp(eta: 0.01)),
            (from: "e", to: "e", rule: FixedInDegree(n: 5), weight: 2, delay: 1.5, plasticity: TsodyksMarkram(tau_fac: 100)),
        ],
        external_inputs: [
            (population: "input", source: Patterns(images: Digits(side: 8), rate: 250, present: 20, pause: 10, training: 8, labelling: 2, held_out: 2, readout: "e")),
            (population: "i", source: Poisson(rate: 8000, weight: 60)),
        ],
        recorded_synapses: [(), (from: "70")],
        measure: (group_by: "population"),
    )))"#;
    let (project, warnings) = neuropil::project::read(text).expect("a project");
    assert_eq!(warnings, [], "the project is as written");
    Case {
        model: project.model,
        steps: 1900,
        edits: &[
            "projections.0.plasticity.a_plus=0.05",
            "external_inputs.0.source.rate=200",
            "measure.rate_tau_ms=50",
            "populations.1.adaptation.increase=0.2",
            "projections.0.scaling.sum=170",
            "projections.1.scaling.beta=0.1",
            "projections.1.plasticity.third_factor=1",
            "projections.2.learning=false",
            "projections.3.plasticity.u=0.3",
            "external_inputs.0.source.weight_mv=-1",
        ],
        action: ("scale_weights", &[0, 2], &[0.8]),
    }
}

pub fn leaky() -> Case {
    Case {
        model: balanced(spiking::leaky::busy()),
        steps: 1500,
        edits: &[
            "interventions.0.rate_hz=300",
            "interventions.3.current_mv=0.3",
            "interventions.7.factor=0.3",
            "leaky.decay=0.8",
            "leaky.noise_amplitude=0.6",
            "leaky.mean_weight=0.06",
            "measure.rate_bin_ms=2",
            "interventions.1.enabled=false",
        ],
        action: ("kick", &[3, 9, 61], &[2.0]),
    }
}

pub fn nuclei_population() -> Case {
    let mut params = nuclei::runs::busy(300);
    params.measure.variants = true;
    Case {
        model: Model::Nuclei(Box::new(params)),
        steps: 60,
        edits: &["population.death_rate=0.02", "phases.noise=0.3"],
        action: ("kick", &[3, 9, 61], &[0.7]),
    }
}

pub fn transformer() -> Case {
    let model = settings::model(
        "transformer",
        &[
            "model.layers=2",
            "model.heads=2",
            "model.width=16",
            "model.context=16",
            "training.batch=2",
            "training.micro_batches=2",
            "training.warm_up=5",
            "training.dropout=0.2",
            "data.grammar_bytes=10000",
            "measure.every=3",
            "measure.held_out_every=20",
            "measure.sample_every=10",
            "measure.length=20",
        ],
    );
    Case {
        model,
        steps: 40,
        edits: &[
            "training.learning_rate=0.01",
            "training.batch=3",
            "training.micro_batches=1",
            "training.dropout=0",
            "training.weight_decay=0.5",
            "training.clip=0.01",
            "training.optimizer=Muon(momentum: 0.9)",
            "training.schedule=Constant",
        ],
        action: ("freeze", &[1], &[]),
    }
}

pub fn evolution() -> Case {
    let model = settings::model(
        "evolution",
        &[
            "model.layers=2",
            "model.width=16",
            "model.context=8",
            "strategy.population=16",
            "strategy.generations=40",
            "data.grammar_bytes=10000",
            "measure.every=3",
            "measure.held_out_every=20",
            "measure.sample_every=10",
            "measure.length=20",
        ],
    );
    Case {
        model,
        steps: 40,
        edits: &[
            "strategy.learning_rate=0.3",
            "strategy.final_learning_rate=0.1",
            "strategy.sequences=3",
            "strategy.texts=Shared",
            "strategy.noise=FullRank(generator: Popcount)",
            "strategy.sigma_shift=2",
            "strategy.shaping=Sign",
            "strategy.vector_rate=1",
            "strategy.trained_positions=false",
            "strategy.threshold=0.1",
            "strategy.byte_residual=true",
        ],
        action: ("freeze", &[1], &[]),
    }
}

pub fn synaptic() -> Case {
    let model = settings::model(
        "synaptic",
        &[
            "model.layers=2",
            "model.heads=2",
            "model.width=16",
            "model.context=16",
            "presynaptic.stochastic=0.5",
            "experts.count=4",
            "experts.hidden=16",
            "experts.aux_weight=0.001",
            "life.warm_up=5",
            "life.interval=5",
            "life.weak_health=0.45",
            "life.split_health=0.4",
            "training.batch=2",
            "training.micro_batches=2",
            "training.warm_up=5",
            "data.grammar_bytes=10000",
            "measure.every=3",
            "measure.held_out_every=20",
            "measure.sample_every=10",
            "measure.length=20",
        ],
    );
    Case {
        model,
        steps: 40,
        edits: &[
            "training.learning_rate=0.01",
            "training.batch=3",
            "presynaptic.mode=Static",
            "experts.metabolic_bias=0.5",
            "experts.aux_weight=0.1",
            "training.clip=0.01",
        ],
        action: ("freeze_layers", &[1], &[]),
    }
}

#[cfg(feature = "demo")]
pub fn experts() -> Case {
    let model = settings::model("demo", &["growth.split_every=200", "experts.initial_weight=normal(0, 0.1)"]);
    Case {
        model,
        steps: 1500,
        edits: &[
            "experts.learning_rate=0.3",
            "growth.rule=Age(minimum: 100)",
            "growth.rule.minimum=5000",
            "experts.halve_at=[10, 20]",
        ],
        action: ("merge", &[3, 1], &[]),
    }
}
