//! Objects of an NWB file as groups and arrays of Zarr, in the form of hdmf-zarr: types and ids in attributes, references as
//! paths.

use crate::export::zarr::{Attributes, Number, Store};
use serde_json::{Value, json};
use std::{collections::BTreeSet, io, path::PathBuf};
use twox_hash::XxHash64;

/// Version of the NWB schema that declares the written types.
const NWB_VERSION: &str = "2.9.0";
/// Namespace of the types of NWB.
const CORE: &str = "core";
/// Namespace of tables.
const COMMON: &str = "hdmf-common";

/// Returns attributes from a JSON object.
pub(super) fn attributes(json: Value) -> Attributes {
    match json {
        Value::Object(map) => map,
        _ => Attributes::new(),
    }
}

/// NWB file that is being written.
pub(super) struct Nwb {
    pub store: Store,
    /// Text that identifies the run; the ids of objects follow from it.
    seed: String,
    /// Whether the group of processed data exists.
    has_processing: bool,
    /// Whether the group of intervals exists.
    has_intervals: bool,
    /// Paths of the objects.
    used: BTreeSet<String>,
}

/// Group of processing module and tables that NWB has no place for.
const PROCESSING: &str = "processing/neuropil";

impl Nwb {
    /// Creates a file in an existing empty folder. Fails if a file cannot be written.
    pub fn create(root: PathBuf, seed: &str) -> io::Result<Self> {
        let about = attributes(json!({
            "neurodata_type": "NWBFile", "namespace": CORE, "nwb_version": NWB_VERSION, "object_id": object_id(seed, ""),
        }));
        let mut store = Store::create(root, about)?;
        for group in ["acquisition", "analysis", "general", "processing", "stimulus"] {
            store.group(group, Attributes::new())?;
        }
        for group in ["stimulus/presentation", "stimulus/templates"] {
            store.group(group, Attributes::new())?;
        }
        let used = BTreeSet::new();
        Ok(Self { store, seed: seed.to_owned(), has_processing: false, has_intervals: false, used })
    }

    /// Returns the attributes of an object of a type of NWB.
    pub fn typed(&self, path: &str, neurodata_type: &str) -> Attributes {
        self.of_type(path, CORE, neurodata_type)
    }

    fn of_type(&self, path: &str, namespace: &str, neurodata_type: &str) -> Attributes {
        let id = object_id(&self.seed, path);
        attributes(json!({ "namespace": namespace, "neurodata_type": neurodata_type, "object_id": id }))
    }

    /// Writes a single text. Fails if a file cannot be written.
    pub fn text(&mut self, path: &str, text: &str, mut about: Attributes) -> io::Result<()> {
        about.insert("zarr_dtype".to_owned(), "scalar".into());
        self.store.texts(path, [text], about)
    }

    /// Returns a free path in a group for a name, without characters that separate paths.
    pub fn path_in(&mut self, group: &str, name: &str) -> String {
        let plain: String = name.chars().map(|c| if "/:\\".contains(c) || c.is_control() { '_' } else { c }).collect();
        let plain = if plain.trim_matches(['.', ' ']).is_empty() { "unnamed".to_owned() } else { plain };
        let numbered = (2..).map(|k| format!("{group}/{plain}_{k}"));
        let free = std::iter::once(format!("{group}/{plain}")).chain(numbered).find(|path| !self.used.contains(path));
        let free = free.unwrap_or_default();
        self.used.insert(free.clone());
        free
    }

    /// Returns a free path for tables and series in the processing module. Fails if the module cannot be written.
    pub fn path_in_processing(&mut self, name: &str) -> io::Result<String> {
        if !self.has_processing {
            self.has_processing = true;
            let mut about = self.typed(PROCESSING, "ProcessingModule");
            about.insert("description".to_owned(), "Tables of elements and lanes, and samples wider than long".into());
            self.store.group(PROCESSING, about)?;
        }
        Ok(self.path_in(PROCESSING, name))
    }

    /// Returns a free path for a table of intervals. Fails if the group of intervals cannot be written.
    pub fn path_in_intervals(&mut self, name: &str) -> io::Result<String> {
        if !self.has_intervals {
            self.has_intervals = true;
            self.store.group("intervals", Attributes::new())?;
        }
        Ok(self.path_in("intervals", name))
    }

    /// Begins a table of a type: `Units`, `TimeIntervals` or `DynamicTable`. Fails if the folder cannot be created.
    pub fn table(&mut self, path: &str, neurodata_type: &str, description: &str) -> io::Result<Table<'_>> {
        let namespace = if neurodata_type == "DynamicTable" { COMMON } else { CORE };
        let mut about = self.of_type(path, namespace, neurodata_type);
        about.insert("description".to_owned(), description.into());
        Ok(Table { path: path.to_owned(), about, columns: vec![], nwb: self })
    }
}

/// Names of members of tables that no column may have.
const RESERVED: &[&str] = &[
    "id",
    "spike_times",
    "obs_intervals",
    "electrodes",
    "electrode_group",
    "waveforms",
    "waveform_mean",
    "waveform_sd",
    "name",
    "description",
    "colnames",
    "columns",
    "parent",
    "tags",
    "timeseries",
    "resolution",
    "data",
];

/// Table that is being written.
pub(super) struct Table<'a> {
    pub nwb: &'a mut Nwb,
    path: String,
    about: Attributes,
    columns: Vec<String>,
}

impl Table<'_> {
    /// Adds a column and returns its path and attributes. A name that the format reserves gets a line after it.
    pub fn column(&mut self, name: &str, description: &str) -> (String, Attributes) {
        let mut name = name.replace(['/', ':'], "_");
        while RESERVED.contains(&name.as_str()) || self.columns.contains(&name) {
            name.push('_');
        }
        self.raw_column(&name, description)
    }

    /// Adds a column with a name of the format.
    pub fn raw_column(&mut self, name: &str, description: &str) -> (String, Attributes) {
        let path = format!("{}/{name}", self.path);
        let mut about = self.nwb.of_type(&path, COMMON, "VectorData");
        about.insert("description".to_owned(), description.into());
        self.columns.push(name.to_owned());
        (path, about)
    }

    /// Writes a column of numbers. Fails if a file cannot be written.
    pub fn numbers<T: Number>(
        &mut self,
        (name, description): (&str, &str),
        values: impl IntoIterator<Item = T>,
    ) -> io::Result<()> {
        let (path, about) = self.column(name, description);
        self.nwb.store.numbers(&path, values, about)
    }

    /// Writes a column of texts. Fails if a file cannot be written.
    pub fn texts<S: AsRef<str>>(
        &mut self,
        (name, description): (&str, &str),
        texts: impl IntoIterator<Item = S>,
    ) -> io::Result<()> {
        let (path, about) = self.column(name, description);
        self.nwb.store.texts(&path, texts, about)
    }

    /// Writes the index of a column: the end of each row in its values. Fails if a file cannot be written.
    pub fn index(&mut self, column: &str, ends: impl IntoIterator<Item = u64>) -> io::Result<()> {
        let path = format!("{}/{column}_index", self.path);
        let target = format!("/{}/{column}", self.path);
        let mut about = self.nwb.of_type(&path, COMMON, "VectorIndex");
        about.insert("description".to_owned(), format!("Index for VectorData '{column}'").into());
        let file = object_id(&self.nwb.seed, "");
        let reference = json!({ "source": ".", "path": target, "object_id": null, "source_object_id": file });
        about.insert("target".to_owned(), json!({ "zarr_dtype": "object", "value": reference }));
        self.nwb.store.numbers(&path, ends, about)
    }

    /// Ends a table of `n` rows. Fails if a file cannot be written.
    pub fn close(mut self, n: u64) -> io::Result<()> {
        let path = format!("{}/id", self.path);
        let about = self.nwb.of_type(&path, COMMON, "ElementIdentifiers");
        self.about.insert("colnames".to_owned(), json!(self.columns));
        self.nwb.store.group(&self.path, self.about)?;
        self.nwb.store.numbers(&path, 0..n.cast_signed(), about)
    }
}

/// Returns the id of an object: a UUID of version 8, which follows from the run and the path.
fn object_id(seed: &str, path: &str) -> String {
    let text = format!("{seed}/{path}");
    let [high, low] = [1, 2].map(|k| XxHash64::oneshot(k, text.as_bytes()));
    let (high, low) = (high & !0xf000 | 0x8000, low >> 2 | 1 << 63);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}
