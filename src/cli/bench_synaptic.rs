//! `neuropil bench synaptic`: training steps, and with `--text` the losses of variants.

use super::bench::Rows;
use crate::{
    kinds::synaptic::bench::{self, BenchOptions, BenchRow, SpeedRow, VariantRow},
    sim::{Progress, SimError},
};
use serde_json::json;

pub(super) fn run(options: &BenchOptions, progress: &Progress) -> Result<Rows, SimError> {
    let rows = bench::run(options, progress)?;
    if rows.is_empty() {
        let all: Vec<&str> = bench::cases().collect();
        let only = options.only.as_deref().unwrap_or_default();
        return Err(SimError::Input(format!(
            "there is no case `{only}`; cases are {}, and those of variants need --text FILE",
            all.join(", ")
        )));
    }
    Ok(rows.iter().map(|row| (json!(row), line(row))).collect())
}

fn line(row: &BenchRow) -> String {
    match row {
        BenchRow::Speed(SpeedRow { name, parameters, ms_per_step, spread, bytes_per_s, release_share, .. }) => format!(
            "{name:18} {bytes_per_s:10.0} bytes/s ± {:4.1} %  {ms_per_step:9.2} ms/step  release {:4.1} % of the forward pass  {:6.2} M parameters",
            100.0 * spread,
            100.0 * release_share,
            *parameters as f64 * 1e-6
        ),
        BenchRow::Variant(row) => variant_line(row),
    }
}

fn variant_line(row: &VariantRow) -> String {
    let seeds: Vec<String> = row.held_out.iter().map(|loss| format!("{loss:.4}")).collect();
    let [splits, merges, removals] = row.events;
    let events = if row.events == [0; 3] {
        String::new()
    } else {
        format!("  {splits} splits, {merges} merges, {removals} removals")
    };
    format!(
        "{:18} {:.4} ± {:.4} nats/byte held out ({})  after {:.2} MB in {:.0} s  {:6.2} M parameters{events}",
        row.name,
        row.mean,
        row.sd,
        seeds.join(", "),
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
            mean: 1.775,
            trained_bytes: 1_024_000,
            events: [3, 1, 0],
            ..VariantRow::default()
        };
        let line = line(&BenchRow::Variant(row));
        assert!(line.contains("1.7750 ± 0.0000 nats/byte held out (1.7500, 1.8000)  after 1.02 MB"), "{line}");
        assert!(line.ends_with("3 splits, 1 merges, 0 removals"), "{line}");
    }
}
