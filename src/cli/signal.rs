//! Ctrl-C and termination: the first closes what is open, the second aborts.

use std::sync::{
    Once,
    atomic::{AtomicBool, Ordering},
};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static INSTALLED: Once = Once::new();

/// Starts to listen for interrupts.
pub(super) fn listen() {
    INSTALLED.call_once(|| {
        let installed = ctrlc::set_handler(|| {
            if INTERRUPTED.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            eprintln!("\nneuropil: closing the run; interrupt again to abort");
        });
        if let Err(error) = installed {
            tracing::warn!("interrupts will not close the run: {error}");
        }
    });
}

/// Whether the program was interrupted.
pub(super) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}
