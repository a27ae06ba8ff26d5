//! Formats messages: lists of columns, "did you mean".

pub use crate::num::digits::{counted, group_digits};
use std::io::{self, ErrorKind};
use strsim::levenshtein;

/// Returns the reason for which a file cannot be used, without the error number of the system.
pub fn io_reason(error: &io::Error) -> String {
    let Some(number) = error.raw_os_error() else {
        // This is the message of the standard library for text that is not UTF-8.
        let is_no_text = error.to_string() == "stream did not contain valid UTF-8";
        return if is_no_text { "not UTF-8 text".to_owned() } else { error.to_string() };
    };
    let words = match error.kind() {
        ErrorKind::NotFound => "there is no such file or folder",
        ErrorKind::PermissionDenied => "permission denied, check who may read and write it",
        ErrorKind::IsADirectory => "it is a folder, a file is expected",
        ErrorKind::NotADirectory => "a part of its path is a file, a folder is expected",
        ErrorKind::FileTooLarge => "the file has reached the largest size that is allowed (`ulimit -f` shows it)",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "the disk is full",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only",
        _ => return error.to_string().replace(&format!(" (os error {number})"), ""),
    };
    words.to_owned()
}

/// Formats `no column "pre" (there are: Pre, post); did you mean "Pre"?`.
pub fn no_column(wanted: &[&str], there: &[String]) -> String {
    let wanted_text = wanted.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(" or ");
    let listed = list_columns(there);
    let hint = wanted.iter().find_map(|w| nearest(w, there)).map(|n| format!("; did you mean \"{n}\"?"));
    format!("no column {wanted_text} ({listed}){}", hint.unwrap_or_default())
}

/// Lists the columns of a file for messages: `there are: Pre, post`.
pub fn list_columns(there: &[String]) -> String {
    match there {
        [] => "there are none".to_owned(),
        _ if is_header(there) => format!("there are: {}", list_names(there)),
        _ => "its first line names no known column".to_owned(),
    }
}

/// Whether the names look like column names. Messages do not quote the first line of other files, because it may be private.
fn is_header(names: &[String]) -> bool {
    let is_name = |name: &String| {
        let fits = |c: char| c.is_alphanumeric() || "_- .()[]#%/".contains(c);
        !name.is_empty() && name.len() <= 64 && name.chars().all(fits) && !name.chars().all(|c| c.is_ascii_digit())
    };
    names.len() > 1 && names.iter().all(|name| name.is_empty() || is_name(name))
}

/// Formats the first names and the number of further names.
fn list_names(names: &[String]) -> String {
    const MAX: usize = 24;
    let text = names.iter().take(MAX).map(|n| truncated(n)).collect::<Vec<_>>().join(", ");
    if names.len() > MAX { format!("{text} and {} more", names.len() - MAX) } else { text }
}

/// Shortens a text from a file and replaces control characters.
pub fn truncated(text: &str) -> String {
    const MAX: usize = 40;
    let printable: String = text.chars().take(MAX).map(|c| if c.is_control() { '·' } else { c }).collect();
    if text.chars().nth(MAX).is_some() { format!("{printable}…") } else { printable }
}

/// Returns at most `most` characters of a library's message, on one line.
pub fn truncated_to(text: &str, most: usize) -> String {
    text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns the most similar name; `None` if no name is similar enough.
fn nearest<'a>(wanted: &str, there: &'a [String]) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    there
        .iter()
        .filter(|n| n.len() <= 64)
        .map(|n| (levenshtein(&wanted, &n.to_lowercase()), n.as_str()))
        .filter(|(d, n)| (*d <= 2 && *d <= wanted.len().max(n.len()) / 2) || n.to_lowercase().starts_with(&wanted))
        .min_by_key(|(d, _)| *d)
        .map(|(_, n)| n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_columns_and_hints() {
        assert_eq!(group_digits(15_091_983), "15,091,983");
        assert_eq!(group_digits(12), "12");
        let there = ["Pre".to_owned(), "post".to_owned()];
        assert_eq!(no_column(&["pre"], &there), "no column \"pre\" (there are: Pre, post); did you mean \"Pre\"?");
        assert_eq!(no_column(&["step"], &there), "no column \"step\" (there are: Pre, post)");
    }

    #[test]
    fn the_first_line_of_a_file_that_is_no_table_is_not_quoted() {
        for line in [&["password123"][..], &["root:x:0:0:root:/root:/bin/bash"], &["key", "a=b;c"]] {
            let names: Vec<String> = line.iter().map(|n| (*n).to_owned()).collect();
            let text = no_column(&["pre"], &names);
            assert_eq!(text, "no column \"pre\" (its first line names no known column)");
        }
    }
}
