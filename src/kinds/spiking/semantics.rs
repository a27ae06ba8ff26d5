//! Options of a step in which simulators of spiking networks differ.
//!
//! Sources: documentation of NEST 3.10 (`iaf_psc_exp`, `iaf_psc_delta`, delays) and of Brian2 2.9 (schedule, refractoriness,
//! synapses); the order of Brian2 and its loss of input were also measured.

use super::{
    general::{Plasticity, PointNeuron, RefractoryInput},
    params::{NeuronModel, Params, Source},
};
use crate::sim::{Fact, Semantics};
use std::borrow::Cow;

const SIMULATORS: &[&str] = &["NEST", "Brian2"];

/// Returns the facts of the chosen network.
pub fn of(params: &Params) -> Semantics {
    let facts = match (params.network.source, params.network.model) {
        (Source::Rules, _) => rules(params),
        (_, NeuronModel::ExponentialLif) => connectome(),
        (_, NeuronModel::NoisyLeaky) => noisy(),
    };
    Semantics { simulators: SIMULATORS, facts }
}

fn order(here: &'static str) -> Fact {
    Fact {
        question: "Order of a step",
        here: here.into(),
        elsewhere: &[
            "the potential is integrated from the synaptic currents before the step, then the currents receive what arrives, \
             then the threshold is tested",
            "state update, threshold, synapses, reset",
        ],
    }
}

fn refractory(here: Cow<'static, str>) -> Fact {
    Fact {
        question: "Input to a refractory neuron",
        here,
        elsewhere: &[
            "synaptic currents decay and receive it while the potential is held; `iaf_psc_delta` loses it unless \
             `refractory_input` is set",
            "variables marked `(unless refractory)` are held and lose it; the others receive it",
        ],
    }
}

fn arrival(here: &'static str) -> Fact {
    Fact {
        question: "Do spikes act within their step?",
        here: here.into(),
        elsewhere: &[
            "no: the smallest delay is one step, and the potential changes one step after the current",
            "with delay 0 they reach synaptic variables in the same step, after its update; the potential changes in the next",
        ],
    }
}

fn threshold(here: &'static str) -> Fact {
    Fact {
        question: "Potential equal to the threshold",
        here: here.into(),
        elsewhere: &["a spike", "as the condition is written, commonly `v > v_th`: no spike"],
    }
}

fn silencing() -> Fact {
    Fact {
        question: "Where silencing acts",
        here: "on spikes as they arrive: the neuron goes on spiking, nothing of it is delivered, including spikes on their way; \
               *input and output* also removes what arrives at the neuron"
            .into(),
        elsewhere: &[
            "no switch: weights are set to 0 between two calls of Simulate",
            "no switch: weights set to 0 act on spikes as they arrive",
        ],
    }
}

fn sums(here: &'static str) -> Fact {
    Fact {
        question: "Sums of weights",
        here: here.into(),
        elsewhere: &[
            "in double precision, in the order of arrival",
            "in double precision, in the order of the synapses",
        ],
    }
}

fn plasticity(here: &'static str) -> Fact {
    Fact {
        question: "Weight that a spike delivers to a plastic synapse",
        here: here.into(),
        elsewhere: &[
            "the weight after its update by the spike; the whole delay is dendritic, so postsynaptic spikes reach the synapse after \
             it; spikes that meet at the synapse do not pair",
            "as `on_pre` is written, commonly the weight before the update; postsynaptic spikes reach the synapse at once unless \
             `delay` of `post` is set",
        ],
    }
}

fn rules(params: &Params) -> Vec<Fact> {
    let is_static = params.projections.iter().all(|p| matches!(p.plasticity, Plasticity::Static(_)));
    vec![
        order(
            "what arrives is summed; the potential is integrated exactly from the synaptic variables before the step; these \
             decay and receive the sums; stimuli are added to the potential; threshold and reset",
        ),
        refractory(refractory_rules(params)),
        arrival(
            "no: the smallest delay is one step, and the potential changes one step after the synaptic variable, as in NEST",
        ),
        threshold("a spike"),
        silencing(),
        sums(
            "exact, as integers: each projection has weights in units of a power of two, so results do not depend on the order, \
             the threads or the device",
        ),
        plasticity(if is_static { CONSTANT } else { PLASTIC }),
    ]
}

const CONSTANT: &str = "weights are constant";
const PLASTIC: &str = "the weight after its update by the spike, as in NEST; the delay is dendritic beyond the axonal delay of the \
                       projection; of spikes that meet at the synapse, the postsynaptic one acts first, and they do not pair";

/// Says which populations keep the input of refractory neurons, and which lose it.
fn refractory_rules(params: &Params) -> Cow<'static, str> {
    let choice = |model: &PointNeuron| match model {
        PointNeuron::IafPscExp(model) => model.refractory_input,
        PointNeuron::IafPscAlpha(model) => model.refractory_input,
        PointNeuron::IafPscDelta(model) => model.refractory_input,
        PointNeuron::Cuba(_) => RefractoryInput::Accumulate,
    };
    let names = |wanted: RefractoryInput| -> Vec<&str> {
        let of = params.populations.iter().filter(|p| choice(&p.model) == wanted);
        of.map(|p| p.name.as_str()).collect()
    };
    let (kept, lost) = (names(RefractoryInput::Accumulate), names(RefractoryInput::Drop));
    let keeps = "synaptic variables decay and receive it while the potential is held";
    let loses = "it is lost, and synaptic variables are held";
    match (kept.is_empty(), lost.is_empty()) {
        (_, true) => keeps.into(),
        (true, false) => loses.into(),
        (false, false) => format!("{keeps} ({}); {loses} ({})", kept.join(", "), lost.join(", ")).into(),
    }
}

fn connectome() -> Vec<Fact> {
    vec![
        order("exact integration, threshold, input, reset: the order of Brian2"),
        refractory("it is lost, and all variables are held; so is input to a neuron in the step of its spike".into()),
        arrival("no: after the delay a spike reaches the synaptic variable; the potential changes one step later"),
        threshold("no spike"),
        silencing(),
        sums("exact: numbers of synapses are summed as integers and multiplied once by the weight"),
        plasticity(CONSTANT),
    ]
}

fn noisy() -> Vec<Fact> {
    vec![
        order(
            "input of the step before, stimuli and noise are summed; the potential decays and receives the sum; threshold, reset",
        ),
        refractory("there is no refractory period".into()),
        arrival("no: the delay is one step, and the potential changes with the arrival"),
        threshold("a spike"),
        silencing(),
        sums("exact: numbers of synapses are summed as integers and multiplied once by the weight"),
        plasticity(CONSTANT),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Params as _, path};

    #[test]
    fn populations_are_named_where_they_differ() {
        let mut params = Params::default();
        params.network.source = Source::Rules;
        params.populations = vec![Default::default(), Default::default()];
        (params.populations[0].name, params.populations[1].name) = ("E".to_owned(), "I".to_owned());
        let here = |params: &Params| of(params).facts[1].here.to_string();
        assert!(
            here(&params).starts_with("synaptic variables decay") && !here(&params).contains('('),
            "{}",
            here(&params)
        );
        let change = path::parse(&params, "populations.1.model=IafPscExp(refractory_input: Drop)").expect("a change");
        params.set(&change);
        assert!(here(&params).contains("(E); it is lost") && here(&params).ends_with("(I)"), "{}", here(&params));
    }

    #[test]
    fn every_network_answers_every_question_and_names_both_simulators() {
        let questions = |p: &Params| of(p).facts.iter().map(|f| f.question).collect::<Vec<_>>();
        let mut params = Params::default();
        let first = questions(&params);
        for change in ["network.source=Rules", "network.source=Balanced", "network.model=NoisyLeaky"] {
            if let Ok(change) = path::parse(&params, change) {
                params.set(&change);
            }
            assert_eq!(questions(&params), first);
            assert!(of(&params).facts.iter().all(|fact| fact.elsewhere.len() == SIMULATORS.len()));
            let markup = of(&params).markup();
            assert_eq!(markup.matches("- **Here**: ").count(), first.len(), "{markup}");
        }
    }
}
