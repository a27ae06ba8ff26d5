//! Files of the parameters of neuron models, which the column `dynamics_params` of a table of node types names.

use crate::data::{DataError, read_text_at_most, sonata_types::TypeTable};
use serde_json::value::RawValue;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
};

/// Maximum size of a file, bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Parameters of a neuron model.
pub struct ModelFile {
    pub path: PathBuf,
    /// Texts of the values by name, sorted: numbers and switches as in JSON, strings without quotes.
    pub values: Vec<(String, String)>,
}

impl ModelFile {
    /// Reads the file that all of some types name; `None` if they name none or several, or there is no such file in `folder`. Paths that lead
    /// out of the folder are not followed. Fails if the file is no JSON object.
    pub(super) fn of_types(table: &TypeTable, ids: &BTreeSet<u64>, folder: &Path) -> Result<Option<Self>, DataError> {
        let Some(name) = table.common_cell(ids, "dynamics_params") else { return Ok(None) };
        let path = folder.join(name);
        let is_plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        let real = [folder, &path].map(|path| path.canonicalize().ok());
        let [Some(inside), Some(real)] = real else { return Ok(None) };
        if is_plain && real.starts_with(inside) && real.is_file() { Self::read(&path).map(Some) } else { Ok(None) }
    }

    fn read(path: &Path) -> Result<Self, DataError> {
        let json = read_text_at_most(path, MAX_BYTES, &|_, _| true)?;
        let wrong = |e: serde_json::Error| {
            DataError::at_line(path, e.line() as u64, format!("a JSON object of parameters expected: {e}"))
        };
        let values: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&json).map_err(wrong)?;
        let text = |value: Box<RawValue>| serde_json::from_str(value.get()).unwrap_or_else(|_| value.get().to_owned());
        let values = values.into_iter().map(|(name, value)| (name, text(value))).collect();
        Ok(Self { path: path.to_owned(), values })
    }
}
