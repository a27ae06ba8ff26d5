//! Shape of a tensor: its extents, outermost first; elements of the last dimension are adjacent.

use std::fmt;

/// Extents, outermost first: `[layers, rows, columns]`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    extents: [usize; Shape::MAX_RANK],
    rank: u8,
}

impl Shape {
    /// Maximum number of dimensions.
    pub const MAX_RANK: usize = 6;

    /// Creates a shape of at most [`Shape::MAX_RANK`] extents; `None` if there are more.
    pub fn new(extents: &[usize]) -> Option<Self> {
        let mut all = [1; Self::MAX_RANK];
        all.get_mut(..extents.len())?.copy_from_slice(extents);
        Some(Self { extents: all, rank: extents.len() as u8 })
    }

    /// Returns the extents, outermost first.
    pub fn extents(&self) -> &[usize] {
        &self.extents[..usize::from(self.rank)]
    }

    /// Returns the number of dimensions; 0 for a single element.
    pub const fn rank(&self) -> usize {
        self.rank as usize
    }

    /// Returns the number of elements; `None` if the product exceeds `usize`.
    pub fn elements(&self) -> Option<usize> {
        self.extents().iter().try_fold(1_usize, |n, extent| n.checked_mul(*extent))
    }

    /// Returns the extent of the outermost dimension; 1 for a single element.
    pub fn outer(&self) -> usize {
        self.extents().first().copied().unwrap_or(1)
    }

    /// Returns the shape of one element of the outermost dimension; an unchanged copy if the shape is a single element.
    pub fn inner(&self) -> Self {
        self.extents().get(1..).and_then(Self::new).unwrap_or(*self)
    }

    /// Returns a copy of the shape with another outermost extent; an unchanged copy if the shape is a single element.
    pub fn with_outer(mut self, outer: usize) -> Self {
        if self.rank > 0 {
            self.extents[0] = outer;
        }
        self
    }
}

impl From<usize> for Shape {
    fn from(n: usize) -> Self {
        Self::from([n])
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(extents: [usize; N]) -> Self {
        const { assert!(N <= Self::MAX_RANK, "too many dimensions") };
        let mut all = [1; Self::MAX_RANK];
        all[..N].copy_from_slice(&extents);
        Self { extents: all, rank: N as u8 }
    }
}

/// Formats a shape: `12 × 64 × 64`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extents: Vec<String> = self.extents().iter().map(usize::to_string).collect();
        f.write_str(if extents.is_empty() { "1" } else { "" })?;
        f.write_str(&extents.join(" × "))
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_an_outer_and_an_inner_part() {
        let shape = Shape::from([3, 4, 5]);
        assert_eq!((shape.rank(), shape.elements(), shape.outer()), (3, Some(60), 3));
        assert_eq!((shape.inner().extents(), shape.with_outer(1).to_string()), (&[4, 5][..], "1 × 4 × 5".to_owned()));
        assert_eq!(Shape::from(7).inner().elements(), Some(1));
        assert_eq!(Shape::from([usize::MAX, 2]).elements(), None);
        assert_eq!(Shape::new(&[1; 7]), None);
        assert_eq!(Shape::new(&[]).map(|s| (s.elements(), s.to_string())), Some((Some(1), "1".into())));
    }
}
