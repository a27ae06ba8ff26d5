//! Embedded source of a kernel: the function with its comment, and the head comment of the file.

use super::module::{SOURCE_TEXTS, SOURCES};
use std::sync::LazyLock;

/// Source of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Path of the file under `kernels/`.
    pub file: &'static str,
    /// First line of the text, from 1.
    pub line: usize,
    /// Function with the comment before it.
    pub text: &'static str,
    /// Comment at the head of the file.
    pub head: &'static str,
}

/// Finds a kernel in its module's file or in the files that the file includes; `None` if it is in none of them.
pub fn of_kernel(module: &str, kernel: &str) -> Option<Source> {
    let mut files = vec![named(module)?];
    let mut at = 0;
    while let Some((file, text)) = files.get(at).copied() {
        if let Some(found) = function(text, kernel) {
            let line = text[..found.start].matches('\n').count() + 1;
            return Some(Source { file, line, text: &text[found], head: head_of(text) });
        }
        let included = text.lines().filter_map(|l| l.strip_prefix("#include \"")?.split('"').next());
        for file in included.filter(|f| !f.starts_with("gen/")).filter_map(named) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        at += 1;
    }
    None
}

fn named(file: &str) -> Option<(&'static str, &'static str)> {
    static TEXTS: LazyLock<String> = LazyLock::new(|| SOURCE_TEXTS.text());
    let (name, start, len) = SOURCES.iter().find(|(name, ..)| *name == file)?;
    Some((name, &TEXTS[*start..start + len]))
}

/// Returns the range from the comments before the definition to its closing brace; `None` if `text` does not define the kernel.
fn function(text: &'static str, kernel: &str) -> Option<std::ops::Range<usize>> {
    let call = format!("{kernel}(");
    let definition = |at: &usize| {
        let before = &text[..*at];
        let line_of_intent = before.rfind("__global__").is_some_and(|g| {
            let between = &before[g..];
            !between.contains(';') && !between.contains('{') && !between.contains('}')
        });
        line_of_intent && before.ends_with(char::is_whitespace)
    };
    let at = text.match_indices(&call).map(|(at, _)| at).find(definition)?;
    let mut start = text[..at].rfind("extern \"C\"").or_else(|| text[..at].rfind("__global__"))?;
    while let Some(line) = text[..start].strip_suffix('\n').and_then(|t| t.lines().next_back()) {
        if !line.trim_start().starts_with("//") {
            break;
        }
        start -= line.len() + 1;
    }
    let first_line = at + text[at..].find('\n').unwrap_or(text.len() - at);
    let closed_at_once = text[at..first_line].ends_with('}');
    let end = if closed_at_once { first_line } else { at + text[at..].find("\n}").map_or(text.len() - at, |i| i + 2) };
    Some(start..end)
}

/// Returns the comment lines at the start of a file.
fn head_of(text: &'static str) -> &'static str {
    let len: usize = text.split_inclusive('\n').take_while(|l| l.starts_with("//")).map(str::len).sum();
    text[..len].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_found_where_it_is_included_from() {
        let deliver = of_kernel("spiking/step.cu", "deliver_spikes").expect("it is embedded");
        assert_eq!(deliver.file, "spiking/kernels.cuh");
        let (comment, function) = deliver.text.split_once('\n').expect("two lines");
        assert!(comment.starts_with("// ") && function.starts_with("extern \"C\" __global__ void"), "{}", deliver.text);
        assert!(function.contains(" deliver_spikes("), "{}", deliver.text);
        assert!(deliver.text.ends_with("\n}") && deliver.text.contains("deliver_chunks"));
        let tick = of_kernel("common/selftest.cu", "tick").expect("it is embedded");
        assert!(tick.text.ends_with("clock->step += 1; }"), "{}", tick.text);
        assert!(tick.line > 1 && tick.head.starts_with("//"));
        assert_eq!(of_kernel("common/selftest.cu", "nothing"), None);
        assert_eq!(of_kernel("nowhere.cu", "tick"), None);
    }
}
