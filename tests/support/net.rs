//! A small random network.

use neuropil::{
    data::{Connectome, Csr, NeuronTable},
    kinds::spiking::setup::Setup,
    num::rng::{Draw, Purpose},
};
use std::sync::Arc;

/// Its neurons.
pub const N: u32 = 120;

/// About 15 connections per neuron of up to ±60 synapses, some beyond the packed range.
pub fn setup(seed: u64) -> Arc<Setup> {
    let target_bits = 22; // leaves 10 bits for counts: larger ones go to the overflow list
    let mut csr = Csr { target_bits, rows: vec![0], ..Csr::default() };
    for pre in 0..N {
        for post in 0..N {
            let w = Draw { seed, purpose: Purpose::Wiring, step: u64::from(pre), lane: post }.words();
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
    Arc::new(Setup::new(Connectome { neurons, synapses: csr, provenance: vec![] }).expect("a network"))
}
