//! `neuropil bench`: benchmarks of the device, of matrix multiplication, and of kinds.

use super::{
    bench_args::BenchArgs, bench_project, bench_taps, device, device::Chosen, error::CliError, progress::ProgressLine,
    signal, stdout::print_line, torch,
};
use crate::{
    gpu::ceilings::{self, Ceiling, Limit},
    kinds::Model,
    nn::gemm::bench as gemm,
    project::peak_performance as kept,
    sim::{BenchOptions, BenchRow, Device, Progress, SimError},
};
use serde_json::{Value as Json, json};
use std::{
    sync::{
        Arc,
        mpsc::{RecvTimeoutError, channel},
    },
    time::Duration,
};

/// List of measurements, each as JSON and as a line of text.
pub(super) type Rows = Vec<(Json, String)>;
/// Job that makes all measurements of a kind.
type Job = Box<dyn FnOnce(&Progress) -> Result<Rows, SimError> + Send>;

pub(super) fn bench(args: &BenchArgs) -> Result<(), CliError> {
    signal::listen();
    let of_project = match args.kind.as_str() {
        "taps" => Some(bench_taps::bench as fn(&BenchArgs, Chosen) -> Result<(), CliError>),
        "project" => Some(bench_project::bench as _),
        _ => None,
    };
    if let Some(bench) = of_project {
        let (gpu, threads) = (args.device.gpu.unwrap_or(0), args.threads.unwrap_or(0));
        return bench(args, device::choose(args.device.choice, gpu, threads)?);
    }
    let Some(job) = job(args)? else {
        let known: Vec<&str> = Model::all().iter().filter(|model| model.bench().is_some()).map(Model::name).collect();
        let kind = &args.kind;
        return Err(CliError::Usage(format!(
            "`{kind}` has no benchmark; benchmarks exist for `device`, `drawing`, `gemm`, `project`, `taps`, `window` and the kinds {}",
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

/// Returns the measurements of a kind as a job; `None` if the kind has no benchmark. Fails if the device is not available.
fn job(args: &BenchArgs) -> Result<Option<Job>, CliError> {
    let chosen = device::choose(args.device.choice, args.device.gpu.unwrap_or(0), args.threads.unwrap_or(0))?;
    let (repeats, only) = (args.repeats, args.only.clone());
    Ok(match args.kind.as_str() {
        "device" => Some(Box::new(move |_: &Progress| ceilings(&chosen.device, chosen.threads))),
        "gemm" => Some(Box::new(move |progress: &Progress| {
            matrix_products(&chosen.device, chosen.threads, repeats, only.as_deref(), progress)
        })),
        kind => Model::by_name(kind).and_then(|model| model.bench()).map(|bench| {
            let options = BenchOptions {
                device: chosen.device,
                device_name: chosen.name,
                repeats,
                only,
                simulated_s: args.duration.unwrap_or(1000.0) * 1e-3,
                network: args.network.clone(),
                text: args.text.clone(),
                steps: args.steps,
            };
            Box::new(move |progress: &Progress| {
                let rows = bench(&options, progress)?.into_iter();
                rows.map(|row| compared(row, &options, chosen.threads, progress)).collect()
            }) as Job
        }),
    })
}

/// Adds the measurement of PyTorch to a row that has a case for comparison. Fails if the job is cancelled.
fn compared(
    row: BenchRow,
    options: &BenchOptions,
    threads: u32,
    progress: &Progress,
) -> Result<(Json, String), SimError> {
    let Some(case) = row.torch else { return Ok((row.values, row.line)) };
    let how = torch::Options { device: &options.device, threads, repeats: options.repeats };
    let torch = match case.workload {
        Ok(workload) => torch::run(case.script, &case.name, workload, how, progress)?,
        Err(why) => Err(why),
    };
    let line = row.line + &torch::comparison(case.rate, case.items, &torch);
    Ok((json!({ "training": row.values, "torch": torch.as_ref().ok(), "without_torch": torch.as_ref().err() }), line))
}

/// Benchmarks matrix multiplication on every backend of the device. Fails if the device fails or the job is cancelled.
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

/// Measures the peak performance of the device and saves the result for the roofline. Fails if the device fails.
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

/// Executes the measurements on a separate thread, so that interrupts are handled. Fails if a measurement fails or is
/// cancelled.
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
