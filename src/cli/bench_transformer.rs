//! `neuropil bench transformer`: operations against their roofline, training steps, and the same steps by PyTorch where a
//! Python with it is found.

use super::{
    bench::Rows,
    torch::{self, Torch},
};
use crate::{
    gpu::PROFILE_EVERY,
    kinds::transformer::bench as training,
    nn::{bench as operations, gemm::bench::BenchOptions},
    sim::{Device, Progress, SimError},
};
use serde_json::json;

/// The comparison, given to Python as text.
const SCRIPT: &str = torch::script!("train_gpt.py");

pub(super) fn run(options: &training::BenchOptions, threads: u32, progress: &Progress) -> Result<Rows, SimError> {
    let mut rows = vec![];
    if let Device::Cuda(gpu) = &options.device {
        let proceed = |case: &str, share: f32| progress.report(case, share).is_ok();
        let (repeats, only) = (options.repeats, options.only.as_deref());
        let measured = operations::run_cuda(gpu, &BenchOptions { repeats, only, proceed: &proceed });
        progress.report("training", 0.0)?;
        rows.extend(measured.map_err(SimError::Device)?.iter().map(|row| (json!(row), operation_line(row))));
    }
    for row in training::run(options, progress)? {
        let how = torch::Options { device: &options.device, threads, repeats: options.repeats };
        let torch = if row.is_variant {
            Err("a variant of the case before".to_owned())
        } else {
            torch::run(SCRIPT, &row.name, json!(row.workload), how, progress)?
        };
        let line = training_line(&row, &torch);
        rows.push((
            json!({ "training": row, "torch": torch.as_ref().ok(), "without_torch": torch.as_ref().err() }),
            line,
        ));
    }
    if rows.is_empty() {
        let only = options.only.as_deref().unwrap_or_default();
        return Err(SimError::Input(format!(
            "there is no case `{only}` on this device; training is train-nano, train-chars and train-gpt2, with variants"
        )));
    }
    Ok(rows)
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

fn training_line(row: &training::BenchRow, torch: &Result<Torch, String>) -> String {
    let torch = torch::comparison(row.tokens_per_s, "tokens", torch);
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
        "{:12} {:10.0} tokens/s ± {:4.1} %  {:9.2} ms/step  {:7.2} TFLOP/s  {:6.1} M parameters  {:8.1} MB  {kernels}{torch}",
        row.name,
        row.tokens_per_s,
        100.0 * row.spread,
        row.ms_per_step,
        row.tflops,
        row.parameters as f64 * 1e-6,
        row.memory_bytes as f64 * 1e-6
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_line_is_read_and_compared() {
        let line = r#"{"torch": "2.9", "mode": "torch.compile", "device": "x", "parameters": 1, "ms_per_step": 2.0, "spread": 0.01, "tokens_per_s": 500.0,
            "settings": [{"mode": "torch.compile", "tokens_per_s": 500.0, "note": ""},
                {"mode": "eager", "tokens_per_s": 250.0, "note": ""},
                {"mode": "flash attention", "tokens_per_s": null, "note": "RuntimeError: no kernel"}]}"#;
        let torch: Torch = serde_json::from_str(line).expect("a measurement");
        let row = training::BenchRow { name: "train-nano".into(), tokens_per_s: 1000.0, ..Default::default() };
        let line = training_line(&row, &Ok(torch));
        let (first, others) = line.split_once('\n').expect("other settings below");
        assert!(first.contains("2.00 of PyTorch 2.9 (torch.compile)"), "{first}");
        assert_eq!(
            others,
            "    PyTorch        250 tokens/s  eager\n    PyTorch not measured  flash attention: RuntimeError: no kernel"
        );
        assert!(training_line(&row, &Err("no torch".into())).ends_with("not compared with PyTorch: no torch"));
    }
}
