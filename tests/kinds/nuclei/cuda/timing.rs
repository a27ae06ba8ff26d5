//! Times of the kernels.

use super::{
    coupling::Cloud,
    device::{gpu, kernel_params, micros, population, stats},
};
use neuropil::{
    gpu::Pass,
    kinds::nuclei::{
        FitnessMethod, Params, Storage,
        cuda::{
            CudaSim,
            coupling::{Algorithm, Coupling},
        },
        task,
    },
    sim::{BuildContext, Progress, Simulation},
};
use std::{sync::Arc, time::Instant};

/// One exponential per pair: 16 per clock and multiprocessor at 1.98 GHz, 132 of them.
const PAIRS_PER_S: f64 = 4.18e12;

#[test]
#[ignore = "prints times"]
fn timing_of_the_coupling() {
    let Some(gpu) = gpu() else { return };
    println!("{}", gpu.describe());
    for n in [4096, 16_384, 65_536, 262_144] {
        let cloud = Cloud::random(n, 11, false);
        let (population, mut stats) = (population(&gpu, n), stats(&gpu, cloud.mean_f(), cloud.t));
        let (idx, mut fields, kernel_params) = (cloud.slots(&gpu, 1), cloud.fields(&gpu, n, 1), kernel_params(&gpu, n));
        println!("\n{n} nuclei");
        for algorithm in [Algorithm::Naive, Algorithm::Tiled, Algorithm::MeanField, Algorithm::Fast] {
            if algorithm == Algorithm::Naive && n > 65_536 {
                continue;
            }
            let mut c = Coupling::new(&gpu, n as u32, algorithm, None).expect("it starts");
            let us = micros(&gpu, |pass| c.build_sites(pass, &population, &stats, &idx, &fields));
            println!("  {:<24} {us:9.2} us", "place");
            let us = micros(&gpu, |pass| c.couple(pass, &population, &idx));
            let rate = (n as f64).powi(2) / us * 1e6;
            println!(
                "  {:<24} {us:9.2} us  {rate:9.3e} pairs/s  {:6.1} % of one ex2",
                format!("{algorithm:?}"),
                100.0 * rate / PAIRS_PER_S
            );
            if algorithm == Algorithm::Fast {
                let order = micros(&gpu, |pass| c.order(pass, &population));
                let keep = micros(&gpu, |pass| c.keep_order(pass, &population));
                println!("  {:<24} {order:9.2} us", "both orders");
                println!("  {:<24} {keep:9.2} us", "sites in known order");
                println!("  {:<24} {:9.2} us  of 500", "all of it", us + order);
                let mut pass = Pass::measuring();
                for _ in 0..5 {
                    c.order(&mut pass, &population).expect("orders");
                    c.couple(&mut pass, &population, &idx).expect("couples");
                }
                gpu.synchronize().expect("it runs");
                pass.collect().expect("times");
                for t in &pass.timings {
                    let mean = t.mean_nanos() * 1e-3;
                    println!("    {:<22} {mean:9.2} us  {} launches, events included", t.name, t.launches / 5);
                }
            }
            let us =
                micros(&gpu, |pass| c.reduce_order(pass, &population, &kernel_params, &idx, &mut fields, &mut stats));
            println!("  {:<24} {us:9.2} us", "order of the whole");
        }
    }
    for fact in gpu.kernel_facts() {
        println!(
            "{:<18} {:>3} registers, {:>5} B shared, {} B spilled, occupancy {:.0} %",
            fact.name,
            fact.registers,
            fact.shared_bytes,
            fact.local_bytes,
            100.0 * fact.occupancy
        );
    }
}

/// Single precision multiply-adds per second of the device the figures are for.
const FLOPS: f64 = 6.7e13;
/// Bytes per second it reads.
const BYTES_PER_S: f64 = 4.3e12;

#[test]
#[ignore = "prints times"]
fn timing_of_a_generation() {
    let Some(gpu) = gpu() else { return };
    println!("{}", gpu.describe());
    for (n, inputs, samples) in
        [(4096, 32, 1024), (16_384, 32, 1024), (65_536, 32, 1024), (65_536, 128, 1024), (262_144, 32, 1024)]
    {
        let mut params = Params::default();
        (params.population.n_start, params.population.capacity) = (n / 16 * 15, n);
        (params.task.n_inputs, params.task.n_samples) = (inputs, samples);
        // No barrier: births keep the table full.
        (params.population.worst_share, params.tunnelling.r_threshold) = (0.01, 0.0);
        for (method, storage) in [
            (FitnessMethod::Compressed, Storage::Full),
            (FitnessMethod::Direct, Storage::Full),
            (FitnessMethod::Direct, Storage::F16),
            (FitnessMethod::Direct, Storage::Bf16),
        ] {
            (params.task.method, params.task.storage) = (method, storage);
            let scene = BuildContext { seed: 1, ..BuildContext::default() };
            let setup = Arc::new(task::prepare(&params, &scene, &Progress::default()).expect("a task"));
            let mut sim = CudaSim::new(&params, &scene, setup, &gpu).expect("it starts");
            sim.advance(10, &mut Pass::default()).expect("it runs");
            let start = Instant::now();
            sim.advance(100, &mut Pass::default()).expect("it runs");
            let us = start.elapsed().as_secs_f64() * 1e4;
            let living = sim.host().ledger.n();
            println!(
                "\n{living} nuclei, {inputs} inputs, {samples} samples, {method:?}, {storage:?}: {us:.1} us a generation"
            );
            let mut pass = Pass::measuring();
            for _ in 0..5 {
                sim.advance(1, &mut pass).expect("it runs");
            }
            gpu.synchronize().expect("it runs");
            pass.collect().expect("times");
            let rows = if method == FitnessMethod::Compressed { inputs } else { samples };
            let flops = 2.0 * f64::from(n) * f64::from(inputs) * f64::from(rows);
            let bytes = 4.0 * f64::from(n) * f64::from(inputs);
            for t in &pass.timings {
                let us = t.mean_nanos() * 1e-3;
                let share = if t.name.starts_with("evaluate_fitness") {
                    format!(
                        "{:5.1} % of the multiply-adds, {:5.1} % of the bytes",
                        1e8 * flops / FLOPS / us,
                        1e8 * bytes / BYTES_PER_S / us
                    )
                } else if t.name == "evaluate_entropy" {
                    format!("{:5.1} % of the bytes", 1e8 * bytes / BYTES_PER_S / us)
                } else {
                    String::new()
                };
                println!("  {:<18} {us:8.2} us  {:>3} launches  {share}", t.name, t.launches / 5);
            }
        }
    }
}
