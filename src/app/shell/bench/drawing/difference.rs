//! Difference between the pictures of two graphics processors.

use super::graphics::Picture;

/// Difference of a channel that counts, of 255. Edges of discs and lines are rounded differently by each driver.
const LEVELS: u8 = 8;
/// Maximum share of pixels that differ by more than [`LEVELS`].
const SHARE: f64 = 2e-3;

/// How much two pictures of the same scene differ.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Difference {
    /// Largest difference of a channel, of 255.
    pub largest: u8,
    /// Share of pixels with a channel that differs by more than 8 of 255.
    pub share: f64,
    /// Share of pixels that are not black, in the first picture; a picture of nothing is no comparison.
    pub drawn: f64,
}

impl Difference {
    /// Compares pictures of one size.
    pub fn between(a: &Picture, b: &Picture) -> Self {
        let of = |(x, y): (&[u8; 3], &[u8; 3])| (0..3).map(|i| x[i].abs_diff(y[i])).max().unwrap_or(0);
        let each: Vec<u8> = a.iter().zip(b).map(of).collect();
        let share = |n: usize| n as f64 / a.len().max(1) as f64;
        Self {
            largest: each.iter().copied().max().unwrap_or(0),
            share: share(each.iter().filter(|d| **d > LEVELS).count()),
            drawn: share(a.iter().filter(|p| **p != [0; 3]).count()),
        }
    }

    /// Whether the pictures are equal within the tolerance, and something was drawn.
    pub fn is_equal(&self) -> bool {
        self.share <= SHARE && self.drawn > 0.01
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_differences_and_few_pixels_are_equal_but_nothing_is_not() {
        let a = vec![[100, 120, 140]; 1000];
        let mut b = a.clone();
        b.iter_mut().for_each(|p| p[1] += LEVELS);
        assert!(Difference::between(&a, &b).is_equal());
        b[..2].fill([0; 3]);
        let few = Difference::between(&a, &b);
        assert_eq!((few.largest, few.share), (140, 0.002));
        assert!(few.is_equal());
        b[..3].fill([0; 3]);
        assert!(!Difference::between(&a, &b).is_equal());
        assert!(!Difference::between(&vec![[0; 3]; 9], &vec![[0; 3]; 9]).is_equal(), "nothing was drawn");
    }
}
