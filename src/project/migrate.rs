//! Old project files. Every version keeps a typed reader here; each turns into the next.

use super::{Project, VERSION, file::options};
use ron::error::SpannedResult;
use serde::Deserialize;

/// The one field every version has.
#[derive(Deserialize)]
#[serde(default)]
struct Header {
    version: u32,
}

impl Default for Header {
    fn default() -> Self {
        Self { version: VERSION }
    }
}

/// The version of a file; a file without one has the present version.
pub(super) fn version_of(text: &str) -> SpannedResult<u32> {
    Ok(options().from_str::<Header>(text)?.version)
}

/// Reads a file of a version up to [`VERSION`] and converts it. There is one version so far; when the meaning
/// of a field changes, its old structs move here and `version` selects them.
pub(super) fn read(_version: u32, text: &str) -> SpannedResult<Project> {
    let project: Project = options().from_str(text)?;
    Ok(Project { version: VERSION, ..project })
}
