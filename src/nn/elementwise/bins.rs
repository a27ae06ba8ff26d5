//! Histogram bins of equal width in the logarithm of the magnitude.

/// Histogram bins for each sign: magnitudes from `2^lowest` on, four bins per octave. The bins of an octave have equal width, so
/// that the exponent and two bits of the mantissa of the f32 select a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBins {
    /// Exponent of the lower edge of the first bin, -126 to 127.
    pub lowest: i32,
    /// Number of octaves. Magnitudes above the last octave count in its last bin.
    pub octaves: u32,
}

/// Number of bins per octave.
const BINS: u32 = 4;
/// Number of f32 bits below those that select a bin.
const SHIFT: u32 = 21;

impl LogBins {
    /// Returns the number of counts: zero and below `2^lowest`; infinite and NaN; then positive magnitudes, then negative ones,
    /// both ascending.
    pub const fn n_counts(&self) -> usize {
        2 + 2 * self.n_bins() as usize
    }

    /// Returns the number of bins per sign.
    pub const fn n_bins(&self) -> u32 {
        BINS * self.octaves
    }

    /// Returns the bits of `2^lowest` as f32, shifted to the unit of a bin.
    pub const fn first(&self) -> u32 {
        ((self.lowest + 127) as u32) << (23 - SHIFT)
    }

    /// Returns the index of the count that `x` belongs to.
    pub const fn count_of(&self, x: f32) -> usize {
        let bits = x.to_bits();
        let size = (bits & 0x7fff_ffff) >> SHIFT;
        if size >= 0x7f80_0000 >> SHIFT {
            return 1;
        }
        if size < self.first() || self.octaves == 0 {
            return 0;
        }
        let bin = size - self.first();
        let last = self.n_bins() - 1;
        let bin = if bin < last { bin } else { last };
        (2 + bin + (bits >> 31) * self.n_bins()) as usize
    }

    /// Returns the lower edge of bin `i` of a sign, as a magnitude; `edge(n_bins)` is the upper edge of the last bin.
    pub fn edge(&self, i: u32) -> f64 {
        let octave = f64::from(self.lowest) + f64::from(i / BINS);
        octave.exp2() * (1.0 + f64::from(i % BINS) / f64::from(BINS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_between_the_edges_of_its_bin() {
        let bins = LogBins { lowest: -20, octaves: 24 };
        assert_eq!((bins.n_counts(), bins.edge(0), bins.edge(96)), (2 + 2 * 96, 2.0_f64.powi(-20), 16.0));
        for x in (1..3000).map(|i| 1.01_f32.powi(i - 1800)) {
            let at = bins.count_of(x);
            assert_eq!(bins.count_of(-x), if at == 0 { 0 } else { at + 96 });
            if at == 0 {
                assert!(f64::from(x) < bins.edge(0));
            } else {
                let bin = at as u32 - 2;
                assert!(f64::from(x) >= bins.edge(bin) && (f64::from(x) < bins.edge(bin + 1) || bin == 95), "{x}");
            }
        }
        let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 16.0, f32::MAX].map(|x| bins.count_of(x));
        assert_eq!(special, [0, 0, 1, 1, 1, 97, 97]);
    }
}
