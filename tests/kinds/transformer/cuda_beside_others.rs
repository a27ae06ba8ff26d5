//! Simulations of one process that compute at the same time: each has the bits of one that is alone.

use super::{
    cuda::OnDevice,
    small::{self, HYPER, Text},
};
use crate::device::gpu;
use neuropil::{
    gpu::Gpu,
    kinds::transformer::{
        Params,
        backend::{Hyper, MatrixUpdate, StateBuffer},
        cpu::Trainer,
        model::Config,
    },
};
use std::sync::Arc;

const MODEL: [&str; 5] =
    ["model.layers=2", "model.heads=3", "model.width=48", "model.context=24", "model.positions=Learned"];
const MUON: MatrixUpdate = MatrixUpdate::Muon { momentum: 0.95, rate: 5.0 };

/// Losses of some steps, and the state behind them.
fn train(gpu: &Arc<Gpu>, params: &Params, trainer: &Trainer<f32>, hyper: &Hyper) -> (Vec<f32>, [Vec<f32>; 3]) {
    let mut device = OnDevice::like(gpu, params, trainer);
    let text = |t: u64| Text::new(8, 24, 37, t);
    let losses =
        (0..5).map(|t| device.step(t, hyper, &[text(t).part(0..4).batch(), text(t).part(4..8).batch()]).loss).collect();
    (losses, StateBuffer::ALL.map(|buffer| device.state(buffer)))
}

/// They load kernels, capture graphs and free memory beside each other, and their blocks share multiprocessors: calls of a
/// library fail now and then in a capture, and no other kernel may take their place.
#[test]
fn cuda_simulations_beside_others_have_the_bits_of_one_alone() {
    let Some(gpu) = gpu() else { return };
    for (precision, matrices) in
        [("F32", MatrixUpdate::AdamW), ("F32", MUON), ("Bf16", MatrixUpdate::AdamW), ("Bf16", MUON)]
    {
        let more = format!("compute.precision={precision}");
        let params = small::params(&MODEL.iter().copied().chain(["training.batch=8", &more]).collect::<Vec<_>>());
        let trainer = small::trainer::<f32>(&Config::new(&params, 37).expect("a model"));
        let hyper = Hyper { dropout: 0.1, attention_dropout: 0.2, matrices, ..HYPER };
        let want = train(&gpu, &params, &trainer, &hyper);
        let beside = || {
            let gpu = Gpu::open(0).expect("it was opened before");
            (0..3).filter(|_| train(&gpu, &params, &trainer, &hyper) != want).count()
        };
        let differing: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..5).map(|_| scope.spawn(beside)).collect();
            threads.into_iter().map(|thread| thread.join().expect("it ran")).sum()
        });
        assert_eq!(differing, 0, "{precision} {matrices:?}: of 15 simulations, whose losses alone are {:?}", want.0);
    }
}
