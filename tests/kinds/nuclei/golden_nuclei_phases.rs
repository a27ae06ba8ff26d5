//! Nuclei against a NumPy reference in double precision: fitness and entropy, sums over pairs, trajectories of phases,
//! maps, barriers. Every file of a pattern is a case.

use golden::Golden;
use neuropil::kinds::{
    nuclei::{
        Barrier, CouplingMethod, CouplingNorm, Dynamics, FitnessMethod, Integrator, OutputFunction, Phases, Storage,
        Task, Tunnelling,
        cpu::{
            coupling::{Coupling, Kernel, Sums},
            fitness::{self, EquationForms},
            maps,
            phases::{Drift, Oscillators},
            population_stats,
        },
        random::{RandomAddress, RandomStream},
        real::Real,
        state::State,
        task::{Problem, Setup},
        tunnelling,
    },
    shared::threads::Threads,
};
use neuropil_test_support::golden;

fn numbers<T: Real>(wide: &[f64]) -> Vec<T> {
    wide.iter().map(|x| T::of(*x)).collect()
}

fn worst<T: Real>(a: &[T], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a.wide() - b).abs()).fold(0.0, f64::max)
}

fn worst_relative<T: Real>(a: &[T], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a.wide() - b).abs() / b.abs()).fold(0.0, f64::max)
}

/// Nuclei in all slots, with these phases.
fn population<T: Real>(phi: &[f64], dim: usize) -> State<T> {
    let mut state = State::empty(phi.len(), dim).expect("memory");
    state.alive.fill(1);
    state.phi = numbers(phi);
    state.compact();
    state
}

fn evaluation<T: Real>(golden: &Golden, tolerance: f64) {
    let [n, dim] = golden.shape("W")[..] else { panic!("a matrix") };
    let (x, y) = (golden.get("X").to_vec(), golden.get("y").to_vec());
    let setup = Setup::new(Problem { x, y, inputs: dim }, String::new());
    let measured = EquationForms::<T>::new(&setup);
    let mut state = population::<T>(&vec![0.0; n], dim);
    for slot in 0..n {
        state.row_mut(slot as u32).copy_from_slice(&numbers::<T>(golden.row("W", slot)));
    }
    let measure = |method, storage, tile| {
        let task = Task { method, storage, answer: OutputFunction::Linear, ..Task::default() };
        let (equations, mut f) = (measured.for_task(&task).expect("a task"), vec![T::ZERO; n]);
        fitness::measure(equations, &task, &state, &state.idx, tile, &Threads::new(2), &mut vec![], &mut f);
        f
    };
    for (method, key) in [(FitnessMethod::Direct, "fitness"), (FitnessMethod::Compressed, "fitness_qr")] {
        let full = measure(method, Storage::Full, 128);
        for tile in [8, 37, 1000] {
            assert_eq!(measure(method, Storage::Full, tile), full, "tiles of {tile}");
        }
        let far = worst_relative(&full, golden.get(key));
        assert!(far <= tolerance, "{key}: {far:.2e}");
        for (storage, most) in [(Storage::F16, 2e-3), (Storage::Bf16, 1.6e-2)] {
            // Rows 1 and 2 (one-hot 10,000 and ±50) are about storage, not about evaluation.
            let far = worst_relative(&measure(method, storage, 128)[4..], &golden.get(key)[4..]);
            assert!(far <= most, "{storage:?}: {far:.2e}");
        }
    }
    let entropy: Vec<T> = (0..n).map(|slot| fitness::entropy(state.row(slot as u32))).collect();
    let far = worst(&entropy, golden.get("entropy"));
    assert!(far <= 2e-6, "{far:.2e}");
    let rest = setup.compressed.expect("more samples than inputs").rest;
    assert!((rest / golden.one("res2") - 1.0).abs() < 1e-12);
    let t = population_stats::temperature(&numbers::<f64>(&golden.get("fitness")[4..]));
    assert!((t - golden.one("T")).abs() < 1e-12 * t);
}

#[test]
fn golden_nuclei_fitness_and_entropy() {
    for golden in golden::all("nuclei", "fitness_") {
        evaluation::<f64>(&golden, 1e-12);
        evaluation::<f32>(&golden, 2e-6);
    }
}

fn sums<T: Real>(method: CouplingMethod, x: &[T], h: &[T], phi: &[f64], threads: usize) -> Sums<T> {
    let (sin, cos): (Vec<T>, Vec<T>) = phi.iter().map(|p| p.sin_cos()).map(|(s, c)| (T::of(s), T::of(c))).unzip();
    let mut coupling = Coupling::new(method, 1e-9, x.len(), &Threads::new(threads));
    let (kernel, mut out) = (Kernel { x, h }, Sums::default());
    coupling.plan(kernel);
    coupling.sums(kernel, &cos, &sin, &mut out);
    out
}

/// The tolerance is on |ΔS| / max d.
fn pairs<T: Real>(golden: &Golden, tolerance: f64) {
    let [f, h, phi] = ["fitness", "entropy", "phi"].map(|key| golden.get(key));
    let t = golden.one("T");
    assert!((population_stats::temperature(f) - t).abs() < 1e-12 * t);
    let (x, h) = (f.iter().map(|f| T::of(f / t)).collect::<Vec<T>>(), numbers::<T>(h));
    let top = golden.get("rowsum").iter().copied().fold(0.0, f64::max);
    for method in [
        CouplingMethod::Naive,
        CouplingMethod::Tiled,
        CouplingMethod::Fast,
        CouplingMethod::Dense,
        CouplingMethod::Sparse,
        CouplingMethod::Auto,
    ] {
        for threads in [1, 3] {
            let got = sums(method, &x, &h, phi, threads);
            let far = [(&got.re, "S_re"), (&got.im, "S_im"), (&got.d, "rowsum")]
                .map(|(a, key)| worst(a, golden.get(key)) / top);
            let most = far.iter().copied().fold(0.0, f64::max);
            // Skipped pairs: up to N · cutoff.
            let slack = if method == CouplingMethod::Sparse { 1e-9 * f.len() as f64 / top } else { 0.0 };
            assert!(most <= tolerance + slack, "{} {method:?}: {most:.2e}", golden.name);
            let (im, d) = (got.im.iter().map(|x| x.wide()).sum::<f64>(), got.d.iter().map(|x| x.wide()).sum::<f64>());
            assert!(im.abs() / d <= 1e-6, "{method:?}: Im Σ S / Σ d = {:.2e}", im / d);
        }
    }
    if golden.has("S1d_re") {
        let got = sums(CouplingMethod::Scan1d, &x, &h, phi, 1);
        for (a, key) in [(&got.re, "S1d_re"), (&got.im, "S1d_im"), (&got.d, "rowsum1d")] {
            assert!(worst(a, golden.get(key)) / top <= tolerance, "Scan1d {key}");
        }
    }
    if golden.has("R_J") {
        let got = sums(CouplingMethod::Fast, &x, &h, phi, 1);
        let (re, d) = (got.re.iter().map(|x| x.wide()).sum::<f64>(), got.d.iter().map(|x| x.wide()).sum::<f64>());
        assert!(((re / d).sqrt() - golden.one("R_J")).abs() <= tolerance);
        let local = got.re.iter().zip(&got.im).zip(&got.d).map(|((re, im), d)| re.wide().hypot(im.wide()) / d.wide());
        assert!(worst(&local.collect::<Vec<f64>>(), golden.get("R_local")) <= tolerance);
    }
}

#[test]
fn golden_nuclei_couplings() {
    for golden in golden::all("nuclei", "coupling_") {
        pairs::<f64>(&golden, 1e-13);
        pairs::<f32>(&golden, 1e-6);
    }
}

/// A trajectory of free phases under the coupling of a reference.
struct Run<'a> {
    golden: &'a Golden,
    phases: Phases,
    method: CouplingMethod,
    frequencies: bool,
}

impl Run<'_> {
    /// Calls `look(step, phases)` before the first step and after every one.
    fn run<T: Real>(&self, mut look: impl FnMut(u64, &Oscillators<T>)) {
        let (golden, t) = (self.golden, self.golden.one("T"));
        let x: Vec<T> = golden.get("fitness").iter().map(|f| T::of(f / t)).collect();
        let h = numbers::<T>(golden.get("entropy"));
        let mut state = population::<T>(golden.get("phi0"), 1);
        if self.frequencies {
            state.omega = numbers(golden.get("omega"));
        }
        let (kernel, threads) = (Kernel { x: &x, h: &h }, Threads::new(1));
        let mut coupling = Coupling::new(self.method, 0.0, x.len(), &threads);
        coupling.plan(kernel);
        let draw = RandomAddress { seed: 0, stream: RandomStream::Noise, generation: 0 };
        let drift = Drift { phases: &self.phases, state: &state, kernel, draw, threads: &threads };
        let mut oscillators = Oscillators::with_capacity(x.len());
        oscillators.gather(&state);
        look(0, &oscillators);
        for step in 0..golden.one("steps") as u64 {
            drift.substep(&mut oscillators, &mut coupling, step as u32);
            look(step + 1, &oscillators);
        }
    }
}

fn apart(a: f64, b: f64) -> f64 {
    let d = (a - b).rem_euclid(std::f64::consts::TAU);
    d.min(std::f64::consts::TAU - d)
}

fn trajectories<T: Real>(golden: &Golden, tolerance: f64) {
    let every = golden.one("save_every") as u64;
    for (name, method, norm) in [
        ("mf", CouplingMethod::MeanField, CouplingNorm::Number),
        ("dense_row", CouplingMethod::Fast, CouplingNorm::Row),
        ("dense_N", CouplingMethod::Tiled, CouplingNorm::Number),
    ] {
        for (suffix, integrator) in [("euler", Integrator::Euler), ("rk4", Integrator::Rk4)] {
            let (dt, coupling) = (golden.one("h"), golden.one(&format!("K_{name}")));
            let phases = Phases { dt, coupling, norm, integrator, omega_scale: 1.0, ..Phases::default() };
            let (phi, r) = (format!("{name}_{suffix}_phi"), format!("{name}_{suffix}_r"));
            let (mut far, mut far_r) = (0.0_f64, 0.0_f64);
            Run { golden, phases, method, frequencies: true }.run::<T>(|step, oscillators| {
                let (sin, cos): (Vec<f64>, Vec<f64>) = oscillators.phi.iter().map(|p| p.wide().sin_cos()).unzip();
                far_r = far_r.max((population_stats::order(&cos, &sin).0 - golden.get(&r)[step as usize]).abs());
                if step.is_multiple_of(every) {
                    let pairs = oscillators.phi.iter().zip(golden.row(&phi, (step / every) as usize));
                    far = pairs.map(|(a, b)| apart(a.wide(), *b)).fold(far, f64::max);
                }
            });
            assert!(far <= tolerance && far_r <= tolerance, "{name} {suffix}: {far:.2e} {far_r:.2e}");
        }
    }
}

/// With equal frequencies and symmetric coupling the energy decreases and the mean phase is constant.
fn gradient_flow(golden: &Golden) {
    let phases = Phases {
        dt: golden.one("h"),
        coupling: golden.one("K_mf"),
        norm: CouplingNorm::Number,
        integrator: Integrator::Rk4,
        ..Phases::default()
    };
    let [f, h] = ["fitness", "entropy"].map(|key| golden.get(key));
    let t = golden.one("T");
    let (mut energies, mut mean, mut before) = (vec![], vec![], golden.get("phi0").to_vec());
    let mut unwrapped = before.clone();
    Run { golden, phases, method: CouplingMethod::Fast, frequencies: false }.run::<f64>(|step, oscillators| {
        for (at, phi) in oscillators.phi.iter().enumerate() {
            let moved =
                (phi - before[at] + std::f64::consts::PI).rem_euclid(std::f64::consts::TAU) - std::f64::consts::PI;
            unwrapped[at] += moved;
            before[at] = *phi;
        }
        if step.is_multiple_of(10) {
            let pair = |j: usize, k: usize| {
                (-((f[j] - f[k]) / t).abs() - (h[j] - h[k]).abs()).exp() * (unwrapped[j] - unwrapped[k]).cos()
            };
            energies.push(-0.5 * (0..f.len()).map(|j| (0..f.len()).map(|k| pair(j, k)).sum::<f64>()).sum::<f64>());
            mean.push(unwrapped.iter().sum::<f64>() / unwrapped.len() as f64);
        }
    });
    assert!(worst(&energies, golden.get("gradient_flow_energy")) < 1e-9);
    assert!(energies.is_sorted_by(|a, b| a >= b));
    let drift = mean.iter().map(|m| (m - mean[0]).abs()).fold(0.0, f64::max);
    assert!(drift < 1e-13);
}

#[test]
fn golden_nuclei_kuramoto_trajectories() {
    for golden in golden::all("nuclei", "kuramoto_traj") {
        trajectories::<f64>(&golden, 1e-10);
        trajectories::<f32>(&golden, 3e-4);
        gradient_flow(&golden);
    }
}

/// Ten steps of a map from the state of a reference.
fn map(golden: &Golden, prefix: &str, phases: &Phases) -> (f64, f64) {
    let n = golden.get("fitness").len();
    let psi = |row: usize| {
        let [re, im] = ["re", "im"].map(|part| golden.row(&format!("{prefix}_psi_{part}"), row));
        re.iter().zip(im).map(|(re, im)| (*re, *im)).collect::<Vec<(f64, f64)>>()
    };
    let mut state = population::<f64>(&psi(0).iter().map(|(re, im)| im.atan2(*re)).collect::<Vec<_>>(), 1);
    state.amp = psi(0).iter().map(|(re, im)| re.hypot(*im)).collect();
    state.spike = golden.get("spike").to_vec();
    let t = population_stats::temperature(golden.get("fitness"));
    let x: Vec<f64> = golden.get("fitness").iter().map(|f| f / t).collect();
    let (kernel, threads) = (Kernel { x: &x, h: golden.get("entropy") }, Threads::new(1));
    let mut coupling = Coupling::new(CouplingMethod::Auto, 0.0, n, &threads);
    coupling.plan(kernel);
    let mut oscillators = Oscillators::with_capacity(n);
    oscillators.gather(&state);
    let (mut far, mut far_r) = (0.0_f64, 0.0_f64);
    for step in 0..golden.shape(&format!("{prefix}_psi_re"))[0] - 1 {
        oscillators.evaluate(kernel, &mut coupling, &threads);
        maps::apply(phases, &mut state, &mut oscillators);
        let got: Vec<(f64, f64)> =
            state.amp.iter().zip(&oscillators.phi).map(|(a, p)| (a * p.cos(), a * p.sin())).collect();
        far = got.iter().zip(psi(step + 1)).map(|(a, b)| (a.0 - b.0).hypot(a.1 - b.1)).fold(far, f64::max);
        let total = got.iter().fold((0.0, 0.0), |sum, z| (sum.0 + z.0, sum.1 + z.1));
        let (key, norm) = if prefix == "cov" { ("cov_R", (n as f64).sqrt()) } else { ("compat_Rq", 1.0) };
        far_r = far_r.max((f64::hypot(total.0, total.1) / norm - golden.get(key)[step]).abs());
    }
    (far, far_r)
}

#[test]
fn golden_nuclei_qkm_maps() {
    for golden in golden::all("nuclei", "qkm_") {
        let compat = Phases { dynamics: Dynamics::QkmCompat, coupling: 1.0, ..Phases::default() };
        let covariant = Phases {
            dynamics: Dynamics::QkmCovariant,
            coupling: golden.one("cov_K"),
            norm: CouplingNorm::Row,
            ..Phases::default()
        };
        for (prefix, phases) in [("compat", compat), ("cov", covariant)] {
            let (far, far_r) = map(&golden, prefix, &phases);
            assert!(far <= 1e-10 && far_r <= 1e-10, "{prefix}: {far:.2e} {far_r:.2e}");
        }
    }
}

#[test]
fn golden_nuclei_tunnelling() {
    for golden in golden::all("nuclei", "tunnelling") {
        let base = Tunnelling { hbar: 1.0, ..Tunnelling::default() };
        for (key, tunnelling) in [
            ("P_default", base.clone()),
            ("P_hbar01", Tunnelling { hbar: 0.1, ..base.clone() }),
            ("P_hbar02_dR2_C05", Tunnelling { hbar: 0.2, width: 2.0, prefactor: 0.5, ..base.clone() }),
        ] {
            let p: Vec<f64> = golden.get("R").iter().map(|r| tunnelling.probability(*r)).collect();
            assert!(worst(&p, golden.get(key)) < 1e-14, "{key}");
        }
        let v = golden.one("V");
        for (row, e) in golden.get("E").iter().enumerate() {
            for (column, l) in golden.get("L").iter().enumerate() {
                let law = Tunnelling { r_threshold: v, width: *l, barrier: Barrier::SquareRoot, ..base.clone() };
                assert!((law.probability(*e) / golden.row("wkb", row)[column] - 1.0).abs() < 1e-12);
                let exact = tunnelling::rectangular(v, *e, *l);
                assert!((exact / golden.row("exact", row)[column] - 1.0).abs() < 1e-12);
                let kappa = (2.0 * (v - e)).sqrt();
                if kappa * l > 4.0 {
                    assert!((16.0 * e * (v - e) / v.powi(2) * law.probability(*e) / exact - 1.0).abs() < 0.01);
                }
            }
        }
    }
}

/// Two oscillators with these frequencies, in the mean field, for so long: the difference of their phases at every step.
fn two(difference: f64, start: f64, k: f64, dt: f64, steps: usize) -> Vec<f64> {
    let mut state = population::<f64>(&[0.0, start], 1);
    state.omega = vec![-0.5 * difference, 0.5 * difference];
    let phases = Phases {
        dt,
        coupling: k,
        norm: CouplingNorm::Number,
        integrator: Integrator::Rk4,
        omega_scale: 1.0,
        ..Phases::default()
    };
    let (kernel, threads) = (Kernel { x: &[0.0; 2], h: &[0.0; 2] }, Threads::new(1));
    let mut coupling = Coupling::new(CouplingMethod::MeanField, 0.0, 2, &threads);
    let draw = RandomAddress { seed: 0, stream: RandomStream::Noise, generation: 0 };
    let mut oscillators = Oscillators::with_capacity(2);
    oscillators.gather(&state);
    let drift = Drift { phases: &phases, state: &state, kernel, draw, threads: &threads };
    (0..steps)
        .map(|step| {
            let now = oscillators.phi[1] - oscillators.phi[0];
            drift.substep(&mut oscillators, &mut coupling, step as u32);
            now
        })
        .collect()
}

#[test]
fn golden_nuclei_two_oscillators() {
    for golden in golden::all("nuclei", "two_oscillators") {
        let (k, dt) = (golden.one("K"), 0.01);
        for (difference, locked) in golden.get("dw").iter().zip(golden.get("locked")) {
            let last = *two(*difference, 0.3, k, dt, 6000).last().expect("steps");
            assert!(apart(last, *locked) < 1e-6, "{difference}: {last}, {locked}");
        }
        let falls = two(0.0, golden.one("dphi0"), k, dt, 501);
        for (t, want) in golden.get("t").iter().zip(golden.get("dphi_dw0")) {
            assert!((falls[(t / dt).round() as usize] - want).abs() < 1e-9, "at {t}");
        }
        // Without locking the difference is periodic with 2π / √(Δω² - K²).
        let slips = two(2.0, 0.0, k, 1e-3, 20_000);
        let mut turns = 0;
        let crossings: Vec<usize> = (1..slips.len())
            .filter(|i| {
                let crosses = slips[i - 1].sin() < 0.0 && slips[*i].sin() >= 0.0 && slips[*i].cos() > 0.0;
                turns += usize::from(crosses);
                crosses
            })
            .collect();
        assert!(turns >= 4);
        let period = (crossings[turns - 1] - crossings[0]) as f64 * 1e-3 / (turns - 1) as f64;
        assert!((period - golden.one("period_dw2")).abs() < 2e-3);
    }
}
