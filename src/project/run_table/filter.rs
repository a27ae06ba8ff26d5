//! Filter of the table of runs: words, `tag:name`, `kind:name`, `held_out<1.5`, `!tag:name`. A row fits if it fits every term.

use super::{
    cell::Cell,
    column::{Column, Quantity, find},
    row::Row,
    run_columns::TAGS,
};
use std::cmp::Ordering;

/// Comparison operators with their orderings, longest first.
const OPERATORS: [(&str, Operator); 6] = [
    ("<=", Operator::Is(&[Ordering::Less, Ordering::Equal])),
    (">=", Operator::Is(&[Ordering::Greater, Ordering::Equal])),
    ("!=", Operator::Is(&[Ordering::Less, Ordering::Greater])),
    ("<", Operator::Is(&[Ordering::Less])),
    (">", Operator::Is(&[Ordering::Greater])),
    ("=", Operator::Is(&[Ordering::Equal])),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    /// Compares the value; the listed results fit.
    Is(&'static [Ordering]),
    /// Tests whether the text contains the value, or the tags include it.
    Has,
}

/// Condition on a row.
#[derive(Clone, Debug, PartialEq)]
enum Test {
    /// The fixed columns contain this word.
    Contains(String),
    /// The value in a column fits.
    Column { key: String, operator: Operator, value: Cell },
}

/// Test that may be negated by a leading exclamation mark.
#[derive(Clone, Debug, PartialEq)]
struct Term {
    is_not: bool,
    test: Test,
}

/// Conditions on rows, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter(Vec<Term>);

impl Filter {
    /// Reads a filter. Fails with the reason if a column is unknown, a value is missing, or a number cannot be read.
    pub fn parse(text: &str, columns: &[Column]) -> Result<Self, String> {
        let (mut terms, mut rest) = (vec![], text.trim_start());
        while !rest.is_empty() {
            let (term, after) = term(rest, columns)?;
            terms.push(term);
            rest = after.trim_start();
        }
        Ok(Self(terms))
    }

    /// Whether a row fits all conditions.
    pub fn fits(&self, row: &Row) -> bool {
        self.0.iter().all(|term| term.test.fits(row) != term.is_not)
    }

    /// Iterates over the keys of the columns that the conditions name.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|term| match &term.test {
            Test::Contains(_) => None,
            Test::Column { key, .. } => Some(key.as_str()),
        })
    }
}

/// Reads one term at the start of a text. Returns it with the rest of the text.
fn term<'a>(text: &'a str, columns: &[Column]) -> Result<(Term, &'a str), String> {
    let (is_not, text) = match text.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let is_quoted = text.starts_with('"');
    let (name, rest) = word(text, ends_name)?;
    let Some((symbol, operator, rest)) = operator(rest).filter(|_| !is_quoted) else {
        let is_missing = name.is_empty() && !is_quoted;
        let test = Test::Contains(name.to_lowercase());
        return if is_missing { Err("Write a condition after `!`".into()) } else { Ok((Term { is_not, test }, rest)) };
    };
    let column = find(columns, if name == "tag" { TAGS } else { name })
        .map_err(|why| format!("{why} (quotation marks search for a text)"))?;
    // Spaces may surround a comparison, but follow `tag:` only by mistake.
    let typed = if operator == Operator::Has { rest } else { rest.trim_start() };
    let (value, rest) = word(typed, char::is_whitespace)?;
    if value.is_empty() && !typed.starts_with('"') {
        return Err(format!("Write a value after `{name}{symbol}`"));
    }
    if column.quantity == Quantity::Tags && matches!(symbol, "<" | ">" | "<=" | ">=") {
        return Err(format!("Tags have no order: write `tag:{value}` or `!tag:{value}`"));
    }
    let test = Test::Column { key: column.key.clone(), operator, value: cell(column, value)? };
    Ok((Term { is_not, test }, rest))
}

/// Whether a character outside parentheses ends the name of a column.
fn ends_name(c: char) -> bool {
    c.is_whitespace() || matches!(c, '<' | '>' | '=' | '!' | ':')
}

/// Reads a quoted text, or a word up to a character outside parentheses that ends it. Returns it with the rest of the text.
/// Fails if a quotation mark is not closed.
fn word(text: &str, ends: fn(char) -> bool) -> Result<(&str, &str), String> {
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted.split_once('"').ok_or_else(|| format!("The quotation mark of `\"{quoted}` is not closed"));
    }
    let mut depth = 0_u32;
    let is_end = |(_, c): &(usize, char)| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && ends(*c)
    };
    let end = text.char_indices().find(is_end).map_or(text.len(), |(at, _)| at);
    Ok(text.split_at(end))
}

/// Reads an operator at the start of a text, with spaces before a comparison. Returns its symbol, and the rest of the
/// text; `None` if the text does not begin with an operator.
fn operator(text: &str) -> Option<(&'static str, Operator, &str)> {
    if let Some(rest) = text.strip_prefix(':') {
        return Some((":", Operator::Has, rest));
    }
    let text = text.trim_start();
    let symbol = OPERATORS.iter().find(|(symbol, _)| text.starts_with(symbol));
    symbol.map(|(symbol, operator)| (*symbol, *operator, &text[symbol.len()..]))
}

/// Converts a typed value to a value of a column. Fails if a number is expected and the text is not a number.
fn cell(column: &Column, typed: &str) -> Result<Cell, String> {
    if !column.quantity.is_number() {
        return Ok(Cell::Text(typed.to_owned()));
    }
    let number = typed.strip_suffix(column.unit.as_str()).unwrap_or(typed).trim();
    let expected = if column.unit.is_empty() { String::new() } else { format!(" in {}", column.unit) };
    match number.parse::<f64>() {
        Ok(number) if !number.is_nan() => Ok(Cell::Number(number)),
        _ => Err(format!("`{typed}` is not a number: {} is compared with a number{expected}", column.title)),
    }
}

impl Test {
    fn fits(&self, row: &Row) -> bool {
        match self {
            Self::Contains(word) => row.contains(word),
            Self::Column { key, operator, value } => operator.fits(row.cell(key), value),
        }
    }
}

impl Operator {
    fn fits(self, cell: &Cell, value: &Cell) -> bool {
        let wanted = value.text().to_lowercase();
        match (self, cell) {
            (Self::Has, Cell::Tags(tags)) => tags.iter().any(|tag| tag.to_lowercase() == wanted),
            (Self::Is(results), Cell::Tags(tags)) => {
                let has = tags.iter().any(|tag| tag.to_lowercase() == wanted);
                has == results.contains(&Ordering::Equal)
            }
            (_, cell) if cell.is_empty() => false,
            (Self::Has, cell) if value.number().is_none() => {
                [cell.text(), cell.title()].iter().any(|text| text.to_lowercase().contains(&wanted))
            }
            (Self::Has, cell) => cell.number() == value.number(),
            // A parameter that was edited during the run has no number.
            (Self::Is(_), cell) if value.number().is_some() && cell.number().is_none() => false,
            (Self::Is(results), cell) if cell.title().to_lowercase() == wanted => results.contains(&Ordering::Equal),
            (Self::Is(results), cell) => results.contains(&cell.compare(value)),
        }
    }
}
