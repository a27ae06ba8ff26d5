//! Writes groups and arrays in the format Zarr, version 2: a folder per group and array, JSON about each, and a file per
//! chunk. Chunks are compressed with Zstandard. An array grows row by row and keeps one chunk in memory.

use super::trial::at;
use serde_json::{Map, Value, json};
use std::{
    fs,
    io::{self, ErrorKind},
    marker::PhantomData,
    path::{Path, PathBuf},
};

/// Attributes of a group or an array.
pub(super) type Attributes = Map<String, Value>;

/// Approximate size of a chunk before compression, bytes.
const CHUNK: usize = 1 << 22;
/// Number of texts in a chunk.
const TEXTS: usize = 1 << 16;
/// Compression level of Zstandard.
const LEVEL: i32 = 3;

/// Number type of an array.
pub(super) trait Number: Copy {
    /// Type in NumPy notation, little-endian.
    const DTYPE: &'static str;
    /// Name of the type in the attribute `zarr_dtype`.
    const NAME: &'static str;
    /// Appends the little-endian bytes.
    fn put(self, bytes: &mut Vec<u8>);
}

macro_rules! number {
    ($($type:ty: $dtype:literal, $name:literal;)*) => { $(
        impl Number for $type {
            const DTYPE: &'static str = $dtype;
            const NAME: &'static str = $name;
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )* };
}
number! {
    f32: "<f4", "float32";
    f64: "<f8", "float64";
    i64: "<i8", "int64";
    u64: "<u8", "uint64";
}

/// Folder with a hierarchy of groups and arrays.
pub(super) struct Store {
    root: PathBuf,
    /// Content of all metadata files by path, for the consolidated file.
    metadata: Map<String, Value>,
}

impl Store {
    /// Creates the root group in an existing empty folder. Fails if a file cannot be written.
    pub fn create(root: PathBuf, attributes: Attributes) -> io::Result<Self> {
        let mut store = Self { root, metadata: Map::new() };
        store.group("", attributes)?;
        Ok(store)
    }

    /// Creates a group; groups around it exist. Fails if a file cannot be written.
    pub fn group(&mut self, path: &str, attributes: Attributes) -> io::Result<()> {
        let folder = self.root.join(path);
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        self.describe(path, ".zgroup", json!({ "zarr_format": 2 }))?;
        if attributes.is_empty() { Ok(()) } else { self.describe(path, ".zattrs", Value::Object(attributes)) }
    }

    /// Begins an array with rows of the shape `row`; the first dimension grows. Fails if the folder cannot be created.
    pub fn array<T: Number>(&self, path: &str, row: &[u64]) -> io::Result<ArrayWriter<T>> {
        let folder = self.root.join(path);
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        let row_bytes = row.iter().product::<u64>().max(1) as usize * size_of::<T>();
        let per_chunk = (CHUNK / row_bytes).max(1);
        let of = PhantomData;
        Ok(ArrayWriter {
            path: path.to_owned(),
            folder,
            row: row.to_vec(),
            per_chunk,
            bytes: vec![],
            n: 0,
            row_bytes,
            of,
        })
    }

    /// Ends an array. Fails if a file cannot be written.
    pub fn close_array<T: Number>(&mut self, mut array: ArrayWriter<T>, mut attributes: Attributes) -> io::Result<()> {
        let n_chunk = (array.n as usize).clamp(1, array.per_chunk);
        if array.n > 0 {
            array.write_last(n_chunk)?;
        }
        let ArrayWriter { path, row, n, .. } = array;
        attributes.entry("zarr_dtype").or_insert_with(|| T::NAME.into());
        self.describe_array(&path, n, n_chunk as u64, &row, (T::DTYPE, Value::Null), attributes)
    }

    /// Writes a one-dimensional array of numbers. Fails if a file cannot be written.
    pub fn numbers<T: Number>(
        &mut self,
        path: &str,
        values: impl IntoIterator<Item = T>,
        attributes: Attributes,
    ) -> io::Result<()> {
        let mut array = self.array::<T>(path, &[])?;
        values.into_iter().try_for_each(|value| array.push(&[value]))?;
        self.close_array(array, attributes)
    }

    /// Writes a single number. Fails if a file cannot be written.
    pub fn scalar(&mut self, path: &str, value: f64, mut attributes: Attributes) -> io::Result<()> {
        attributes.insert("zarr_dtype".to_owned(), "scalar".into());
        self.numbers(path, [value], attributes)
    }

    /// Writes a one-dimensional array of texts. Fails if a file cannot be written.
    pub fn texts<S: AsRef<str>>(
        &mut self,
        path: &str,
        texts: impl IntoIterator<Item = S>,
        mut attributes: Attributes,
    ) -> io::Result<()> {
        let folder = self.root.join(path);
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        let (mut bytes, mut n) = (vec![], 0_usize);
        let write = |bytes: &mut Vec<u8>, n_texts: usize, chunk: usize| {
            let head = (n_texts as u32).to_le_bytes();
            write_chunk(&folder, 0, chunk, &[&head, &bytes[..]].concat())?;
            bytes.clear();
            io::Result::Ok(())
        };
        for text in texts {
            let text = text.as_ref().as_bytes();
            let n_bytes =
                u32::try_from(text.len()).map_err(|_| io::Error::new(ErrorKind::InvalidInput, "a text of 4 GB"))?;
            bytes.extend_from_slice(&n_bytes.to_le_bytes());
            bytes.extend_from_slice(text);
            n += 1;
            if n.is_multiple_of(TEXTS) {
                write(&mut bytes, TEXTS, n / TEXTS - 1)?;
            }
        }
        let n_chunk = n.clamp(1, TEXTS);
        let rest = n % n_chunk.max(1);
        if !bytes.is_empty() {
            // The last chunk of several has empty texts after the end.
            let missing = if n > TEXTS { TEXTS - rest } else { 0 };
            bytes.resize(bytes.len() + 4 * missing, 0);
            write(&mut bytes, n_chunk, n / TEXTS)?;
        }
        attributes.entry("zarr_dtype").or_insert_with(|| "str".into());
        let kind = ("|O", json!([{ "id": "vlen-utf8" }]));
        self.describe_array(path, n as u64, n_chunk as u64, &[], kind, attributes)
    }

    /// Writes the consolidated metadata. Fails if the file cannot be written.
    pub fn close(self) -> io::Result<()> {
        let all = json!({ "metadata": self.metadata, "zarr_consolidated_format": 1 });
        write_json(&self.root.join(".zmetadata"), &all)
    }

    fn describe_array(
        &mut self,
        path: &str,
        n: u64,
        n_chunk: u64,
        row: &[u64],
        (dtype, filters): (&str, Value),
        mut attributes: Attributes,
    ) -> io::Result<()> {
        let with = |first: u64| [&[first], row].concat();
        let about = json!({
            "zarr_format": 2, "shape": with(n), "chunks": with(n_chunk), "dtype": dtype, "order": "C",
            "compressor": { "id": "zstd", "level": LEVEL }, "filters": filters, "fill_value": 0,
        });
        self.describe(path, ".zarray", about)?;
        if attributes.get("zarr_dtype").is_none_or(|of| of != "scalar") {
            let names: Vec<String> = (0..=row.len()).map(|i| format!("dim{i}")).collect();
            attributes.insert("_ARRAY_DIMENSIONS".to_owned(), json!(names));
        }
        self.describe(path, ".zattrs", Value::Object(attributes))
    }

    fn describe(&mut self, path: &str, name: &str, content: Value) -> io::Result<()> {
        let key = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        write_json(&self.root.join(&key), &content)?;
        self.metadata.insert(key, content);
        Ok(())
    }
}

/// Array of numbers that is being written.
pub(super) struct ArrayWriter<T> {
    path: String,
    folder: PathBuf,
    /// Shape of a row.
    row: Vec<u64>,
    row_bytes: usize,
    /// Number of rows in a chunk.
    per_chunk: usize,
    /// Rows that are not written yet.
    bytes: Vec<u8>,
    /// Number of rows so far.
    n: u64,
    of: PhantomData<T>,
}

impl<T: Number> ArrayWriter<T> {
    /// Adds a row. Fails if a chunk cannot be written.
    pub fn push(&mut self, row: &[T]) -> io::Result<()> {
        row.iter().for_each(|value| value.put(&mut self.bytes));
        self.n += 1;
        let chunk = self.n / self.per_chunk as u64;
        if !self.n.is_multiple_of(self.per_chunk as u64) {
            return Ok(());
        }
        write_chunk(&self.folder, self.row.len(), chunk as usize - 1, &self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    /// Writes the rows of the last, incomplete chunk, filled up to `n_chunk` rows.
    fn write_last(&mut self, n_chunk: usize) -> io::Result<()> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        self.bytes.resize(n_chunk * self.row_bytes, 0);
        write_chunk(&self.folder, self.row.len(), (self.n / self.per_chunk as u64) as usize, &self.bytes)
    }
}

/// Writes chunk `i` of the first dimension; the others have one chunk.
fn write_chunk(folder: &Path, more_dimensions: usize, i: usize, bytes: &[u8]) -> io::Result<()> {
    let path = folder.join(format!("{i}{}", ".0".repeat(more_dimensions)));
    let packed = zstd::bulk::compress(bytes, LEVEL).map_err(at(&path))?;
    fs::write(&path, packed).map_err(at(&path))
}

fn write_json(path: &Path, content: &Value) -> io::Result<()> {
    fs::write(path, serde_json::to_vec(content).map_err(io::Error::other)?).map_err(at(path))
}
