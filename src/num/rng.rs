//! Counter-based random numbers: a draw is a pure function of its address, independent of the number of earlier draws. The CUDA
//! twin is `kernels/common/philox.cuh`.

/// Returns four random words by Philox 4×32 with 10 rounds (Salmon et al., SC'11).
pub const fn philox4x32(mut ctr: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    let mut round = 0;
    while round < 10 {
        let p0 = 0xD251_1F53_u64 * ctr[0] as u64;
        let p1 = 0xCD9E_8D57_u64 * ctr[2] as u64;
        ctr = [(p1 >> 32) as u32 ^ ctr[1] ^ key[0], p1 as u32, (p0 >> 32) as u32 ^ ctr[3] ^ key[1], p0 as u32];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
        round += 1;
    }
    ctr
}

/// Purpose of a draw. The discriminant is part of the counter, so draws of two purposes never collide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    Noise = 1,
    Stimulus = 2,
    /// Connections of generated networks.
    Connectivity = 3,
    Start = 4,
    /// Random choice of elements (`random 21`).
    Choice = 5,
    /// Mask of dropout. The upper bytes of the counter's purpose word contain more of the address: see `nn::dropout`.
    Dropout = 6,
    /// Sampling of tokens.
    Sampling = 7,
    /// Offsets of the sequences of a training batch.
    Batch = 8,
    /// Initial parameter values.
    Weights = 9,
    /// Choices of a text generator's grammar.
    Grammar = 10,
    /// Stochastic rounding of weights.
    Rounding = 11,
    /// Vesicles released at a synapse.
    Release = 12,
    /// Changes of the genome of a new expert.
    Mutation = 13,
    /// Noise on the weights of a new expert.
    Clone = 14,
    /// Initial parameter values of a synaptic model.
    SynapticWeights = 15,
    /// Directions in which the router rows of twin experts are separated.
    Tilt = 16,
    /// Words of a synthetic language.
    Words = 17,
    /// Synapses of a projection.
    Synapses = 18,
    /// Positions of generated neurons.
    Position = 19,
    /// Poisson counts per step.
    Poisson = 20,
    /// Parameters of single neurons.
    Parameter = 21,
    /// Classes, geometry and noise of presented patterns.
    Pattern = 22,
    /// Voltage pulses of presented patterns.
    PatternSpikes = 23,
    /// Permutation of the weights of a neuron.
    Shuffle = 24,
    /// Samples with replacement of the bootstrap.
    Resampling = 25,
    /// Null wirings of a network.
    Rewiring = 26,
}

/// The address of one draw.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    pub seed: u64,
    pub purpose: Purpose,
    pub step: u64,
    /// Index of a neuron, synapse or population member.
    pub lane: u32,
}

impl Draw {
    /// Returns the four random words at this address.
    pub const fn words(self) -> [u32; 4] {
        philox4x32(
            [self.lane, self.purpose as u32, self.step as u32, (self.step >> 32) as u32],
            [self.seed as u32, (self.seed >> 32) as u32],
        )
    }
}

impl Draw {
    /// Returns the random word of a neuron at a step. One Philox call at `step / 4` serves four consecutive steps of a lane;
    /// step `step` takes the word `step % 4`.
    pub const fn of_step(seed: u64, purpose: Purpose, step: u64, lane: u32) -> u32 {
        Self { seed, purpose, step: step >> 2, lane }.words()[(step & 3) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers are from the Random123 distribution (kat_vectors, philox 4x32 10).
    #[test]
    fn known_answers() {
        assert_eq!(philox4x32([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox4x32([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(
            philox4x32([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }
}
