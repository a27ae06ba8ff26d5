//! Runs the training steps of a benchmark in PyTorch, if a Python with PyTorch is found.

use crate::sim::{Device, Progress, SimError};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::{
    io::Read as _,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

/// Result of a script, with the values of its fastest setting.
#[derive(Clone, Debug, Deserialize, serde::Serialize)]
pub(super) struct Torch {
    pub torch: String,
    pub mode: String,
    pub device: String,
    pub parameters: usize,
    pub ms_per_step: f64,
    pub spread: f64,
    pub tokens_per_s: f64,
    /// All settings, in descending order of speed.
    #[serde(default)]
    pub settings: Vec<Setting>,
}

/// PyTorch configuration that a user might choose.
#[derive(Clone, Debug, Deserialize, serde::Serialize)]
pub(super) struct Setting {
    pub mode: String,
    /// Tokens per second; `None` if the setting could not be measured.
    pub tokens_per_s: Option<f64>,
    pub note: String,
}

/// Settings of a comparison.
#[derive(Clone, Copy)]
pub(super) struct Options<'a> {
    pub device: &'a Device,
    pub threads: u32,
    pub repeats: u32,
}

/// Message about a Python without PyTorch.
const NO_TORCH: &str = "it has no PyTorch; install it there, or name a Python that has it in NEUROPIL_PYTHON";

/// Runs a script on a workload. The inner error is the reason why there is no measurement. `$NEUROPIL_PYTHON` names a
/// Python other than `python3`. Fails if the job is cancelled.
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
    // Compilers write much to stderr, and a full pipe would block them.
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
        let why = last(&err);
        return Err(failed(if why.contains("No module named 'torch'") { NO_TORCH.to_owned() } else { why }));
    }
    serde_json::from_str(&last(&out)).map_err(|e| failed(format!("{e} in {}", last(&out))))
}

/// Compares `per_s` with the fastest setting of PyTorch, as text for the end of a line. Each other setting follows in a
/// separate line.
pub(super) fn comparison(per_s: f64, unit: &str, torch: &Result<Torch, String>) -> String {
    match torch {
        Ok(torch) => format!(
            "{:.2} of PyTorch {} ({}): {:.0} {unit}/s ± {:.1} %{}",
            per_s / torch.tokens_per_s,
            torch.torch,
            torch.mode,
            torch.tokens_per_s,
            100.0 * torch.spread,
            torch.settings.iter().filter(|s| s.mode != torch.mode).map(|s| setting_line(s, unit)).collect::<String>()
        ),
        Err(why) => format!("not compared with PyTorch: {why}"),
    }
}

fn setting_line(setting: &Setting, unit: &str) -> String {
    match setting.tokens_per_s {
        Some(per_s) => format!("\n    PyTorch {per_s:10.0} {unit}/s  {}", setting.mode),
        None => format!("\n    PyTorch not measured  {}: {}", setting.mode, setting.note),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scripts are valid Python. The test is skipped without Python.
    #[test]
    fn the_scripts_are_python() {
        for script in [crate::torch_script!("train_gpt.py"), crate::torch_script!("train_synaptic.py")] {
            let check = "import ast, sys; ast.parse(sys.stdin.read())";
            let child = Command::new("python3").args(["-c", check]).stdin(Stdio::piped()).spawn();
            let Ok(mut child) = child else { return };
            std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), script.as_bytes()).expect("it reads");
            assert!(child.wait().expect("it ends").success());
        }
    }

    /// The search runs without PyTorch, on a table of speeds that replaces measurements.
    #[test]
    fn the_fastest_setting_wins_and_those_that_fail_are_noted() {
        let driver = r#"
speeds = {
    "autocast, eager": 100, "autocast, cuDNN attention, eager": 120,
    "bf16 weights, eager": 90, "bf16 weights, cuDNN attention, eager": 110,
    "autocast, cuDNN attention, torch.compile": 500, "bf16 weights, cuDNN attention, torch.compile": 530,
}
def measure(setting, is_brief):
    if setting.mode == "max-autotune":
        os._exit(3)
    if str(setting) not in speeds:
        raise RuntimeError("No viable backend.\nA long explanation")
    return {"tokens_per_s": speeds[str(setting)], "is_brief": is_brief}
search = Search(measure, 60, 600)
setting, result = search.run(["autocast", "bf16 weights"], ["default", "flash", "cuDNN"], ["default", "max-autotune"])
eager = Search(measure, 60, 600)
only, again = eager.run(["autocast"], ["default"], [])
hangs = in_process(lambda: time.sleep(600), 0.2)
print(json.dumps([str(setting), result, search.settings(), str(only), again, hangs]))
try:
    Search(measure, 60, 600).run(["unknown"], ["default"], ["default"])
except SystemExit as error:
    print(error)
"#;
        let script = format!("{}{driver}", include_str!("../../assets/bench/search.py"));
        let Ok(output) = Command::new("python3").args(["-c", &script]).output() else { return };
        let text = String::from_utf8_lossy(&output.stdout);
        let (found, why) = text.split_once('\n').unwrap_or_else(|| panic!("{output:?}"));
        let (setting, result, settings, only, again, hangs): (String, Json, Vec<Setting>, String, Json, Json) =
            serde_json::from_str(found).expect("its line");
        assert_eq!(setting, "bf16 weights, cuDNN attention, torch.compile");
        assert_eq!(result, json!({ "tokens_per_s": 530, "is_brief": false }));
        let named = |mode: &str| settings.iter().find(|s| s.mode == mode).map(|s| &*s.note);
        assert_eq!(named("autocast, flash attention, eager"), Some("RuntimeError: No viable backend."));
        let died = "bf16 weights, cuDNN attention, torch.compile max-autotune";
        assert_eq!((named(died), settings.len()), (Some("its process ended"), 9));
        assert!(settings.is_sorted_by(|a, b| a.tokens_per_s >= b.tokens_per_s), "the fastest first");
        assert_eq!(
            (only.as_str(), &again["is_brief"]),
            ("autocast, eager", &json!(false)),
            "the winner is measured in full"
        );
        assert_eq!(hangs, json!({ "note": "not done after 0 s" }));
        assert!(why.starts_with("no setting could be measured: unknown, eager: RuntimeError"), "{why}");
    }

    #[test]
    fn the_scripts_line_is_read_and_compared() {
        let line = r#"{"torch": "2.9", "mode": "torch.compile", "device": "x", "parameters": 1, "ms_per_step": 2.0, "spread": 0.01, "tokens_per_s": 500.0,
            "settings": [{"mode": "torch.compile", "tokens_per_s": 500.0, "note": ""},
                {"mode": "eager", "tokens_per_s": 250.0, "note": ""},
                {"mode": "flash attention", "tokens_per_s": null, "note": "RuntimeError: no kernel"}]}"#;
        let torch: Torch = serde_json::from_str(line).expect("a measurement");
        let line = comparison(1000.0, "tokens", &Ok(torch));
        let (first, others) = line.split_once('\n').expect("other settings below");
        assert!(first.starts_with("2.00 of PyTorch 2.9 (torch.compile)"), "{first}");
        assert_eq!(
            others,
            "    PyTorch        250 tokens/s  eager\n    PyTorch not measured  flash attention: RuntimeError: no kernel"
        );
        assert_eq!(comparison(1.0, "tokens", &Err("no torch".into())), "not compared with PyTorch: no torch");
    }
}
