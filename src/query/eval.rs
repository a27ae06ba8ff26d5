//! Evaluation of a query: the elements that it selects.

use super::{Mistake, Op, Query, Word, parse};
use crate::{
    num::rng::{Draw, Purpose},
    params::{Unit, interventions::Selection},
    sim::{Column, ElementSet, FREE_SLOT, connectivity::ConnectionSource},
};
use std::collections::HashMap;
use strsim::levenshtein;

/// Columns that every set has. `root_id` is another name of `id`.
const COLUMNS: [&str; 5] = ["idx", "id", "root_id", "name", "file"];
/// Maximum length of a chain of sets that refer to each other.
const MAX_CHAIN: usize = 64;

/// Named set of elements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Named {
    pub name: String,
    /// Query that selects the set's elements.
    pub query: String,
    /// Element set that the query selects from; empty for the first set of a model.
    pub set: String,
}

impl Named {
    /// Whether the query selects from the element set `set`; `is_first` states whether `set` is the first of the model.
    pub fn is_over(&self, set: &str, is_first: bool) -> bool {
        let own = self.set.trim();
        own == set || own.is_empty() && is_first
    }
}

impl From<Selection> for Named {
    fn from(selection: Selection) -> Self {
        Self { name: selection.name, query: selection.query.into(), set: selection.set }
    }
}

/// Live field with a value per element.
#[derive(Clone, Copy)]
pub struct Field<'a> {
    /// Name of the field; a trailing `_field` may be omitted in queries.
    pub name: &'a str,
    /// Unit of the values.
    pub unit: &'a str,
    /// Values by element; empty if they are currently unknown.
    pub values: &'a [f32],
}

impl Field<'_> {
    /// Returns the name without a trailing `_field`, as users type it.
    pub fn short(&self) -> &str {
        self.name.strip_suffix("_field").unwrap_or(self.name)
    }
}

/// Cache of named sets during the evaluation of a query.
#[derive(Default)]
struct Lookup {
    /// Sets being evaluated, outermost first.
    open: Vec<String>,
    /// Members of the evaluated sets.
    known: HashMap<String, Vec<bool>>,
}

/// Context in which a query is evaluated.
pub struct Known<'a> {
    /// Element set of the query.
    pub set: &'a ElementSet,
    /// Ids of the individuals in the slots; empty if unknown.
    pub individuals: &'a [u64],
    pub named: &'a [Named],
    /// Live fields; empty if the query must give equal results at all times.
    pub fields: &'a [Field<'a>],
    /// Connections of the model; `None` if the model has none.
    pub links: Option<&'a dyn ConnectionSource>,
    /// Seed of random choices.
    pub seed: u64,
    /// Reads the elements listed in a file.
    pub listed: &'a dyn Fn(&str) -> Result<Vec<u32>, String>,
}

impl Known<'_> {
    /// Returns the elements selected by a query or the name of a set, ascending. Fails if the query is invalid.
    pub fn select(&self, query: &str) -> Result<Vec<u32>, Mistake> {
        let chosen = self.ask(query, &mut Lookup::default())?;
        Ok((0..self.set.len).filter(|i| chosen[*i as usize]).collect())
    }

    fn ask(&self, text: &str, lookup: &mut Lookup) -> Result<Vec<bool>, Mistake> {
        match self.named.iter().find(|s| !s.name.is_empty() && s.name == text.trim()) {
            Some(set) => self.members(set, lookup).map_err(|what| Mistake::new(&(0..text.len()), what)),
            None => self.eval(&parse(text)?, lookup),
        }
    }

    /// Returns the membership of each element in a named set, evaluated once per query. Fails if the query of the set is
    /// invalid, or if sets refer to each other in a circle or a long chain.
    fn members(&self, set: &Named, lookup: &mut Lookup) -> Result<Vec<bool>, String> {
        if let Some(known) = lookup.known.get(&set.name) {
            return Ok(known.clone());
        }
        if let Some(first) = lookup.open.iter().position(|name| *name == set.name) {
            let circle = lookup.open[first..].iter().chain([&set.name]).cloned().collect::<Vec<_>>().join(" → ");
            return Err(format!("sets refer to each other in a circle: {circle}"));
        }
        if lookup.open.len() >= MAX_CHAIN {
            return Err(format!("sets refer to each other in a chain of more than {MAX_CHAIN}; shorten the chain"));
        }
        lookup.open.push(set.name.clone());
        let members = self.ask(&set.query, lookup).map_err(|wrong| wrong.what);
        lookup.open.pop();
        let members = members?;
        lookup.known.insert(set.name.clone(), members.clone());
        Ok(members)
    }

    fn eval(&self, query: &Query, lookup: &mut Lookup) -> Result<Vec<bool>, Mistake> {
        match query {
            Query::All => Ok(vec![true; self.set.len as usize]),
            Query::Set(name) => self.named_set(name, lookup),
            Query::Test(column, op, values) => self.test(column, *op, values),
            Query::Not(inner) => {
                let mut out = self.eval(inner, lookup)?;
                out.iter_mut().for_each(|x| *x = !*x);
                Ok(out)
            }
            Query::And(all) => self.join(all, lookup, |a, b| a & b),
            Query::Or(all) => self.join(all, lookup, |a, b| a | b),
            Query::Choose { count, is_random, of } => self.choose(count, *is_random, &self.eval(of, lookup)?),
            Query::Linked { word, is_downstream, of, at_least } => {
                let links = self.links.ok_or_else(|| Mistake::new(&word.at, "there are no connections to follow"))?;
                let at_least = at_least.as_ref().and_then(|w| w.text.parse().ok()).unwrap_or(1_u64).max(1);
                Ok(linked(links, &self.eval(of, lookup)?, *is_downstream, at_least as f64))
            }
        }
    }

    fn join(&self, all: &[Query], lookup: &mut Lookup, how: fn(bool, bool) -> bool) -> Result<Vec<bool>, Mistake> {
        let mut out: Option<Vec<bool>> = None;
        for query in all {
            let members = self.eval(query, lookup)?;
            match &mut out {
                Some(out) => out.iter_mut().zip(members).for_each(|(a, b)| *a = how(*a, b)),
                none => *none = Some(members),
            }
        }
        Ok(out.unwrap_or_else(|| vec![false; self.set.len as usize]))
    }

    fn named_set(&self, name: &Word, lookup: &mut Lookup) -> Result<Vec<bool>, Mistake> {
        let names = self.named.iter().map(|s| s.name.as_str()).filter(|n| !n.is_empty());
        match self.named.iter().find(|s| s.name == name.text && !name.text.is_empty()) {
            Some(known) => self.members(known, lookup).map_err(|what| {
                let is_chain = what.starts_with("sets refer to each other");
                Mistake::new(&name.at, if is_chain { what } else { format!("in the set `{}`: {what}", name.text) })
            }),
            None if self.is_column(&name.text) => {
                let what = format!("`{}` needs a comparison: write `{} = …`", name.text, name.text);
                Err(Mistake::new(&name.at, what))
            }
            None => Err(unknown(&name.at, "selection", &name.text, &names.collect::<Vec<_>>())),
        }
    }

    fn is_column(&self, name: &str) -> bool {
        let is_known = |known: &str| known.eq_ignore_ascii_case(name);
        COLUMNS.into_iter().any(is_known)
            || self.set.columns.iter().any(|c| is_known(&c.name))
            || self.field(name).is_some()
    }

    fn field(&self, name: &str) -> Option<&Field<'_>> {
        let whole = self.fields.iter().find(|f| f.name.eq_ignore_ascii_case(name));
        whole.or_else(|| self.fields.iter().find(|f| f.short().eq_ignore_ascii_case(name)))
    }

    /// Chooses the first `count` members, or those with the smallest random words. Fails if there are fewer than `count`
    /// members.
    fn choose(&self, count: &Word, is_random: bool, of: &[bool]) -> Result<Vec<bool>, Mistake> {
        let n: usize = count.text.parse().unwrap_or(usize::MAX);
        let mut members: Vec<u32> = (0..of.len() as u32).filter(|i| of[*i as usize]).collect();
        if members.len() < n {
            return Err(Mistake::new(&count.at, format!("there are only {} to choose from", members.len())));
        }
        if is_random {
            let word = |lane| Draw { seed: self.seed, purpose: Purpose::Choice, step: 0, lane }.words()[0];
            members.sort_by_key(|lane| (word(*lane), *lane));
        }
        let mut out = vec![false; of.len()];
        members[..n].iter().for_each(|i| out[*i as usize] = true);
        Ok(out)
    }

    fn test(&self, column: &Word, op: Op, values: &[Word]) -> Result<Vec<bool>, Mistake> {
        let mut out = vec![false; self.set.len as usize];
        let name = column.text.as_str();
        match (name, op) {
            ("idx", Op::Equal | Op::Unequal) => values.iter().try_for_each(|v| mark_range(v, &mut out))?,
            ("idx", Op::Below | Op::AtMost | Op::Above | Op::AtLeast) => {
                let bound = number(one(values)?, Unit::One)?;
                out.iter_mut().enumerate().for_each(|(i, out)| *out = holds(op, i as f64, bound));
                return Ok(out);
            }
            ("id" | "root_id", Op::Equal | Op::Unequal) => self.mark_ids(values, &mut out)?,
            ("file", Op::Equal | Op::Unequal) => {
                for value in values {
                    let listed = (self.listed)(&value.text).map_err(|why| Mistake::new(&value.at, why))?;
                    let inside = listed.iter().filter(|i| **i < self.set.len);
                    inside.for_each(|i| out[*i as usize] = true);
                }
            }
            ("name", Op::Equal | Op::Unequal) => values.iter().try_for_each(|v| self.mark_name(v, &mut out))?,
            ("name", Op::Like | Op::Unlike) => {
                let wanted: Vec<String> = values.iter().map(|v| v.text.to_lowercase()).collect();
                let has = |text: &str| wanted.iter().any(|w| text.to_lowercase().contains(w));
                out.iter_mut().enumerate().for_each(|(i, out)| *out = self.texts(i).any(has));
            }
            _ => match (self.set.column(name), self.field(name)) {
                (Some(known), _) => mark_category(known, column, op, values, &mut out)?,
                (None, Some(field)) => return compare(field, column, op, values, out),
                (None, None) => return Err(self.no_column(column, op)),
            },
        }
        if matches!(op, Op::Unequal | Op::Unlike) {
            out.iter_mut().for_each(|x| *x = !*x);
        }
        Ok(out)
    }

    fn no_column(&self, column: &Word, op: Op) -> Mistake {
        if COLUMNS.contains(&column.text.as_str()) {
            return Mistake::new(
                &column.at,
                format!("`{}` cannot be compared with `{}`; write `=`", column.text, op.sign()),
            );
        }
        let mut known = COLUMNS.to_vec();
        known.extend(self.set.columns.iter().map(|c| c.name.as_str()));
        known.extend(self.fields.iter().map(Field::short));
        unknown(&column.at, "column", &column.text, &known)
    }

    /// Returns the strings that `name ~` searches: the element's name, and its label in the column with the most labels if
    /// that has more than 50, because such labels serve as names.
    fn texts(&self, element: usize) -> impl Iterator<Item = &str> {
        let finest = self.set.columns.iter().max_by_key(|c| c.labels.len()).filter(|c| c.labels.len() > 50);
        let name = self.set.names.get(element).map(String::as_str);
        name.into_iter().chain(finest.map(|c| c.label(element as u32)))
    }

    /// Marks the elements with the given ids. Ids of individuals that have ended are skipped; any other unknown id is an
    /// error.
    fn mark_ids(&self, values: &[Word], out: &mut [bool]) -> Result<(), Mistake> {
        let ids = if self.set.are_slots { self.individuals } else { &self.set.ids };
        let ids = ids.iter().enumerate().take(out.len());
        // A search is faster for a few ids, a map for the thousands of ids in a saved selection.
        let map: HashMap<u64, usize> =
            if values.len() > 8 { ids.clone().rev().map(|(i, id)| (*id, i)).collect() } else { HashMap::new() };
        for value in values {
            let text = &value.text;
            let id: u64 = text.parse().map_err(|_| Mistake::new(&value.at, format!("`{text}` is not an id")))?;
            let found = map.get(&id).copied().or_else(|| ids.clone().find(|(_, known)| **known == id).map(|(i, _)| i));
            match found {
                Some(at) => out[at] = true,
                None if self.set.are_slots && id != FREE_SLOT => {}
                None => return Err(Mistake::new(&value.at, format!("none of the {} has id {id}", self.set.name))),
            }
        }
        Ok(())
    }

    fn mark_name(&self, value: &Word, out: &mut [bool]) -> Result<(), Mistake> {
        let mut found = false;
        for (name, out) in self.set.names.iter().zip(out) {
            let same = *name == value.text;
            found |= same;
            *out |= same;
        }
        let names = || self.set.names.iter().map(String::as_str).filter(|n| !n.is_empty());
        if found { Ok(()) } else { Err(unknown(&value.at, "neuron called", &value.text, &names().collect::<Vec<_>>())) }
    }
}

/// Returns the single value of a numeric comparison. Fails if there are no values or several.
fn one(values: &[Word]) -> Result<&Word, Mistake> {
    match values {
        [one] => Ok(one),
        [_, second, ..] => Err(Mistake::new(&second.at, "a comparison takes one number")),
        [] => Err(Mistake::new(&(0..0), "a value is missing")),
    }
}

fn number(value: &Word, unit: Unit) -> Result<f64, Mistake> {
    unit.parse(&value.text).map_err(|why| Mistake::new(&value.at, why))
}

/// Returns the unit with the suffix `suffix`, or dimensionless if there is no such unit.
fn unit_of(suffix: &str) -> Unit {
    let all = [Unit::Ms, Unit::Mv, Unit::Hz, Unit::Pa, Unit::Pf, Unit::Um, Unit::Steps, Unit::Bytes];
    all.into_iter().find(|u| u.suffix() == suffix).unwrap_or(Unit::One)
}

fn holds(op: Op, value: f64, bound: f64) -> bool {
    match op {
        Op::Equal => value == bound,
        Op::Unequal => value != bound,
        Op::Below => value < bound,
        Op::AtMost => value <= bound,
        Op::Above => value > bound,
        Op::AtLeast => value >= bound,
        Op::Like | Op::Unlike => false,
    }
}

fn compare(
    field: &Field<'_>,
    column: &Word,
    op: Op,
    values: &[Word],
    mut out: Vec<bool>,
) -> Result<Vec<bool>, Mistake> {
    if matches!(op, Op::Like | Op::Unlike) {
        let what = format!("`{}` is a number: compare it with =, !=, <, <=, > or >=", column.text);
        return Err(Mistake::new(&column.at, what));
    }
    if field.values.len() != out.len() {
        return Err(Mistake::new(&column.at, format!("`{}` has no values yet: run the model first", column.text)));
    }
    let bound = number(one(values)?, unit_of(field.unit))?;
    // Rounds the bound to the precision of the values.
    let bound = f64::from(bound as f32);
    out.iter_mut().zip(field.values).for_each(|(out, v)| *out = holds(op, f64::from(*v), bound));
    Ok(out)
}

fn mark_category(known: &Column, column: &Word, op: Op, values: &[Word], out: &mut [bool]) -> Result<(), Mistake> {
    let labels: Vec<&str> = known.labels.iter().map(String::as_str).collect();
    let mut chosen = vec![false; labels.len()];
    for value in values {
        match op {
            Op::Equal | Op::Unequal => {
                let code = labels.iter().position(|l| l.eq_ignore_ascii_case(&value.text));
                let code = code.ok_or_else(|| unknown(&value.at, &column.text, &value.text, &labels))?;
                chosen[code] = true;
            }
            Op::Like | Op::Unlike => {
                let wanted = value.text.to_lowercase();
                chosen.iter_mut().zip(&labels).for_each(|(c, l)| *c |= l.to_lowercase().contains(&wanted));
            }
            _ => {
                let what = format!("`{}` is a category: compare it with =, !=, ~ or !~", column.text);
                return Err(Mistake::new(&column.at, what));
            }
        }
    }
    known.codes.iter().zip(out).for_each(|(c, out)| *out |= chosen.get(usize::from(*c)) == Some(&true));
    Ok(())
}

fn mark_range(value: &Word, out: &mut [bool]) -> Result<(), Mistake> {
    let text = &value.text;
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let no_index = || Mistake::new(&value.at, format!("`{text}` is not an index or a range"));
    let parse = |s: &str| s.trim().parse::<usize>().map_err(|_| no_index());
    let (from, to) = (parse(from)?, parse(to)?);
    let last = out.len().saturating_sub(1);
    if from > to || to > last || out.is_empty() {
        return Err(Mistake::new(&value.at, format!("indices run from 0 to {last}, got {text}")));
    }
    out[from..=to].fill(true);
    Ok(())
}

/// Returns, for each element, whether it has at least `at_least` synapses from the elements `of` (with `is_downstream`)
/// or onto them. Signs of weights are ignored.
fn linked(links: &dyn ConnectionSource, of: &[bool], is_downstream: bool, at_least: f64) -> Vec<bool> {
    let mut sums = vec![0.0_f64; of.len()];
    let mut row = Vec::new();
    for from in 0..links.n().min(of.len() as u32) {
        if is_downstream && !of[from as usize] {
            continue;
        }
        links.read(from, &mut row);
        for link in row.iter().filter(|l| (l.to as usize) < of.len()) {
            let (counted, counts) = if is_downstream { (link.to, true) } else { (from, of[link.to as usize]) };
            sums[counted as usize] += if counts { link.weight.abs() } else { 0.0 };
        }
    }
    sums.into_iter().map(|sum| sum >= at_least).collect()
}

/// Returns the message "there is no X `y`; did you mean `z`?". If no known name is similar, the message lists known names
/// instead.
fn unknown(at: &std::ops::Range<usize>, what: &str, name: &str, known: &[&str]) -> Mistake {
    let near = known.iter().map(|k| (levenshtein(k, name), k)).min().filter(|(d, _)| *d <= 1 + name.len() / 3);
    let hint = match near {
        Some((_, k)) => format!("; did you mean `{k}`?"),
        None if known.is_empty() => "; there are none".to_owned(),
        None => {
            let shown: Vec<&str> = known.iter().copied().filter(|k| !k.is_empty()).take(12).collect();
            let more = if known.len() > 12 { ", …" } else { "" };
            format!("; there is {}{more}", shown.join(", "))
        }
    };
    Mistake::new(at, format!("there is no {what} `{name}`{hint}"))
}

#[cfg(test)]
mod tests;
