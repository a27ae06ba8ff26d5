//! Fuzzy matching of a name and a query.

/// Returns the score of a text. The letters of each word of the query must occur in order; runs of letters and word starts score
/// higher, and texts that contain the whole query highest. `None` without a match.
pub fn score(text: &str, query: &str) -> Option<i32> {
    if query.is_empty() {
        return Some(0);
    }
    let (text, query) = (text.to_lowercase(), query.to_lowercase());
    if let Some(at) = text.find(&query) {
        let is_start = at == 0 || !text[..at].ends_with(char::is_alphanumeric);
        return Some(1000 + i32::from(is_start) * 200 - at.min(50) as i32 * 4 - text.len().min(100) as i32);
    }
    let words: i32 = query.split_whitespace().map(|word| in_order(&text, word)).sum::<Option<i32>>()?;
    Some(words - text.len().min(100) as i32 / 4)
}

fn in_order(text: &str, query: &str) -> Option<i32> {
    let (mut score, mut last) = (0_i32, None);
    let letters: Vec<char> = text.chars().collect();
    let mut from = 0;
    for wanted in query.chars() {
        let at = from + letters[from..].iter().position(|c| *c == wanted)?;
        score += if last == Some(at.wrapping_sub(1)) { 12 } else { 0 };
        score += if at == 0 || !letters[at - 1].is_alphanumeric() { 8 } else { -1 };
        last = Some(at);
        from = at + 1;
    }
    Some(score)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_first() {
        assert!(score("lif.tau_m", "tau").unwrap() > score("Show traces, autumn", "tau").unwrap());
        assert!(score("Reset layout", "rl").is_some());
        assert!(score("Reset layout", "layout reset").is_some(), "words in any order");
        assert!(score("Layout", "layout").unwrap() > score("Undo layout change", "layout").unwrap());
        assert_eq!(score("Run", "xyz"), None);
    }
}
