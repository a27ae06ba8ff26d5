//! Fields of a line of text: separated by a character, optionally in quotes, without line breaks.

/// Error about a line that ends inside a quoted field.
pub const UNCLOSED: &str = "a quote is not closed";

/// Returns the first byte of the line after the line that ends at `at`. Fails if a carriage return is within the line.
#[inline]
pub fn after_line(bytes: &[u8], at: usize) -> Result<usize, String> {
    match bytes.get(at..) {
        None | Some([] | [b'\r']) => Ok(bytes.len()),
        Some([b'\n', ..]) => Ok(at + 1),
        Some([b'\r', b'\n', ..]) => Ok(at + 2),
        Some(_) => Err("a carriage return within a line; lines end with \\n or \\r\\n".to_owned()),
    }
}

/// Returns the end of the field that starts at `at`; separators between quotes do not count. `None` if a quote is not closed.
#[inline]
pub fn field_end(bytes: &[u8], mut at: usize, separator: u8) -> Option<usize> {
    let mut quoted = false;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' => break,
            b if *b == separator && !quoted => break,
            _ => {}
        }
        at += 1;
    }
    (!quoted).then_some(at)
}

/// Whether a line ends inside a quoted field.
pub fn is_open_quoted(line: &[u8]) -> bool {
    !line.iter().filter(|byte| **byte == b'"').count().is_multiple_of(2)
}

/// Parses an integer, with optional spaces or quotes, up to a separator or the end of the line; `None` if the field is not an
/// integer.
#[inline]
pub fn number(bytes: &[u8], at: &mut usize, separator: u8) -> Option<i64> {
    let skip_spaces = |at: &mut usize| {
        while bytes.get(*at) == Some(&b' ') {
            *at += 1;
        }
    };
    skip_spaces(at);
    let is_quoted = bytes.get(*at) == Some(&b'"');
    if is_quoted {
        *at += 1;
        skip_spaces(at);
    }
    let negative = bytes.get(*at) == Some(&b'-');
    if negative || bytes.get(*at) == Some(&b'+') {
        *at += 1;
    }
    let first = *at;
    let mut value: i64 = 0;
    while let Some(digit @ b'0'..=b'9') = bytes.get(*at) {
        value = value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
        *at += 1;
    }
    if *at == first {
        return None;
    }
    skip_spaces(at);
    if is_quoted {
        if bytes.get(*at) != Some(&b'"') {
            return None;
        }
        *at += 1;
        skip_spaces(at);
    }
    match bytes.get(*at) {
        None | Some(b'\n' | b'\r') => {}
        Some(b) if *b == separator => {}
        _ => return None,
    }
    Some(if negative { -value } else { value })
}

/// Parses a floating point number, with optional spaces or quotes, up to a separator or the end of the line; `None` if the
/// field is not a number.
pub fn real(bytes: &[u8], at: &mut usize, separator: u8) -> Option<f64> {
    let end = field_end(bytes, *at, separator)?;
    let field = bytes[*at..end].trim_ascii();
    let plain = field.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\"")).unwrap_or(field);
    *at = end;
    std::str::from_utf8(plain).ok()?.trim().parse().ok()
}
