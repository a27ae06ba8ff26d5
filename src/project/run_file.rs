//! Access to files of a run folder: plain names and regular files only. Symbolic links, devices and pipes are never
//! followed, because a run folder may come from an untrusted source.

use super::run::at;
use std::{
    fs::{self, File, OpenOptions},
    hash::Hasher as _,
    io::{self, ErrorKind, Read},
    path::{Path, PathBuf},
};
use twox_hash::XxHash64;

/// Whether a name denotes a file directly in a folder.
pub(super) fn is_plain_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(std::path::Component::Normal(part)), None) if part == name)
}

/// Returns the path of a file in a run folder. Fails if the name is not plain.
pub(super) fn inside(folder: &Path, name: &str) -> io::Result<PathBuf> {
    if is_plain_name(name) {
        return Ok(folder.join(name));
    }
    let what = format!("{}: `{name}` is not a file name in the run folder", folder.display());
    Err(io::Error::new(ErrorKind::InvalidData, what))
}

/// Opens a regular file for reading. Fails for links, pipes and devices.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    no_follow(&mut options);
    let file = match options.open(path) {
        Ok(file) => file,
        Err(_) if fs::symlink_metadata(path).is_ok_and(|m| m.is_symlink()) => return Err(not_regular(path)),
        Err(e) => return Err(at(path, &e)),
    };
    if file.metadata().map_err(|e| at(path, &e))?.is_file() { Ok(file) } else { Err(not_regular(path)) }
}

/// Creates a file. Fails if the file exists.
pub(super) fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => not_of_the_run(path),
        _ => at(path, &e),
    })
}

/// Fails if a file, folder or link with this path exists.
pub(super) fn is_free(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(_) => Err(not_of_the_run(path)),
        Err(_) => Ok(()),
    }
}

fn not_of_the_run(path: &Path) -> io::Error {
    let what = format!("{} exists and is not part of the run; choose another folder", path.display());
    io::Error::new(ErrorKind::AlreadyExists, what)
}

/// Sets options that neither wait for the other end of a pipe nor open the target of a link.
#[cfg(unix)]
pub(super) fn no_follow(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC);
}

#[cfg(not(unix))]
pub(super) fn no_follow(_options: &mut OpenOptions) {}

fn not_regular(path: &Path) -> io::Error {
    let what = format!("{} is not a regular file (links, pipes and devices are not followed)", path.display());
    io::Error::new(ErrorKind::InvalidData, what)
}

/// Reads a text file. Fails if the file has more than `limit` bytes or is not regular.
pub(super) fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let file = open_regular(path)?;
    let mut text = String::new();
    file.take(limit + 1).read_to_string(&mut text).map_err(|e| at(path, &e))?;
    if text.len() as u64 > limit {
        let what = format!("{} is larger than {limit} bytes", path.display());
        return Err(io::Error::new(ErrorKind::InvalidData, what));
    }
    Ok(text)
}

/// Returns the size of a regular file in bytes; `None` if there is no such file.
pub(super) fn size_of(path: &Path) -> Option<u64> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file).map(|m| m.len())
}

/// Returns the size in bytes and the hash of a file. `report` receives the number of bytes read since its last call and
/// returns `false` to cancel. Fails if the file is not regular or the hashing is cancelled.
pub(super) fn hash_file(path: &Path, report: &mut dyn FnMut(u64) -> bool) -> io::Result<(u64, String)> {
    let (mut file, mut hash, mut n_bytes) = (open_regular(path)?, Hash::default(), 0);
    let mut buffer = vec![0; 1 << 18];
    loop {
        let n = file.read(&mut buffer).map_err(|e| at(path, &e))?;
        if n == 0 {
            return Ok((n_bytes, hash.hex()));
        }
        hash.add(&buffer[..n]);
        n_bytes += n as u64;
        if !report(n as u64) {
            return Err(io::Error::new(ErrorKind::Interrupted, "cancelled"));
        }
    }
}

/// Returns size and XXH64 of a file; of a folder the total size, and the XXH64 over names and sizes of its files. Fails if one cannot
/// be read.
pub(super) fn fingerprint(path: &Path) -> io::Result<(u64, String)> {
    if !fs::symlink_metadata(path).is_ok_and(|about| about.is_dir()) {
        return hash_file(path, &mut |_| true);
    }
    let (mut hash, mut n_bytes) = (Hash::default(), 0);
    let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let about = entry.metadata()?;
        let (n, inner) = if about.is_dir() { fingerprint(&entry.path())? } else { (about.len(), String::new()) };
        hash.add(format!("{}\n{n}\n{inner}\n", entry.file_name().to_string_lossy()).as_bytes());
        n_bytes += n;
    }
    Ok((n_bytes, hash.hex()))
}

/// Incremental XXH64 of written bytes.
#[derive(Clone)]
pub(super) struct Hash(XxHash64);

impl Default for Hash {
    fn default() -> Self {
        Self(XxHash64::with_seed(0))
    }
}

impl Hash {
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// Returns the hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hash = Self::default();
        hash.add(bytes);
        hash
    }

    pub fn value(&self) -> u64 {
        self.0.finish()
    }

    pub fn hex(&self) -> String {
        format!("{:016x}", self.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for name in ["spikes.u32", "a b", ".hidden", "é.txt"] {
            assert!(is_plain_name(name), "{name}");
        }
        for name in ["", ".", "..", "/etc/passwd", "../x", "a/b", "a/", "./a", "a/../b"] {
            assert!(!is_plain_name(name), "{name}");
        }
    }

    #[test]
    fn hash_is_xxh64() {
        let mut hash = Hash::default();
        assert_eq!(hash.hex(), "ef46db3751d8e999");
        hash.add(b"a");
        hash.add(b"bc");
        assert_eq!(hash.hex(), "44bc2cf5ad770999");
    }
}
