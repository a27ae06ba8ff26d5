//! `neuropil bench`: the only code outside `kinds` that depends on the kind.

use super::{
    args::BenchArgs, bench_synaptic, bench_taps, bench_transformer, device, error::CliError, progress::ProgressLine,
    signal, stdout::print_line,
};
use crate::{
    gpu::ceilings::{self, Ceiling, Limit},
    kinds::{
        Model, nuclei::bench as nuclei, spiking::bench as spiking, synaptic::bench as synaptic,
        transformer::bench as transformer,
    },
    nn::gemm::bench as gemm,
    project::peak_performance as kept,
    sim::{Device, Progress, SimError},
};
use serde_json::{Value as Json, json};
use std::{
    sync::{
        Arc,
        mpsc::{RecvTimeoutError, channel},
    },
    time::Duration,
};

/// One measurement: as JSON, and as a line.
pub(super) type Rows = Vec<(Json, String)>;
/// All measurements of a kind.
type Job = Box<dyn FnOnce(&Progress) -> Result<Rows, SimError> + Send>;

pub(super) fn bench(args: &BenchArgs) -> Result<(), CliError> {
    signal::listen();
    if args.kind == "taps" {
        let (gpu, threads) = (args.device.gpu.unwrap_or(0), args.threads.unwrap_or(0));
        return bench_taps::bench(args, device::choose(args.device.choice, gpu, threads)?);
    }
    let Some(job) = job(args)? else {
        let known: Vec<&str> = Model::all().iter().map(Model::name).collect();
        let kind = &args.kind;
        return Err(CliError::Usage(format!(
            "`{kind}` has no benchmark; benchmarks exist for `device`, `gemm`, `taps`, `window` and the kinds {}",
            known.join(", ")
        )));
    };
    let rows = watched(job)?;
    if args.json {
        let list: Vec<Json> = rows.into_iter().map(|(row, _)| row).collect();
        print_line!("{:#}", json!({ "kind": args.kind, "app": crate::project::run::app_version(), "cases": list }));
    } else {
        rows.iter().for_each(|(_, line)| print_line!("{line}"));
    }
    Ok(())
}

/// The measurements of a kind.
fn job(args: &BenchArgs) -> Result<Option<Job>, CliError> {
    let chosen = device::choose(args.device.choice, args.device.gpu.unwrap_or(0), args.threads.unwrap_or(0))?;
    let (repeats, only) = (args.repeats, args.only.clone());
    Ok(match args.kind.as_str() {
        "spiking" => {
            let options = spiking::BenchOptions {
                network: args.network.clone(),
                bio_s: args.duration.unwrap_or(1000.0) * 1e-3,
                device: chosen.device,
                device_name: chosen.name,
                repeats,
                only,
            };
            Some(Box::new(move |progress: &Progress| {
                let rows = spiking::run(&options, progress)?;
                Ok(rows.iter().map(|row| (json!(row), spiking_line(row))).collect())
            }))
        }
        "nuclei" => {
            let options = nuclei::BenchOptions { device: chosen.device, device_name: chosen.name, repeats, only };
            Some(Box::new(move |progress: &Progress| {
                let rows = nuclei::run(&options, progress)?;
                Ok(rows.iter().map(|row| (json!(row), nuclei_line(row))).collect())
            }))
        }
        "transformer" => {
            let options = transformer::BenchOptions { device: chosen.device, device_name: chosen.name, repeats, only };
            Some(Box::new(move |progress: &Progress| bench_transformer::run(&options, chosen.threads, progress)))
        }
        "synaptic" => {
            let options = synaptic::BenchOptions {
                device: chosen.device,
                device_name: chosen.name,
                repeats,
                only,
                text: args.text.clone(),
                steps: args.steps,
            };
            Some(Box::new(move |progress: &Progress| bench_synaptic::run(&options, chosen.threads, progress)))
        }
        "device" => Some(Box::new(move |_: &Progress| ceilings(&chosen.device, chosen.threads))),
        "gemm" => Some(Box::new(move |progress: &Progress| {
            matrix_products(&chosen.device, chosen.threads, repeats, only.as_deref(), progress)
        })),
        _ => None,
    })
}

/// Matrix multiplication by every backend of the device.
fn matrix_products(
    device: &Device,
    threads: u32,
    repeats: u32,
    only: Option<&str>,
    progress: &Progress,
) -> Result<Rows, SimError> {
    let proceed = |case: &str, share: f32| progress.report(case, share).is_ok();
    let options = gemm::BenchOptions { repeats, only, proceed: &proceed };
    let rows = match device {
        Device::Cuda(gpu) => {
            let (rows, library) = gemm::run_cuda(gpu, &options).map_err(|e| SimError::Device(e.to_string()))?;
            tracing::info!("{library}");
            rows
        }
        Device::Cpu { .. } => gemm::run_cpu(threads as usize, &options).map_err(SimError::Input)?,
    };
    Ok(rows.iter().map(|row| (json!(row), gemm_line(row))).collect())
}

fn gemm_line(row: &gemm::BenchRow) -> String {
    format!(
        "{:36} {:10.4} ms  {:8.3} TFLOP/s  {:5.1} % of a roofline of {:8.3} TFLOP/s",
        row.name,
        row.ms,
        row.tflops,
        100.0 * row.tflops / row.roofline,
        row.roofline
    )
}

/// Peak performance of the device; saved for the roofline.
fn ceilings(device: &Device, threads: u32) -> Result<Rows, SimError> {
    let mut measured = match device {
        Device::Cuda(gpu) => ceilings::measure_gpu(gpu)?,
        Device::Cpu { .. } => ceilings::measure_cpu(threads as usize),
    };
    if let Some(cache) = kept::cache_folder() {
        let file = kept::save(&cache, &mut measured).map_err(SimError::Input)?;
        tracing::info!("saved to {}", file.display());
    }
    let line = |c: &Ceiling| match c.limit {
        Limit::Launch => format!("{:26} {:10.2} µs      {}", c.name, c.value * 1e6, c.how),
        limit => format!("{:26} {:10.2} G{:5} {}", c.name, c.value * 1e-9, unit(limit), c.how),
    };
    let name = |row: &Ceiling| json!({ "device": measured.device, "measured": measured.measured, "ceiling": row });
    Ok(measured.list.iter().map(|c| (name(c), line(c))).collect())
}

const fn unit(limit: Limit) -> &'static str {
    match limit {
        Limit::Bytes => "B/s",
        Limit::Ops => "op/s",
        Limit::Updates | Limit::Launch => "/s",
    }
}

fn nuclei_line(row: &nuclei::BenchRow) -> String {
    let substep = if row.substep_us > 0.0 { format!("  {:8.2} µs/substep", row.substep_us) } else { String::new() };
    format!(
        "{:26} {:10.2} generations/s  coupling {:9.3} ms  prepared in {:9.3} ms  {:8.2} G pairs/s  {:7.1} MB  {} nuclei{substep}",
        row.name,
        row.steps_per_s,
        row.coupling_ms,
        row.plan_ms,
        row.pairs_per_s * 1e-9,
        row.memory_bytes as f64 * 1e-6,
        row.n.1
    )
}

fn spiking_line(row: &spiking::BenchRow) -> String {
    format!(
        "{:14} {:7.2}x real time  {:8.2} µs/step  {:7.2} Hz  {:9} spikes  {:6.1} M events/s  {:6.1} MB  {}",
        row.name,
        row.realtime_factor,
        row.us_per_step,
        row.mean_rate_hz,
        row.spikes,
        row.events_per_wall_s * 1e-6,
        row.memory_bytes as f64 * 1e-6,
        row.note
    )
}

/// Measures on a separate thread, so that interrupts are handled.
fn watched(job: Job) -> Result<Rows, CliError> {
    let _closing = signal::closing();
    let (progress, meter) = (Arc::new(Progress::default()), ProgressLine::new());
    let (sender, receiver) = channel();
    let shared = progress.clone();
    std::thread::Builder::new().name("bench".into()).spawn(move || drop(sender.send(job(&shared))))?;
    loop {
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(rows) => return Ok(rows?),
            Err(RecvTimeoutError::Timeout) => {}
            Err(_) => {
                return Err(CliError::Failed("an internal error stopped the benchmark, see the message above".into()));
            }
        }
        if signal::interrupted() {
            progress.cancel();
        }
        let (stage, fraction) = progress.now();
        meter.update(f64::from(fraction), 1.0, || stage);
    }
}
