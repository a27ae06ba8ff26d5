//! Several fields of phases against a reference in double precision. Every file of the pattern is a case.

#[allow(dead_code, reason = "each test binary takes what it needs")]
#[path = "support/golden.rs"]
mod golden;

use golden::Golden;
use neuropil::kinds::nuclei::{
    Method, Sent,
    cpu::{
        coupling::{
            Coupling, Kernel,
            fields::{Amplitude, Fields},
        },
        crew::Crew,
        phases::Waves,
    },
    state::State,
};

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
        for (amplitude, key) in [(Amplitude::AsFound, "asfound"), (Amplitude::Covariant, "covariant")] {
            let (re, im): (Vec<f64>, Vec<f64>) = of.sums(amplitude).iter().map(|[re, im]| (*re, *im)).unzip();
            let far =
                worst(&re, golden.get(&format!("S_{key}_re"))).max(worst(&im, golden.get(&format!("S_{key}_im"))));
            println!("{} {key}: {far:.1e} of {n}", golden.name);
            assert!(far <= 1e-12 * n as f64);
        }
        as_run(&golden, n, fields);
    }
}

/// As runs compute it: J of the first field for all of them, which then factors out.
fn as_run(golden: &Golden, n: usize, fields: usize) {
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
    let (kernel, crew) = (Kernel { x: &x, h: &h }, Crew::new(1));
    let mut state = State::<f64>::with_fields(n, 1, fields);
    state.alive.fill(1);
    state.compact();
    for (i, [re, im]) in psi.iter().enumerate() {
        *state.phase_mut(i % fields, (i / fields) as u32) = im.atan2(*re);
    }
    for (amplitude, sent) in [(Amplitude::AsFound, Sent::Double), (Amplitude::Covariant, Sent::Phase)] {
        let mut coupling = Coupling::new(Method::Fast, 0.0, n, crew);
        coupling.plan(kernel);
        let mut waves = Waves::with_fields(fields, n);
        waves.mix(golden.get("G"), sent);
        waves.gather(&state);
        waves.evaluate(kernel, &mut coupling, crew);
        for (i, want) in formula.sums(amplitude).iter().enumerate() {
            let at = i % fields * n + i / fields;
            // The origin added its sums without turning them back; a run sees them from the nucleus.
            let [c, s] = if sent == Sent::Double { psi[i] } else { [1.0, 0.0] };
            let want = [want[0] * c + want[1] * s, want[1] * c - want[0] * s];
            let off = (waves.sums.re[at] - want[0]).hypot(waves.sums.im[at] - want[1]);
            assert!(off <= 1e-12 * n as f64, "{}, {sent:?}: {off:.1e}", golden.name);
        }
    }
}
