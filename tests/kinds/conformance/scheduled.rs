//! Interventions that set a parameter: the same for every kind.

use super::{Case, SEED, backends, check, context, edit, run};
use neuropil::{
    kinds::{Model, Prepared},
    params::{Apply, ParamId, Role, interventions::list, path},
    sim::{Device, DeviceKind, Progress, SimError, TimeBase},
};

fn set(model: &mut Model, text: &str) {
    let change = path::parse(model.params(), text).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert!(model.params_mut().set(&change), "{text}");
}

/// Adds an intervention. `times` are steps: start, stop, period, pulse.
fn schedule(model: &mut Model, parameter: &str, value: &str, times: [u32; 4]) -> usize {
    let group = list(model.params(), Role::Interventions).expect("every kind has interventions");
    let item = model.params().len(group as u8);
    assert!(model.params_mut().push(group as u8));
    let name = model.params().groups()[group].name;
    let per_step = match model.time_base() {
        TimeBase::Seconds { per_step } => per_step * 1e3,
        TimeBase::Count { .. } => 1.0,
    };
    let [start, stop, period, pulse] = times.map(|steps| f64::from(steps) * per_step);
    let fields = [
        ("effect", "SetParameter".to_owned()),
        ("parameter", parameter.to_owned()),
        ("value", value.to_owned()),
        ("start", start.to_string()),
        ("stop", stop.to_string()),
        ("period", period.to_string()),
        ("pulse", pulse.to_string()),
    ];
    fields.iter().for_each(|(field, value)| set(model, &format!("{name}.{item}.{field}={value}")));
    item
}

fn prepared(model: &Model) -> Box<dyn Prepared> {
    model.prepare(&context(SEED), &Progress::default()).expect("it is prepared")
}

/// An edit of the case that is no item of a list: parameter, value, and the value of the model.
fn setting(case: &Case) -> (&'static str, &'static str, String) {
    let is_plain = |text: &&&str| text.split('=').next().is_some_and(|path| path.matches('.').count() == 1);
    let text = case.edits.iter().find(is_plain).expect("an edit of a parameter");
    let (parameter, value) = text.split_once('=').expect("an edit");
    let (id, spec) = path::find(case.model.params(), parameter).expect("a parameter");
    (parameter, value, path::show(spec, &case.model.params().get(id)))
}

/// Setting a parameter in pulses is the same as editing it by hand at these steps: for any batches and threads, after a
/// rewind, in trials, and continued from a checkpoint in the middle of a pulse.
pub fn interventions_set_parameters(case: &Case) {
    let (parameter, value, base) = setting(case);
    let n = case.steps;
    let (start, stop, period, pulse) = (n / 5, n / 5 + n / 2, n / 4, n / 10);
    let mut model = case.model.clone();
    schedule(&mut model, parameter, value, [start, stop, period, pulse]);
    let (scheduled, plain) = (prepared(&model), prepared(&case.model));
    for device in backends(case) {
        let fresh = |device: &Device| scheduled.start(SEED, device).expect("it starts");
        let mut by_hand = plain.start(SEED, &device).expect("it starts");
        let (mut at, mut edited) = (0, case.model.clone());
        for (step, now) in
            [(start, value), (start + pulse, &base), (start + period, value), (start + period + pulse, &base)]
        {
            run(&mut *by_hand, step - at, 1000);
            edit(&mut *by_hand, &mut edited, &format!("{parameter}={now}"));
            at = step;
        }
        let want = run(&mut *by_hand, n - at, 1000);
        for batch in [1, 7, n] {
            check(&run(&mut *fresh(&device), n, batch), &want, &format!("batches of {batch}"));
        }
        if matches!(device, Device::Cpu { .. }) {
            check(&run(&mut *fresh(&Device::Cpu { threads: 3 }), n, 13), &want, "3 threads");
        }
        let without = run(&mut *plain.start(SEED, &device).expect("it starts"), n, n);
        assert!(without != want, "it matters");

        let mut sim = fresh(&device);
        let middle = start + pulse / 2;
        let (_, state) = run(&mut *sim, middle, 11);
        let params = sim.params().expect("they are published").snapshot();
        assert_eq!(params, model.params().snapshot(), "the parameters are those of the project");
        let mut second = fresh(&device);
        run(&mut *second, n / 8, 9);
        second.load(&state).expect("it loads");
        let (digest, end) = run(&mut *second, n - middle, 8);
        assert_eq!(digest, want.0, "continued in a pulse");
        // Which neurons are checked for spikes is scheduled anew when a state is loaded: the counters of work may differ.
        let counts_work = |name: &str| ["totals", "bin"].contains(&name);
        for (a, b) in end.sections.iter().zip(&want.1.sections).filter(|(a, _)| !counts_work(&a.name)) {
            assert!(a == b, "continued in a pulse: {} differs", a.name);
        }
        sim.rewind().expect("it rewinds");
        check(&run(&mut *sim, n, 17), &want, "rewound in a pulse");
        if sim.restart(SEED + 1).expect("it restarts, or says that it cannot") {
            let other = run(&mut *scheduled.start(SEED + 1, &device).expect("it starts"), n, n);
            check(&run(&mut *sim, n, 17), &other, "the next trial");
        }
    }
}

/// An edit of a parameter that is set acts afterwards, and the list of interventions can be edited while it runs. Of two
/// interventions the later in the list applies.
pub fn edits_meanwhile_act_on_the_value_afterwards(case: &Case) {
    let (parameter, value, base) = setting(case);
    let third = case.steps / 3;
    let mut model = case.model.clone();
    schedule(&mut model, parameter, &base, [0, third, 0, 0]);
    schedule(&mut model, parameter, &base, [0, third, 0, 0]);
    let plain = prepared(&case.model);
    for device in backends(case) {
        let mut want = plain.start(SEED, &device).expect("it starts");
        run(&mut *want, third, 50);
        edit(&mut *want, &mut case.model.clone(), &format!("{parameter}={value}"));
        let want = run(&mut *want, third, 50);

        let mut sim = prepared(&model).start(SEED, &device).expect("it starts");
        let mut now = model.clone();
        run(&mut *sim, third / 2, 50);
        edit(&mut *sim, &mut now, &format!("{parameter}={value}"));
        check(&run(&mut *sim, third - third / 2 + third, 50), &want, "edited while it is set");

        // The later in the list is disabled and enabled again.
        let mut overlap = model.clone();
        let name = overlap.params().groups()[list(overlap.params(), Role::Interventions).expect("a list")].name;
        let last = schedule(&mut overlap, parameter, value, [0, 0, 0, 0]);
        set(&mut overlap, &format!("{name}.{last}.enabled=false"));
        let mut sim = prepared(&overlap).start(SEED, &device).expect("it starts");
        run(&mut *sim, third, 50);
        edit(&mut *sim, &mut overlap, &format!("{name}.{last}.enabled=true"));
        check(&run(&mut *sim, third, 50), &want, "enabled while it runs");
    }
}

pub fn what_cannot_be_set_is_refused(case: &Case) {
    let (parameter, value, _) = setting(case);
    let params = case.model.params();
    let needs_rebuild = |id: &ParamId| params.spec(*id).is_some_and(|spec| spec.apply == Apply::Rebuild);
    let fixed = params.path(params.ids().into_iter().find(needs_rebuild).expect("one needs a rebuild"));
    let mut model = case.model.clone();
    let item = schedule(&mut model, parameter, value, [0; 4]);
    let list = model.params().groups()[list(model.params(), Role::Interventions).expect("a list")].name;
    let mut sim = prepared(&model).start(SEED, &Device::Cpu { threads: 1 }).expect("it starts");
    let cases = [
        ("parameter", fixed.as_str(), "needs a rebuild"),
        ("parameter", "no.such", "there is no parameter `no.such`"),
        ("parameter", "", "none is chosen"),
        ("parameter", &format!("{list}.{item}.start"), "belongs to an item of a list"),
        ("value", "1e300", "accepted"),
        ("value", "three", &format!("value of `{parameter}`")),
    ];
    for (field, text, why) in cases {
        let change = path::parse(model.params(), &format!("{list}.{item}.{field}={text}")).expect("a text");
        let Err(SimError::Input(said)) = sim.set(&change) else { panic!("{field}={text} was applied") };
        assert!(said.contains(why) && said.starts_with("intervention "), "{said}");
        let mut wrong = model.clone();
        assert!(wrong.params_mut().set(&change));
        let built = prepared(&wrong);
        for refused in
            [built.check(DeviceKind::Cpu { threads: 1 }, &[]), built.start(SEED, &Device::Cpu { threads: 1 }).map(drop)]
        {
            assert!(matches!(refused, Err(SimError::Input(text)) if text == said), "{said}");
        }
        // A disabled one may be incomplete.
        set(&mut wrong, &format!("{list}.{item}.enabled=false"));
        prepared(&wrong).start(SEED, &Device::Cpu { threads: 1 }).expect("it starts");
    }
    run(&mut *sim, 5, 5);
}
