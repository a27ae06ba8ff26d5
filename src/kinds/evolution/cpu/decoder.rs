//! Decoder of the unperturbed model, with the bits of a pass over the whole sequence.

use super::{Buffers, Member, Members, Shared, sequence::Sequence};
use crate::{
    kinds::{
        evolution::{model::Weights, network::Network},
        language::{backend::Decoder, cpu::backend::TextNetwork},
    },
    sim::SimError,
};

/// Network with its weights.
#[derive(Clone, Copy)]
pub struct Model<'a> {
    /// Sizes and options.
    pub network: &'a Network,
    /// Ternary weights, and vectors.
    pub weights: &'a Weights,
}

impl<'a> Model<'a> {
    /// Returns the unperturbed model as the only member.
    pub const fn members(&self) -> Members<'a> {
        Members { weights: self.weights, shift: 0, list: &[Member::UNPERTURBED] }
    }
}

/// Copy of a model, which writes a text while the population evolves.
pub struct Copied {
    /// Sizes and options.
    pub network: Network,
    /// Ternary weights, and vectors.
    pub weights: Weights,
}

impl TextNetwork for Copied {
    fn decoder(&self) -> Result<impl Decoder + Send + '_, SimError> {
        Ok(Decoding::new(Model { network: &self.network, weights: &self.weights }))
    }
}

/// Decoder of one text: the attention state of all layers, and the values of the last call.
pub struct Decoding<'a> {
    model: Model<'a>,
    shared: Shared,
    layers: Vec<Sequence>,
    buffers: Buffers,
}

impl<'a> Decoding<'a> {
    /// Begins an empty text.
    pub fn new(model: Model<'a>) -> Self {
        let layers = (0..model.network.sizes.layers).map(|_| Sequence::new(model.network)).collect();
        let shared = Shared::new(&model.network.sizes, model.weights);
        Self { model, shared, layers, buffers: Buffers::default() }
    }
}

impl Decoder for Decoding<'_> {
    fn len(&self) -> usize {
        self.layers.first().map_or(0, Sequence::n_steps)
    }

    fn clear(&mut self) {
        self.layers.iter_mut().for_each(Sequence::reset);
    }

    fn push(&mut self, tokens: &[u32]) -> Result<&[f32], SimError> {
        let context = self.model.network.sizes.steps;
        if self.len() + tokens.len() > context {
            return Err(SimError::Input(format!("a text of more than {context} tokens does not fit into the context")));
        }
        let tokens: Vec<u16> = tokens.iter().map(|token| *token as u16).collect();
        let Self { model, shared, layers, buffers } = self;
        model.network.forward((shared, model.members()), &tokens, layers, buffers, None);
        Ok(&buffers.logits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::evolution::{
            model::Sizes,
            network::{Attention, Scales},
        },
        nn::delta_rule::{Method, cpu::StateFormat},
    };

    #[test]
    fn tokens_in_any_parts_have_the_bits_of_the_whole_sequence() {
        let sizes = Sizes { vocabulary: 16, width: 16, layers: 2, mlp_multiple: 2, steps: 24 };
        for state in [None, Some(StateFormat::Full), Some(StateFormat::F16)] {
            let attention = Attention { method: Method::Efla, state };
            let network = Network { sizes, scales: Scales::LIVE, attention };
            let weights = Weights::initial(&sizes);
            let model = Model { network: &network, weights: &weights };
            let tokens: Vec<u32> = (0..24).map(|i| i * i % 16).collect();
            let narrow: Vec<u16> = tokens.iter().map(|token| *token as u16).collect();
            let whole = network.logits(model.members(), &narrow, &mut |_| {});
            let mut decoder = Decoding::new(model);
            for _ in 0..2 {
                decoder.clear();
                let parts = [0..1, 1..2, 2..17, 17..24];
                let logits: Vec<f32> =
                    parts.into_iter().flat_map(|part| decoder.push(&tokens[part]).expect("it fits").to_vec()).collect();
                assert_eq!(logits, whole, "{state:?}");
            }
            assert!(decoder.push(&[0]).is_err() && decoder.len() == 24);
        }
    }
}
