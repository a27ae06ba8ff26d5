use super::*;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("neuropil-import-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

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
    let folder = folder("text");
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
    std::fs::remove_dir_all(folder).unwrap();
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
    let folder = folder("errors");
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
    std::fs::remove_dir_all(folder).unwrap();
}

fn spec_of(file: &Path) -> ImportSpec {
    ImportSpec { files: vec![file.to_owned()], ..ImportSpec::default() }
}
