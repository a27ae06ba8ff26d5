//! Parquet files of every common encoding are read the same, and damaged files of any format give an error, never a
//! panic. `NEUROPIL_FUZZ_SECONDS` lengthens the search for a panic (2 s by default, for each reader);
//! the thorough search is in `tests/fuzz/`.

use crate::weighted_edges::Values;
use neuropil::{
    data::{
        self, Connectome, DataError, fuzz_entry,
        npz::NpzWriter,
        tensors::{self, Dtype, TensorBytes},
    },
    num::rng::{Draw, Purpose},
    project::{self, Manifest},
};
use npyz::WriterBuilder;
use parquet::{
    basic::{Compression, Encoding},
    data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type},
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use zip::{CompressionMethod, write::SimpleFileOptions};

/// Values of a column to write.
enum Column<'a> {
    Narrow(&'a [i32]),
    Wide(&'a [i64]),
    Real(&'a [f64]),
    Text(&'a [&'a str]),
    /// Definition levels and the values that are there.
    Gappy(&'a [i16], &'a [i64]),
}

/// A Parquet file with the same columns in each of `groups` row groups.
fn file(schema: &str, columns: &[Column], groups: usize, properties: WriterProperties) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).expect("a writer");
    for _ in 0..groups {
        let mut group = writer.next_row_group().expect("a row group");
        for column in columns {
            let mut to = group.next_column().expect("a column").expect("as many as in the schema");
            match column {
                Column::Narrow(v) => to.typed::<Int32Type>().write_batch(v, None, None),
                Column::Wide(v) => to.typed::<Int64Type>().write_batch(v, None, None),
                Column::Real(v) => to.typed::<DoubleType>().write_batch(v, None, None),
                Column::Text(v) => {
                    let v: Vec<ByteArray> = v.iter().map(|t| ByteArray::from(*t)).collect();
                    to.typed::<ByteArrayType>().write_batch(&v, None, None)
                }
                Column::Gappy(levels, v) => to.typed::<Int64Type>().write_batch(v, Some(levels), None),
            }
            .expect("written");
            to.close().expect("closed");
        }
        group.close().expect("closed");
    }
    writer.close().expect("closed");
    bytes
}

const SCHEMA: &str = "message m { required int32 pre (INTEGER(32,false)); required int32 post (INTEGER(32,false)); required int32 w (INTEGER(16,true)); }";
const PRE: [i32; 4] = [0, 0, 2, 2];
const POST: [i32; 4] = [1, 2, 0, 1];
const W: [i32; 4] = [5, -7, 1, 300];

fn plain() -> WriterProperties {
    WriterProperties::builder().build()
}

fn small(properties: WriterProperties) -> Vec<u8> {
    file(SCHEMA, &[Column::Narrow(&PRE), Column::Narrow(&POST), Column::Narrow(&W)], 1, properties)
}

/// The same network whatever the properties.
fn encodings() -> Vec<Vec<u8>> {
    let compressed = |c| WriterProperties::builder().set_compression(c).build();
    let delta =
        WriterProperties::builder().set_dictionary_enabled(false).set_encoding(Encoding::DELTA_BINARY_PACKED).build();
    let zstd = Compression::ZSTD(parquet::basic::ZstdLevel::default());
    let brotli = Compression::BROTLI(parquet::basic::BrotliLevel::default());
    vec![
        small(plain()),
        small(compressed(Compression::SNAPPY)),
        small(compressed(zstd)),
        small(compressed(brotli)),
        small(delta),
    ]
}

/// An edge list with weights and delays.
const WEIGHTED: &[u8] = b"pre,post,w,delay_ms\n0,1,5,1.5\n0,2,-7.25,0.1\n\"2\", 0 ,1e2,3\r\n";

/// An edge list with weights and delays in Parquet.
fn weighted() -> Vec<u8> {
    let columns = [
        ("pre", Values::Whole(&PRE)),
        ("post", Values::Whole(&POST)),
        ("w", Values::Double(&[0.5, -2.0, 1e3, 0.0])),
        ("delay_ms", Values::Single(&[0.1, 1.5, 2.0, 0.1])),
    ];
    crate::weighted_edges::parquet(&columns, &[("w_exponent", "-20")])
}

fn message(outcome: Result<Connectome, DataError>) -> String {
    let text = outcome.expect_err("an error").to_string();
    text.split_once(".parquet: ").map_or(text.clone(), |(_, what)| what.to_owned())
}

#[test]
fn every_common_encoding_is_read_the_same() {
    let want = fuzz_entry::edges_csv(b"pre,post,w\n0,1,5\n0,2,-7\n2,0,1\n2,1,300\n").expect("readable").synapses;
    for bytes in encodings() {
        assert_eq!(fuzz_entry::edges_parquet(&bytes).expect("readable").synapses, want);
    }
    // Wide integers, nullable columns, the published names; two row groups with the same pairs add up.
    let wide = "message m { required int64 Presynaptic_Index; required int64 Postsynaptic_Index; optional int64 Connectivity; \
                required int64 Excitatory; }";
    let (pre, post) = (PRE.map(i64::from), POST.map(i64::from));
    let counts = Column::Gappy(&[1, 1, 1, 1], &[5, 7, 1, 300]);
    let columns = [Column::Wide(&pre), Column::Wide(&post), counts, Column::Wide(&[1, -1, 1, 1])];
    let twice = fuzz_entry::edges_parquet(&file(wide, &columns, 2, plain())).expect("readable").synapses;
    assert!(twice.connections(0).eq([(1, 10), (2, -14)]) && twice.connections(2).eq([(0, 2), (1, 600)]));
}

#[test]
fn errors_name_column_and_row_group() {
    let read =
        |schema: &str, columns: &[Column]| message(fuzz_entry::edges_parquet(&file(schema, columns, 2, plain())));
    let (pre, post, w) = (Column::Narrow(&PRE), Column::Narrow(&POST), Column::Narrow(&W));
    let renamed = SCHEMA.replace(" pre ", " Pre_ ");
    assert_eq!(
        read(&renamed, &[pre, post, w]),
        "no column \"pre\" or \"Presynaptic_Index\" (there are: Pre_, post, w); did you mean \"Pre_\"?"
    );
    let real = "message m { required double pre; required double post; required double w; }";
    let r = [0.0, 1.0];
    assert_eq!(
        read(real, &[Column::Real(&r), Column::Real(&r), Column::Real(&r)]),
        "column \"pre\" has type DOUBLE; whole numbers expected"
    );
    let wide = "message m { required int64 pre; required int64 post; optional int64 w; }";
    let one = [1_i64, 1];
    let both = Column::Gappy(&[1, 1], &one);
    assert_eq!(
        read(wide, &[Column::Wide(&[0, -3]), Column::Wide(&one), both]),
        "column \"pre\", row group 0, row 1: negative index -3"
    );
    let gap = Column::Gappy(&[1, 0], &one[..1]);
    assert_eq!(
        read(wide, &[Column::Wide(&one), Column::Wide(&one), gap]),
        "column \"w\", row group 0, row 1: a value is missing"
    );
    let large = Column::Gappy(&[1, 1], &[1, 1 << 40]);
    assert_eq!(
        read(wide, &[Column::Wide(&one), Column::Wide(&one), large]),
        "column \"w\", row group 0, row 1: synapse count 1099511627776 does not fit 32 bits"
    );
    let bytes = small(plain());
    assert!(message(fuzz_entry::edges_parquet(&bytes[..bytes.len() / 2])).starts_with("not a complete Parquet file"));
    assert_eq!(message(fuzz_entry::edges_parquet(&[])), "the file is empty");
}

const NEURONS: &str = "message m { required int64 root_id; required double x; required double y; required double z; \
                       required binary side (STRING); }";

fn neurons() -> Vec<u8> {
    let r = [1.0, 2.0, 3.0];
    let columns = [
        Column::Wide(&[720_575_940_660_219_265, 2, 3]),
        Column::Real(&r),
        Column::Real(&r),
        Column::Real(&r),
        Column::Text(&["left", "right", "left"]),
    ];
    file(NEURONS, &columns, 1, plain())
}

#[test]
fn ids_are_exact_and_never_floats() {
    let table = fuzz_entry::neurons_parquet(&neurons()).expect("readable");
    assert_eq!(table.ids, [720_575_940_660_219_265, 2, 3]);
    assert_eq!((table.positions[2], table.categories[0].texts.join(" ")), ([3.0; 3], "left right left".to_owned()));
    let real = "message m { required double root_id; }";
    let error = fuzz_entry::neurons_parquet(&file(real, &[Column::Real(&[7.2e17])], 1, plain())).expect_err("a float");
    assert!(error.to_string().contains("cannot hold 18-digit ids exactly"), "{error}");
}

/// Changes a few bytes, cuts, repeats or swaps stretches: what disks, editors and transfers do.
fn damaged(bytes: &[u8], round: u32) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let words = |step| Draw { seed: 11, purpose: Purpose::Choice, step, lane: round }.words();
    for step in 0..u64::from(1 + round % 4) {
        let [what, a, b, c] = words(step);
        let n = out.len().max(1);
        let (from, to) = (a as usize % n, b as usize % n);
        match what % 6 {
            _ if out.is_empty() => {}
            0 => out[from] ^= 1 << (c % 8),
            1 => out[from] = c as u8,
            2 => out.truncate(from),
            3 => out
                .splice(from..from, [b',', b'\n', b'"', b'-', b'9', 0xff][c as usize % 6..][..1].iter().copied())
                .for_each(drop),
            4 => out.splice(from..from, bytes[..to.min(bytes.len())].to_vec()).for_each(drop),
            _ => out.splice(from.min(to)..from.max(to), [c as u8]).for_each(drop),
        }
    }
    out
}

/// Feeds damaged copies of good files to a reader for a while; returns how many.
fn hammer<T>(seeds: &[Vec<u8>], read: impl Fn(&[u8]) -> Result<T, DataError>) -> u32 {
    let secs = std::env::var("NEUROPIL_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(2);
    let end = Instant::now() + Duration::from_secs(secs);
    let mut round = 0;
    while Instant::now() < end {
        let bytes = damaged(&seeds[round as usize % seeds.len()], round);
        // An error is fine; a panic or a hang fails the test here.
        let _ = read(&bytes);
        round += 1;
    }
    round
}

/// Returns a file that h5py wrote.
fn sonata(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/sonata");
    std::fs::read(folder.join(name)).expect("a committed file")
}

#[test]
fn damaged_files_never_panic() {
    let edges = b"pre,post,w\n0,1,5\n0,2,-7\n2,0,1\n2,1,300\n\"1\", 2 ,-12\r\n".to_vec();
    let nodes = b"idx,root_id,name,side,x,y,z\n0,720575940660219265,a,left,1,2,3\n1,2,\"b,c\",right,,,\n".to_vec();
    let notes = b"root_id\tpos_x\tpos_y\tpos_z\tside\n1\t1\t2\t3\tleft\n2\t4\t5\t6\tright\n".to_vec();
    let kicks = b"idx,step\n7,5\n8,6\n".to_vec();
    let rounds = [
        ("edges.csv", hammer(&[edges], fuzz_entry::edges_csv)),
        ("edges.parquet", hammer(&encodings(), fuzz_entry::edges_parquet)),
        ("weighted.csv", hammer(&[WEIGHTED.to_vec()], fuzz_entry::weighted_csv)),
        ("weighted.parquet", hammer(&[weighted()], fuzz_entry::weighted_parquet)),
        ("sonata counts", hammer(&[sonata("counts.h5")], fuzz_entry::edges_sonata)),
        ("sonata weights", hammer(&[sonata("packed.h5")], fuzz_entry::weighted_sonata)),
        ("neurons.csv", hammer(&[nodes], fuzz_entry::neurons_csv)),
        ("neurons.parquet", hammer(&[neurons()], fuzz_entry::neurons_parquet)),
        ("annotations", hammer(&[notes], fuzz_entry::annotations)),
        ("lists", hammer(&[kicks], fuzz_entry::columns)),
        ("samples.csv", hammer(&[b"a,b,y\n1,2.5,0\n-3,4e-2,1\n".to_vec()], fuzz_entry::samples_csv)),
        ("samples.npz", hammer(&[archive(&[2, 2], 2), archive(&[], 1)], fuzz_entry::samples_npz)),
        ("text.txt", hammer(&["Some wörds,\nand others.\n\n".repeat(3).into_bytes()], fuzz_entry::text)),
        (
            "text.jsonl",
            hammer(
                &[b"{\"text\": \"one line\\n\", \"id\": 3}\n{\"text\": \"an\\u00f6ther\"}\n".to_vec()],
                fuzz_entry::text_jsonl,
            ),
        ),
        ("weights", hammer(&[weights()], fuzz_entry::tensors)),
    ];
    assert!(rounds.iter().all(|(_, n)| *n > 0), "damaged files read: {rounds:?}");
}

/// A list of connections is read with all its rows or not at all: no damage swallows rows in silence.
#[test]
fn no_row_of_a_damaged_list_of_connections_is_lost() {
    let good = b"pre,post,w,note\n0,1,5,\"a,b\"\n0,2,-7,\n\"2\",0,1,c\n2,1,300,\"d\"\"\"\n1,2,-12,e\n".to_vec();
    let mut n_read = 0;
    for round in 0..400 {
        let bytes = damaged(&good, round);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let n_rows = text.split(['\n', '\r']).filter(|line| !line.is_empty()).count().saturating_sub(1);
        if let Ok(network) = fuzz_entry::edges_csv(&bytes) {
            let said = format!(" bytes, {n_rows} {},", if n_rows == 1 { "row" } else { "rows" });
            assert!(network.provenance[0].contains(&said), "{text}\n{:?}", network.provenance);
            n_read += 1;
        }
        if let Ok(imported) = fuzz_entry::import_csv(&bytes) {
            assert_eq!(imported.n_rows, n_rows as u64, "{text}");
        }
    }
    assert!(n_read > 20, "{n_read} of them are still tables");
}

/// A safetensors file of two tensors.
fn weights() -> Vec<u8> {
    let values = [0x80, 0x3F, 0, 0x40, 0, 0, 0, 0];
    let tensor = |name, dtype, shape: &[usize]| TensorBytes { name, dtype, shape: shape.to_vec(), bytes: &values };
    let mut bytes = vec![];
    let tensors = [tensor("a.weight", Dtype::F32, &[1, 2]), tensor("a.bias", Dtype::BF16, &[4])];
    tensors::write(&mut bytes, &tensors, &[("format", "neuropil".to_owned())]).expect("memory");
    bytes
}

/// X of a shape and y of a length, uncompressed, so that damage reaches the headers.
fn archive(shape: &[u64], length: u64) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(vec![]);
    let mut npz = NpzWriter::new(&mut bytes);
    for (name, shape) in [("X", shape), ("y", &[length][..])] {
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        let array = npz.array(name, stored).expect("an array");
        let mut array = array.default_dtype().shape(shape).begin_nd().expect("a header");
        array.extend((0..shape.iter().product::<u64>()).map(|i| i as f64 / 4.0)).expect("numbers");
        array.finish().expect("whole");
    }
    drop(npz);
    bytes.into_inner()
}

#[test]
fn samples_without_rows_are_refused() {
    assert_eq!(fuzz_entry::samples_npz(&archive(&[2, 2], 2)).expect("readable").y, [0.0, 0.25]);
    let error = fuzz_entry::samples_npz(&archive(&[], 1)).err().expect("a single number is no table").to_string();
    assert!(error.contains("B × D"), "{error}");
}

/// Good files of each fuzz target, a start for the thorough search: they are readable, and written to
/// `NEUROPIL_CORPUS/<target>` where that names a folder.
#[test]
fn the_corpus_is_readable() {
    let folder = std::env::var_os("NEUROPIL_CORPUS").map(std::path::PathBuf::from);
    let put = |target: &str, name: &str, bytes: &[u8]| {
        let Some(folder) = folder.as_ref().map(|folder| folder.join(target)) else { return };
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join(name), bytes).expect("written");
    };
    let mut unreadable = vec![];
    let mut add = |target: &str, name: &str, bytes: &[u8], error: Option<DataError>| {
        put(target, name, bytes);
        unreadable.extend(error.map(|why| format!("{target}: {why}")));
    };
    for (i, bytes) in encodings().iter().enumerate() {
        add("edges_parquet", &format!("{i}"), bytes, fuzz_entry::edges_parquet(bytes).err());
    }
    let table = neurons();
    add("neurons_parquet", "0", &table, fuzz_entry::neurons_parquet(&table).err());
    let edges = b"pre,post,w\n0,1,5\n\"2\", 1 ,-300\r\n";
    add("edges_csv", "0", edges, fuzz_entry::edges_csv(edges).err());
    add("weighted_csv", "0", WEIGHTED, fuzz_entry::weighted_csv(WEIGHTED).err());
    let weighted = weighted();
    add("weighted_parquet", "0", &weighted, fuzz_entry::weighted_parquet(&weighted).err());
    let list = b"pre_root_id,post_root_id,syn_count,nt_type\n11,12,5,ACH\n\"12\",11,3,GABA\r\n";
    add("import_csv", "0", list, fuzz_entry::import_csv(list).err());
    let nodes = b"idx,root_id,name,side,x,y,z\n0,12,a,left,1,2,3\n1,2,\"b,c\",right,,,\n";
    add("neurons_csv", "0", nodes, fuzz_entry::neurons_csv(nodes).err());
    let notes = b"root_id\tpos_x\tpos_y\tpos_z\tside\n1\t1\t2\t3\tleft\n";
    add("annotations", "0", notes, fuzz_entry::annotations(notes).err());
    let kicks = b"idx,step\n7,5\n8,6\n";
    add("columns", "0", kicks, fuzz_entry::columns(kicks).err());
    let samples = b"a,b,y\n1,2.5,0\n-3,4e-2,1\n";
    add("samples_csv", "0", samples, fuzz_entry::samples_csv(samples).err());
    let arrays = archive(&[2, 2], 2);
    add("samples_npz", "0", &arrays, fuzz_entry::samples_npz(&arrays).err());
    assert_eq!(unreadable, [""; 0]);
    projects().iter().enumerate().for_each(|(i, bytes)| put("project", &format!("{i}"), bytes));
    put("project", "manifest", project::to_ron(&Manifest::default()).expect("text").as_bytes());
    put("project", "command", b"(12,Set(\"lif.tau_m\",Real(15.0)))");
}

/// The project files that come with the program.
fn projects() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects");
    let files = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    files.filter(|p| p.extension().is_some_and(|e| e == "ron")).map(|p| std::fs::read(p).expect("readable")).collect()
}

#[test]
fn generated_networks_refuse_the_impossible() {
    let quiet = |_: &str, _: f32| true;
    let c = data::generate::balanced(1000, 80, 0.8, 6, 33, 1, &quiet).expect("possible");
    assert_eq!(
        (c.synapses.len(), c.synapses.synapse_counts().n_synapses),
        (80_000, c.synapses.synapse_counts().n_excitatory * 6 + c.synapses.synapse_counts().n_inhibitory * 33)
    );
    assert!((0..1000).all(|pre| c.synapses.connections(pre).all(|(post, _)| post != pre)));
    assert_eq!(data::generate::balanced(2, 100, 1.0, 6, 33, 1, &quiet).expect("possible").synapses.len(), 2);
    assert!(data::generate::balanced(0, 1, 0.8, 6, 33, 1, &quiet).is_err());
    assert!(data::generate::balanced(u32::MAX, 1, 0.8, 6, 33, 1, &quiet).is_err());
    assert!(data::generate::balanced(10_000_000, 1000, 0.8, 6, 33, 1, &quiet).is_err());
}
