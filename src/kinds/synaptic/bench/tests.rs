//! Cases are models, variants train, and the help page has their lines.

use super::*;

#[test]
fn cases_are_models() {
    for case in SPEED.iter().chain(LARGE).chain(VARIANTS).chain(CHANGING) {
        params(case.set).expect("changes of parameters").config(256).expect("a model");
    }
    assert!(is_chosen("train-small", "train-small") && !is_chosen("train-small", "train-small64"));
    assert!(is_chosen("tf32", "tf32-large") && !is_chosen("tf32", "bf16-large"));
    let of = |name| Timing { nanos: 10, ..Timing::of(name) };
    assert_eq!(release_share(&[of("release"), of("scores"), of("optimiser"), of("experts"), of("norm")]), 0.25);
    assert_eq!(deviation(&[1.0, 3.0]), (2.0, 2.0_f64.sqrt()));
}

#[test]
fn a_variant_trains_and_is_evaluated() {
    let progress = Progress::default();
    let data = crate::kinds::language::params::Data { grammar_bytes: 10_000, ..Default::default() };
    let setup = Setup::prepare(&Params { data, ..Params::default() }, &BuildContext::default(), &progress);
    let options = BenchOptions {
        device: Device::Cpu { threads: 1 },
        device_name: String::new(),
        repeats: 2,
        only: None,
        simulated_s: 1.0,
        network: None,
        text: None,
        steps: 2,
    };
    let case =
        Case { name: "x", set: &[&["model.width=16", "model.context=16", "experts.hidden=8", "experts.count=2"]] };
    let row = train(&case, &Arc::new(setup.expect("a text")), &options, &progress).expect("it trains");
    assert_eq!((row.trained_bytes, row.held_out.len()), (2 * 8 * 16, 2));
    assert!(row.online.len() == 2 && row.online.iter().all(|loss| (4.0..7.0).contains(loss)), "{row:?}");
    assert!((4.0..7.0).contains(&row.mean) && row.held_out[0] != row.held_out[1], "{row:?}");
}

/// The measured figures of every variant are where a user reads them.
#[test]
fn the_help_page_has_a_line_for_every_variant() {
    use crate::sim::Kind as _;
    for case in VARIANTS.iter().chain(CHANGING) {
        let n = crate::kinds::synaptic::SynapticKind::HELP.lines().filter(|line| line.starts_with(case.name)).count();
        assert_eq!(n, 1, "{}", case.name);
    }
}
