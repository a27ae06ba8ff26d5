//! Null wirings of a spiking network, as parameters choose them.

use super::params::{Network, Source};
use crate::{
    choices,
    data::{
        Connectome, DataError, ProgressFn,
        rewire::{NullWiring, rewired},
    },
};

choices! {
    /// Null model of the wiring: a random network that keeps chosen properties of the network.
    pub enum Rewiring {
        /// The network of the source.
        Original,
        /// Pairs of connections exchange their targets. Each neuron keeps its numbers of inputs and outputs, and the weights of its
        /// outputs; connections of a neuron with itself stay (Maslov & Sneppen 2002).
        #[title("Degree-preserving swaps")]
        DegreePreserving,
        /// Weights are permuted among the connections of the same sign; the connected pairs stay.
        #[title("Weights shuffled")]
        WeightsShuffled,
        /// Signs are permuted among the neurons: all outputs of a neuron take the sign of another one. Wiring and absolute weights
        /// stay.
        #[title("Signs shuffled")]
        SignsShuffled,
        /// The same number of connections between random pairs of different neurons, with the same weights in random order
        /// (Erdős & Rényi 1959).
        #[title("Random, same size")]
        Random,
    }
}

impl Rewiring {
    /// Returns the wiring; `None` for the original network.
    pub const fn null_wiring(self) -> Option<NullWiring> {
        match self {
            Self::Original => None,
            Self::DegreePreserving => Some(NullWiring::Swapped),
            Self::WeightsShuffled => Some(NullWiring::WeightsShuffled),
            Self::SignsShuffled => Some(NullWiring::SignsShuffled),
            Self::Random => Some(NullWiring::Random),
        }
    }
}

/// Rewires a network as its parameters say, with a line about it in the provenance. Fails as [`rewired`] does.
pub fn apply(network: &Network, mut connectome: Connectome, watch: &ProgressFn) -> Result<Connectome, DataError> {
    let Some(wiring) = network.rewire.null_wiring() else { return Ok(connectome) };
    connectome.synapses = rewired(connectome.synapses, wiring, network.rewire_seed.into(), watch)?;
    connectome.provenance.push(format!("rewired: {:?} with seed {}", network.rewire, network.rewire_seed));
    Ok(connectome)
}

/// Returns the reason for which a network cannot be rewired.
pub fn refusal(network: &Network) -> Option<String> {
    let is_refused = network.source == Source::Rules && network.rewire != Rewiring::Original;
    is_refused.then(|| {
        "network.rewire: a network from rules is not rewired. Set network.rewire to Original and change the rules of its projections"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use crate::{
        kinds::spiking::{params::Params, setup},
        params::{Params as _, path},
        sim::{BuildContext, ConnectionSource as _, Progress, SimError},
    };

    fn prepared(edits: &[&str]) -> Result<setup::Setup, SimError> {
        let mut params = Params::default();
        for edit in ["network.source=Balanced", "network.n_neurons=500", "network.excitatory_count=uniform(2, 10)"]
            .iter()
            .chain(edits)
        {
            let change = path::parse(&params, edit).unwrap_or_else(|why| panic!("{edit}: {why}"));
            assert!(params.set(&change), "{edit}");
        }
        setup::prepare(&params, &BuildContext::default(), &Progress::default())
    }

    #[test]
    fn every_wiring_is_built_and_named_in_the_provenance() {
        let original = prepared(&[]).expect("a network");
        let choices = ["DegreePreserving", "Weights shuffled", "SignsShuffled", "Random"];
        for choice in choices {
            let set = format!("network.rewire={choice}");
            let [one, two] =
                ["1", "2"].map(|seed| prepared(&[&set, &format!("network.rewire_seed={seed}")]).expect("built"));
            assert!(one.connectivity != original.connectivity && one.connectivity != two.connectivity, "{choice}");
            assert_eq!(one.n_connections(), original.n_connections(), "{choice}");
            assert!(one.provenance.iter().any(|line| line.starts_with("rewired: ") && line.ends_with("with seed 1")));
        }
        assert!(original.provenance.iter().all(|line| !line.contains("rewired")));
    }

    #[test]
    fn networks_from_rules_are_refused() {
        let said = prepared(&["network.rewire=Random", "network.source=Rules"]).err().expect("refused").to_string();
        assert!(said.starts_with("network.rewire: a network from rules is not rewired"), "{said}");
    }
}
