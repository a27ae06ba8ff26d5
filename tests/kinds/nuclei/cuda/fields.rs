//! Several phase fields: sums against the formula in double precision and the reference files, runs against the CPU.

use super::{
    device::{Dice, buf, gpu, population, stats, within, worse},
    golden,
    runs::{advance, lively, scene, setup, slots_of, start, turned},
};
use neuropil::{
    gpu::{Gpu, Pass},
    kinds::nuclei::{
        Coupling as Settings, CouplingMethod, Integrator, Mixing, Params, SentPhase,
        cpu::{
            CpuSim,
            coupling::fields::{Amplitude, Fields},
        },
        cuda::{
            Tuning,
            coupling::{Algorithm, Coupling},
            layout::KernelParams,
            memory::{FIELDS, Table},
            mixer::{Mixer, MixerSizes},
        },
        mixing,
    },
    params::{Value, path},
    sim::{Action, Buffers as _, Simulation},
};
use std::{f64::consts::LOG2_E, sync::Arc};

/// Nuclei with one fitness and entropy, and several phases each.
struct Many {
    f: Vec<f32>,
    h: Vec<f32>,
    /// `[fields × nuclei]`.
    phi: Vec<f32>,
    g: Vec<f64>,
    t: f64,
}

impl Many {
    fn random(n: usize, fields: usize, settings: &Settings) -> Self {
        let mut dice = Dice((n * 31 + fields) as u64);
        let f = (0..n).map(|_| (3.0 + 2.0 * dice.normal()) as f32).collect();
        let h = (0..n).map(|_| (4.0 * dice.unit()) as f32).collect();
        let phi = (0..n * fields).map(|_| (std::f64::consts::TAU * (dice.unit() - 0.5)) as f32).collect();
        Self { f, h, phi, g: mixing::matrix(settings, fields, 3), t: 1.7 }
    }

    fn fields(&self) -> usize {
        self.phi.len() / self.f.len()
    }

    /// S of all fields, `[nuclei × fields]`, in double precision.
    fn sums(&self, amplitude: Amplitude) -> Vec<[f64; 2]> {
        let (n, fields) = (self.f.len(), self.fields());
        let each =
            |of: &[f32], by: f64| -> Vec<f64> { of.iter().flat_map(|x| vec![f64::from(*x) / by; fields]).collect() };
        let psi: Vec<[f64; 2]> = (0..n * fields)
            .map(|i| f64::from(self.phi[i % fields * n + i / fields]))
            .map(|phi| [phi.cos(), phi.sin()])
            .collect();
        let of = Fields { x: &each(&self.f, self.t), h: &each(&self.h, 1.0), psi: &psi, g: &self.g, fields };
        let mut sums = of.factored(amplitude);
        if amplitude == Amplitude::Compat {
            // The simulation uses the frame of the nucleus, the original model does not.
            for (s, z) in sums.iter_mut().zip(&psi) {
                *s = [s[0] * z[0] + s[1] * z[1], s[1] * z[0] - s[0] * z[1]];
            }
        }
        sums
    }

    /// The same on the device, in a table of `stride` slots per nucleus; and the largest d.
    fn mixed(&self, gpu: &Arc<Gpu>, algorithm: Algorithm, sent: SentPhase, stride: usize) -> (Vec<[f64; 2]>, f64) {
        let (n, phase_fields) = (self.f.len(), self.fields());
        let n_slots = n * stride;
        let mut fields = vec![f32::NAN; (FIELDS + phase_fields - 1) * n_slots];
        let rows = [(0, &self.phi[..n]), (4, &self.f), (5, &self.h)];
        let more = (1..phase_fields).map(|b| (FIELDS + b - 1, &self.phi[b * n..][..n]));
        for (row, values) in rows.into_iter().chain(more) {
            values.iter().enumerate().for_each(|(i, x)| fields[row * n_slots + i * stride] = *x);
        }
        let (phase_fields, sends_double) = (phase_fields as u32, u32::from(sent == SentPhase::Double));
        let kernel_params =
            KernelParams { n_slots: n_slots as u32, stride: 1, phase_fields, sends_double, ..KernelParams::default() };
        let mean = self.f.iter().map(|x| f64::from(*x)).sum::<f64>() / n as f64;
        let mut table = Table::new(gpu, kernel_params).expect("there is room");
        (table.population, table.stats, table.fields) =
            (population(gpu, n), stats(gpu, mean, self.t), buf(gpu, &fields));
        table.idx = buf(gpu, &(0..n).map(|i| (i * stride) as u32).collect::<Vec<_>>());
        let mut coupling = Coupling::new(gpu, n_slots as u32, algorithm, None).expect("it starts");
        let mut mixer =
            Mixer::allocate(gpu, &MixerSizes { fields: phase_fields as usize, n_slots }).expect("it starts");
        mixer.set(&self.g).expect("it is taken");
        let pass = &mut Pass::default();
        let Table { population, stats, idx, fields, .. } = &table;
        coupling.build_sites(pass, population, stats, idx, fields).expect("places");
        coupling.order(pass, population).expect("orders");
        mixer.couple(pass, &mut coupling, &table).expect("couples");
        let (mut out, mut most) = (vec![[0.0; 2]; n * phase_fields as usize], 0.0_f64);
        for field in 0..phase_fields {
            mixer.gather_field(pass, field, &mut coupling, &table).expect("hands over");
            let sums = coupling.sums.read_range(0..4 * n).expect("reads");
            for (j, sum) in sums.chunks_exact(4).enumerate() {
                out[j * phase_fields as usize + field as usize] = [sum[0].into(), sum[1].into()];
                most = most.max(sum[2].into());
            }
        }
        (out, most)
    }
}

fn far(got: &[[f64; 2]], want: &[[f64; 2]], most: f64) -> f64 {
    let off = |(a, b): (&[f64; 2], &[f64; 2])| (a[0] - b[0]).hypot(a[1] - b[1]);
    got.iter().zip(want).map(off).fold(0.0, worse) / most
}

const SENT: [(SentPhase, Amplitude); 2] =
    [(SentPhase::Phase, Amplitude::Covariant), (SentPhase::Double, Amplitude::Compat)];

#[test]
fn sums_of_several_fields_match_the_formula() {
    let Some(gpu) = gpu() else { return };
    let even = Settings { between: 0.3, ..Settings::default() };
    let embedded = Settings { mixing: Mixing::Embedded, sharpness: 0.3, ..Settings::default() };
    for (n, fields, stride) in [(1, 2, 1), (33, 3, 2), (257, 8, 1), (1025, 2, 3), (3000, 3, 1)] {
        for settings in [&even, &embedded] {
            let many = Many::random(n, fields, settings);
            for (sent, amplitude) in SENT {
                let want = many.sums(amplitude);
                for algorithm in [Algorithm::Naive, Algorithm::Tiled, Algorithm::Fast] {
                    let (got, most) = many.mixed(&gpu, algorithm, sent, stride);
                    let what = format!("{algorithm:?}, {n} × {fields}, {sent:?}, {:?}", settings.mixing);
                    within(&what, far(&got, &want, most), 1e-6);
                }
            }
        }
    }
}

/// Reference files, in which fitness and entropy depend on the field: every pair of fields is a site, and one pass of the
/// kernels of one field over all sites gives the sums of one field.
#[test]
fn sums_of_several_fields_match_the_reference() {
    let Some(gpu) = gpu() else { return };
    for golden in golden::some("nuclei", "multifield") {
        let [n, fields] = golden.shape("fitness")[..] else { panic!("a matrix") };
        let (all, t, g) = (n * fields, golden.one("T"), golden.get("G"));
        let psi: Vec<[f64; 2]> =
            golden.get("psi_re").iter().zip(golden.get("psi_im")).map(|(re, im)| [*re, *im]).collect();
        for (key, is_double) in [("covariant", false), ("asfound", true)] {
            let sent = |[re, im]: [f64; 2]| {
                let size = re.hypot(im);
                if is_double { [(re * re - im * im) / size, 2.0 * re * im / size] } else { [re, im] }
            };
            for algorithm in [Algorithm::Naive, Algorithm::Tiled, Algorithm::Fast] {
                let mut error = 0.0_f64;
                let mut most = 0.0_f64;
                for a in 0..fields {
                    let mut coupling = Coupling::new(&gpu, all as u32, algorithm, None).expect("it starts");
                    let sites: Vec<f32> = (0..all)
                        .flat_map(|i| {
                            let z = sent(psi[i]).map(|x| x * g[a * fields + i % fields]);
                            let x = golden.get("fitness")[i] / t * LOG2_E;
                            [x, golden.get("entropy")[i] * LOG2_E, z[0], z[1]].map(|x| x as f32)
                        })
                        .collect();
                    coupling.sites.write(&sites).expect("it fits");
                    let (population, idx) = (population(&gpu, all), buf(&gpu, &(0..all as u32).collect::<Vec<_>>()));
                    let pass = &mut Pass::default();
                    coupling.order(pass, &population).expect("orders");
                    coupling.couple(pass, &population, &idx).expect("couples");
                    let sums = coupling.sums.read_range(0..4 * all).expect("reads");
                    for j in (0..all).filter(|j| j % fields == a) {
                        // From the frame of the transmitted value into that of the phase.
                        let own = sent(psi[j]).map(|x| x * g[a * fields + a]);
                        let (re, im) = (f64::from(sums[4 * j]), f64::from(sums[4 * j + 1]));
                        let per = 1.0 / (own[0] * own[0] + own[1] * own[1]);
                        let (re, im) = ((re * own[0] - im * own[1]) * per, (re * own[1] + im * own[0]) * per);
                        let size = psi[j][0].hypot(psi[j][1]);
                        let (c, s) = (psi[j][0] / size, psi[j][1] / size);
                        let got = [re * c + im * s, im * c - re * s];
                        let want = ["re", "im"].map(|part| golden.get(&format!("S_{key}_{part}"))[j]);
                        error = worse(error, (got[0] - want[0]).hypot(got[1] - want[1]));
                        most = most.max(f64::from(sums[4 * j + 2]));
                    }
                }
                within(&format!("{algorithm:?}, {}, {key}", golden.name), error / most, 2e-6);
            }
        }
    }
}

fn three() -> Params {
    let mut params = lively();
    (params.coupling.fields, params.coupling.between) = (3, 0.25);
    params
}

/// The same events, order parameters and phases as on the CPU, as long as rounding does not change a decision.
#[test]
fn runs_with_several_fields_match_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mut noisy = three();
    (noisy.phases.noise, noisy.phases.integrator) = (0.1, Integrator::Heun);
    let mut rk4 = three();
    (rk4.phases.integrator, rk4.coupling.method) = (Integrator::Rk4, CouplingMethod::Fast);
    let mut found = three();
    found.coupling.sent = SentPhase::Double;
    let mut embedded = three();
    (embedded.coupling.fields, embedded.coupling.mixing, embedded.coupling.sharpness) = (8, Mixing::Embedded, 0.2);
    for (name, params) in
        [("plain", three()), ("noisy", noisy), ("RK4", rk4), ("as found", found), ("eight embedded", embedded)]
    {
        let mut sim = start(&params, &gpu, Tuning::default());
        let mut cpu = CpuSim::<f32>::new(&params, &scene(), setup(&params), 2).expect("it starts");
        for generation in 0..40 {
            advance(&mut sim, 1);
            advance(&mut cpu, 1);
            let [want, got] = [&cpu.host().events, &sim.host().events].map(slots_of);
            assert_eq!(want, got, "{name}, generation {generation}");
            let (a, b) = (cpu.host().stats, sim.host().stats);
            let off = a.r_more.iter().zip(b.r_more).map(|(a, b)| (a - b).abs()).fold((a.r - b.r).abs(), worse);
            assert!(off < 1e-3, "{name}, generation {generation}: orders {:?} and {:?}", a.r_more, b.r_more);
        }
        let (want, got) = (cpu.state(), sim.state().expect("it reads"));
        let wide = |phi: &[f32]| phi.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
        within(&format!("{name}, phases after 40 generations"), turned(&got.phi, &wide(&want.phi)), 1e-3);
        within(&format!("{name}, phases of further fields"), turned(&got.more, &wide(&want.more)), 1e-3);
        assert_eq!(got.more.len(), (params.coupling.fields as usize - 1) * got.capacity);
        assert!(got.free.iter().all(|slot| got.phase(1, *slot) == 0.0), "{name}: nothing is left of the dead");
    }
}

/// Saved states continue bit for bit, also through the CPU; live parameters and kicks apply to every field.
#[test]
fn several_fields_are_saved_changed_and_kicked() {
    let Some(gpu) = gpu() else { return };
    let mut sim = start(&three(), &gpu, Tuning::default());
    advance(&mut sim, 20);
    let saved = sim.save().expect("it saves");
    let go_on = |sim: &mut dyn Simulation| {
        let kick = Action::on("kick", (0..20).collect(), vec![Value::Real(0.5)]);
        sim.act(&kick).expect("kicked");
        for edit in ["coupling.between=0.6", "coupling.sent=Double", "coupling.mixing=Embedded"] {
            sim.set(&path::parse(&three(), edit).expect("an edit")).expect("it is live");
            advance(sim, 5);
        }
        (sim.digest(0), sim.save().expect("it saves"))
    };
    let want = go_on(&mut sim);
    let tuning = Tuning { pair_blocks: Some(3), batch: Some(2), ..Tuning::default() };
    let mut other = start(&three(), &gpu, tuning);
    other.load(&saved).expect("it loads");
    assert!(go_on(&mut other) == want, "other launches");
    let mut cpu = CpuSim::<f32>::new(&three(), &scene(), setup(&three()), 1).expect("it starts");
    cpu.load(&saved).expect("the CPU loads it");
    let mut third = start(&three(), &gpu, Tuning::default());
    third.load(&cpu.save().expect("it saves")).expect("and back");
    assert!(go_on(&mut third) == want, "through the CPU");
}
