//! Rows of `neuropil bench synaptic`: training steps, which PyTorch can repeat, and losses of variants on a text.

use super::bench::{self, CaseRow, SpeedRow, VariantRow};
use crate::{
    sim::{BenchOptions, BenchRow, Device, Progress, SimError, TorchCase},
    torch_script,
};
use serde_json::json;

/// Measures the cases. Fails if no case matches the options, or as [`bench::run`] does.
pub fn run(options: &BenchOptions, progress: &Progress) -> Result<Vec<BenchRow>, SimError> {
    let rows = bench::run(options, progress)?;
    if rows.is_empty() {
        let all: Vec<&str> = bench::cases().collect();
        let only = options.only.as_deref().unwrap_or_default();
        return Err(SimError::Input(format!(
            "there is no case `{only}`; cases are {}, and those of variants need --text FILE",
            all.join(", ")
        )));
    }
    Ok(rows.into_iter().map(|row| bench_row(row, options)).collect())
}

fn bench_row(row: CaseRow, options: &BenchOptions) -> BenchRow {
    let speed = match row {
        CaseRow::Variant(row) => return BenchRow::new(&row, variant_line(&row)),
        CaseRow::Speed(row) => row,
    };
    let mut workload = json!(speed.workload);
    // On a CPU, compilation is disabled because it slows down parts of this size.
    workload["compile"] = json!(matches!(options.device, Device::Cuda(_)));
    let torch = TorchCase {
        name: speed.name.clone(),
        script: torch_script!("train_synaptic.py"),
        workload: Ok(workload),
        rate: speed.bytes_per_s,
        items: "bytes",
    };
    BenchRow { torch: Some(torch), ..BenchRow::new(&*speed, speed_line(&speed)) }
}

fn speed_line(row: &SpeedRow) -> String {
    format!(
        "{:18} {:10.0} bytes/s ± {:4.1} %  {:9.2} ms/step  release {:4.1} % of the forward pass  {:6.2} M parameters  ",
        row.name,
        row.bytes_per_s,
        100.0 * row.spread,
        row.ms_per_step,
        100.0 * row.release_share,
        row.parameters as f64 * 1e-6
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
