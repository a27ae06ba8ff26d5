//! Words for messages: grouped digits, lists of columns, "did you mean".

/// `15091983` as `15,091,983`.
pub fn grouped(n: u64) -> String {
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

/// `no column "pre" (there are: Pre, post); did you mean "Pre"?`
pub fn no_column(wanted: &[&str], there: &[String]) -> String {
    let wanted_text = wanted.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(" or ");
    let listed = if there.is_empty() { "there are none".to_owned() } else { format!("there are: {}", shown(there)) };
    let hint = wanted.iter().find_map(|w| nearest(w, there)).map(|n| format!("; did you mean \"{n}\"?"));
    format!("no column {wanted_text} ({listed}){}", hint.unwrap_or_default())
}

/// The first names, and how many more there are.
fn shown(names: &[String]) -> String {
    const MOST: usize = 24;
    let text = names.iter().take(MOST).map(|n| clipped(n)).collect::<Vec<_>>().join(", ");
    if names.len() > MOST { format!("{text} and {} more", names.len() - MOST) } else { text }
}

/// A text from a file, short enough and tame enough for a message.
pub fn clipped(text: &str) -> String {
    const MOST: usize = 40;
    let tame: String = text.chars().take(MOST).map(|c| if c.is_control() { '·' } else { c }).collect();
    if text.chars().nth(MOST).is_some() { format!("{tame}…") } else { tame }
}

/// At most `most` characters of a message of somebody else's, on one line.
pub fn clipped_to(text: &str, most: usize) -> String {
    text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The name most like `wanted`, if one is alike enough.
fn nearest<'a>(wanted: &str, there: &'a [String]) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    there
        .iter()
        .filter(|n| n.len() <= 64)
        .map(|n| (distance(&wanted, &n.to_lowercase()), n.as_str()))
        .filter(|(d, n)| (*d <= 2 && *d <= wanted.len().max(n.len()) / 2) || n.to_lowercase().starts_with(&wanted))
        .min_by_key(|(d, _)| *d)
        .map(|(_, n)| n)
}

/// Levenshtein's distance between two short texts.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speaks_plainly() {
        assert_eq!(grouped(15_091_983), "15,091,983");
        assert_eq!(grouped(12), "12");
        let there = ["Pre".to_owned(), "post".to_owned()];
        assert_eq!(no_column(&["pre"], &there), "no column \"pre\" (there are: Pre, post); did you mean \"Pre\"?");
        assert_eq!(no_column(&["step"], &there), "no column \"step\" (there are: Pre, post)");
    }
}
