//! Computes the fingerprint of a connectome.

use super::Connectome;
use crate::num::hash::StreamHash;

impl Connectome {
    /// Returns a 64-bit hash of the content, independent of the file format: number of neurons, row starts, packed connections,
    /// overflow, root ids, positions (bits), then names and categories with their lengths. Provenance is left out. The hash is
    /// not cryptographic: it identifies data sets and does not detect forgery.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = StreamHash::default();
        hash.push(self.neurons.len);
        self.synapses.rows.iter().chain(&self.synapses.words).for_each(|w| hash.push(*w));
        self.synapses.overflow.iter().for_each(|(at, count)| {
            hash.push(*at);
            hash.push(*count as u32);
        });
        for id in &self.neurons.ids {
            hash.push(*id as u32);
            hash.push((*id >> 32) as u32);
        }
        self.neurons.positions.iter().flatten().for_each(|x| hash.push(x.to_bits()));
        self.neurons.names.iter().for_each(|n| push_text(&mut hash, n));
        for category in &self.neurons.categories {
            push_text(&mut hash, &category.name);
            category.texts.iter().for_each(|t| push_text(&mut hash, t));
        }
        hash.0
    }
}

fn push_text(hash: &mut StreamHash, text: &str) {
    hash.push(text.len() as u32);
    for bytes in text.as_bytes().chunks(4) {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        hash.push(u32::from_le_bytes(word));
    }
}
