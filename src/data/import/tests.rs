use super::*;
use neuropil_test_support::temp::TempFolder;

fn spec(file: &Path, inhibitory: &str) -> ImportSpec {
    let seen = preview(file, None).unwrap();
    ImportSpec {
        files: vec![file.to_owned()],
        delimiter: seen.delimiter,
        mapping: seen.mapping,
        inhibitory: inhibitory.to_owned(),
    }
}

#[test]
fn text_ids_and_transmitters_become_a_network_that_is_read() {
    let folder = TempFolder::new("import-text");
    let file = folder.join("connections.tsv");
    let text = "pre\tpost\tneuropil\tsyn_count\tnt_type\nMN9\tLC4\tGNG\t5\tACH\nLC4\tMN9\tGNG\t3\tGABA\n\
                MN9\tLC4\tSMP\t2\tACH\nDNg1\tMN9\tGNG\t1\tGLUT\n";
    std::fs::write(&file, text).unwrap();
    let seen = preview(&file, None).unwrap();
    assert_eq!((seen.delimiter, seen.columns.len(), seen.rows.len()), (b'\t', 5, 4));
    assert_eq!(seen.mapping, Mapping { source: 0, target: 1, weight: Some(3), transmitter: Some(4) });
    let spec = spec(&file, INHIBITORY);
    let imported = read(&spec, &|_, _| true).unwrap();
    assert_eq!(imported.ids, ["DNg1", "LC4", "MN9"]);
    assert_eq!(imported.connections, [(0, 2, -1), (1, 2, -3), (2, 1, 7)], "two rows of a pair are added up");
    assert_eq!((imported.n_rows, imported.n_synapses, imported.n_inhibitory), (4, 11, 2));
    let out = folder.join("network");
    write(&imported, &spec, &out, &|_, _| true).unwrap();
    let network = crate::data::read(&out, crate::data::Tables::default(), &|_, _| true).unwrap();
    assert_eq!(network.neurons.names, ["DNg1", "LC4", "MN9"]);
    assert_eq!(network.synapses.connections(2).collect::<Vec<_>>(), [(1, 7)]);
}

#[test]
fn columns_are_guessed_from_common_names() {
    let guess = |header: &str| {
        let delimiter = char::from(guess_delimiter(header));
        guess_mapping(&header.split(delimiter).map(str::to_owned).collect::<Vec<_>>())
    };
    assert_eq!(guess("source,target,weight"), Mapping { source: 0, target: 1, weight: Some(2), transmitter: None });
    assert_eq!(guess("syn_count;post;pre"), Mapping { source: 2, target: 1, weight: Some(0), transmitter: None });
    assert_eq!(guess("a\tb"), Mapping { source: 0, target: 1, weight: None, transmitter: None });
}

#[test]
fn large_ids_are_ordered_by_value_and_small_ones_are_indices() {
    let ids = |all: &[&str]| order(all.iter().map(|id| (*id).to_owned()).collect(), |_| Ok(())).unwrap();
    assert_eq!(
        ids(&["720575940", "99", "720575939"]),
        (vec!["99".into(), "720575939".into(), "720575940".into()], vec![2, 0, 1])
    );
    assert_eq!(ids(&["3", "1"]), (["0", "1", "2", "3"].map(String::from).to_vec(), vec![3, 1]));
}

#[test]
fn errors_name_file_line_and_expectation() {
    let folder = TempFolder::new("import-errors");
    let file = folder.join("edges.csv");
    std::fs::write(&file, "source,target,weight\n1,2,3\n1,2,abc\n").unwrap();
    let error = read(&spec(&file, ""), &|_, _| true).unwrap_err().to_string();
    assert!(
        error.contains("edges.csv") && error.contains('3') && error.contains("weight 'abc' is not an integer"),
        "{error}"
    );
    std::fs::write(&file, "source\n1\n").unwrap();
    assert!(preview(&file, None).unwrap_err().to_string().contains("only one column"));
    std::fs::write(&file, "source,target\n1\n").unwrap();
    assert!(
        read(
            &ImportSpec { delimiter: b',', mapping: Mapping { target: 1, ..Mapping::default() }, ..spec_of(&file) },
            &|_, _| true
        )
        .is_err()
    );
    std::fs::write(&file, "source,target\n1,2\n").unwrap();
    let cancelled = read(&spec(&file, ""), &|_, _| false);
    assert!(matches!(cancelled, Err(DataError::Cancelled)));
}

/// A file that is not a table of connections is never imported in part.
#[test]
fn damaged_rows_are_refused_with_their_line() {
    let folder = TempFolder::new("import-damage");
    let file = folder.join("edges.csv");
    for (text, line, what) in [
        ("source,target,weight\n1,2,3\n1,\"2,3\n4,5,6\n", 3, "a quote is not closed"),
        ("source,target,weight\n1,2,3\n1,2,\"3", 3, "a quote is not closed"),
        ("source,target,weight\n1,2,3\n1,2,3,4\n", 3, "4 columns where the header has 3"),
        ("source,target,source\n1,2,3\n", 1, "the column \"source\" occurs twice; remove or rename one"),
        ("source,target\n1,2\nsource,target\n3,4\n", 3, "the header occurs again"),
    ] {
        std::fs::write(&file, text).unwrap();
        let spec =
            ImportSpec { delimiter: b',', mapping: Mapping { target: 1, ..Mapping::default() }, ..spec_of(&file) };
        let error = read(&spec, &|_, _| true).unwrap_err().to_string();
        assert!(error.contains(&format!("edges.csv:{line}: {what}")), "{error}");
    }
}

/// A compressed list of connections may have any size.
#[test]
fn memory_is_limited() {
    let folder = TempFolder::new("import-memory");
    let file = folder.join("edges.csv");
    std::fs::write(&file, "source,target,weight\n".to_owned() + &"700,800,1\n".repeat(100)).unwrap();
    let read = |limit| read_within(&spec(&file, ""), Budget::with_limit(limit), &|_, _| true).map(|read| read.n_rows);
    let needed = 100 * ROW_BYTES + 2 * (2 * text_bytes(3) + NEURON_BYTES);
    assert_eq!(read(needed).unwrap(), 100);
    assert!(read(needed - 1).unwrap_err().to_string().contains("of memory, the limit for its size"));
}

/// An unrecognised weight column would count each row once. The convention of the signs is written to the report.
#[test]
fn weights_are_recognised_and_conventions_written() {
    let columns = |weight: &str| ["pre", "post", weight, "nt_type"].map(str::to_owned);
    for weight in ["Syn. count", "syn_count", "Syn. Count", "n_syn", "Synapses", "W"] {
        assert_eq!(guess_mapping(&columns(weight)).weight, Some(2), "{weight}");
    }
    assert_eq!(guess_mapping(&columns("score")).weight, None);
    let spec = ImportSpec {
        inhibitory: INHIBITORY.to_owned(),
        mapping: guess_mapping(&columns("x")),
        ..ImportSpec::default()
    };
    let text = describe(&spec);
    assert!(text.contains("weight column: none. No weight column: each row counts as one synapse."), "{text}");
    assert!(text.contains("inhibitory: GABA, GLUT, glutamate (Drosophila convention"), "{text}");
    let own = describe(&ImportSpec { inhibitory: "GABA".to_owned(), ..spec });
    assert!(own.contains("inhibitory: GABA\n"), "{own}");
    assert!(is_inhibitory(INHIBITORY, "glut") && !is_inhibitory("GABA", "GLUT") && is_inhibitory("", "-1"));
}

fn spec_of(file: &Path) -> ImportSpec {
    ImportSpec { files: vec![file.to_owned()], ..ImportSpec::default() }
}

/// Writes a Parquet file with integer, text, real and unsupported columns.
fn write_parquet(path: &Path, pre: &[i64], post: &[i64], counts: &[f64], transmitters: &[&str]) {
    use parquet::{
        data_type::{BoolType, ByteArrayType, DoubleType, Int64Type},
        file::{properties::WriterProperties, writer::SerializedFileWriter},
        schema::parser::parse_message_type,
    };
    let schema = "message m { required int64 pre_root_id; required int64 post_root_id; required double syn_count; \
                  required binary nt_type (UTF8); required boolean proofread; }";
    let schema = std::sync::Arc::new(parse_message_type(schema).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, WriterProperties::default().into()).unwrap();
    for rows in [0..2, 2..pre.len()] {
        let mut group = writer.next_row_group().unwrap();
        let mut column = |write: &dyn Fn(&mut parquet::file::writer::SerializedColumnWriter<'_>) -> usize| {
            let mut column = group.next_column().unwrap().unwrap();
            write(&mut column);
            column.close().unwrap();
        };
        column(&|c| c.typed::<Int64Type>().write_batch(&pre[rows.clone()], None, None).unwrap());
        column(&|c| c.typed::<Int64Type>().write_batch(&post[rows.clone()], None, None).unwrap());
        column(&|c| c.typed::<DoubleType>().write_batch(&counts[rows.clone()], None, None).unwrap());
        let names: Vec<_> = transmitters[rows.clone()].iter().map(|t| (*t).into()).collect();
        column(&|c| c.typed::<ByteArrayType>().write_batch(&names, None, None).unwrap());
        column(&|c| c.typed::<BoolType>().write_batch(&vec![true; rows.len()], None, None).unwrap());
        group.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn parquet_files_are_previewed_and_read() {
    let folder = TempFolder::new("import-parquet");
    let file = folder.join("connections.parquet");
    let (a, b, c) = (720_575_940, 720_575_941, 720_575_942);
    write_parquet(&file, &[c, b, c, a], &[b, c, b, c], &[5.0, 3.0, 2.0, 1.0], &["ACH", "GABA", "ACH", "GLUT"]);
    let seen = preview(&file, None).unwrap();
    assert_eq!(seen.columns, ["pre_root_id", "post_root_id", "syn_count", "nt_type", "proofread"]);
    assert_eq!(seen.mapping, Mapping { source: 0, target: 1, weight: Some(2), transmitter: Some(3) });
    assert_eq!(seen.rows[1], ["720575941", "720575942", "3", "GABA", ""], "booleans are not decoded");
    assert_eq!(seen.rows.len(), 4, "of both row groups");
    let spec = spec(&file, INHIBITORY);
    let imported = read(&spec, &|_, _| true).unwrap();
    assert_eq!(imported.ids, [a, b, c].map(|id| id.to_string()));
    assert_eq!(imported.connections, [(0, 2, -1), (1, 2, -3), (2, 1, 7)]);
    let wrong = ImportSpec { mapping: Mapping { weight: Some(4), ..spec.mapping }, ..spec.clone() };
    let error = read(&wrong, &|_, _| true).unwrap_err().to_string();
    assert!(error.contains("\"proofread\" has type BOOLEAN; numbers or text expected"), "{error}");
    write_parquet(&file, &[a, a, a], &[b, b, b], &[1.0, 1.0, 0.5], &["ACH"; 3]);
    let error = read(&spec, &|_, _| true).unwrap_err().to_string();
    assert!(error.contains("row 3: weight '0.5' is not an integer"), "{error}");
}
