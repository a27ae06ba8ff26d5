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

/// The version a file says it has; a file without one is of the present version.
pub(super) fn version_of(text: &str) -> SpannedResult<u32> {
    Ok(options().from_str::<Header>(text)?.version)
}

/// Reads a file of a version up to [`VERSION`] and brings it up to date.
pub(super) fn read(version: u32, text: &str) -> SpannedResult<Project> {
    // There is one version so far. A second one keeps the old structs here and adds
    // `1 => v1::Project::into_v2(options().from_str(text)?)`.
    let mut project: Project = match version {
        _ => options().from_str(text)?,
    };
    project.version = VERSION;
    Ok(project)
}
