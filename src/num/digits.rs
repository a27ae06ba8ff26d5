//! Counts in messages: grouped digits, and nouns in the singular or plural.

/// Formats `15091983` as `15,091,983`.
pub fn group_digits(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a count with its noun and grouped digits: `1 step`, `12,000 steps`.
pub fn counted(n: impl TryInto<u64>, one: &str, many: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    format!("{} {}", group_digits(n), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_has_grouped_digits_and_its_noun() {
        assert_eq!(counted(1_u32, "thread", "threads"), "1 thread");
        assert_eq!(counted(0_usize, "thread", "threads"), "0 threads");
        assert_eq!(counted(15_091_983_u64, "synapse", "synapses"), "15,091,983 synapses");
    }
}
