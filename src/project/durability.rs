//! Determines when written files reach the disk: each at once, or all files of a series together.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

/// Number of series in progress.
static DEFERRED: AtomicU32 = AtomicU32::new(0);

/// Guard of a series of runs. While it exists, run files are not synced one by one, because fsync would take most of the
/// time of short trials. A crash of the system may then lose trials of the series; a crash of the program loses nothing.
pub struct DeferredSync {
    folder: PathBuf,
}

impl DeferredSync {
    /// Defers syncing of all run files until the guard is dropped. [`Self::finish`] syncs `folder`.
    pub fn new(folder: &Path) -> Self {
        DEFERRED.fetch_add(1, Ordering::SeqCst);
        Self { folder: folder.to_owned() }
    }

    /// Syncs all files written since the guard was created. Fails if the system reports an error.
    pub fn finish(self) -> io::Result<()> {
        sync_file_system(&self.folder)
    }
}

impl Drop for DeferredSync {
    fn drop(&mut self) {
        DEFERRED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits until a file or folder is on disk, unless syncing is deferred. Fails if the system reports an error.
pub fn sync(file: &File) -> io::Result<()> {
    if DEFERRED.load(Ordering::SeqCst) > 0 {
        return Ok(());
    }
    #[cfg(test)]
    tests::SYNCS.with(|n| n.set(n.get() + 1));
    file.sync_all()
}

/// Syncs the file system that holds a folder.
#[cfg(target_os = "linux")]
fn sync_file_system(folder: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let folder = File::open(folder)?;
    // SAFETY: the descriptor is open for the duration of the call.
    if unsafe { libc::syncfs(folder.as_raw_fd()) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Syncs every file in a folder and its subfolders.
#[cfg(not(target_os = "linux"))]
fn sync_file_system(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { sync_file_system(&path)? } else { File::open(path)?.sync_all()? }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::write_atomic;
    use neuropil_test_support::temp::TempFolder;

    thread_local! {
        /// Number of calls of fsync by this thread.
        pub(super) static SYNCS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
    }

    #[test]
    fn files_of_a_series_are_synced_once() {
        let folder = TempFolder::new("series");
        let syncs = || SYNCS.with(std::cell::Cell::get);
        let series = DeferredSync::new(&folder);
        (0..5).for_each(|i| write_atomic(&folder.join(format!("{i}.ron")), b"()", false).unwrap());
        assert_eq!(syncs(), 0);
        let writer = include_str!("writer.rs");
        assert!(!writer.contains("sync_data") && !writer.contains("sync_all"), "run files are synced by `sync`");
        series.finish().unwrap();
    }
}
