//! Inputs and targets of a regression: a table with one column per input, or a NumPy archive with `X` and `y`.

use super::{
    DataError, ProgressFn, data_table,
    data_table::DataTable,
    input_file,
    limited::{LimitedReader, is_cancelled},
    memory::Budget,
    messages,
    npz::NpzArchive,
};
use npyz::{DType, NpyFile, TypeChar};
use std::{fs::File, io, io::BufReader, path::Path};

/// Maximum number of elements in X: 2 GB as f64.
const MAX: u64 = 1 << 28;
/// Maximum memory per number of an archive during reading, bytes: 8 as stored and 8 as f64.
const NUMBER_BYTES: u64 = 16;

/// Samples of a regression.
pub struct Samples {
    /// Inputs `[samples × inputs]`, row-major.
    pub x: Vec<f64>,
    /// Targets, one per sample: `[samples]`.
    pub y: Vec<f64>,
    /// Number of columns in `x`.
    pub inputs: usize,
    /// One line about the source.
    pub provenance: String,
}

/// Reads samples. In a table, the column `target` is y and all other columns are inputs, in their order. Fails if a value is
/// not finite, or if there are no samples or inputs.
pub fn read(path: &Path, target: &str, watch: &ProgressFn) -> Result<Samples, DataError> {
    let samples = if data_table::ending(path) == "npz" { archive(path, watch)? } else { table(path, target, watch)? };
    let n = samples.y.len();
    if n == 0 || samples.inputs == 0 {
        return Err(DataError::format(
            path,
            format!(
                "{} of {}; at least one each",
                messages::counted(n, "sample", "samples"),
                messages::counted(samples.inputs, "input", "inputs")
            ),
        ));
    }
    Ok(samples)
}

fn describe_file(path: &Path, samples: usize, inputs: usize) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    {
        let samples = messages::counted(samples, "sample", "samples");
        format!("{name}: {samples} of {}", messages::counted(inputs, "input", "inputs"))
    }
}

fn table(path: &Path, target: &str, watch: &ProgressFn) -> Result<Samples, DataError> {
    let source = DataTable::read(path, |_, _| true, watch)?;
    let Some(y) = source.find(&[target]) else {
        return Err(DataError::format(path, messages::no_column(&[target], &source.names)));
    };
    let inputs = source.columns.len() - 1;
    if source.n_rows as u64 * inputs as u64 > MAX {
        return Err(too_large(path));
    }
    let mut x = vec![0.0; source.n_rows * inputs];
    for (at, column) in (0..source.columns.len()).filter(|c| *c != y).enumerate() {
        for (row, value) in finite(&source, column)?.into_iter().enumerate() {
            x[row * inputs + at] = value;
        }
    }
    let y = finite(&source, y)?;
    Ok(Samples { provenance: describe_file(path, y.len(), inputs), x, y, inputs })
}

fn finite(source: &DataTable, column: usize) -> Result<Vec<f64>, DataError> {
    let values = source.reals(column)?;
    match values.iter().position(|v| !v.is_finite()) {
        Some(row) => Err(source.error(row, column, "empty or not finite; every sample needs every number")),
        None => Ok(values),
    }
}

/// Reads a square matrix with `rows` rows, row-major, from the array `name` of a NumPy archive. Fails if an element is negative
/// or not finite.
pub fn square(path: &Path, name: &str, rows: usize, watch: &ProgressFn) -> Result<Vec<f64>, DataError> {
    let (shape, values) = array(path, &mut open(path)?, name, watch)?;
    if shape != [rows as u64, rows as u64] {
        return Err(DataError::format(path, format!("{name} has the shape {shape:?}; [{rows}, {rows}] expected")));
    }
    match values.iter().position(|v| *v < 0.0) {
        Some(at) => Err(DataError::format(path, format!("{name}[{}, {}] is negative", at / rows, at % rows))),
        None => Ok(values),
    }
}

type Archive = NpzArchive<BufReader<File>>;

fn open(path: &Path) -> Result<Archive, DataError> {
    let file = input_file::open(path).map_err(|e| DataError::io(path, e))?;
    NpzArchive::new(BufReader::new(file)).map_err(|e| DataError::format(path, format!("not a NumPy archive: {e}")))
}

/// Reads the shape and the values of an array. The entry is read to its end, because its checksum is verified there. Fails if
/// the array is missing, damaged, too large, or not of finite numbers.
fn array(
    path: &Path,
    archive: &mut Archive,
    name: &str,
    watch: &ProgressFn,
) -> Result<(Vec<u64>, Vec<f64>), DataError> {
    let names: Vec<String> = archive.array_names().collect();
    let wrong = |what: String| DataError::format(path, format!("{name}: {what}"));
    let Some(entry) = archive.entry(name).map_err(|e| wrong(e.to_string()))? else {
        return Err(DataError::format(path, messages::no_column(&[name], &names)));
    };
    let expected = entry.size();
    let mut reader = LimitedReader::new(entry, 8 * MAX + (1 << 20), expected, "samples", watch);
    let failed = |e: io::Error| if is_cancelled(&e) { DataError::Cancelled } else { wrong(e.to_string()) };
    let read = numbers(path, name, NpyFile::new(&mut reader).map_err(failed)?, &failed)?;
    match io::copy(&mut reader, &mut io::sink()).map_err(failed)? {
        0 => Ok(read),
        n => Err(wrong(format!("{} after the end of the array", messages::counted(n, "byte", "bytes")))),
    }
}

fn archive(path: &Path, watch: &ProgressFn) -> Result<Samples, DataError> {
    let mut archive = open(path)?;
    let (shape, x) = array(path, &mut archive, "X", watch)?;
    let (length, y) = array(path, &mut archive, "y", watch)?;
    let (&[samples, inputs], true) = (&shape[..], shape.first() == Some(&length.iter().product())) else {
        return Err(DataError::format(
            path,
            format!("X has the shape {shape:?} and y {length:?}; B × D and B expected"),
        ));
    };
    Ok(Samples { provenance: describe_file(path, samples as usize, inputs as usize), x, y, inputs: inputs as usize })
}

fn numbers<R: io::Read>(
    path: &Path,
    name: &str,
    file: NpyFile<R>,
    failed: &dyn Fn(io::Error) -> DataError,
) -> Result<(Vec<u64>, Vec<f64>), DataError> {
    let wrong = |what: String| DataError::format(path, format!("{name}: {what}"));
    let shape = file.shape().to_vec();
    let n_numbers = shape.iter().try_fold(1_u64, |n, d| n.checked_mul(*d)).filter(|n| *n <= MAX);
    let n_numbers = n_numbers.ok_or_else(|| too_large(path))?;
    // The size of a compressed archive does not bound the size of its contents, so memory is counted by numbers.
    let n_bytes = std::fs::metadata(path).map_err(|e| DataError::io(path, e))?.len();
    Budget::of(n_bytes).take(path, NUMBER_BYTES.saturating_mul(n_numbers))?;
    if file.order() != npyz::Order::C && shape.len() > 1 {
        return Err(wrong("stored column by column; save np.ascontiguousarray of it".to_owned()));
    }
    let kind = match file.dtype() {
        DType::Plain(text) => (text.type_char(), text.size_field()),
        other => return Err(wrong(format!("numbers expected, got {}", other.descr()))),
    };
    let values = match kind {
        (TypeChar::Float, 4) => file.into_vec::<f32>().map(|v| v.into_iter().map(f64::from).collect()),
        (TypeChar::Float, 8) => file.into_vec::<f64>(),
        (TypeChar::Int, 8) => file.into_vec::<i64>().map(|v| v.into_iter().map(|x| x as f64).collect()),
        (TypeChar::Int, 4) => file.into_vec::<i32>().map(|v| v.into_iter().map(f64::from).collect()),
        _ => return Err(wrong("32 or 64-bit numbers expected".to_owned())),
    };
    let values: Vec<f64> = values.map_err(failed)?;
    match values.iter().position(|v| !v.is_finite()) {
        Some(at) => {
            let place = match shape[..] {
                [_, columns] => format!("[{}, {}]", at as u64 / columns, at as u64 % columns),
                _ => format!("[{at}]"),
            };
            Err(DataError::format(path, format!("{name}{place} is not finite; every sample needs every number")))
        }
        None => Ok((shape, values)),
    }
}

fn too_large(path: &Path) -> DataError {
    DataError::format(path, format!("more than {} numbers, the limit", messages::group_digits(MAX)))
}
