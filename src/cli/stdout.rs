//! Prints results to stdout. A closed pipe (`| head`) ends the program without an error.

/// Prints a formatted line.
macro_rules! print_line {
    ($($arg:tt)*) => { $crate::cli::stdout::line(&format!($($arg)*)) };
}
pub(super) use print_line;

/// Prints a line. A closed pipe ends the program, see [`print_line!`].
pub(super) fn line(text: &str) {
    use std::io::Write;
    if let Err(error) = writeln!(std::io::stdout(), "{text}") {
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            eprintln!("neuropil: stdout: {error}");
        }
        std::process::exit(1);
    }
}
