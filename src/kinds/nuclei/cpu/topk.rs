//! Selects the k largest values, with ties to the lower slot.

use crate::kinds::nuclei::real::Real as _;

/// Workspace of [`largest`].
pub type Keys = Vec<(u64, u32)>;

/// Returns the slots of the `k` largest values, largest first, equal values by slot; all slots if there are at most `k`.
pub fn largest(values: impl Iterator<Item = (f64, u32)>, k: usize, keys: &mut Keys) -> impl Iterator<Item = u32> {
    keys.clear();
    keys.extend(values.map(|(value, slot)| (!value.ordered(), slot)));
    let k = k.min(keys.len());
    if k > 0 && k < keys.len() {
        keys.select_nth_unstable(k - 1);
    }
    keys.truncate(k);
    keys.sort_unstable();
    keys.iter().map(|(_, slot)| *slot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_lower_slot() {
        let values = [3.0, -1.0, 7.0, 3.0, 3.0, 0.0];
        let top = |k| {
            largest(values.iter().zip([5, 4, 3, 2, 1, 0]).map(|(v, s)| (*v, s)), k, &mut vec![]).collect::<Vec<u32>>()
        };
        assert_eq!(top(0), [0_u32; 0]);
        assert_eq!(top(3), [3, 1, 2]);
        assert_eq!(top(9), [3, 1, 2, 5, 0, 4]);
    }
}
