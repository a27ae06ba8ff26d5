//! Tests of the connections that rules make.

use super::{
    connections::{Connections, TARGET},
    network::RuleNetwork,
    plan::TARGET_BITS,
    rows::Synapse,
};
use crate::{
    kinds::spiking::{Params, Source},
    params::{Params as _, path},
    sim::{BuildContext, Progress},
};

/// Returns a network of two populations with positions and one projection between them, or within the first.
fn network(rule: &[&str], is_own: bool) -> RuleNetwork {
    let mut params = Params::default();
    params.network.source = Source::Rules;
    for (name, size) in [("a", 700), ("b", 300)] {
        let positions = super::Placement::InBall(super::InBall { radius: 100.0, z: 0.0 });
        params.populations.push(super::Population { name: name.into(), size, positions, ..Default::default() });
    }
    let to = if is_own { "a" } else { "b" };
    params.projections.push(super::Projection { from: "a".into(), to: to.into(), ..Default::default() });
    let edits = ["projections.0.weight=normal(80, 8)", "projections.0.delay=normal(1.5, 0.75) in 0.1..5 ms"];
    for edit in edits.iter().chain(rule) {
        let change = path::parse(&params, edit).unwrap_or_else(|why| panic!("{edit}: {why}"));
        assert!(params.set(&change), "{edit}");
    }
    RuleNetwork::new(&params, &BuildContext::default(), &Progress::default()).expect("a network")
}

fn made(network: &RuleNetwork, threads: usize) -> Connections {
    Connections::make(network, threads, &Progress::default()).expect("connections")
}

const RULES: [&[&str]; 9] = [
    &["projections.0.rule=AllToAll"],
    &["projections.0.rule=OneToOne"],
    &["projections.0.rule=Bernoulli", "projections.0.rule.p=0.1"],
    &["projections.0.rule=FixedInDegree", "projections.0.rule.n=30"],
    &["projections.0.rule=FixedInDegree", "projections.0.rule.n=290", "projections.0.rule.multapses=false"],
    &["projections.0.rule=FixedOutDegree", "projections.0.rule.n=40"],
    &["projections.0.rule=FixedOutDegree", "projections.0.rule.n=290", "projections.0.rule.multapses=false"],
    &["projections.0.rule=FixedTotal", "projections.0.rule.n=20011"],
    &["projections.0.rule=ByDistance", "projections.0.rule.scale=40"],
];

#[test]
fn connections_depend_on_neither_threads_nor_order() {
    for rule in RULES {
        let network = network(rule, true);
        let whole = made(&network, 1);
        for threads in [2, 5] {
            assert_eq!(made(&network, threads), whole, "{rule:?}");
        }
        let maker = network.maker(0);
        let rows = &whole.rows[0];
        let is_sorted =
            |source: u32| rows.words[rows.range(source)].is_sorted_by_key(|word| (word & TARGET, word >> TARGET_BITS));
        assert!((0..700).all(is_sorted), "{rule:?}: rows are sorted by target, then delay");
        if maker.is_transposed() {
            continue;
        }
        let mut row = vec![];
        for source in (0..700).rev().step_by(7) {
            maker.row(source, None, &mut row);
            let word = |s: &Synapse| s.target | s.delay << TARGET_BITS;
            assert_eq!(row.iter().map(word).collect::<Vec<_>>(), rows.words[rows.range(source)], "{rule:?} {source}");
        }
    }
}

#[test]
fn rules_make_the_stated_numbers() {
    for (rule, is_own) in RULES.iter().flat_map(|rule| [(rule, true), (rule, false)]) {
        if rule[0].ends_with("OneToOne") && !is_own {
            continue;
        }
        for autapses in [true, false] {
            let edit = format!("projections.0.rule.autapses={autapses}");
            let edits: Vec<&str> = rule.iter().copied().chain([edit.as_str()]).collect();
            let edits = if rule[0].ends_with("OneToOne") { rule.to_vec() } else { edits };
            let network = network(&edits, is_own);
            let rows = &made(&network, 2).rows[0];
            let n_to = if is_own { 700 } else { 300 };
            let mut inputs = vec![0_u32; n_to];
            let (mut own, mut repeated) = (0, 0);
            for source in 0..700_u32 {
                let targets: Vec<u32> = rows.words[rows.range(source)].iter().map(|w| w & TARGET).collect();
                own += targets.iter().filter(|t| is_own && **t == source).count();
                repeated += targets.windows(2).filter(|t| t[0] == t[1]).count();
                targets.iter().for_each(|t| inputs[*t as usize] += 1);
            }
            let (total, expected) = (rows.words.len() as f64, network.plan.synapses() as f64);
            let is_exact = !rule[0].ends_with("Bernoulli") && !rule[0].ends_with("ByDistance");
            if is_exact {
                assert_eq!(total, expected, "{edits:?}");
            } else if rule[0].ends_with("Bernoulli") {
                assert!((total - expected).abs() < 5.0 * expected.sqrt(), "{edits:?}: {total} {expected}");
            } else {
                assert!(total > 1000.0 && total < expected, "{edits:?}: {total}");
            }
            let has_autapses = autapses && is_own && !rule[0].ends_with("FixedOutDegree");
            assert!(own == 0 || autapses || rule[0].ends_with("OneToOne"), "{edits:?}: {own} autapses");
            assert!(own > 0 || !has_autapses || total < 30_000.0, "{edits:?}: no autapses");
            let is_multiple = ["FixedTotal", "FixedInDegree", "FixedOutDegree"].iter().any(|r| rule[0].ends_with(r))
                && rule.len() == 2;
            assert_eq!(repeated > 0, is_multiple, "{edits:?}: {repeated} multapses");
            if rule[0].ends_with("FixedInDegree") {
                let n = network.plan.synapses() / n_to as u64;
                assert!(inputs.iter().all(|i| u64::from(*i) == n), "{edits:?}");
            }
        }
    }
}

#[test]
fn weights_and_delays_have_their_distributions() {
    let network = network(&["projections.0.rule=FixedTotal", "projections.0.rule.n=100000"], false);
    let (mut weights, mut delays) = (vec![], vec![]);
    for from in 0..700 {
        network.each(from, |_, to, weight, delay| {
            assert!((700..1000).contains(&to));
            weights.push(weight);
            delays.push(f64::from(delay));
        });
    }
    let moments = |x: &[f64]| {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        (mean, (x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / x.len() as f64).sqrt())
    };
    assert_eq!(weights.len(), 100_000);
    let (mean, sd) = moments(&weights);
    assert!((mean - 80.0).abs() < 0.15 && (sd - 8.0).abs() < 0.1, "{mean} {sd}");
    // Truncated at 0.1 ms, the normal distribution has mean 1.559 ms and standard deviation 0.691 ms.
    let (mean, sd) = moments(&delays);
    assert!((mean - 15.6).abs() < 0.15 && (sd - 6.9).abs() < 0.15, "{mean} {sd}");
    assert!(delays.iter().all(|d| (1.0..=50.0).contains(d)));
}

#[test]
fn a_build_is_cancelled_at_each_report() {
    let network = network(RULES[7], true);
    let fails = |n: u32| Connections::make(&network, 2, &Progress::cancelled_at(n)).is_err();
    assert!(fails(1) && fails(2) && !fails(100));
}

#[test]
fn views_read_weight_and_delay_of_each_connection() {
    let network = network(&["projections.0.rule=FixedOutDegree", "projections.0.rule.n=40"], false);
    let (mut row, mut delays) = (vec![], vec![]);
    for source in 0..700 {
        network.read(source, |_, _, _| None, &mut row);
        assert_eq!(row.len(), 40);
        delays.extend(row.iter().map(|c| c.delay_secs.expect("a delay of its own")));
    }
    let steps = |secs: &f64| (secs * 1e4).round();
    let whole = |secs: &f64| (secs * 1e4 - steps(secs)).abs() < 1e-9;
    assert!(delays.iter().all(|secs| whole(secs) && (1.0..=50.0).contains(&steps(secs))));
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert!((mean - 1.554e-3).abs() < 2e-5, "{mean} s");
}
