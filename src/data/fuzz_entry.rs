//! Entry points for fuzzing the readers: each writes the bytes to a temporary file, reads it, and returns the result,
//! which is an error if the bytes are invalid. No entry point may panic for any input.

use super::{
    Connectome, DataError, MAX_NEURONS, columns,
    weighted_edges::{self, EdgeLimits, WeightedEdges},
};
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Reads an edge list as text.
pub fn edges_csv(bytes: &[u8]) -> Result<Connectome, DataError> {
    with_file(bytes, "csv", |path| checked(super::read(path, super::Tables::default(), &|_, _| true)))
}

/// Imports a list of connections, with columns guessed from their names.
pub fn import_csv(bytes: &[u8]) -> Result<super::import::Imported, DataError> {
    use super::import;
    with_file(bytes, "csv", |path| {
        let import::Preview { delimiter, mapping, .. } = import::preview(path, None)?;
        let inhibitory = import::INHIBITORY.to_owned();
        let spec = import::ImportSpec { files: vec![path.to_owned()], delimiter, mapping, inhibitory };
        let read = import::read(&spec, &|_, _| true)?;
        let n = read.ids.len() as u32;
        assert!(
            read.connections.iter().all(|(pre, post, count)| *pre < n && *post < n && *count != 0),
            "neurons exist"
        );
        assert!(read.connections.is_sorted_by(|a, b| (a.0, a.1) < (b.0, b.1)), "each pair once");
        Ok(read)
    })
}

/// Reads an edge list in Parquet.
pub fn edges_parquet(bytes: &[u8]) -> Result<Connectome, DataError> {
    with_file(bytes, "parquet", |path| checked(super::read(path, super::Tables::default(), &|_, _| true)))
}

/// Reads an edge list as text with weights and delays, between populations of 8 and 5 neurons.
pub fn weighted_csv(bytes: &[u8]) -> Result<Option<WeightedEdges>, DataError> {
    with_file(bytes, "csv", weighted)
}

/// Reads an edge list in Parquet with weights and delays, between populations of 8 and 5 neurons.
pub fn weighted_parquet(bytes: &[u8]) -> Result<Option<WeightedEdges>, DataError> {
    with_file(bytes, "parquet", weighted)
}

/// Reads the edges of a SONATA file as synapse counts.
pub fn edges_sonata(bytes: &[u8]) -> Result<Connectome, DataError> {
    with_file(bytes, "h5", |path| checked(super::read(path, super::Tables::default(), &|_, _| true)))
}

/// Reads the edges of a SONATA file with weights and delays, between populations of 8 and 5 neurons.
pub fn weighted_sonata(bytes: &[u8]) -> Result<Option<WeightedEdges>, DataError> {
    with_file(bytes, "h5", weighted)
}

/// Reads a neuron table as text.
pub fn neurons_csv(bytes: &[u8]) -> Result<super::NeuronTable, DataError> {
    with_file(bytes, "csv", |path| Ok(super::neurons::read(path, None, &|_, _| true)?.table))
}

/// Reads a neuron table in Parquet.
pub fn neurons_parquet(bytes: &[u8]) -> Result<super::NeuronTable, DataError> {
    with_file(bytes, "parquet", |path| Ok(super::neurons::read(path, None, &|_, _| true)?.table))
}

/// Joins FlyWire annotations with three neurons.
pub fn annotations(bytes: &[u8]) -> Result<super::NeuronTable, DataError> {
    with_file(bytes, "tsv", |path| {
        let mut table = super::NeuronTable { len: 3, ids: vec![1, 2, 3], ..super::NeuronTable::default() };
        super::annotations::join(path, &mut table, &mut vec![], &|_, _| true)?;
        Ok(table)
    })
}

pub fn columns(bytes: &[u8]) -> Result<Vec<Vec<u32>>, DataError> {
    with_file(bytes, "csv", |path| columns::read_columns_u32(path, &["idx", "step"]))
}

/// Reads samples of a regression as text, with the target in the column `y`.
pub fn samples_csv(bytes: &[u8]) -> Result<super::samples::Samples, DataError> {
    with_file(bytes, "csv", samples)
}

/// Reads samples of a regression from a NumPy archive.
pub fn samples_npz(bytes: &[u8]) -> Result<super::samples::Samples, DataError> {
    with_file(bytes, "npz", samples)
}

pub fn text(bytes: &[u8]) -> Result<super::text::Corpus, DataError> {
    with_file(bytes, "txt", |path| corpus(path, &super::text::TokenUnit::Character))
}

/// Reads lines of JSON with a field `text`.
pub fn text_jsonl(bytes: &[u8]) -> Result<super::text::Corpus, DataError> {
    with_file(bytes, "jsonl", |path| corpus(path, &super::text::TokenUnit::Byte))
}

/// Loads a `tokenizer.json` and applies it to a short text.
pub fn tokenizer_json(bytes: &[u8]) -> Result<(), DataError> {
    let failed = |e: super::text::TokenError| DataError::Format { path: String::new(), what: e.to_string() };
    let tokenizer = super::text::Tokenizer::from_json(bytes).map_err(failed)?;
    let tokens = tokenizer.encode("One line, two words.\n").map_err(failed)?;
    assert!(tokens.iter().all(|t| (*t as usize) < tokenizer.n_vocab()), "tokens are in the vocabulary");
    tokenizer.decode(&tokens);
    Ok(())
}

/// Reads all tensors of a safetensors file.
pub fn tensors(bytes: &[u8]) -> Result<(), DataError> {
    with_file(bytes, "safetensors", |path| {
        let file = super::tensors::TensorFile::open(path)?;
        for name in file.names() {
            let Ok(values) = file.read(&name, &|_, _| true) else { continue };
            let shape = file.shape(&name).unwrap_or_default();
            assert_eq!(values.len(), shape.iter().product::<usize>(), "as many values as its shape says");
        }
        Ok(())
    })
}

fn corpus(path: &Path, unit: &super::text::TokenUnit) -> Result<super::text::Corpus, DataError> {
    let corpus = super::text::prepare(&super::text::Source::File(path.to_owned()), unit, &|_, _| true)?;
    assert_eq!(corpus.train().len() + corpus.held_out().len(), corpus.len(), "two parts");
    assert!(corpus.levels().iter().all(|level| level.1.is_finite()), "losses are finite");
    assert_eq!(corpus.text(0..corpus.len()).len() as u64, corpus.n_bytes, "the text is read back");
    Ok(corpus)
}

fn samples(path: &Path) -> Result<super::samples::Samples, DataError> {
    let s = super::samples::read(path, "y", &|_, _| true)?;
    assert!(s.inputs > 0 && !s.y.is_empty() && s.x.len() == s.y.len() * s.inputs, "one row per target");
    assert!(s.x.iter().chain(&s.y).all(|v| v.is_finite()), "numbers are numbers");
    Ok(s)
}

/// Reads an edge list with weights and delays, and checks the invariants of the result.
fn weighted(path: &Path) -> Result<Option<WeightedEdges>, DataError> {
    let limits = EdgeLimits {
        sizes: [8, 5],
        step_ms: 0.1,
        to_steps: |ms, step| (ms / step + 0.5).floor(),
        max_delay_ms: 1000.0,
        max_weight: 1e9,
        target_bits: 26,
    };
    let Some(edges) = weighted_edges::read(path, &limits, &|_, _| true)? else { return Ok(None) };
    let span = edges.delays.map_or(1, |(first, n)| {
        assert!(first >= 1 && n <= 64, "delays are within their limits");
        n
    });
    assert_eq!((edges.starts.len(), edges.words.len()), (9, edges.weights.len()), "one row per neuron");
    assert!(edges.words.iter().all(|word| word & ((1 << 26) - 1) < 5 && word >> 26 < span), "targets exist");
    let is_sorted =
        |pre: u32| edges.range(pre).is_sorted_by_key(|at| (edges.words[at].rotate_left(6), edges.weights[at]));
    assert!((0..8).all(is_sorted), "rows are sorted");
    Ok(Some(edges))
}

/// Checks invariants of the connectome that was read.
fn checked(read: Result<Connectome, DataError>) -> Result<Connectome, DataError> {
    let c = read?;
    let rows = &c.synapses.rows;
    assert!(c.synapses.n() <= MAX_NEURONS && c.synapses.n() == c.neurons.len, "one row per neuron");
    assert!(
        rows.windows(2).all(|w| w[0] <= w[1]) && rows.last() == Some(&(c.synapses.len() as u32)),
        "rows cover the words"
    );
    for pre in 0..c.synapses.n().min(4096) {
        let row: Vec<(u32, i32)> = c.synapses.connections(pre).collect();
        assert!(row.windows(2).all(|w| w[0].0 < w[1].0), "rows are sorted, each target once");
        assert!(row.iter().all(|(target, count)| *target < c.synapses.n() && *count != 0), "targets exist");
    }
    Ok(c)
}

fn with_file<T>(bytes: &[u8], ending: &str, read: impl FnOnce(&Path) -> Result<T, DataError>) -> Result<T, DataError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("neuropil-fuzz-{}-{}.{ending}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let memory = PathBuf::from("/dev/shm");
    let path = if memory.is_dir() { memory } else { std::env::temp_dir() }.join(name);
    std::fs::write(&path, bytes).map_err(|e| DataError::io(&path, e))?;
    let outcome = read(&path);
    let _ = std::fs::remove_file(&path);
    outcome
}
