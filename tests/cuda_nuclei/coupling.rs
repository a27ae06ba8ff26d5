//! Sums over all pairs against the formula, in double precision.

use crate::{
    device::{Dice, buf, census, climate, gpu, rules, within, worse},
    golden,
};
use neuropil::{
    gpu::{Buf, Gpu, Pass},
    kinds::nuclei::cuda::{
        coupling::{Coupling, Way},
        layout::Climate,
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

    /// A table of so many places, with nonsense where nobody lives.
    pub fn fields(&self, gpu: &Arc<Gpu>, places: usize, stride: usize) -> Buf<f32> {
        let mut fields = vec![f32::NAN; FIELDS * places];
        for (field, values) in [(0, &self.phi), (4, &self.f), (5, &self.h)] {
            values.iter().enumerate().for_each(|(i, x)| fields[field * places + i * stride] = *x);
        }
        buf(gpu, &fields)
    }

    pub fn mean_f(&self) -> f64 {
        self.f.iter().map(|x| f64::from(*x)).sum::<f64>() / self.len() as f64
    }
}

/// S, d and local order by a method; what the climate says of the whole.
fn coupled(gpu: &Arc<Gpu>, cloud: &Cloud, way: Way, capacity: usize, blocks: Option<u32>) -> (Vec<f32>, Climate) {
    let n = cloud.len();
    let mut coupling = Coupling::new(gpu, capacity.max(n) as u32, way, blocks).expect("it starts");
    let (census, mut climate) = (census(gpu, n), climate(gpu, cloud.mean_f(), cloud.t));
    // Every other place of a larger table is empty: nobody sees them.
    let stride = if capacity > 2 * n { 2 } else { 1 };
    let places = capacity.max(n);
    let (idx, mut fields, rules) = (cloud.slots(gpu, stride), cloud.fields(gpu, places, stride), rules(gpu, places));
    let pass = &mut Pass::default();
    coupling.place(pass, &census, &climate, &idx, &fields).expect("places");
    coupling.order(pass, &census).expect("orders");
    coupling.couple(pass, &census, &idx).expect("couples");
    coupling.keep_order(pass, &census).expect("keeps its order");
    coupling.couple(pass, &census, &idx).expect("couples again");
    coupling.find_order(pass, &census, &rules, &idx, &mut fields, &mut climate).expect("finds the order");
    (coupling.sums.read_range(0..4 * n).expect("reads"), climate.read().expect("reads")[0])
}

/// Largest error of S and d over the largest d.
fn error(got: &[f32], want: &[[f64; 3]], of: impl Iterator<Item = usize>) -> f64 {
    let scale = want.iter().map(|w| w[2]).fold(0.0, f64::max);
    let off =
        |(j, want): (usize, &[f64; 3])| (0..3).map(|c| (f64::from(got[4 * j + c]) - want[c]).abs()).fold(0.0, worse);
    of.zip(want).map(off).fold(0.0, worse) / scale
}

const EXACT: [Way; 3] = [Way::Naive, Way::Tiled, Way::Fast];

#[test]
fn coupling_is_the_formula() {
    let Some(gpu) = gpu() else { return };
    for n in [1, 2, 3, 31, 33, 255, 257, 1000, 1025, 4096] {
        for ties in [false, true] {
            let cloud = Cloud::random(n, n as u64, ties);
            let want = cloud.sums(0..n);
            for way in EXACT {
                let (got, _) = coupled(&gpu, &cloud, way, n, None);
                within(&format!("{way:?}, {n} nuclei, ties {ties}"), error(&got, &want, 0..n), 1e-6);
            }
            let (got, _) = coupled(&gpu, &cloud, Way::Fast, 5 * n, None);
            within(&format!("Fast, {n} nuclei with room for more"), error(&got, &want, 0..n), 1e-6);
        }
    }
}

#[test]
fn coupling_of_many_is_the_formula() {
    let Some(gpu) = gpu() else { return };
    for n in [50_000, 262_144] {
        let cloud = Cloud::random(n, 7, false);
        let some = || (0..n).step_by((n / 150) | 1);
        let want = cloud.sums(some());
        for way in [Way::Tiled, Way::Fast] {
            let (got, climate) = coupled(&gpu, &cloud, way, n, None);
            within(&format!("{way:?}, {n} nuclei, every {}th", (n / 150) | 1), error(&got, &want, some()), 1e-6);
            let sums = |c: usize| (0..n).map(|j| f64::from(got[4 * j + c])).sum::<f64>();
            within(&format!("{way:?}, |Im sum S| / sum d"), sums(1).abs() / sums(2), 1e-6);
            let r_weighted = (sums(0) / sums(2)).sqrt();
            within(&format!("{way:?}, weighted order"), (climate.r_weighted - r_weighted).abs(), 1e-9);
        }
    }
}

#[test]
fn coupling_is_the_reference() {
    let Some(gpu) = gpu() else { return };
    for golden in golden::all("nuclei", "coupling_") {
        let single = |name: &str| golden.get(name).iter().map(|x| *x as f32).collect::<Vec<_>>();
        let n = golden.get("fitness").len();
        let want: Vec<[f64; 3]> = (0..n).map(|j| ["S_re", "S_im", "rowsum"].map(|key| golden.get(key)[j])).collect();
        let cloud = Cloud { f: single("fitness"), h: single("entropy"), phi: single("phi"), t: golden.one("T") };
        for way in EXACT {
            let (got, climate) = coupled(&gpu, &cloud, way, n, None);
            within(&format!("{way:?}, {}", golden.name), error(&got, &want, 0..n), 1e-6);
            if golden.has("R_local") {
                let local = golden.get("R_local").iter().enumerate();
                let off = local.map(|(j, l)| (f64::from(got[4 * j + 3]) - l).abs()).fold(0.0, worse);
                within(&format!("{way:?}, {}, local order", golden.name), off, 2e-6);
                within("global order", (climate.r - golden.one("r")).abs(), 1e-7);
                within("weighted order", (climate.r_weighted - golden.one("R_J")).abs(), 1e-6);
            }
        }
    }
}

#[test]
fn the_mean_field_is_the_sum() {
    let Some(gpu) = gpu() else { return };
    let mut cloud = Cloud::random(3000, 5, false);
    (cloud.f, cloud.h) = (vec![1.5; 3000], vec![0.5; 3000]);
    let want = cloud.sums(0..3000);
    for way in [Way::MeanField, Way::Tiled, Way::Fast] {
        let (got, climate) = coupled(&gpu, &cloud, way, 3000, None);
        within(&format!("{way:?} of equals"), error(&got, &want, 0..3000), 1e-6);
        within("weighted order is the global one", (climate.r - climate.r_weighted).abs(), 1e-6);
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
    for way in EXACT {
        let (got, _) = coupled(&gpu, &cloud, way, 3000, None);
        // What is left of a fitness of 1e8 in single precision are multiples of 8.
        let finite = got.iter().all(|x| x.is_finite());
        assert!(finite, "{way:?}");
        let small = |j: &usize| j % 4 == 3;
        let far: Vec<usize> = (0..3000).filter(small).collect();
        let lonely: Vec<[f64; 3]> = far.iter().map(|j| want[*j]).collect();
        within(&format!("{way:?}, fitness up to 1e9"), error(&got, &lonely, far.into_iter()), 0.3);
    }
}

/// The weights as a table give the same sums.
#[test]
fn a_given_coupling_is_taken() {
    let Some(gpu) = gpu() else { return };
    let cloud = Cloud::random(700, 13, false);
    let want = cloud.sums(0..700);
    let weight = |j: usize, k: usize| {
        let (df, dh) = (f64::from(cloud.f[j] - cloud.f[k]), f64::from(cloud.h[j] - cloud.h[k]));
        (-df.abs() / cloud.t - dh.abs()).exp()
    };
    // In a table of twice as many places, with nonsense where nobody lives.
    let matrix: Vec<f64> = (0..1400 * 1400)
        .map(|i| (i / 1400, i % 1400))
        .map(|(j, k)| if j % 2 == 0 && k % 2 == 0 { weight(j / 2, k / 2) } else { f64::NAN })
        .collect();
    let mut coupling = Coupling::new(&gpu, 1400, Way::Given, None).expect("it starts");
    coupling.give(&matrix).expect("it is taken");
    let (census, climate) = (census(&gpu, 700), climate(&gpu, cloud.mean_f(), cloud.t));
    let (idx, fields) = (cloud.slots(&gpu, 2), cloud.fields(&gpu, 1400, 2));
    let pass = &mut Pass::default();
    coupling.place(pass, &census, &climate, &idx, &fields).expect("places");
    coupling.couple(pass, &census, &idx).expect("couples");
    let got = coupling.sums.read_range(0..2800).expect("reads");
    within("a given coupling", error(&got, &want, 0..700), 1e-6);
}

#[test]
fn launch_shapes_change_no_bit() {
    let Some(gpu) = gpu() else { return };
    for n in [1000, 40_000] {
        let cloud = Cloud::random(n, 3, true);
        let bits = |blocks| {
            let (sums, climate) = coupled(&gpu, &cloud, Way::Tiled, n, blocks);
            (sums.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), climate)
        };
        let want = bits(None);
        for blocks in [1, 7, 500] {
            assert!(bits(Some(blocks)) == want, "{n} nuclei, {blocks} blocks");
        }
        let fast = || coupled(&gpu, &cloud, Way::Fast, n, None).0.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert!(fast() == fast(), "{n} nuclei, twice");
    }
}
