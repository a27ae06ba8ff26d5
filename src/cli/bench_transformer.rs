//! `neuropil bench transformer`: operations against their roofline, training steps, and the same steps by PyTorch where a
//! Python with it is found.

use super::bench::Rows;
use crate::{
    kinds::transformer::bench as training,
    nn::{bench as operations, gemm::bench::BenchOptions},
    sim::{Device, Progress, SimError},
};
use serde::Deserialize;
use serde_json::json;
use std::{
    io::Read as _,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

/// The comparison, given to Python as text.
const SCRIPT: &str = include_str!("../../assets/bench/train_gpt.py");

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
        let torch = match torch(&row, options, threads, progress) {
            Err(why @ SimError::Cancelled) => return Err(why),
            torch => torch.map_err(|why| why.to_string()),
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
            "there is no case `{only}` on this device; training is train-nano, train-chars and train-gpt2"
        )));
    }
    Ok(rows)
}

/// What the script measured.
#[derive(Clone, Debug, Deserialize, serde::Serialize)]
struct Torch {
    torch: String,
    mode: String,
    device: String,
    parameters: usize,
    ms_per_step: f64,
    spread: f64,
    tokens_per_s: f64,
}

/// The same steps by PyTorch. `$NEUROPIL_PYTHON` names another Python than `python3`.
fn torch(
    row: &training::BenchRow,
    options: &training::BenchOptions,
    threads: u32,
    progress: &Progress,
) -> Result<Torch, SimError> {
    let mut workload = json!(row.workload);
    let device = match &options.device {
        Device::Cuda(gpu) => format!("cuda:{}", gpu.ordinal),
        Device::Cpu { .. } => "cpu".to_owned(),
    };
    workload["device"] = json!(device);
    workload["threads"] = json!(threads);
    workload["repeats"] = json!(options.repeats);
    let python = std::env::var_os("NEUROPIL_PYTHON").unwrap_or_else(|| "python3".into());
    let failed = |why: String| SimError::Device(format!("{}: {why}", python.to_string_lossy()));
    let mut command = Command::new(&python);
    command
        .args(["-c", SCRIPT, &workload.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| failed(e.to_string()))?;
    // Compilers write much to it: a pipe that is not read stops them.
    let mut stderr = child.stderr.take();
    let read = move || {
        let mut text = String::new();
        stderr.as_mut().map(|pipe| pipe.read_to_string(&mut text));
        text
    };
    let messages =
        thread::Builder::new().name("stderr of Python".into()).spawn(read).map_err(|e| failed(e.to_string()))?;
    let stage = format!("{} by PyTorch", row.name);
    while child.try_wait().map_err(|e| failed(e.to_string()))?.is_none() {
        if let Err(cancelled) = progress.report(&stage, 0.0) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(cancelled);
        }
        thread::sleep(Duration::from_millis(50));
    }
    let output = child.wait_with_output().map_err(|e| failed(e.to_string()))?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), messages.join().unwrap_or_default());
    let last = |text: &str| text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message").to_owned();
    if !output.status.success() {
        return Err(failed(last(&err)));
    }
    serde_json::from_str(&last(&out)).map_err(|e| failed(format!("{e} in {}", last(&out))))
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
    let torch = match torch {
        Ok(torch) => format!(
            "{:.2} of PyTorch {} ({}): {:.0} tokens/s ± {:.1} %",
            row.tokens_per_s / torch.tokens_per_s,
            torch.torch,
            torch.mode,
            torch.tokens_per_s,
            100.0 * torch.spread
        ),
        Err(why) => format!("not compared with PyTorch: {why}"),
    };
    format!(
        "{:12} {:10.0} tokens/s ± {:4.1} %  {:9.2} ms/step  {:7.2} TFLOP/s  {:6.1} M parameters  {:8.1} MB  {torch}",
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
        let line = r#"{"torch": "2.9", "mode": "torch.compile", "device": "x", "parameters": 1, "ms_per_step": 2.0, "spread": 0.01, "tokens_per_s": 500.0}"#;
        let torch: Torch = serde_json::from_str(line).expect("a measurement");
        let row = training::BenchRow { name: "train-nano".into(), tokens_per_s: 1000.0, ..Default::default() };
        assert!(training_line(&row, &Ok(torch)).contains("2.00 of PyTorch 2.9 (torch.compile)"));
        assert!(training_line(&row, &Err("no torch".into())).ends_with("not compared with PyTorch: no torch"));
    }

    /// Python reads the script, where there is one.
    #[test]
    fn the_script_is_python() {
        let check = "import ast, sys; ast.parse(sys.stdin.read())";
        let child = Command::new("python3").args(["-c", check]).stdin(Stdio::piped()).spawn();
        let Ok(mut child) = child else { return };
        std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), SCRIPT.as_bytes()).expect("it reads");
        assert!(child.wait().expect("it ends").success());
    }
}
