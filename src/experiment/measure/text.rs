//! Text form of a measure: `MN9 = mean spikes[in MN9] 200..1000 bin 50`.

use crate::{
    params::Unit,
    project::experiment::{Measure, Reduction},
};

/// Form of a measure, for messages.
const FORM: &str = "NAME = REDUCTION PROBE[ELEMENTS] FROM..TO bin WIDTH";

/// Parses `[NAME =] REDUCTION PROBE[ELEMENTS] [FROM..TO] [bin WIDTH]`. Times without a unit are in ms, or in steps where the kind
/// counts them. Without a name, the measure is named by its text.
///
/// # Errors
/// Fails with a sentence that states the form.
pub fn parse(text: &str) -> Result<Measure, String> {
    let wrong = |why: &str| format!("`{text}`: {why}; a measure is {FORM}");
    let (name, rest) = match text.split_once('=') {
        Some((name, rest)) if !name.contains('[') => (name.trim(), rest.trim()),
        _ => ("", text.trim()),
    };
    let (word, rest) = rest.split_once(char::is_whitespace).ok_or_else(|| wrong("a probe is missing"))?;
    let reduce = reduction(word).map_err(|why| wrong(&why))?;
    // Brackets may contain blanks; times follow them.
    let end = match rest.find('[') {
        Some(open) => open + rest[open..].find(']').ok_or_else(|| wrong("`]` is missing"))? + 1,
        None => rest
            .trim_start()
            .find(char::is_whitespace)
            .map_or(rest.len(), |at| at + rest.len() - rest.trim_start().len()),
    };
    let (read, times) = (rest[..end].trim().to_owned(), rest[end..].trim());
    let (span, bin) = times.split_once("bin").map_or((times, ""), |(span, bin)| (span.trim(), bin.trim()));
    let (from, to) = match span.split_once("..") {
        Some((from, to)) => (from.trim(), to.trim()),
        None if span.is_empty() => ("", ""),
        None => return Err(wrong(&format!("`{span}` is not a span of time"))),
    };
    let time = |text: &str| match text {
        "" => Ok(0.0),
        text => text.parse().or_else(|_| Unit::Ms.parse(text)).map_err(|why| wrong(&why)),
    };
    let (from, to, bin) = (time(from)?, time(to)?, time(bin)?);
    let mut measure = Measure { name: name.to_owned(), read, reduce, from, to, bin };
    if measure.name.is_empty() {
        measure.name = shown(&measure);
    }
    Ok(measure)
}

/// Formats a measure in the form of [`parse`].
pub fn show(measure: &Measure) -> String {
    let text = shown(measure);
    if measure.name == text { text } else { format!("{} = {text}", measure.name) }
}

/// Formats a measure without its name.
fn shown(measure: &Measure) -> String {
    let mut out = format!("{} {}", word(measure.reduce), measure.read);
    if measure.from > 0.0 || measure.to > 0.0 {
        let to = if measure.to > 0.0 { measure.to.to_string() } else { String::new() };
        out += &format!(" {}..{to}", measure.from);
    }
    if measure.bin > 0.0 {
        out += &format!(" bin {}", measure.bin);
    }
    out
}

/// Returns the word of a reduction: its name in lower case.
fn word(reduce: Reduction) -> String {
    format!("{reduce:?}").to_lowercase()
}

/// Finds a reduction by its word. Fails with the known words.
fn reduction(text: &str) -> Result<Reduction, String> {
    let all = Reduction::ALL.iter().copied();
    let lower = text.to_lowercase();
    all.clone().find(|reduce| word(*reduce) == lower).ok_or_else(|| {
        let known: Vec<String> = all.map(word).collect();
        format!("`{text}` is not a reduction ({})", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_written_and_read_back() {
        for (text, want) in [
            ("rate = mean spikes[in MN9] 200..1000", ("rate", "spikes[in MN9]", Reduction::Mean, 200.0, 1000.0, 0.0)),
            ("highest spikes bin 50 ms", ("highest spikes bin 50", "spikes", Reduction::Highest, 0.0, 0.0, 50.0)),
            ("last loss", ("last loss", "loss", Reduction::Last, 0.0, 0.0, 0.0)),
            (
                "t = latency spikes[class = motor and side = left] 0.5 s..",
                ("t", "spikes[class = motor and side = left]", Reduction::Latency, 500.0, 0.0, 0.0),
            ),
            (
                "Active  spikes[idx = 1] ..100",
                ("active spikes[idx = 1] 0..100", "spikes[idx = 1]", Reduction::Active, 0.0, 100.0, 0.0),
            ),
        ] {
            let measure = parse(text).expect(text);
            let found = (&*measure.name, &*measure.read, measure.reduce, measure.from, measure.to, measure.bin);
            assert_eq!(found, want, "{text}");
            assert_eq!(parse(&show(&measure)).as_ref(), Ok(&measure), "{text}");
        }
        for (text, why) in [
            ("mean", "a probe is missing"),
            ("median spikes", "`median` is not a reduction (mean, last,"),
            ("mean spikes[idx = 1", "`]` is missing"),
            ("mean spikes 100", "`100` is not a span of time"),
            ("mean spikes a..b", "`mean spikes a..b`: "),
        ] {
            let said = parse(text).expect_err(text);
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
