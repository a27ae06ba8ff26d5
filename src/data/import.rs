//! Imports connection lists in other layouts, text or Parquet: any delimiter, any column names, ids as text or numbers, signs
//! from a neurotransmitter column. The result is a folder with `edges.csv`, `neurons.csv` and `import.txt`, which
//! [`read`](super::read) reads.

use super::{
    DataError, MAX_NEURONS, ProgressFn, column_names,
    import_rows::{RowSource, is_parquet, open_text},
    memory::{Budget, text_bytes},
    messages,
};
use csv::StringRecord;
use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::{BufWriter, Read, Write},
    path::{Path, PathBuf},
};

pub const PREVIEW_ROWS: usize = 20;
/// Number of rows between two progress reports.
const REPORT_EVERY: u64 = 16_384;
/// Maximum number of distinct transmitters.
const MAX_TRANSMITTERS: usize = 64;
/// Maximum number of rows.
const MAX_ROWS: u64 = 1 << 28;
/// Factor of density: integer ids are used as indices if the largest id is below this multiple of the number of neurons.
const DENSE: u64 = 4;

/// Memory per row, bytes.
const ROW_BYTES: u64 = size_of::<(u32, u32, i32)>() as u64;
/// Memory per neuron in addition to its id, bytes: index entry, number and position.
const NEURON_BYTES: u64 = 96;

/// Column names of each role, most specific first; case, spaces and punctuation are ignored.
const SOURCES: &[&str] =
    &["source", "pre", "pre_id", "presynaptic", "pre_root_id", "from", "bodyid_pre", "presynaptic_id"];
const TARGETS: &[&str] =
    &["target", "post", "post_id", "postsynaptic", "post_root_id", "to", "bodyid_post", "postsynaptic_id"];
const TRANSMITTERS: &[&str] = &["nt_type", "nt", "neurotransmitter", "top_nt", "transmitter", "sign"];

/// Transmitters that are inhibitory by default.
pub const INHIBITORY: &str = "GABA, GLUT, glutamate";
/// Source of the default [`INHIBITORY`].
pub const INHIBITORY_CONVENTION: &str = "Drosophila convention (Shiu et al. 2024): glutamate inhibits, through \
    glutamate-gated chloride channels. In vertebrates it excites: leave GABA and glycine only.";
/// Warning about a table without weights.
pub const NO_WEIGHT: &str = "No weight column: each row counts as one synapse.";

/// Columns of a connection list, by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Id of the presynaptic neuron.
    pub source: usize,
    /// Id of the postsynaptic neuron.
    pub target: usize,
    /// Synapse count; if `None`, each row counts as one synapse.
    pub weight: Option<usize>,
    /// Neurotransmitter, which gives the sign; `None` if there is no such column.
    pub transmitter: Option<usize>,
}

/// First rows of a file, with its columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    pub columns: Vec<String>,
    /// Cells of the first rows.
    pub rows: Vec<Vec<String>>,
    /// Delimiter of a text file.
    pub delimiter: u8,
    /// Columns guessed from their names.
    pub mapping: Mapping,
}

/// Settings of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportSpec {
    /// Files with the same columns.
    pub files: Vec<PathBuf>,
    pub delimiter: u8,
    /// Roles of the columns.
    pub mapping: Mapping,
    /// Inhibitory transmitters, separated by commas.
    pub inhibitory: String,
}

/// Connections read from the files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// Id of each neuron, in the order of the indices.
    pub ids: Vec<String>,
    /// Connections: presynaptic index, postsynaptic index and signed synapse count; one entry per pair, sorted.
    pub connections: Vec<(u32, u32, i32)>,
    /// Number of rows read.
    pub n_rows: u64,
    /// Number of synapses, ignoring signs.
    pub n_synapses: u64,
    /// Number of inhibitory connections.
    pub n_inhibitory: u64,
    /// Number of rows per transmitter.
    pub transmitters: BTreeMap<String, u64>,
}

/// Guesses the delimiter of a header line: the most frequent candidate, or a comma.
pub fn guess_delimiter(header: &str) -> u8 {
    let count = |d: u8| header.bytes().filter(|b| *b == d).count();
    let best = [b',', b'\t', b';', b' ', b'|'].into_iter().max_by_key(|d| (count(*d), *d != b' '));
    best.filter(|d| count(*d) > 0).unwrap_or(b',')
}

/// Guesses the roles of columns from their names.
pub fn guess_mapping(columns: &[String]) -> Mapping {
    let find = |wanted: &[&str]| column_names::find(wanted, columns);
    let source = find(SOURCES).unwrap_or(0);
    let target = find(TARGETS).filter(|t| *t != source).unwrap_or(if source == 0 { 1 } else { 0 });
    Mapping { source, target, weight: find(column_names::WEIGHTS), transmitter: find(TRANSMITTERS) }
}

/// Reads the first rows of a file. Guesses the delimiter if none is given. Fails if the file has a single column.
pub fn preview(path: &Path, delimiter: Option<u8>) -> Result<Preview, DataError> {
    let delimiter = match delimiter {
        Some(delimiter) => delimiter,
        None if is_parquet(path) => b',',
        None => {
            let mut head = Vec::new();
            open_text(path)?.take(1 << 16).read_to_end(&mut head).map_err(|e| DataError::io(path, e))?;
            let head = String::from_utf8_lossy(&head);
            guess_delimiter(head.lines().next().unwrap_or_default())
        }
    };
    let mut source = RowSource::open(path, delimiter, None)?;
    let columns = source.columns();
    if columns.len() < 2 {
        let hint = if is_parquet(path) { "" } else { ": choose another delimiter" };
        return Err(DataError::format(path, format!("only one column{hint}. Expected source and target")));
    }
    let (mut rows, mut row) = (vec![], StringRecord::new());
    while rows.len() < PREVIEW_ROWS && source.next(&mut row)? {
        rows.push(row.iter().map(|cell| messages::truncated_to(cell, 40)).collect());
    }
    let mapping = guess_mapping(&columns);
    Ok(Preview { columns, rows, delimiter, mapping })
}

/// Reads all connections and adds up rows of equal pairs. Fails for invalid rows, files without rows, or too much memory.
pub fn read(spec: &ImportSpec, watch: &ProgressFn) -> Result<Imported, DataError> {
    let n_bytes = spec.files.iter().map(|file| std::fs::metadata(file).map_or(0, |about| about.len())).sum();
    read_within(spec, Budget::of(n_bytes), watch)
}

/// Reads all connections within a memory budget. Fails if a file is invalid or has no connections, the budget is exceeded, or
/// `watch` cancels.
fn read_within(spec: &ImportSpec, budget: Budget, watch: &ProgressFn) -> Result<Imported, DataError> {
    let mut rows = Rows {
        inhibitory: words(&spec.inhibitory),
        budget,
        index: HashMap::new(),
        ids: vec![],
        edges: vec![],
        transmitters: BTreeMap::new(),
    };
    for (i, path) in spec.files.iter().enumerate() {
        let part = |done: f32| (i as f32 + done) / spec.files.len() as f32;
        rows.read_file(path, spec, &|done| watch("reading connections", 0.9 * part(done)))?;
    }
    if rows.edges.is_empty() {
        let path = spec.files.first().map_or(Path::new(""), |p| p.as_path());
        return Err(DataError::format(path, "no connections: the file has a header only"));
    }
    if !watch("adding up connections", 0.95) {
        return Err(DataError::Cancelled);
    }
    rows.finish(spec)
}

/// Whether a transmitter inhibits: it is in a list such as [`INHIBITORY`], or a negative number.
pub fn is_inhibitory(list: &str, transmitter: &str) -> bool {
    inhibits(&words(list), transmitter)
}

fn inhibits(inhibitory: &[String], transmitter: &str) -> bool {
    let name = transmitter.to_lowercase();
    inhibitory.contains(&name) || name.starts_with('-') && name.parse::<f64>().is_ok()
}

fn words(list: &str) -> Vec<String> {
    list.split(',').map(|w| w.trim().to_lowercase()).filter(|w| !w.is_empty()).collect()
}

/// Connections read so far.
struct Rows {
    inhibitory: Vec<String>,
    budget: Budget,
    index: HashMap<String, u32>,
    ids: Vec<String>,
    edges: Vec<(u32, u32, i32)>,
    transmitters: BTreeMap<String, u64>,
}

impl Rows {
    fn read_file(&mut self, path: &Path, spec: &ImportSpec, watch: &dyn Fn(f32) -> bool) -> Result<(), DataError> {
        let Mapping { source: pre, target: post, weight, transmitter } = spec.mapping;
        let wanted: Vec<usize> = [Some(pre), Some(post), weight, transmitter].into_iter().flatten().collect();
        let mut rows = RowSource::open(path, spec.delimiter, Some(&wanted))?;
        let mut row = StringRecord::new();
        let mut n = 0_u64;
        while rows.next(&mut row)? {
            let n_known = self.ids.len();
            self.add(&row, &spec.mapping).map_err(|what| rows.error(&row, &what))?;
            // An id is stored twice: by number and in the index.
            let n_new_bytes = self.ids[n_known..].iter().map(|id| 2 * text_bytes(id.len()) + NEURON_BYTES).sum::<u64>();
            self.budget.take(path, ROW_BYTES + n_new_bytes)?;
            n += 1;
            if n.is_multiple_of(REPORT_EVERY) {
                if !watch(rows.done()) {
                    return Err(DataError::Cancelled);
                }
                if self.edges.len() as u64 > MAX_ROWS {
                    return Err(DataError::format(
                        path,
                        format!("more than {} rows", messages::group_digits(MAX_ROWS)),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Adds one row. The error names the invalid value.
    fn add(&mut self, row: &StringRecord, mapping: &Mapping) -> Result<(), String> {
        let cell = |at: usize| row.get(at).ok_or_else(|| format!("column {} is missing", at + 1));
        let pre = self.neuron(cell(mapping.source)?)?;
        let post = self.neuron(cell(mapping.target)?)?;
        let mut count = match mapping.weight {
            Some(at) => count(cell(at)?)?,
            None => 1,
        };
        if let Some(at) = mapping.transmitter {
            let name = cell(at)?;
            if inhibits(&self.inhibitory, name) {
                count = -count.abs();
            }
            if let Some(n) = self.transmitters.get_mut(name) {
                *n += 1;
            } else if self.transmitters.len() < MAX_TRANSMITTERS {
                self.transmitters.insert(name.to_owned(), 1);
            }
        }
        self.edges.push((pre, post, count));
        Ok(())
    }

    fn neuron(&mut self, id: &str) -> Result<u32, String> {
        if id.is_empty() {
            return Err("an id is empty".to_owned());
        }
        if let Some(known) = self.index.get(id) {
            return Ok(*known);
        }
        let at = self.ids.len() as u32;
        if at >= MAX_NEURONS {
            return Err(format!("more than {} neurons", messages::group_digits(u64::from(MAX_NEURONS))));
        }
        self.ids.push(id.to_owned());
        self.index.insert(id.to_owned(), at);
        Ok(at)
    }

    /// Orders neurons by id and adds up rows of equal pairs. Fails if the synapses of a pair exceed 32 bits, or memory exceeds
    /// the budget.
    fn finish(mut self, spec: &ImportSpec) -> Result<Imported, DataError> {
        let path = spec.files.first().map_or(Path::new(""), |p| p.as_path());
        let n_rows = self.edges.len() as u64;
        drop(std::mem::take(&mut self.index));
        let (ids, place) =
            order(std::mem::take(&mut self.ids), |n| self.budget.take(path, n as u64 * text_bytes(size_of::<u64>())))?;
        let mut connections = self.edges;
        connections.iter_mut().for_each(|e| (e.0, e.1) = (place[e.0 as usize], place[e.1 as usize]));
        connections.sort_unstable_by_key(|e| (e.0, e.1));
        let mut too_many = None;
        // Pairs are added up in place, because the list may take most of the memory.
        connections.dedup_by(|next, last| {
            let is_same = (next.0, next.1) == (last.0, last.1);
            if is_same {
                match last.2.checked_add(next.2) {
                    Some(sum) => last.2 = sum,
                    None => too_many = Some((last.0, last.1)),
                }
            }
            is_same
        });
        if let Some((pre, post)) = too_many {
            return Err(DataError::format(path, format!("{pre} → {post}: too many synapses")));
        }
        connections.retain(|c| c.2 != 0);
        Ok(Imported {
            n_rows,
            n_synapses: connections.iter().map(|c| u64::from(c.2.unsigned_abs())).sum(),
            n_inhibitory: connections.iter().filter(|c| c.2 < 0).count() as u64,
            transmitters: self.transmitters,
            ids,
            connections,
        })
    }
}

fn count(text: &str) -> Result<i32, String> {
    let whole = text.parse::<f64>().ok().filter(|x| x.fract() == 0.0 && x.abs() <= f64::from(i32::MAX));
    let wrong = || format!("weight '{}' is not an integer. Expected a synapse count", messages::truncated(text));
    whole.map(|x| x as i32).ok_or_else(wrong)
}

/// Sorts neurons by id, numeric ids by value. Returns the sorted ids and the new index of each neuron. Small integer ids are
/// used as indices; then `reserve` is called with the number of indices. Fails if `reserve` fails.
fn order(
    mut ids: Vec<String>,
    mut reserve: impl FnMut(usize) -> Result<(), DataError>,
) -> Result<(Vec<String>, Vec<u32>), DataError> {
    let numbers: Option<Vec<u64>> = ids.iter().map(|id| id.parse().ok()).collect();
    let mut by_id: Vec<u32> = (0..ids.len() as u32).collect();
    match &numbers {
        Some(numbers) => {
            let largest = numbers.iter().max().copied().unwrap_or(0);
            if largest < (ids.len() as u64).saturating_mul(DENSE) && largest < u64::from(MAX_NEURONS) {
                drop(ids);
                reserve(largest as usize + 1)?;
                let all = (0..=largest).map(|id| id.to_string()).collect();
                return Ok((all, numbers.iter().map(|n| *n as u32).collect()));
            }
            by_id.sort_by_key(|i| numbers[*i as usize]);
        }
        None => by_id.sort_by(|a, b| ids[*a as usize].cmp(&ids[*b as usize])),
    }
    let mut place = vec![0; ids.len()];
    by_id.iter().zip(0..).for_each(|(old, new)| place[*old as usize] = new);
    Ok((by_id.iter().map(|i| std::mem::take(&mut ids[*i as usize])).collect(), place))
}

/// Writes `edges.csv`, `neurons.csv` and `import.txt` into a folder. If cancelled, removes `edges.csv`. Fails if a file cannot
/// be written.
pub fn write(imported: &Imported, spec: &ImportSpec, folder: &Path, watch: &ProgressFn) -> Result<(), DataError> {
    std::fs::create_dir_all(folder).map_err(|e| DataError::io(folder, e))?;
    let (neurons, edges, about) = (folder.join("neurons.csv"), folder.join("edges.csv"), folder.join("import.txt"));
    write_file(&neurons, &mut |out| {
        let are_numbers = imported.ids.iter().all(|id| id.parse::<u64>().is_ok());
        writeln!(out, "idx,{}", if are_numbers { "root_id" } else { "name" })?;
        imported.ids.iter().enumerate().try_for_each(|(i, id)| writeln!(out, "{i},{}", quoted(id)))
    })?;
    let n = imported.connections.len().max(1);
    let mut is_cancelled = false;
    write_file(&edges, &mut |out| {
        writeln!(out, "pre,post,w")?;
        for (i, (pre, post, count)) in imported.connections.iter().enumerate() {
            if i % REPORT_EVERY as usize == 0 && !watch("writing connections", i as f32 / n as f32) {
                is_cancelled = true;
                return Ok(());
            }
            writeln!(out, "{pre},{post},{count}")?;
        }
        Ok(())
    })?;
    if is_cancelled {
        std::fs::remove_file(&edges).ok();
        return Err(DataError::Cancelled);
    }
    write_file(&about, &mut |out| out.write_all(describe(spec).as_bytes()))
}

fn write_file(path: &Path, write: &mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>) -> Result<(), DataError> {
    let mut out = BufWriter::new(File::create(path).map_err(|e| DataError::io(path, e))?);
    write(&mut out).and_then(|()| out.flush()).map_err(|e| DataError::io(path, e))
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', ';']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// Describes the files and the mapping of an import as text.
fn describe(spec: &ImportSpec) -> String {
    let Mapping { source, target, weight, transmitter } = &spec.mapping;
    let column = |at: &Option<usize>| at.map_or_else(|| "none".to_owned(), |at| (at + 1).to_string());
    let files: Vec<String> = spec.files.iter().map(|f| format!("file: {}\n", f.display())).collect();
    let convention = match transmitter {
        Some(_) if spec.inhibitory == INHIBITORY => format!(" ({INHIBITORY_CONVENTION})"),
        _ => String::new(),
    };
    format!(
        "{}delimiter: {:?}\nsource column: {}\ntarget column: {}\nweight column: {}\ntransmitter column: {}\n\
         inhibitory: {}{convention}\n",
        files.concat(),
        char::from(spec.delimiter),
        source + 1,
        target + 1,
        weight.map_or_else(|| format!("none. {NO_WEIGHT}"), |at| (at + 1).to_string()),
        column(transmitter),
        spec.inhibitory
    )
}

#[cfg(test)]
mod tests;
