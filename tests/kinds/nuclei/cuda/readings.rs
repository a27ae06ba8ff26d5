//! Readings that kernels gather equal the state they are of, whatever the batches.

use super::{
    device::gpu,
    runs::{advance, lively, start},
};
use neuropil::{
    kinds::nuclei::{cuda::Tuning, fields, probes},
    params::path,
    sim::{Frame, ProbeId, Reading, Shape, Simulation, Tap},
};

fn frame(sim: &mut dyn Simulation) -> Frame {
    let mut frame = Frame::default();
    sim.sample(&mut frame).expect("it is read");
    frame
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn gathered_fields_are_those_of_the_state() {
    let Some(gpu) = gpu() else { return };
    let mut params = lively();
    (params.coupling.fields, params.measure.field) = (3, 2);
    let mut sim = start(&params, &gpu, Tuning::default());
    let is_field = |probe: &ProbeId| matches!(probes::PROBES[usize::from(*probe)].shape, Shape::Field { .. });
    let all: Vec<ProbeId> = (0..probes::PROBES.len() as ProbeId).filter(is_field).collect();
    for taps in [&all[..2], &all[..], &all[1..4]] {
        sim.tap(&taps.iter().map(|probe| Tap::of(*probe)).collect::<Vec<_>>()).expect("tapped");
        advance(&mut sim, 12);
        let (state, step, frame) = (sim.state().expect("a state"), sim.clock().step, frame(&mut sim));
        for probe in taps {
            let Some(Reading::Field(got)) = frame.reading(*probe) else { panic!("a field") };
            let want = fields::field(*probe, &state, &params, step);
            assert_eq!(bits(got), bits(&want), "{}", probes::PROBES[usize::from(*probe)].name);
        }
    }
}

#[test]
fn chosen_nuclei_are_sampled_in_every_generation() {
    let Some(gpu) = gpu() else { return };
    let mut params = lively();
    params.coupling.fields = 2;
    let taps = [
        Tap::elements(probes::PHASE_OF, vec![9, 0, 300]),
        Tap::elements(probes::FITNESS_OF, vec![5, 9]),
        Tap::of(probes::ORDER),
    ];
    let mut sims = [start(&params, &gpu, Tuning::default()), start(&params, &gpu, Tuning::default())];
    sims.iter_mut().for_each(|sim| sim.tap(&taps).expect("tapped"));
    let [whole, single] = &mut sims;
    let (mut phases, mut errors) = (vec![], vec![]);
    for field in [1, 2] {
        let change = path::parse(&params, &format!("measure.field={field}")).expect("a parameter");
        whole.set(&change).expect("set");
        single.set(&change).expect("set");
        advance(whole, 80);
        let mut now = params.clone();
        now.measure.field = field;
        for _ in 0..80 {
            advance(single, 1);
            let (state, step) = (single.state().expect("a state"), single.clock().step);
            let value = |probe, slot: &u32| fields::value(probe, *slot, &state, &now, step);
            phases.extend(taps[0].elements.iter().map(|slot| value(probes::PHASE_OF, slot)));
            errors.extend(taps[1].elements.iter().map(|slot| value(probes::FITNESS_OF, slot)));
        }
    }
    assert_eq!(whole.digest(0), single.digest(0));
    let (whole, single) = (frame(whole), frame(single));
    for (probe, want) in [(probes::PHASE_OF, phases), (probes::FITNESS_OF, errors)] {
        for frame in [&whole, &single] {
            let Some(Reading::Series(series)) = frame.reading(probe) else { panic!("a series") };
            assert_eq!(bits(&series.values), bits(&want));
        }
    }
}
