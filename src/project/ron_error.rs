//! Errors of the RON parser in plain words, without names of Rust types.

use ron::error::Error;

/// What is wrong, and what was expected.
pub(super) fn words(error: &Error) -> String {
    let text = match error {
        Error::Eof => "the file ends too early, it may be cut off",
        Error::ExpectedStructLike | Error::ExpectedNamedStructLike(_) => "expected `(`",
        Error::ExpectedDifferentStructName { found, .. } => return format!("expected `(`, found `{found}`"),
        Error::ExpectedStructLikeEnd | Error::ExpectedOptionEnd => "expected `)`",
        Error::ExpectedArray => "expected a list, `[…]`",
        Error::ExpectedArrayEnd => "expected `]`",
        Error::ExpectedMap => "expected `{`",
        Error::ExpectedMapEnd => "expected `}`",
        Error::ExpectedMapColon => "expected `:`",
        Error::ExpectedComma => "expected a comma or a closing bracket",
        Error::ExpectedBoolean => "expected true or false",
        Error::ExpectedInteger => "expected a whole number",
        Error::ExpectedFloat => "expected a number",
        Error::ExpectedString => "expected a text in quotes",
        Error::ExpectedStringEnd => "expected the closing quote of a text",
        Error::ExpectedIdentifier => "expected a name",
        Error::ExpectedOption => "expected a value or None",
        Error::IntegerOutOfBounds => "the number is negative or too large",
        Error::TrailingCharacters => "expected the end of the file after the closing bracket",
        Error::ExceededRecursionLimit => "brackets are nested too deeply",
        Error::UnclosedBlockComment => "a comment that begins with `/*` has no end",
        Error::UnexpectedChar(found) => return format!("unexpected character `{}`", found.escape_default()),
        Error::InvalidValueForType { expected, found } => return format!("expected {expected}, found {found}"),
        Error::NoSuchEnumVariant { expected, found, .. } => {
            return format!("`{found}` is none of {}", expected.join(", "));
        }
        Error::NoSuchStructField { expected, found, .. } => {
            return format!("there is no field `{found}`; there are: {}", expected.join(", "));
        }
        Error::MissingStructField { field, .. } => return format!("the field `{field}` is missing"),
        Error::DuplicateStructField { field, .. } => return format!("the field `{field}` is given twice"),
        other => return other.to_string(),
    };
    text.to_owned()
}
