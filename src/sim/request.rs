//! Requests: questions to a running simulation. A request does not change the simulation.

use crate::params::{ParamSpec, Value};

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
/// length: u32 = 200, } }`. An answer is `Text` or `Table(&["column", …])`.
#[macro_export]
macro_rules! requests {
    (
        $(#[doc = $list_docs:literal])*
        $vis:vis const $NAME:ident;
        $(
            $(#[doc = $docs:literal])*
            $(#[title($title:literal)])?
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
            } ),* ]
        };
    };
}

#[cfg(test)]
mod tests {
    use super::*;

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
