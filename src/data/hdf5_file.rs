//! HDF5 files, read in windows of rows. Memory is that of a window and a chunk; a file that claims larger chunks is refused.

use super::{
    DataError,
    memory::{Budget, text_bytes},
    messages,
};
use hdf5_pure::{AttrValue, Dataset, Error, File, Group};
use std::path::{Path, PathBuf};

/// Maximum size of a chunk, bytes. HDF5 writes chunks of up to some MB by default.
const MAX_CHUNK: u64 = 256 << 20;
/// Maximum number of members of a group that are listed.
const MAX_MEMBERS: usize = 4096;
/// Maximum number of characters of a library's message.
const MAX_MESSAGE: usize = 200;

/// Type of the numbers of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberType {
    Unsigned,
    Signed,
    Real,
}

/// File that is open for reading.
pub struct Hdf5File {
    path: PathBuf,
    file: File,
}

/// Column of numbers or texts in a file.
pub struct Hdf5Column {
    path: PathBuf,
    /// Path in the file.
    pub name: String,
    dataset: Dataset,
    /// Number of rows.
    pub n: u64,
}

impl Hdf5File {
    /// Opens a file. Fails if it is no HDF5 file or its structure is damaged.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        // Only regular files are opened, as `input_file` describes.
        drop(super::input_file::open(path).map_err(|e| DataError::io(path, e))?);
        let file = guarded(path, "", || File::open_streaming(path))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Returns the names of the groups in a group, sorted. Fails if there is no such group or it is damaged.
    pub fn groups(&self, group: &str) -> Result<Vec<String>, DataError> {
        self.names(group, Group::groups)
    }

    /// Returns the names of the datasets in a group, sorted. Fails if there is no such group or it is damaged.
    pub fn datasets(&self, group: &str) -> Result<Vec<String>, DataError> {
        self.names(group, Group::datasets)
    }

    fn names(&self, group: &str, list: fn(&Group) -> Result<Vec<String>, Error>) -> Result<Vec<String>, DataError> {
        let mut names = guarded(&self.path, group, || list(&self.file.group(group)?))?;
        names.truncate(MAX_MEMBERS);
        names.sort();
        Ok(names)
    }

    /// Opens a one-dimensional dataset. Fails if there is none, it has another shape, or it is damaged.
    pub fn column(&self, name: &str) -> Result<Hdf5Column, DataError> {
        let (path, wrong) = (&self.path, |what: &str| DataError::format(&self.path, format!("{name}: {what}")));
        let dataset = guarded(path, name, || self.file.dataset(name))?;
        let shape = guarded(path, name, || dataset.shape())?;
        let [n] = shape[..] else { return Err(wrong("a list expected; it has another number of dimensions")) };
        let chunk = guarded(path, name, || dataset.chunk_shape())?;
        let n_value = guarded(path, name, || dataset.element_size())?;
        let n_chunk = chunk.iter().flatten().fold(n_value, |all, n| all.saturating_mul(*n));
        if n_chunk > MAX_CHUNK {
            return Err(wrong(&format!("chunks of {} bytes are too large", messages::group_digits(n_chunk))));
        }
        Ok(Hdf5Column { path: path.clone(), name: name.to_owned(), dataset, n })
    }
}

impl Hdf5Column {
    /// Returns the type of the numbers. Fails if the column holds other values.
    pub fn number_type(&self) -> Result<NumberType, DataError> {
        use hdf5_pure::DType as D;
        match guarded(&self.path, &self.name, || self.dataset.dtype())? {
            D::U8 | D::U16 | D::U32 | D::U64 => Ok(NumberType::Unsigned),
            D::I8 | D::I16 | D::I32 | D::I64 => Ok(NumberType::Signed),
            D::F32 | D::F64 => Ok(NumberType::Real),
            _ => Err(self.error(None, "numbers expected")),
        }
    }

    /// Whether the column holds texts. Fails if its type is damaged.
    pub fn is_text(&self) -> Result<bool, DataError> {
        use hdf5_pure::DType as D;
        let of = guarded(&self.path, &self.name, || self.dataset.dtype())?;
        Ok(matches!(of, D::String | D::VariableLengthString))
    }

    /// Reads all texts. Fails if they cannot be read or exceed the memory limit.
    pub fn texts(&self, budget: &mut Budget) -> Result<Vec<String>, DataError> {
        let n_value = guarded(&self.path, &self.name, || self.dataset.element_size())?;
        budget.take(&self.path, self.n.saturating_mul(n_value.saturating_add(text_bytes(0))))?;
        let dtype = guarded(&self.path, &self.name, || self.dataset.dtype())?;
        if matches!(dtype, hdf5_pure::DType::VariableLengthString) {
            budget.take(&self.path, guarded(&self.path, &self.name, || self.dataset.vlen_string_payload_size())?)?;
        }
        let mut texts = self.rows(0, self.n, || self.dataset.read_string())?;
        texts.iter_mut().for_each(|text| text.truncate(text.trim_end_matches('\0').len()));
        Ok(texts)
    }

    /// Reads the unsigned numbers of some rows. Fails if they cannot be read.
    pub fn unsigned(&self, first: u64, n: u64) -> Result<Vec<u64>, DataError> {
        self.rows(first, n, || self.dataset.read_u64_rows(first, n))
    }

    /// Reads the signed numbers of some rows. Fails if they cannot be read.
    pub fn signed(&self, first: u64, n: u64) -> Result<Vec<i64>, DataError> {
        self.rows(first, n, || self.dataset.read_i64_rows(first, n))
    }

    /// Reads the numbers of some rows as floating point numbers. Fails if they cannot be read.
    pub fn reals(&self, first: u64, n: u64) -> Result<Vec<f64>, DataError> {
        self.rows(first, n, || self.dataset.read_f64_rows(first, n))
    }

    fn rows<T>(&self, first: u64, n: u64, read: impl FnOnce() -> Result<Vec<T>, Error>) -> Result<Vec<T>, DataError> {
        let values = guarded(&self.path, &self.name, read)?;
        if values.len() as u64 != n {
            return Err(self.error(Some(first), "the rows end here"));
        }
        Ok(values)
    }

    /// Returns an attribute of text; `None` if there is none.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let attributes = guarded(&self.path, &self.name, || self.dataset.attrs()).ok()?;
        match attributes.get(name)? {
            AttrValue::String(text)
            | AttrValue::AsciiString(text)
            | AttrValue::VarLenString(text)
            | AttrValue::VarLenAsciiString(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// Returns an error about a row, or about the whole column.
    pub fn error(&self, row: Option<u64>, what: &str) -> DataError {
        let row = row.map_or_else(String::new, |row| format!(", row {row}"));
        DataError::format(&self.path, format!("{}{row}: {what}", self.name))
    }
}

/// Reads from a file. Returns an error that names the place in it; a defect of the library that damage reveals is one, too.
fn guarded<T>(path: &Path, place: &str, read: impl FnOnce() -> Result<T, Error>) -> Result<T, DataError> {
    let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
    read().map_err(|error| {
        DataError::format(path, format!("{place}{}", messages::truncated_to(&error.to_string(), MAX_MESSAGE)))
    })
}
