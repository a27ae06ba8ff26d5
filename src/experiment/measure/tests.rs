use super::*;
use crate::sim::{Column, ElementSet, Series, Spike};
use std::sync::Arc;

/// Steps per trial, of 0.1 ms.
const UNTIL: u64 = 1000;

fn schema(project: &Project) -> SimSchema {
    let column = Column::from_texts("class", &["a", "b", "a", "a"]);
    let set = ElementSet { name: "neurons", len: 4, columns: vec![column], ..ElementSet::default() };
    let probes = project.model.probes();
    let lanes = probes.iter().map(|p| if p.name == "class_rates" { vec!["x".into(), "y".into()] } else { vec![] });
    SimSchema { probes, lanes: lanes.collect(), sets: vec![Arc::new(set)], ..SimSchema::default() }
}

fn resolved(texts: &[&str]) -> Result<Arc<[ResolvedMeasure]>, String> {
    let project = Project::default();
    let measures: Vec<Measure> = texts.iter().map(|text| parse(text).expect("a measure")).collect();
    resolve(&project, &measures, &schema(&project), Path::new("."), UNTIL)
}

/// Returns the values of a trial with readings in frames of `batch` steps.
fn values(
    measures: &Arc<[ResolvedMeasure]>,
    spikes: &[Spike],
    rates: &[(u64, [f32; 2])],
    batch: u64,
) -> Vec<Option<f64>> {
    let project = Project::default();
    let id = |name: &str| schema(&project).probe(name).expect("a probe");
    let mut meter = Meter::new(measures);
    for end in (batch..=UNTIL).step_by(batch as usize) {
        let start = end - batch;
        let mut frame = Frame::default();
        let own = spikes.iter().filter(|s| (start..end).contains(&u64::from(s.step))).copied().collect();
        frame.push(id("spikes"), Reading::Spikes(own));
        let own: Vec<_> = rates.iter().filter(|(step, _)| *step > start && *step <= end).collect();
        let steps = own.iter().map(|(step, _)| *step).collect();
        let rows = own.iter().flat_map(|(_, row)| *row).collect();
        frame.push(id("class_rates"), Reading::Series(Series { elements: vec![], lanes: 2, steps, values: rows }));
        let v = own.iter().flat_map(|(step, _)| [1.0, *step as f32, 3.0]).collect();
        let steps = own.iter().map(|(step, _)| *step).collect();
        frame.push(id("v"), Reading::Series(Series { elements: vec![0, 1, 2], lanes: 3, steps, values: v }));
        meter.add(&frame);
    }
    meter.values()
}

#[test]
fn values_are_those_of_the_span_for_any_batch() {
    let spike = |step, lane| Spike { step, lane };
    let spikes =
        [spike(5, 0), spike(100, 1), spike(250, 0), spike(260, 2), spike(599, 0), spike(600, 3), spike(990, 0)];
    let rates = [(100, [1.0, 5.0]), (200, [2.0, f32::NAN]), (500, [4.0, 8.0]), (1000, [8.0, 0.0])];
    let cases: &[(&str, Option<f64>)] = &[
        ("mean spikes", Some(7.0 / 4.0 / 0.1)),
        ("mean spikes[class = a] 10..60", Some(3.0 / 3.0 / 0.05)),
        ("count spikes 10..60", Some(4.0)),
        ("latency spikes 0..", Some(0.5)),
        ("latency spikes[idx = 2] 10..60", Some(16.0)),
        ("latency spikes[idx = 3] 10..60", None),
        ("active spikes[class = a] 0..60", Some(2.0 / 3.0)),
        ("highest spikes 0..60 bin 20", Some(2.0 / 4.0 / 0.02)),
        ("lowest spikes 0..60 bin 20", Some(1.0 / 4.0 / 0.02)),
        ("last spikes 0..60 bin 25", Some(2.0 / 4.0 / 0.025)),
        ("mean class_rates[x]", Some(3.75)),
        ("mean class_rates[y] 0..50", Some(6.5)),
        ("mean class_rates 10..50", Some(4.0)),
        ("last class_rates", Some(4.0)),
        ("lowest class_rates[y]", Some(0.0)),
        ("highest class_rates[x] ..50", Some(4.0)),
        ("count class_rates[y]", Some(3.0)),
        ("last class_rates[y] 15..20", None),
        ("last v[idx = 1]", Some(1000.0)),
        ("mean v[class = a] 0..20", Some(2.0)),
    ];
    let texts: Vec<&str> = cases.iter().map(|(text, _)| *text).collect();
    // Elements 0 and 2 of class a were recorded; 3 was not and has no samples here.
    let measures = resolved(&texts).expect("measures");
    for batch in [1, 8, 50, 1000] {
        let found = values(&measures, &spikes, &rates, batch);
        for ((text, want), found) in cases.iter().zip(found) {
            let is_equal = match (want, found) {
                (Some(want), Some(found)) => (want - found).abs() < 1e-12 * want.abs().max(1.0),
                (want, found) => *want == found,
            };
            assert!(is_equal, "{text}, batches of {batch}: {found:?}, not {want:?}");
        }
    }
    let unit = |text: &str| resolved(&[text]).expect("a measure")[0].unit.clone();
    assert_eq!((unit("mean spikes"), unit("latency spikes")), ("Hz".to_owned(), "ms".to_owned()));
    assert_eq!((unit("count spikes"), unit("mean v[idx = 1]")), (String::new(), "mV".to_owned()));
}

#[test]
fn mistakes_are_named() {
    for (texts, why) in [
        (&["mean spike"][..], "there is no probe `spike`; probes: spikes, rate,"),
        (&["a = mean spikes", "a = count spikes"], "measure `a`: another measure has this name"),
        (&["mean spikes[class = b and class = a]"], "selects no element"),
        (&["mean spikes[clas = b]"], "there is no column `clas`"),
        (&["mean spikes 10..200"], "its span ends at 200 ms, after the trial"),
        (&["mean spikes 50..50"], "its span from 50 ms is empty"),
        (&["highest spikes 0..10 bin 20"], "its time bin is longer than its span"),
        (&["latency rate"], "latency and active elements are of events"),
        (&["mean class_rates[z]"], "there is no lane `z`; lanes: x, y"),
        (&["mean v"], "selects no element"),
        (&["mean v_field"], "neither events nor samples over time"),
        (&[], "the experiment has no measure"),
    ] {
        let said = resolved(texts).expect_err("a mistake");
        assert!(said.contains(why), "{texts:?}: {said}");
    }
}
