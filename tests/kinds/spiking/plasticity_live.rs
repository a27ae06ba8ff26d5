//! Plastic synapses while a network runs: learning is switched on and off, requests list present weights, probes read them, and actions
//! change them. Equal bits for any threads, batches and backend.

use super::plasticity::network;
use crate::device::gpu;
use neuropil::{
    gpu::Pass,
    kinds::{
        Model,
        spiking::{
            probes::{MEAN_WEIGHT, THIRD_FACTOR, WEIGHT_SD, WEIGHTS},
            weight_readings::{N_BINS, WEIGHT_PROBES},
        },
    },
    params::{Value, path},
    sim::{
        Action, Answer, BuildContext, Device, Effect, Frame, Progress, Reading, SimError, Simulation, Snapshot, Tap,
        request::Cell,
    },
};

/// Projections of [`network`] with changing weights.
const LEARNING: [usize; 5] = [0, 1, 2, 4, 5];

/// A way to run a network: device, way in which a GPU steps, and steps of a batch.
pub struct Way {
    pub device: Device,
    step: &'static str,
    batch: u32,
}

impl Way {
    pub fn build(&self, model: &Model) -> Box<dyn Simulation> {
        let kernels = [("step", self.step)].into_iter().collect();
        let context = BuildContext { kernels, ..BuildContext::default() };
        model.build(&context, &self.device, &Progress::default()).expect("built")
    }

    fn name(&self) -> String {
        match self.device {
            Device::Cpu { threads } => format!("{threads} threads"),
            Device::Cuda(_) => format!("GPU, {}", self.step),
        }
    }

    pub fn run(&self, sim: &mut dyn Simulation, steps: u32) {
        super::digest_of(sim, steps, self.batch);
    }

    pub fn end(&self, sim: &mut dyn Simulation, steps: u32) -> (String, Snapshot) {
        (super::digest_of(sim, steps, self.batch), sim.save().expect("saved"))
    }
}

pub fn on_cpu() -> Vec<Way> {
    [(1, 401), (3, 7), (2, 1)].map(|(threads, batch)| Way { device: Device::Cpu { threads }, step: "", batch }).into()
}

/// One way on the CPU, which is the definition, then those on a GPU; `None` without a GPU.
pub fn on_gpu() -> Option<Vec<Way>> {
    let gpu = gpu()?;
    let mut ways = on_cpu();
    ways.truncate(1);
    for (step, batch) in [("persistent", 401), ("launches", 50), ("persistent", 7)] {
        ways.push(Way { device: Device::Cuda(gpu.clone()), step, batch });
    }
    Some(ways)
}

/// Compares what a function returns for each way with the first result.
pub fn compare<T: PartialEq>(ways: &[Way], result: impl Fn(&Way) -> T) -> T {
    let first = result(&ways[0]);
    for way in &ways[1..] {
        assert!(result(way) == first, "{}, batches of {}", way.name(), way.batch);
    }
    first
}

fn set(sim: &mut dyn Simulation, edit: &str) {
    let change = path::parse(sim.params().expect("parameters"), edit).expect("a change");
    assert_eq!(sim.set(&change).expect("set"), Effect::Applied, "{edit}");
}

/// Weights and eligibilities in a saved state, by projection.
fn values(state: &Snapshot) -> Vec<Vec<f32>> {
    let list = |i: &usize, what: &str| state.read_list(&format!("plasticity.{i}.{what}")).expect("a list");
    LEARNING.iter().map(|i| [list(i, "weights"), list(i, "eligibility")].concat()).collect()
}

/// Without learning, weights and eligibilities keep their values, while spikes are added to the traces.
fn learning_is_switched(ways: &[Way]) {
    let model = network(&[]);
    compare(ways, |way| {
        let mut sim = way.build(&model);
        let mut states = vec![way.end(&mut *sim, 801)];
        for is_on in [false, true] {
            LEARNING.iter().for_each(|i| set(&mut *sim, &format!("projections.{i}.learning={is_on}")));
            states.extend([0, 603].map(|steps| way.end(&mut *sim, steps)));
        }
        let [_, off, still_off, on, learned] = [0, 1, 2, 3, 4].map(|i| values(&states[i].1));
        assert!(off == still_off && off == on, "weights keep their values");
        assert!(on.iter().zip(&learned).all(|(a, b)| a != b), "weights change again");
        let traces = |i: usize| states[i].1.read_list::<f32>("plasticity.1.rows.trace").expect("traces");
        assert!(traces(1) != traces(2), "traces continue");
        states
    });
}

#[test]
fn learning_is_switched_on_the_cpu() {
    learning_is_switched(&on_cpu());
}

#[test]
fn learning_is_switched_on_a_gpu() {
    if let Some(ways) = on_gpu() {
        learning_is_switched(&ways);
    }
}

/// Pre- and postsynaptic neuron and weight of all connections that a request lists, by neurons.
fn connections(model: &Model, sim: &mut dyn Simulation, inputs: bool) -> Vec<(u32, u32, f64)> {
    let spec = model.requests().iter().find(|spec| spec.name == "connections").expect("a request");
    let mut request = spec.request((0..130).collect());
    request.values = vec![Value::Bool(inputs), Value::Int(1_000_000)];
    let Answer::Table(_, rows) = sim.ask(&request, &Progress::default()).expect("an answer") else { panic!("a table") };
    let row = |row: &Vec<Cell>| match &row[..] {
        [pre, post, Cell::Number(w)] => (pre.text().parse().expect("a neuron"), post.text().parse().expect("one"), *w),
        other => panic!("{other:?}"),
    };
    let mut all: Vec<(u32, u32, f64)> = rows.iter().map(row).collect();
    all.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
    all
}

/// Requests list the weights of the saved state, and change nothing.
fn requests_list_present_weights(ways: &[Way]) {
    let model = network(&[]);
    compare(ways, |way| {
        let (mut sim, mut other) = (way.build(&model), way.build(&model));
        let before = connections(&model, &mut *sim, false);
        way.run(&mut *sim, 1203);
        let listed = connections(&model, &mut *sim, false);
        assert!(listed == connections(&model, &mut *sim, true), "inputs are the outputs of the others");
        assert!(listed.len() == before.len() && listed != before);
        assert!(way.end(&mut *sim, 400) == way.end(&mut *other, 1603), "a request changes nothing");

        let listed = connections(&model, &mut *sim, false);
        let state = sim.save().expect("saved");
        let saved = |i: usize| -> Vec<f64> {
            let weights: Vec<f32> = state.read_list(&format!("plasticity.{i}.weights")).expect("weights");
            weights.into_iter().map(f64::from).collect()
        };
        let chosen = |is: &dyn Fn(&(u32, u32, f64)) -> bool| -> Vec<f64> {
            listed.iter().filter(|row| is(row)).map(|row| row.2).collect()
        };
        // The only projection within a; and that from b to a with negative weights. Synapses of a pair have equal weights.
        assert!(chosen(&|(pre, post, _)| *pre < 77 && *post < 77) == saved(1), "a to a");
        assert!(chosen(&|(pre, post, w)| *pre >= 77 && *post < 77 && *w < 0.0) == saved(2), "b to a");
        let mut all = chosen(&|(pre, post, _)| *pre < 77 || *post < 77);
        let mut of_state: Vec<f64> = LEARNING.into_iter().flat_map(saved).collect();
        all.sort_by(f64::total_cmp);
        of_state.sort_by(f64::total_cmp);
        assert!(all == of_state, "all weights");
        assert!(chosen(&|(pre, post, _)| *pre >= 77 && *post >= 77).iter().all(|w| *w == -100.0), "b to b");
        listed
    });
}

#[test]
fn requests_list_present_weights_on_the_cpu() {
    requests_list_present_weights(&on_cpu());
}

#[test]
fn requests_list_present_weights_on_a_gpu() {
    if let Some(ways) = on_gpu() {
        requests_list_present_weights(&ways);
    }
}

/// Weight, traces and eligibility of the synapses from one neuron to another.
pub fn synapses(model: &Model, sim: &mut dyn Simulation, from: u32, to: u32) -> Vec<(String, [f64; 4])> {
    let spec = model.requests().iter().find(|spec| spec.name == "synapse").expect("a request");
    let request = spec.request(vec![from, to]);
    let Answer::Table(_, rows) = sim.ask(&request, &Progress::default()).expect("an answer") else { panic!("a table") };
    let row = |row: &Vec<Cell>| match &row[..] {
        [name, Cell::Number(w), Cell::Number(pre), Cell::Number(post), Cell::Number(c)] => {
            (name.text().to_string(), [*w, *pre, *post, *c])
        }
        other => panic!("{other:?}"),
    };
    rows.iter().map(row).collect()
}

/// Requests list the state of single synapses, and change nothing.
fn requests_list_synapses(ways: &[Way]) {
    let model = network(&[]);
    let found = compare(ways, |way| {
        let mut sim = way.build(&model);
        way.run(&mut *sim, 1203);
        let pairs = (0..77).flat_map(|from| (0..130).step_by(9).map(move |to| (from, to)));
        let all: Vec<_> = pairs.map(|(from, to)| (from, to, synapses(&model, &mut *sim, from, to))).collect();
        let listed = connections(&model, &mut *sim, false);
        for (from, to, states) in &all {
            let mut of_pair: Vec<f64> = listed.iter().filter(|c| (c.0, c.1) == (*from, *to)).map(|c| c.2).collect();
            let mut weights: Vec<f64> = states.iter().map(|(_, [w, ..])| *w).collect();
            of_pair.sort_by(f64::total_cmp);
            weights.sort_by(f64::total_cmp);
            assert!(of_pair == weights, "{from} to {to}");
        }
        // Bits, because eligibilities without a third factor are no numbers.
        let bits = |(_, _, states): (u32, u32, Vec<(String, [f64; 4])>)| -> Vec<(String, [u64; 4])> {
            states.into_iter().map(|(name, values)| (name, values.map(f64::to_bits))).collect()
        };
        (all.into_iter().flat_map(bits).collect::<Vec<_>>(), way.end(&mut *sim, 400))
    });
    let value = |i: usize| found.0.iter().map(move |(name, values)| (name.as_str(), f64::from_bits(values[i])));
    assert!(value(1).any(|(_, trace)| trace > 0.1) && value(2).any(|(_, trace)| trace > 0.1), "traces");
    assert!(value(3).all(|(name, c)| c.is_nan() == (name != "a → b (2)")), "eligibilities of reward-modulated STDP");
}

#[test]
fn requests_list_synapses_on_the_cpu() {
    requests_list_synapses(&on_cpu());
}

#[test]
fn requests_list_synapses_on_a_gpu() {
    if let Some(ways) = on_gpu() {
        requests_list_synapses(&ways);
    }
}

/// Edge lists have the learned weights of a saved state, or those at step 0 without one.
#[test]
fn edge_lists_have_learned_weights() {
    let (model, way) = (network(&[]), &on_cpu()[0]);
    let mut sim = way.build(&model);
    let start = sim.save().expect("saved");
    let learned = way.end(&mut *sim, 1203).1;
    let prepared = model.prepare(&BuildContext::default(), &Progress::default()).expect("prepared");
    let weights = |i: usize, state: Option<&Snapshot>| {
        let list = prepared.edge_list(i, state, &Progress::default()).expect("a list");
        let (mut all, mut row) = (vec![], vec![]);
        for from in 0..list.connectivity.connections.n() {
            list.connectivity.connections.read(from, &mut row);
            all.extend(row.iter().map(|connection| connection.weight as f32));
        }
        (all, list.weight_exponent.is_some())
    };
    let saved = |i: usize, state: &Snapshot| {
        let weights: Vec<f32> = state.read_list(&format!("plasticity.{i}.weights")).expect("weights");
        weights.into_iter().map(|w| w + 0.0).collect::<Vec<_>>()
    };
    for i in LEARNING {
        assert!(weights(i, Some(&learned)) == (saved(i, &learned), false), "projection {i}: learned");
        assert!(weights(i, None) == (saved(i, &start), true), "projection {i}: at step 0");
    }
    assert!(weights(3, Some(&learned)).0.iter().all(|w| *w == -100.0), "constant weights");
    let of_other = network(&["projections.1.rule.n=19"]);
    let prepared = of_other.prepare(&BuildContext::default(), &Progress::default()).expect("prepared");
    let refused = prepared.edge_list(1, Some(&learned), &Progress::default()).err().expect("other synapses");
    assert!(refused.to_string().contains("1540 weights"), "{refused}");
}

/// The network with constant weights.
fn without_plasticity() -> Model {
    let edits: Vec<String> = (0..6).map(|i| format!("projections.{i}.plasticity=Static")).collect();
    network(&edits.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Steps between samples of weights.
const EVERY: u32 = 300;

/// The readings of the next steps.
pub fn readings(way: &Way, sim: &mut dyn Simulation, steps: u32) -> Frame {
    let (mut all, mut left) = (Frame::default(), steps);
    while left > 0 {
        let now = way.batch.min(left);
        sim.advance(now, &mut Pass::default()).expect("it runs");
        let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
        sim.sample(&mut frame).expect("it is sampled");
        all.absorb(frame);
        left -= now;
    }
    all
}

/// Mean, standard deviation and counts of weights of a saved state, in double precision.
fn statistics(state: &Snapshot) -> (Vec<f64>, Vec<f64>, Vec<f32>) {
    let (mut means, mut deviations, mut counts) = (vec![], vec![], vec![0.0; N_BINS]);
    for (i, w_max) in LEARNING.into_iter().zip([200.0_f32, 500.0, 200.0, 200.0, 200.0]) {
        let weights: Vec<f32> = state.read_list(&format!("plasticity.{i}.weights")).expect("weights");
        let n = weights.len() as f64;
        let mean = weights.iter().map(|w| f64::from(*w)).sum::<f64>() / n;
        means.push(mean);
        deviations.push((weights.iter().map(|w| (f64::from(*w) - mean).powi(2)).sum::<f64>() / n).sqrt());
        for w in weights {
            counts[((w.abs() / w_max * N_BINS as f32) as usize).min(N_BINS - 1)] += 1.0;
        }
    }
    (means, deviations, counts)
}

/// Probes of weights read those of the saved states, and change nothing.
fn probes_read_weights(ways: &[Way]) {
    let model = network(&["rules.weight_interval_ms=30"]);
    let taps = WEIGHT_PROBES.map(Tap::of);
    compare(ways, |way| {
        let (mut sim, mut other) = (way.build(&model), way.build(&model));
        let names = ["a → b", "a → a", "b → a", "b → a (2)", "a → b (2)"];
        assert_eq!((sim.sets().len(), sim.sets()[1].name), (2, "projections"));
        assert_eq!(sim.sets()[1].names, names);
        assert_eq!([MEAN_WEIGHT, WEIGHT_SD].map(|probe| sim.lanes(probe)), [names, names]);
        sim.tap(&taps).expect("tapped");
        let all = readings(way, &mut *sim, 3 * EVERY + 100);
        let [Some(Reading::Series(mean)), Some(Reading::Series(sd))] =
            [MEAN_WEIGHT, WEIGHT_SD].map(|probe| all.reading(probe))
        else {
            panic!("two series")
        };
        let Some(Reading::Histogram(histogram)) = all.reading(WEIGHTS) else { panic!("a histogram") };
        let steps: Vec<u64> = (1..=3).map(|i| i * u64::from(EVERY)).collect();
        assert_eq!((&mean.steps, &sd.steps, &histogram.steps), (&steps, &steps, &steps));
        assert_eq!((mean.lanes, sd.lanes, histogram.n_bins()), (5, 5, N_BINS));
        let Some(Reading::Series(third)) = all.reading(THIRD_FACTOR) else { panic!("a series") };
        assert_eq!((&third.steps, third.lanes, sim.lanes(THIRD_FACTOR)), (&steps, 1, vec![names[4].to_owned()]));
        // d_0 + k (r - r_0) with 53 neurons and intervals of 23 steps.
        for d in &third.values {
            let spikes = ((f64::from(*d) - 0.5) / 0.02 + 5.0) * 53.0 * 2.3e-3;
            assert!(spikes > -1e-3 && (spikes - spikes.round()).abs() < 1e-3, "{d}: {spikes} spikes");
        }
        for row in 0..3 {
            let (means, deviations, counts) = statistics(&way.end(&mut *other, EVERY).1);
            for lane in 0..5 {
                let at = 5 * row + lane;
                let (found, expected) = (f64::from(mean.values[at]), means[lane]);
                assert!((found / expected - 1.0).abs() < 1e-6, "{}: {found}, expected {expected}", names[lane]);
                let (found, expected) = (f64::from(sd.values[at]), deviations[lane]);
                assert!((found - expected).abs() < 1e-5 * means[lane].abs(), "{}: {found} {expected}", names[lane]);
            }
            assert!(histogram.counts[N_BINS * row..][..N_BINS] == counts);
        }
        let end = way.end(&mut *sim, 0);
        assert!(way.end(&mut *other, 100) == end, "taps change nothing");
        sim.rewind().expect("rewound");
        assert!(readings(way, &mut *sim, 3 * EVERY + 100).readings == all.readings, "after a return to step 0");
        (all.readings, end)
    });
    let model = without_plasticity();
    assert!(WEIGHT_PROBES.iter().all(|probe| model.unused_probes().contains(probe)));
    assert_eq!(ways[0].build(&model).sets().len(), 1);
}

#[test]
fn probes_read_weights_on_the_cpu() {
    probes_read_weights(&on_cpu());
}

#[test]
fn probes_read_weights_on_a_gpu() {
    if let Some(ways) = on_gpu() {
        probes_read_weights(&ways);
    }
}

fn act(sim: &mut dyn Simulation, name: &str, elements: &[u32], values: &[f64]) -> Result<(), SimError> {
    let values = values.iter().map(|x| Value::Real(*x)).collect();
    Action::on(name, elements.to_vec(), values).perform(sim).map(drop)
}

/// Actions reset and scale the weights of chosen projections; elements are those of the set of projections.
fn actions_change_weights(ways: &[Way]) {
    let model = network(&[]);
    let start = values(&ways[0].build(&model).save().expect("saved"));
    compare(ways, |way| {
        let mut sim = way.build(&model);
        let mut states = vec![way.end(&mut *sim, 801)];
        let before = values(&states[0].1);
        act(&mut *sim, "scale_weights", &[3, 1, 3], &[0.5]).expect("scaled");
        act(&mut *sim, "reset_weights", &[0], &[]).expect("reset");
        act(&mut *sim, "scale_weights", &[2], &[100.0]).expect("scaled");
        states.push(way.end(&mut *sim, 0));
        let after = values(&states[1].1);
        assert!(before[0] != start[0] && after[0] == start[0], "reset");
        for i in [1, 3] {
            assert!(after[i] == before[i].iter().map(|w| w * 0.5).collect::<Vec<_>>(), "projection {i}: halved");
        }
        assert!(after[2].iter().all(|w| *w == -200.0), "at the maximum, with the same sign");
        assert!(after[4] == before[4], "other projections are unchanged");

        let wrong: [(&str, &[u32], &[f64]); 7] = [
            ("scale_weights", &[5], &[1.0]),
            ("scale_weights", &[0], &[-1.0]),
            ("scale_weights", &[0], &[f64::NAN]),
            ("scale_weights", &[0], &[]),
            ("scale_weights", &[], &[0.5]),
            ("reset_weights", &[7], &[]),
            ("reset_weights", &[0], &[1.0]),
        ];
        for (name, elements, values) in wrong {
            let refused = act(&mut *sim, name, elements, values);
            assert!(matches!(refused, Err(SimError::Input(_))), "{name} {elements:?} {values:?}");
        }
        assert!(way.end(&mut *sim, 0) == states[1], "refused actions change nothing");

        // A maximum that was set before the same step holds.
        way.run(&mut *sim, 202);
        set(&mut *sim, "projections.1.plasticity.w_max=499");
        act(&mut *sim, "scale_weights", &[1], &[1000.0]).expect("scaled");
        states.push(way.end(&mut *sim, 0));
        assert!(values(&states[2].1)[1].iter().all(|w| *w == 499.0), "the new maximum");
        states.push(way.end(&mut *sim, 401));
        let mut other = way.build(&model);
        set(&mut *other, "projections.1.plasticity.w_max=499");
        other.load(&states[2].1).expect("loaded");
        assert!(way.end(&mut *other, 401) == states[3], "a loaded state continues");
        states
    });
    let mut sim = ways[0].build(&without_plasticity());
    assert!(matches!(act(&mut *sim, "reset_weights", &[0], &[]), Err(SimError::Input(_))), "no plastic projection");
}

#[test]
fn actions_change_weights_on_the_cpu() {
    actions_change_weights(&on_cpu());
}

#[test]
fn actions_change_weights_on_a_gpu() {
    if let Some(ways) = on_gpu() {
        actions_change_weights(&ways);
    }
}
