//! Parser of queries, which checks only the grammar.

use super::{
    Mistake, Op, Query, Word,
    token::{Piece, Token, tokens},
};

/// Maximum nesting of parentheses and `not`.
const DEPTH: u32 = 64;

pub fn parse(text: &str) -> Result<Query, Mistake> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, at: 0, end: text.len(), depth: 0 };
    let query = parser.query()?;
    match parser.peek() {
        None => Ok(query),
        Some(token) => {
            let what = format!("`{}` was not expected here; join tests with `and` or `or`", token.word.text);
            Err(Mistake::new(&token.word.at, what))
        }
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    end: usize,
    depth: u32,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn peeks(&self, word: &str) -> bool {
        self.peek().is_some_and(|t| t.is(word))
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.peeks(word);
        self.at += usize::from(found);
        found
    }

    /// Returns an error at the next token, or at the end of the query.
    fn wrong(&self, what: &str) -> Mistake {
        let at = self.peek().map_or(self.end..self.end, |t| t.word.at.clone());
        Mistake::new(&at, what)
    }

    fn op(&mut self) -> Option<Op> {
        let Some(Token { piece: Piece::Op(op), .. }) = self.peek() else { return None };
        let op = *op;
        self.at += 1;
        Some(op)
    }

    fn query(&mut self) -> Result<Query, Mistake> {
        let is_random = self.peeks("random");
        // A column may also be named `first`; only a choice has a number after `first`.
        let is_number = |t: &&Token| t.piece == Piece::Word && t.word.text.parse::<usize>().is_ok();
        let count = self.tokens.get(self.at + 1).filter(is_number).map(|t| t.word.clone());
        let Some(count) = count.filter(|_| is_random || self.peeks("first")) else { return self.or() };
        self.at += 2;
        if !self.take("of") {
            return Err(self.wrong("write `random 21 of …` or `first 21 of …`"));
        }
        Ok(Query::Choose { count, is_random, of: Box::new(self.or()?) })
    }

    fn or(&mut self) -> Result<Query, Mistake> {
        let first = self.and()?;
        let mut all = vec![first];
        while self.take("or") {
            all.push(self.and()?);
        }
        Ok(joined(all, Query::Or))
    }

    fn and(&mut self) -> Result<Query, Mistake> {
        let first = self.not()?;
        let mut all = vec![first];
        while self.take("and") {
            all.push(self.not()?);
        }
        Ok(joined(all, Query::And))
    }

    fn not(&mut self) -> Result<Query, Mistake> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.wrong(&format!("parentheses and `not` are nested more than {DEPTH} deep")));
        }
        let inner = if self.take("not") {
            Query::Not(Box::new(self.not()?))
        } else if self.take("(") {
            let inner = self.query()?;
            if !self.take(")") {
                return Err(self.wrong("a parenthesis is not closed"));
            }
            inner
        } else if self.is_linked() {
            self.linked()?
        } else {
            self.atom()?
        };
        self.depth -= 1;
        Ok(inner)
    }

    fn is_linked(&self) -> bool {
        let is_word = self.peeks("downstream") || self.peeks("upstream");
        is_word && self.tokens.get(self.at + 1).is_some_and(|t| t.is("of"))
    }

    fn linked(&mut self) -> Result<Query, Mistake> {
        let word = self.tokens[self.at].word.clone();
        self.at += 2;
        let of = Box::new(self.source()?);
        let at_least = match self.peek() {
            Some(Token { piece: Piece::Op(Op::AtLeast), .. }) => {
                self.at += 1;
                Some(self.count()?)
            }
            Some(Token { piece: Piece::Op(_), .. }) => {
                let what =
                    "write `downstream of … >= 5`; a test has to be in parentheses: `downstream of (side = left)`";
                return Err(self.wrong(what));
            }
            _ => None,
        };
        let is_downstream = word.text.eq_ignore_ascii_case("downstream");
        Ok(Query::Linked { word, is_downstream, of, at_least })
    }

    /// Parses the source of a link: a name without a comparison, because `>=` belongs to the count, or an expression in
    /// parentheses. Fails with the mistake at the next token.
    fn source(&mut self) -> Result<Query, Mistake> {
        let is_name = |t: &&Token| matches!(t.piece, Piece::Word | Piece::Quoted);
        let is_plain = !["(", "in", "all", "not"].iter().any(|w| self.peeks(w)) && !self.is_linked();
        match self.peek().filter(is_name).map(|t| t.word.clone()) {
            Some(name) if is_plain => {
                self.at += 1;
                Ok(Query::Set(name))
            }
            _ => self.not(),
        }
    }

    fn count(&mut self) -> Result<Word, Mistake> {
        let is_count = |t: &&Token| t.piece == Piece::Word && t.word.text.parse::<u64>().is_ok();
        let word = self.peek().filter(is_count).map(|t| t.word.clone());
        let word = word.ok_or_else(|| self.wrong("a number of synapses was expected here"))?;
        self.at += 1;
        Ok(word)
    }

    fn atom(&mut self) -> Result<Query, Mistake> {
        let before = self.at;
        if self.take("all") && !matches!(self.peek(), Some(Token { piece: Piece::Op(_), .. })) {
            return Ok(Query::All);
        }
        self.at = before;
        if self.take("in") {
            let is_name = |t: &&Token| matches!(t.piece, Piece::Word | Piece::Quoted);
            let name = self.peek().filter(is_name).map(|t| t.word.clone());
            let name = name.ok_or_else(|| self.wrong("the name of a set was expected here"))?;
            self.at += 1;
            return Ok(Query::Set(name));
        }
        let Some(token) = self.peek().cloned() else { return Err(self.wrong("something is missing at the end")) };
        let is_joint = ["and", "or", "of"].iter().any(|w| token.is(w));
        if is_joint || !matches!(token.piece, Piece::Word | Piece::Quoted) {
            return Err(self.wrong("a test was expected here"));
        }
        self.at += 1;
        match self.op() {
            None => Ok(Query::Set(token.word)),
            Some(op) => Ok(Query::Test(token.word, op, self.values()?)),
        }
    }

    /// Parses the values of a comparison, separated by commas; adjacent words are one value. Fails with the mistake at the
    /// next token.
    fn values(&mut self) -> Result<Vec<Word>, Mistake> {
        let mut out = Vec::new();
        loop {
            let from = self.at;
            while self.peek().is_some_and(|t| !t.ends_value()) {
                self.at += 1;
            }
            let words = &self.tokens[from..self.at];
            let (Some(first), Some(last)) = (words.first(), words.last()) else {
                return Err(self.wrong("a value is missing"));
            };
            let text: Vec<&str> = words.iter().map(|t| t.word.text.as_str()).collect();
            out.push(Word { text: text.join(" "), at: first.word.at.start..last.word.at.end });
            if !self.take(",") {
                return Ok(out);
            }
        }
    }
}

/// Joins queries; returns a single query unchanged.
fn joined(mut all: Vec<Query>, join: fn(Vec<Query>) -> Query) -> Query {
    match all.len() {
        1 => all.remove(0),
        _ => join(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deterministic stream of numbers.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % sides
        }

        fn word(&mut self, choices: &[&str]) -> Word {
            Word { text: choices[self.roll(choices.len())].to_owned(), at: 0..0 }
        }

        fn query(&mut self, depth: u32) -> Query {
            let pick = if depth == 0 { self.roll(3) } else { self.roll(8) };
            match pick {
                0 => Query::All,
                1 => Query::Set(self.word(&["sugar", "P 9", "and", "it's", "Zoë \"x", "all", "5..9"])),
                2 => {
                    let n = 1 + self.roll(3);
                    let values = (0..n).map(|_| self.word(&["LB3 a", "or", "20 Hz", "ä,b", "(", "x", "not"])).collect();
                    Query::Test(self.word(&["class", "in", "first", "rate", "a b"]), Op::ALL[self.roll(8)], values)
                }
                3 => Query::Not(Box::new(self.query(depth - 1))),
                4 | 5 => {
                    let all = (0..2 + self.roll(3)).map(|_| self.query(depth - 1)).collect();
                    if pick == 4 { Query::And(all) } else { Query::Or(all) }
                }
                6 => {
                    let of = Box::new(self.query(depth - 1));
                    Query::Choose { count: self.word(&["0", "21"]), is_random: self.roll(2) == 0, of }
                }
                _ => {
                    let of = Box::new(self.query(depth - 1));
                    let at_least = (self.roll(2) == 0).then(|| self.word(&["5"]));
                    let is_downstream = self.roll(2) == 0;
                    let word = Word { text: if is_downstream { "downstream" } else { "upstream" }.into(), at: 0..0 };
                    Query::Linked { word, is_downstream, of, at_least }
                }
            }
        }
    }

    /// A text with both `"` and `'` cannot be quoted; the random queries contain no such text.
    #[test]
    fn a_printed_query_parses_to_itself() {
        let mut dice = Dice(7);
        for round in 0..20_000 {
            let query = dice.query(5);
            let text = query.to_string();
            assert_eq!(parse(&text).as_ref(), Ok(&query), "round {round}: {text}");
        }
    }

    #[test]
    fn no_text_panics_and_errors_point_inside_it() {
        let bits = [
            "class",
            "=",
            "!=",
            "!",
            "~",
            "!~",
            "<",
            ">=",
            "(",
            ")",
            ",",
            "and",
            "or",
            "not",
            "in",
            "all",
            "of",
            "first",
            "random",
            "21",
            "\"",
            "'",
            "ä",
            "…",
            " ",
            "downstream",
            "upstream",
            "\u{feff}",
            "\t",
            "x y",
        ];
        let mut dice = Dice(1);
        let mut n_good = 0;
        for _ in 0..100_000 {
            let n = dice.roll(14);
            let text: String =
                (0..n).map(|_| bits[dice.roll(bits.len())].to_owned() + ["", " "][dice.roll(2)]).collect();
            match parse(&text) {
                Ok(query) => {
                    n_good += 1;
                    assert_eq!(parse(&query.to_string()).as_ref(), Ok(&query), "{text}");
                }
                Err(wrong) => assert!(text.get(wrong.at.clone()).is_some(), "{text}: {wrong:?}"),
            }
        }
        assert!(n_good > 1000, "only {n_good} were queries");
        assert!(n_good > 0);
    }

    #[test]
    fn chains_of_any_length_parse_and_nesting_is_limited() {
        let too_deep = |text: &str| parse(text).is_err_and(|e| e.what.contains("nested more than 64 deep"));
        assert!(too_deep(&"(".repeat(100_000)) && too_deep(&"not ".repeat(100_000)));
        assert!(too_deep(&format!("{}all{}", "(".repeat(100_000), ")".repeat(100_000))));
        assert!(too_deep(&"downstream of ".repeat(100_000)));
        for word in [" or ", " and "] {
            let text = vec!["idx = 1"; 100_000].join(word);
            let small = std::thread::Builder::new().stack_size(128 << 10);
            let job = move || {
                let query = parse(&text).unwrap();
                assert_eq!(parse(&query.to_string()), Ok(query.clone()));
                let (Query::Or(all) | Query::And(all)) = &query else { panic!("a chain") };
                all.len()
            };
            assert_eq!(small.spawn(job).unwrap().join().expect("no overflow"), 100_000);
        }
        let mixed: String = (0..100_000).map(|i| ["not (a = b) and ", "x or "][i % 2]).collect();
        assert!(parse(&(mixed + "all")).is_ok());
    }

    #[test]
    fn marks_need_no_spaces() {
        assert_eq!(parse("a!=b and(rate>=20Hz)"), parse("a != b and ( rate >= 20Hz )"));
        assert_eq!(parse("a!~b"), parse("a !~ b"));
        assert!(matches!(parse("wow!"), Ok(Query::Set(w)) if w.text == "wow!"));
    }
}
