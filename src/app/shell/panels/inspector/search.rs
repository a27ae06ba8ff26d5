//! Search in parameters: words that are looked up in titles, symbols, units, choices and documentation, and their highlights.

use crate::{
    app::kit::{text, theme::Tokens},
    params::{GroupSpec, ParamSpec, ValueType},
};
use egui::text::{LayoutJob, TextFormat};
use std::ops::Range;

/// Words of a typed text. Every word has to be found.
#[derive(Clone, Debug, Default)]
pub struct Words(Vec<String>);

impl Words {
    pub fn new(typed: &str) -> Self {
        Self(typed.split_whitespace().map(str::to_owned).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether each word is in one of the texts.
    fn are_in(&self, texts: &[&str]) -> bool {
        self.0.iter().all(|word| texts.iter().any(|text| find(text, word).is_some()))
    }

    /// Whether a parameter of a group is found.
    pub fn fit(&self, group: &GroupSpec, spec: &ParamSpec, path: &str) -> bool {
        let choices = match spec.kind {
            ValueType::Choice(choices) => choices.iter().map(|c| c.label()).collect::<Vec<_>>().join("\n"),
            _ => String::new(),
        };
        let unit = spec.unit.suffix();
        self.are_in(&[&group.label(), &spec.label(), spec.symbol, unit, spec.docs, &choices, path])
    }

    /// Whether each word is in a text.
    pub fn fit_text(&self, text: &str) -> bool {
        self.are_in(&[text])
    }

    /// Returns the sentence of a parameter's documentation that contains a word, if its title and unit contain none.
    pub fn excerpt(&self, spec: &ParamSpec) -> Option<String> {
        let is_in = |text: &str| self.0.iter().any(|word| find(text, word).is_some());
        if self.is_empty() || is_in(&spec.label()) || is_in(spec.symbol) || is_in(spec.unit.suffix()) {
            return None;
        }
        let docs = text::unwrap(spec.docs);
        docs.split_inclusive(". ").find(|sentence| is_in(sentence)).map(|sentence| sentence.trim().to_owned())
    }

    /// Returns the ranges of a text to highlight, in order and without overlaps.
    fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<_> = self.0.iter().filter_map(|word| find(text, word)).collect();
        found.sort_by_key(|range| range.start);
        let mut end = 0;
        found.retain(|range| {
            let is_free = range.start >= end;
            end = if is_free { range.end } else { end };
            is_free
        });
        found
    }

    /// Appends a text in which the words have a background.
    pub fn append(&self, job: &mut LayoutJob, text: &str, leading: f32, format: &TextFormat, t: &Tokens) {
        let mut at = 0;
        let mut leading = leading;
        let mut add = |range: Range<usize>, background| {
            if !range.is_empty() {
                job.append(&text[range], std::mem::take(&mut leading), TextFormat { background, ..format.clone() });
            }
        };
        for range in self.ranges(text) {
            add(at..range.start, format.background);
            at = range.end;
            add(range, Tokens::fade(t.accent, 0.35));
        }
        add(at..text.len(), format.background);
    }
}

/// Returns where a text contains a word, in any case.
fn find(text: &str, word: &str) -> Option<Range<usize>> {
    text.char_indices().find_map(|(at, _)| Some(at..at + prefix(&text[at..], word)?))
}

/// Returns the length of a text's beginning that equals a word in any case, bytes.
fn prefix(text: &str, word: &str) -> Option<usize> {
    let mut chars = text.chars();
    word.chars().try_fold(0, |n, wanted| {
        let c = chars.next().filter(|c| c.to_lowercase().eq(wanted.to_lowercase()))?;
        Some(n + c.len_utf8())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{kinds::Model, params::path};

    #[test]
    fn titles_units_documentation_and_group_titles_are_found() {
        let model = Model::default();
        let params = model.params();
        let fits = |typed: &str, name: &str| {
            let id = path::parse(params, &format!("{name}=12")).unwrap().id;
            let (group, spec) = (params.groups()[usize::from(id.group)], params.spec(id).unwrap());
            Words::new(typed).fit(&group, spec, name)
        };
        for typed in ["membrane TIME", "ms", "lif neuron", "tau_m", "membrane ms", ""] {
            assert!(fits(typed, "lif.tau_m"), "{typed}");
        }
        assert!(!fits("membrane volcano", "lif.tau_m"));
    }

    #[test]
    fn only_what_matched_is_highlighted() {
        let t = Tokens::dark();
        let mut job = LayoutJob::default();
        Words::new("time Mem").append(&mut job, "Membrane time constant", 4.0, &TextFormat::default(), &t);
        assert_eq!(job.text, "Membrane time constant");
        let marked: Vec<&str> = job
            .sections
            .iter()
            .filter(|s| s.format.background != egui::Color32::TRANSPARENT)
            .map(|s| &job.text[s.byte_range.start.0..s.byte_range.end.0])
            .collect();
        assert_eq!(marked, ["Mem", "time"]);
        assert_eq!(find("Ärger", "ärg"), Some(0..4));
    }
}
