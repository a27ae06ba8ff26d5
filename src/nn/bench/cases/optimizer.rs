//! Benchmark cases of the optimisers, at 64 Mi parameters.

use super::*;
use crate::{
    gpu::Slice,
    nn::{
        gemm::cuda::{CudaGemm, Options},
        optimizer::{
            LossScaler, MatrixRun, Method, ParameterGroups, Rule,
            cuda::{self, Buffers, Copy, CudaOptimizer, OptimizerRule, OptimizerSettings, OptimizerState, Tables},
        },
        parameters::ParameterMap,
    },
};

/// Shape of the parameters in cases bound by memory bandwidth.
const SHAPE: [usize; 2] = [65_536, 1024];
const N: usize = SHAPE[0] * SHAPE[1];
/// Shape of the largest matrix of a block, which Muon orthogonalises.
const MATRIX: [usize; 2] = [3072, 768];
/// Number of iterations of the orthogonalisation.
const ITERATIONS: u32 = 5;

pub fn cases() -> Vec<Case> {
    let [rows, side] = MATRIX;
    // Each iteration has two products of the matrix with a square one and one product of squares. Tensor cores compute tf32 at
    // half the rate of f16.
    let muon_ops = 2.0 * f64::from(ITERATIONS) * (2 * side * side * (2 * rows + side)) as f64;
    vec![
        Case {
            name: "gradient-norm-64Mi",
            kernels: &["sum_squares", "begin_update"],
            work: Work::bytes(4 * N),
            prepare: |gpu| run(gpu, SHAPE, Method::AdamW, Part::Begin),
        },
        Case {
            name: "adamw-64Mi",
            kernels: &["update_adamw"],
            // Gradient, weight and two moments are read; the last three and the rounded weight are written.
            work: Work::bytes(30 * N),
            prepare: |gpu| run(gpu, SHAPE, Method::AdamW, Part::AdamW),
        },
        Case {
            name: "muon-3072x768",
            kernels: &["update_momentum", "divide_by_norm", "update_muon"],
            work: Work { bytes: (22 * rows * side) as f64, tensor_ops: muon_ops },
            prepare: |gpu| run(gpu, MATRIX, Method::Muon, Part::Muon),
        },
        Case {
            name: "round-weights-64Mi",
            kernels: &["round_weights"],
            work: Work::bytes(6 * N),
            prepare: |gpu| run(gpu, SHAPE, Method::AdamW, Part::Round),
        },
        Case {
            name: "draw-weights-64Mi",
            kernels: &["draw_weights"],
            work: Work::bytes(6 * N),
            prepare: |gpu| run(gpu, SHAPE, Method::AdamW, Part::Draw),
        },
    ]
}

#[derive(Clone, Copy)]
enum Part {
    Begin,
    AdamW,
    Muon,
    Round,
    Draw,
}

fn run(gpu: &Arc<Gpu>, shape: [usize; 2], method: Method, part: Part) -> Result<Launch, String> {
    let mut map = ParameterMap::default();
    map.add("weight", &shape).map_err(text)?;
    let groups = ParameterGroups::new(&map, |view| Rule { method, ..Rule::adamw(view, 0.1) }).map_err(text)?;
    let matrices: Vec<_> =
        groups.matrices(&map, |_| vec![]).into_iter().map(|(matrix, _)| MatrixRun::from(matrix)).collect();
    let settings = OptimizerSettings {
        learning_rate: 1e-4,
        beta1: 0.9,
        beta2: 0.95,
        eps: 1e-8,
        momentum: 0.95,
        ..Default::default()
    };
    let settings = copy::<OptimizerSettings>(gpu, &[settings])?;
    let (rules, table) = (copy::<OptimizerRule>(gpu, &cuda::rules(&groups))?, copy(gpu, &groups.table(&map))?);
    let state = OptimizerState { t: 10, is_applied: 1, grad_scale: 1.0, ..cuda::initial_state(&LossScaler::default()) };
    let mut state = copy(gpu, &[state])?;
    let (n, optimizer, gemm) = (map.len(), CudaOptimizer::load(gpu).map_err(text)?, CudaGemm::new(gpu));
    let g = copy(gpu, &(0..n).map(|i| (i % 1009) as f32 * 1e-3 - 0.5).collect::<Vec<f32>>())?;
    let (mut params, mut means, mut squares) = (zeros(gpu, n)?, zeros(gpu, n)?, zeros(gpu, n)?);
    let mut rounded = zeros::<Bf16>(gpu, n)?;
    let scratch = Arena::bytes_of(&CudaOptimizer::temporaries(&map, &matrices));
    let mut arena = Arena::new(gpu, "workspace of the benchmark", scratch).map_err(text)?;
    Ok(Box::new(move |pass| {
        let frame = arena.frame();
        let tables = Tables { settings: &settings, groups: &table, rules: &rules };
        let (params, means, squares): (&mut Slice<f32>, &mut Slice<f32>, &mut Slice<f32>) =
            (&mut params, &mut means, &mut squares);
        let mut to = Buffers { params, means, squares, copy: Copy::Bf16(&mut rounded) };
        let options = |_: &MatrixRun| Options { tf32: true, ..Options::default() };
        match part {
            Part::Begin => optimizer.begin(pass, tables, &g, &mut state, &frame).map_err(text),
            Part::AdamW => optimizer.adamw(pass, tables, &state, &g, &mut to).map_err(text),
            Part::Muon => optimizer
                .muon(pass, (&gemm, &options), (&matrices, None), ITERATIONS, tables, &state, &g, &mut to, &frame)
                .map_err(text),
            Part::Round => optimizer.round(pass, to.params, to.copy).map_err(text),
            Part::Draw => optimizer.draw(pass, &settings, &state, to.params, to.copy).map_err(text),
        }
    }))
}
