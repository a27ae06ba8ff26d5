//! One step of all units of a partition, in one pass over arrays with eight or sixteen units per instruction.

use crate::{
    kinds::spiking::leaky::{Constants, THRESHOLD},
    num::isa::Isa,
};

/// Number of units per block; arrays are padded to whole blocks.
pub const BLOCK: usize = 32;

/// Returns the length of an array for `units` units, in whole blocks.
pub const fn room(units: usize) -> usize {
    units.next_multiple_of(BLOCK)
}

type Block = [f32; BLOCK];

/// Arrays of a partition, of the length that [`room`] returns, except `drive`, which is empty without stimuli.
pub struct StepArrays<'a> {
    /// Potentials, updated in place.
    pub v: &'a mut [f32],
    /// Sums of arrived synapses; cleared.
    pub sums: &'a mut [i32],
    /// Currents plus kicks.
    pub drive: &'a [f32],
    /// Noise of amplitude 1.
    pub units: &'a [f32],
}

impl StepArrays<'_> {
    /// Takes the step. Appends the units that spiked to `spiked`, ascending, numbered from `first`, possibly including padding of
    /// the last block. Returns whether all potentials are finite.
    pub fn run(self, constants: &Constants, first: u32, spiked: &mut Vec<u32>) -> bool {
        #[cfg(target_arch = "x86_64")]
        match Isa::best() {
            // SAFETY: the processor has the feature.
            Isa::Avx512 | Isa::Avx512Vnni => return unsafe { self.run_avx512(constants, first, spiked) },
            // SAFETY: the processor has the feature.
            Isa::Avx2 => return unsafe { self.run_avx2(constants, first, spiked) },
            Isa::Portable => {}
        }
        self.plain(constants, first, spiked, above)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn run_avx512(self, constants: &Constants, first: u32, spiked: &mut Vec<u32>) -> bool {
        self.plain(constants, first, spiked, |v| above_avx512(v))
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_avx2(self, constants: &Constants, first: u32, spiked: &mut Vec<u32>) -> bool {
        self.plain(constants, first, spiked, |v| above_avx2(v))
    }

    /// Computes the step; compiled once per instruction set.
    #[inline(always)]
    fn plain(self, constants: &Constants, first: u32, spiked: &mut Vec<u32>, above: impl Fn(&Block) -> u32) -> bool {
        let (v, sums) = (self.v.as_chunks_mut::<BLOCK>().0, self.sums.as_chunks_mut::<BLOCK>().0);
        let (drive, units) = (self.drive.as_chunks::<BLOCK>().0, self.units.as_chunks::<BLOCK>().0);
        let blocks = v.iter_mut().zip(sums).zip(units).zip((first..).step_by(BLOCK));
        let mut finite = true;
        if drive.is_empty() {
            blocks.for_each(|(((v, sums), units), at)| {
                finite &= block(v, sums, &[0.0; BLOCK], units, constants, at, spiked, &above);
            });
        } else {
            let blocks = blocks.zip(drive);
            blocks.for_each(|((((v, sums), units), at), drive)| {
                finite &= block(v, sums, drive, units, constants, at, spiked, &above);
            });
        }
        finite
    }
}

#[inline(always)]
fn block(
    v: &mut Block,
    sums: &mut [i32; BLOCK],
    drive: &Block,
    units: &Block,
    constants: &Constants,
    first: u32,
    spiked: &mut Vec<u32>,
    above: impl Fn(&Block) -> u32,
) -> bool {
    for i in 0..BLOCK {
        v[i] = constants.step(v[i], sums[i], drive[i], units[i]);
    }
    let non_finite = v.iter().fold(0_u32, |non_finite, v| non_finite | u32::from(!v.is_finite()));
    *sums = [0; BLOCK];
    let mut spikes = above(v);
    while spikes != 0 {
        let i = spikes.trailing_zeros();
        v[i as usize % BLOCK] = 0.0;
        spiked.push(first + i);
        spikes &= spikes - 1;
    }
    non_finite == 0
}

/// Returns a bit mask of the units at or above the threshold.
fn above(v: &Block) -> u32 {
    v.iter().enumerate().fold(0, |bits, (i, v)| bits | u32::from(*v >= THRESHOLD) << i)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn above_avx512(v: &Block) -> u32 {
    use std::arch::x86_64::*;
    let threshold = _mm512_set1_ps(THRESHOLD);
    v.as_chunks::<16>().0.iter().enumerate().fold(0, |bits, (i, some)| {
        // SAFETY: sixteen numbers are 64 bytes.
        let some = unsafe { _mm512_loadu_ps(some.as_ptr()) };
        bits | u32::from(_mm512_cmp_ps_mask::<_CMP_GE_OQ>(some, threshold)) << (16 * i)
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn above_avx2(v: &Block) -> u32 {
    use std::arch::x86_64::*;
    let threshold = _mm256_set1_ps(THRESHOLD);
    v.as_chunks::<8>().0.iter().enumerate().fold(0, |bits, (i, some)| {
        // SAFETY: eight numbers are 32 bytes.
        let some = unsafe { _mm256_loadu_ps(some.as_ptr()) };
        bits | (_mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(some, threshold)) as u32) << (8 * i)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::uniform::signed_unit;

    /// Tests that every instruction set gives the bits of the scalar step.
    #[test]
    fn blocks_are_plain_steps() {
        let constants = Constants { w_unit: 0.007_3, amplitude: 0.4, decay: 0.9 };
        let x = |i: usize, salt: u32| (i as u32 + 1).wrapping_mul(salt);
        for driven in [false, true] {
            let n = 5 * BLOCK;
            let start: Vec<f32> = (0..n).map(|i| signed_unit(x(i, 0x9E37_79B9))).collect();
            let counts: Vec<i32> = (0..n).map(|i| (x(i, 0x85EB_CA6B) >> 24) as i32 - 128).collect();
            let units: Vec<f32> = (0..n).map(|i| signed_unit(x(i, 0xC2B2_AE35))).collect();
            let drive: Vec<f32> = (0..if driven { n } else { 0 }).map(|i| signed_unit(x(i, 0x27D4_EB2F))).collect();
            let (mut v, mut sums, mut spiked) = (start.clone(), counts.clone(), vec![]);
            StepArrays { v: &mut v, sums: &mut sums, drive: &drive, units: &units }.run(&constants, 1000, &mut spiked);
            let (mut plain, mut again, mut same) = (start.clone(), counts.clone(), vec![]);
            let sweep = StepArrays { v: &mut plain, sums: &mut again, drive: &drive, units: &units };
            sweep.plain(&constants, 1000, &mut same, above);
            assert_eq!((&v, &spiked), (&plain, &same));
            let next = |i: usize| constants.step(start[i], counts[i], drive.get(i).copied().unwrap_or(0.0), units[i]);
            let want: Vec<u32> = (0..n).filter(|i| next(*i) >= 1.0).map(|i| 1000 + i as u32).collect();
            assert!(spiked == want && !want.is_empty() && sums.iter().all(|s| *s == 0));
            let expected = |i: usize| if next(i) >= 1.0 { 0.0_f32 } else { next(i) };
            assert!((0..n).all(|i| v[i].to_bits() == expected(i).to_bits()));
        }
    }
}
