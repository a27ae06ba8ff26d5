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
    let network = crate::data::read(&out, None, None, &|_, _| true).unwrap();
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
    let ids = |all: &[&str]| order(all.iter().map(|id| (*id).to_owned()).collect());
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
