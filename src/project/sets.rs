//! Element sets in a run folder: their manifest entries and their files.

use super::{append_file::AppendFile, manifest::FileInfo};
use crate::sim::{Column, ElementSet};
use std::{io, path::Path, sync::Arc};

/// Entry of an element set that streams refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct SetInfo {
    /// Name of the set.
    pub name: String,
    /// Number of elements.
    pub len: u32,
    /// File of little-endian u64 public ids, relative to the run folder; empty if the elements have no ids.
    pub ids: String,
    /// Names of the elements of a small set; empty for other sets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// File of names, positions and categories ([`ElementTable`]) of a set that changed during the run; empty for the first
    /// version, whose properties follow from the project.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub table: String,
    /// Step after which this version of a set that changed during the run holds; 0 for the first version.
    pub from_step: u64,
}

/// Properties of elements other than ids.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(super) struct ElementTable {
    names: Vec<String>,
    positions: Vec<[f32; 3]>,
    columns: Vec<Column>,
}

impl ElementTable {
    /// Returns the table of a set; `None` if the manifest entry of the set is sufficient.
    pub fn of(set: &ElementSet) -> Option<Self> {
        let has_more = !set.positions.is_empty() || !set.columns.is_empty() || set.names.len() > MAX_NAMES;
        let of = || Self { names: set.names.clone(), positions: set.positions.clone(), columns: set.columns.clone() };
        has_more.then(of)
    }

    /// Adds the properties that have one value per element to a set.
    pub fn add_to(self, set: &mut ElementSet) {
        let n = set.len as usize;
        if self.names.len() == n {
            set.names = self.names;
        }
        if self.positions.len() == n {
            set.positions = self.positions;
        }
        let is_whole =
            |c: &Column| c.codes.len() == n && c.codes.iter().all(|code| usize::from(*code) < c.labels.len());
        set.columns = self.columns.into_iter().filter(is_whole).collect();
    }
}

/// Returns the manifest entries of the sets; `ids_in` is the prefix of the paths of their id files.
pub(super) fn describe_sets(sets: &[Arc<ElementSet>], ids_in: &str) -> Vec<SetInfo> {
    sets.iter().map(|set| describe_set(set, &format!("{ids_in}{}.u64", set.name))).collect()
}

/// Suffix of file names with an [`ElementTable`].
pub(super) const TABLE: &str = ".elements.ron";

/// Maximum size of sets whose names are stored in the manifest.
const MAX_NAMES: usize = 1024;

/// Returns the manifest entry of a set; `ids` is the file of its ids, which is omitted for a set without ids.
pub(super) fn describe_set(set: &ElementSet, ids: &str) -> SetInfo {
    let ids = if set.ids.is_empty() { String::new() } else { ids.to_owned() };
    let names = if set.names.len() <= MAX_NAMES { set.names.clone() } else { vec![] };
    SetInfo { name: set.name.into(), len: set.len, ids, names, ..SetInfo::default() }
}

/// Writes the id files of sets and returns their entries for the manifest. Fails if a file cannot be written.
pub(super) fn save_ids(folder: &Path, sets: &[Arc<ElementSet>], infos: &[SetInfo]) -> io::Result<Vec<FileInfo>> {
    let with_ids = sets.iter().zip(infos).filter(|(_, info)| !info.ids.is_empty());
    with_ids.map(|(set, info)| Ok(AppendFile::create(folder, &info.ids, &bytes_of_ids(set))?.info())).collect()
}

/// Writes the public ids of sets into the folder of a series of trials, where the trials find them; existing files are left as
/// they are. Fails if a file cannot be written.
pub fn save_shared_ids(folder: &Path, sets: &[Arc<ElementSet>]) -> io::Result<()> {
    let is_new = |set: &&Arc<ElementSet>| !folder.join(format!("{}.u64", set.name)).exists();
    let new: Vec<Arc<ElementSet>> = sets.iter().filter(is_new).cloned().collect();
    save_ids(folder, &new, &describe_sets(&new, "")).map(drop)
}

/// Returns the public ids of a set as little-endian u64.
pub(super) fn bytes_of_ids(set: &ElementSet) -> Vec<u8> {
    set.ids.iter().flat_map(|id| id.to_le_bytes()).collect()
}
