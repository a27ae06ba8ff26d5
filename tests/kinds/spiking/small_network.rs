//! A small network with every kind of stimulus, for tests of the step.

use neuropil::{
    data::{Connectome, Csr, NeuronTable},
    kinds::spiking::{Effect, Intervention, Params, Selection, Sign, setup::Setup},
    num::rng::{Draw, Purpose},
};
use std::sync::Arc;

/// Neurons.
pub const N: u32 = 120;

/// A small random network: about 15 connections per neuron of up to ±60 synapses, some beyond the packed range.
pub fn setup(seed: u64) -> Arc<Setup> {
    let target_bits = 22; // leaves 10 bits for counts: larger ones go to the overflow list
    let mut csr = Csr { target_bits, rows: vec![0], ..Csr::default() };
    for pre in 0..N {
        for post in 0..N {
            let w = Draw { seed, purpose: Purpose::Connectivity, step: u64::from(pre), lane: post }.words();
            if w[0].is_multiple_of(8) {
                let size = if w[1].is_multiple_of(50) { 900 } else { (w[1] % 60 + 1) as i32 };
                let count = if pre % 4 == 3 { -size } else { size };
                if count.abs() > Csr::largest_count(target_bits) {
                    csr.overflow.push((csr.words.len() as u32, count));
                }
                csr.words.push(Csr::pack(target_bits, post, count));
            }
        }
        csr.rows.push(csr.words.len() as u32);
    }
    let neurons = NeuronTable { len: N, ..NeuronTable::default() };
    Arc::new(Setup::new(Connectome { neurons, synapses: csr, ..Connectome::default() }).expect("a network"))
}

pub fn intervention(effect: Effect, target: &str, start: f64, stop: f64) -> Intervention {
    Intervention { effect, target: target.into(), start, stop, ..Intervention::default() }
}

/// All effects at once, starting and stopping at odd times.
pub fn busy() -> Params {
    let mut params = Params::default();
    params.selections.push(Selection { name: "few".into(), query: "random 9 of all".into(), ..Selection::default() });
    params.interventions = vec![
        Intervention { rate_hz: 120.0, ..intervention(Effect::Poisson, "few", 0.0, 61.3) },
        Intervention { rate_hz: 200.0, weight_mv: 1.5, ..intervention(Effect::Noise, "all", 0.0, 0.0) },
        Intervention { rate_hz: 90.0, weight_mv: -2.0, ..intervention(Effect::Noise, "idx = 10..90", 7.7, 150.0) },
        Intervention { current_mv: 8.0, ..intervention(Effect::Current, "idx = 3, 5, 77", 20.0, 90.0) },
        Intervention { current_mv: -4.0, ..intervention(Effect::Current, "idx = 5..20", 0.0, 33.3) },
        intervention(Effect::SilenceOutgoing, "idx = 1, 2, 40", 40.0, 80.0),
        intervention(Effect::SilenceBoth, "idx = 60..63", 25.05, 70.0),
        Intervention { factor: 1.7, ..intervention(Effect::ScaleWeights, "idx = 0..30", 10.0, 120.0) },
        Intervention { sign: Sign::Inhibitory, ..intervention(Effect::SignOverride, "idx = 20..35", 50.0, 0.0) },
    ];
    params
}
