//! Binary encoding of readings, little-endian.

use super::Stream;
use crate::sim::{Clock, Link, Matrix, Reading, Spike};
use std::io;

/// Appends a reading to `out`. Fails if the width of a series, field or matrix differs from that of its stream.
pub(super) fn encode(reading: &Reading, clock: Clock, stream: &Stream, out: &mut Vec<u8>) -> io::Result<()> {
    match reading {
        Reading::Spikes(spikes) => encode_spikes(spikes, out),
        Reading::Series(series) => {
            let width = series.lanes as usize;
            if series.steps.is_empty() || width == 0 {
                return Ok(());
            }
            if series.lanes != stream.width {
                return Err(io::Error::other(format!("{} lanes instead of the {} of its stream", width, stream.width)));
            }
            for (step, row) in series.steps.iter().zip(series.values.chunks_exact(width)) {
                encode_row(*step, row, out);
            }
        }
        Reading::Histogram(histogram) if histogram.n_bins() > 0 => {
            for (step, row) in histogram.steps.iter().zip(histogram.counts.chunks_exact(histogram.n_bins())) {
                encode_row(*step, row, out);
            }
        }
        Reading::Histogram(_) => {}
        Reading::Field(values) | Reading::Matrix(Matrix { values, .. }) => {
            if values.len() as u32 != stream.width {
                let (came, announced) = (values.len(), stream.width);
                return Err(io::Error::other(format!("{came} values instead of the {announced} of its stream")));
            }
            encode_row(clock.step, values, out);
        }
        Reading::Lineage(events) => events.iter().try_for_each(|event| encode_line(event, out))?,
        Reading::Samples(samples) => samples.iter().try_for_each(|sample| encode_line(sample, out))?,
        Reading::Tokens(tokens) => encode_line(&**tokens, out)?,
        Reading::Links(links) => encode_line(&LinksAt { step: clock.step, links: links.to_vec() }, out)?,
        Reading::Text(text) => out.extend_from_slice(text.as_bytes()),
    }
    Ok(())
}

/// Line of a links file: the links at a step.
#[derive(serde::Serialize, serde::Deserialize)]
pub struct LinksAt {
    /// Step of the links.
    pub step: u64,
    /// Links at that step.
    pub links: Vec<Link>,
}

fn encode_line(line: &impl serde::Serialize, out: &mut Vec<u8>) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.push(b'\n');
    Ok(())
}

fn encode_spikes(spikes: &[Spike], out: &mut Vec<u8>) {
    if cfg!(target_endian = "little") {
        out.extend_from_slice(bytemuck::cast_slice(spikes));
    } else {
        out.extend(spikes.iter().flat_map(|s| [s.step.to_le_bytes(), s.lane.to_le_bytes()]).flatten());
    }
}

fn encode_row(step: u64, row: &[f32], out: &mut Vec<u8>) {
    out.extend_from_slice(&step.to_le_bytes());
    out.extend(row.iter().flat_map(|v| v.to_le_bytes()));
}
