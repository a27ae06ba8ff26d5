//! The query language of selections and targets.
//!
//! ```text
//! query  := [("random" | "first") COUNT "of"] or
//! or     := and ("or" and)*
//! and    := not ("and" not)*
//! not    := "not" not | "(" query ")" | atom
//! atom   := "all" | NAME of a selection | COLUMN ("=" | "!=") value ("," value)*
//! value  := words, a 'quoted' text, a number or, for idx, a range 5..9 (both ends included)
//! COLUMN := idx | root_id | name | file | a column of the neuron table
//! ```

use super::{Selection, files};
use crate::{
    num::rng::{Draw, Purpose},
    params::path::distance,
    sim::{ElementSet, Scene, SimError},
};

/// Deepest chain of selections that name each other.
const DEPTH: u32 = 8;

/// What a query is asked of.
pub struct Selector<'a> {
    /// The neurons.
    pub set: &'a ElementSet,
    /// Named selections.
    pub selections: &'a [Selection],
    /// Where files are, and the seed of random choices.
    pub scene: &'a Scene,
}

impl Selector<'_> {
    /// The neurons a query (or the name of a selection) stands for: ascending, at least one.
    pub fn select(&self, query: &str) -> Result<Vec<u32>, SimError> {
        let chosen = self.eval(query, 0)?;
        let out: Vec<u32> = (0..self.set.len).filter(|i| chosen[*i as usize]).collect();
        if out.is_empty() {
            return Err(wrong(query, "selects no neuron"));
        }
        Ok(out)
    }

    fn eval(&self, query: &str, depth: u32) -> Result<Vec<bool>, SimError> {
        if depth > DEPTH {
            return Err(wrong(query, "selections name each other in a circle"));
        }
        if let Some(named) = self.selections.iter().find(|s| !s.name.is_empty() && s.name == query.trim()) {
            return self.eval(&named.query.0, depth + 1);
        }
        let tokens = tokens(query)?;
        let mut parser = Parser { of: self, query, tokens: &tokens, at: 0, depth };
        let chosen = parser.query()?;
        match parser.peek() {
            None => Ok(chosen),
            Some(token) => Err(wrong(query, &format!("`{}` was not expected here", token.text))),
        }
    }
}

fn wrong(query: &str, what: &str) -> SimError {
    SimError::Input(format!("`{}`: {what}", query.trim()))
}

#[derive(Debug, PartialEq)]
struct Token {
    text: String,
    quoted: bool,
}

/// Words, quoted texts, and the marks `( ) , = !=`.
fn tokens(query: &str) -> Result<Vec<Token>, SimError> {
    let mut out = Vec::new();
    let mut rest = query.trim_start();
    while let Some(first) = rest.chars().next() {
        let (text, quoted, used) = match first {
            '\'' | '"' => {
                let end = rest[1..].find(first).ok_or_else(|| wrong(query, "a quoted text does not end"))?;
                (&rest[1..=end], true, end + 2)
            }
            '!' if rest.starts_with("!=") => ("!=", false, 2),
            '(' | ')' | ',' | '=' => (&rest[..1], false, 1),
            _ => {
                let mark = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | '=' | '\'' | '"');
                let end = rest[first.len_utf8()..].find(mark).map_or(rest.len(), |e| e + first.len_utf8());
                (&rest[..end], false, end)
            }
        };
        out.push(Token { text: text.to_owned(), quoted });
        rest = rest[used..].trim_start();
    }
    Ok(out)
}

struct Parser<'a> {
    of: &'a Selector<'a>,
    query: &'a str,
    tokens: &'a [Token],
    at: usize,
    depth: u32,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn peeks(&self, word: &str) -> bool {
        self.peek().is_some_and(|t| !t.quoted && t.text.eq_ignore_ascii_case(word))
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.peeks(word);
        self.at += usize::from(found);
        found
    }

    fn wrong(&self, what: &str) -> SimError {
        wrong(self.query, what)
    }

    fn query(&mut self) -> Result<Vec<bool>, SimError> {
        let random = self.peeks("random");
        // A column may be called `first`; a choice has a number behind it.
        let count = self.tokens.get(self.at + 1).and_then(|t| t.text.parse::<usize>().ok());
        let Some(count) = count.filter(|_| random || self.peeks("first")) else { return self.or() };
        self.at += 2;
        if !self.take("of") {
            return Err(self.wrong("write `random 21 of …` or `first 21 of …`"));
        }
        let of = self.or()?;
        self.choose(count, random, &of)
    }

    /// The first `count`, or those with the smallest random words.
    fn choose(&self, count: usize, random: bool, of: &[bool]) -> Result<Vec<bool>, SimError> {
        let mut members: Vec<u32> = (0..of.len() as u32).filter(|i| of[*i as usize]).collect();
        if members.len() < count {
            return Err(self.wrong(&format!("there are only {} to choose from", members.len())));
        }
        if random {
            let seed = self.of.scene.seed;
            members
                .sort_by_key(|lane| (Draw { seed, purpose: Purpose::Choice, step: 0, lane: *lane }.words()[0], *lane));
        }
        let mut out = vec![false; of.len()];
        members[..count].iter().for_each(|i| out[*i as usize] = true);
        Ok(out)
    }

    fn or(&mut self) -> Result<Vec<bool>, SimError> {
        let mut left = self.and()?;
        while self.take("or") {
            let right = self.and()?;
            left.iter_mut().zip(right).for_each(|(a, b)| *a |= b);
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Vec<bool>, SimError> {
        let mut left = self.not()?;
        while self.take("and") {
            let right = self.not()?;
            left.iter_mut().zip(right).for_each(|(a, b)| *a &= b);
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Vec<bool>, SimError> {
        if self.take("not") {
            let mut inner = self.not()?;
            inner.iter_mut().for_each(|x| *x = !*x);
            return Ok(inner);
        }
        if self.take("(") {
            let inner = self.query()?;
            return if self.take(")") { Ok(inner) } else { Err(self.wrong("a bracket is not closed")) };
        }
        self.atom()
    }

    fn atom(&mut self) -> Result<Vec<bool>, SimError> {
        if self.take("all") {
            return Ok(vec![true; self.of.set.len as usize]);
        }
        let name = self.peek().map(|t| t.text.clone()).ok_or_else(|| self.wrong("something is missing at the end"))?;
        self.at += 1;
        let equal = self.take("=");
        if !equal && !self.take("!=") {
            return self.selection(&name);
        }
        let mut out = self.column(&name)?;
        if !equal {
            out.iter_mut().for_each(|x| *x = !*x);
        }
        Ok(out)
    }

    fn selection(&self, name: &str) -> Result<Vec<bool>, SimError> {
        let names: Vec<&str> = self.of.selections.iter().map(|s| s.name.as_str()).filter(|n| !n.is_empty()).collect();
        match self.of.selections.iter().find(|s| s.name == name) {
            Some(known) if !name.is_empty() => self.of.eval(&known.query.0, self.depth + 1),
            _ => Err(self.wrong(&unknown("selection", name, &names))),
        }
    }

    /// The values after `=`: comma-separated; unquoted neighbours belong to one value.
    fn values(&mut self) -> Result<Vec<String>, SimError> {
        let mut out = Vec::new();
        loop {
            let mut words: Vec<&str> = Vec::new();
            while let Some(token) = self.tokens.get(self.at) {
                let keyword = matches!(token.text.as_str(), "and" | "or" | ")" | "," | "(" | "=" | "!=");
                if !token.quoted && keyword {
                    break;
                }
                words.push(&token.text);
                self.at += 1;
            }
            if words.is_empty() {
                return Err(self.wrong("a value is missing"));
            }
            out.push(words.join(" "));
            if !self.take(",") {
                return Ok(out);
            }
        }
    }

    fn column(&mut self, name: &str) -> Result<Vec<bool>, SimError> {
        let values = self.values()?;
        let set = self.of.set;
        let mut out = vec![false; set.len as usize];
        match name {
            "idx" => values.iter().try_for_each(|v| self.mark_range(v, &mut out))?,
            "root_id" => values.iter().try_for_each(|v| self.mark_id(v, &mut out))?,
            "file" => {
                for value in &values {
                    let path = self.of.scene.resolve(value);
                    let listed = files::read_neurons(&path, &set.ids, set.len)?;
                    listed.iter().for_each(|i| out[*i as usize] = true);
                }
            }
            "name" => values.iter().try_for_each(|v| self.mark_name(v, &mut out))?,
            _ => self.mark_category(name, &values, &mut out)?,
        }
        Ok(out)
    }

    fn mark_range(&self, value: &str, out: &mut [bool]) -> Result<(), SimError> {
        let (from, to) = value.split_once("..").unwrap_or((value, value));
        let parse =
            |s: &str| s.trim().parse::<usize>().map_err(|_| self.wrong(&format!("`{value}` is no index or range")));
        let (from, to) = (parse(from)?, parse(to)?);
        let last = out.len().saturating_sub(1);
        if from > to || to > last {
            return Err(self.wrong(&format!("indices run from 0 to {last}, got {value}")));
        }
        out[from..=to].fill(true);
        Ok(())
    }

    fn mark_id(&self, value: &str, out: &mut [bool]) -> Result<(), SimError> {
        let id: u64 = value.parse().map_err(|_| self.wrong(&format!("`{value}` is no root id")))?;
        let found = self.of.set.ids.iter().position(|known| *known == id);
        out[found.ok_or_else(|| self.wrong(&format!("no neuron has root_id {id}")))?] = true;
        Ok(())
    }

    fn mark_name(&self, value: &str, out: &mut [bool]) -> Result<(), SimError> {
        let mut found = false;
        for (name, out) in self.of.set.names.iter().zip(out) {
            let same = name == value;
            found |= same;
            *out |= same;
        }
        let names: Vec<&str> = self.of.set.names.iter().map(String::as_str).filter(|n| !n.is_empty()).collect();
        if found { Ok(()) } else { Err(self.wrong(&unknown("neuron called", value, &names))) }
    }

    fn mark_category(&self, name: &str, values: &[String], out: &mut [bool]) -> Result<(), SimError> {
        let set = self.of.set;
        let Some(column) = set.column(name) else {
            let mut known = vec!["idx", "root_id", "name", "file"];
            known.extend(set.columns.iter().map(|c| c.name.as_str()));
            return Err(self.wrong(&unknown("column", name, &known)));
        };
        for value in values {
            let labels: Vec<&str> = column.labels.iter().map(String::as_str).collect();
            let code = labels.iter().position(|l| l.eq_ignore_ascii_case(value));
            let code = code.ok_or_else(|| self.wrong(&unknown(name, value, &labels)))?;
            for (c, out) in column.codes.iter().zip(out.iter_mut()) {
                *out |= usize::from(*c) == code;
            }
        }
        Ok(())
    }
}

/// "there is no X `y`; did you mean `z`?", or the known ones when none is near and they are few.
fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let near = known.iter().map(|k| (distance(k, name), k)).min().filter(|(d, _)| *d <= 1 + name.len() / 3);
    let hint = match near {
        Some((_, k)) => format!("; did you mean `{k}`?"),
        None if known.is_empty() => "; there are none".to_owned(),
        None => {
            let shown: Vec<&str> = known.iter().copied().filter(|k| !k.is_empty()).take(12).collect();
            let more = if known.len() > 12 { ", …" } else { "" };
            format!("; there is {}{more}", shown.join(", "))
        }
    };
    format!("there is no {what} `{name}`{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Column;

    fn ask(query: &str) -> Result<Vec<u32>, String> {
        let set = ElementSet {
            name: "neurons",
            len: 8,
            ids: (100..108).collect(),
            names: ["a", "b", "MN9", "", "", "", "", ""].map(str::to_owned).to_vec(),
            columns: vec![
                Column::from_texts(
                    "class",
                    &["gustatory", "gustatory", "optic", "optic", "", "central", "central", "central"],
                ),
                Column::from_texts("side", &["left", "right", "left", "right", "left", "right", "left", "right"]),
                Column::from_texts("cell_type", &["LB3 a", "", "", "", "", "", "", ""]),
            ],
            ..ElementSet::default()
        };
        let named = |name: &str, query: &str| Selection { name: name.to_owned(), query: query.into() };
        let selections =
            [named("sugar", "class = gustatory"), named("x", "y"), named("y", "x"), named("P 9", "idx = 7")];
        let scene = Scene { seed: 5, ..Scene::default() };
        let selector = Selector { set: &set, selections: &selections, scene: &scene };
        selector.select(query).map_err(|e| e.to_string())
    }

    #[test]
    fn queries() {
        for (query, want) in [
            ("all", &[0, 1, 2, 3, 4, 5, 6, 7][..]),
            ("idx = 1, 2, 5..7", &[1, 2, 5, 6, 7]),
            ("class = gustatory and side = left", &[0]),
            ("class = gustatory, optic", &[0, 1, 2, 3]),
            ("class = gustatory or class = optic and side = right", &[0, 1, 3]),
            ("(class = gustatory or class = optic) and side = right", &[1, 3]),
            ("not side = left", &[1, 3, 5, 7]),
            ("side != left and idx != 1", &[3, 5, 7]),
            ("root_id = 103", &[3]),
            ("name = MN9", &[2]),
            ("cell_type = LB3 a", &[0]),
            ("cell_type = 'LB3 a'", &[0]),
            ("first 2 of class = central", &[5, 6]),
            ("sugar", &[0, 1]),
            ("sugar and side = right", &[1]),
            ("P 9", &[7]),
        ] {
            assert_eq!(ask(query).as_deref(), Ok(want), "{query}");
        }
        let three = ask("random 3 of class = central or class = optic").unwrap();
        assert_eq!((three.len(), ask("random 3 of class = central or class = optic").unwrap() == three), (3, true));
    }

    #[test]
    fn mistakes_are_explained() {
        for (query, want) in [
            ("clas = optic", "there is no column `clas`; did you mean `class`?"),
            ("class = gustatry", "there is no class `gustatry`; did you mean `gustatory`?"),
            ("class = gustatory and side = left and idx = 7", "selects no neuron"),
            ("sugr", "there is no selection `sugr`; did you mean `sugar`?"),
            ("idx = 9", "indices run from 0 to 7, got 9"),
            ("root_id = 7", "no neuron has root_id 7"),
            ("x", "in a circle"),
            ("(all", "a bracket is not closed"),
            ("class =", "a value is missing"),
            ("class = 'optic", "does not end"),
            ("random 9 of all", "only 8 to choose from"),
            ("", "something is missing"),
            ("all all", "`all` was not expected here"),
            ("file = nowhere.csv", "nowhere.csv: "),
        ] {
            let got = ask(query).unwrap_err();
            assert!(got.contains(want), "{query}: {got}");
        }
    }
}
