//! Named tensors in safetensors files, in the format of the `safetensors` crate, read tensor by tensor.

use super::{DataError, ProgressFn, input_file, messages, report};
use crate::num::halves;
pub use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use std::{
    collections::HashMap,
    io::{self, Read as _, Seek as _, SeekFrom, Write},
    path::{Path, PathBuf},
};

/// Maximum size of a header in bytes, as in the crate.
const MAX_HEADER: u64 = 100_000_000;
/// Maximum number of elements in a tensor.
const MAX_ELEMENTS: usize = 1 << 34;
/// Number of elements converted at a time.
const CHUNK: usize = 1 << 18;

/// Open file with a valid header: every tensor is inside the file, and no two tensors overlap.
pub struct TensorFile {
    path: PathBuf,
    metadata: Metadata,
    /// Offset of the data, bytes.
    start: u64,
}

impl TensorFile {
    /// Opens a file and checks its header. Fails if the header or the length of the file is invalid.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        let io = |e| DataError::io(path, e);
        let wrong = |what: String| DataError::format(path, format!("not a safetensors file: {what}"));
        let mut file = input_file::open(path).map_err(io)?;
        let about = file.metadata().map_err(io)?;
        let mut len = [0; 8];
        file.read_exact(&mut len).map_err(|_| wrong("it is shorter than 8 bytes".to_owned()))?;
        let len = u64::from_le_bytes(len);
        if len > MAX_HEADER || len > about.len() - 8 {
            return Err(wrong(format!("its header would have {} bytes", messages::group_digits(len))));
        }
        let mut header = vec![0; len as usize];
        file.read_exact(&mut header).map_err(io)?;
        let metadata: Metadata =
            serde_json::from_slice(&header).map_err(|e| wrong(messages::truncated_to(&e.to_string(), 200)))?;
        let (start, data) = (8 + len, metadata.data_len() as u64);
        if about.len() != start + data {
            let [there, needed] = [about.len(), start + data].map(messages::group_digits);
            return Err(wrong(format!("it has {there} bytes, its header describes {needed}; it may be cut off")));
        }
        Ok(Self { path: path.to_owned(), metadata, start })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names of the tensors in file order.
    pub fn names(&self) -> Vec<String> {
        self.metadata.offset_keys()
    }

    /// Whether the file has a tensor of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.metadata.info(name).is_some()
    }

    /// Returns the extents of a tensor, slowest dimension first; `None` if there is no such tensor.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        Some(&self.metadata.info(name)?.shape)
    }

    /// Reads a tensor of floating-point numbers as f32. Fails if the tensor is missing or has another type, or if a value is
    /// not finite.
    pub fn read(&self, name: &str, watch: &ProgressFn) -> Result<Vec<f32>, DataError> {
        let wrong = |what: String| DataError::format(&self.path, format!("tensor `{name}`: {what}"));
        let info = self.metadata.info(name).ok_or_else(|| wrong("there is none of this name".to_owned()))?;
        let convert: fn(&[u8]) -> f32 = match info.dtype {
            Dtype::F32 => |b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]),
            Dtype::F16 => |b| halves::from_f16_bits(u16::from_le_bytes([b[0], b[1]])),
            Dtype::BF16 => |b| halves::from_bf16_bits(u16::from_le_bytes([b[0], b[1]])),
            Dtype::F64 => |b| b.first_chunk().map_or(0.0, |b| f64::from_le_bytes(*b)) as f32,
            other => return Err(wrong(format!("it holds {other}; F32, F16, BF16 or F64 expected"))),
        };
        let (from, to) = info.data_offsets;
        let size = info.dtype.bitsize() / 8;
        let n = (to - from) / size;
        if n > MAX_ELEMENTS {
            return Err(wrong(format!(
                "more than {} elements, the limit",
                messages::group_digits(MAX_ELEMENTS as u64)
            )));
        }
        let io = |e: io::Error| DataError::io(&self.path, e);
        let mut file = input_file::open(&self.path).map_err(io)?;
        file.seek(SeekFrom::Start(self.start + from as u64)).map_err(io)?;
        let (mut values, mut buffer) = (Vec::with_capacity(n), vec![0; CHUNK.min(n) * size]);
        while values.len() < n {
            report(watch, "reading weights", values.len() as f32 / n as f32)?;
            let part = &mut buffer[..CHUNK.min(n - values.len()) * size];
            file.read_exact(part).map_err(io)?;
            values.extend(part.chunks_exact(size).map(convert));
        }
        match values.iter().position(|v| !v.is_finite()) {
            Some(at) => Err(wrong(format!("element {at} is not finite"))),
            None => Ok(values),
        }
    }
}

/// Tensor to write, with its elements as little-endian bytes.
#[derive(Clone, Debug)]
pub struct TensorBytes<'a> {
    /// Name, unique in its file.
    pub name: &'a str,
    /// Type of the elements.
    pub dtype: Dtype,
    /// Extents, slowest dimension first.
    pub shape: Vec<usize>,
    pub bytes: &'a [u8],
}

/// Writes a file: the header, then the tensors. The tensors with the widest elements come first, so that all are aligned. Fails
/// if the shape of a tensor does not fit its bytes, or `out` fails.
pub fn write(out: &mut impl Write, tensors: &[TensorBytes], about: &[(&str, String)]) -> io::Result<()> {
    let mut sorted: Vec<&TensorBytes> = tensors.iter().collect();
    sorted.sort_by_key(|t| (std::cmp::Reverse(t.dtype), t.name));
    let mut end = 0;
    let info = |t: &&TensorBytes| {
        let start = end;
        end += t.bytes.len();
        (t.name.to_owned(), TensorInfo { dtype: t.dtype, shape: t.shape.clone(), data_offsets: (start, end) })
    };
    let infos = sorted.iter().map(info).collect();
    let about: HashMap<String, String> =
        about.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let metadata = Metadata::new(Some(about), infos).map_err(io::Error::other)?;
    let mut header = serde_json::to_vec(&metadata)?;
    header.resize(header.len().next_multiple_of(8), b' ');
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    sorted.iter().try_for_each(|t| out.write_all(t.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;
    use std::fs;

    fn bytes_of(tensors: &[(&str, Dtype, &[usize], &[u8])]) -> Vec<u8> {
        let tensors: Vec<TensorBytes> = tensors
            .iter()
            .map(|(name, dtype, shape, bytes)| TensorBytes { name, dtype: *dtype, shape: shape.to_vec(), bytes })
            .collect();
        let mut out = vec![];
        write(&mut out, &tensors, &[("format", "test".to_owned())]).unwrap();
        out
    }

    #[test]
    fn types_are_widened_and_the_crate_agrees() {
        let whole = bytes_of(&[
            ("half", Dtype::F16, &[2], &[0, 0x3C, 0, 0xC0]),
            ("brain", Dtype::BF16, &[1, 2], &[0x80, 0x3F, 0x00, 0xC0]),
            ("single", Dtype::F32, &[1], &1.5_f32.to_le_bytes()),
            ("double", Dtype::F64, &[], &0.1_f64.to_le_bytes()),
            ("count", Dtype::U64, &[1], &7_u64.to_le_bytes()),
            ("none", Dtype::F32, &[0, 3], &[]),
        ]);
        let theirs = safetensors::SafeTensors::deserialize(&whole).expect("the crate reads it");
        assert_eq!(theirs.tensor("single").unwrap().data(), 1.5_f32.to_le_bytes());
        let folder = TempFolder::new("tensors");
        let path = folder.join("types");
        fs::write(&path, &whole).unwrap();
        let file = TensorFile::open(&path).unwrap();
        let read = |name: &str| file.read(name, &|_, _| true);
        assert_eq!((read("half").unwrap(), read("brain").unwrap()), (vec![1.0, -2.0], vec![1.0, -2.0]));
        assert_eq!((read("single").unwrap(), read("double").unwrap()), (vec![1.5], vec![0.1]));
        assert_eq!((read("none").unwrap(), file.shape("none").unwrap()), (vec![], &[0, 3][..]));
        assert!(
            read("count").unwrap_err().to_string().ends_with("`count`: it holds U64; F32, F16, BF16 or F64 expected")
        );
        assert!(matches!(file.read("half", &|_, _| false), Err(DataError::Cancelled)));
    }

    #[test]
    fn damaged_files_are_refused() {
        let whole = bytes_of(&[("w", Dtype::F32, &[2, 2], &[0; 16]), ("v", Dtype::F16, &[1], &[0, 0x7C])]);
        let folder = TempFolder::new("tensors");
        let path = folder.join("damaged");
        fs::write(&path, &whole).unwrap();
        let infinite = TensorFile::open(&path).unwrap().read("v", &|_, _| true).unwrap_err().to_string();
        assert!(infinite.ends_with("tensor `v`: element 0 is not finite"), "{infinite}");
        for len in 0..whole.len() {
            fs::write(&path, &whole[..len]).unwrap();
            assert!(TensorFile::open(&path).is_err(), "{len} bytes");
        }
        for at in 0..whole.len() - 18 {
            for bit in 0..8 {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                fs::write(&path, &flipped).unwrap();
                // Some flips give another valid header; no flip may cause a panic.
                if let Ok(file) = TensorFile::open(&path) {
                    file.names().iter().for_each(|name| drop(file.read(name, &|_, _| true)));
                }
            }
        }
    }
}
