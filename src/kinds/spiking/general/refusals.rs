//! Tests that every network that cannot be built is refused with a reason, before memory is allocated.

use super::plan::{self, Plan, WeightFormat};
use crate::{
    kinds::spiking::{Params, Source},
    params::{Params as _, path},
};

/// Returns two populations with a projection each way, after the edits.
fn edited(edits: &[&str]) -> Params {
    let mut params = Params::default();
    params.network.source = Source::Rules;
    for (name, size) in [("e", 800), ("i", 200)] {
        params.populations.push(super::Population { name: name.into(), size, ..super::Population::default() });
    }
    for (from, to) in [("e", "i"), ("i", "e")] {
        let (from, to) = (from.into(), to.into());
        params.projections.push(super::Projection { from, to, ..super::Projection::default() });
    }
    params.external_inputs.push(super::ExternalInput { population: "e".into(), ..super::ExternalInput::default() });
    for edit in edits {
        let change = path::parse(&params, edit).unwrap_or_else(|why| panic!("{edit}: {why}"));
        assert!(params.set(&change), "{edit}");
    }
    params
}

fn planned(edits: &[&str]) -> Result<Plan, String> {
    plan::plan(&edited(edits)).map_err(|error| error.to_string())
}

/// Inputs of rate 0 and projections without synapses deliver nothing, so they limit no sum.
#[test]
fn networks_with_inputs_that_deliver_nothing_can_be_built() {
    for edits in [
        &["external_inputs.0.source.rate=0"][..],
        &["projections.0.rule=FixedInDegree", "projections.0.rule.n=0"],
        &["projections.0.rule=FixedTotal", "projections.0.rule.n=0"],
        &["projections.0.weight=0"],
    ] {
        assert!(planned(edits).is_ok(), "{edits:?}: {:?}", planned(edits).err());
    }
}

#[test]
fn networks_that_cannot_be_built_are_refused() {
    for (edits, why) in [
        (&["populations.0.name="][..], "populations.0: it has no name"),
        (&["populations.1.name=e"], "populations.1 (e): populations.0 has the same name"),
        (&["projections.1.from=x"], "projections.1 (x → e): from: there is no population `x`; there is e, i"),
        (&["projections.0.to=y"], "to: there is no population `y`"),
        (&["external_inputs.0.population=z"], "external_inputs.0: population: there is no population `z`"),
        (&["projections.0.delay=0.04"], "delay: 0.04 ms is below the time step of 0.1 ms"),
        (&["projections.0.delay=normal(1.5, 0.75)"], "delay: values can be below the time step"),
        (&["projections.0.delay=uniform(1, 9)"], "delay: values span 81 steps"),
        (&["projections.0.rule=OneToOne"], "`e` has 800 neurons, `i` has 200"),
        (
            &["projections.0.rule=FixedInDegree", "projections.0.rule.n=900", "projections.0.rule.multapses=false"],
            "900 partners per neuron, but `e` has 800",
        ),
        (&["projections.0.rule=ByDistance"], "`e` has no positions"),
        (&["projections.0.rule=FromFile"], "rule.path is empty"),
        (&["projections.0.rule=FixedTotal", "projections.0.rule.n=1000000000000"], "are too many"),
        (
            &["populations.0.size=16000000", "populations.1.size=16000000", "projections.0.rule=AllToAll"],
            "are too many",
        ),
        (&["projections.0.weight=log_normal(0, 8)"], "input of `i` overflows"),
        (
            &[
                "external_inputs.0.source.weight=1e-4",
                "projections.1.weight=1000000000",
                "projections.1.receptor=Excitatory",
            ],
            "input of `e` overflows",
        ),
    ] {
        let said = planned(edits).expect_err(why);
        assert!(said.contains(why), "{edits:?}: {said}");
    }
    // Values that no widget accepts, but a program may set.
    let with = |change: fn(&mut Params)| {
        let mut params = edited(&[]);
        change(&mut params);
        plan::plan(&params).expect_err("refused").to_string()
    };
    for (said, why) in [
        (with(|p| p.populations[0].size = -5), "a size of -5 is not possible"),
        (with(|p| p.populations[0].size = 1 << 27), "the network would have 134,217,728 neurons"),
        (with(|p| p.populations.clear()), "populations: there is none"),
        (with(|p| p.rules.dt = 0.0), "rules.dt: a time step of 0 ms"),
    ] {
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn negative_sizes_are_refused_where_they_are_typed() {
    let params = edited(&[]);
    let why = path::parse(&params, "populations.0.size=-5").expect_err("refused");
    assert!(why.to_string().contains("-5"), "{why}");
}

#[test]
fn weights_have_the_shortest_exact_format() {
    let format = |weight: &str| planned(&[weight]).expect("a network").projections[0].format;
    assert!(matches!(format("projections.0.weight=87.8"), WeightFormat::Constant(w) if w > 1000));
    assert!(matches!(format("projections.0.weight=normal(87.8, 8.8)"), WeightFormat::Narrow(_)));
    assert_eq!(format("projections.0.weight=log_normal(0, 1.2)"), WeightFormat::Wide);
}
