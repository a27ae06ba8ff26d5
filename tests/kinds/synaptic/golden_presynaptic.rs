//! Presynaptic release as the reference computes it, and the shipped recurrence with the switches of the reference.

use super::{
    earlier::{
        self,
        counts::{Estimator, Noise, trials},
        hill::{self, Head, HillConstants, HillState},
        release::{SelectedEdges, State, release},
    },
    golden_files::{SEQUENCE, TOLERANCE, compare, index},
};
use neuropil::kinds::synaptic::presynaptic::{
    self, Constants, Edges, KeyState, Mode, Presynaptic, Release, step::probability,
};
use neuropil_test_support::golden::Golden;

/// Constants of a part of the index, and the number that the reference adds before logarithms.
pub fn constants(part: &str) -> (Constants, f64) {
    let all = index(part);
    let get = |name: &str| all[name].as_f64().unwrap_or_else(|| panic!("{part} has no {name}"));
    let constants = earlier::constants::constants().with(|c| {
        c.calcium.kappa = get("tau_c");
        c.calcium.alpha = get("alpha_c");
        c.syt1.k = get("syt1_slope");
        c.syt7.k = get("syt7_slope");
        c.complexin.half = get("cpx_thresh");
        c.doc2.weight = get("doc2_gain");
        c.complexin.bias = get("complexin_bias");
        c.vesicles.k_prime = get("prime_rate");
        c.snare.unprime = get("unprime_per_release");
        c.snare.k_nsf = get("nsf_recover");
        c.vesicles.recycled = get("rec_rate");
        c.vesicles.endo_delay = get("endo_delay") as usize;
        c.amplitude.load = get("amp_load");
        c.amplitude.leak = get("amp_leak");
        c.energy.fill = get("energy_fill");
        c.energy.per_vesicle = get("energy_use");
        c.energy.max = get("energy_max");
        c.first.rrp = get("init_rrp");
        c.first.reserve = get("init_reserve");
        c.first.snare = get("init_snare");
        c.first.clamp = get("init_clamp");
        c.first.amplitude = get("init_amp");
        c.first.energy = get("init_energy");
        c.bias.lambda = get("lambda_loge");
        c.bias.floor = get("epsilon");
        c.bias.barrier = get("barrier_strength");
    });
    (constants, get("epsilon"))
}

#[test]
fn declared_constants_are_those_of_the_reference() {
    assert_eq!(constants("default_config").0, earlier::constants::constants());
    let all = index("default_config");
    let c = HillConstants::default();
    let pairs = [
        ("tau_c", c.ca_tau),
        ("tau_buf", c.tau_buf),
        ("tau_prime", c.tau_prime),
        ("tau_rrp", c.tau_rrp),
        ("tau_energy", c.tau_energy),
        ("alpha_ca", c.alpha_ca),
        ("alpha_buf_on", c.alpha_buf_on),
        ("alpha_buf_off", c.alpha_buf_off),
        ("alpha_prime", c.alpha_prime),
        ("alpha_unprime", c.alpha_unprime),
        ("alpha_refill", c.alpha_refill),
        ("energy_in", c.energy_in),
        ("energy_cost_rel", c.energy_cost_rel),
        ("energy_cost_pump", c.energy_cost_pump),
        ("syt_fast_kd", c.syt_fast_kd),
        ("syt_slow_kd", c.syt_slow_kd),
        ("qmax", c.qmax),
        ("q_beta", c.q_beta),
        ("epsilon", c.epsilon),
    ];
    pairs.iter().for_each(|(name, value)| assert_eq!(all[*name].as_f64(), Some(*value), "{name}"));
}

/// Release probability on a grid.
pub fn check_probability(file: &Golden) {
    let (c, _) = constants("default_config");
    let mut p = vec![];
    for calcium in file.get("C") {
        for clamp in file.get("clamp") {
            p.extend(file.get("snare").iter().map(|primed| probability::<f32>(&c, *calcium, *clamp, *primed).0));
        }
    }
    compare(file, "p", &p, TOLERANCE);
}

/// The arrays of a state that a file has, by their names after a prefix.
fn state_of(file: &Golden, prefix: &str, heads: usize) -> State {
    let get = |name: &str| file.get(&format!("{prefix}{name}")).to_vec();
    let calcium = get("C");
    let delay = format!("{prefix}DELAY");
    let slots = if file.has(&delay) { file.shape(&delay)[0] } else { 0 };
    State {
        heads,
        keys: calcium.len() / heads,
        rrp: get("RRP"),
        reserve: get("RES"),
        delay: (0..slots).map(|s| file.get(&delay)[s * calcium.len()..][..calcium.len()].to_vec()).collect(),
        primed: get("PR"),
        clamp: get("CL"),
        amplitude: get("AMP"),
        energy: get("E"),
        calcium,
    }
}

/// Arrays by their names in the files.
fn arrays(s: &State) -> [(&'static str, Vec<f64>); 8] {
    [
        ("C", s.calcium.clone()),
        ("RRP", s.rrp.clone()),
        ("RES", s.reserve.clone()),
        ("PR", s.primed.clone()),
        ("CL", s.clamp.clone()),
        ("AMP", s.amplitude.clone()),
        ("E", s.energy.clone()),
        ("DELAY", s.delay.concat()),
    ]
}

/// One step from a random state.
pub fn check_step(file: &Golden) {
    let (c, epsilon) = constants(if file.name.starts_with("05") { "alt_config_05" } else { "default_config" });
    let shape = file.shape("drive");
    let mut state = state_of(file, "in_", shape[0] * shape[1]);
    let c = c.with(|c| c.vesicles.endo_delay = state.delay.len());
    let key: Vec<usize> = file.get("idx").iter().map(|j| *j as usize).collect();
    let valid: Option<Vec<bool>> = file.has("valid").then(|| file.get("valid").iter().map(|v| *v > 0.0).collect());
    let edges = SelectedEdges { drive: file.get("drive"), key: &key, valid: valid.as_deref() };
    let mut ema = file.one("ema_before");
    let effects = release(&c, epsilon, &mut state, &mut ema, &edges);
    compare(file, "e", &effects.effect, TOLERANCE);
    compare(file, "ema_after", &[ema], TOLERANCE);
    for (name, got) in arrays(&state) {
        if !got.is_empty() {
            compare(file, &format!("out_{name}"), &got, TOLERANCE);
        }
    }
    // The calcium buffer is carried, and not used.
    compare(file, "out_BUF", file.get("in_BUF"), 0.0);
}

/// Steps of one query each.
pub fn check_sequence(file: &Golden) {
    let (c, epsilon) = constants("default_config");
    let shape = file.shape("drive");
    let (steps, heads, per_query) = (shape[0], shape[1] * shape[2], shape[4]);
    let keys = file.shape("C")[3];
    let key: Vec<usize> = file.get("idx").iter().map(|j| *j as usize).collect();
    let (mut state, mut ema) = (State::fresh(&c, heads, keys), 1.0);
    let mut got: Vec<(&str, Vec<f64>)> = arrays(&state).iter().map(|(name, _)| (*name, vec![])).collect();
    let (mut effects, mut means) = (vec![], vec![]);
    for step in 0..steps {
        let at = step * heads * per_query..(step + 1) * heads * per_query;
        let drive = &file.get("drive")[at.clone()];
        let edges = SelectedEdges { drive, key: &key[at], valid: None };
        effects.extend(release(&c, epsilon, &mut state, &mut ema, &edges).effect);
        means.push(ema);
        got.iter_mut().zip(arrays(&state)).for_each(|(all, (_, now))| all.1.extend(now));
    }
    compare(file, "e", &effects, SEQUENCE);
    compare(file, "ema", &means, SEQUENCE);
    got.iter().for_each(|(name, got)| compare(file, name, got, SEQUENCE));
    compare(file, "BUF", &vec![0.0; file.get("BUF").len()], 0.0);
    check_shipped_sequence(file);
}

/// The same by the shipped recurrence in f32: constants of the reference, selected edges, no barrier.
fn check_shipped_sequence(file: &Golden) {
    let shape = file.shape("drive");
    let (steps, heads, per_query) = (shape[0], shape[1] * shape[2], shape[4]);
    let keys = file.shape("C")[3];
    let op = Presynaptic {
        mode: Mode::Scan,
        constants: earlier::constants::constants().with(|c| c.bias.barrier = 0.0),
        edges: Edges::TopK(per_query),
        context: keys,
        release: Release::Deterministic,
    };
    let mut states: Vec<KeyState<f32>> = (0..heads).map(|_| KeyState::fresh(&op, keys)).collect();
    let names = ["C", "RRP", "RES", "PR", "CL", "AMP", "E"];
    let (mut got, mut delay, mut effects) = (vec![vec![]; names.len()], vec![], vec![]);
    for step in 0..steps {
        let mut rings = vec![vec![]; op.constants.vesicles.endo_delay];
        for (head, state) in states.iter_mut().enumerate() {
            let from = (step * heads + head) * per_query;
            let edges = file.get("idx")[from..from + per_query].iter().map(|j| *j as usize);
            let edges: Vec<(usize, f64)> = edges.zip(file.get("drive")[from..].iter().copied()).collect();
            let mut dots = vec![-1e4; keys];
            edges.iter().for_each(|(j, drive)| dots[*j] = *drive as f32);
            let mut logits = vec![0.0; keys];
            presynaptic::forward(&op, keys - 1, 1, &dots, &mut logits, None, state, None);
            // The reference divides the effect by a running mean.
            let effect = |j: usize| f64::from(logits[j] - dots[j]).exp() - op.constants.bias.floor;
            let scale = file.get("ema")[step] + 1e-6;
            effects.extend(edges.iter().map(|(j, _)| effect(*j) / scale));
            let arrays = [
                &state.calcium,
                &state.rrp,
                &state.reserve,
                &state.primed,
                &state.clamp,
                &state.amplitude,
                &state.energy,
            ];
            let part = |x: &[f32]| x[..keys].iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
            got.iter_mut().zip(arrays).for_each(|(all, now)| all.extend(part(now)));
            for (slot, ring) in rings.iter_mut().enumerate() {
                ring.extend(part(&state.queue[(state.cursor + slot) % op.constants.vesicles.endo_delay]));
            }
        }
        delay.extend(rings.concat());
    }
    compare(file, "e", &effects, SEQUENCE);
    names.iter().zip(&got).for_each(|(name, got)| compare(file, name, got, SEQUENCE));
    compare(file, "DELAY", &delay, SEQUENCE);
}

/// Numbers of released vesicles with recorded noise.
pub fn check_counts(file: &Golden) {
    let trials_max = file.shape("u")[1];
    let (p, n, z) = (file.get("p"), file.get("n"), file.get("z"));
    let run = |estimator: Estimator| -> (Vec<f64>, Vec<f64>) {
        let one = |i: usize| {
            let noise = Noise { z: z[i], u: file.row("u", i) };
            estimator.count(trials(n[i], trials_max as f64), p[i], noise)
        };
        (0..p.len()).map(one).unzip()
    };
    let cases = [
        (Estimator::NormalReparam, "normal_reparam", Some("grad_normal")),
        (Estimator::GumbelSigmoidSte { tau: 0.5 }, "gumbel_tau0p5", None),
        (Estimator::GumbelSigmoidSte { tau: 1.0 }, "gumbel_tau1", Some("grad_gumbel_tau1")),
        (Estimator::StraightThrough, "straight_through", Some("grad_straight")),
    ];
    for (estimator, count, slope) in cases {
        let (counts, slopes) = run(estimator);
        compare(file, count, &counts, TOLERANCE);
        if let Some(slope) = slope {
            compare(file, slope, &slopes, TOLERANCE);
        }
    }
}

/// States and results of a head of a Hill file.
const HILL_STATE: [&str; 7] = ["C", "BUF", "RRP", "RES", "PR", "CL", "E"];

fn hill_arrays(s: &HillState) -> [f64; 7] {
    [s.calcium, s.buffer, s.rrp, s.reserve, s.primed, s.clamp, s.energy]
}

/// The Hill model.
pub fn check_hill(file: &Golden) {
    let shape = file.shape("q");
    let (heads, n, dim) = (shape[0] * shape[1], shape[2], shape[3]);
    let mask: Option<Vec<bool>> = file.has("mask").then(|| file.get("mask").iter().map(|m| *m > 0.0).collect());
    let (mut bias, mut after) = (vec![], vec![vec![]; HILL_STATE.len()]);
    for head in 0..heads {
        let rows = |name: &str, width: usize| &file.get(name)[head * n * width..(head + 1) * n * width];
        let at = |name: &str, t: usize| file.get(&format!("in_{name}"))[head * n + t];
        let mut states: Vec<HillState> = (0..n)
            .map(|t| HillState {
                calcium: at("C", t),
                buffer: at("BUF", t),
                rrp: at("RRP", t),
                reserve: at("RES", t),
                primed: at("PR", t),
                clamp: at("CL", t),
                energy: at("E", t),
            })
            .collect();
        let inputs =
            Head { dim, q: rows("q", dim), k: rows("k", dim), logits: rows("logits", n), mask: mask.as_deref() };
        bias.extend(hill::forward(&HillConstants::default(), &inputs, &mut states));
        for state in &states {
            after.iter_mut().zip(hill_arrays(state)).for_each(|(all, x)| all.push(x));
        }
    }
    compare(file, "syn_logit", &bias, TOLERANCE);
    HILL_STATE.iter().zip(&after).for_each(|(name, got)| compare(file, &format!("out_{name}"), got, TOLERANCE));
}

/// The Hill model, recurrent over positions.
pub fn check_recurrent(file: &Golden) {
    let shape = file.shape("q");
    let (heads, n, dim) = (shape[0] * shape[1], shape[2], shape[3]);
    let (mut logits, mut after) = (vec![], vec![vec![]; HILL_STATE.len()]);
    for head in 0..heads {
        let rows = |name: &str, width: usize| &file.get(name)[head * n * width..(head + 1) * n * width];
        let inputs = Head { dim, q: rows("q", dim), k: rows("k", dim), logits: rows("logits_in", n), mask: None };
        let (got, states) = hill::recurrent(&HillConstants::default(), &inputs, rows("in_CL", 1));
        logits.extend(got);
        for state in &states {
            after.iter_mut().zip(hill_arrays(state)).for_each(|(all, x)| all.push(x));
        }
    }
    compare(file, "logits_out", &logits, TOLERANCE);
    let written = HILL_STATE.iter().zip(&after).filter(|(name, _)| **name != "CL");
    written.for_each(|(name, got)| compare(file, &format!("out_{name}"), got, TOLERANCE));
}
