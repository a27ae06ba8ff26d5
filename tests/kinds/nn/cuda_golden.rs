//! Embedding, positions, loss and AdamW on a GPU against the NumPy reference. The files of the other operations are read on a
//! GPU beside their random cases.

use super::{
    attention::relative_rms,
    cuda_optimizer::OnDevice,
    golden_embedding,
    golden_files::{error, expect},
};
use crate::device::gpu;
use neuropil::{
    gpu::{Arena, Buf, Gpu, Pass, layout::CudaType},
    nn::{
        cross_entropy::{
            CrossEntropy,
            cuda::{CudaCrossEntropy, LossTotal},
        },
        embedding::{Embedding, cuda::CudaEmbedding},
        optimizer::{AdamW, Clip, LossScaler, Muon, ParameterGroups, Rule, cpu},
        parameters::ParameterMap,
        rope::{
            Rope, RopeLayout, RopeTable,
            cuda::{CudaRope, CudaRopeTable},
        },
    },
};
use neuropil_test_support::golden::all;
use std::sync::Arc;

fn upload<T: CudaType>(gpu: &Arc<Gpu>, values: &[T]) -> Buf<T> {
    Buf::from_slice(gpu, "test", values).expect("memory")
}

fn floats(gpu: &Arc<Gpu>, values: &[f64]) -> Buf<f32> {
    upload(gpu, &values.iter().map(|x| *x as f32).collect::<Vec<f32>>())
}

fn read(buffer: &Buf<f32>) -> Vec<f64> {
    buffer.read().expect("a copy").iter().map(|x| f64::from(*x)).collect()
}

/// Forward equal bits; the gradient of the table 1e-6 (relative RMS).
#[test]
fn golden_transformer_embedding_cuda() {
    let Some(gpu) = gpu() else { return };
    for golden in all("transformer", "embedding") {
        let tokens: Vec<u32> = golden.whole("tokens").iter().map(|t| *t as u32).collect();
        let (table, seq_len) = (golden.shape("E"), golden.shape("tokens")[1]);
        let op = Embedding::new(tokens.len(), table[0], table[1], seq_len);
        let (cuda, pass, mut flag) = (CudaEmbedding::new(&gpu), &mut Pass::default(), upload(&gpu, &[0_u32]));
        let (tokens, table) = (upload(&gpu, &tokens), floats(&gpu, golden.get("E")));
        let mut y = Buf::<f32>::zeros(&gpu, "y", op.tokens * op.features).expect("memory");
        cuda.forward(pass, &op, &tokens, &table, None, None, &mut y, &mut flag).expect("it runs");
        let want: Vec<f64> = golden.get("y").iter().map(|y| f64::from(*y as f32)).collect();
        expect(
            &golden,
            "y, elements that differ with CUDA",
            read(&y).iter().zip(&want).filter(|(y, w)| y != w).count() as f64,
            0.0,
        );
        let (dy, mut dtable) =
            (floats(&gpu, golden.get("dy")), Buf::<f32>::zeros(&gpu, "dE", table.len()).expect("memory"));
        let mut arena = Arena::new(&gpu, "scratch", CudaEmbedding::scratch_bytes(&op)).expect("memory");
        cuda.backward(pass, &op, &tokens, &dy, &mut dtable, None, None, &mut flag, &arena.frame()).expect("it runs");
        expect(&golden, "dE with CUDA", relative_rms(&read(&dtable), golden.get("dE")), 1e-6);
        assert_eq!(flag.read().expect("a copy"), [0]);
    }
}

/// Rotated and rotated back: 2e-7 (relative RMS).
#[test]
fn golden_transformer_rope_cuda() {
    let Some(gpu) = gpu() else { return };
    for golden in all("transformer", "rope") {
        let positions: Vec<u32> = golden.whole("pos").iter().map(|p| *p as u32).collect();
        let (shape, len) = (golden.shape("x"), *positions.iter().max().expect("positions") as usize + 1);
        let (ids, mut flag) = (upload(&gpu, &positions.repeat(shape[0])), upload(&gpu, &[0_u32]));
        for base in golden_embedding::bases(&golden) {
            let table = CudaRopeTable::new(&gpu, &RopeTable::new(len, shape[2], base as f64)).expect("memory");
            for (layout, name) in [(RopeLayout::Interleaved, "interleaved"), (RopeLayout::Half, "half")] {
                let name = format!("y_base{base}_{name}");
                if !golden.has(&name) {
                    continue;
                }
                let op = Rope::new(ids.len(), 1, shape[2], positions.len(), layout);
                let (cuda, mut x) = (CudaRope::new(&gpu), floats(&gpu, golden.get("x")));
                for (is_inverse, want) in [(false, &*name), (true, "x")] {
                    cuda.apply(&mut Pass::default(), &op, &table, Some(&ids), &mut x, is_inverse, &mut flag)
                        .expect("it runs");
                    expect(
                        &golden,
                        &format!("{name}, {want} with CUDA"),
                        relative_rms(&read(&x), golden.get(want)),
                        2e-7,
                    );
                }
            }
        }
        assert_eq!(flag.read().expect("a copy"), [0], "{}", golden.name);
    }
}

/// Losses 2e-6 (relative), gradients 1e-6 (relative RMS); padding gets exactly 0.
#[test]
fn golden_transformer_cross_entropy_cuda() {
    let Some(gpu) = gpu() else { return };
    for golden in all("transformer", "cross_entropy") {
        let targets: Vec<i32> = golden.whole("targets").iter().map(|t| *t as i32).collect();
        let (rows, padded) = (golden.shape("logits")[0], golden.shape("logits")[1]);
        let op = CrossEntropy { rows, vocab: golden.one("V") as usize, padded };
        let (cuda, pass, mut flag) = (CudaCrossEntropy::new(&gpu), &mut Pass::default(), upload(&gpu, &[0_u32]));
        let (mut logits, targets) = (floats(&gpu, golden.get("logits")), upload(&gpu, &targets));
        let (loss_scale, mut scale) = (upload(&gpu, &[1.0_f32]), upload(&gpu, &[f32::NAN]));
        let [mut losses, mut lse] = [0; 2].map(|_| upload(&gpu, &vec![f32::NAN; rows]));
        let mut total = Buf::<LossTotal>::zeros(&gpu, "total", 1).expect("memory");
        cuda.set_scale(pass, &targets, &loss_scale, &mut scale).expect("it runs");
        cuda.backward(pass, &op, &mut logits, &targets, &scale, &mut losses, &mut lse, &mut flag).expect("it runs");
        cuda.add_losses(pass, &losses, &targets, &mut total).expect("it runs");
        let mean = total.read().expect("a copy")[0].mean();
        expect(&golden, "loss with CUDA", (mean / golden.one("loss") - 1.0).abs(), 2e-6);
        expect(&golden, "losses with CUDA", relative_rms(&read(&losses), golden.get("losses")), 2e-6);
        let dlogits = read(&logits);
        expect(&golden, "dlogits with CUDA", relative_rms(&dlogits, golden.get("dlogits")), 1e-6);
        assert!(dlogits.chunks(padded).all(|row| row[op.vocab..].iter().all(|d| *d == 0.0)));
    }
}

/// Ten updates with clipping at norm 1 and decay 0.1: parameters and norm 1e-6, of the largest parameter.
#[test]
fn golden_transformer_adamw_cuda() {
    let Some(gpu) = gpu() else { return };
    for golden in all("transformer", "adamw") {
        let (steps, n) = (golden.shape("g")[0], golden.shape("g")[1]);
        let mut map = ParameterMap::default();
        map.add("p", &[n]).expect("a new name");
        let groups = ParameterGroups::new(&map, |_| Rule { decay: 0.1, ..Rule::default() }).expect("a group");
        let (adamw, muon, clip, matrices) =
            (AdamW::default(), Muon::default(), Clip(1.0), groups.matrices(&map, |_| vec![]));
        let op = cpu::Optimizer { adamw, muon, clip, groups, matrices };
        // The buffer of a map is padded.
        let row = |name: &str, i: usize| -> Vec<f32> {
            let mut row = vec![0.0; map.len()];
            row.iter_mut().zip(&golden.get(name)[i * n..(i + 1) * n]).for_each(|(to, x)| *to = *x as f32);
            row
        };
        let mut device = OnDevice::new(&gpu, &map, &op, &row("p", 0), &LossScaler::fixed(1.0));
        device.set_learning_rate(3e-3);
        let (mut worst, mut worst_norm) = (0.0_f64, 0.0_f64);
        for step in 0..steps {
            let state = device.update(&upload(&gpu, &row("g", step)));
            let want = &golden.get("p")[(step + 1) * n..(step + 2) * n];
            worst = worst.max(error(&read(&device.params)[..n], want));
            worst_norm = worst_norm.max((f64::from(state.norm) / golden.get("norm")[step] - 1.0).abs());
        }
        expect(&golden, "p with CUDA", worst, 1e-6);
        expect(&golden, "norm with CUDA", worst_norm, 1e-6);
    }
}
