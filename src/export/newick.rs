//! Lineages as trees of the Newick format: one tree per founder, one line each.
//!
//! Branch lengths are steps. An individual that has offspring and lives on is a chain of nodes, one per birth, that ends in a
//! leaf of its name. A merged individual has several parents: it stands below the first one, with a label `#H` and its id,
//! and as a leaf with that label below the others (extended Newick: Cardona, Rosselló & Valiente 2008).

use super::{Format, Outputs, Trial, at, beside};
use crate::{
    project::{RunFolder, Stream},
    sim::Birth,
};
use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

pub(super) fn write(run: &RunFolder, trials: &[Trial], out: &Path, outputs: &mut Outputs) -> io::Result<()> {
    let mut n = 0;
    for trial in trials {
        for stream in trial.lineages() {
            let path = if n == 0 { out.to_owned() } else { beside(out, run, trial.number(), stream, Format::Newick) };
            let file = outputs.create(&path)?;
            write_forest(trial, stream, file).map_err(at(&path))?;
            n += 1;
        }
    }
    match n {
        0 => Err(io::Error::new(io::ErrorKind::NotFound, "the run has no lineage: record the probe `lineage`")),
        _ => Ok(()),
    }
}

/// An individual.
#[derive(Default)]
struct Individual {
    label: String,
    born: u64,
    /// Step of its death, or the last one of the lineage.
    end: u64,
    parents: Vec<u64>,
    /// Births that it is a parent of, in order: step and child.
    births: Vec<(u64, u64)>,
}

/// What is written next.
enum Item {
    /// An individual from its k-th birth on; the branch began at a step.
    Branch {
        id: u64,
        k: usize,
        from: u64,
    },
    Text(String),
}

/// The individuals of a lineage.
#[derive(Default)]
struct Forest {
    all: HashMap<u64, Individual>,
    /// Ids in the order of births.
    order: Vec<u64>,
}

impl Forest {
    fn add(&mut self, birth: &Birth, end: Option<u64>) {
        let Birth { step, born, child, parents, .. } = birth;
        // Parents that are not in the lineage lived before it began.
        let parents: Vec<u64> = parents.iter().copied().filter(|parent| self.all.contains_key(parent)).collect();
        for parent in &parents {
            self.all.entry(*parent).or_default().births.push((*step, *child));
        }
        let (born, end) = (born.unwrap_or(*step), end.unwrap_or(u64::MAX));
        self.all.insert(*child, Individual { label: label(birth), born, end, parents, births: vec![] });
        self.order.push(*child);
    }

    /// Writes the trees; `last` is the last step of the lineage.
    fn write(&self, last: u64, to: &mut impl Write) -> io::Result<()> {
        for root in self.order.iter().filter(|id| self.all[id].parents.is_empty()) {
            let mut items = vec![Item::Branch { id: *root, k: 0, from: self.all[root].born }];
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

/// Pushes the parts of a branch, the last one first.
fn branch(all: &HashMap<u64, Individual>, (id, k, from): (u64, usize, u64), last: u64, items: &mut Vec<Item>) {
    let one = &all[&id];
    // The first node of a merged individual is the one that its other parents refer to.
    let hybrid = if k == 0 && one.parents.len() > 1 { format!("#H{id}") } else { String::new() };
    let length = |to: u64| to.saturating_sub(from);
    let Some((step, child)) = one.births.get(k).copied() else {
        return items.push(Item::Text(format!("{}{hybrid}:{}", one.label, length(one.end.min(last)))));
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

/// Its name in quotes, or its id.
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
}
