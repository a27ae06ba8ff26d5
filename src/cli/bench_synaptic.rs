//! `neuropil bench synaptic`: training steps, equal steps by PyTorch if a Python with it is found, and with `--text`
//! the losses of variants.

use super::{
    bench::Rows,
    torch::{self, Torch},
};
use crate::{
    kinds::synaptic::bench::{self, BenchOptions, BenchRow, SpeedRow, VariantRow},
    sim::{Device, Progress, SimError},
};
use serde_json::json;

/// The comparison, given to Python as text.
const SCRIPT: &str = torch::script!("train_synaptic.py");

pub(super) fn run(options: &BenchOptions, threads: u32, progress: &Progress) -> Result<Rows, SimError> {
    let rows = bench::run(options, progress)?;
    if rows.is_empty() {
        let all: Vec<&str> = bench::cases().collect();
        let only = options.only.as_deref().unwrap_or_default();
        return Err(SimError::Input(format!(
            "there is no case `{only}`; cases are {}, and those of variants need --text FILE",
            all.join(", ")
        )));
    }
    rows.into_iter().map(|row| with_torch(row, options, threads, progress)).collect()
}

/// A row as JSON and as a line, of training steps with those of PyTorch.
fn with_torch(
    row: BenchRow,
    options: &BenchOptions,
    threads: u32,
    progress: &Progress,
) -> Result<(serde_json::Value, String), SimError> {
    let speed = match row {
        BenchRow::Variant(row) => return Ok((json!(row), variant_line(&row))),
        BenchRow::Speed(row) => row,
    };
    let mut workload = json!(speed.workload);
    // On a CPU the compiled parts are too small: slower than without.
    workload["compile"] = json!(matches!(options.device, Device::Cuda(_)));
    let how = torch::Options { device: &options.device, threads, repeats: options.repeats };
    let torch = torch::run(SCRIPT, &speed.name, workload, how, progress)?;
    let line = speed_line(&speed, &torch);
    let row = json!({ "training": speed, "torch": torch.as_ref().ok(), "without_torch": torch.as_ref().err() });
    Ok((row, line))
}

fn speed_line(row: &SpeedRow, torch: &Result<Torch, String>) -> String {
    format!(
        "{:18} {:10.0} bytes/s ± {:4.1} %  {:9.2} ms/step  release {:4.1} % of the forward pass  {:6.2} M parameters  {}",
        row.name,
        row.bytes_per_s,
        100.0 * row.spread,
        row.ms_per_step,
        100.0 * row.release_share,
        row.parameters as f64 * 1e-6,
        torch::comparison(row.bytes_per_s, "bytes", torch)
    )
}

fn variant_line(row: &VariantRow) -> String {
    let list = |losses: &[f64]| losses.iter().map(|loss| format!("{loss:.4}")).collect::<Vec<_>>().join(", ");
    let [splits, merges, removals] = row.events;
    let events = if row.events == [0; 3] {
        String::new()
    } else {
        format!("  {splits} splits, {merges} merges, {removals} removals")
    };
    format!(
        "{:18} {:.4} ± {:.4} nats/byte held out ({})  second half of training ({})  after {:.2} MB in {:.0} s  {:6.2} M parameters{events}",
        row.name,
        row.mean,
        row.sd,
        list(&row.held_out),
        list(&row.online),
        row.trained_bytes as f64 * 1e-6,
        row.seconds,
        row.parameters as f64 * 1e-6
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_every_seed() {
        let row = VariantRow {
            name: "grow-live16".into(),
            held_out: vec![1.75, 1.8],
            online: vec![1.9, 2.0],
            mean: 1.775,
            trained_bytes: 1_024_000,
            events: [3, 1, 0],
            ..VariantRow::default()
        };
        let line = variant_line(&row);
        assert!(line.contains("1.7750 ± 0.0000 nats/byte held out (1.7500, 1.8000)"), "{line}");
        assert!(line.contains("second half of training (1.9000, 2.0000)  after 1.02 MB"), "{line}");
        assert!(line.ends_with("3 splits, 1 merges, 0 removals"), "{line}");
    }
}
