//! Trees of the Newick format as the births and deaths of a lineage.
//!
//! A branch is an individual, or a part of its life. A node without a name continues the individual of its branch in its first
//! child, and the others are born there: that is how lineages are exported. A node with a name ends it, and all children are
//! born there: that is how most other programs write trees. The root of a tree is a founder; it begins at 0, or at the step in
//! a comment `[&born=120]` before it. Nodes of one label `#…` are one individual with several parents (extended Newick:
//! Cardona, Rosselló & Valiente 2008).
//!
//! An individual that reaches the last step of all trees lives, unless a comment `[&ended]` stands behind it. One that ends where an individual of several parents begins, as
//! one of them, merged; one with a name and children split; others died. Lengths that are not whole are counted in thousandths.

use super::Trees;
use crate::{
    data::{DataError, input_file},
    sim::{Birth, Death, EndCause, LifeEvent},
};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, HashSet},
    path::Path,
};

/// Largest file, bytes.
const MOST_BYTES: u64 = 1 << 30;
/// Steps per unit of length, where lengths are not whole.
const FINE: f64 = 1000.0;
/// Largest step.
const MOST_STEPS: f64 = 9e15;

/// Reads a file.
pub fn read(path: &Path) -> Result<Trees, DataError> {
    let bytes = std::fs::metadata(path).map_err(|e| DataError::io(path, e))?.len();
    if bytes > MOST_BYTES {
        return Err(DataError::format(path, format!("more than {} MB, the limit", MOST_BYTES >> 20)));
    }
    let text = input_file::read_to_string(path).map_err(|e| DataError::io(path, e))?;
    parse(&text).map_err(|why| DataError::format(path, why))
}

/// An individual while trees are read. Times are in units of length.
#[derive(Debug)]
struct One {
    name: String,
    /// `None`: a label of which only references were read.
    born: Option<f64>,
    end: f64,
    /// Whether it ends in its offspring.
    splits: bool,
    /// Whether it ends even in the last step.
    ended: bool,
    /// That of its own node first.
    parents: Vec<usize>,
}

/// Parses trees; the error says where and what.
pub fn parse(text: &str) -> Result<Trees, String> {
    let mut reader =
        Reader { text: text.as_bytes(), at: 0, all: vec![], labels: HashMap::new(), comment: String::new() };
    while reader.skip()? {
        let born = reader.born();
        let node = reader.tree()?;
        reader.place(node, born)?;
        reader.comment.clear();
    }
    events(reader.all)
}

/// A node: its name, `#label`, length above it, and children.
#[derive(Debug, Default)]
struct Node {
    name: String,
    label: String,
    length: f64,
    ended: bool,
    children: Vec<Node>,
}

impl Drop for Node {
    /// Without recursion: chains of births are long.
    fn drop(&mut self) {
        let mut rest = std::mem::take(&mut self.children);
        while let Some(mut node) = rest.pop() {
            rest.append(&mut node.children);
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    all: Vec<One>,
    /// Individuals by `#label`.
    labels: HashMap<String, usize>,
    /// The last comment.
    comment: String,
}

impl Reader<'_> {
    fn wrong(&self, what: &str) -> String {
        let line = 1 + self.text[..self.at.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count();
        format!("line {line}: {what}")
    }

    /// Skips blanks and comments; whether something is left.
    fn skip(&mut self) -> Result<bool, String> {
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'[' => {
                    let Some(n) = self.text[self.at..].iter().position(|byte| *byte == b']') else {
                        return Err(self.wrong("a comment has no end: a `]` is missing"));
                    };
                    self.comment = String::from_utf8_lossy(&self.text[self.at + 1..self.at + n]).into_owned();
                    self.at += n + 1;
                }
                byte if byte.is_ascii_whitespace() => self.at += 1,
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    /// The step of a comment `[&born=…]` before the tree.
    fn born(&mut self) -> f64 {
        let comment = &self.comment;
        comment
            .strip_prefix("&born=")
            .and_then(|step| step.trim().parse().ok())
            .filter(|step| *step >= 0.0)
            .unwrap_or(0.0)
    }

    fn peek(&mut self) -> Result<Option<u8>, String> {
        Ok(if self.skip()? { Some(self.text[self.at]) } else { None })
    }

    /// A tree up to its semicolon.
    fn tree(&mut self) -> Result<Node, String> {
        // Nodes whose children are being read.
        let mut open: Vec<Node> = vec![];
        loop {
            if self.peek()? == Some(b'(') {
                self.at += 1;
                open.push(Node::default());
                continue;
            }
            let mut done = Node::default();
            loop {
                self.name_and_length(&mut done)?;
                let Some(parent) = open.last_mut() else {
                    return match self.peek()? {
                        Some(b';') => {
                            self.at += 1;
                            Ok(done)
                        }
                        Some(_) => Err(self.wrong("a tree ends with `;`")),
                        None => Err(self.wrong("the last tree has no end: a `;` is missing")),
                    };
                };
                parent.children.push(done);
                match self.peek()? {
                    Some(b',') => {
                        self.at += 1;
                        break;
                    }
                    Some(b')') => {
                        self.at += 1;
                        done = open.pop().unwrap_or_default();
                    }
                    Some(_) => return Err(self.wrong("`,` or `)` was expected")),
                    None => return Err(self.wrong("a `)` is missing")),
                }
            }
        }
    }

    /// `name#label:length`, each of which may be absent, and the comment behind it.
    fn name_and_length(&mut self, node: &mut Node) -> Result<(), String> {
        self.comment.clear();
        let name = match self.peek()? {
            Some(b'\'') => self.quoted()?,
            _ => self.word(b"#"),
        };
        node.name = name;
        if self.text.get(self.at) == Some(&b'#') {
            node.label = self.word(b"");
        }
        if self.peek()? == Some(b':') {
            self.at += 1;
            self.skip()?;
            let text = self.word(b"");
            let length = text.parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
            node.length = length.ok_or_else(|| self.wrong("a length is a number of at least 0"))?;
        }
        self.skip()?;
        // Other programs add entries to comments.
        node.ended = self.comment.trim_start_matches('&').split(',').any(|entry| entry.trim() == "ended");
        Ok(())
    }

    fn quoted(&mut self) -> Result<String, String> {
        let mut name = vec![];
        loop {
            self.at += 1;
            match (self.text.get(self.at), self.text.get(self.at + 1)) {
                (None, _) => return Err(self.wrong("a name has no end: a `'` is missing")),
                (Some(b'\''), Some(b'\'')) => {
                    name.push(b'\'');
                    self.at += 1;
                }
                (Some(b'\''), _) => {
                    self.at += 1;
                    return Ok(String::from_utf8_lossy(&name).into_owned());
                }
                (Some(byte), _) => name.push(*byte),
            }
        }
    }

    /// What stands up to the next mark.
    fn word(&mut self, also: &[u8]) -> String {
        let from = self.at;
        let is_mark = |byte: &u8| b"(),:;[".contains(byte) || byte.is_ascii_whitespace() || also.contains(byte);
        let rest = &self.text[from..];
        self.at += rest.iter().position(is_mark).unwrap_or(rest.len());
        String::from_utf8_lossy(&self.text[from..self.at]).into_owned()
    }

    fn individual(&mut self, label: &str) -> usize {
        let n = self.all.len();
        let index = if label.is_empty() { n } else { *self.labels.entry(label.to_owned()).or_insert(n) };
        if index == n {
            self.all.push(One {
                name: String::new(),
                born: None,
                end: 0.0,
                splits: false,
                ended: false,
                parents: vec![],
            });
        }
        index
    }

    /// Adds the individuals of a tree whose root begins at a step.
    fn place(&mut self, root: Node, born: f64) -> Result<(), String> {
        // Nodes to place: where their branch begins, and whose child or continuation they are.
        let mut rest = vec![(root, born, None, None)];
        while let Some((mut node, from, parent, continued)) = rest.pop() {
            let is_reference = !node.label.is_empty() && node.name.is_empty() && node.children.is_empty();
            let one = match continued {
                // The individual goes on; a label here is that of one which it becomes.
                Some(one) if node.label.is_empty() => one,
                _ => self.individual(&node.label),
            };
            let parent = if continued == Some(one) { None } else { parent.or(continued) };
            let parents = &mut self.all[one].parents;
            if is_reference {
                parents.extend(parent);
                continue;
            }
            parents.splice(0..0, parent);
            let end = from + node.length;
            let individual = &mut self.all[one];
            if continued != Some(one) {
                if individual.born.is_some() {
                    return Err(format!("two nodes are labelled {} and have offspring or a name", node.label));
                }
                individual.born = Some(from);
            }
            individual.end = individual.end.max(end);
            individual.ended |= node.ended;
            let is_named = !node.name.is_empty();
            if is_named {
                individual.name = std::mem::take(&mut node.name);
            }
            let children = std::mem::take(&mut node.children);
            individual.splits |= is_named && !children.is_empty();
            for (i, child) in children.into_iter().enumerate().rev() {
                let goes_on = i == 0 && !is_named;
                rest.push((child, end, (!goes_on).then_some(one), goes_on.then_some(one)));
            }
        }
        Ok(())
    }
}

/// Births and deaths, parents before their children.
fn events(mut all: Vec<One>) -> Result<Trees, String> {
    let times = all.iter().flat_map(|one| [one.born.unwrap_or(0.0), one.end]);
    let (mut is_whole, mut most) = (true, 0.0_f64);
    times.for_each(|time| (is_whole, most) = (is_whole && (time - time.round()).abs() < 1e-6, most.max(time)));
    let scale = if is_whole { 1.0 } else { FINE };
    if most * scale > MOST_STEPS {
        return Err("branches are too long".to_owned());
    }
    let step = |time: f64| (time * scale).round() as u64;
    // Labels of which there are references only begin where their parents are.
    for i in 0..all.len() {
        if all[i].born.is_none() {
            let begins = all[i].parents.iter().map(|p| all[*p].end).fold(0.0, f64::max);
            (all[i].born, all[i].end) = (Some(begins), begins);
        }
        let mut known = HashSet::new();
        all[i].parents.retain(|parent| known.insert(*parent));
    }
    let last = all.iter().map(|one| step(one.end)).max().unwrap_or(0);
    let born = |one: &One| step(one.born.unwrap_or(0.0));
    let mut children: Vec<Vec<usize>> = vec![vec![]; all.len()];
    let mut missing: Vec<usize> = all.iter().map(|one| one.parents.len()).collect();
    for (i, one) in all.iter().enumerate() {
        one.parents.iter().for_each(|parent| children[*parent].push(i));
    }
    // In order of births, and parents first.
    let mut ready: BinaryHeap<Reverse<(u64, usize)>> =
        (0..all.len()).filter(|i| missing[*i] == 0).map(|i| Reverse((born(&all[i]), i))).collect();
    let (mut ids, mut events, mut next) = (vec![0_u64; all.len()], vec![], 0);
    let mut now = 0;
    while let Some(Reverse((at, i))) = ready.pop() {
        // Rounding may put a child a step before its parent.
        now = at.max(now);
        ids[i] = next;
        next += 1;
        let parents = all[i].parents.iter().map(|parent| ids[*parent]).collect();
        let name = all[i].name.clone();
        events.push((now, 1, LifeEvent::Birth(Birth { step: now, child: ids[i], parents, name, ..Birth::default() })));
        let end = step(all[i].end).max(now);
        let merges = children[i].iter().any(|c| all[*c].parents.len() > 1 && born(&all[*c]) == end);
        if end < last || merges || all[i].splits || all[i].ended {
            let cause = match (merges, all[i].splits) {
                (true, _) => EndCause::Merged,
                (_, true) => EndCause::Split,
                _ => EndCause::Died,
            };
            let death = Death { step: end, gone: ids[i], end: cause, health: None, attributes: Default::default() };
            // After all births of its step.
            events.push((end, 2, LifeEvent::Death(death)));
        }
        for child in &children[i] {
            missing[*child] -= 1;
            if missing[*child] == 0 {
                ready.push(Reverse((born(&all[*child]), *child)));
            }
        }
    }
    if next < all.len() as u64 {
        return Err("an individual is its own ancestor".to_owned());
    }
    events.sort_by_key(|(step, order, _)| (*step, *order));
    Ok(Trees { events: events.into_iter().map(|(_, _, event)| event).collect(), last, scale })
}

#[cfg(test)]
mod tests {
    use super::{super::Summary, *};

    /// Name, birth, parents, end and cause of every individual, by id.
    fn lines(text: &str) -> Vec<String> {
        let trees = parse(text).expect("trees");
        let mut all: Vec<String> = vec![];
        for event in &trees.events {
            match event {
                LifeEvent::Birth(b) => all.push(format!("{} {} {:?}", b.name, b.step, b.parents)),
                LifeEvent::Death(d) => all[d.gone as usize] += &format!(" {} {}", d.step, d.end.word()),
            }
        }
        all
    }

    #[test]
    fn exported_trees_are_the_lineage_again() {
        // 0 splits into 2 at step 10; 1 and 2 merge into 3 at step 20; the last step is 30.
        let text = "('a':20,(2:0,#H3:0):10):10;\n('it''s':0,'d'#H3:10):20;\n";
        assert_eq!(lines(text), ["a 0 []", "it's 0 [] 20 merged", "2 10 [0] 20 merged", "d 20 [1, 2]"]);
        let all = parse(text).expect("trees").summary();
        let want = Summary { individuals: 4, founders: 2, splits: 1, merges: 1, alive: 2, first: 0, last: 30 };
        assert_eq!(all, want);
    }

    #[test]
    fn trees_of_other_programs_end_a_branch_at_a_named_node() {
        let text = "[a comment](A:0.5,(B:0.25,C:0.25)[x]E:0.25)Root;";
        let trees = parse(text).expect("a tree");
        assert_eq!((trees.scale, trees.last), (1000.0, 500));
        assert_eq!(lines(text), ["Root 0 [] 0 split", "A 0 [0]", "E 0 [0] 250 split", "B 250 [2]", "C 250 [2]"]);
        assert_eq!(lines("[&born=120](A:3,B:2):5; C:7;"), ["C 0 [] 7 died", "A 120 []", "B 125 [1] 127 died"]);
        assert_eq!(lines(";"), [" 0 []"]);
        assert_eq!(lines("(A:3[&ended],B:3):5[&x=1];"), ["A 0 [] 8 died", "B 5 [0]"]);
        assert_eq!(lines("(A:3[&ended],B:3[&!color=#f00,ended]):5;").len(), 2);
        assert!(parse(" \n").expect("no tree").events.is_empty());
    }

    #[test]
    fn long_chains_are_read_and_bad_text_is_refused_with_its_line() {
        let n = 100_000;
        let chain = format!("{}a:1{};", "(".repeat(n), ",b:1):1".repeat(n));
        assert_eq!(parse(&chain).expect("a chain").summary().individuals, n as u64 + 1);
        for (text, says) in [
            ("(a,b", "`)` is missing"),
            ("(a,b)", "`;` is missing"),
            ("a;\n(a b);", "line 2: `,` or `)`"),
            ("(a:x);", "a length"),
            ("(a:-1);", "a length"),
            ("a:1e30;", "too long"),
            ("'a", "has no end"),
            ("[a", "has no end"),
            ("(a#H1:1,b#H1:1);", "two nodes"),
            ("(x:1,((y:1,#H1:0)#H1:1,z:1):1):1;", "own ancestor"),
            ("a)b;", "ends with"),
        ] {
            let error = parse(text).map(|trees| trees.events).expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
