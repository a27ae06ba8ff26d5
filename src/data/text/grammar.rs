//! Generates text from a probabilistic context-free grammar whose entropy rate is known exactly.
//!
//! # Entropy rate
//!
//! A text is a sequence of independent tales. A tale is derived from the start rule: every rule chooses one of its
//! alternatives with probability p = weight / sum of weights, and an alternative is a sequence of texts and rules.
//!
//! The choices of a derivation are independent given the rules that are visited, so the entropy of a derivation is the
//! sum over rules of the expected number of visits times the entropy of one choice (chain rule), and the expected length
//! is the same sum of expected bytes:
//!
//! ```text
//! h_r = -Σ_a p_ra ln p_ra            entropy of one choice of rule r, nats
//! l_r =  Σ_a p_ra (bytes of its texts)
//! M_rs = Σ_a p_ra (occurrences of rule s in alternative a)
//! n = (I - Mᵀ)⁻¹ e_start              expected visits per tale
//! entropy of a tale H = nᵀ h         expected bytes of a tale L = nᵀ l
//! entropy rate = H / L               nats per byte
//! ```
//!
//! The last line is the entropy rate of the text because the grammar is unambiguous: two derivations give two tales, and no
//! tale is the beginning of another (each tale ends with the only line break in it). A text therefore determines its
//! derivations, and the derivations determine the text. Tales are independent and identically distributed, so the law of large
//! numbers applies to numerator and denominator (renewal reward theorem; Cover and Thomas, *Elements of Information Theory*,
//! chapters 2 and 4). Unambiguity is tested: the probability of a tale summed over all derivations equals the probability of
//! the derivation that made it.
//!
//! No predictor has a lower expected loss per byte, whatever its context; a predictor with a limited context has a higher loss.

use crate::num::rng::{Draw, Purpose};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Rules of a grammar; rule 0 is the start.
#[derive(Clone, Debug)]
pub struct Grammar {
    rules: Vec<Rule>,
}

/// Alternatives of a rule.
#[derive(Clone, Debug)]
struct Rule {
    alternatives: Vec<Alternative>,
    total: u32,
}

/// Alternative of a rule.
#[derive(Clone, Debug)]
struct Alternative {
    weight: u32,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Rule(usize),
}

impl Rule {
    fn p(&self, alternative: &Alternative) -> f64 {
        f64::from(alternative.weight) / f64::from(self.total)
    }

    fn entropy(&self) -> f64 {
        self.alternatives.iter().map(|a| self.p(a)).map(|p| -p * p.ln()).sum()
    }

    fn expected_bytes(&self) -> f64 {
        let bytes = |part: &Part| if let Part::Text(text) = part { text.len() as f64 } else { 0.0 };
        self.alternatives.iter().map(|a| self.p(a) * a.parts.iter().map(bytes).sum::<f64>()).sum()
    }

    /// Chooses an alternative by a random word; the bias of the weights is below 2⁻²⁰.
    fn choose(&self, word: u32) -> &Alternative {
        let mut rest = ((u64::from(word) * u64::from(self.total)) >> 32) as u32;
        for alternative in &self.alternatives {
            match rest.checked_sub(alternative.weight) {
                None => return alternative,
                Some(less) => rest = less,
            }
        }
        &self.alternatives[self.alternatives.len() - 1]
    }
}

impl Grammar {
    /// Parses rules, one per line: `name: weight text {rule} text | …`, or `name ~ …` with the weights 120 / (rank + 3), which
    /// decrease like the frequencies of words. A missing weight is 1, and `¶` is a line break. A line with `@` is read once per
    /// topic, with the topic in place of `@`; the start rule chooses `{tale-TOPIC}`. Fails for repeated rules, unknown rules,
    /// and lines that are not rules.
    pub fn parse(topics: &[&str], text: &str) -> Result<Self, String> {
        let start = topics.iter().map(|topic| format!("{{tale-{topic}}}")).collect::<Vec<_>>().join(" | ");
        let mut lines = vec![format!("start ~ {start}")];
        for line in text.lines().map(str::trim_start).filter(|line| !line.is_empty()) {
            match line.contains('@') {
                true => lines.extend(topics.iter().map(|topic| line.replace('@', topic))),
                false => lines.push(line.to_owned()),
            }
        }
        let split = |line: &String| {
            let at = line.find([':', '~']).ok_or_else(|| format!("`{line}` has neither `:` nor `~`"))?;
            Ok((line[..at].trim().to_owned(), line.as_bytes()[at] == b'~', line[at + 1..].to_owned()))
        };
        let split: Vec<(String, bool, String)> = lines.iter().map(split).collect::<Result<_, String>>()?;
        let ids: HashMap<&str, usize> = split.iter().enumerate().map(|(i, (name, ..))| (&name[..], i)).collect();
        if ids.len() < split.len() {
            return Err("two rules have the same name".to_owned());
        }
        let rules = split.iter().map(|(_, by_rank, body)| rule(body, *by_rank, &ids)).collect::<Result<_, _>>()?;
        Ok(Self { rules })
    }

    /// Replaces words of the rules; words without a replacement are unchanged.
    pub fn with_words(mut self, words: &BTreeMap<String, String>) -> Self {
        let parts = self.rules.iter_mut().flat_map(|r| &mut r.alternatives).flat_map(|a| &mut a.parts);
        for text in parts.filter_map(|part| if let Part::Text(text) = part { Some(text) } else { None }) {
            // A run consists of the letters of a word and the separators after it.
            let runs = text.split_inclusive(|c: char| !c.is_alphabetic());
            let other = |run: &str| {
                let word = run.trim_end_matches(|c: char| !c.is_alphabetic());
                format!("{}{}", words.get(word).map_or(word, String::as_str), &run[word.len()..])
            };
            *text = runs.map(other).collect();
        }
        self
    }

    /// Returns the expected visits of every rule in one tale: solves (I - Mᵀ) n = e_start by Gaussian elimination with pivots.
    fn visits(&self) -> Vec<f64> {
        let n = self.rules.len();
        let mut rows = vec![vec![0.0; n + 1]; n];
        rows[0][n] = 1.0;
        for (r, rule) in self.rules.iter().enumerate() {
            rows[r][r] += 1.0;
            for alternative in &rule.alternatives {
                for part in &alternative.parts {
                    if let Part::Rule(s) = part {
                        rows[*s][r] -= rule.p(alternative);
                    }
                }
            }
        }
        for column in 0..n {
            let pivot = (column..n).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()));
            rows.swap(column, pivot.unwrap_or(column));
            let pivot = rows[column].clone();
            for (_, row) in rows.iter_mut().enumerate().filter(|(r, row)| *r != column && row[column] != 0.0) {
                let factor = row[column] / pivot[column];
                row[column..].iter_mut().zip(&pivot[column..]).for_each(|(x, p)| *x -= factor * p);
            }
        }
        (0..n).map(|r| rows[r][n] / rows[r][r]).collect()
    }

    /// Returns the entropy of a tale in nats, and its expected bytes.
    pub fn entropy_and_bytes(&self) -> (f64, f64) {
        let visits = self.visits();
        let sum = |f: fn(&Rule) -> f64| self.rules.iter().zip(&visits).map(|(rule, n)| n * f(rule)).sum();
        (sum(Rule::entropy), sum(Rule::expected_bytes))
    }

    /// Returns the entropy rate, nats per byte.
    pub fn entropy_rate(&self) -> f64 {
        let (nats, bytes) = self.entropy_and_bytes();
        nats / bytes
    }

    /// Appends tale `number` to `to`. Returns the negative log probability of the tale's derivation, nats.
    pub fn append_tale(&self, seed: u64, number: u64, to: &mut String) -> f64 {
        let start = Part::Rule(0);
        let (mut open, mut lane, mut words, mut nats) = (vec![&start], 0_u32, [0; 4], 0.0);
        while let Some(part) = open.pop() {
            let r = match part {
                Part::Text(text) => {
                    to.push_str(text);
                    continue;
                }
                Part::Rule(r) => *r,
            };
            if lane.is_multiple_of(4) {
                words = Draw { seed, purpose: Purpose::Grammar, step: number, lane: lane / 4 }.words();
            }
            let rule = &self.rules[r];
            let chosen = rule.choose(words[(lane % 4) as usize]);
            lane += 1;
            nats -= rule.p(chosen).ln();
            open.extend(chosen.parts.iter().rev());
        }
        nats
    }

    /// Returns all words that the grammar can produce.
    pub fn lexicon(&self) -> BTreeSet<String> {
        let parts = self.rules.iter().flat_map(|r| &r.alternatives).flat_map(|a| &a.parts);
        let texts = parts.filter_map(|part| if let Part::Text(text) = part { Some(text) } else { None });
        texts.flat_map(|text| super::words(text).map(str::to_owned)).collect()
    }
}

fn rule(body: &str, by_rank: bool, ids: &HashMap<&str, usize>) -> Result<Rule, String> {
    let mut alternatives = vec![];
    for (rank, text) in body.split(" | ").enumerate() {
        let text = if rank == 0 { text.trim_start() } else { text };
        let weighted = text.split_once(' ').and_then(|(number, rest)| Some((number.parse().ok()?, rest)));
        let (weight, text) = match (by_rank, weighted) {
            (true, _) => (120 / (rank as u32 + 3), text),
            (false, Some(both)) => both,
            (false, None) => (1, text),
        };
        alternatives.push(Alternative { weight: weight.max(1), parts: parts(text, ids)? });
    }
    Ok(Rule { total: alternatives.iter().map(|a| a.weight).sum(), alternatives })
}

fn parts(mut text: &str, ids: &HashMap<&str, usize>) -> Result<Vec<Part>, String> {
    let mut parts = vec![];
    while !text.is_empty() {
        let (before, rest) = text.split_once('{').unwrap_or((text, ""));
        if !before.is_empty() {
            parts.push(Part::Text(before.replace('¶', "\n")));
        }
        text = rest;
        if let Some((name, after)) = rest.split_once('}') {
            parts.push(Part::Rule(*ids.get(name).ok_or_else(|| format!("there is no rule `{name}`"))?));
            text = after;
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::text::styles::Style;

    /// Computes the probability of a text summed over all derivations, from the ends and probabilities of a rule at a position.
    struct Inside<'a> {
        grammar: &'a Grammar,
        text: &'a str,
        known: HashMap<(usize, usize), Vec<(usize, f64)>>,
    }

    impl Inside<'_> {
        fn rule(&mut self, r: usize, at: usize) -> Vec<(usize, f64)> {
            if let Some(known) = self.known.get(&(r, at)) {
                return known.clone();
            }
            let (rule, mut ends) = (&self.grammar.rules[r], HashMap::<usize, f64>::new());
            for alternative in &rule.alternatives {
                let mut open = vec![(at, rule.p(alternative))];
                for part in &alternative.parts {
                    open = open.into_iter().flat_map(|(at, p)| self.part(part, at, p)).collect();
                }
                open.into_iter().for_each(|(end, p)| *ends.entry(end).or_default() += p);
            }
            let ends: Vec<(usize, f64)> = ends.into_iter().collect();
            self.known.insert((r, at), ends.clone());
            ends
        }

        fn part(&mut self, part: &Part, at: usize, p: f64) -> Vec<(usize, f64)> {
            match part {
                Part::Text(text) if self.text[at..].starts_with(&text[..]) => vec![(at + text.len(), p)],
                Part::Text(_) => vec![],
                Part::Rule(r) => self.rule(*r, at).into_iter().map(|(end, q)| (end, p * q)).collect(),
            }
        }
    }

    #[test]
    fn a_tale_has_one_derivation() {
        for (style, language) in Style::ALL.into_iter().flat_map(|style| [(style, 0), (style, 1), (style, 7)]) {
            let grammar = style.in_language(3, language);
            for number in 0..400 {
                let mut text = String::new();
                let nats = grammar.append_tale(7, number, &mut text);
                assert!(text.ends_with('\n') && text.matches('\n').count() == 1, "{text}");
                let mut inside = Inside { grammar: &grammar, text: &text, known: HashMap::new() };
                let p: f64 = inside.rule(0, 0).iter().filter(|(end, _)| *end == text.len()).map(|(_, p)| p).sum();
                assert!(
                    (-p.ln() - nats).abs() < 1e-9 * nats,
                    "{style:?} {language}: {} nats of {nats}: {text}",
                    -p.ln()
                );
            }
        }
    }

    /// A long sample agrees with the computed entropy and length within four standard errors.
    #[test]
    fn the_entropy_rate_is_that_of_a_long_sample() {
        for style in Style::ALL {
            let (grammar, n) = (style.grammar(), 20_000);
            let (nats, bytes) = grammar.entropy_and_bytes();
            let (mut text, mut samples) = (String::new(), vec![]);
            for number in 0..n {
                text.clear();
                let drawn = grammar.append_tale(1, number, &mut text);
                samples.push([drawn, text.len() as f64]);
            }
            for (i, expected) in [nats, bytes].into_iter().enumerate() {
                let mean = samples.iter().map(|s| s[i]).sum::<f64>() / n as f64;
                let variance = samples.iter().map(|s| (s[i] - mean).powi(2)).sum::<f64>() / n as f64;
                let error = (variance / n as f64).sqrt();
                assert!((mean - expected).abs() < 4.0 * error, "{style:?}: {mean} ± {error}, expected {expected}");
            }
        }
    }

    /// With other words of equal lengths, the entropy rate is unchanged, whatever the language.
    #[test]
    fn a_language_has_the_entropy_rate_of_its_grammar() {
        for style in Style::ALL {
            let (own, rate) = (style.grammar(), style.grammar().entropy_rate());
            for language in 1..40 {
                let other = style.in_language(language.into(), language);
                assert_eq!(other.lexicon().len(), own.lexicon().len(), "different words stay different");
                assert_eq!(other.entropy_rate(), rate);
                assert!(own.lexicon().intersection(&other.lexicon()).count() < 5, "{style:?} {language}");
            }
            assert_eq!(style.in_language(5, 0).lexicon(), own.lexicon());
            assert_ne!(style.in_language(5, 1).lexicon(), style.in_language(5, 2).lexicon());
            assert_ne!(style.in_language(5, 1).lexicon(), style.in_language(6, 1).lexicon());
        }
    }

    /// A rule with two alternatives gives H = 2 visits of ln 2, and L = 1 + 2.
    #[test]
    fn visits_of_a_recursive_rule_are_counted() {
        let grammar = Grammar::parse(&["x"], "tale-@: a{tale-@} | ¶").unwrap();
        let (nats, bytes) = grammar.entropy_and_bytes();
        assert!((nats - 2.0 * 2_f64.ln()).abs() < 1e-12 && (bytes - 2.0).abs() < 1e-12, "{nats} {bytes}");
        assert!(Grammar::parse(&["x"], "tale-@: {tael-@}").unwrap_err().contains("tael-x"));
    }
}
