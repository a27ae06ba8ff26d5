//! Which file of `src` uses which: `use` declarations and inline paths, followed through re-exports to the file of the
//! definition. A re-export itself is no use, and neither is code that only tests compile.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// A file of `src` and the files that it uses.
pub struct File {
    /// Path below `src`.
    pub path: String,
    /// Indices of the used files.
    pub uses: BTreeSet<usize>,
}

/// All files below `src` with what they use.
pub fn graph(src: &Path) -> Vec<File> {
    let mut paths = vec![];
    list(src, &mut paths);
    let mut files: Vec<(String, Vec<String>)> = paths
        .iter()
        .map(|path| path.strip_prefix(src).expect("below src").to_string_lossy().replace('\\', "/"))
        .filter(|path| path != "main.rs" && !is_test_file(path))
        .map(|path| (path.clone(), module(&path)))
        .collect();
    files.sort();
    let modules: BTreeMap<&[String], usize> = files.iter().enumerate().map(|(i, (_, m))| (&m[..], i)).collect();
    let used: Vec<Used> = files
        .iter()
        .map(|(path, module)| {
            let text = fs::read_to_string(src.join(path)).expect("a source file");
            let is_child = |child: &str| modules.contains_key(&[module, &[child.to_owned()][..]].concat()[..]);
            paths_of(&tokens(&text), module, is_child)
        })
        .collect();
    let uses = |(i, (path, _)): (usize, &(String, Vec<String>))| {
        let found = used[i].paths.iter().filter_map(|path| definition(path, &modules, &used));
        File { path: path.clone(), uses: found.filter(|j| *j != i).collect() }
    };
    files.iter().enumerate().map(uses).collect()
}

/// Absolute paths that a file uses, and those that it exports again, by name.
#[derive(Default)]
struct Used {
    paths: Vec<Vec<String>>,
    exports: BTreeMap<String, Vec<String>>,
}

/// The file in which the item of a path is defined.
fn definition(path: &[String], modules: &BTreeMap<&[String], usize>, used: &[Used]) -> Option<usize> {
    let mut path = path.to_vec();
    for _ in 0..8 {
        let n = (1..=path.len()).rev().find(|n| modules.contains_key(&path[..*n]))?;
        let file = modules[&path[..n]];
        match path.get(n).and_then(|name| used[file].exports.get(name)) {
            Some(exported) => path = exported.iter().chain(&path[n + 1..]).cloned().collect(),
            None => return Some(file),
        }
    }
    None
}

/// Circles: sets of files of which each reaches each other, largest first; Tarjan's algorithm.
pub fn circles(files: &[File]) -> Vec<Vec<usize>> {
    let mut search = Search { files, index: vec![None; files.len()], low: vec![0; files.len()], ..Search::default() };
    for file in 0..files.len() {
        if search.index[file].is_none() {
            search.visit(file);
        }
    }
    search.found.retain(|circle| circle.len() > 1);
    search.found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    search.found
}

#[derive(Default)]
struct Search<'a> {
    files: &'a [File],
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    n_visited: usize,
    stack: Vec<usize>,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, file: usize) {
        let number = self.n_visited;
        self.n_visited += 1;
        (self.index[file], self.low[file]) = (Some(number), number);
        self.stack.push(file);
        for &used in &self.files[file].uses {
            match self.index[used] {
                None => {
                    self.visit(used);
                    self.low[file] = self.low[file].min(self.low[used]);
                }
                Some(index) if self.stack.contains(&used) => self.low[file] = self.low[file].min(index),
                Some(_) => {}
            }
        }
        if self.low[file] == number {
            let start = self.stack.iter().position(|f| *f == file).expect("on the stack");
            self.found.push(self.stack.split_off(start));
        }
    }
}

fn list(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            list(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn is_test_file(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// The path of a file's module, without the crate.
fn module(path: &str) -> Vec<String> {
    let path = path.strip_suffix(".rs").expect("a source file");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if path == "lib" { vec![] } else { path.split('/').map(str::to_owned).collect() }
}

/// Identifiers, `::` and single characters; without comments, strings, characters and lifetimes.
pub fn tokens(text: &str) -> Vec<String> {
    let (mut found, c): (Vec<String>, Vec<char>) = (vec![], text.chars().collect());
    let mut i = 0;
    while i < c.len() {
        let rest = &c[i..];
        let starts = |what: &str| what.chars().enumerate().all(|(k, w)| rest.get(k) == Some(&w));
        if starts("//") {
            i += rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
        } else if starts("/*") {
            i += rest.windows(2).position(|w| w == ['*', '/']).map_or(rest.len(), |n| n + 2);
        } else if let Some(n) = string_length(rest) {
            i += n;
        } else if rest[0].is_alphabetic() || rest[0] == '_' {
            let n = rest.iter().position(|c| !c.is_alphanumeric() && *c != '_').unwrap_or(rest.len());
            found.push(rest[..n].iter().collect());
            i += n;
        } else if starts("::") {
            found.push("::".to_owned());
            i += 2;
        } else {
            if !rest[0].is_whitespace() {
                found.push(rest[0].to_string());
            }
            i += 1;
        }
    }
    found
}

/// Length of the string, character or lifetime that begins here.
fn string_length(c: &[char]) -> Option<usize> {
    let prefix = c.iter().take(2).take_while(|c| matches!(c, 'b' | 'r' | 'c')).count();
    let hashes = c[prefix..].iter().take_while(|c| **c == '#').count();
    let is_raw = c[..prefix].contains(&'r');
    let body = prefix + if is_raw { hashes } else { 0 };
    if c.get(body) == Some(&'"') {
        let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', body - prefix)).collect();
        let mut i = body + 1;
        while i < c.len() && !c[i..].starts_with(&end) {
            i += if c[i] == '\\' && !is_raw { 2 } else { 1 };
        }
        return Some(i + end.len());
    }
    if c[0] != '\'' {
        return None;
    }
    match c.get(1..3) {
        Some(['\\', _]) => c.iter().skip(3).position(|c| *c == '\'').map(|n| n + 4),
        Some([_, '\'']) => Some(3),
        _ => Some(1),
    }
}

/// Absolute paths that a module uses.
fn paths_of(t: &[String], module: &[String], is_child: impl Fn(&str) -> bool) -> Used {
    let (mut found, mut exports, mut i) = (vec![], BTreeMap::new(), 0);
    while i < t.len() {
        let is = |k: usize, what: &str| t.get(k).is_some_and(|t| t == what);
        let is_test = is(i, "#") && is(i + 2, "cfg") && is(i + 4, "test");
        if is_test || (is(i, "mod") && is(i + 1, "tests") && is(i + 2, "{")) {
            i = if is_test { end_of_item(t, i + 7) } else { end_of_item(t, i) };
        } else if is(i, "(") && is(i + 1, "in") {
            i += 1 + t[i..].iter().position(|t| t == ")").unwrap_or(0); // a visibility uses nothing
        } else if is(i, "use") {
            let end = i + t[i..].iter().position(|t| t == ";").unwrap_or(t.len() - i);
            let is_public = i > 0 && (is(i - 1, "pub") || is(i - 1, ")"));
            tree(&t[i + 1..end], &mut vec![], &mut |path| {
                let Some(path) = absolute(path, module, &is_child) else { return };
                match path.last().cloned().filter(|_| is_public) {
                    Some(name) => drop(exports.insert(name, path)),
                    None => found.push(path),
                }
            });
            i = end;
        } else if is(i + 1, "::") && (i == 0 || !is(i - 1, "::")) {
            let mut path = vec![t[i].clone()];
            let mut k = i + 1;
            while is(k, "::") && t.get(k + 1).is_some_and(|t| t.starts_with(|c: char| c.is_alphabetic() || c == '_')) {
                path.push(t[k + 1].clone());
                k += 2;
            }
            found.extend(absolute(&path, module, &is_child));
            i = k;
        } else {
            i += 1;
        }
    }
    Used { paths: found, exports }
}

/// Where the item that begins here ends: behind its block or semicolon.
fn end_of_item(t: &[String], start: usize) -> usize {
    let mut depth = 0;
    for (k, token) in t.iter().enumerate().skip(start) {
        match token.as_str() {
            "{" => depth += 1,
            "}" if depth == 1 => return k + 1,
            "}" => depth -= 1,
            ";" if depth == 0 => return k + 1,
            _ => {}
        }
    }
    t.len()
}

/// Passes each path of a `use` tree.
fn tree(t: &[String], prefix: &mut Vec<String>, found: &mut dyn FnMut(&[String])) {
    let length = prefix.len();
    let mut i = 0;
    while i < t.len() {
        match t[i].as_str() {
            "{" => {
                let (mut depth, mut start) = (0, i + 1);
                for k in i..t.len() {
                    match t[k].as_str() {
                        "{" => depth += 1,
                        "}" => depth -= 1,
                        _ => {}
                    }
                    if (depth == 1 && t[k] == ",") || depth == 0 {
                        tree(&t[start..k], prefix, found);
                        start = k + 1;
                    }
                    if depth == 0 {
                        break;
                    }
                }
                prefix.truncate(length);
                return;
            }
            "as" => break,
            "::" => {}
            name => prefix.push(name.to_owned()),
        }
        i += 1;
    }
    if prefix.len() > length {
        found(prefix);
    }
    prefix.truncate(length);
}

fn absolute(path: &[String], module: &[String], is_child: &dyn Fn(&str) -> bool) -> Option<Vec<String>> {
    let (mut base, mut rest) = match path[0].as_str() {
        "crate" => (vec![], &path[1..]),
        "super" | "self" => (module.to_vec(), path),
        name if is_child(name) => (module.to_vec(), path),
        _ => return None,
    };
    while let Some(first) = rest.first() {
        match first.as_str() {
            "super" => drop(base.pop()),
            "self" => {}
            _ => break,
        }
        rest = &rest[1..];
    }
    base.extend(rest.iter().cloned());
    Some(base)
}
