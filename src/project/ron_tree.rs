//! Tree of the values in a RON text with line numbers, for warnings, because serde drops unknown fields and positions. The
//! scanner accepts texts that the parser accepted; for any other text the tree is incomplete.

/// Value with its position.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// Line of the value's first character, from 1.
    pub line: u32,
    /// Byte offset after the value's last character.
    pub end: usize,
    /// Name before the parentheses: a variant, a struct or `Some`.
    pub name: String,
    /// Content of the value.
    pub body: Body,
}

/// Content of a value by form.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Body {
    /// Number, text, name or map.
    Leaf,
    /// Named fields `(a: …, b: …)`: name, line of the name, value.
    Fields(Vec<(String, u32, Node)>),
    /// Sequence `[…]` or `(…, …)`.
    Items(Vec<Node>),
}

impl Node {
    /// Returns the value at a path of field names and item numbers; `None` if there is no such value. Newtype wrappers
    /// (`Spiking((…))`) are transparent.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        match (path, &self.body) {
            (_, Body::Items(items)) if !self.name.is_empty() && items.len() == 1 => items[0].at(path),
            ([], _) => Some(self),
            ([key, rest @ ..], Body::Fields(fields)) => fields.iter().find(|(n, ..)| n == key)?.2.at(rest),
            ([key, rest @ ..], Body::Items(items)) => items.get(key.parse::<usize>().ok()?)?.at(rest),
            _ => None,
        }
    }
}

impl Node {
    /// Returns the names and numbers of the fields that lead to the value around a byte; empty if no value contains the byte.
    pub fn path_to(&self, byte: usize) -> Vec<String> {
        let (step, next) = match &self.body {
            Body::Leaf => return vec![],
            Body::Items(items) if !self.name.is_empty() && items.len() == 1 => return items[0].path_to(byte),
            Body::Items(items) => match items.iter().position(|item| item.end >= byte) {
                Some(i) => (i.to_string(), &items[i]),
                None => return vec![],
            },
            Body::Fields(fields) => match fields.iter().find(|(.., value)| value.end >= byte) {
                Some((name, _, value)) => (name.clone(), value),
                None => return vec![],
            },
        };
        [vec![step], next.path_to(byte)].concat()
    }
}

/// Maximum nesting, larger than the parser's own limit.
const MAX_DEPTH: u32 = 140;

/// Scans a RON text into a tree.
pub(super) fn scan(text: &str) -> Node {
    let mut scanner = Scanner { text: text.as_bytes(), at: 0, line: 1 };
    scanner.skip();
    while scanner.peek() == b'#' {
        scanner.attribute();
    }
    scanner.value(0)
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
}

impl Scanner<'_> {
    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn starts(&self, with: &[u8]) -> bool {
        self.text[self.at..].starts_with(with)
    }

    fn bump(&mut self) {
        if self.peek() == b'\n' {
            self.line += 1;
        }
        self.at = (self.at + 1).min(self.text.len());
    }

    fn done(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Skips white space and comments; block comments nest.
    fn skip(&mut self) {
        loop {
            if self.starts(b"//") {
                while !self.done() && self.peek() != b'\n' {
                    self.bump();
                }
            } else if self.starts(b"/*") {
                let mut depth = 0;
                loop {
                    depth += i32::from(self.starts(b"/*")) - i32::from(self.starts(b"*/"));
                    let edge = self.starts(b"/*") || self.starts(b"*/");
                    self.bump();
                    if edge {
                        self.bump();
                    }
                    if depth == 0 || self.done() {
                        break;
                    }
                }
            } else if self.peek().is_ascii_whitespace() {
                self.bump();
            } else {
                return;
            }
        }
    }

    /// Skips an attribute `#![enable(…)]`.
    fn attribute(&mut self) {
        while !self.done() && self.peek() != b']' {
            self.bump();
        }
        self.bump();
        self.skip();
    }

    fn ident(&mut self) -> String {
        if self.starts(b"r#") && self.text.get(self.at + 2).is_some_and(|c| c.is_ascii_alphabetic()) {
            self.at += 2;
        }
        let start = self.at;
        while matches!(self.peek(), b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | 128..) {
            self.bump();
        }
        String::from_utf8_lossy(&self.text[start..self.at]).into_owned()
    }

    /// Reads a name before a colon. Returns `None` without moving if there is no such name.
    fn field_name(&mut self) -> Option<(String, u32)> {
        let (at, line) = (self.at, self.line);
        let name = self.ident();
        self.skip();
        if !name.is_empty() && self.peek() == b':' {
            self.bump();
            return Some((name, line));
        }
        (self.at, self.line) = (at, line);
        None
    }

    fn value(&mut self, depth: u32) -> Node {
        self.skip();
        let line = self.line;
        if self.string() {
            return Node { line, end: self.at, name: String::new(), body: Body::Leaf };
        }
        let name = self.ident();
        let mut end = self.at;
        let (before, before_line) = (self.at, self.line);
        self.skip();
        let body = match self.peek() {
            b'(' if depth < MAX_DEPTH => self.parenthesised(depth),
            b'[' if depth < MAX_DEPTH && name.is_empty() => self.items(b']', depth),
            b'{' if name.is_empty() => {
                self.balanced();
                Body::Leaf
            }
            _ => {
                (self.at, self.line) = (before, before_line);
                while !self.done() && !matches!(self.peek(), b',' | b')' | b']' | b'}' | b'\n' | b'/') {
                    self.bump();
                }
                Body::Leaf
            }
        };
        if self.at > end {
            end = self.at;
        }
        Node { line, end, name, body }
    }

    fn parenthesised(&mut self, depth: u32) -> Body {
        let (at, line) = (self.at, self.line);
        self.bump();
        self.skip();
        if self.field_name().is_none() {
            (self.at, self.line) = (at, line);
            return self.items(b')', depth);
        }
        (self.at, self.line) = (at, line);
        self.bump();
        let mut fields = vec![];
        loop {
            self.skip();
            let Some((name, line)) = self.field_name() else { break };
            fields.push((name, line, self.value(depth + 1)));
            if !self.comma() {
                break;
            }
        }
        self.close(b')');
        Body::Fields(fields)
    }

    fn items(&mut self, end: u8, depth: u32) -> Body {
        self.bump();
        let mut items = vec![];
        loop {
            self.skip();
            if self.done() || self.peek() == end {
                break;
            }
            let at = self.at;
            items.push(self.value(depth + 1));
            if !self.comma() || self.at == at {
                break;
            }
        }
        self.close(end);
        Body::Items(items)
    }

    fn comma(&mut self) -> bool {
        self.skip();
        let is_comma = self.peek() == b',';
        if is_comma {
            self.bump();
        }
        is_comma
    }

    fn close(&mut self, end: u8) {
        self.skip();
        if self.peek() == end {
            self.bump();
        }
    }

    /// Skips a map as a whole.
    fn balanced(&mut self) {
        let mut depth = 0;
        while !self.done() {
            self.skip();
            if self.string() {
                continue;
            }
            depth += i32::from(matches!(self.peek(), b'(' | b'[' | b'{'));
            depth -= i32::from(matches!(self.peek(), b')' | b']' | b'}'));
            self.bump();
            if depth <= 0 {
                return;
            }
        }
    }

    /// Skips a string, raw string, byte string or character. Returns whether one begins here.
    fn string(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let prefix = rest.iter().take_while(|c| matches!(c, b'r' | b'b')).count().min(2);
        let hashes = rest[prefix..].iter().take_while(|c| **c == b'#').count();
        let raw = rest[..prefix].contains(&b'r');
        match rest.get(prefix + hashes) {
            Some(b'"') if raw => self.raw_string(prefix, hashes),
            Some(b'"' | b'\'') if hashes == 0 => self.quoted(prefix),
            _ => return false,
        }
        true
    }

    fn raw_string(&mut self, prefix: usize, hashes: usize) {
        self.at += prefix + hashes + 1;
        let end: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
        while !self.done() && !self.starts(&end) {
            self.bump();
        }
        self.at = (self.at + end.len()).min(self.text.len());
    }

    fn quoted(&mut self, prefix: usize) {
        self.at += prefix;
        let quote = self.peek();
        self.bump();
        while !self.done() && self.peek() != quote {
            if self.peek() == b'\\' {
                self.bump();
            }
            self.bump();
        }
        self.bump();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_paths_are_found() {
        let text = "#![enable(implicit_some)]\n// (\n(a: 1, /* x( /* y */ */\n b: Some(Big((c: \"q)\\\"\", d: r#\"\n\"#))),\n  list: [(x: 1), (x: 2.5)], m: {\"k\": (1)},\n z: -3)";
        let node = scan(text);
        for (path, line) in [(&["a"][..], 3), (&["b", "c"], 4), (&["b", "d"], 4), (&["list", "1", "x"], 6), (&["z"], 7)]
        {
            assert_eq!(node.at(path).map(|n| n.line), Some(line), "{path:?} in {node:#?}");
        }
        assert!(node.at(&["nothing"]).is_none());
        assert_eq!(&text[..node.at(&["z"]).unwrap().end], &text[..text.len() - 1]);
    }
}
