//! What the test binaries share: reference data, skipping, tests in a process of their own, a counting allocator.

pub mod allocator;
pub mod golden;
#[path = "../../../src/data/npz.rs"]
pub mod npz;
pub mod shared_resource;
pub mod temp;

use std::{fmt::Display, io::Write as _, process::Command, time::Duration};

/// Bounds a wait for what never comes: what comes is due much sooner, also on a machine with other work.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// What a skipped test lacks. `NEUROPIL_REQUIRE=gpu,golden` makes its absence an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// An NVIDIA GPU.
    Gpu,
    /// Reference data that are not part of the repository.
    Golden,
    /// A graphics driver, for pictures.
    Graphics,
    /// A program or a right of the machine.
    Tool,
}

impl Need {
    fn name(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Golden => "golden",
            Self::Graphics => "graphics",
            Self::Tool => "tool",
        }
    }
}

/// Whether durations are asserted: `NEUROPIL_TIMINGS=1`, on an idle machine.
pub fn asserts_timings() -> bool {
    std::env::var_os("NEUROPIL_TIMINGS").is_some()
}

/// Reports that a test was skipped; fails it where `NEUROPIL_REQUIRE` names the need. The line is seen without
/// `--nocapture`: the test runner captures what is printed, not what is written to the handle.
#[track_caller]
pub fn skip(need: Need, why: impl Display) {
    let required = std::env::var("NEUROPIL_REQUIRE").unwrap_or_default();
    let is_required = required.split(',').any(|name| name.trim() == need.name());
    assert!(!is_required, "NEUROPIL_REQUIRE={required}, but {why}");
    let thread = std::thread::current();
    let test = thread.name().filter(|name| *name != "main").map_or(String::new(), |name| format!("{name}: "));
    let _ = writeln!(std::io::stderr(), "SKIPPED: {test}{why}");
}

/// Runs a test in a process of its own, for those that change or measure the whole process: false in the first
/// process, after the test passed in the second; true in the second, which is the one to test.
#[track_caller]
pub fn alone(test: &str) -> bool {
    const MARK: &str = "NEUROPIL_TEST_ALONE";
    if std::env::var(MARK).is_ok_and(|name| name == test) {
        return true;
    }
    let program = std::env::current_exe().expect("the test binary");
    let output =
        Command::new(program).args([test, "--exact", "--nocapture", "--include-ignored"]).env(MARK, test).output();
    let output = output.expect("the test binary starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    print!("{out}{err}");
    assert!(output.status.success() && out.contains("1 passed"), "{test} failed in a process of its own");
    for line in err.lines().filter(|line| line.starts_with("SKIPPED: ")) {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
    false
}
