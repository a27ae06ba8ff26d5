//! Fields that are read sixty times a second from a running GPU. What they cost measures `neuropil bench taps`.

use crate::device::gpu;
use neuropil::{
    gpu::Pass,
    sim::{Device, Frame, Progress, Reading, Shape, Simulation, Tap, TapKey},
};
use std::path::Path;

const PROJECTS: [(&str, &str, &[&str]); 2] = [
    ("fly", include_str!("../../projects/fly.ron"), &[]),
    (
        "nuclei",
        include_str!("../../projects/nuclei.ron"),
        &["population.capacity=262144", "population.n_start=262144", "coupling.method=Fast"],
    ),
];

fn start(text: &str, settings: &[&str], device: &Device) -> Box<dyn Simulation> {
    let (mut project, _) = neuropil::project::read(text).expect("it opens");
    settings.iter().for_each(|setting| project.set(setting, Path::new(".")).expect("it is set"));
    let context = project.build_context(Path::new("."));
    project.model.build(&context, device, &Progress::default()).expect("it starts")
}

/// The first fields, and the first series without elements.
fn taps(sim: &dyn Simulation, fields: usize, series: usize) -> Vec<Tap> {
    let of = |is: fn(&Shape) -> bool, n: usize| {
        let all = sim.probes().iter().enumerate().filter(move |(_, p)| is(&p.shape));
        all.take(n).map(|(i, _)| Tap::of(i as u16))
    };
    let is_field = |s: &Shape| matches!(s, Shape::Field { .. });
    let is_series = |s: &Shape| matches!(s, Shape::Series { of: "" });
    of(is_field, fields).chain(of(is_series, series)).collect()
}

/// The bits of every field, by probe.
fn fields(sim: &mut dyn Simulation, may_lag: bool) -> Vec<(u16, Vec<u32>)> {
    let mut frame = Frame { may_lag, ..Frame::default() };
    sim.sample(&mut frame).expect("it is read");
    let bits = |(key, reading): (TapKey, Reading)| match reading {
        Reading::Field(values) => Some((key.probe, values.iter().map(|v: &f32| v.to_bits()).collect())),
        _ => None,
    };
    frame.readings.into_iter().filter_map(bits).collect()
}

#[test]
fn cuda_fields_are_exact_or_those_of_the_reading_before() {
    let Some(gpu) = gpu() else { return };
    for (name, text, settings) in PROJECTS {
        let mut sim = start(text, settings, &Device::Cuda(gpu.clone()));
        let taps = taps(&*sim, 3, 2);
        sim.tap(&taps).expect("they are tapped");
        let mut pass = Pass::default();
        let mut advance = |sim: &mut dyn Simulation| sim.advance(20, &mut pass).expect("it runs");
        advance(&mut *sim);
        let first = fields(&mut *sim, true);
        assert_eq!(first.len(), 3, "{name}");
        advance(&mut *sim);
        assert!(fields(&mut *sim, true) == first, "{name}: the second reading is not the copy that the first started");
        let second = fields(&mut *sim, false);
        assert!(second != first, "{name}: nothing changed in 20 steps");
        assert!(fields(&mut *sim, true) == second, "{name}: an exact reading dropped what was on its way");
        advance(&mut *sim);
        assert!(fields(&mut *sim, true) == second, "{name}");
        sim.rewind().expect("it rewinds");
        let start = fields(&mut *sim, false);
        assert!(start != second, "{name}: what was on its way before a rewind is not shown after it");
    }
}
