//! Translates errors of the RON parser to plain words without names of Rust types.

use super::{file::ReadError, retired, ron_tree};
use ron::error::{Error, Position, SpannedError};

/// Converts an error of the parser. The message contains the path of the parameter whose value does not fit, in the form of
/// the window and `--set`.
pub(super) fn with_parameter(error: SpannedError, text: &str) -> ReadError {
    let at = byte_at(text, error.span.end);
    // For a number with a fraction, the parser of integers stops at the decimal point.
    let is_fraction = text[at..].starts_with('.') && text[..at].ends_with(|c: char| c.is_ascii_digit());
    let is_value = matches!(
        error.code,
        Error::ExpectedBoolean
            | Error::ExpectedInteger
            | Error::ExpectedFloat
            | Error::ExpectedString
            | Error::IntegerOutOfBounds
            | Error::InvalidValueForType { .. }
            | Error::NoSuchEnumVariant { .. }
    );
    let path = ron_tree::scan(text).path_to(byte_at(text, error.span.start));
    let path = path.strip_prefix(&["model".to_owned()]).unwrap_or(&path);
    if let Error::NoSuchEnumVariant { found, .. } = &error.code
        && let Some((instead, choice)) = retired::at(path, found)
    {
        let what = format!("{}: {}", path.join("."), choice.refusal(instead));
        return ReadError { what, ..ReadError::from(error) };
    }
    let path = path.join(".");
    let code = if is_fraction { Error::ExpectedInteger } else { error.code };
    let error = ReadError::from(SpannedError { code, ..error });
    match (is_value || is_fraction) && !path.is_empty() {
        true => ReadError { what: format!("{path}: {}", error.what), ..error },
        false => error,
    }
}

/// Returns the byte offset of a line and column, both from 1.
fn byte_at(text: &str, at: Position) -> usize {
    let line: usize = text.split_inclusive('\n').take(at.line.saturating_sub(1)).map(str::len).sum();
    let rest = text.get(line..).unwrap_or_default();
    line + rest.chars().take(at.col.saturating_sub(1)).map(char::len_utf8).sum::<usize>()
}

/// Describes the mistake and the expected form.
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

#[cfg(test)]
mod tests {
    use crate::project::read;

    #[test]
    fn a_value_that_does_not_fit_is_named_with_its_parameter() {
        let model =
            |text: &str| format!("(\n  name: \"a\",\n  model: Spiking((\n    {text},\n  )),\n  run: (speed: 1.0),\n)");
        for (text, what) in [
            (model("lif: (v_reset: -52.0, tau_m: fast)"), "lif.tau_m: expected a number"),
            (model("lif: (tau_m: \"fast\")"), "lif.tau_m: expected a number"),
            (model("network: (n_neurons: -5, in_degree: 80)"), "network.n_neurons: "),
            (model("network: (n_neurons: 5.5 , in_degree: 80)"), "network.n_neurons: "),
            (model("network: (n_neurons:\n  many)"), "network.n_neurons: expected a whole number"),
            (model("network: (source: Balancd, in_degree: 80)"), "network.source: `Balancd` is none of "),
            (
                model("interventions: [(name: \"a\"), (name: \"b\", rate_hz: x)]"),
                "interventions.1.rate_hz: expected a number",
            ),
            (model("lif: (tau_m: 20.0,").replace("))", ")"), "expected"),
            ("(seed: -1)".into(), "seed: the number is negative or too large"),
            ("(name: \"é\", run: (threads: x))".into(), "run.threads: expected a whole number"),
        ] {
            let error = read(&text).expect_err(&text);
            assert!(error.what.starts_with(what), "{text}: {error}");
        }
    }
}
