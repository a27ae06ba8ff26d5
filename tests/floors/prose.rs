//! Counts of comments that an expert has to read twice. Each bound is today's count and may only fall.

use std::{fs, path::Path};

/// Docs of at most two words repeat the name of their item. Goal: fewer than 100.
const SHORT_DOCS: usize = 83;
/// Docs that begin with "Of" lack the noun that they qualify. Goal: fewer than 15.
const BEGIN_WITH_OF: usize = 0;
/// "that many" and "so many" in comments and strings stand for a quantity that has a name. Goal: fewer than 10.
const UNNAMED_NUMBERS: usize = 4;

#[derive(Debug, Default, PartialEq)]
struct Counts {
    short_docs: usize,
    begin_with_of: usize,
    unnamed_numbers: usize,
}

impl Counts {
    fn add_doc(&mut self, doc: &str) {
        self.short_docs += usize::from(doc.split_whitespace().count() <= 2);
        self.begin_with_of += usize::from(doc.split_whitespace().next() == Some("Of"));
    }

    fn add_source(&mut self, source: &str) {
        let mut doc: Option<(&str, String)> = None;
        for line in source.lines() {
            let mark = ["///", "//!"].into_iter().find(|m| line.trim_start().starts_with(m));
            if let Some((_, text)) = doc.take_if(|(of, _)| mark != Some(of)) {
                self.add_doc(&text);
            }
            if let Some(mark) = mark {
                let (_, text) = doc.get_or_insert((mark, String::new()));
                text.push_str(&line.trim_start()[mark.len()..]);
                text.push('\n');
            }
            self.unnamed_numbers += unnamed_numbers(&line.to_lowercase());
        }
        if let Some((_, text)) = doc {
            self.add_doc(&text);
        }
    }

    fn add_folder(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => self.add_folder(&path),
                Some(e) if e == "rs" => self.add_source(&fs::read_to_string(&path).unwrap()),
                _ => {}
            }
        }
    }
}

/// Occurrences of "that many" and "so many" in lower-case text, as whole words: not in "also many".
fn unnamed_numbers(line: &str) -> usize {
    let is_word = |at: usize| !line[..at].ends_with(char::is_alphanumeric);
    ["that many", "so many"].iter().flat_map(|p| line.match_indices(p)).filter(|(at, _)| is_word(*at)).count()
}

#[test]
fn comments_are_sentences() {
    let mut found = Counts::default();
    found.add_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let most = [
        ("docs of at most two words", found.short_docs, SHORT_DOCS),
        ("docs that begin with \"Of\"", found.begin_with_of, BEGIN_WITH_OF),
        ("\"that many\" or \"so many\"", found.unnamed_numbers, UNNAMED_NUMBERS),
    ];
    for (what, found, most) in most {
        assert!(found <= most, "{found} {what} in src, more than {most}: see CONTRIBUTING.md, Words and sentences");
    }
}

#[test]
fn counting_finds_each_pattern() {
    let source = "//! Of a file.\n//! Two lines.\n\n/// Its name.\nlet x = 1;\n/// A sentence of words.\n/// So many; also many.\n// Short.\n";
    let mut found = Counts::default();
    found.add_source(source);
    assert_eq!(found, Counts { short_docs: 1, begin_with_of: 1, unnamed_numbers: 1 });
}
