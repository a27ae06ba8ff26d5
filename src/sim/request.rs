//! Requests: questions to a running simulation. A request does not change the simulation.

use crate::{
    num::digits::counted,
    params::{ParamSpec, Value, title},
};

/// Declared request: a form in the window, a command of `neuropil ask`.
#[derive(Clone, Copy)]
pub struct RequestSpec {
    /// Stable identifier, e.g. `sample`.
    pub name: &'static str,
    /// Label in the window; if empty, the name in sentence case ([`RequestSpec::label`]).
    pub title: &'static str,
    /// Doc comment of the declaration, shown as the tooltip.
    pub docs: &'static str,
    /// Element set to whose selected elements the request refers; empty if the request is about the whole simulation.
    pub over: &'static str,
    /// Declarations of the arguments.
    pub params: &'static [ParamSpec],
    /// Default values of the arguments.
    pub defaults: fn() -> Vec<Value>,
    /// Form of the answer.
    pub answer: AnswerShape,
    /// Column of the answer whose sum and mean are shown; empty without such a column.
    pub total: &'static str,
}

impl RequestSpec {
    /// Returns the label in the window: the declared title, or the name in sentence case.
    pub fn label(&self) -> std::borrow::Cow<'static, str> {
        crate::params::title::or_from_name(self.title, self.name)
    }

    /// Returns the sentence for an answer without rows, which names an argument that was left empty.
    pub fn no_rows(&self, values: &[Value]) -> String {
        let is_empty = |value: &Value| matches!(value, Value::Text(text) if text.is_empty());
        let empty = self.params.iter().zip(values).find(|(_, value)| is_empty(value));
        match empty {
            Some((param, _)) => format!("No rows: {} is empty. Enter it and ask again", param.label()),
            None => "No rows".to_owned(),
        }
    }

    /// Returns the sum and the mean of the column declared for this; `None` without such a column or without rows.
    pub fn totals(&self, answer: &Answer) -> Option<Totals> {
        let Answer::Table(columns, rows) = answer else { return None };
        let column = columns.iter().position(|name| *name == self.total)?;
        let number = |row: &Vec<Cell>| match row.get(column) {
            Some(Cell::Number(x)) => Some(*x),
            _ => None,
        };
        let values: Vec<f64> = rows.iter().filter_map(number).collect();
        let (n, sum) = (values.len(), values.iter().sum::<f64>());
        (n > 0).then(|| Totals { column: self.total, row: columns[0], sum, mean: sum / n as f64, n })
    }

    /// Whether the request has the arguments `from` and `to`, which name the ends of a path, because a selection has no
    /// order.
    pub fn has_ends(&self) -> bool {
        ["from", "to"].iter().all(|end| self.params.iter().any(|param| param.name == *end))
    }

    /// Creates a request about elements with default arguments.
    pub fn request(&self, elements: Vec<u32>) -> Request {
        Request { name: self.name.to_owned(), elements, values: (self.defaults)() }
    }
}

/// Sum and mean of a column of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Totals {
    /// Name of the column.
    pub column: &'static str,
    /// Name of the first column, which is the noun of a row.
    pub row: &'static str,
    /// Sum over all rows with a number.
    pub sum: f64,
    /// Mean over these rows.
    pub mean: f64,
    /// Number of these rows.
    pub n: usize,
}

impl Totals {
    /// Formats a line: `loss nats: sum 12.3456, mean 2.4691 per token (5 tokens)`.
    pub fn text(&self) -> String {
        let Self { row, sum, mean, n, .. } = self;
        let rows = counted(*n, row, &format!("{row}s"));
        format!("{}: sum {sum:.4}, mean {mean:.4} per {row} ({rows})", title::spaced(self.column))
    }
}

/// Form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerShape {
    /// Text without columns.
    Text,
    /// Table with the given columns.
    Table(&'static [&'static str]),
}

/// Request to a simulation, with elements and argument values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Name of the declared request.
    pub name: String,
    /// Indices of the elements to which the request refers.
    pub elements: Vec<u32>,
    /// One value per declared argument.
    pub values: Vec<Value>,
}

/// Answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Text without columns.
    Text(String),
    /// Table with column names and rows.
    Table(&'static [&'static str], Vec<Vec<Cell>>),
}

/// Cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Name or other text.
    Text(String),
    /// Number in full precision.
    Number(f64),
}

impl Cell {
    /// Formats the cell as one line, with `\n`, `\t` and `\x1b` for control characters.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => without_controls(text),
            Self::Number(x) if x.fract() == 0.0 && x.abs() < 1e15 => format!("{x:.0}"),
            Self::Number(x) => format!("{x:.6}"),
        }
    }
}

/// Escapes characters that would begin another line, another column or a terminal command.
fn without_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' | '\n' | '\r' => out.extend(c.escape_default()),
            c if c.is_ascii_control() => out += &format!("\\x{:02x}", u32::from(c)),
            // U+0085, U+2028 and U+2029 also end a line.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

impl Answer {
    /// Formats the answer as text. The columns of a table are separated by tabs.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Table(columns, rows) => {
                let mut out = columns.join("\t");
                for row in rows {
                    out.push('\n');
                    out += &row.iter().map(Cell::text).collect::<Vec<_>>().join("\t");
                }
                out
            }
        }
    }
}

/// Declares requests: `requests! { pub const REQUESTS; /// Docs. fn sample(over "") -> Text { /// Docs. #[param(…)]
/// length: u32 = 200, } }`. An answer is `Text` or `Table(&["column", …])`; `#[total("column")]` shows the sum and the mean of a
/// column.
#[macro_export]
macro_rules! requests {
    (
        $(#[doc = $list_docs:literal])*
        $vis:vis const $NAME:ident;
        $(
            $(#[doc = $docs:literal])*
            $(#[title($title:literal)])?
            $(#[total($total:literal)])?
            fn $request:ident (over $over:literal) -> $answer:expr => {
                $(
                    $(#[doc = $arg_docs:literal])*
                    #[param($($key:ident = $value:expr),* $(,)?)] $arg:ident : $ty:ty = $default:expr
                ),* $(,)?
            }
        )*
    ) => {
        $(#[doc = $list_docs])*
        $vis const $NAME: &[$crate::sim::RequestSpec] = {
            #[allow(unused_imports)]
            use $crate::{params::{Apply::*, Scale::*, Unit::*}, sim::request::AnswerShape::*};
            &[ $( $crate::sim::RequestSpec {
                name: stringify!($request),
                title: concat!($($title)?),
                docs: concat!($($docs, "\n"),*),
                over: $over,
                params: &[ $( $crate::params::ParamSpec::new(
                    stringify!($arg), concat!($($arg_docs, "\n"),*), <$ty as $crate::params::ParamValue>::TYPE,
                ) $(.$key($value))* ),* ],
                defaults: || vec![ $( $crate::params::ParamValue::to_value(&<$ty>::from($default)) ),* ],
                answer: $answer,
                total: concat!($($total)?),
            } ),* ]
        };
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    requests! {
        /// Requests of the test.
        const REQUESTS;

        /// Scores a text.
        #[total("loss_nats")]
        fn score(over "") -> Table(&["token", "loss_nats"]) => {}
        /// Lists its tokens.
        fn list(over "") -> Table(&["token", "loss_nats"]) => {}
    }

    #[test]
    fn a_declared_column_has_a_sum_and_a_mean() {
        let row = |loss| vec![Cell::Text("a".into()), Cell::Number(loss)];
        let answer = |losses: &[f64]| Answer::Table(&["token", "loss_nats"], losses.iter().copied().map(row).collect());
        let text = |losses: &[f64]| REQUESTS[0].totals(&answer(losses)).map(|totals| totals.text());
        assert_eq!(text(&[1.0, 2.0, 4.5]).as_deref(), Some("loss nats: sum 7.5000, mean 2.5000 per token (3 tokens)"));
        assert_eq!(text(&[2.0]).as_deref(), Some("loss nats: sum 2.0000, mean 2.0000 per token (1 token)"));
        assert_eq!(text(&[]), None);
        assert_eq!(REQUESTS[1].totals(&answer(&[1.0])), None);
    }

    #[test]
    fn tables_have_one_line_per_row() {
        let cell = |text: &str| Cell::Text(text.to_owned());
        let rows = vec![
            vec![cell("a\tb\r\n"), Cell::Number(0.5)],
            vec![cell("\u{1b}[2J\u{85}\u{2028}"), Cell::Number(2.0)],
            vec![cell("é \\xc3"), Cell::Number(3.0)],
        ];
        let text = Answer::Table(&["token", "loss"], rows).text();
        let want = ["token\tloss", "a\\tb\\r\\n\t0.500000", "\\x1b[2J\\u{85}\\u{2028}\t2", "é \\xc3\t3"];
        assert_eq!(text.split('\n').collect::<Vec<_>>(), want);
    }
}
