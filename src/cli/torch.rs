//! The same training steps by PyTorch, where a Python with it is found.

use crate::sim::{Device, Progress, SimError};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::{
    io::Read as _,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

/// A script of `assets/bench` that defines a model, and the one that measures it; given to Python as text.
macro_rules! script {
    ($file:literal) => {
        concat!(include_str!(concat!("../../assets/bench/", $file)), include_str!("../../assets/bench/measure.py"))
    };
}
pub(super) use script;

/// What a script measured.
#[derive(Clone, Debug, Deserialize, serde::Serialize)]
pub(super) struct Torch {
    pub torch: String,
    pub mode: String,
    pub device: String,
    pub parameters: usize,
    pub ms_per_step: f64,
    pub spread: f64,
    pub tokens_per_s: f64,
}

/// How it is measured.
#[derive(Clone, Copy)]
pub(super) struct Options<'a> {
    pub device: &'a Device,
    pub threads: u32,
    pub repeats: u32,
}

/// Runs a script on a workload; the inner error says why there is no measurement. `$NEUROPIL_PYTHON` names another Python
/// than `python3`.
pub(super) fn run(
    script: &str,
    name: &str,
    workload: Json,
    options: Options<'_>,
    progress: &Progress,
) -> Result<Result<Torch, String>, SimError> {
    match measure(script, name, workload, options, progress) {
        Err(why @ SimError::Cancelled) => Err(why),
        measured => Ok(measured.map_err(|why| why.to_string())),
    }
}

fn measure(
    script: &str,
    name: &str,
    mut workload: Json,
    options: Options<'_>,
    progress: &Progress,
) -> Result<Torch, SimError> {
    let device = match options.device {
        Device::Cuda(gpu) => format!("cuda:{}", gpu.ordinal),
        Device::Cpu { .. } => "cpu".to_owned(),
    };
    workload["device"] = json!(device);
    workload["threads"] = json!(options.threads);
    workload["repeats"] = json!(options.repeats);
    let python = std::env::var_os("NEUROPIL_PYTHON").unwrap_or_else(|| "python3".into());
    let failed = |why: String| SimError::Device(format!("{}: {why}", python.to_string_lossy()));
    let mut command = Command::new(&python);
    command
        .args(["-c", script, &workload.to_string()])
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
    let stage = format!("{name} by PyTorch");
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

/// The end of a line: what `per_s` is of the measurement.
pub(super) fn comparison(per_s: f64, unit: &str, torch: &Result<Torch, String>) -> String {
    match torch {
        Ok(torch) => format!(
            "{:.2} of PyTorch {} ({}): {:.0} {unit}/s ± {:.1} %",
            per_s / torch.tokens_per_s,
            torch.torch,
            torch.mode,
            torch.tokens_per_s,
            100.0 * torch.spread
        ),
        Err(why) => format!("not compared with PyTorch: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Python reads the scripts, where there is one.
    #[test]
    fn the_scripts_are_python() {
        for script in [script!("train_gpt.py"), script!("train_synaptic.py")] {
            let check = "import ast, sys; ast.parse(sys.stdin.read())";
            let child = Command::new("python3").args(["-c", check]).stdin(Stdio::piped()).spawn();
            let Ok(mut child) = child else { return };
            std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), script.as_bytes()).expect("it reads");
            assert!(child.wait().expect("it ends").success());
        }
    }
}
