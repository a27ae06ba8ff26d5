//! Reads trees in the Newick format as births and deaths of a lineage.
//!
//! A branch is an individual, or a part of its life. A node without a name continues the individual of its branch in its first
//! child and is the birth of the other children: exported lineages have this form. A node with a name ends its individual, and
//! all children are born there: most other programs write this form. The root of a tree is a founder; it begins at 0, or at the
//! step in a comment `[&born=120]` before the tree. Nodes with equal labels `#…` are one individual with several parents
//! (extended Newick: Cardona, Rosselló & Valiente 2008).
//!
//! An individual that reaches the last step of all trees is alive, unless followed by `[&ended]`. An individual that
//! ends where it becomes a parent of an individual with several parents has merged; a named individual with children
//! has split; others died. If any length is not whole, a step is a thousandth of a unit of length.

use super::{
    Trees,
    events::{NewickIndividual, events},
};
use crate::{
    data::{Budget, DataError, ProgressFn, read_text_at_most, text_bytes},
    sim::LifeEvent,
};
use std::{collections::HashMap, path::Path};

/// Maximum size of a file, bytes.
const MOST_BYTES: u64 = 1 << 30;
/// Number of nodes between two progress reports.
const REPORT_EVERY: usize = 4096;
/// Memory per individual, bytes: in the trees, as a birth and a death, and again as a birth and a death in the lineage view.
const INDIVIDUAL_BYTES: u64 = (size_of::<NewickIndividual>() + 4 * size_of::<LifeEvent>() + 128) as u64;

/// Reads a tree file of at most `MOST_BYTES` bytes. `watch` receives the progress and returns `false` to cancel. Fails if
/// the file is too large, is not a tree file or needs too much memory, or if the job is cancelled.
pub fn read(path: &Path, watch: &ProgressFn) -> Result<Trees, DataError> {
    let text = read_text_at_most(path, MOST_BYTES, &|what, part| watch(what, part / 3.0))?;
    parse(&text, path, &|what, part| watch(what, (1.0 + 2.0 * part) / 3.0))
}

/// Parses the trees of a file. An error contains the line and the mistake.
pub fn parse(text: &str, path: &Path, watch: &ProgressFn) -> Result<Trees, DataError> {
    let mut reader = Reader {
        text: text.as_bytes(),
        path,
        watch,
        at: 0,
        nodes: vec![],
        all: vec![],
        labels: HashMap::new(),
        comment: String::new(),
        budget: Budget::of(text.len() as u64),
        most_nodes: 0,
    };
    while reader.skip()? {
        let born = reader.born();
        reader.tree()?;
        reader.place(born)?;
        reader.comment.clear();
    }
    let Reader { all, nodes, labels, .. } = reader;
    drop((nodes, labels));
    events(all, path, watch)
}

/// Node of the tree that is read.
#[derive(Debug, Default)]
struct Node {
    name: String,
    label: String,
    length: f64,
    /// Parent node; `None` for the root.
    parent: Option<u32>,
    is_first_child: bool,
    has_children: bool,
    is_named: bool,
    ended: bool,
    /// Individual of the node, and time at the end of the node's branch in units of branch length.
    one: usize,
    end: f64,
}

struct Reader<'a> {
    text: &'a [u8],
    path: &'a Path,
    watch: &'a ProgressFn<'a>,
    at: usize,
    /// Nodes of the tree that is read, parents before their children, and children in their order.
    nodes: Vec<Node>,
    all: Vec<NewickIndividual>,
    /// Individuals by `#label`.
    labels: HashMap<String, usize>,
    /// Text of the last comment.
    comment: String,
    budget: Budget,
    /// Largest number of nodes in a tree so far.
    most_nodes: usize,
}

impl Reader<'_> {
    fn wrong(&self, what: &str) -> DataError {
        let line = 1 + self.text[..self.at.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count();
        DataError::format(self.path, format!("line {line}: {what}"))
    }

    /// Skips blanks and comments, and keeps the last comment. Returns whether text is left. Fails if a comment has no end.
    fn skip(&mut self) -> Result<bool, DataError> {
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

    /// Returns the time in a comment `[&born=…]` before the tree; 0 without a valid comment.
    fn born(&mut self) -> f64 {
        let comment = &self.comment;
        comment
            .strip_prefix("&born=")
            .and_then(|step| step.trim().parse().ok())
            .filter(|step| *step >= 0.0)
            .unwrap_or(0.0)
    }

    fn peek(&mut self) -> Result<Option<u8>, DataError> {
        Ok(if self.skip()? { Some(self.text[self.at]) } else { None })
    }

    /// Reads a tree up to its semicolon into `nodes`. Fails at the first syntax error, or if memory is exhausted.
    fn tree(&mut self) -> Result<(), DataError> {
        self.nodes.clear();
        // The stack holds the nodes whose children are being read.
        let mut open: Vec<u32> = vec![];
        loop {
            let has_children = self.peek()? == Some(b'(');
            let mut node = self.add_node(open.last().copied())?;
            if has_children {
                self.at += 1;
                open.push(node);
                continue;
            }
            loop {
                self.name_and_length(node)?;
                if open.is_empty() {
                    return match self.peek()? {
                        Some(b';') => {
                            self.at += 1;
                            Ok(())
                        }
                        Some(_) => Err(self.wrong("a tree ends with `;`")),
                        None => Err(self.wrong("the last tree has no end: a `;` is missing")),
                    };
                }
                match self.peek()? {
                    Some(b',') => {
                        self.at += 1;
                        break;
                    }
                    Some(b')') => {
                        self.at += 1;
                        node = open.pop().unwrap_or_default();
                    }
                    Some(_) => return Err(self.wrong("`,` or `)` was expected")),
                    None => return Err(self.wrong("a `)` is missing")),
                }
            }
        }
    }

    /// Adds a node below `parent` and returns its index. Fails if reading is cancelled or memory is exhausted.
    fn add_node(&mut self, parent: Option<u32>) -> Result<u32, DataError> {
        let at = self.nodes.len();
        if at.is_multiple_of(REPORT_EVERY) && !(self.watch)("reading trees", self.at as f32 / self.text.len() as f32) {
            return Err(DataError::Cancelled);
        }
        if at >= self.most_nodes {
            self.most_nodes = at + 1;
            self.budget.take(self.path, (size_of::<Node>() + size_of::<u32>()) as u64)?;
        }
        let is_first_child =
            parent.is_some_and(|parent| !std::mem::replace(&mut self.nodes[parent as usize].has_children, true));
        self.nodes.push(Node { parent, is_first_child, ..Node::default() });
        u32::try_from(at).map_err(|_| self.wrong("the tree has too many nodes"))
    }

    /// Reads `name#label:length`, in which each part is optional, and a following comment. Fails if the length is invalid
    /// or a quote has no end.
    fn name_and_length(&mut self, node: u32) -> Result<(), DataError> {
        self.comment.clear();
        let name = match self.peek()? {
            Some(b'\'') => self.quoted()?,
            _ => self.word(b"#"),
        };
        let mut label = String::new();
        if self.text.get(self.at) == Some(&b'#') {
            label = self.word(b"");
        }
        let mut length = 0.0;
        if self.peek()? == Some(b':') {
            self.at += 1;
            self.skip()?;
            let text = self.word(b"");
            let valid = text.parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
            length = valid.ok_or_else(|| self.wrong("a length is a number of at least 0"))?;
        }
        self.skip()?;
        self.budget.take(self.path, text_bytes(name.len()) + 2 * text_bytes(label.len()))?;
        // Other programs may add entries to comments.
        let ended = self.comment.trim_start_matches('&').split(',').any(|entry| entry.trim() == "ended");
        let node = &mut self.nodes[node as usize];
        node.is_named = !name.is_empty();
        (node.name, node.label, node.length, node.ended) = (name, label, length, ended);
        Ok(())
    }

    fn quoted(&mut self) -> Result<String, DataError> {
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

    /// Reads text up to the next delimiter, blank or byte of `also`.
    fn word(&mut self, also: &[u8]) -> String {
        let from = self.at;
        let is_mark = |byte: &u8| b"(),:;[".contains(byte) || byte.is_ascii_whitespace() || also.contains(byte);
        let rest = &self.text[from..];
        self.at += rest.iter().position(is_mark).unwrap_or(rest.len());
        String::from_utf8_lossy(&self.text[from..self.at]).into_owned()
    }

    fn individual(&mut self, label: &str) -> Result<usize, DataError> {
        let n = self.all.len();
        let index = if label.is_empty() { n } else { *self.labels.entry(label.to_owned()).or_insert(n) };
        if index == n {
            self.budget.take(self.path, INDIVIDUAL_BYTES)?;
            self.all.push(NewickIndividual {
                name: String::new(),
                born: None,
                end: 0.0,
                splits: false,
                ended: false,
                parents: vec![],
            });
        }
        Ok(index)
    }

    /// Adds the individuals of the tree in `nodes`, whose root begins at time `born`. Fails if two nodes with offspring or
    /// a name have equal labels.
    fn place(&mut self, born: f64) -> Result<(), DataError> {
        for at in 0..self.nodes.len() {
            let mut node = std::mem::take(&mut self.nodes[at]);
            let above = node.parent.map(|parent| &self.nodes[parent as usize]);
            let from = above.map_or(born, |above| above.end);
            // The first child of a node without a name continues the node's individual.
            let goes_on = node.is_first_child && above.is_some_and(|above| !above.is_named);
            let (parent, continued) = match above.map(|above| above.one) {
                Some(one) if goes_on => (None, Some(one)),
                other => (other, None),
            };
            let is_reference = !node.label.is_empty() && !node.is_named && !node.has_children;
            let one = match continued {
                // The individual continues. A label here would belong to the individual that it becomes.
                Some(one) if node.label.is_empty() => one,
                _ => self.individual(&node.label)?,
            };
            let parent = if continued == Some(one) { None } else { parent.or(continued) };
            let parents = &mut self.all[one].parents;
            if is_reference {
                parents.extend(parent);
                continue;
            }
            parents.splice(0..0, parent);
            (node.one, node.end) = (one, from + node.length);
            let individual = &mut self.all[one];
            if continued != Some(one) {
                if individual.born.is_some() {
                    let what = format!("two nodes are labelled {} and have offspring or a name", node.label);
                    return Err(DataError::format(self.path, what));
                }
                individual.born = Some(from);
            }
            individual.end = individual.end.max(node.end);
            individual.ended |= node.ended;
            individual.splits |= node.is_named && node.has_children;
            if node.is_named {
                individual.name = std::mem::take(&mut node.name);
            }
            self.nodes[at] = node;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::newick::Summary;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn parse(text: &str) -> Result<Trees, DataError> {
        super::parse(text, Path::new("t.nwk"), &|_, _| true)
    }

    /// Returns name, birth, parents, end and cause of every individual, by id.
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
        // Individual 0 splits into 2 at step 10; 1 and 2 merge into 3 at step 20; the last step is 30.
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
            let error = parse(text).map(|trees| trees.events).expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    /// A node may need only one byte, so a file of a few megabytes would need gigabytes of individuals.
    #[test]
    fn trees_beyond_the_memory_limit_are_refused() {
        let text = format!("({}a)r;", "a,".repeat(4 << 20));
        let error = parse(&text).map(|trees| trees.last).expect_err("too many individuals").to_string();
        assert_eq!(error, "t.nwk: reading it would take more than 768 MB of memory, the limit for its size");
    }

    #[test]
    fn reading_can_be_cancelled() {
        let text = format!("({}a)r;", "a,".repeat(20_000));
        for stop in 0..8 {
            let n = AtomicU32::new(0);
            let watch = |_: &str, _: f32| n.fetch_add(1, Ordering::Relaxed) != stop;
            assert!(matches!(super::parse(&text, Path::new("t.nwk"), &watch), Err(DataError::Cancelled)), "{stop}");
        }
    }
}
