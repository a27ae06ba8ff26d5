//! Scores and moves of the life cycle on a GPU against the reference data: see [`cuda_golden`](super::cuda_golden).

use super::{
    cuda_golden::{RoutingOnDevice, StateOnDevice, buf, each, f32s, f64s, zeros},
    earlier::life::merge_alpha,
    golden_files::{SEQUENCE, compare},
    golden_life,
};
use crate::device::gpu;
use neuropil::{
    gpu::{Arena, Buf, Gpu, Pass},
    kinds::synaptic::{
        experts::{
            FEATURES, GENES, Router,
            cuda::{BatchWeights, CudaExperts, DeviceStatistics, STATISTICS, StepTokens},
        },
        life::{
            Edit, ExpertRecord, Score, Scoring,
            cuda::{CudaLife, MAX_RECORDS, Served, StepParams},
        },
    },
    nn::optimizer::cuda::{Buffers, Copy, CudaOptimizer},
};
use neuropil_test_support::golden::Golden;
use std::{collections::BTreeMap, ops::Range, sync::Arc};

/// `21_`: counts and sums of gates of every step from the device's statistics and ring of records. With `dgate = -1 / N` the
/// contribution of a record is the mean gate, which is the reference's contribution. Its averages are ours after many steps.
#[test]
fn cuda_golden_synaptic_neuroscore() {
    let Some(gpu) = gpu() else { return };
    each("21_", &[], |file| check_neuroscore(&gpu, file));
}

fn check_neuroscore(gpu: &Arc<Gpu>, file: &Golden) {
    let [steps, batch, tokens, top_k] = file.shape("indices")[..] else { panic!("four sizes") };
    let (rows, n) = (batch * tokens, file.shape("energy")[1]);
    let width = file.shape("x")[3];
    let router = Router::new(n, top_k, width);
    let (experts, life) = (CudaExperts::load(gpu).expect("the device"), CudaLife::load(gpu).expect("the device"));
    let mut arena = Arena::new(gpu, "temporaries", 1 << 20).expect("the device");
    let mut records = Buf::<ExpertRecord>::zeros(gpu, "records", MAX_RECORDS * n).expect("the device");
    let weights = Buf::from_slice(gpu, "batch", &[BatchWeights { share: 1.0 }]).expect("the device");
    let step_tokens = Buf::from_slice(gpu, "tokens", &[StepTokens { tokens: rows as u64 }]).expect("the device");
    let mut state =
        StateOnDevice::new(gpu, &vec![0.0; n * GENES], &vec![0.0; n * FEATURES], &vec![0.0; n], &vec![0.0; n]);
    let dgates = buf(gpu, &vec![-1.0 / rows as f32; rows * top_k]);
    let mut pass = Pass::default();
    for step in 0..steps {
        let selected = step * rows * top_k..(step + 1) * rows * top_k;
        let mut routing = RoutingOnDevice::new(gpu, &router, rows);
        let indices: Vec<u32> = file.whole("indices")[selected.clone()].iter().map(|e| *e as u32).collect();
        routing.indices.write(&indices).expect("the device");
        routing.gates.write(&f32s(&file.get("gates")[selected])).expect("the device");
        let x = buf(gpu, &f32s(&file.get("x")[step * rows * width..(step + 1) * rows * width]));
        let mut sums = Buf::<f64>::zeros(gpu, "statistics", n * STATISTICS).expect("the device");
        let mut aux = Buf::<f64>::zeros(gpu, "auxiliary loss", 1).expect("the device");
        let params = StepParams { record: step as u64, targets: rows as u64 };
        let params = Buf::from_slice(gpu, "params", &[params]).expect("the device");
        let frame = arena.frame();
        let to = &mut routing.refs();
        experts.sort(&mut pass, &router, rows, to, &frame).expect("the device");
        let of_step = DeviceStatistics { experts: &mut sums, aux: &mut aux };
        experts
            .add_statistics(&mut pass, &router, &weights, state.refs(), to, &dgates, of_step, &frame)
            .expect("the device");
        life.record(&mut pass, &params, &step_tokens, &sums, &mut records).expect("the device");
        let served = Served { x: &x, indices: to.indices, top_k, slots: &(0..n) };
        life.measure_specialization(&mut pass, &params, served, &mut records).expect("the device");
    }
    state.fatigue.clear().expect("the device");
    let records = records.read_range(0..steps * n).expect("the device");
    // As if many steps were taken: averages are exponential from the first step on, as the reference's are.
    let mut score = Score { steps: vec![1000; n], ..Score::new(n) };
    let mut resilience = vec![0.0; n];
    let mut all: [Vec<f64>; 6] = Default::default();
    for (step, records) in records.chunks_exact(n).enumerate() {
        let before = score.contribution.clone();
        score.update(&Scoring::default(), records);
        let energy = f32s(&file.get("energy")[step * n..(step + 1) * n]);
        for (e, before) in before.iter().enumerate() {
            let change = (score.contribution[e] - before).abs();
            resilience[e] = 0.99 * resilience[e] + 0.01 / (change + 1e-6);
        }
        // Of an expert without a token the reference has 1, and ours is not measured.
        let specialization = records.iter().map(|r| if r.specialization.is_nan() { 1.0 } else { r.specialization });
        all[0].push(score.gini());
        all[1].extend(&score.contribution);
        all[2].extend(&score.frequency);
        all[3].extend(specialization);
        all[4].extend(score.efficiency(&energy));
        all[5].extend(&resilience);
    }
    let names = ["gini", "loss_contrib", "routing_freq", "specialization", "efficiency", "resilience"];
    for (name, got) in names.into_iter().zip(&all) {
        // A quotient by a difference of two averages.
        compare(file, name, got, if name == "resilience" { 1e-3 } else { SEQUENCE });
    }
}

/// Arrays of a layer one behind the other, as parameters are.
struct Flat {
    ranges: BTreeMap<String, Range<usize>>,
    values: Vec<f32>,
    experts: usize,
}

impl Flat {
    /// The arrays `b_…` of a file, and zeros behind them.
    fn new(file: &Golden) -> Self {
        let (mut ranges, mut values) = (BTreeMap::new(), vec![]);
        for name in file.names().iter().filter(|name| name.starts_with("b_")) {
            let start = values.len();
            values.extend(f32s(file.get(name)));
            ranges.insert(name[2..].to_owned(), start..values.len());
        }
        let n = values.len();
        values.resize(2 * n, 0.0);
        Self { ranges, values, experts: file.shape("b_fatigue")[0] }
    }

    /// Zeros of that length.
    fn zeros(&self, len: usize) -> Range<usize> {
        self.values.len() - len..self.values.len()
    }

    /// The row of an expert in an array of all.
    fn row(&self, name: &str, expert: usize) -> Range<usize> {
        let range = &self.ranges[name];
        let len = range.len() / self.experts;
        range.start + expert * len..range.start + (expert + 1) * len
    }

    fn of(&self, expert: usize, fc: &str, name: &str) -> Range<usize> {
        self.ranges[&format!("experts__{expert}__{fc}__{name}")].clone()
    }

    /// A split of the earlier model without noise, as edits.
    fn split(&self, parent: usize, child: usize) -> Vec<Edit> {
        let copy = |from: Range<usize>, to: Range<usize>| Edit::Copy { from, to: to.start };
        let mut all = vec![];
        for fc in ["fc1", "fc2"] {
            let of = |expert, name| self.of(expert, fc, name);
            let kept = ["w_slow", "w_fast", "bias", "post__slow", "post__U", "post__V"];
            let state = ["post__camkii", "post__pp1", "post__bdnf", "post__bdnf_hebb_accum"];
            all.extend(kept.iter().chain(&state).map(|name| copy(of(parent, name), of(child, name))));
            all.extend(["post__fast", "u_buf", "v_buf"].map(|name| Edit::Clear(of(child, name))));
            all.extend(["post__U", "post__V"].map(|name| {
                let to = of(child, name);
                Edit::Mix { from: self.zeros(to.len()), to: to.start, alpha: 0.5 }
            }));
        }
        for name in ["router__weight", "router_embeddings"] {
            all.push(copy(self.row(name, parent), self.row(name, child)));
        }
        let energy = self.row("energy", child);
        let start = energy.start;
        all.extend([self.row("fatigue", child), energy].map(Edit::Clear));
        all.push(Edit::Add { start, values: vec![1.0] });
        all
    }

    /// A merge of the earlier model without noise, as edits.
    fn merge(&self, winner: usize, loser: usize, alpha: f64) -> Vec<Edit> {
        let mix = |to: Range<usize>, from: Range<usize>, alpha: f64| Edit::Mix { from, to: to.start, alpha };
        let mut all = vec![];
        for fc in ["fc1", "fc2"] {
            let weights = ["w_slow", "w_fast", "bias", "post__U", "post__V", "post__fast", "post__slow"];
            let state = ["post__camkii", "post__pp1", "post__bdnf"];
            let parts = weights.iter().map(|name| (name, alpha)).chain(state.iter().map(|name| (name, 0.9)));
            all.extend(parts.map(|(name, part)| mix(self.of(winner, fc, name), self.of(loser, fc, name), part)));
        }
        all.push(mix(self.row("router__weight", winner), self.row("router__weight", loser), alpha));
        all.extend(self.split(winner, loser));
        all
    }

    /// Applies edits on the device, and compares every array `a_…`.
    fn compare(&self, gpu: &Arc<Gpu>, file: &Golden, edits: &[Edit]) {
        let (life, optimizer) =
            (CudaLife::load(gpu).expect("the device"), CudaOptimizer::load(gpu).expect("the device"));
        let mut params = buf(gpu, &self.values);
        let [mut means, mut squares] = [0, 1].map(|_| zeros(gpu, self.values.len()));
        let mut arena = Arena::new(gpu, "temporaries", 1 << 20).expect("the device");
        let mut to = Buffers { params: &mut params, means: &mut means, squares: &mut squares, copy: Copy::None };
        for edit in edits {
            life.edit(&mut Pass::default(), &optimizer, edit, &mut to, &arena.frame()).expect("the device");
        }
        let after = f64s(&params.read().expect("the device"));
        for array in file.names().iter().filter(|name| name.starts_with("a_")) {
            compare(file, array, &after[self.ranges[&array[2..]].clone()], SEQUENCE);
        }
    }
}

/// `22_` and `23_`: moves of the earlier model as edits of ranges, by the kernels that apply ours.
#[test]
fn cuda_golden_synaptic_moves() {
    let Some(gpu) = gpu() else { return };
    each("22_", &[], |file| {
        let flat = Flat::new(file);
        let [winner, loser] = ["winner", "loser"].map(|name| file.one(name) as usize);
        let alpha = merge_alpha(file.get("b_fatigue")[winner], file.get("b_fatigue")[loser]);
        compare(file, "alpha", &[alpha], SEQUENCE);
        flat.compare(&gpu, file, &flat.merge(winner, loser, alpha));
    });
    each("23_", &[], |file| {
        let flat = Flat::new(file);
        flat.compare(&gpu, file, &flat.split(file.one("src") as usize, file.one("dst") as usize));
    });
}

/// `24_`: choices are made on the host, from fatigue, energy and embeddings that were on the device.
#[test]
fn cuda_golden_synaptic_structural_picks() {
    let Some(gpu) = gpu() else { return };
    each("24_", &[], |file| {
        let read = |name: &str| buf(&gpu, &f32s(file.get(name))).read().expect("the device");
        golden_life::check_picks_of(file, &read("fatigue"), &read("energy"), &read("router_embeddings"));
    });
}
