//! Texts of a frame, and tests of their words.

use super::harness::Window;
use egui_kittest::{Node, kittest::NodeT as _};

/// Labels and values for assistive tools, of all nodes below one.
pub fn labels(root: Node<'_>) -> Vec<String> {
    let mut out = vec![];
    let mut queue = vec![root];
    while let Some(node) = queue.pop() {
        let data = node.accesskit_node();
        out.extend(data.label());
        out.extend(data.value());
        queue.extend(node.children());
    }
    out
}

/// Painted texts.
pub fn painted(w: &Window) -> Vec<String> {
    fn add(shape: &egui::Shape, out: &mut Vec<String>) {
        match shape {
            egui::Shape::Vec(shapes) => shapes.iter().for_each(|shape| add(shape, out)),
            egui::Shape::Text(text) => out.push(text.galley.text().to_owned()),
            _ => {}
        }
    }
    let mut out = vec![];
    w.output().shapes.iter().for_each(|shape| add(&shape.shape, &mut out));
    out
}

/// Whether a word has an inner capital after a small letter.
pub fn is_camel_case(word: &str) -> bool {
    word.as_bytes().windows(2).any(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase())
}

/// Whether a word has the form of the path of an item's parameter: `interventions.0.rate_hz`.
pub fn is_item_path(word: &str) -> bool {
    let is_name = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    let parts: Vec<&str> = word.split('.').collect();
    parts.windows(3).any(|three| is_name(three[0]) && is_number(three[1]) && is_name(three[2]))
}

/// Returns the number 1 with the plural that follows: `1 threads`; `None` if there is none.
pub fn plural_of_one(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_plural = |word: &str| {
        let word = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_word = word.len() > 2 && word.chars().all(|c| c.is_ascii_lowercase());
        is_word && word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end))
    };
    let found = words.windows(2).find(|two| two[0].trim_start_matches('(') == "1" && is_plural(two[1]))?;
    Some(found.join(" "))
}
