//! Limit of open files: a series keeps files of every trial open.

use std::io;

/// Number of open files that the rest of the program needs at most.
const OTHERS: u64 = 256;

/// Raises the limit of open files of the process for this number of further files, up to the maximum of the system.
#[cfg(unix)]
pub fn allow(n_files: u64) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is that of a local value.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return;
    }
    let wanted = (n_files + OTHERS).min(limit.rlim_max);
    if limit.rlim_cur < wanted {
        limit.rlim_cur = wanted;
        // SAFETY: the pointer is that of a local value. After a failure the limit stays, and files are refused with an error.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    }
}

/// Does nothing, because the system limits open files by memory only.
#[cfg(not(unix))]
pub const fn allow(_: u64) {}

/// Explains the error of a system that refuses more open files.
pub fn explain(error: io::Error, n_trials: u32) -> io::Error {
    // Errors of run files are messages with the path, without the number of the system.
    if !error.to_string().contains("Too many open files") {
        return error;
    }
    io::Error::new(
        error.kind(),
        format!(
            "the system allows too few open files for {n_trials} trials: raise the limit (ulimit -n), or set fewer"
        ),
    )
}
