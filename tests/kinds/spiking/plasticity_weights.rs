//! All weights of every rule, computed again in double precision from the recorded spikes, event by event, from the equations of
//! the papers.

use neuropil::{
    gpu::Pass,
    sim::{BuildContext, Device, Frame, Progress, Reading, Simulation, Spike, Tap},
};

/// Neurons of each population; every pair has a synapse.
const N: u32 = 100;
const STEPS: u32 = 20_000;
const DT: f64 = 0.1;

/// Traces of one synapse: two of presynaptic and two of postsynaptic spikes.
#[derive(Default)]
struct Traces {
    fast: [f64; 2],
    slow: [f64; 2],
}

/// Equations of a rule. Time constants in ms; `w` is the absolute weight.
struct Equations {
    /// Time constants of the fast and the slow traces, of presynaptic and of postsynaptic spikes.
    tau: [f64; 2],
    tau_slow: [f64; 2],
    /// Whether a trace is set to 1 in place of being increased by 1.
    is_nearest: bool,
    w_max: f64,
    /// Change of the weight, or of the eligibility, by a postsynaptic spike, from the weight, the fast presynaptic trace and the
    /// slow postsynaptic trace.
    post: fn(f64, f64, f64) -> f64,
    /// The same for a presynaptic spike, with the fast postsynaptic trace and the slow presynaptic trace.
    pre: fn(f64, f64, f64) -> f64,
    /// Interval in steps and time constant of an eligibility, and the change of the weight per eligibility.
    eligibility: Option<(u32, f64, f64)>,
}

impl Equations {
    /// Returns the weight after spikes that arrive at these synapse times, the postsynaptic one first where two meet.
    fn weight(&self, start: f64, pre: &[u32], post: &[u32], end: u32) -> f64 {
        let interval = self.eligibility.map_or(u32::MAX, |of| of.0);
        let mut times: Vec<u32> = pre.iter().chain(post).copied().collect();
        times.extend((1..).map(|i| i * u64::from(interval)).take_while(|t| *t <= end.into()).map(|t| t as u32));
        times.sort_unstable();
        times.dedup();
        let (mut w, mut c, mut traces, mut last) = (start.abs(), 0.0, Traces::default(), 0);
        for at in times.into_iter().filter(|at| *at <= end) {
            let ms = f64::from(at - last) * DT;
            for i in 0..2 {
                traces.fast[i] *= (-ms / self.tau[i]).exp();
                traces.slow[i] *= (-ms / self.tau_slow[i]).exp();
            }
            c *= self.eligibility.map_or(1.0, |(_, tau_c, _)| (-ms / tau_c).exp());
            last = at;
            let [has_pre, has_post] = [pre, post].map(|spikes| spikes.binary_search(&at).is_ok());
            let changed = if self.eligibility.is_some() { &mut c } else { &mut w };
            let w_max = if self.eligibility.is_some() { f64::INFINITY } else { self.w_max };
            let least = if self.eligibility.is_some() { f64::NEG_INFINITY } else { 0.0 };
            if has_post {
                *changed = (*changed + (self.post)(*changed, traces.fast[0], traces.slow[1])).clamp(least, w_max);
            }
            if has_pre {
                *changed = (*changed + (self.pre)(*changed, traces.fast[1], traces.slow[0])).clamp(least, w_max);
            }
            if let Some((_, _, gain)) = self.eligibility.filter(|of| at % of.0 == 0) {
                w = (w + gain * c).clamp(0.0, self.w_max);
            }
            for (i, _) in [has_pre, has_post].into_iter().enumerate().filter(|(_, has)| *has) {
                let kept = if self.is_nearest { 0.0 } else { 1.0 };
                traces.fast[i] = kept * traces.fast[i] + 1.0;
                traces.slow[i] = kept * traces.slow[i] + 1.0;
            }
        }
        w.copysign(start)
    }
}

/// Runs two populations with one plastic projection and returns the simulation with its spikes.
fn run(projection: &str, drive: f64) -> (Box<dyn Simulation>, Vec<Spike>) {
    let text = format!(
        r#"(version: 2, model: Spiking((
            network: (source: Rules),
            populations: [(name: "pre", size: {N}), (name: "post", size: {N})],
            projections: [(from: "pre", to: "post", rule: AllToAll(), {projection})],
            external_inputs: [
                (population: "pre", source: Poisson(rate: 9000, weight: 90)),
                (population: "post", source: Poisson(rate: {drive}, weight: 90)),
            ],
        )))"#
    );
    let model = neuropil::project::read(&text).expect("a project").0.model;
    let device = Device::Cpu { threads: 2 };
    let mut sim = model.build(&BuildContext::default(), &device, &Progress::default()).expect("built");
    sim.tap(&[Tap::of(neuropil::kinds::spiking::probes::SPIKES)]).expect("tapped");
    sim.advance(STEPS, &mut Pass::default()).expect("it runs");
    let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
    sim.sample(&mut frame).expect("sampled");
    let Reading::Spikes(spikes) = frame.readings.remove(0).1 else { panic!("spikes") };
    (sim, spikes.to_vec())
}

/// Compares all weights. `axonal` is the axonal delay in steps, `shortest` the smallest delay. The difference is relative to the
/// weight, at least to a hundredth of the maximum.
fn compare(projection: &str, (axonal, shortest): (u32, u32), drive: f64, equations: &Equations) {
    let (mut sim, spikes) = run(projection, drive);
    let saved = sim.save().expect("saved");
    let weights: Vec<f32> = saved.read_list("plasticity.0.weights").expect("weights");
    let times = |neuron: u32| -> Vec<u32> { spikes.iter().filter(|s| s.lane == neuron).map(|s| s.step).collect() };
    let all: Vec<Vec<u32>> = (0..2 * N).map(times).collect();
    let rates = [0, N].map(|first| {
        let n: usize = all[first as usize..(first + N) as usize].iter().map(Vec::len).sum();
        n as f64 / f64::from(N) / (f64::from(STEPS) * DT * 1e-3)
    });
    assert!(rates.iter().all(|rate| (2.0..80.0).contains(rate)), "{projection}: {rates:?} Hz");
    // Synapses are up to date where all events are known.
    let end = STEPS - 1 - (shortest - axonal);
    let connections = sim.connectivity().expect("connections").connections;
    let (mut at, mut row, mut largest, mut changed) = (0, vec![], 0.0_f64, 0);
    for pre in 0..N {
        connections.read(pre, &mut row);
        for synapse in &row {
            let delay = (synapse.delay_secs.expect("a delay") * 1e4).round() as u32;
            let shifted = |spikes: &[u32], by: u32| -> Vec<u32> { spikes.iter().map(|step| step + by).collect() };
            let arrivals = [shifted(&all[pre as usize], axonal), shifted(&all[synapse.to as usize], delay - axonal)];
            let expected = equations.weight(synapse.weight, &arrivals[0], &arrivals[1], end);
            let scale = expected.abs().max(0.01 * equations.w_max);
            largest = largest.max((f64::from(weights[at]) - expected).abs() / scale);
            changed += usize::from((expected / synapse.weight - 1.0).abs() > 1e-3);
            at += 1;
        }
    }
    assert_eq!(at, weights.len());
    assert!(largest <= 1e-5, "{projection}: relative difference {largest:e}");
    assert!(changed > weights.len() / 2, "{projection}: {changed} weights changed");
}

const SPREAD: &str = r#"weight: "normal(40, 15) in 1..150", delay: "uniform(1, 3)""#;

fn pair(post: fn(f64, f64, f64) -> f64, pre: fn(f64, f64, f64) -> f64) -> Equations {
    Equations { tau: [17.0, 34.0], tau_slow: [1.0; 2], is_nearest: false, w_max: 200.0, post, pre, eligibility: None }
}

#[test]
fn weights_of_pairs_are_those_of_the_equations() {
    let rule = |more: &str| {
        format!(
            "{SPREAD}, axonal_delay: 0.3, plasticity: PairStdp(tau_plus: 17, tau_minus: 34, a_plus: 0.01, a_minus: 0.006{more})"
        )
    };
    let additive = pair(|_, k, _| 2.0 * k, |_, k, _| -1.2 * k);
    compare(&rule(""), (3, 10), 7000.0, &additive);
    compare(&rule(", pairing: Nearest"), (3, 10), 7000.0, &Equations { is_nearest: true, ..additive });
    let multiplicative = pair(|w, k, _| 2.0 * (1.0 - w / 200.0) * k, |w, k, _| -1.2 * (w / 200.0) * k);
    compare(&rule(", mu_plus: 1, mu_minus: 1"), (3, 10), 7000.0, &multiplicative);
    let between = pair(|w, k, _| 2.0 * (1.0 - w / 200.0).powf(0.3) * k, |w, k, _| -1.2 * (w / 200.0).powf(0.6) * k);
    compare(&rule(", mu_plus: 0.3, mu_minus: 0.6"), (3, 10), 7000.0, &between);
}

/// Morrison et al. 2007, as in NEST.
#[test]
fn weights_of_the_power_law_are_those_of_the_equations() {
    let mut of = pair(|w, k, _| 0.1 * w.powf(0.4) * k, |w, k, _| -0.1 * 0.0513 * w * k);
    (of.tau, of.w_max) = ([15.0, 30.0], 500.0);
    compare(&format!("{SPREAD}, plasticity: PowerLaw()"), (0, 10), 7000.0, &of);
}

/// Pfister & Gerstner 2006, equations 3 and 4.
#[test]
fn weights_of_triplets_are_those_of_the_equations() {
    let rule = "Triplet(a2_plus: 0.002, a3_plus: 0.01, a2_minus: 0.007, a3_minus: 0.001)";
    let mut of = pair(|_, r1, o2| 200.0 * r1 * (0.002 + 0.01 * o2), |_, o1, r2| -200.0 * o1 * (0.007 + 0.001 * r2));
    (of.tau, of.tau_slow) = ([16.8, 33.7], [101.0, 125.0]);
    compare(&format!("{SPREAD}, plasticity: {rule}"), (0, 10), 7000.0, &of);
    of.is_nearest = true;
    let nearest = rule.replace(')', ", pairing: Nearest)");
    compare(&format!("{SPREAD}, axonal_delay: 0.9, plasticity: {nearest}"), (9, 10), 7000.0, &of);
}

/// Vogels et al. 2011.
#[test]
fn weights_of_inhibitory_plasticity_are_those_of_the_equations() {
    let rule = "InhibitoryStdp(eta: 0.005, rate: 5)";
    let mut of = pair(|_, x, _| x, |_, x, _| x - 2.0 * 5.0 * 0.02);
    of.tau = [20.0; 2];
    let spread = r#"weight: "normal(-40, 10) in -150..-1", delay: "normal(2, 0.5) in 1..4""#;
    compare(&format!("{spread}, plasticity: {rule}"), (0, 10), 11_000.0, &of);
}

/// Izhikevich 2007, with a constant third factor.
#[test]
fn weights_of_reward_modulated_plasticity_are_those_of_the_equations() {
    let rule = "RewardStdp(a_plus: 0.1, a_minus: 0.08, tau_c: 300, third_factor: 0.3, interval: 7)";
    let mut of = pair(|_, k, _| 0.1 * k, |_, k, _| -0.08 * k);
    (of.tau, of.eligibility) = ([20.0; 2], Some((70, 300.0, 200.0 * 0.3 * 7e-3)));
    compare(&format!("{SPREAD}, axonal_delay: 0.5, plasticity: {rule}"), (5, 10), 7000.0, &of);
}
