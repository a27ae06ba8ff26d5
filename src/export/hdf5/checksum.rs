//! Checksum of HDF5: `lookup3` of Jenkins (2006), function `hashlittle` with the initial value 0.

/// Returns the checksum of some bytes.
pub(super) fn lookup3(bytes: &[u8]) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let [mut a, mut b, mut c] = [start; 3];
    let word = |bytes: &[u8], i: usize| {
        let byte = |k: usize| u32::from(bytes.get(4 * i + k).copied().unwrap_or(0)) << (8 * k);
        (0..4).fold(0, |word, k| word | byte(k))
    };
    let mut rest = bytes;
    while rest.len() > 12 {
        a = a.wrapping_add(word(rest, 0));
        b = b.wrapping_add(word(rest, 1));
        c = c.wrapping_add(word(rest, 2));
        mix(&mut a, &mut b, &mut c);
        rest = &rest[12..];
    }
    if rest.is_empty() {
        return c;
    }
    a = a.wrapping_add(word(rest, 0));
    b = b.wrapping_add(word(rest, 1));
    c = c.wrapping_add(word(rest, 2));
    for (rotation, which) in [(14, 0), (11, 1), (25, 2), (16, 0), (4, 1), (14, 2), (24, 0)] {
        match which {
            0 => c = (c ^ b).wrapping_sub(b.rotate_left(rotation)),
            1 => a = (a ^ c).wrapping_sub(c.rotate_left(rotation)),
            _ => b = (b ^ a).wrapping_sub(a.rotate_left(rotation)),
        }
    }
    c
}

/// Mixes three words reversibly.
fn mix(a: &mut u32, b: &mut u32, c: &mut u32) {
    for (first, second, third) in [(4, 6, 8), (16, 19, 4)] {
        *a = a.wrapping_sub(*c) ^ c.rotate_left(first);
        *c = c.wrapping_add(*b);
        *b = b.wrapping_sub(*a) ^ a.rotate_left(second);
        *a = a.wrapping_add(*c);
        *c = c.wrapping_sub(*b) ^ b.rotate_left(third);
        *b = b.wrapping_add(*a);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the self-test of the published function.
    #[test]
    fn the_checksum_is_that_of_the_published_function() {
        assert_eq!(lookup3(b""), 0xdead_beef);
        assert_eq!(lookup3(b"Four score and seven years ago"), 0x1777_0551);
    }
}
