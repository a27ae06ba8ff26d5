//! The postsynaptic unit and its linear layer in reference form.

use super::{
    earlier::{
        linear::{Pass, Signals, SynapticLinear},
        unit::{Constants, Unit, hebbian_change},
    },
    golden_files::{TOLERANCE, compare, index},
};
use neuropil::kinds::synaptic::postsynaptic::Gains;
use neuropil_test_support::golden::Golden;

/// The constants in `index.json`, and the changes that the README lists for some files.
fn constants(file: &Golden) -> Constants {
    let all = index("default_config");
    let of = |name: &str| all[name].as_f64().unwrap_or_else(|| panic!("no number {name}"));
    let mut constants = Constants {
        fast_decay: of("post_fast_decay"),
        fast_lr: of("post_fast_lr"),
        slow_lr: of("post_slow_lr"),
        trace_decay: of("post_trace_decay"),
        camkii_up: of("camkii_up"),
        camkii_threshold: of("camkii_thr"),
        pp1_retain: of("pp1_tau"),
        pp1_threshold: of("pp1_thr"),
        bdnf_retain: of("bdnf_tau"),
        bdnf_scale: of("bdnf_scale"),
        bdnf_gamma: of("bdnf_gamma"),
        bdnf_max: of("bdnf_max"),
        bdnf_follows_writes: all["bdnf_hebb_accumulate"] == true,
    };
    assert_eq!(constants, Constants::default());
    match &file.name[..3] {
        "14_" => (constants.bdnf_gamma, constants.slow_lr, constants.fast_lr) = (0.5, 0.01, 0.02),
        "15_" => (constants.bdnf_follows_writes, constants.camkii_up) = (false, 0.3),
        _ => {}
    }
    constants
}

fn f32s(values: &[f64]) -> Vec<f32> {
    values.iter().map(|x| *x as f32).collect()
}

fn f64s(values: &[f32]) -> Vec<f64> {
    values.iter().map(|x| f64::from(*x)).collect()
}

/// A unit from arrays whose names begin like that.
pub fn unit(file: &Golden, start: &str) -> Unit<f32> {
    let read = |name: &str| f32s(file.get(&format!("{start}{name}")));
    let outputs = file.shape(&format!("{start}fast"))[0];
    // Files without writes hold no state.
    let state = |name: &str, first: f32| {
        if file.has(&format!("{start}{name}")) { read(name) } else { vec![first; outputs] }
    };
    Unit {
        rank: file.shape(&format!("{start}U"))[1],
        fast: read("fast"),
        slow: read("slow"),
        u: read("U"),
        v: read("V"),
        camkii: state("camkii", 0.0),
        pp1: state("pp1", 0.5),
        bdnf: state("bdnf", 0.0),
        bdnf_drive: state("bdnf_hebb_accum", 0.0),
    }
}

/// Compares rows of arrays `t_…`, one after each step.
struct Steps<'a> {
    file: &'a Golden,
    rows: Vec<(String, Vec<f64>)>,
}

impl<'a> Steps<'a> {
    fn new(file: &'a Golden) -> Self {
        Self { file, rows: vec![] }
    }

    fn add(&mut self, array: &str, values: &[f32]) {
        match self.rows.iter_mut().find(|(name, _)| name == array) {
            Some((_, rows)) => rows.extend(f64s(values)),
            None => self.rows.push((array.to_owned(), f64s(values))),
        }
    }

    fn add_unit(&mut self, start: &str, unit: &Unit<f32>) {
        for (name, values) in [
            ("camkii", &unit.camkii),
            ("pp1", &unit.pp1),
            ("bdnf", &unit.bdnf),
            ("bdnf_hebb_accum", &unit.bdnf_drive),
            ("fast", &unit.fast),
            ("slow", &unit.slow),
        ] {
            self.add(&format!("{start}{name}"), values);
        }
    }

    fn compare(&self) {
        self.rows.iter().for_each(|(array, got)| compare(self.file, array, got, TOLERANCE));
    }
}

/// Files of the unit: forward, then updates and writes with given traces.
pub fn check_unit(file: &Golden) {
    let with = constants(file);
    let mut unit = unit(file, "init_");
    let gains = file.has("genes").then(|| Gains { camkii: file.get("genes")[2], pp1: file.get("genes")[3] });
    let (input, calcium) = (f32s(file.get("v")), f32s(file.get("ca")));
    let (u, v) = (f32s(file.get("traceU")), f32s(file.get("traceV")));
    compare(file, "forward_before", &f64s(&unit.forward(&input)), TOLERANCE);
    let n = file.shape("ca")[0];
    let part = |all: &'_ [f32], step: usize| all[step * all.len() / n..(step + 1) * all.len() / n].to_vec();
    let mut steps = Steps::new(file);
    for step in 0..n {
        unit.update(&with, &part(&calcium, step), gains);
        let d = hebbian_change(&part(&u, step), &part(&v, step), unit.rank);
        unit.write_fast(&with, &d);
        unit.consolidate(&with, &d);
        steps.add_unit("t_", &unit);
    }
    steps.compare();
    compare(file, "forward_after", &f64s(&unit.forward(&input)), TOLERANCE);
}

/// A layer from arrays whose names begin like that.
pub fn linear(file: &Golden, start: &str) -> SynapticLinear<f32> {
    let read = |name: &str| f32s(file.get(&format!("{start}{name}")));
    let [inputs, outputs] = file.shape(&format!("{start}w_slow"))[..] else { panic!("w_slow is a matrix") };
    let trace = |name: &str| if file.has(&format!("{start}{name}")) { read(name) } else { vec![] };
    let has_norm = file.has(&format!("{start}input_ln__weight"));
    SynapticLinear {
        inputs,
        outputs,
        w_slow: read("w_slow"),
        w_fast: read("w_fast"),
        bias: read("bias"),
        norm: has_norm.then(|| [read("input_ln__weight"), read("input_ln__bias")]),
        u_trace: trace("u_buf"),
        v_trace: trace("v_buf"),
        unit: unit(file, &format!("{start}post__")),
    }
}

/// Files of the layer: a forward and a backward pass, then calls with online writes.
pub fn check_linear(file: &Golden) {
    let with = constants(file);
    let mut layer = linear(file, "init_");
    // Nothing was written before.
    compare(file, "init_post___last_hebb_delta_mag", &[0.0], 0.0);
    let (x, calcium, energy) = (f32s(file.get("x")), f32s(file.get("calcium")), f32s(file.get("energy")));
    let calls = file.shape("x")[0];
    let call = |layer: &SynapticLinear<f32>, call: usize| -> (Vec<f32>, Pass<f32>) {
        let part = |all: &'_ [f32]| all[call * all.len() / calls..(call + 1) * all.len() / calls].to_vec();
        let (x, calcium, energy) = (part(&x), part(&calcium), part(&energy));
        let pass = layer.forward(&x, Signals { calcium: &calcium, energy: &energy }).expect("the lengths fit");
        (x, pass)
    };
    let (x, pass) = call(&layer, 0);
    compare(file, "y_train", &f64s(&pass.y), TOLERANCE);
    let gradients = layer.backward(&x, &pass, &f32s(file.get("dy"))).expect("the lengths fit");
    for (name, got) in [
        ("x", &gradients.x),
        ("w_slow", &gradients.w_slow),
        ("w_fast", &gradients.w_fast),
        ("bias", &gradients.bias),
        ("post__fast", &gradients.unit.gain),
        ("post__slow", &gradients.unit.gain),
        ("post__U", &gradients.unit.u),
        ("post__V", &gradients.unit.v),
    ] {
        compare(file, &format!("grad_{name}"), &f64s(got), TOLERANCE);
    }
    if let Some([weight, bias]) = &gradients.norm {
        compare(file, "grad_input_ln__weight", &f64s(weight), TOLERANCE);
        compare(file, "grad_input_ln__bias", &f64s(bias), TOLERANCE);
    }
    let (mut steps, mut outputs) = (Steps::new(file), vec![]);
    for step in 0..calls {
        let (_, pass) = call(&layer, step);
        layer.write(&with, &pass, None);
        outputs.extend(f64s(&pass.y));
        for (name, values) in [
            ("t_w_slow", &layer.w_slow),
            ("t_w_fast", &layer.w_fast),
            ("t_u_buf", &layer.u_trace),
            ("t_v_buf", &layer.v_trace),
        ] {
            steps.add(name, values);
        }
        steps.add_unit("t_post__", &layer.unit);
    }
    compare(file, "y_infer", &outputs, TOLERANCE);
    steps.compare();
}
