//! The spiking kind against Brian2: deterministic input spike for spike, random input by rates.
//!
//! A small network is in `tests/golden/spiking`. Larger ones are looked for in `../shared` (or `NEUROPIL_SHARED`): every
//! `reference/<network>_det_<input>.npz` is one case, with the input `kicks_<input>.csv` beside the network.

use neuropil::data::npz::NpzArchive;
use neuropil::{
    gpu::Pass,
    kinds::spiking::{Params, Source, SpikingKind, StatePrecision, probes, setup::Setup},
    sim::{BuildContext, Device, Frame, Kind, Progress, Reading, Simulation, Spike, StartRequest, Tap},
};
use neuropil_test_support::{Need, golden, skip};
use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let path = std::env::var_os("NEUROPIL_SHARED").map_or(beside, PathBuf::from);
    let found = path.join("reference").is_dir();
    if !found {
        skip(Need::Golden, format!("no reference data at {}", path.display()));
    }
    found.then_some(path)
}

fn network(shared: &Path, name: &str) -> Option<PathBuf> {
    let path = match name {
        "p9" => shared.join("data/flywire630/p9_subnet"),
        "sur" => shared.join("data/fly_standin"),
        _ => return None,
    };
    path.is_dir().then_some(path)
}

fn params(folder: &Path) -> Params {
    let mut params = Params::default();
    params.network.source = Source::Files;
    params.network.path = folder.display().to_string().into();
    params
}

fn prepare(params: &Params) -> Arc<Setup> {
    Arc::new(SpikingKind::prepare(params, &BuildContext::default(), &Progress::default()).expect("the network reads"))
}

fn start(params: &Params, setup: &Arc<Setup>, seed: u64, threads: usize) -> Box<dyn Simulation> {
    let scene = BuildContext { seed, ..BuildContext::default() };
    let mut sim = SpikingKind::start(StartRequest::new(
        params,
        &scene,
        setup.clone(),
        &Device::Cpu { threads },
        &Progress::default(),
    ))
    .expect("it starts");
    sim.tap(&[Tap::of(probes::SPIKES)]).expect("spikes can be tapped");
    sim
}

fn spikes(sim: &mut dyn Simulation, steps: u32) -> Vec<Spike> {
    sim.advance(steps, &mut Pass::default()).expect("it runs");
    let mut frame = Frame::default();
    sim.sample(&mut frame).expect("it can be read");
    match frame.reading(probes::SPIKES) {
        Some(Reading::Spikes(spikes)) => spikes.clone(),
        other => panic!("expected spikes, got {other:?}"),
    }
}

fn numbers<N: npyz::Deserialize + Copy>(path: &Path, name: &str) -> Vec<N> {
    let mut file = NpzArchive::open(path).expect("the reference opens");
    file.by_name(name).expect("it reads").expect("the array is there").into_vec().expect("of this type")
}

/// Network, reference and name of the input file of each case.
fn cases(shared: &Path) -> Vec<(String, PathBuf, String)> {
    let mut cases: Vec<_> = fs::read_dir(shared.join("reference")).expect("reference folder").flatten().collect();
    cases.sort_by_key(std::fs::DirEntry::file_name);
    let name = |e: &fs::DirEntry| Some(e.file_name().to_str()?.strip_suffix(".npz")?.to_owned());
    let case = |e: fs::DirEntry| {
        let name = name(&e)?;
        let (net, input) = name.split_once("_det_")?;
        let kicks = format!("kicks_{input}.csv");
        network(shared, net)?.join(&kicks).exists().then(|| (net.to_owned(), e.path(), kicks))
    };
    cases.into_iter().filter_map(case).collect()
}

/// A network of 200 neurons that is part of the repository (`tests/golden/spiking/make.py`).
#[test]
fn golden_spiking_small_network_as_brian2() {
    let folder = golden::folder("spiking");
    if !folder.join("net200").is_dir() {
        return skip(Need::Golden, format!("there is no small network in {}", folder.display()));
    }
    let network = folder.join("net200");
    as_brian2(&prepare(&params(&network)), &network, &folder.join("net200_det_A.npz"), "kicks_A.csv");
}

#[test]
fn golden_spiking_deterministic_input_as_brian2() {
    let Some(shared) = shared() else { return };
    let mut setups: Vec<(String, Arc<Setup>)> = vec![];
    let cases = cases(&shared);
    assert!(!cases.is_empty(), "reference data, but no case in it");
    for (net, reference, kicks) in cases {
        let folder = network(&shared, &net).expect("known");
        if !setups.iter().any(|(n, _)| *n == net) {
            setups.push((net.clone(), prepare(&params(&folder))));
        }
        as_brian2(&setups.iter().find(|(n, _)| *n == net).expect("just read").1, &folder, &reference, &kicks);
    }
}

/// Every spike and the state at the end are those of a reference; in single precision nearly all spikes.
fn as_brian2(setup: &Arc<Setup>, network: &Path, reference: &Path, kicks: &str) {
    let info = fs::read_to_string(reference.display().to_string().replace(".npz", "_info.json")).expect("info");
    let info: serde_json::Value = serde_json::from_str(&info).expect("info is JSON");
    let steps = (info["ms"].as_f64().expect("ms") / 0.1).round() as u32;
    let mut params = params(network);
    params.stimulus.kicks = network.join(kicks).display().to_string().into();
    let (lanes, at) = (numbers::<i32>(reference, "idx"), numbers::<i32>(reference, "step"));
    let want: HashSet<(u32, u32)> = at.iter().zip(lanes).map(|(s, l)| (*s as u32, l as u32)).collect();
    for (precision, threads) in [(StatePrecision::F64, 1), (StatePrecision::F64, 2), (StatePrecision::F32, 1)] {
        params.lif.precision = precision;
        let mut sim = start(&params, setup, 0, threads);
        let got: HashSet<(u32, u32)> = spikes(&mut *sim, steps).iter().map(|s| (s.step, s.lane)).collect();
        let common = got.intersection(&want).count();
        let share = common as f64 / want.len().max(got.len()) as f64;
        assert!(share >= if precision == StatePrecision::F64 { 1.0 } else { 0.998 }, "{}", reference.display());
        if precision == StatePrecision::F64 {
            final_state(&mut *sim, reference);
        }
    }
}

/// v and g of every neuron at the end, to a millionth of a millivolt.
fn final_state(sim: &mut dyn Simulation, reference: &Path) {
    let v = numbers::<f64>(reference, "v_final_mV");
    sim.tap(&[Tap::of(probes::V_FIELD)]).expect("can be tapped");
    let mut frame = Frame::default();
    sim.sample(&mut frame).expect("can be read");
    let Some(Reading::Field(got)) = frame.reading(probes::V_FIELD) else { panic!("a field") };
    for (i, (got, want)) in got.iter().zip(&v).enumerate() {
        assert!((f64::from(*got) - want).abs() < 5e-6, "v of {i}: {got}, Brian2 {want}");
    }
}

/// P9 neurons driven at 150 Hz, 30 trials of 1 s: every neuron above 1 Hz within 3 standard errors of Brian2's rate.
#[test]
fn golden_spiking_poisson_rates_as_brian2() {
    let Some(shared) = shared() else { return };
    let Some(folder) = network(&shared, "p9") else { return skip(Need::Golden, "no P9 network") };
    let mut params = params(&folder);
    params
        .interventions
        .push(neuropil::kinds::spiking::Intervention { target: "idx = 118, 164".into(), ..Default::default() });
    let setup = prepare(&params);
    let trials = 30;
    let mut counts = vec![[0_f64; 2]; setup.n() as usize];
    let mut sim = start(&params, &setup, 0, 1);
    for seed in 0..trials {
        sim = if seed == 0 { sim } else { start(&params, &setup, seed, 1) };
        let mut trial = vec![0_f64; setup.n() as usize];
        spikes(&mut *sim, 10_000).iter().for_each(|s| trial[s.lane as usize] += 1.0);
        for (sum, x) in counts.iter_mut().zip(trial) {
            sum[0] += x;
            sum[1] += x * x;
        }
    }
    let table = fs::read_to_string(shared.join("reference/p9_poisson150_rates.csv")).expect("rates");
    let mut pairs = vec![];
    let mut worst = 0_f64;
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse::<f64>().expect("a number");
        let (i, want, std) = (number(0) as usize, number(2), number(3));
        let k = trials as f64;
        let mean = counts[i][0] / k;
        let var = (counts[i][1] / k - mean * mean).max(0.0);
        pairs.push((mean, want));
        if want > 1.0 {
            let se = ((var + std * std) / (k - 1.0)).sqrt();
            let z = (mean - want).abs() / se;
            worst = worst.max(z);
            assert!(z < 3.0, "neuron {i}: {mean:.2} Hz, Brian2 {want:.2} Hz, {z:.2} s.e.");
        }
    }
    let r = correlation(&pairs);
    assert!(r > 0.999);
}

fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let (sx, sy) = pairs.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
    let (mx, my) = (sx / n, sy / n);
    let cov: f64 = pairs.iter().map(|(x, y)| (x - mx) * (y - my)).sum();
    let (vx, vy) = pairs.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + (x - mx).powi(2), b + (y - my).powi(2)));
    cov / (vx * vy).sqrt()
}
