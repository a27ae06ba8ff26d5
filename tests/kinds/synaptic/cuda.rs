//! Release on a GPU against the CPU, which is the definition, and against the reference data that the shipped recurrence has.

use super::{
    earlier,
    golden_files::{SEQUENCE, compare},
    golden_presynaptic,
};
use crate::device::gpu;
use neuropil::{
    gpu::{Arena, Buf, Gpu, Pass},
    kinds::synaptic::presynaptic::{
        self, Constants, Draws, Edges, KeyState, Mode, Presynaptic, Release,
        cuda::{CudaPresynaptic, KeyMemory, ReleaseStep, ScanExtent},
    },
};
use neuropil_test_support::golden;
use std::sync::Arc;

/// Difference of f32 on both sides, fast exponentials on one: `|a - b| <= NEAR (1 + |b|)`.
pub const NEAR: f64 = 1e-4;

/// The same of logits of a key that runs out of vesicles: where the last bits of a flow decide, it differs by a quantum, which
/// changes the bias by up to this.
const ONE_QUANTUM: f64 = 1.0 / (1 << 19) as f64 / 1e-3;

/// The same of the two forms of the recurrence on one device, of whole sequences and by state: what is asked of them.
const SAME_FORM: f32 = 1e-5;

/// Numbers in -1..1.
pub fn noise(n: usize, seed: u32) -> Vec<f32> {
    let word = |i: u32| {
        (i ^ seed.wrapping_mul(0x9E37_79B9)).wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(0x85EB_CA6B)
    };
    (0..n as u32).map(|i| (f64::from(word(i) >> 8) / f64::from(1 << 23) - 1.0) as f32).collect()
}

/// Asserts that numbers agree, and prints the largest difference.
#[track_caller]
pub fn near(what: &str, got: &[f32], want: &[f32], most: f64) {
    assert_eq!(got.len(), want.len(), "{what}: lengths");
    let off = |(g, w): (&f32, &f32)| if g == w { 0.0 } else { f64::from((g - w).abs()) / (1.0 + f64::from(w.abs())) };
    let worst = got.iter().zip(want).map(off).fold(0.0, |worst, e| if e <= worst { worst } else { e });
    assert!(worst <= most, "{what}: {worst:.2e}");
}

/// Release on the device: sequences of some heads, in pieces.
struct OnDevice {
    op: CudaPresynaptic,
    arena: Arena,
    gpu: Arc<Gpu>,
}

impl OnDevice {
    fn new(gpu: &Arc<Gpu>) -> Self {
        let arena = Arena::new(gpu, "temporaries", 1 << 22).expect("the device");
        Self { op: CudaPresynaptic::load(gpu).expect("the device"), arena, gpu: gpu.clone() }
    }

    /// Logits and derivatives of the rows of a piece, `[heads, queries, keys]`.
    fn piece(
        &mut self,
        op: &Presynaptic,
        extent: &ScanExtent,
        dots: &[f32],
        state: Option<(&mut Buf<f32>, usize, usize)>,
        draws: Option<ReleaseStep>,
    ) -> [Vec<f32>; 2] {
        let mut edges = Buf::from_slice(&self.gpu, "edges", dots).expect("the device");
        let mut factor = Buf::zeros(&self.gpu, "derivatives", dots.len()).expect("the device");
        let draws = draws.map(|draws| Buf::from_slice(&self.gpu, "draws", &[draws]).expect("the device"));
        let memory = state.map(|(state, capacity, known)| KeyMemory { state, capacity, known, place: None });
        let (frame, mut pass) = (self.arena.frame(), Pass::default());
        let to = (&mut *edges, Some(&mut *factor));
        let done = self.op.forward(&mut pass, op, extent, to.0, to.1, memory, draws.as_deref(), &frame);
        done.unwrap_or_else(|why| panic!("{why}"));
        [edges.read().expect("the device"), factor.read().expect("the device")]
    }
}

/// The visible edges of `[heads, n, n]`, one after the other.
fn visible(edges: &[f32], heads: usize, n: usize) -> Vec<f32> {
    let row = |i: usize| &edges[i * n..i * n + i % n + 1];
    (0..heads * n).flat_map(row).copied().collect()
}

/// The same on the CPU.
fn on_cpu(op: &Presynaptic, heads: usize, n: usize, dots: &[f32], draws: Option<Draws>) -> [Vec<f32>; 2] {
    let (mut logits, mut factor) = (vec![0.0; dots.len()], vec![0.0; dots.len()]);
    for head in 0..heads {
        let at = head * n * n..(head + 1) * n * n;
        let draws = draws.map(|draws| Draws { head: draws.head + head as u32, ..draws });
        let (logits, factor) = (&mut logits[at.clone()], &mut factor[at.clone()]);
        let mut state = KeyState::fresh(op, n);
        presynaptic::forward(op, 0, n, &dots[at], logits, Some(factor), &mut state, draws.as_ref());
    }
    [logits, factor]
}

fn modes() -> Vec<Presynaptic> {
    let mut all = vec![];
    for mode in [Mode::Off, Mode::Static, Mode::Scan, Mode::TsodyksMarkram] {
        for edges in [Edges::All, Edges::TopK(5)] {
            all.push(Presynaptic { mode, edges, ..Presynaptic::recommended(256) });
        }
    }
    let constants = Constants::default().with(|c| {
        c.vesicles.endo_delay = 0;
        c.vesicles.recycled = 0.5;
        c.energy.half = 0.0;
    });
    all.push(Presynaptic { constants, ..Presynaptic::recommended(64) });
    let constants = Constants::default().with(|c| {
        (c.syt1.k, c.syt7.k, c.doc2.k, c.complexin.k) = (9.5, 2.5, 5.0, 6.5);
    });
    all.push(Presynaptic { constants, ..Presynaptic::recommended(256) });
    all.push(Presynaptic {
        constants: Constants::default().with(|c| c.resources.tau_facil = 8.0),
        mode: Mode::TsodyksMarkram,
        ..Presynaptic::recommended(64)
    });
    all
}

/// Whole sequences of several shapes; then the same in pieces, with states in memory between them: bit for bit, unless sensors of
/// whole sequences are read from a table.
#[test]
fn cuda_release_is_that_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mut device = OnDevice::new(&gpu);
    for op in modes() {
        for (heads, n, scale) in [(1, 1, 1.0), (3, 7, 2.0), (2, 64, 4.0), (2, 128, 3.0), (5, 131, 3.0)] {
            let dots: Vec<f32> = noise(heads * n * n, 7).iter().map(|x| scale * x).collect();
            let extent = ScanExtent::sequences(1, heads, n, 0);
            let [logits, factor] = device.piece(&op, &extent, &dots, None, None);
            let [want, want_factor] = on_cpu(&op, heads, n, &dots, None);
            let what = format!("{:?} {:?}, {heads} heads of {n}", op.mode, op.edges);
            let most = if op.constants.vesicles.recycled < 1.0 { NEAR + ONE_QUANTUM } else { NEAR };
            near(&format!("{what}, logits"), &visible(&logits, heads, n), &visible(&want, heads, n), most);
            let (got, want) = (visible(&factor, heads, n), visible(&want_factor, heads, n));
            near(&format!("{what}, derivatives"), &got, &want, NEAR);
            // Pieces of 1, 2, 3, … queries.
            let len = KeyMemory::len(&op, heads, n + 3);
            let mut state = Buf::from_slice(&gpu, "state", &vec![f32::NAN; len]).expect("the device");
            let (mut first, mut size) = (0, 1);
            while first < n {
                let queries = size.min(n - first);
                let keys = first + queries;
                let row = |head: usize, t: usize| (head * n + first + t) * n;
                let rows = (0..heads).flat_map(|head| (0..queries).map(move |t| row(head, t)));
                let part: Vec<f32> = rows.clone().flat_map(|at| dots[at..at + keys].to_vec()).collect();
                let piece = ScanExtent { first_query: first, n_queries: queries, ..extent };
                let [got, _] = device.piece(&op, &piece, &part, Some((&mut state, n + 3, first)), None);
                for (i, at) in rows.enumerate() {
                    let seen = first + i % queries + 1;
                    let (got, whole) = (&got[i * keys..i * keys + seen], &logits[at..at + seen]);
                    let is_near = || got.iter().zip(whole).all(|(x, y)| (x - y).abs() <= SAME_FORM * (1.0 + y.abs()));
                    let is_same = if n == 128 { is_near() } else { got == whole };
                    assert!(is_same, "{what}: row {i} from {first}");
                }
                (first, size) = (first + queries, size + 1);
            }
        }
    }
}

/// Derivatives in f16, of whole sequences: the same logits to the last bit, and gradients within 11 bits of those derivatives.
#[test]
fn cuda_packed_derivatives_are_those_of_f32() {
    let Some(gpu) = gpu() else { return };
    let mut arena = Arena::new(&gpu, "temporaries", 1 << 16).expect("the device");
    for (heads, n) in [(3, 128), (2, 256), (1, 512)] {
        let (op, extent) = (Presynaptic::recommended(n), ScanExtent::sequences(1, heads, n, 0));
        let buffer = |values: &[f32]| Buf::from_slice(&gpu, "edges", values).expect("the device");
        let [dots, p, d] = [(5, 3.0), (6, 1.0), (7, 1.0)]
            .map(|(seed, scale)| noise(heads * n * n, seed).iter().map(|x| scale * x).collect::<Vec<f32>>());
        let mut of = |packs: bool| {
            let device = CudaPresynaptic::load(&gpu).expect("the device").packed(packs);
            let (mut edges, mut d, mut pass) = (buffer(&dots), buffer(&d), Pass::default());
            let mut factor = buffer(&vec![0.0; heads * n * n]);
            let frame = arena.frame();
            let to = Some(&mut *factor);
            device.forward(&mut pass, &op, &extent, &mut edges, to, None, None, &frame).expect("the device");
            device.backward(&mut pass, &op, &extent, &buffer(&p), Some(&*factor), &mut d).expect("the device");
            [edges, factor, d].map(|all| all.read().expect("the device"))
        };
        let [[logits, factor, gradient], [packed_logits, packed, packed_gradient]] = [of(false), of(true)];
        assert!(visible(&logits, heads, n) == visible(&packed_logits, heads, n), "{n}: logits");
        assert_ne!(factor, packed, "{n}: in another format");
        near(&format!("{n}, gradients"), &packed_gradient, &gradient, 1.0 / 1024.0);
    }
}

/// Random numbers of vesicles have the addresses of the CPU. Where the last bits of a probability decide, a trial may differ,
/// and with it the rest of its column.
#[test]
fn cuda_random_release_is_that_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mut device = OnDevice::new(&gpu);
    for (mode, edges) in [(Mode::Scan, Edges::All), (Mode::Scan, Edges::TopK(9)), (Mode::Static, Edges::All)] {
        let op =
            Presynaptic { mode, edges, release: Release::Binomial { fraction: 0.4 }, ..Presynaptic::recommended(96) };
        let (sequences, heads, n, layer) = (2, 3, 96, 2);
        let dots: Vec<f32> = noise(sequences * heads * n * n, 11).iter().map(|x| 3.0 * x).collect();
        let extent = ScanExtent::sequences(sequences, heads, n, layer);
        let step = ReleaseStep { seed: 0x1234_5678_9abc, step: 77, first: 4, sequences: 9 };
        let [got, _] = device.piece(&op, &extent, &dots, None, Some(step));
        let head = ((layer * 9 + 4) * heads) as u32;
        let draws = Draws { seed: step.seed, step: step.step, head };
        let [want, _] = on_cpu(&op, sequences * heads, n, &dots, Some(draws));
        let [expected, _] = on_cpu(&op, sequences * heads, n, &dots, None);
        let (got, want) = (visible(&got, sequences * heads, n), visible(&want, sequences * heads, n));
        let same = |a: &[f32], b: &[f32]| {
            a.iter().zip(b).filter(|(a, b)| (*a - *b).abs() <= 1e-3 * (1.0 + b.abs())).count() as f64 / a.len() as f64
        };
        let (of_cpu, of_expected) = (same(&got, &want), same(&visible(&expected, sequences * heads, n), &want));
        assert!(of_cpu > 0.995 && of_expected < 0.9, "{of_cpu} {of_expected}");
    }
}

/// RRP + RES + queue of every key, after 1,024 queries, to the last bit.
#[test]
fn cuda_vesicles_are_conserved() {
    let Some(gpu) = gpu() else { return };
    let mut device = OnDevice::new(&gpu);
    let (op, heads, n) = (Presynaptic::recommended(1024), 2, 1024);
    let dots: Vec<f32> = noise(heads * n * n, 3).iter().map(|x| 4.0 * x).collect();
    let mut state = Buf::zeros(&gpu, "state", KeyMemory::len(&op, heads, n)).expect("the device");
    device.piece(&op, &ScanExtent::sequences(1, heads, n, 0), &dots, Some((&mut state, n, 0)), None);
    let all = state.read().expect("the device");
    let of = |quantity: usize, key: usize| f64::from(all[quantity * heads * n + key]);
    for key in 0..heads * n {
        let queue: f64 = (9..9 + op.constants.vesicles.endo_delay).map(|slot| of(slot, key)).sum();
        assert_eq!(of(1, key) + of(2, key) + queue, 24.0, "key {key}");
    }
}

/// Files 02 to 05: what each query releases from a random state. In the reference the queries of a call share the state before it,
/// so that each is a call of its own here, and the state after all of them is the reference's alone.
#[test]
fn cuda_golden_synaptic_release_step() {
    let Some(gpu) = gpu() else { return };
    let mut device = OnDevice::new(&gpu);
    for file in ["02_", "03_", "04_", "05_"].iter().flat_map(|start| golden::some("synaptic", start)) {
        let part = if file.name.starts_with("05") { "alt_config_05" } else { "default_config" };
        let (c, epsilon) = golden_presynaptic::constants(part);
        let [batch, heads, queries, per_query] = file.shape("drive")[..] else { panic!("four sides") };
        let (heads, keys) = (batch * heads, file.shape("in_C")[2]);
        let slots = if file.has("in_DELAY") { file.shape("in_DELAY")[0] } else { 0 };
        let constants = c.with(|c| {
            c.vesicles.endo_delay = slots;
            c.bias.barrier = 0.0;
            c.bias.floor = epsilon;
        });
        let op = Presynaptic { constants, edges: Edges::TopK(per_query), ..Presynaptic::recommended(keys) };
        let extent = ScanExtent { first_query: keys - 1, n_queries: 1, ..ScanExtent::sequences(1, heads, 1, 0) };
        let f32s = |name: &str| file.get(name).iter().map(|x| *x as f32).collect::<Vec<f32>>();
        let before = ["C", "RRP", "RES", "PR", "CL", "AMP", "E"].iter().flat_map(|name| f32s(&format!("in_{name}")));
        let resources = vec![0.0; 2 * heads * keys];
        let queue = if slots > 0 { f32s("in_DELAY") } else { vec![] };
        let before: Vec<f32> = before.chain(resources).chain(queue).collect();
        let (edges, scale) = (heads * queries * per_query, file.one("ema_after") + 1e-6);
        let mut effects = vec![0.0; edges];
        for query in 0..queries {
            let of_query = |i: &usize| i / per_query % queries == query;
            let is_valid = |i: &usize| !file.has("valid") || file.get("valid")[*i] > 0.0;
            let at = |i: usize| i / per_query / queries * keys + file.get("idx")[i] as usize;
            let mut dots = vec![-1e4_f32; heads * keys];
            let valid: Vec<usize> = (0..edges).filter(of_query).filter(is_valid).collect();
            valid.iter().for_each(|i| dots[at(*i)] = file.get("drive")[*i] as f32);
            let mut state = Buf::from_slice(&gpu, "state", &before).expect("the device");
            let [logits, _] = device.piece(&op, &extent, &dots, Some((&mut state, keys, keys)), None);
            for i in valid {
                let bias = f64::from(logits[at(i)] - dots[at(i)]) / op.constants.bias.lambda;
                effects[i] = (bias.exp() - epsilon) / scale;
            }
        }
        compare(&file, "e", &effects, SEQUENCE);
    }
}

/// Files 06 and 07: the recurrence with the switches of the reference, one query per step.
#[test]
fn cuda_golden_synaptic_release() {
    let Some(gpu) = gpu() else { return };
    let mut device = OnDevice::new(&gpu);
    for file in ["06_", "07_"].iter().flat_map(|start| golden::some("synaptic", start)) {
        let shape = file.shape("drive");
        let (steps, heads, per_query) = (shape[0], shape[1] * shape[2], shape[4]);
        let keys = file.shape("C")[3];
        let constants = earlier::constants::constants().with(|c| c.bias.barrier = 0.0);
        let edges = Edges::TopK(per_query);
        let op = Presynaptic { constants, edges, ..Presynaptic::recommended(keys) };
        let extent = ScanExtent { first_query: keys - 1, n_queries: 1, ..ScanExtent::sequences(1, heads, 1, 0) };
        let mut state = Buf::zeros(&gpu, "state", KeyMemory::len(&op, heads, keys)).expect("the device");
        let names = ["C", "RRP", "RES", "PR", "CL", "AMP", "E"];
        let (mut got, mut delay, mut effects) = (vec![vec![]; names.len()], vec![], vec![]);
        for step in 0..steps {
            let mut dots = vec![-1e4_f32; heads * keys];
            let from = step * heads * per_query;
            let edges: Vec<(usize, f64)> = (0..heads * per_query)
                .map(|i| (i / per_query * keys + file.get("idx")[from + i] as usize, file.get("drive")[from + i]))
                .collect();
            edges.iter().for_each(|(at, drive)| dots[*at] = *drive as f32);
            let known = if step == 0 { 0 } else { keys };
            let [logits, _] = device.piece(&op, &extent, &dots, Some((&mut state, keys, known)), None);
            let effect = |at: usize| f64::from(logits[at] - dots[at]).exp() - op.constants.bias.floor;
            let scale = file.get("ema")[step] + 1e-6;
            effects.extend(edges.iter().map(|(at, _)| effect(*at) / scale));
            let all: Vec<f64> = state.read().expect("the device").into_iter().map(f64::from).collect();
            let of = |quantity: usize| &all[quantity * heads * keys..(quantity + 1) * heads * keys];
            got.iter_mut().enumerate().for_each(|(quantity, to)| to.extend(of(quantity)));
            delay.extend((0..op.constants.vesicles.endo_delay).flat_map(|slot| of(9 + slot).to_vec()));
        }
        compare(&file, "e", &effects, SEQUENCE);
        names.iter().zip(&got).for_each(|(name, got)| compare(&file, name, got, SEQUENCE));
        compare(&file, "DELAY", &delay, SEQUENCE);
    }
}
