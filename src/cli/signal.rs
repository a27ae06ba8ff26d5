//! Handles interrupts (Ctrl-C, termination, hang-up) and the limit on file size.
//!
//! While files are open that must be closed, the first interrupt requests closing and the second aborts. At other times the
//! first interrupt ends the program, because no data can be lost.

use std::sync::{
    Once,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static INSTALLED: Once = Once::new();
/// Number of live [`Closing`] values.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Exit code of a program that was interrupted without open files.
const CANCELLED: i32 = 3;
/// Exit code of a program that was aborted by a second interrupt.
const ABORTED: i32 = 130;

/// Installs the handler of interrupts. A hang-up that the parent process ignores stays ignored, as `nohup` requires.
pub(super) fn listen() {
    INSTALLED.call_once(|| {
        let ignores_hang_up = hang_up::is_ignored();
        if let Err(error) = ctrlc::set_handler(interrupt) {
            tracing::warn!("interrupts will not close the run: {error}");
        }
        if ignores_hang_up {
            hang_up::ignore();
        }
    });
}

fn interrupt() {
    if OPEN.load(Ordering::SeqCst) == 0 {
        eprintln!("\nneuropil: cancelled");
        end(CANCELLED);
    }
    if INTERRUPTED.swap(true, Ordering::SeqCst) {
        end(ABORTED);
    }
    eprintln!("\nneuropil: closing the run; interrupt again to abort");
}

/// Ends the process without exit handlers, because other threads may be in any state.
fn end(code: i32) -> ! {
    #[cfg(unix)]
    // SAFETY: the system call does not return.
    unsafe {
        libc::_exit(code)
    }
    #[cfg(not(unix))]
    std::process::exit(code)
}

/// Whether the program was interrupted. The answer is valid only while a [`Closing`] exists.
pub(super) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Guard whose owner polls [`interrupted`] and closes its files.
pub(super) struct Closing(());

/// Creates a guard. While the guard exists, the first interrupt does not end the program.
pub(super) fn closing() -> Closing {
    OPEN.fetch_add(1, Ordering::SeqCst);
    Closing(())
}

impl Drop for Closing {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Makes a write beyond the file size limit of the process (`ulimit -f`) fail, as on a full disk, instead of ending the
/// process.
pub(super) fn report_file_size_limit() {
    #[cfg(unix)]
    // SAFETY: no handler is installed; the call cannot fail for this signal.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

#[cfg(unix)]
mod hang_up {
    /// Whether SIGHUP is currently ignored.
    pub(super) fn is_ignored() -> bool {
        // SAFETY: `action` is plain data that the call fills; without a new action it changes nothing.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let is_read = libc::sigaction(libc::SIGHUP, std::ptr::null(), &mut action) == 0;
            is_read && action.sa_sigaction == libc::SIG_IGN
        }
    }

    pub(super) fn ignore() {
        // SAFETY: no handler is installed; the call cannot fail for this signal.
        unsafe {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
        }
    }
}

#[cfg(not(unix))]
mod hang_up {
    pub(super) fn is_ignored() -> bool {
        false
    }

    pub(super) fn ignore() {}
}
