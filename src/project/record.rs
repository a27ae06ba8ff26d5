//! The entries of `record`: probes, elements and arguments.
//!
//! ```text
//! spikes                           a probe
//! attention:layer=2,head=1         with arguments
//! v[ids 720575940, 720575941]      of these elements, by their public ids
//! v[in sugar]                      of the elements of a selection of the project
//! v[class = gustatory]             of the elements of a query
//! v[12, 55]                        of these elements by index: without ids, and in older projects
//! ```

use super::{Project, schema};
use crate::{
    kinds,
    num::digits::{counted, group_digits},
    params::interventions,
    query::{self, Known},
    sim::{Connectivity, ElementSet, ProbeSpec, Shape, Tap, TapArgs},
};
use std::{collections::HashMap, path::Path, sync::Arc};

/// Maximum number of elements of a selection that are recorded individually.
pub const MAX_RECORDED: usize = 16_384;

/// Context in which the elements of entries are looked up.
#[derive(Clone, Copy, Default)]
pub struct Elements<'a> {
    /// Sets of a simulation. Without sets, ids and queries are not resolved.
    pub sets: &'a [Arc<ElementSet>],
    /// Connections of the simulation; `None` if it has none.
    pub connectivity: Option<&'a Connectivity>,
    /// Folder of the project file, from which paths in queries start; `None` if there is no file.
    pub base: Option<&'a Path>,
}

/// Returns the taps of all probes of spikes.
pub fn spike_taps(probes: &[ProbeSpec]) -> impl Iterator<Item = Tap> + '_ {
    let is_spikes = |p: &ProbeSpec| matches!(p.shape, Shape::Spikes { .. });
    probes.iter().enumerate().filter(move |(_, p)| is_spikes(p)).map(|(i, _)| Tap::of(i as u16))
}

/// Returns an entry that records a probe for the given elements, by public ids if the elements have ids.
pub fn record_entry(probe: &str, set: Option<&ElementSet>, elements: &[u32]) -> String {
    let ids: Option<Vec<u64>> = elements.iter().map(|e| set?.ids.get(*e as usize).copied()).collect();
    let list = |numbers: &mut dyn Iterator<Item = String>| numbers.collect::<Vec<_>>().join(", ");
    match ids.filter(|ids| !ids.is_empty()) {
        Some(ids) => format!("{probe}[{IDS} {}]", list(&mut ids.iter().map(u64::to_string))),
        None => format!("{probe}[{}]", list(&mut elements.iter().map(u32::to_string))),
    }
}

/// Returns an entry that records a probe for the elements of a selection.
pub fn record_selection(probe: &str, selection: &str) -> String {
    format!("{probe}[in {}]", query::quote(selection))
}

/// Returns the query of an entry; `None` if no query determines the entry's elements.
pub fn query_of(entry: &str) -> Option<&str> {
    match split(entry).1 {
        List::Query(query) => Some(query),
        _ => None,
    }
}

/// Returns the text in the brackets of an entry as a query; `None` for an entry without brackets.
pub fn element_query(entry: &str) -> Option<String> {
    match split(entry).1 {
        List::None => None,
        List::Indices(list) => Some(format!("idx = {list}")),
        List::Ids(list) => Some(format!("id = {}", list.trim())),
        List::Query(query) => Some(query.to_owned()),
    }
}

/// Returns an entry with another query and the same probe and arguments.
pub fn with_query(entry: &str, query: &str) -> String {
    format!("{}[{query}]", split(entry).0)
}

/// Returns the name of the probe of an entry.
pub fn probe_of(entry: &str) -> &str {
    let name = split(entry).0;
    name.split_once(':').map_or(name, |(name, _)| name.trim_end())
}

/// Prefix of a list of public ids.
const IDS: &str = "ids";

/// Form of the elements in an entry.
enum List<'a> {
    None,
    Indices(&'a str),
    Ids(&'a str),
    Query(&'a str),
}

/// Splits an entry into the probe with its arguments and the elements.
fn split(entry: &str) -> (&str, List<'_>) {
    let Some((name, list)) = entry.trim().strip_suffix(']').and_then(|w| w.split_once('[')) else {
        return (entry.trim(), List::None);
    };
    let list = list.trim();
    let ids = list.strip_prefix(IDS).filter(|ids| ids.starts_with(char::is_whitespace));
    let is_index = |c: char| c.is_ascii_digit() || c == ',' || c.is_whitespace();
    let list = match ids {
        Some(ids) => List::Ids(ids),
        None if list.chars().all(is_index) => List::Indices(list),
        None => List::Query(list),
    };
    (name.trim(), list)
}

/// Parses the numbers of a list. Fails for an invalid number; `what` names a number in the error, such as `index`.
fn numbers<T: std::str::FromStr>(list: &str, entry: &str, what: &str) -> Result<Vec<T>, String> {
    let items = list.split(',').map(str::trim).filter(|s| !s.is_empty());
    items.map(|item| item.parse().map_err(|_| format!("`record`: `{item}` in `{entry}` is not an {what}"))).collect()
}

/// Returns the indices of the elements with the given ids; empty if the set is not in `sets`. Fails for an unknown id.
fn indices_of(ids: &[u64], of: &str, sets: &[Arc<ElementSet>]) -> Result<Vec<u32>, String> {
    let Some(set) = sets.iter().find(|set| set.name == of) else { return Ok(vec![]) };
    let places: HashMap<u64, u32> = set.ids.iter().copied().zip(0..).collect();
    let place = |id| places.get(id).copied().ok_or_else(|| format!("`record`: none of the {of} has id {id}"));
    ids.iter().map(place).collect()
}

impl Project {
    /// Returns the tap of an entry of `record`. Fails with a sentence about the mistake.
    pub(super) fn tap_of(&self, entry: &str, elements: &Elements<'_>) -> Result<Tap, String> {
        let probes = self.model.probes();
        let (name, list) = split(entry);
        let (name, args) = name.split_once(':').map_or((name, ""), |(name, args)| (name.trim_end(), args));
        let Some(probe) = probes.iter().position(|p| p.name == name) else {
            let hint = schema::nearest(name, probes.iter().map(|p| p.name));
            return Err(format!("`record`: this kind has no probe `{name}`{hint}"));
        };
        let set_of = || match probes[probe].shape {
            Shape::Series { of } if !of.is_empty() => Ok(of),
            _ => Err(format!("`record`: {name} is not recorded for single elements")),
        };
        let found = match list {
            List::None => vec![],
            List::Indices(list) => numbers(list, entry, "index")?,
            List::Ids(list) => indices_of(&numbers(list, entry, "id")?, set_of()?, elements.sets)?,
            List::Query(query) => self
                .select(query, set_of()?, elements)
                .and_then(|found| match found.len() {
                    n if n > MAX_RECORDED => Err(format!(
                        "these are {}; single ones are recorded of at most {}",
                        counted(n, "element", "elements"),
                        group_digits(MAX_RECORDED as u64)
                    )),
                    _ => Ok(found),
                })
                .map_err(|why| format!("`record`: {name}[{query}]: {why}"))?,
        };
        let args = TapArgs::parse(args, probes[probe].args).map_err(|why| format!("`record`: {name}: {why}"))?;
        Ok(Tap { probe: probe as u16, elements: found, args, ..Tap::default() })
    }

    /// Returns the elements of the set `of` that a query selects. If the set is unknown, only the grammar is checked and
    /// the list is empty. Fails if the query is invalid.
    pub fn select(&self, query: &str, of: &str, elements: &Elements<'_>) -> Result<Vec<u32>, String> {
        query::parse(query).map_err(|wrong| wrong.of(query))?;
        let Some((at, set)) = elements.sets.iter().enumerate().find(|(_, set)| set.name == of) else {
            return Ok(vec![]);
        };
        let named = interventions::selections(self.model.params());
        let named = named.into_iter().map(query::Named::from).filter(|s| s.is_over(of, at == 0)).collect::<Vec<_>>();
        let context = elements.base.map(|base| self.build_context(base));
        let listed = |typed: &str| match &context {
            Some(context) => kinds::shared::element_files::read_neurons(&context.resolve(typed), &set.ids, set.len)
                .map_err(|error| error.to_string()),
            None => Err("files are not read here".to_owned()),
        };
        let links = elements.connectivity.filter(|c| c.over == of).map(|c| &*c.connections);
        let (set, seed) = (&**set, self.seed);
        let known = Known { set, individuals: &[], named: &named, fields: &[], links, seed, listed: &listed };
        known.select(query).map_err(|wrong| wrong.of(query))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Column;

    fn taps(project: &Project, entry: &str, sets: &[Arc<ElementSet>]) -> (Vec<Tap>, Vec<String>) {
        let project = Project { record: vec![entry.to_owned()], ..project.clone() };
        project.taps_in(&Elements { sets, ..Elements::default() })
    }

    #[test]
    fn recorded_elements_are_named_by_their_ids() {
        let ids = vec![720_575_940_000_000_001, 720_575_940_000_000_007];
        let set = |ids: Vec<u64>| ElementSet { name: "neurons", len: 2, ids, ..ElementSet::default() };
        let (known, generated) = (set(ids), set(vec![]));
        assert_eq!(record_entry("v", Some(&known), &[1]), "v[ids 720575940000000007]");
        assert_eq!(record_entry("v", Some(&generated), &[1, 0]), "v[1, 0]", "an index is all they have");
        let taps = |entry: &str, sets: &[Arc<ElementSet>]| taps(&Project::default(), entry, sets);
        let sets = [Arc::new(known.clone())];
        for (entry, elements) in [(record_entry("v", Some(&known), &[1, 0]), vec![1, 0]), ("v[1]".into(), vec![1])] {
            let (found, problems) = taps(&entry, &sets);
            assert_eq!((&found[0].elements, problems.len()), (&elements, 0), "{entry}");
        }
        // After the elements were reordered, ids still match, and indices keep their old meaning.
        let turned = set(known.ids.iter().rev().copied().collect());
        assert_eq!(taps("v[ids 720575940000000007]", &[Arc::new(turned)]).0[0].elements, [0]);
        assert_eq!(taps("v[ids 5]", &sets).1, ["`record`: none of the neurons has id 5"]);
        assert_eq!(taps("v[ids x]", &sets).1, ["`record`: `x` in `v[ids x]` is not an id"]);
        assert!(taps("v[ids 5]", &[]).1.is_empty(), "the elements are not known yet");
        assert!(taps("spikes[ids 5]", &sets).1[0].contains("not recorded for single elements"));
    }

    #[test]
    fn recorded_elements_are_named_by_a_selection() {
        let mut project = Project::default();
        let params = project.model.params_mut();
        for (item, (name, query)) in
            [("sugar", "class = sweet"), ("Left side", "in sugar and idx < 2")].iter().enumerate()
        {
            let group = interventions::list(params, crate::params::Role::Selections).unwrap();
            params.push(group as u8);
            for (role, text) in [(crate::params::Role::Name, name), (crate::params::Role::Query, query)] {
                let field = interventions::field(params, group, role).unwrap();
                let id = crate::params::ParamId { item: item as u16, ..crate::params::ParamId::of(group, field) };
                let value = crate::params::Value::Text((*text).to_owned());
                assert!(params.set(&crate::params::Change { id, value }));
            }
        }
        let column = Column::from_texts("class", &["sweet", "bitter", "sweet"]);
        let set = ElementSet { name: "neurons", len: 3, columns: vec![column], ..ElementSet::default() };
        let sets = [Arc::new(set)];
        for (entry, elements) in [
            (record_selection("v", "sugar"), vec![0, 2]),
            (record_selection("v", "Left side"), vec![0]),
            ("v[sugar]".to_owned(), vec![0, 2]),
            ("v[class = bitter or idx = 2]".to_owned(), vec![1, 2]),
        ] {
            let (found, problems) = taps(&project, &entry, &sets);
            assert_eq!((&problems[..], &found[0].elements), (&[][..], &elements), "{entry}");
            assert!(taps(&project, &entry, &[]).1.is_empty(), "{entry}: the elements are not known yet");
        }
        let problem = |entry: &str| taps(&project, entry, &sets).1.concat();
        assert_eq!(
            problem("v[in suger]"),
            "`record`: v[in suger]: `in suger`, at `suger`: there is no selection `suger`; did you mean `sugar`?"
        );
        assert_eq!(problem("v[class = ]"), "`record`: v[class =]: `class =`: a value is missing");
        assert!(problem("spikes[in sugar]").contains("not recorded for single elements"));
        assert_eq!(probe_of("v:layer=2[in sugar]"), "v");
        assert_eq!(query_of("v[in sugar]").map(|_| with_query("v[in sugar]", "in sweet")).unwrap(), "v[in sweet]");
    }
}
