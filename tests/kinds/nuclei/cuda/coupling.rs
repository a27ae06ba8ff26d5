//! Sums over all pairs against the formula, in double precision.

use super::{
    device::{Dice, buf, gpu, kernel_params, population, stats, within, worse},
    golden,
};
use neuropil::{
    gpu::{Buf, Gpu, Pass},
    kinds::nuclei::cuda::{
        coupling::{Algorithm, Coupling},
        layout::DeviceStats,
        memory::FIELDS,
    },
};
use std::sync::Arc;

/// Fitness, entropy, phase and temperature of a population.
#[derive(Clone)]
pub struct Cloud {
    f: Vec<f32>,
    h: Vec<f32>,
    phi: Vec<f32>,
    pub t: f64,
}

impl Cloud {
    pub fn random(n: usize, seed: u64, ties: bool) -> Self {
        let mut dice = Dice(seed);
        let round = |x: f64| if ties { (x * 2.0).round() / 2.0 } else { x };
        let f = (0..n).map(|_| round(3.0 + 2.0 * dice.normal()) as f32).collect();
        let h = (0..n).map(|_| round(4.0 * dice.unit()) as f32).collect();
        let phi = (0..n).map(|_| (std::f64::consts::TAU * (dice.unit() - 0.5)) as f32).collect();
        Self { f, h, phi, t: 1.7 }
    }

    fn len(&self) -> usize {
        self.f.len()
    }

    /// S and d of chosen nuclei, by the formula, in double precision.
    fn sums(&self, of: impl Iterator<Item = usize>) -> Vec<[f64; 3]> {
        let one = |j: usize| {
            let mut sum = [0.0; 3];
            for k in 0..self.len() {
                let dx = f64::from(self.f[j]) - f64::from(self.f[k]);
                let dh = f64::from(self.h[j]) - f64::from(self.h[k]);
                let (sin, cos) = (f64::from(self.phi[k]) - f64::from(self.phi[j])).sin_cos();
                let weight = (-(dx.abs() / self.t) - dh.abs()).exp();
                sum = [sum[0] + weight * cos, sum[1] + weight * sin, sum[2] + weight];
            }
            sum
        };
        of.map(one).collect()
    }

    pub fn slots(&self, gpu: &Arc<Gpu>, stride: usize) -> Buf<u32> {
        buf(gpu, &(0..self.len()).map(|i| (i * stride) as u32).collect::<Vec<_>>())
    }

    /// A table of `n_slots` slots, with NaN in free slots.
    pub fn fields(&self, gpu: &Arc<Gpu>, n_slots: usize, stride: usize) -> Buf<f32> {
        let mut fields = vec![f32::NAN; FIELDS * n_slots];
        for (field, values) in [(0, &self.phi), (4, &self.f), (5, &self.h)] {
            values.iter().enumerate().for_each(|(i, x)| fields[field * n_slots + i * stride] = *x);
        }
        buf(gpu, &fields)
    }

    pub fn mean_f(&self) -> f64 {
        self.f.iter().map(|x| f64::from(*x)).sum::<f64>() / self.len() as f64
    }
}

/// S, d and local order by an algorithm, and the statistics of the population.
fn coupled(
    gpu: &Arc<Gpu>,
    cloud: &Cloud,
    algorithm: Algorithm,
    capacity: usize,
    blocks: Option<u32>,
) -> (Vec<f32>, DeviceStats) {
    let n = cloud.len();
    let mut coupling = Coupling::new(gpu, capacity.max(n) as u32, algorithm, blocks).expect("it starts");
    let (population, mut stats) = (population(gpu, n), stats(gpu, cloud.mean_f(), cloud.t));
    // Every other slot of a larger table is free.
    let stride = if capacity > 2 * n { 2 } else { 1 };
    let n_slots = capacity.max(n);
    let (idx, mut fields, kernel_params) =
        (cloud.slots(gpu, stride), cloud.fields(gpu, n_slots, stride), kernel_params(gpu, n_slots));
    let pass = &mut Pass::default();
    coupling.build_sites(pass, &population, &stats, &idx, &fields).expect("places");
    coupling.order(pass, &population).expect("orders");
    coupling.couple(pass, &population, &idx).expect("couples");
    coupling.keep_order(pass, &population).expect("keeps its order");
    coupling.couple(pass, &population, &idx).expect("couples again");
    coupling.reduce_order(pass, &population, &kernel_params, &idx, &mut fields, &mut stats).expect("finds the order");
    (coupling.sums.read_range(0..4 * n).expect("reads"), stats.read().expect("reads")[0])
}

/// Largest error of S and d over the largest d.
fn error(got: &[f32], want: &[[f64; 3]], of: impl Iterator<Item = usize>) -> f64 {
    let scale = want.iter().map(|w| w[2]).fold(0.0, f64::max);
    let off =
        |(j, want): (usize, &[f64; 3])| (0..3).map(|c| (f64::from(got[4 * j + c]) - want[c]).abs()).fold(0.0, worse);
    of.zip(want).map(off).fold(0.0, worse) / scale
}

const EXACT: [Algorithm; 3] = [Algorithm::Naive, Algorithm::Tiled, Algorithm::Fast];

#[test]
fn sums_match_the_formula() {
    let Some(gpu) = gpu() else { return };
    for n in [1, 2, 3, 31, 33, 255, 257, 1000, 1025, 4096] {
        for ties in [false, true] {
            let cloud = Cloud::random(n, n as u64, ties);
            let want = cloud.sums(0..n);
            for algorithm in EXACT {
                let (got, _) = coupled(&gpu, &cloud, algorithm, n, None);
                within(&format!("{algorithm:?}, {n} nuclei, ties {ties}"), error(&got, &want, 0..n), 1e-6);
            }
            let (got, _) = coupled(&gpu, &cloud, Algorithm::Fast, 5 * n, None);
            within(&format!("Fast, {n} nuclei with room for more"), error(&got, &want, 0..n), 1e-6);
        }
    }
}

#[test]
fn sums_of_large_populations_match_the_formula() {
    let Some(gpu) = gpu() else { return };
    for n in [50_000, 262_144] {
        let cloud = Cloud::random(n, 7, false);
        let some = || (0..n).step_by((n / 150) | 1);
        let want = cloud.sums(some());
        for algorithm in [Algorithm::Tiled, Algorithm::Fast] {
            let (got, stats) = coupled(&gpu, &cloud, algorithm, n, None);
            within(&format!("{algorithm:?}, {n} nuclei, every {}th", (n / 150) | 1), error(&got, &want, some()), 1e-6);
            let sums = |c: usize| (0..n).map(|j| f64::from(got[4 * j + c])).sum::<f64>();
            within(&format!("{algorithm:?}, |Im sum S| / sum d"), sums(1).abs() / sums(2), 1e-6);
            let r_weighted = (sums(0) / sums(2)).sqrt();
            within(&format!("{algorithm:?}, weighted order"), (stats.r_weighted - r_weighted).abs(), 1e-9);
        }
    }
}

#[test]
fn sums_match_the_reference() {
    let Some(gpu) = gpu() else { return };
    for golden in golden::all("nuclei", "coupling_") {
        let single = |name: &str| golden.get(name).iter().map(|x| *x as f32).collect::<Vec<_>>();
        let n = golden.get("fitness").len();
        let want: Vec<[f64; 3]> = (0..n).map(|j| ["S_re", "S_im", "rowsum"].map(|key| golden.get(key)[j])).collect();
        let cloud = Cloud { f: single("fitness"), h: single("entropy"), phi: single("phi"), t: golden.one("T") };
        for algorithm in EXACT {
            let (got, stats) = coupled(&gpu, &cloud, algorithm, n, None);
            within(&format!("{algorithm:?}, {}", golden.name), error(&got, &want, 0..n), 1e-6);
            if golden.has("R_local") {
                let local = golden.get("R_local").iter().enumerate();
                let off = local.map(|(j, l)| (f64::from(got[4 * j + 3]) - l).abs()).fold(0.0, worse);
                within(&format!("{algorithm:?}, {}, local order", golden.name), off, 2e-6);
                within("global order", (stats.r - golden.one("r")).abs(), 1e-7);
                within("weighted order", (stats.r_weighted - golden.one("R_J")).abs(), 1e-6);
            }
        }
    }
}

#[test]
fn mean_field_equals_the_sum_of_equal_nuclei() {
    let Some(gpu) = gpu() else { return };
    let mut cloud = Cloud::random(3000, 5, false);
    (cloud.f, cloud.h) = (vec![1.5; 3000], vec![0.5; 3000]);
    let want = cloud.sums(0..3000);
    for algorithm in [Algorithm::MeanField, Algorithm::Tiled, Algorithm::Fast] {
        let (got, stats) = coupled(&gpu, &cloud, algorithm, 3000, None);
        within(&format!("{algorithm:?} of equals"), error(&got, &want, 0..3000), 1e-6);
        within("weighted order is the global one", (stats.r - stats.r_weighted).abs(), 1e-6);
    }
}

/// Fitness over eight orders of magnitude: no exponent is ever positive.
#[test]
fn wide_ranges_do_not_overflow() {
    let Some(gpu) = gpu() else { return };
    let mut cloud = Cloud::random(3000, 9, false);
    for (i, f) in cloud.f.iter_mut().enumerate() {
        *f *= [1.0, 100.0, 1e5, 2e8][i % 4];
    }
    let want = cloud.sums(0..3000);
    for algorithm in EXACT {
        let (got, _) = coupled(&gpu, &cloud, algorithm, 3000, None);
        // In single precision a fitness of 1e8 is a multiple of 8.
        let finite = got.iter().all(|x| x.is_finite());
        assert!(finite, "{algorithm:?}");
        let small = |j: &usize| j % 4 == 3;
        let far: Vec<usize> = (0..3000).filter(small).collect();
        let lonely: Vec<[f64; 3]> = far.iter().map(|j| want[*j]).collect();
        within(&format!("{algorithm:?}, fitness up to 1e9"), error(&got, &lonely, far.into_iter()), 0.3);
    }
}

/// A coupling matrix gives the same sums.
#[test]
fn a_coupling_matrix_is_used() {
    let Some(gpu) = gpu() else { return };
    let cloud = Cloud::random(700, 13, false);
    let want = cloud.sums(0..700);
    let weight = |j: usize, k: usize| {
        let (df, dh) = (f64::from(cloud.f[j] - cloud.f[k]), f64::from(cloud.h[j] - cloud.h[k]));
        (-df.abs() / cloud.t - dh.abs()).exp()
    };
    // In a table of twice as many slots, with NaN in free slots.
    let matrix: Vec<f64> = (0..1400 * 1400)
        .map(|i| (i / 1400, i % 1400))
        .map(|(j, k)| if j % 2 == 0 && k % 2 == 0 { weight(j / 2, k / 2) } else { f64::NAN })
        .collect();
    let mut coupling = Coupling::new(&gpu, 1400, Algorithm::Matrix, None).expect("it starts");
    coupling.set_matrix(&matrix).expect("it is stored");
    let (population, stats) = (population(&gpu, 700), stats(&gpu, cloud.mean_f(), cloud.t));
    let (idx, fields) = (cloud.slots(&gpu, 2), cloud.fields(&gpu, 1400, 2));
    let pass = &mut Pass::default();
    coupling.build_sites(pass, &population, &stats, &idx, &fields).expect("places");
    coupling.couple(pass, &population, &idx).expect("couples");
    let got = coupling.sums.read_range(0..2800).expect("reads");
    within("a coupling matrix", error(&got, &want, 0..700), 1e-6);
}

#[test]
fn results_do_not_depend_on_launch_shapes() {
    let Some(gpu) = gpu() else { return };
    for n in [1000, 40_000] {
        let cloud = Cloud::random(n, 3, true);
        let bits = |blocks| {
            let (sums, stats) = coupled(&gpu, &cloud, Algorithm::Tiled, n, blocks);
            (sums.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), stats)
        };
        let want = bits(None);
        for blocks in [1, 7, 500] {
            assert!(bits(Some(blocks)) == want, "{n} nuclei, {blocks} blocks");
        }
        let fast = || coupled(&gpu, &cloud, Algorithm::Fast, n, None).0.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert!(fast() == fast(), "{n} nuclei, twice");
    }
}
