//! Several phase fields against a reference in double precision. Every file of the pattern is a case.

use golden::Golden;
use neuropil::kinds::{
    nuclei::{
        CouplingMethod, SentPhase,
        cpu::{
            coupling::{
                Coupling, Kernel,
                fields::{Amplitude, Fields},
            },
            phases::Oscillators,
        },
        state::State,
    },
    shared::threads::Threads,
};
use neuropil_test_support::golden;

fn worst(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn golden_nuclei_multifield() {
    for golden in golden::all("nuclei", "multifield") {
        let [n, fields] = golden.shape("fitness")[..] else { panic!("a matrix") };
        let t = golden.one("T");
        let x: Vec<f64> = golden.get("fitness").iter().map(|f| f / t).collect();
        let psi: Vec<[f64; 2]> =
            golden.get("psi_re").iter().zip(golden.get("psi_im")).map(|(re, im)| [*re, *im]).collect();
        let of = Fields { x: &x, h: golden.get("entropy"), psi: &psi, g: golden.get("G"), fields };
        for (amplitude, key) in [(Amplitude::Compat, "asfound"), (Amplitude::Covariant, "covariant")] {
            let (re, im): (Vec<f64>, Vec<f64>) = of.sums(amplitude).iter().map(|[re, im]| (*re, *im)).unzip();
            let far =
                worst(&re, golden.get(&format!("S_{key}_re"))).max(worst(&im, golden.get(&format!("S_{key}_im"))));
            assert!(far <= 1e-12 * n as f64);
        }
        check_simulation(&golden, n, fields);
    }
}

/// As in a simulation: J of the first field for all fields, which then factors out.
fn check_simulation(golden: &Golden, n: usize, fields: usize) {
    let first = |key: &str| golden.get(key).iter().step_by(fields).copied().collect::<Vec<f64>>();
    let t = golden.one("T");
    let (x, h) = (first("fitness").iter().map(|f| f / t).collect::<Vec<_>>(), first("entropy"));
    let psi: Vec<[f64; 2]> = golden
        .get("psi_re")
        .iter()
        .zip(golden.get("psi_im"))
        .map(|(re, im)| [re / re.hypot(*im), im / re.hypot(*im)])
        .collect();
    let all = |of: &[f64]| of.iter().flat_map(|x| vec![*x; fields]).collect::<Vec<f64>>();
    let formula = Fields { x: &all(&x), h: &all(&h), psi: &psi, g: golden.get("G"), fields };
    let (kernel, threads) = (Kernel { x: &x, h: &h }, Threads::new(1));
    let mut state = State::<f64>::with_fields(n, 1, fields).expect("memory");
    state.alive.fill(1);
    state.compact();
    for (i, [re, im]) in psi.iter().enumerate() {
        *state.phase_mut(i % fields, (i / fields) as u32) = im.atan2(*re);
    }
    for (amplitude, sent) in [(Amplitude::Compat, SentPhase::Double), (Amplitude::Covariant, SentPhase::Phase)] {
        let mut coupling = Coupling::new(CouplingMethod::Fast, 0.0, n, &threads);
        coupling.plan(kernel);
        let mut oscillators = Oscillators::with_fields(fields, n);
        oscillators.set_mixing(golden.get("G"), sent);
        oscillators.gather(&state);
        oscillators.evaluate(kernel, &mut coupling, &threads);
        for (i, want) in formula.sums(amplitude).iter().enumerate() {
            let at = i % fields * n + i / fields;
            // The simulation uses the frame of the nucleus, the original model does not.
            let [c, s] = if sent == SentPhase::Double { psi[i] } else { [1.0, 0.0] };
            let want = [want[0] * c + want[1] * s, want[1] * c - want[0] * s];
            let off = (oscillators.sums.re[at] - want[0]).hypot(oscillators.sums.im[at] - want[1]);
            assert!(off <= 1e-12 * n as f64, "{}, {sent:?}: {off:.1e}", golden.name);
        }
    }
}
