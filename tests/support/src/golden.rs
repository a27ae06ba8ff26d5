//! Reference data: NumPy archives in `tests/golden/<kind>`, or in `$NEUROPIL_GOLDEN/<kind>`.

use crate::npz::NpzArchive;
use npyz::{DType, NpyFile, TypeChar};
use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// Folder of a kind.
pub fn folder(kind: &str) -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden");
    std::env::var_os("NEUROPIL_GOLDEN").map_or(own, PathBuf::from).join(kind)
}

/// Checks one archive.
pub type Check = fn(&Golden);

/// Checks every archive of a pattern of `readers`, at least one; each array of it must be read.
#[track_caller]
pub fn check_all(kind: &str, readers: &[(&str, Check)], pattern: &str) {
    let check = readers.iter().find(|(start, _)| *start == pattern).expect("a line of the readers").1;
    for golden in all(kind, pattern) {
        check(&golden);
        let unread = golden.unread();
        assert!(unread.is_empty(), "{} has arrays that its test does not read: {unread:?}", golden.name);
    }
}

/// All archives whose names begin like that, at least one.
pub fn all(kind: &str, start: &str) -> Vec<Golden> {
    let found = some(kind, start);
    assert!(!found.is_empty(), "no {start}*.npz in {}", folder(kind).display());
    found
}

/// All archives whose names begin like that, perhaps none.
pub fn some(kind: &str, start: &str) -> Vec<Golden> {
    let entries = std::fs::read_dir(folder(kind)).expect("the folder of reference data");
    let name = |path: &PathBuf| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(start));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(name).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "npz"));
    paths.sort();
    paths.iter().map(|path| Golden::open(path)).collect()
}

/// An archive in memory: every array as shape and doubles; text as no values. Unsigned 64-bit integers are also kept as they are.
pub struct Golden {
    /// File name without its extension.
    pub name: String,
    arrays: HashMap<String, (Vec<u64>, Vec<f64>)>,
    words: HashMap<String, Vec<u64>>,
    /// Arrays that no test has read so far.
    unread: Mutex<BTreeSet<String>>,
}

impl Golden {
    fn open(path: &Path) -> Self {
        let mut archive = NpzArchive::open(path).expect("it opens");
        let names: Vec<String> = archive.array_names().collect();
        let mut words = HashMap::new();
        let mut read = |name: &String| {
            let file = archive.by_name(name).expect("it reads").expect("it is there");
            let shape = file.shape().to_vec();
            if is_words(&file) {
                let whole: Vec<u64> = file.into_vec().expect("numbers");
                let values = whole.iter().map(|x| *x as f64).collect();
                words.insert(name.clone(), whole);
                return (name.clone(), (shape, values));
            }
            (name.clone(), (shape, values(file)))
        };
        let arrays = names.iter().map(&mut read).collect();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        Self { name, arrays, words, unread: Mutex::new(names.into_iter().collect()) }
    }

    /// Names of the arrays that were not read so far.
    pub fn unread(&self) -> Vec<String> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Whether there is an array of that name.
    pub fn has(&self, name: &str) -> bool {
        self.arrays.contains_key(name)
    }

    /// Names of all arrays, in alphabetical order.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.arrays.keys().cloned().collect();
        names.sort();
        names
    }

    fn array(&self, name: &str) -> &(Vec<u64>, Vec<f64>) {
        self.arrays.get(name).unwrap_or_else(|| panic!("{} has no {name}", self.name))
    }

    /// Sizes of an array.
    pub fn shape(&self, name: &str) -> Vec<usize> {
        self.array(name).0.iter().map(|n| *n as usize).collect()
    }

    /// Values of an array, in row-major order.
    pub fn get(&self, name: &str) -> &[f64] {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        &self.array(name).1
    }

    /// First value of an array.
    pub fn one(&self, name: &str) -> f64 {
        self.get(name)[0]
    }

    /// Values of an array of integers.
    pub fn whole(&self, name: &str) -> Vec<i64> {
        self.get(name).iter().map(|x| *x as i64).collect()
    }

    /// Values of an array of unsigned 64-bit integers, which doubles would round.
    pub fn words(&self, name: &str) -> &[u64] {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        self.words.get(name).unwrap_or_else(|| panic!("{} has no words {name}", self.name))
    }

    /// A row of a matrix.
    pub fn row(&self, name: &str, row: usize) -> &[f64] {
        let columns = self.shape(name)[1];
        &self.get(name)[row * columns..][..columns]
    }
}

fn is_words<R: std::io::Read>(file: &NpyFile<R>) -> bool {
    matches!(file.dtype(), DType::Plain(text) if (text.type_char(), text.size_field()) == (TypeChar::Uint, 8))
}

fn values<R: std::io::Read>(file: NpyFile<R>) -> Vec<f64> {
    let kind = match file.dtype() {
        DType::Plain(text) => (text.type_char(), text.size_field()),
        other => panic!("{other:?}"),
    };
    macro_rules! read {
        ($T:ty) => {
            file.into_vec::<$T>().expect("numbers").into_iter().map(|x| x as f64).collect()
        };
    }
    match kind {
        (TypeChar::Float, 4) => read!(f32),
        (TypeChar::Float, 8) => read!(f64),
        (TypeChar::Int, 8) => read!(i64),
        (TypeChar::Int, 4) => read!(i32),
        (TypeChar::Uint, 8) => read!(u64),
        (TypeChar::Uint, 4) => read!(u32),
        (TypeChar::Uint, 1) => read!(u8),
        (TypeChar::Int, 1) => read!(i8),
        (TypeChar::Bool, _) => {
            file.into_vec::<bool>().expect("booleans").into_iter().map(|x| f64::from(u8::from(x))).collect()
        }
        (TypeChar::UnicodeStr, _) => vec![],
        other => panic!("{other:?}"),
    }
}
