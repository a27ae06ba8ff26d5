//! Reads texts of the user: a UTF-8 file, lines of JSON with a field `text`, or a folder of such files.

use super::{MAX_BYTES, Text};
use crate::data::{
    DataError, ProgressFn, input_file,
    limited::{LimitedReader, read_error},
    messages::{self, counted, group_digits},
    report,
};
use std::{
    borrow::Cow,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

/// Maximum number of files in a folder.
const MAX_FILES: usize = 100_000;
/// Maximum nesting of folders.
const MAX_DEPTH: usize = 16;
/// Extensions of the files that are read in a folder. A single file may have any extension.
const ENDINGS: &[&str] = &["txt", "text", "md", "jsonl"];

/// Reads a file, or the text files of a folder. Fails if there is no text.
pub(super) fn read(path: &Path, watch: &ProgressFn) -> Result<Text, DataError> {
    let about = fs::metadata(path).map_err(|e| DataError::io(path, e))?;
    let mut files = vec![];
    match about.is_dir() {
        true => list(path, MAX_DEPTH, &mut files)?,
        false => files.push(path.to_owned()),
    }
    if files.is_empty() {
        let endings = ENDINGS.iter().map(|e| format!(".{e}")).collect::<Vec<_>>().join(", ");
        return Err(DataError::format(path, format!("the folder has no text files ({endings})")));
    }
    let mut all = Text::default();
    for (i, file) in files.iter().enumerate() {
        let part = |what: &str, part: f32| watch(what, (i as f32 + part) / files.len() as f32);
        let text = read_text(file, MAX_BYTES - all.text.len() as u64, &part)?;
        match file.extension().is_some_and(|e| e.eq_ignore_ascii_case("jsonl")) {
            true => append_records(file, &text, &mut all, &part)?,
            false => append(&text, &mut all),
        }
    }
    if all.text.trim().is_empty() {
        return Err(DataError::format(path, "there is no text in it"));
    }
    let (bytes, documents) = (counted(all.text.len(), "byte", "bytes"), group_digits(all.starts.len() as u64));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let several = if all.starts.len() > 1 { format!(" in {documents} documents") } else { String::new() };
    all.provenance = format!("{name}: {bytes}{several}");
    Ok(all)
}

/// Lists the text files of a folder and its subfolders, sorted by path. Links to folders and hidden entries are left out. Fails
/// if a folder cannot be read, folders are nested deeper than `depth`, or there are more than [`MAX_FILES`] files.
fn list(folder: &Path, depth: usize, to: &mut Vec<PathBuf>) -> Result<(), DataError> {
    let failed = |e| DataError::io(folder, e);
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).map_err(failed)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>().map_err(failed)?;
    entries.sort();
    for path in entries {
        let about = fs::symlink_metadata(&path).map_err(|e| DataError::io(&path, e))?;
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if is_hidden {
            continue;
        } else if about.is_dir() && depth == 0 {
            return Err(DataError::format(&path, format!("more than {MAX_DEPTH} folders inside each other")));
        } else if about.is_dir() {
            list(&path, depth - 1, to)?;
        } else if path.is_file() && ENDINGS.iter().any(|e| path.extension().is_some_and(|x| x.eq_ignore_ascii_case(e)))
        {
            to.push(path);
        }
        if to.len() > MAX_FILES {
            let limit = group_digits(MAX_FILES as u64);
            return Err(DataError::format(folder, format!("more than {limit} text files, the limit")));
        }
    }
    Ok(())
}

/// Reads a whole file as text without a byte order mark. Fails if the text is longer than `limit` bytes or not UTF-8.
fn read_text(path: &Path, limit: u64, watch: &ProgressFn) -> Result<String, DataError> {
    let file = input_file::open(path).map_err(|e| DataError::io(path, e))?;
    let about = file.metadata().map_err(|e| DataError::io(path, e))?;
    if about.len() > limit {
        let limit = group_digits(MAX_BYTES >> 20);
        return Err(DataError::format(path, format!("more than {limit} MiB of text, the limit")));
    }
    let stage = format!("reading {}", path.file_name().unwrap_or_default().to_string_lossy());
    let mut bytes = Vec::with_capacity(about.len() as usize);
    let mut reader = LimitedReader::new(file, limit, about.len(), &stage, watch);
    reader.read_to_end(&mut bytes).map_err(|e| read_error(path, e))?;
    let mut text = String::from_utf8(bytes).map_err(|e| {
        let valid = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|b| **b == b'\n').count() as u64;
        let wrong = e.as_bytes()[valid.len()];
        DataError::at_line(path, line, format!("not UTF-8 text (byte 0x{wrong:02x}); convert it, e.g. with iconv"))
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// Appends a document, after a line break.
fn append(document: &str, to: &mut Text) {
    if !to.text.is_empty() && !to.text.ends_with('\n') {
        to.text.push('\n');
    }
    to.starts.push(to.text.len());
    to.text.push_str(document);
}

/// Record on a line of a `.jsonl` file.
#[derive(serde::Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// Appends the field `text` of every line as a document. Fails if a line is not an object with this field, or `watch` cancels.
fn append_records(path: &Path, lines: &str, to: &mut Text, watch: &ProgressFn) -> Result<(), DataError> {
    let mut n_read = 0;
    for (i, line) in lines.lines().enumerate() {
        if i.is_multiple_of(1024) {
            report(watch, "reading the records", n_read as f32 / lines.len() as f32)?;
        }
        n_read += line.len() + 1;
        if line.trim().is_empty() {
            continue;
        }
        let record: Record = serde_json::from_str(line).map_err(|e| {
            let place = format!(" at line {} column {}", e.line(), e.column());
            let why = e.to_string().replace(&place, &format!(", column {}", e.column()));
            let why = messages::truncated_to(&why, 200);
            DataError::at_line(
                path,
                i as u64 + 1,
                format!("{why}; expected an object with a text field: {{\"text\": \"…\"}}"),
            )
        })?;
        append(&record.text, to);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    fn folder(name: &str) -> TempFolder {
        let path = TempFolder::new(&format!("text-{name}"));
        fs::create_dir_all(path.join("inner")).unwrap();
        path
    }

    #[test]
    fn files_records_and_folders_are_read() {
        let at = folder("read");
        fs::write(at.join("b.txt"), "\u{feff}héllo\nworld").unwrap();
        fs::write(at.join("a.jsonl"), "{\"text\": \"one\\n\", \"id\": 3}\n\n{\"text\": \"tw\\u00f6\"}\n").unwrap();
        fs::write(at.join("inner/c.md"), "# three").unwrap();
        fs::write(at.join("image.png"), [0xff, 0xd8]).unwrap();
        fs::write(at.join(".hidden.txt"), "no").unwrap();
        let read = |name: &str| read(&at.join(name), &|_, _| true).unwrap();
        assert_eq!(read("b.txt").text, "héllo\nworld");
        let records = read("a.jsonl");
        assert_eq!((&records.text[..], &records.starts[..]), ("one\ntwö", &[0, 4][..]));
        let all = read("");
        assert_eq!((&all.text[..], &all.starts[..]), ("one\ntwö\nhéllo\nworld\n# three", &[0, 4, 9, 22][..]));
        assert!(all.provenance.ends_with("29 bytes in 4 documents"), "{}", all.provenance);
    }

    #[test]
    fn mistakes_name_file_and_line() {
        let at = folder("mistakes");
        let error = |name: &str, content: &[u8]| {
            fs::write(at.join(name), content).unwrap();
            read(&at.join(name), &|_, _| true).unwrap_err().to_string()
        };
        for (name, content, why) in [
            ("x.txt", &b"a\nb\xffc"[..], "x.txt:2: not UTF-8 text (byte 0xff)"),
            ("empty.txt", b" \n", "there is no text in it"),
            ("x.jsonl", b"{\"text\": \"a\"}\n{\"texts\": 1}", "x.jsonl:2: missing field `text`"),
            ("y.jsonl", b"{\"text\": 7}", "y.jsonl:1: invalid type: integer `7`, expected a"),
            ("z.jsonl", b"\nno", "z.jsonl:2: expected ident"),
        ] {
            let error = error(name, content);
            assert!(error.contains(why), "{name}: {error}");
        }
        let missing = read(&at.join("none"), &|_, _| true).unwrap_err().to_string();
        assert!(missing.contains("there is no such file"), "{missing}");
        let none = read(&at.join("inner"), &|_, _| true).unwrap_err().to_string();
        assert!(none.contains("no text files (.txt, "), "{none}");
        let cancelled = read(&at.join("x.jsonl"), &|_, _| false);
        assert!(matches!(cancelled, Err(DataError::Cancelled)), "{cancelled:?}");
    }
}
