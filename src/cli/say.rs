//! Results on stdout. A closed pipe (`| head`) ends the program without an error.

/// Prints a line.
macro_rules! out {
    ($($arg:tt)*) => { $crate::cli::say::line(&format!($($arg)*)) };
}
pub(super) use out;

/// Prints a line; see [`out!`].
pub(super) fn line(text: &str) {
    use std::io::Write;
    if let Err(error) = writeln!(std::io::stdout(), "{text}") {
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            eprintln!("neuropil: stdout: {error}");
        }
        std::process::exit(1);
    }
}
