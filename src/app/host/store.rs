//! Small files that are kept between sessions.

use crate::project;
use std::path::PathBuf;

/// Writes a text to a file on a new thread. Does nothing without a path or a text; an error is logged.
pub fn write(file: Option<PathBuf>, text: Option<String>) {
    let (Some(file), Some(text)) = (file, text) else { return };
    let write = move || {
        let made = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        let written = made.and_then(|()| project::write_atomic(&file, text.as_bytes(), false));
        if let Err(e) = written {
            tracing::warn!("{}: {e}", file.display());
        }
    };
    std::thread::Builder::new().name("settings".into()).spawn(write).ok();
}
