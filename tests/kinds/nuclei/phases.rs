//! Coupling sums and phase dynamics of nuclei: invariants, agreement of the algorithms, and the theory of the Kuramoto
//! model.

use neuropil::{
    gpu::Pass,
    kinds::{
        nuclei::{
            CouplingMethod, CouplingNorm, Dynamics, Frequencies, Integrator, Params, Phases,
            cpu::{
                CpuSim,
                coupling::{
                    Coupling, Kernel, Sums,
                    fields::{Amplitude, Fields},
                },
                phases::{Drift, Oscillators},
                population_stats,
            },
            random::{RandomAddress, RandomStream},
            real::Real,
            state::State,
            task::Setup,
        },
        shared::threads::Threads,
    },
    sim::{BuildContext, Simulation},
};
use std::{f64::consts::TAU, sync::Arc};

/// Numbers in (0, 1), one list per seed.
fn uniform(n: usize, seed: u64) -> Vec<f64> {
    let draw = RandomAddress { seed, stream: RandomStream::InitPhase, generation: 0 };
    (0..n as u32).map(|slot| draw.uniform(slot)).collect()
}

/// f/T, H and phases of n nuclei; with ties, few different values.
fn nuclei(n: usize, spread: f64, ties: bool) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let coarse = |x: f64| if ties { (x * 4.0).floor() / 4.0 } else { x };
    let x = uniform(n, 1).iter().map(|u| spread * coarse(*u)).collect();
    let h = uniform(n, 2).iter().map(|u| 2.0 + coarse(*u)).collect();
    (x, h, uniform(n, 3).iter().map(|u| TAU * u).collect())
}

fn sums<T: Real>(method: CouplingMethod, x: &[f64], h: &[f64], phi: &[f64], threads: usize) -> Sums<T> {
    let of = |wide: &[f64]| wide.iter().map(|x| T::of(*x)).collect::<Vec<T>>();
    let (x, h) = (of(x), of(h));
    let cos: Vec<f64> = phi.iter().map(|p| p.cos()).collect();
    let sin: Vec<f64> = phi.iter().map(|p| p.sin()).collect();
    let mut coupling = Coupling::new(method, 1e-12, x.len(), &Threads::new(threads));
    let (kernel, mut out) = (Kernel { x: &x, h: &h }, Sums::default());
    coupling.plan(kernel);
    coupling.sums(kernel, &of(&cos), &of(&sin), &mut out);
    out
}

/// Largest difference of two sums over the largest row sum.
fn far<A: Real, B: Real>(a: &Sums<A>, b: &Sums<B>) -> f64 {
    let top = b.d.iter().map(|d| d.wide()).fold(1.0, f64::max);
    let list = |a: &[A], b: &[B]| a.iter().zip(b).map(|(a, b)| (a.wide() - b.wide()).abs()).fold(0.0, f64::max);
    list(&a.re, &b.re).max(list(&a.im, &b.im)).max(list(&a.d, &b.d)) / top
}

#[test]
fn algorithms_agree_on_the_coupling_sums() {
    for n in [1, 2, 3, 31, 33, 255, 257, 1000, 2049] {
        for (spread, ties) in [(0.5, false), (8.0, true), (4e8, false)] {
            let (x, h, phi) = nuclei(n, spread, ties);
            let want = sums::<f64>(CouplingMethod::Naive, &x, &h, &phi, 2);
            for method in [CouplingMethod::Tiled, CouplingMethod::Fast, CouplingMethod::Dense, CouplingMethod::Sparse] {
                let double = far(&sums::<f64>(method, &x, &h, &phi, 1), &want);
                let slack = if method == CouplingMethod::Sparse { 1e-12 * n as f64 } else { 0.0 };
                assert!(double <= 1e-13 + slack, "{method:?} N {n} spread {spread}: {double:.1e}");
                // The reference uses f/T rounded to single precision.
                let rounded: Vec<f64> = x.iter().map(|x| f64::from(*x as f32)).collect();
                let h32: Vec<f64> = h.iter().map(|h| f64::from(*h as f32)).collect();
                let want = sums::<f64>(CouplingMethod::Fast, &rounded, &h32, &phi, 1);
                let single = far(&sums::<f32>(method, &rounded, &h32, &phi, 2), &want);
                assert!(single <= 1e-6, "{method:?} f32 N {n} spread {spread}: {single:.1e}");
            }
            let s = &want;
            let (im, d) = (s.im.iter().sum::<f64>(), s.d.iter().sum::<f64>());
            assert!(im.abs() <= 1e-12 * d && s.re.iter().sum::<f64>() >= -1e-12 * d);
            assert!(s.d.iter().all(|d| *d >= 1.0 && *d <= n as f64 * (1.0 + 1e-12)));
            let within = |((re, im), d): ((&f64, &f64), &f64)| re.hypot(*im) <= d * (1.0 + 1e-12);
            assert!(s.re.iter().zip(&s.im).zip(&s.d).all(within));
        }
    }
}

#[test]
fn limits_of_the_coupling_kernel() {
    let (x, h, phi) = nuclei(300, 1.0, false);
    let alike = sums::<f64>(CouplingMethod::Fast, &[0.5; 300], &[2.0; 300], &phi, 1);
    assert!(
        far(&alike, &sums::<f64>(CouplingMethod::MeanField, &x, &h, &phi, 1)) < 1e-14,
        "equal f and H are the mean field"
    );
    let strangers: Vec<f64> = (0..300).map(|i| f64::from(i) * 1e6).collect();
    let alone = sums::<f64>(CouplingMethod::Fast, &strangers, &h, &phi, 1);
    assert!(
        alone
            .re
            .iter()
            .zip(&alone.im)
            .zip(&alone.d)
            .all(|((re, im), d)| (*re - 1.0).abs() < 1e-12 && im.abs() < 1e-12 && *d == 1.0)
    );
    let wide: Vec<f64> = h.iter().map(|h| 300.0 * h).collect();
    let (fast, naive) =
        (sums::<f64>(CouplingMethod::Fast, &x, &wide, &phi, 1), sums::<f64>(CouplingMethod::Naive, &x, &wide, &phi, 1));
    assert!(far(&fast, &naive) < 1e-13, "H beyond what entropies can be");
    let flat = sums::<f64>(CouplingMethod::Scan1d, &x, &[3.0; 300], &phi, 1);
    assert!(
        far(&flat, &sums::<f64>(CouplingMethod::Naive, &x, &[3.0; 300], &phi, 1)) < 1e-14,
        "with equal H the scan is exact"
    );
    // Ignoring H: d is off by at most 1 - e^{-range}.
    let narrow: Vec<f64> = h.iter().map(|h| 2.99 + 0.003 * (h - 2.0)).collect();
    let (scan, exact) = (
        sums::<f64>(CouplingMethod::Scan1d, &x, &narrow, &phi, 1),
        sums::<f64>(CouplingMethod::Fast, &x, &narrow, &phi, 1),
    );
    let off = scan.d.iter().zip(&exact.d).map(|(a, b)| a / b - 1.0).fold(0.0, f64::max);
    assert!(off > 1e-6 && off <= 1.0 - (-0.003_f64).exp() + 1e-6, "{off:.2e}");
    // S is invariant under rotation of all phases.
    let turned: Vec<f64> = phi.iter().map(|p| p + 1.0).collect();
    assert!(
        far(
            &sums::<f64>(CouplingMethod::Fast, &x, &h, &turned, 1),
            &sums::<f64>(CouplingMethod::Fast, &x, &h, &phi, 1)
        ) < 1e-15 * 4.0
    );
}

#[test]
fn coupling_sums_do_not_depend_on_threads() {
    for n in [65, 700, 2500] {
        let (x, h, phi) = nuclei(n, 1.0, true);
        for method in [
            CouplingMethod::Naive,
            CouplingMethod::Tiled,
            CouplingMethod::Fast,
            CouplingMethod::Dense,
            CouplingMethod::Sparse,
            CouplingMethod::Scan1d,
        ] {
            let one = sums::<f32>(method, &x, &h, &phi, 1);
            for threads in [2, 3, 8] {
                let more = sums::<f32>(method, &x, &h, &phi, threads);
                assert!(one.re == more.re && one.im == more.im && one.d == more.d, "{method:?} {n} {threads}");
            }
        }
    }
}

/// J factors out of several fields, the covariant sum rotates with the phases, and one field gives the ordinary sum.
#[test]
fn sums_of_several_fields_factorise() {
    let (n, fields) = (40, 3);
    let (x, h, _) = nuclei(n, 1.0, false);
    let each = |of: &[f64]| of.iter().flat_map(|v| [*v; 3]).collect::<Vec<f64>>();
    let (x3, h3) = (each(&x), each(&h));
    let (size, phase) = (uniform(n * fields, 5), uniform(n * fields, 6));
    let psi = |turn: f64| {
        size.iter()
            .zip(&phase)
            .map(|(s, p)| [s * (TAU * p + turn).cos(), s * (TAU * p + turn).sin()])
            .collect::<Vec<_>>()
    };
    let g = [1.0, 0.2, -0.3, 0.2, 0.5, 0.1, -0.3, 0.1, 0.8];
    let (straight, turned) = (psi(0.0), psi(0.7));
    let of = Fields { x: &x3, h: &h3, psi: &straight, g: &g, fields };
    let distance = |a: &[[f64; 2]], b: &[[f64; 2]]| {
        a.iter().zip(b).map(|(a, b)| (a[0] - b[0]).hypot(a[1] - b[1])).fold(0.0, f64::max)
    };
    for amplitude in [Amplitude::Covariant, Amplitude::Compat] {
        assert!(distance(&of.sums(amplitude), &of.factored(amplitude)) < 1e-13);
        let moved = distance(&Fields { psi: &turned, ..of }.sums(amplitude), &of.sums(amplitude));
        assert!(if amplitude == Amplitude::Covariant { moved < 1e-13 } else { moved > 0.1 }, "{amplitude:?}: {moved}");
    }
    let phi: Vec<f64> = phase[..n].iter().map(|p| TAU * p).collect();
    let psi: Vec<[f64; 2]> = phi.iter().map(|p| [p.cos(), p.sin()]).collect();
    let one = Fields { x: &x, h: &h, psi: &psi, g: &[1.0], fields: 1 }.sums(Amplitude::Covariant);
    let want = sums::<f64>(CouplingMethod::Naive, &x, &h, &phi, 1);
    let off = one.iter().zip(want.re.iter().zip(&want.im)).map(|(a, (re, im))| (a[0] - re).hypot(a[1] - im));
    assert!(off.fold(0.0, f64::max) < 1e-12);
}

fn empty_setup() -> Arc<Setup> {
    Arc::new(Setup { dim: 1, ..Setup::default() })
}

/// Mean and last r of the classical model in its stationary state.
fn stationary(frequencies: Frequencies, coupling: f64) -> f64 {
    let mut params = Params::kuramoto(2000);
    params.population.precision = neuropil::kinds::nuclei::StatePrecision::F64;
    params.phases = Phases { frequencies, coupling, dt: 0.05, ..params.phases };
    let mut sim = CpuSim::<f64>::new(&params, &BuildContext { seed: 4, ..BuildContext::default() }, empty_setup(), 2)
        .expect("it starts");
    let mut mean = 0.0;
    for step in 0..1600 {
        sim.advance(1, &mut Pass::default()).expect("it runs");
        mean += if step < 1000 { 0.0 } else { sim.host().stats.r / 600.0 };
    }
    mean
}

/// Order against coupling strength for quantiles of two distributions of frequencies.
#[test]
fn order_follows_kuramoto_theory() {
    for (frequencies, critical, table) in [
        (Frequencies::LorentzQuantiles, 2.0, [(1.1, 0.3015), (1.5, 0.5774), (2.0, 0.5_f64.sqrt()), (4.0, 0.8660)]),
        (
            Frequencies::NormalQuantiles,
            (8.0 / std::f64::consts::PI).sqrt(),
            [(1.1, 0.5099), (1.5, 0.8497), (2.0, 0.9370), (4.0, 0.9872)],
        ),
    ] {
        for (ratio, want) in table {
            let r = stationary(frequencies, ratio * critical);
            assert!((r - want).abs() < 0.01, "{frequencies:?} {ratio}: {r:.4}, {want}");
        }
        let below = stationary(frequencies, 0.6 * critical);
        assert!(below < 0.06, "{frequencies:?}: {below}");
    }
}

/// Phases of a few nuclei under a fixed kernel.
struct Flow {
    phases: Phases,
    state: State<f64>,
    x: Vec<f64>,
    h: Vec<f64>,
}

impl Flow {
    fn new(phi: &[f64], phases: Phases) -> Self {
        let (x, h, _) = nuclei(phi.len(), 1.0, false);
        let mut state = State::empty(phi.len(), 1).expect("memory");
        state.alive.fill(1);
        state.phi = phi.to_vec();
        state.omega = uniform(phi.len(), 9).iter().map(|u| u - 0.5).collect();
        state.compact();
        Self { phases, state, x, h }
    }

    fn after(&self, steps: u32) -> Vec<f64> {
        let (kernel, threads) = (Kernel { x: &self.x, h: &self.h }, Threads::new(1));
        let mut coupling = Coupling::new(CouplingMethod::Auto, 0.0, self.x.len(), &threads);
        coupling.plan(kernel);
        let draw = RandomAddress { seed: 1, stream: RandomStream::Noise, generation: 0 };
        let mut oscillators = Oscillators::with_capacity(self.x.len());
        oscillators.gather(&self.state);
        let drift = Drift { phases: &self.phases, state: &self.state, kernel, draw, threads: &threads };
        (0..steps).for_each(|step| drift.substep(&mut oscillators, &mut coupling, step));
        oscillators.phi
    }
}

fn turned(a: f64, b: f64) -> f64 {
    let d = (a - b).rem_euclid(TAU);
    d.min(TAU - d)
}

#[test]
fn trajectories_rotate_with_all_phases() {
    let phi: Vec<f64> = uniform(60, 3).iter().map(|u| TAU * u).collect();
    for integrator in [Integrator::Euler, Integrator::Rk4, Integrator::Heun] {
        for noise in [0.0, 0.3] {
            let phases = Phases { integrator, noise, coupling: 2.0, omega_scale: 1.0, ..Phases::default() };
            let plain = Flow::new(&phi, phases.clone()).after(50);
            let shifted: Vec<f64> = phi.iter().map(|p| p + 1.3).collect();
            let off = Flow::new(&shifted, phases)
                .after(50)
                .iter()
                .zip(&plain)
                .map(|(a, b)| turned(*a, b + 1.3))
                .fold(0.0, f64::max);
            assert!(off < 1e-12, "{integrator:?}: {off:.1e}");
        }
    }
}

/// Near synchrony, with equal frequencies, perturbations decay with -(K/N) (diag d - J).
#[test]
fn perturbations_near_synchrony_decay_linearly() {
    let phi: Vec<f64> = uniform(50, 3).iter().map(|u| 1e-4 * u).collect();
    let phases = Phases {
        norm: CouplingNorm::Number,
        integrator: Integrator::Rk4,
        omega_scale: 0.0,
        dt: 0.01,
        coupling: 2.0,
        ..Phases::default()
    };
    let flow = Flow::new(&phi, phases);
    let got = flow.after(1);
    for j in 0..50 {
        let pull =
            |k: usize| (-(flow.x[j] - flow.x[k]).abs() - (flow.h[j] - flow.h[k]).abs()).exp() * (phi[k] - phi[j]);
        let slope = 2.0 / 50.0 * (0..50).map(pull).sum::<f64>();
        assert!(((got[j] - phi[j]) / 0.01 - slope).abs() <= 0.01 * slope.abs() + 1e-9, "{j}");
    }
}

/// With noise only, phases spread as √(2 D t); without noise, the integrators converge to the same solution.
#[test]
fn noise_spreads_and_integrators_agree() {
    let phases = Phases {
        integrator: Integrator::Heun,
        coupling: 0.0,
        omega_scale: 0.0,
        noise: 0.05,
        dt: 0.1,
        ..Phases::default()
    };
    let spread = Flow::new(&vec![0.0; 4000], phases).after(10);
    let variance = spread.iter().map(|p| p * p).sum::<f64>() / 4000.0;
    assert!((variance / 0.1 - 1.0).abs() < 0.1, "{variance}");
    let phi: Vec<f64> = uniform(30, 3).iter().map(|u| TAU * u).collect();
    let end = |integrator, dt: f64| {
        Flow::new(&phi, Phases { integrator, dt, omega_scale: 1.0, ..Phases::default() })
            .after((1.0 / dt).round() as u32)
    };
    let exact = end(Integrator::Rk4, 0.01);
    let off = |phi: Vec<f64>| phi.iter().zip(&exact).map(|(a, b)| turned(*a, *b)).fold(0.0, f64::max);
    let (euler, halved) = (off(end(Integrator::Euler, 0.02)), off(end(Integrator::Euler, 0.01)));
    let (heun, halved_heun) = (off(end(Integrator::Heun, 0.02)), off(end(Integrator::Heun, 0.01)));
    assert!(
        (euler / halved - 2.0).abs() < 0.1 && (heun / halved_heun - 4.0).abs() < 0.3,
        "{euler} {halved} {heun} {halved_heun}"
    );
}

/// The maps keep Σ|ψ|² at 1; the covariant map rotates with the phases, the original one does not.
#[test]
fn only_the_covariant_map_is_invariant_under_rotation() {
    let mut params = Params::default();
    (params.population.k_worst, params.population.m_fuse, params.population.death_rate) = (0, 0, 0.0);
    params.population.capacity = 128;
    for (dynamics, coupling) in [(Dynamics::QkmCovariant, 0.1), (Dynamics::QkmCompat, 1.0)] {
        (params.phases.dynamics, params.phases.coupling) = (dynamics, coupling);
        let run = |turn: f64| {
            let setup = Arc::new(
                neuropil::kinds::nuclei::task::prepare(&params, &BuildContext::default(), &Default::default())
                    .expect("a task"),
            );
            let mut sim = CpuSim::<f64>::new(&params, &BuildContext { seed: 2, ..BuildContext::default() }, setup, 1)
                .expect("it starts");
            let mut state = sim.state().clone();
            state.phi.iter_mut().for_each(|p| *p += turn);
            sim.put(state, 0);
            sim.advance(5, &mut Pass::default()).expect("it runs");
            sim.state().clone()
        };
        let (plain, shifted) = (run(0.0), run(1.0));
        assert!((plain.amp.iter().map(|a| a * a).sum::<f64>() - 1.0).abs() < 1e-12);
        let off = plain.phi.iter().zip(&shifted.phi).map(|(a, b)| turned(*b, a + 1.0)).fold(0.0, f64::max);
        assert!(if dynamics == Dynamics::QkmCovariant { off < 1e-12 } else { off > 0.1 }, "{dynamics:?}: {off}");
        let (sin, cos): (Vec<f64>, Vec<f64>) = plain.phi.iter().map(|p| p.sin_cos()).unzip();
        assert!(population_stats::order(&cos, &sin).0 <= 1.0);
    }
}
