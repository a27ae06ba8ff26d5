//! Rows of `neuropil bench transformer`: operations compared with their roofline, and training steps compared with PyTorch.

use super::bench as training;
use crate::{
    gpu::PROFILE_EVERY,
    nn::{bench as operations, gemm::bench::BenchOptions as OperationOptions},
    sim::{BenchOptions, BenchRow, Device, Progress, SimError, TorchCase},
    torch_script,
};
use serde_json::json;

/// Runs the cases of operations and of training steps. Fails if a case fails or no case matches the options.
pub fn run(options: &BenchOptions, progress: &Progress) -> Result<Vec<BenchRow>, SimError> {
    let mut rows = vec![];
    if let Device::Cuda(gpu) = &options.device {
        let proceed = |case: &str, share: f32| progress.report(case, share).is_ok();
        let (repeats, only) = (options.repeats, options.only.as_deref());
        let measured = operations::run_cuda(gpu, &OperationOptions { repeats, only, proceed: &proceed });
        progress.report("training", 0.0)?;
        rows.extend(measured.map_err(SimError::Device)?.iter().map(|row| BenchRow::new(row, operation_line(row))));
    }
    rows.extend(training::run(options, progress)?.iter().map(training_row));
    if rows.is_empty() {
        let only = options.only.as_deref().unwrap_or_default();
        return Err(SimError::Input(format!(
            "there is no case `{only}` on this device; training is train-nano, train-chars and train-gpt2, with variants"
        )));
    }
    Ok(rows)
}

fn training_row(row: &training::BenchRow) -> BenchRow {
    let torch = TorchCase {
        name: row.name.clone(),
        script: torch_script!("train_gpt.py"),
        workload: if row.is_variant { Err("a variant of the case before".to_owned()) } else { Ok(json!(row.workload)) },
        rate: row.tokens_per_s,
        items: "tokens",
    };
    BenchRow { torch: Some(torch), ..BenchRow::new(row, training_line(row)) }
}

fn operation_line(row: &operations::BenchRow) -> String {
    format!(
        "{:34} {:10.4} ms ± {:4.1} %  {:8.1} GB/s  {:7.1} TFLOP/s  {:5.1} % of its roofline",
        row.name,
        row.ms,
        100.0 * row.spread,
        row.gb_per_s,
        row.tflops,
        100.0 * row.roofline_ms / row.ms
    )
}

fn training_line(row: &training::BenchRow) -> String {
    let kernels = if row.kernel_ms > 0.0 {
        let percent = |ms: f64| 100.0 * ms / row.ms_per_step;
        format!(
            "kernels {:.1} % of a step, {:.1} % of a measured one; cost of measuring {:+.1} % of that, {:+.2} % where one step in {} is  ",
            percent(row.kernel_ms),
            100.0 * row.kernel_ms / row.measured_ms,
            percent(row.measured_ms) - 100.0,
            percent(row.profiled_ms) - 100.0,
            PROFILE_EVERY
        )
    } else {
        String::new()
    };
    format!(
        "{:12} {:10.0} tokens/s ± {:4.1} %  {:9.2} ms/step  {:7.2} TFLOP/s  {:6.1} M parameters  {:8.1} MB  {kernels}",
        row.name,
        row.tokens_per_s,
        100.0 * row.spread,
        row.ms_per_step,
        row.tflops,
        row.parameters as f64 * 1e-6,
        row.memory_bytes as f64 * 1e-6
    )
}
