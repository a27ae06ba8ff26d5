//! 8-bit quantisation of weights: integer levels from −127 to 127 with one scale per row, and its error.

/// Largest level. −128 is unused, so that a weight and its negative are equally exact.
pub const TOP: f32 = 127.0;

/// Returns the scale of a row whose largest absolute weight is `largest`: the value of one level. The scale is 1 if `largest`
/// is zero or not finite.
pub fn scale_for(largest: f32) -> f32 {
    if largest > 0.0 && largest.is_finite() { largest / TOP } else { 1.0 }
}

/// Returns the level of a weight: the nearest, ties away from zero, clipped at both ends.
pub fn level(weight: f32, scale: f32) -> i8 {
    (weight / scale).round().clamp(-TOP, TOP) as i8
}

pub fn weight(level: i8, scale: f32) -> f32 {
    f32::from(level) * scale
}

/// Error statistics of weights that were quantised and dequantised.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    pub n: u64,
    /// Number of uses of each level, −127 first.
    pub levels: Vec<u64>,
    /// Number of nonzero weights that became zero.
    pub zeros_made: u64,
    /// Number of clipped weights.
    pub clipped: u64,
    /// Largest relative error among nonzero weights.
    pub worst_relative: f64,
    /// Sum of squared errors.
    pub squared_error: f64,
    /// Sum of squared weights.
    pub squared: f64,
}

impl Default for Loss {
    fn default() -> Self {
        let levels = vec![0; 255];
        Self { n: 0, levels, zeros_made: 0, clipped: 0, worst_relative: 0.0, squared_error: 0.0, squared: 0.0 }
    }
}

impl Loss {
    /// Quantises and dequantises a weight, and adds its error to the statistics. Returns the dequantised weight.
    pub fn add(&mut self, before: f32, scale: f32) -> f32 {
        let level = level(before, scale);
        let after = weight(level, scale);
        let error = f64::from(after) - f64::from(before);
        self.n += 1;
        self.levels[(i16::from(level) + 127) as usize] += 1;
        self.zeros_made += u64::from(before != 0.0 && level == 0);
        // Rounding alone changes a weight by up to half a level.
        self.clipped += u64::from((before / scale).abs() > TOP + 0.5);
        if before != 0.0 {
            self.worst_relative = self.worst_relative.max((error / f64::from(before)).abs());
        }
        self.squared_error += error * error;
        self.squared += f64::from(before) * f64::from(before);
        after
    }

    /// Merges the statistics of other rows.
    pub fn join(&mut self, other: &Self) {
        self.n += other.n;
        self.levels.iter_mut().zip(&other.levels).for_each(|(a, b)| *a += b);
        self.zeros_made += other.zeros_made;
        self.clipped += other.clipped;
        self.worst_relative = self.worst_relative.max(other.worst_relative);
        self.squared_error += other.squared_error;
        self.squared += other.squared;
    }

    /// Returns the number of levels used at least once, of 255.
    pub fn levels_used(&self) -> usize {
        self.levels.iter().filter(|n| **n > 0).count()
    }

    /// Returns the root mean squared error relative to the root mean square of the weights; 0 if all weights are 0.
    pub fn relative_rms(&self) -> f64 {
        if self.squared > 0.0 { (self.squared_error / self.squared).sqrt() } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed manually: with the largest weight 254 a level has the value 2.
    #[test]
    fn by_hand() {
        let scale = scale_for(254.0);
        assert_eq!(scale, 2.0);
        assert_eq!([254.0, -254.0, 1.0, 0.9, -1.0, 3.0].map(|w| level(w, scale)), [127, -127, 1, 0, -1, 2]);
        let mut loss = Loss::default();
        let after: Vec<f32> = [254.0, 3.0, 0.9, 0.0, -7.0].into_iter().map(|w| loss.add(w, scale)).collect();
        assert_eq!(after, [254.0, 4.0, 0.0, 0.0, -8.0]);
        assert_eq!((loss.n, loss.zeros_made, loss.clipped, loss.levels_used()), (5, 1, 0, 4));
        assert_eq!(loss.worst_relative, 1.0, "what becomes zero is lost wholly");
        assert!((loss.squared_error - (1.0 + 0.81 + 1.0)).abs() < 1e-6);
        assert_eq!(level(1e9, scale), 127);
        let mut clipped = Loss::default();
        clipped.add(256.0, scale);
        assert_eq!(clipped.clipped, 1);
        loss.join(&clipped);
        assert_eq!((loss.n, loss.clipped), (6, 1));
        assert_eq!(scale_for(0.0), 1.0);
    }

    /// Without clipping no weight changes by more than half a level, and levels keep their order.
    #[test]
    fn errors_are_bounded() {
        for largest in [0.1_f32, 1.0, 254.0, 12_345.6] {
            let scale = scale_for(largest);
            let mut last = -127;
            for i in -1000..=1000 {
                let before = largest * i as f32 / 1000.0;
                let q = level(before, scale);
                assert!((weight(q, scale) - before).abs() <= scale * 0.500_01, "{before} of {largest}");
                assert!(q >= last && level(-before, scale) == -q);
                last = q;
            }
        }
    }
}
