//! Opens files that a user names. Only regular files are read, because a pipe or a device could block forever or have no end.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read as _},
    path::Path,
};

/// Opens a regular file, or a link to one, for reading. Never waits. Fails if the file cannot be opened, or is a
/// folder, a pipe or a device.
pub fn open(path: &Path) -> io::Result<File> {
    // The check precedes opening, because opening a device may change it.
    check(&fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY);
    let file = options.open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Reads the bytes of a regular file. Fails as [`open`] does.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = Vec::with_capacity(file.metadata()?.len() as usize);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the text of a regular file. Fails as [`open`] does, or if the text is not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut file = open(path)?;
    let mut text = String::with_capacity(file.metadata()?.len() as usize);
    file.read_to_string(&mut text)?;
    Ok(text)
}

fn check(about: &Metadata) -> io::Result<()> {
    if about.is_file() {
        return Ok(());
    }
    let what = if about.is_dir() {
        "it is a folder, a file is expected"
    } else {
        "it is a pipe, a device or a socket, and only regular files are read; write its contents to a file first"
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    #[test]
    fn only_regular_files_are_opened() {
        let temp = TempFolder::new("input-file");
        let (file, link, fifo) = (temp.join("file"), temp.join("link"), temp.join("fifo"));
        fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(read_to_string(&link).unwrap(), "text");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let socket = temp.join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [&fifo, &socket, Path::new("/dev/zero"), Path::new("/dev/null")] {
            let why = read(path).expect_err("it is not a regular file").to_string();
            assert!(why.contains("only regular files"), "{}: {why}", path.display());
        }
        assert!(read(&temp.join("")).expect_err("a folder").to_string().contains("it is a folder"));
        assert_eq!(open(&temp.join("none")).expect_err("there is none").kind(), io::ErrorKind::NotFound);
    }
}
