//! Export of the timeline as a trace-event file for Perfetto and chrome://tracing.

use super::lanes::name_of;
use crate::{
    app::document::profile::Profile,
    gpu::{Batch, Lane, Measured, Span},
};
use serde_json::{Value as Json, json};

/// Formats all batches of the range as JSON, consecutive in time. Only batches with spans have events.
pub(super) fn trace_events(profile: &Profile) -> String {
    let mut events: Vec<Json> =
        vec![json!({ "ph": "M", "pid": 1, "name": "process_name", "args": { "name": "neuropil" } })];
    let mut named: Vec<Lane> = vec![];
    let mut start = 0;
    for batch in profile.in_range() {
        if let Some(measured) = batch.measured.as_deref().filter(|m| !m.spans.is_empty()) {
            add(&mut events, &mut named, start, batch, measured);
        }
        start += batch.nanos;
    }
    json!({ "traceEvents": events, "displayTimeUnit": "ns" }).to_string()
}

fn add(events: &mut Vec<Json>, named: &mut Vec<Lane>, start: u64, batch: &Batch, measured: &Measured) {
    let micros = |nanos: u64| nanos as f64 * 1e-3;
    events.push(json!({
        "ph": "X", "pid": 1, "tid": 0, "name": "batch", "ts": micros(start), "dur": micros(batch.nanos),
        "args": { "number": batch.number, "first step": batch.step, "steps": batch.steps, "measured steps": measured.steps },
    }));
    for span in &measured.spans {
        let known = named.iter().position(|lane| *lane == span.lane);
        let at = known.unwrap_or_else(|| {
            named.push(span.lane);
            let (tid, name) = (named.len(), name_of(span.lane));
            events.push(json!({ "ph": "M", "pid": 1, "tid": tid, "name": "thread_name", "args": { "name": name } }));
            named.len() - 1
        });
        let Span { name, items, bytes, kernels, queued, .. } = span;
        events.push(json!({
            "ph": "X", "pid": 1, "tid": at + 1, "name": name, "ts": micros(start + span.start), "dur": micros(span.nanos),
            "args": { "items": items, "bytes": bytes, "kernels of a graph": kernels, "ns after its call": queued },
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{gpu::Timing, sim::Frame};

    #[test]
    fn batches_follow_each_other_and_lanes_have_names() {
        let span = |lane, start| Span { name: "deliver", lane, start, nanos: 500, ..Span::default() };
        let batch = |number| Batch {
            number,
            nanos: 2_000,
            steps: 4,
            measured: number.is_multiple_of(2).then(|| {
                let spans = vec![span(Lane::Calls, 0), span(Lane::Compute, 1_000)];
                Box::new(Measured { steps: 1, timings: vec![Timing::of("deliver")], spans, left_out: 0 })
            }),
            ..Batch::default()
        };
        let mut profile = Profile::default();
        profile.absorb(&Frame { batches: (0..3).map(batch).collect(), ..Frame::default() });
        let trace: Json = serde_json::from_str(&trace_events(&profile)).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let named: Vec<_> = events.iter().filter(|e| e["name"] == "thread_name").map(|e| &e["args"]["name"]).collect();
        assert_eq!(named, ["calls", "kernels"]);
        let times: Vec<f64> =
            events.iter().filter(|e| e["name"] == "deliver").filter_map(|e| e["ts"].as_f64()).collect();
        assert_eq!(times, [0.0, 1.0, 4.0, 5.0]);
    }
}
