//! Elements of the curves of counted rates: all, the selection, the categories of a column, or the named groups.

use crate::{app::document::groups::Group, sim::ElementSet};

/// Maximum number of curves; only the largest categories and the first named groups have one.
pub const MAX_CURVES: usize = 12;

/// Elements that the rates are averaged over.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RateOf {
    /// The mean over all elements that the filter shows.
    #[default]
    All,
    /// The mean over the selection.
    Selection,
    /// One curve per named group of the project.
    Groups,
    /// One curve per category of a column.
    Column(String),
}

/// Curve of counted rates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurveElements {
    pub name: String,
    /// Code of the category in its column; `None` for curves of other elements.
    pub code: Option<u16>,
    /// Number of elements, including silent ones.
    pub n: u32,
}

/// Assignment of elements to curves.
pub struct CurveGroups {
    pub curves: Vec<CurveElements>,
    /// Curves of each element: bit `i` is set for curve `i`. Named groups may share elements.
    of: Vec<u16>,
}

impl CurveGroups {
    /// Assigns elements to curves. Elements outside the mask have no curve, except in a selection and in named groups, which
    /// ignore the mask.
    pub fn new(of: &RateOf, set: &ElementSet, selected: &[u32], named: &[Group], mask: Option<&[bool]>) -> Self {
        let n = set.len as usize;
        let is_filtered = |element: usize| mask.is_none_or(|mask| mask.get(element) == Some(&true));
        match of {
            RateOf::All => {
                let of: Vec<u16> = (0..n).map(|e| u16::from(is_filtered(e))).collect();
                let n_filtered = of.iter().filter(|curves| **curves == 1).count() as u32;
                Self { curves: vec![CurveElements { name: "all".into(), code: None, n: n_filtered }], of }
            }
            RateOf::Selection => Self::of_lists(n, [("selection".to_owned(), selected)]),
            RateOf::Groups => {
                Self::of_lists(n, named.iter().map(|group| (group.name.clone(), group.elements.as_slice())))
            }
            RateOf::Column(name) => Self::of_column(set, name, is_filtered),
        }
    }

    /// Assigns the elements of each list to a curve.
    fn of_lists<'a>(n: usize, lists: impl IntoIterator<Item = (String, &'a [u32])>) -> Self {
        let mut out = Self { curves: vec![], of: vec![0; n] };
        for (i, (name, elements)) in lists.into_iter().take(MAX_CURVES).enumerate() {
            for element in elements {
                if let Some(curves) = out.of.get_mut(*element as usize) {
                    *curves |= 1 << i;
                }
            }
            out.curves.push(CurveElements { name, code: None, n: elements.len() as u32 });
        }
        out
    }

    /// Assigns the elements of each of the largest categories to a curve.
    fn of_column(set: &ElementSet, name: &str, is_filtered: impl Fn(usize) -> bool) -> Self {
        let n = set.len as usize;
        let Some(column) = set.column(name) else { return Self { curves: vec![], of: vec![0; n] } };
        let mut counts = vec![0; column.labels.len()];
        for (element, code) in column.codes.iter().enumerate().filter(|(element, _)| is_filtered(*element)) {
            if let (Some(count), true) = (counts.get_mut(usize::from(*code)), element < n) {
                *count += 1;
            }
        }
        let mut largest: Vec<usize> = (0..counts.len()).filter(|c| counts[*c] > 0).collect();
        largest.sort_by_key(|c| std::cmp::Reverse(counts[*c]));
        largest.truncate(MAX_CURVES);
        let curve = |(element, code): (usize, &u16)| {
            let place = largest.iter().position(|c| *c == usize::from(*code));
            place.filter(|_| is_filtered(element)).map_or(0, |place| 1 << place)
        };
        let of = column.codes.iter().enumerate().map(curve).collect();
        let name = |c: &usize| CurveElements { name: column.labels[*c].clone(), code: Some(*c as u16), n: counts[*c] };
        Self { curves: largest.iter().map(name).collect(), of }
    }

    /// Iterates over the indices of the curves of an element.
    pub fn curves_of(&self, element: u32) -> impl Iterator<Item = usize> {
        let mut rest = self.of.get(element as usize).copied().unwrap_or(0);
        std::iter::from_fn(move || {
            let next = (rest > 0).then_some(rest.trailing_zeros() as usize);
            rest &= rest.wrapping_sub(1);
            next
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_of_two_groups_counts_in_both() {
        let set = ElementSet { name: "cells", len: 4, ..ElementSet::default() };
        let group =
            |name: &str, elements: &[u32]| Group { name: name.into(), elements: elements.into(), problem: None };
        let named = [group("a", &[0, 1, 9]), group("b", &[1, 2])];
        let groups = CurveGroups::new(&RateOf::Groups, &set, &[], &named, Some(&[false; 4]));
        let of = |element| groups.curves_of(element).collect::<Vec<_>>();
        assert_eq!([of(0), of(1), of(2), of(3), of(7)], [vec![0], vec![0, 1], vec![1], vec![], vec![]]);
        assert_eq!(groups.curves.iter().map(|c| (&*c.name, c.n)).collect::<Vec<_>>(), [("a", 3), ("b", 2)]);
        let many: Vec<Group> = (0..20).map(|i| group(&i.to_string(), &[3])).collect();
        let groups = CurveGroups::new(&RateOf::Groups, &set, &[], &many, None);
        assert_eq!((groups.curves.len(), groups.curves_of(3).count()), (MAX_CURVES, MAX_CURVES));
    }
}
