//! What kinds generate at a build, with every parameter at both ends of its range: a simulation, or an error with a reason.

use super::prepare_failures::{SMALL_MODEL, SMALL_NETWORK, build, model};
use neuropil::{
    kinds::Model,
    params::{Apply, Change, ParamId, ValueType, path},
    sim::{DeviceKind, HostMemory, Progress, SimError},
};
use std::path::Path;

#[test]
fn generators_at_their_limits_are_built_or_refused_with_a_reason() {
    let bases: [(&str, &[&str]); 5] = [
        ("spiking", &SMALL_NETWORK),
        ("nuclei", &["population.capacity=40", "population.n_start=20", "task.source=Toy"]),
        ("nuclei", &["population.capacity=40", "population.n_start=20", "task.source=Nothing"]),
        ("transformer", &SMALL_MODEL),
        ("demo", &[]),
    ];
    for (kind, set) in bases.into_iter().filter(|(kind, _)| Model::by_name(kind).is_some()) {
        let base = model(kind, set, Path::new("."));
        let ids: Vec<ParamId> = base.params().ids();
        for id in ids {
            let Some(spec) = base.params().spec(id) else { continue };
            let is_read = matches!(spec.apply, Apply::Rebuild | Apply::Data | Apply::Rewind);
            if !is_read || !base.params().is_shown(id) {
                continue;
            }
            let values = match spec.kind {
                ValueType::Int | ValueType::Real | ValueType::Distribution => vec![spec.hard.0, spec.hard.1],
                _ => continue,
            };
            for x in values {
                let mut model = base.clone();
                let name = model.params().path(id);
                let Ok(change) = path::parse(model.params(), &format!("{name}={x}")) else { continue };
                assert!(model.params_mut().set(&Change { id, ..change }));
                let needed = model.predict(DeviceKind::Cpu { threads: 1 }).total();
                let available = HostMemory::now().map_or(u64::MAX, |memory| memory.available);
                // What fits may take long; what does not is refused at once.
                if needed > 20_000_000 && needed <= available || is_slow(&name, x) {
                    continue;
                }
                match build(&model, &Progress::default()) {
                    Ok(()) => {}
                    Err(SimError::Input(why)) => assert!(why.len() > 10 && why.len() < 700, "{name}={x}: {why}"),
                    Err(other) => panic!("{name}={x}: {other:?}"),
                }
            }
        }
    }
}

/// What a generator writes for long, rather than refuse it.
fn is_slow(name: &str, x: f64) -> bool {
    ["data.grammar_bytes", "task.n_samples"].contains(&name) && x > 1e5
}
