//! Exports lineages as trees in the Newick format: one tree per founder, one line each.
//!
//! Branch lengths are steps. An individual that has offspring and stays alive is a chain of nodes, one per birth, which
//! ends in a leaf with the individual's name. A merged individual has several parents: it is a child of the first parent
//! and has the label `#H` with its id, and each other parent has a leaf with this label (extended Newick: Cardona, Rosselló
//! & Valiente 2008). The format cannot express two properties, which are written as comments that other programs skip:
//! `[&born=120]` before the tree of a founder that was not born at step 0, and `[&ended]` after the length of an individual
//! that ends in the last step and would otherwise be read as living. [`read`] reads both comments.

mod events;
mod reader;
mod trees;

pub use reader::{parse, read};
pub use trees::{Summary, Trees};

use super::{
    file_names::FileNames,
    output::Outputs,
    trial::{Trial, at},
};
use crate::{project::Stream, sim::Birth};
use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufWriter, Write},
};

pub(super) fn write(trials: &[Trial], names: &FileNames, outputs: &mut Outputs) -> io::Result<()> {
    let lineages = trials.iter().flat_map(|trial| trial.lineages().map(move |stream| (trial, stream)));
    for (i, (trial, stream)) in lineages.enumerate() {
        let path = if i == 0 { names.main.clone() } else { names.of_probe(trial, stream) };
        let file = outputs.create(&path)?;
        write_forest(trial, stream, file).map_err(at(&path))?;
    }
    Ok(())
}

/// Individual of a lineage.
#[derive(Default)]
struct Individual {
    label: String,
    born: u64,
    /// Step of death; `u64::MAX` if the individual is alive.
    end: u64,
    parents: Vec<u64>,
    /// Births of the individual's children in order: step, child.
    births: Vec<(u64, u64)>,
}

/// Element of the stack with which a tree is written.
enum Item {
    /// Individual from its k-th birth on, counted from 0, on a branch that began at step `from`.
    Branch {
        id: u64,
        k: usize,
        from: u64,
    },
    Text(String),
}

/// Individuals of a lineage.
#[derive(Default)]
struct Forest {
    all: HashMap<u64, Individual>,
    /// Ids in the order of births.
    order: Vec<u64>,
}

impl Forest {
    fn add(&mut self, birth: &Birth, end: Option<u64>) {
        let Birth { step, born, child, parents, .. } = birth;
        // Parents that are missing from the lineage lived before it began, and are omitted.
        let parents: Vec<u64> = parents.iter().copied().filter(|parent| self.all.contains_key(parent)).collect();
        for parent in &parents {
            self.all.entry(*parent).or_default().births.push((*step, *child));
        }
        let (born, end) = (born.unwrap_or(*step), end.unwrap_or(u64::MAX));
        self.all.insert(*child, Individual { label: label(birth), born, end, parents, births: vec![] });
        self.order.push(*child);
    }

    /// Writes the trees, one per line; `last` is the last step of the lineage. Fails if the text cannot be written.
    fn write(&self, last: u64, to: &mut impl Write) -> io::Result<()> {
        for root in self.order.iter().filter(|id| self.all[id].parents.is_empty()) {
            let born = self.all[root].born;
            if born > 0 {
                write!(to, "[&born={born}]")?;
            }
            let mut items = vec![Item::Branch { id: *root, k: 0, from: born }];
            while let Some(item) = items.pop() {
                match item {
                    Item::Text(text) => to.write_all(text.as_bytes())?,
                    Item::Branch { id, k, from } => branch(&self.all, (id, k, from), last, &mut items),
                }
            }
            writeln!(to, ";")?;
        }
        Ok(())
    }
}

fn write_forest(trial: &Trial, stream: &Stream, file: File) -> io::Result<()> {
    let mut forest = Forest::default();
    trial.individuals(stream, |birth, death| {
        forest.add(birth, death.map(|death| death.step));
        Ok(())
    })?;
    let mut file = BufWriter::new(file);
    forest.write(trial.manifest().last_step, &mut file)?;
    file.flush()
}

/// Pushes the parts of an individual's branch in reverse order; `last` is the last step of the lineage.
fn branch(all: &HashMap<u64, Individual>, (id, k, from): (u64, usize, u64), last: u64, items: &mut Vec<Item>) {
    let one = &all[&id];
    // The other parents of a merged individual refer to the individual's first node.
    let hybrid = if k == 0 && one.parents.len() > 1 { format!("#H{id}") } else { String::new() };
    let length = |to: u64| to.saturating_sub(from);
    let Some((step, child)) = one.births.get(k).copied() else {
        let mark = if one.end == last { "[&ended]" } else { "" };
        return items.push(Item::Text(format!("{}{hybrid}:{}{mark}", one.label, length(one.end.min(last)))));
    };
    items.push(Item::Text(format!("){hybrid}:{}", length(step))));
    items.push(match all[&child].parents.first() == Some(&id) {
        true => Item::Branch { id: child, k: 0, from: step },
        false => Item::Text(format!("#H{child}:0")),
    });
    items.push(Item::Text(",".to_owned()));
    items.push(Item::Branch { id, k: k + 1, from: step });
    items.push(Item::Text("(".to_owned()));
}

/// Returns the quoted name of an individual, or its id if it has no name.
fn label(birth: &Birth) -> String {
    match birth.name.is_empty() {
        true => birth.child.to_string(),
        false => format!("'{}'", birth.name.replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_are_chains_and_other_parents_of_a_merged_individual_refer_to_it() {
        let mut forest = Forest::default();
        let mut add = |step: u64, child: u64, parents: &[u64], name: &str, end: Option<u64>| {
            let birth = Birth { step, child, parents: parents.to_vec(), name: name.to_owned(), ..Birth::default() };
            forest.add(&birth, end);
        };
        add(0, 0, &[], "a", None);
        add(0, 1, &[], "it's", Some(20));
        add(10, 2, &[0], "", Some(20));
        add(20, 3, &[1, 2], "d", None);
        let mut text = vec![];
        forest.write(30, &mut text).expect("memory");
        assert_eq!(
            String::from_utf8(text).expect("text"),
            "('a':20,(2:0,#H3:0):10):10;\n('it\'\'s':0,'d'#H3:10):20;\n"
        );
    }

    /// Births, parents, ends and names of random lineages are equal after writing and reading.
    #[test]
    fn what_is_written_is_read_back() {
        for seed in 0..30_u64 {
            let mut state = seed;
            let mut random = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            let (mut forest, mut alive) = (Forest::default(), vec![]);
            // Individuals with their ends and births.
            let mut all: Vec<(u64, Birth)> = vec![];
            for step in 0..60_u64 {
                // Up to two events per step; a merged individual begins where both of its parents end.
                for _ in 0..random(3) {
                    let child = all.len() as u64;
                    let parents: Vec<u64> = match (random(4), alive.len()) {
                        (0, n) if n > 1 => {
                            let first = alive.swap_remove(random(n as u64) as usize);
                            vec![first, alive.swap_remove(random(n as u64 - 1) as usize)]
                        }
                        (1, n) if n > 2 => {
                            let gone: u64 = alive.swap_remove(random(n as u64) as usize);
                            all[gone as usize].0 = step;
                            continue;
                        }
                        (2, _) | (_, 0) => vec![],
                        (_, n) => vec![alive[random(n as u64) as usize]],
                    };
                    if parents.len() > 1 {
                        parents.iter().for_each(|parent| all[*parent as usize].0 = step);
                    }
                    let name = if random(2) == 0 { String::new() } else { format!("it's {child}") };
                    all.push((u64::MAX, Birth { step, child, parents, name, ..Birth::default() }));
                    alive.push(child);
                }
            }
            all.iter().for_each(|(end, birth)| forest.add(birth, (*end < u64::MAX).then_some(*end)));
            let mut text = vec![];
            // With odd seeds, some individuals end in the last step.
            forest.write(if seed % 2 == 0 { 100 } else { 59 }, &mut text).expect("memory");
            let text = String::from_utf8(text).expect("text");
            let trees = super::parse(&text, std::path::Path::new("t.nwk"), &|_, _| true).expect("trees");
            // Compared by names, because ids are assigned anew.
            let known =
                |birth: &Birth| if birth.name.is_empty() { birth.child.to_string() } else { birth.name.clone() };
            let mut want: Vec<String> = vec![];
            for (end, birth) in &all {
                let parents: Vec<String> = birth.parents.iter().map(|p| known(&all[*p as usize].1)).collect();
                want.push(format!("{} {} {parents:?} {end}", known(birth), birth.step));
            }
            let (mut names, mut got) = (vec![], vec![]);
            for event in &trees.events {
                match event {
                    crate::sim::LifeEvent::Birth(birth) => {
                        let parents: Vec<&String> = birth.parents.iter().map(|p| &names[*p as usize]).collect();
                        got.push((format!("{} {} {parents:?}", birth.name, birth.step), u64::MAX));
                        names.push(birth.name.clone());
                    }
                    crate::sim::LifeEvent::Death(death) => got[death.gone as usize].1 = death.step,
                }
            }
            let mut got: Vec<String> = got.into_iter().map(|(line, end)| format!("{line} {end}")).collect();
            want.sort_unstable();
            got.sort_unstable();
            assert_eq!(got, want, "seed {seed}: {text}");
            let alive = all.iter().filter(|(end, _)| *end == u64::MAX).count() as u64;
            assert_eq!(trees.summary().alive, alive, "seed {seed}");
        }
    }
}
