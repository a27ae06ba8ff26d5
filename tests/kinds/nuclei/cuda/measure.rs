//! Fitness and entropy against the reference, and selection against sorting.

use super::{
    device::{Dice, gpu, within, worse},
    golden,
};
use neuropil::{
    gpu::Pass,
    kinds::nuclei::{
        FitnessMethod, FuseKey, OutputFunction, Params, Storage,
        cpu::fitness,
        cuda::{CudaSim, Tuning, generation::Tile},
        state::State,
        task::{Problem, Setup},
    },
    num::halves,
    sim::{BuildContext, Simulation},
};
use std::sync::Arc;

/// A population of these rows, alive in every `stride`-th place.
fn population(rows: &[Vec<f32>], stride: usize) -> State<f32> {
    let mut state = State::empty(rows.len() * stride, rows[0].len()).expect("memory");
    for (i, row) in rows.iter().enumerate() {
        state.row_mut((i * stride) as u32).copy_from_slice(row);
        state.alive[i * stride] = 1;
    }
    state.compact();
    state
}

fn sim(params: &Params, state: &State<f32>, setup: &Arc<Setup>, tile: Option<Tile>) -> Option<CudaSim> {
    let gpu = gpu()?;
    let mut params = params.clone();
    (params.population.capacity, params.population.n_start) = (state.capacity as u32, 1);
    let tuning = Tuning { tile, ..Tuning::default() };
    let mut sim = CudaSim::tuned(&params, &BuildContext::default(), setup.clone(), &gpu, tuning).expect("it starts");
    sim.put(state, 0).expect("it is stored");
    Some(sim)
}

/// f and H of the living, in their order.
fn measured(sim: &mut CudaSim) -> (Vec<f32>, Vec<f32>) {
    sim.measure(&mut Pass::default()).expect("it measures");
    let state = sim.state().expect("it reads");
    let of = |array: &[f32]| state.idx.iter().map(|slot| array[*slot as usize]).collect();
    (of(&state.f), of(&state.h))
}

fn relative(got: &[f32], want: &[f64]) -> f64 {
    got.iter().zip(want).map(|(g, w)| (f64::from(*g) / w - 1.0).abs()).fold(0.0, worse)
}

fn absolute(got: &[f32], want: &[f64]) -> f64 {
    got.iter().zip(want).map(|(g, w)| (f64::from(*g) - w).abs()).fold(0.0, worse)
}

const TILES: [Tile; 3] = [Tile::Small, Tile::Middle, Tile::Large];

#[test]
fn fitness_and_entropy_match_the_reference() {
    if gpu().is_none() {
        return;
    }
    for golden in golden::all("nuclei", "fitness_entropy") {
        let inputs = golden.shape("X")[1];
        let problem = Problem { x: golden.get("X").to_vec(), y: golden.get("y").to_vec(), inputs };
        let setup = Arc::new(Setup::new(problem, "reference".to_owned()));
        let rows: Vec<Vec<f32>> =
            (0..golden.shape("W")[0]).map(|i| golden.row("W", i).iter().map(|w| *w as f32).collect()).collect();
        let state = population(&rows, 3);
        for (method, key) in [(FitnessMethod::Direct, "fitness"), (FitnessMethod::Compressed, "fitness_qr")] {
            let mut params = Params::default();
            params.task.method = method;
            let mut bits = vec![];
            for tile in TILES {
                let mut sim = sim(&params, &state, &setup, Some(tile)).expect("a GPU");
                let (f, h) = measured(&mut sim);
                within(&format!("fitness, {method:?}, {tile:?}"), relative(&f, golden.get(key)), 2e-6);
                within(&format!("entropy, {tile:?}"), absolute(&h, golden.get("entropy")), 2e-6);
                bits.push(f.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
            }
            assert!(bits.iter().all(|b| *b == bits[0]), "{method:?}: tiles differ");
            for (storage, tolerance) in [(Storage::F16, 2e-3), (Storage::Bf16, 1.6e-2)] {
                params.task.storage = storage;
                let (f, _) = measured(&mut sim(&params, &state, &setup, None).expect("a GPU"));
                within(
                    &format!("fitness, {method:?}, {storage:?}"),
                    relative(&f[4..], &golden.get(key)[4..]),
                    tolerance,
                );
            }
        }
    }
}

fn random(samples: usize, inputs: usize, nuclei: usize) -> (Arc<Setup>, State<f32>) {
    let mut dice = Dice(17);
    let x: Vec<f64> = (0..samples * inputs).map(|_| f64::from(dice.normal() as f32)).collect();
    let y: Vec<f64> = (0..samples).map(|_| f64::from(dice.normal() as f32)).collect();
    let rows: Vec<Vec<f32>> =
        (0..nuclei).map(|_| (0..inputs).map(|_| (0.3 * dice.normal()) as f32).collect()).collect();
    (Arc::new(Setup::new(Problem { x, y, inputs }, "random".to_owned())), population(&rows, 1))
}

#[test]
fn fitness_of_all_shapes_matches_the_formula() {
    if gpu().is_none() {
        return;
    }
    for (samples, inputs, nuclei) in [
        (1, 1, 3),
        (7, 20, 33),
        (33, 17, 129),
        (200, 130, 40),
        (64, 128, 1000),
        (100, 32, 300),
        (300, 45, 70),
        (130, 100, 65),
    ] {
        let (setup, state) = random(samples, inputs, nuclei);
        let problem = setup.problem.as_ref().expect("there is one");
        for (answer, storage) in [OutputFunction::Linear, OutputFunction::Saturating]
            .into_iter()
            .flat_map(|a| [Storage::Full, Storage::F16, Storage::Bf16].map(|s| (a, s)))
        {
            let mut params = Params::default();
            (params.task.answer, params.task.storage) = (answer, storage);
            let stored = |w: f32| match storage {
                Storage::Full => w,
                Storage::F16 => halves::f16(w),
                Storage::Bf16 => halves::bf16(w),
            };
            let f_of = |slot: u32| {
                let row: Vec<f64> = state.row(slot).iter().map(|w| stored(*w).into()).collect();
                let miss = |(x, y): (&[f64], &f64)| {
                    let p: f64 = x.iter().zip(&row).map(|(x, w)| x * w).sum();
                    let p = if answer == OutputFunction::Saturating { (p / 1000.0).tanh() * 1000.0 } else { p };
                    (p - y).powi(2)
                };
                problem.x.chunks_exact(inputs).zip(&problem.y).map(miss).sum::<f64>() / samples as f64
            };
            let want: Vec<f64> = (0..nuclei as u32).map(f_of).collect();
            let (f, h) = measured(&mut sim(&params, &state, &setup, None).expect("a GPU"));
            // Near an exact solution errors are relative to the mean.
            let scale = want.iter().sum::<f64>() / nuclei as f64;
            let off = absolute(&f, &want) / scale;
            within(
                &format!("{samples} samples, {inputs} inputs, {answer:?}, {storage:?}"),
                off,
                if storage == Storage::Bf16 { 2e-5 } else { 5e-6 },
            );
            let entropies: Vec<f64> = (0..nuclei as u32)
                .map(|slot| fitness::entropy(&state.row(slot).iter().map(|w| f64::from(*w)).collect::<Vec<_>>()))
                .collect();
            within("entropies", absolute(&h, &entropies), 2e-6);
        }
    }
}

#[test]
fn gradient_steps_match_the_cpu() {
    if gpu().is_none() {
        return;
    }
    for (samples, inputs, answer) in
        [(40, 24, OutputFunction::Linear), (16, 33, OutputFunction::Linear), (40, 24, OutputFunction::Saturating)]
    {
        let (setup, state) = random(samples, inputs, 100);
        let mut params = Params::default();
        (params.task.learning_rate, params.task.answer) = (0.05, answer);
        let mut sim = sim(&params, &state, &setup, None).expect("a GPU");
        measured(&mut sim);
        let got = sim.state().expect("it reads");
        let all = fitness::EquationForms::<f64>::new(&setup);
        let of = all.for_task(&params.task).expect("a task");
        let mut off = 0.0;
        for slot in 0..100 {
            let mut row: Vec<f64> = state.row(slot).iter().map(|w| f64::from(*w)).collect();
            fitness::step_gradient(of, answer, 0.05, &mut row, &mut vec![0.0; inputs]);
            off = got.row(slot).iter().zip(&row).map(|(g, w)| (f64::from(*g) - w).abs()).fold(off, worse);
        }
        within(&format!("one step of learning, {samples} samples, {inputs} inputs, {answer:?}"), off, 2e-6);
    }
}

/// With many ties, the selection equals sorting by key, then slot.
#[test]
fn the_largest_keys_are_selected_ties_to_the_lower_slot() {
    let Some(gpu) = gpu() else { return };
    for (n, m, k, levels) in
        [(1, 1, 1, 9), (5, 4, 3, 2), (3000, 700, 900, 4), (20_000, 4096, 4096, 1000), (9000, 10, 4000, 1)]
    {
        let mut dice = Dice(n as u64);
        let rows: Vec<Vec<f32>> = (0..n).map(|_| vec![(dice.unit() * f64::from(levels)).floor() as f32]).collect();
        let mut params = Params::default();
        params.population.fuse_key = FuseKey::Fitness;
        (params.population.m_fuse, params.population.k_worst, params.population.n_min) = (m, k, 0);
        (params.population.c_new, params.population.death_rate, params.tunnelling.r_threshold) = (0, 0.0, 0.0);
        (params.population.capacity, params.population.n_start) = (n, 1);
        // One sample, x = 1 and y = 0: f = w².
        let setup = Arc::new(Setup::new(Problem { x: vec![1.0], y: vec![0.0], inputs: 1 }, "squares".to_owned()));
        let mut sim = CudaSim::new(&params, &BuildContext::default(), setup, &gpu).expect("it starts");
        sim.put(&population(&rows, 1), 0).expect("it is stored");
        sim.advance(1, &mut Pass::default()).expect("it runs");
        let mut slots: Vec<u32> = (0..n).collect();
        let f = |slot: &u32| rows[*slot as usize][0].powi(2);
        slots.sort_by(|a, b| f(a).total_cmp(&f(b)).then(a.cmp(b)));
        let best: Vec<u32> = slots.iter().copied().take(m as usize).collect();
        slots.retain(|slot| !best.contains(slot));
        slots.sort_by(|a, b| f(b).total_cmp(&f(a)).then(a.cmp(b)));
        slots.truncate(k as usize);
        let events = &sim.host().events;
        let host = best.iter().min().copied();
        let fused: Vec<u32> = host.into_iter().chain(best.iter().copied().filter(|slot| Some(*slot) != host)).collect();
        assert_eq!(events.fused, if m >= 2 { fused } else { vec![] }, "{n}: fused");
        assert_eq!(events.decayed, slots, "{n}: decayed");
    }
}
