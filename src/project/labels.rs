//! Labels that the user gives to a run: a note and tags. They are text files in the run folder, outside its hashes, so that they
//! can be edited at any time, also while the run is recorded.

use super::{
    atomic_file,
    run::{NOTE, TAGS},
    run_file, unlisted,
};
use std::{io, path::Path};

/// Maximum size of a file with labels, bytes.
const MAX_TEXT: u64 = 1 << 20;
/// Maximum length of a tag, characters.
const MAX_TAG: usize = 40;
/// Maximum number of tags of a run.
const MAX_TAGS: usize = 64;

/// Note and tags of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// Free text; empty if the run has no note.
    pub note: String,
    /// Tags in the order in which they were added, each once.
    pub tags: Vec<String>,
}

impl Labels {
    /// Reads the labels of a run. A file that cannot be read, or that contains invalid tags, is replaced by empty labels and a
    /// message.
    pub fn read(folder: &Path) -> (Self, Vec<String>) {
        let mut notices = vec![];
        let mut text = |name: &str| match run_file::read_text(&folder.join(name), MAX_TEXT) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
            Err(e) => {
                notices.push(format!("{name} was not read: {e}"));
                String::new()
            }
        };
        let (note, tags) = (text(NOTE), text(TAGS));
        let tags = parse_tags(&tags).unwrap_or_else(|why| {
            notices.push(format!("{}: {why}; the run is shown without tags", folder.join(TAGS).display()));
            vec![]
        });
        (Self { note, tags }, notices)
    }
}

/// Saves the note of a run; an empty note removes its file. Fails if the file cannot be written.
pub fn save_note(folder: &Path, note: &str) -> io::Result<()> {
    save(folder, NOTE, note)
}

/// Saves the tags of a run; without tags, their file is removed. Fails if the file cannot be written.
pub fn save_tags(folder: &Path, tags: &[String]) -> io::Result<()> {
    let lines: String = tags.iter().map(|tag| format!("{tag}\n")).collect();
    save(folder, TAGS, &lines)
}

fn save(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    match text {
        "" => unlisted::remove(folder, name),
        text => atomic_file::replace(&folder.join(name), text.as_bytes()),
    }
}

/// Reads tags that are separated by spaces, commas or line ends; each is kept once. Fails with the reason why a tag is
/// invalid, or if there are too many.
pub fn parse_tags(text: &str) -> Result<Vec<String>, String> {
    let mut tags: Vec<String> = vec![];
    for tag in text.split([' ', ',', '\n', '\r', '\t']).filter(|tag| !tag.is_empty()) {
        is_tag(tag)?;
        if !tags.iter().any(|known| known == tag) {
            tags.push(tag.to_owned());
        }
    }
    if tags.len() > MAX_TAGS {
        return Err(format!("{} tags are more than the {MAX_TAGS} that a run may have", tags.len()));
    }
    Ok(tags)
}

/// Fails with the reason why a word cannot be a tag.
fn is_tag(word: &str) -> Result<(), String> {
    let short = || word.chars().take(MAX_TAG).filter(|c| !c.is_control()).collect::<String>();
    match word {
        _ if word.chars().count() > MAX_TAG => {
            Err(format!("the tag `{}…` has more than {MAX_TAG} characters", short()))
        }
        _ if word.starts_with('-') => Err(format!("the tag `{}` begins with a hyphen", short())),
        _ if word.contains(|c: char| c.is_control() || c.is_whitespace() || c == '"') => {
            Err(format!("the tag `{}` contains a quote, a space or a control character", short()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    #[test]
    fn labels_are_saved_and_removed_one_by_one() {
        let folder = TempFolder::new("labels");
        assert_eq!(Labels::read(&folder), (Labels::default(), vec![]), "a run without labels");
        let tags = parse_tags("kept, best\nbest  é1").expect("tags");
        assert_eq!(tags, ["kept", "best", "é1"]);
        save_tags(&folder, &tags).expect("saved");
        save_note(&folder, "two\nlines").expect("saved");
        assert_eq!(Labels::read(&folder), (Labels { note: "two\nlines".into(), tags }, vec![]));
        save_tags(&folder, &[]).expect("removed");
        save_tags(&folder, &[]).expect("nothing to remove");
        assert_eq!(Labels::read(&folder).0, Labels { note: "two\nlines".into(), tags: vec![] });
        save_note(&folder, "").expect("removed");
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 0, "no file without a label");
    }

    #[test]
    fn damaged_tags_are_a_notice_and_the_note_stays() {
        let folder = TempFolder::new("damaged-labels");
        save_note(&folder, "a note").expect("saved");
        for damage in [&[0xff, 0xfe, 0, 1][..], b"good\nba\x01d", "x".repeat(41).as_bytes(), b"\"quoted\""] {
            std::fs::write(folder.join(TAGS), damage).expect("written");
            let (labels, notices) = Labels::read(&folder);
            assert_eq!((labels.note.as_str(), labels.tags.len(), notices.len()), ("a note", 0, 1), "{notices:?}");
            assert!(notices[0].contains(TAGS), "{notices:?}");
        }
        let many: String = (0..=MAX_TAGS).map(|i| format!("t{i} ")).collect();
        assert!(parse_tags(&many).expect_err("too many").starts_with("65 tags"));
    }

    #[cfg(unix)]
    #[test]
    fn labels_never_follow_links_out_of_the_run() {
        let folder = TempFolder::new("linked-labels");
        let (run, other) = (folder.join("run"), folder.join("other.txt"));
        std::fs::create_dir(&run).expect("a folder");
        std::fs::write(&other, "precious").expect("written");
        std::os::unix::fs::symlink(&other, run.join(NOTE)).expect("a link");
        assert_eq!(Labels::read(&run).0.note, "", "not read");
        save_note(&run, "mine").expect("the link is replaced");
        assert_eq!(std::fs::read_to_string(&other).expect("a file"), "precious");
        assert_eq!(Labels::read(&run).0.note, "mine");
    }
}
