//! Serialises paths as text, or as lists of bytes if they are not UTF-8.

use serde::{
    Deserializer, Serializer,
    de::{Error, SeqAccess, Visitor},
};
use std::{
    fmt,
    path::{Path, PathBuf},
};

pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    match path.to_str() {
        Some(text) => to.serialize_str(text),
        None => to.collect_seq(path.as_os_str().as_encoded_bytes()),
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    from.deserialize_any(PathVisitor)
}

struct PathVisitor;

impl<'de> Visitor<'de> for PathVisitor {
    type Value = PathBuf;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a path, as text or as a list of bytes")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<PathBuf, E> {
        Ok(PathBuf::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<PathBuf, A::Error> {
        let mut bytes = vec![];
        while let Some(byte) = list.next_element::<u8>()? {
            bytes.push(byte);
        }
        path_of(bytes).ok_or_else(|| A::Error::custom("these bytes are not a path on this system"))
    }
}

#[cfg(unix)]
fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    Some(std::ffi::OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(all(test, unix))]
mod tests {
    use crate::project::{Parent, from_ron, to_ron};

    #[test]
    fn paths_come_back() {
        for bytes in [&b"a/b c"[..], b"", b"\"quotes\"", b"not \xff utf-8"] {
            let run = super::path_of(bytes.to_vec()).expect("a path");
            let parent = Parent { run, ..Parent::default() };
            let text = to_ron(&parent).expect("it is written");
            assert_eq!(from_ron::<Parent>(&text).expect("it is read"), parent, "{text}");
        }
    }
}
