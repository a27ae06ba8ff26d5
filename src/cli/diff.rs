//! `neuropil diff`: lists the differences of two projects.

use super::{error::CliError, stdout::print_line};
use crate::{data::counted, project};
use std::path::Path;

/// Prints one line per difference, in the order of the file. Fails if a file is unreadable or the projects differ.
pub(super) fn diff(a: &Path, b: &Path) -> Result<(), CliError> {
    let (old, new) = (project::open(a)?.0, project::open(b)?.0);
    let differences = project::diff(&old, &new);
    for difference in &differences {
        print_line!("{difference}");
    }
    match differences.len() {
        0 => Ok(()),
        n => Err(CliError::Failed(counted(n, "difference", "differences"))),
    }
}
