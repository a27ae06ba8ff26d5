//! Properties of null wirings over generated networks.

use super::*;
use crate::data::generate::balanced;
use std::collections::BTreeMap;

const ALL: [NullWiring; 4] =
    [NullWiring::Swapped, NullWiring::WeightsShuffled, NullWiring::SignsShuffled, NullWiring::Random];

/// Returns a network with random pairs, self-connections, both signs at one neuron, and counts that do not fit a word.
fn mixed(n: u32, n_edges: u32, seed: u64) -> Csr {
    let mut pairs = BTreeMap::new();
    for i in 0..n_edges {
        let words = Draw { seed, purpose: Purpose::Choice, step: 9, lane: i }.words();
        let [pre, post] = [words[0] % n, words[1] % n];
        // Neuron 0 has most of the outputs.
        let pre = if i % 4 == 0 { 0 } else { pre };
        let count = (words[2] % 50) as i32 - 24;
        let count = if i % 97 == 0 { 1 << 30 } else { count };
        pairs.insert((pre, post), if count == 0 { 7 } else { count });
    }
    let mut rows = vec![0; n as usize + 1];
    pairs.keys().for_each(|(pre, _)| rows[*pre as usize + 1] += 1);
    (0..n as usize).for_each(|i| rows[i + 1] += rows[i]);
    let targets = pairs.keys().map(|(_, post)| *post).collect();
    Edges { rows, targets, counts: pairs.into_values().collect() }.pack()
}

fn networks() -> Vec<Csr> {
    let generated = balanced(1500, 60, 0.8, 6, 33, 3, &|_, _| true).expect("a network").synapses;
    let mut all: Vec<Csr> =
        (0..12).map(|seed| mixed(2 + 37 * seed as u32, 40 * seed as u32 * seed as u32, seed)).collect();
    all.extend([
        generated,
        mixed(3000, 20_000, 5),
        mixed(1, 3, 1),
        Csr { rows: vec![0; 5], target_bits: 3, ..Csr::default() },
    ]);
    all
}

fn rewire(network: &Csr, wiring: NullWiring, seed: u64) -> Csr {
    rewired(network.clone(), wiring, seed, &|_, _| true).expect("a network")
}

fn all(network: &Csr) -> Vec<(u32, u32, i32)> {
    (0..network.n()).flat_map(|pre| network.connections(pre).map(move |(post, count)| (pre, post, count))).collect()
}

fn pairs(network: &Csr) -> Vec<(u32, u32)> {
    all(network).into_iter().map(|(pre, post, _)| (pre, post)).collect()
}

fn in_degrees(network: &Csr) -> Vec<u32> {
    let mut degrees = vec![0; network.n() as usize];
    pairs(network).iter().for_each(|(_, post)| degrees[*post as usize] += 1);
    degrees
}

fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values
}

/// Counts of each neuron, sorted.
fn counts_by_neuron(network: &Csr) -> Vec<(u32, i32)> {
    sorted(all(network).into_iter().map(|(pre, _, count)| (pre, count)))
}

#[test]
fn swaps_keep_degrees_outgoing_counts_and_self_connections() {
    for network in networks() {
        let twin = rewire(&network, NullWiring::Swapped, 1);
        assert_eq!(twin.rows, network.rows);
        assert_eq!(in_degrees(&twin), in_degrees(&network));
        assert_eq!(counts_by_neuron(&twin), counts_by_neuron(&network));
        let loops = |of: &Csr| all(of).into_iter().filter(|(pre, post, _)| pre == post).collect::<Vec<_>>();
        assert_eq!(loops(&twin), loops(&network));
        assert!(pairs(&twin).is_sorted_by(|a, b| a < b), "a pair is connected twice");
    }
}

/// A swapped network shares as many pairs with the original as two independent networks of the same degrees.
#[test]
fn swaps_remove_the_pairs_of_the_original() {
    let network = balanced(1500, 60, 0.8, 6, 33, 3, &|_, _| true).expect("a network").synapses;
    let twin = rewire(&network, NullWiring::Swapped, 1);
    let old: std::collections::BTreeSet<_> = pairs(&network).into_iter().collect();
    let shared = pairs(&twin).iter().filter(|pair| old.contains(pair)).count() as f64;
    // Each of 90,000 connections has its target among the 60 of 1,500 neurons by chance.
    let chance = 90_000.0 * 60.0 / 1500.0;
    assert!((shared - chance).abs() < 6.0 * f64::sqrt(chance), "{shared} of {chance}");
}

#[test]
fn shuffled_weights_keep_pairs_signs_and_the_multiset() {
    for network in networks() {
        let twin = rewire(&network, NullWiring::WeightsShuffled, 1);
        assert_eq!(pairs(&twin), pairs(&network));
        let counts = |of: &Csr| sorted(all(of).into_iter().map(|edge| edge.2));
        assert_eq!(counts(&twin), counts(&network));
        assert!(all(&twin).iter().zip(all(&network)).all(|(a, b)| a.2.signum() == b.2.signum()));
        // The generated network has one count of each sign.
        let n_counts = counts(&network).chunk_by(|a, b| a == b).count();
        assert!(n_counts < 10 || twin != network);
    }
}

#[test]
fn shuffled_signs_keep_pairs_magnitudes_and_signs_of_neurons() {
    for network in networks() {
        let twin = rewire(&network, NullWiring::SignsShuffled, 1);
        let size = |of: &Csr| all(of).into_iter().map(|(pre, post, w)| (pre, post, w.abs())).collect::<Vec<_>>();
        assert_eq!(size(&twin), size(&network));
        let sums = |of: &Csr| {
            let sum = |pre| of.connections(pre).map(|(_, w)| i64::from(w)).sum::<i64>().signum();
            sorted((0..of.n()).map(sum))
        };
        assert_eq!(sums(&twin), sums(&network));
        assert!(network.len() < 5000 || twin != network);
    }
}

#[test]
fn random_networks_have_the_same_size_and_counts() {
    for network in networks().into_iter().filter(|network| network.n() != 1) {
        let n = u64::from(network.n());
        if network.len() as u64 > n * (n - 1) {
            continue;
        }
        let twin = rewire(&network, NullWiring::Random, 1);
        assert_eq!((twin.n(), twin.len()), (network.n(), network.len()));
        assert!(pairs(&twin).iter().all(|(pre, post)| pre != post) && pairs(&twin).is_sorted_by(|a, b| a < b));
        let counts = |of: &Csr| sorted(all(of).into_iter().map(|edge| edge.2));
        assert_eq!(counts(&twin), counts(&network));
    }
    let twin = rewire(&mixed(3000, 20_000, 5), NullWiring::Random, 1);
    let mean = twin.len() as f64 / 3000.0;
    let spread: f64 = in_degrees(&twin).iter().map(|d| (f64::from(*d) - mean).powi(2)).sum::<f64>() / 3000.0;
    assert!((spread / mean - 1.0).abs() < 0.15, "variance {spread}, mean {mean}");
    let full = rewired(mixed(1, 3, 1), NullWiring::Random, 1, &|_, _| true).expect_err("no pair").to_string();
    assert_eq!(full, "null wiring: 1 connections do not fit the 0 pairs of different neurons");
}

#[test]
fn seeds_determine_wirings_for_any_number_of_threads() {
    let network = mixed(3000, 20_000, 5);
    for wiring in ALL {
        let first = rewire(&network, wiring, 1);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
        assert_eq!(pool.install(|| rewire(&network, wiring, 1)), first, "{wiring:?}");
        assert_ne!(rewire(&network, wiring, 2), first, "{wiring:?}");
        let cancelled = rewired(network.clone(), wiring, 1, &|_, _| false);
        assert!(matches!(cancelled, Err(DataError::Cancelled)), "{wiring:?}");
    }
}
