//! Names of sweeps, as manifests of runs contain them: `inhibitory_count@2026-03-01T12:00:00Z`.

use crate::project::run::now_utc;

/// Separates name and time.
const MARK: char = '@';

/// Returns the name of a sweep that starts now. Two sweeps with the same name differ in their times.
pub fn begun_now(name: &str) -> String {
    format!("{}{MARK}{}", name.replace(MARK, " ").trim(), now_utc())
}

/// Splits into the name that the user chose and the time, UTC; the time is empty if the name has none.
pub fn split(sweep: &str) -> (&str, &str) {
    sweep.rsplit_once(MARK).unwrap_or((sweep, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_is_named_with_its_time() {
        let sweep = begun_now("weak @ strong");
        let (name, time) = split(&sweep);
        assert_eq!(name, "weak   strong");
        assert!(time.starts_with("20") && time.ends_with('Z'), "{time}");
        assert_eq!(split("by hand"), ("by hand", ""));
    }
}
