//! Reading files: content is exact, errors name file and line, and no damage makes a reader panic.

use neuropil::data::{self, Connectome, DataError, Tables};
use neuropil_test_support::{Need, skip, temp::TempFolder};
use std::path::{Path, PathBuf};

/// Never cancels.
fn quiet(_: &str, _: f32) -> bool {
    true
}

/// The data beside the repository, if it is there.
fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("NEUROPIL_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let path = root.join(path);
    if !path.exists() {
        skip(Need::Golden, format!("{} is not there", path.display()));
        return None;
    }
    Some(path)
}

/// A folder with these files.
struct Folder(TempFolder);

impl Folder {
    fn with(files: &[(&str, &[u8])]) -> Self {
        let folder = TempFolder::new("readers");
        for (name, content) in files {
            std::fs::write(folder.join(name), content).expect("a file");
        }
        Self(folder)
    }

    fn read(&self) -> Result<Connectome, DataError> {
        data::read(&self.0, Tables::default(), &quiet)
    }
}

fn edges_csv(text: &str) -> Result<Connectome, DataError> {
    Folder::with(&[("edges.csv", text.as_bytes())]).read()
}

/// The message, from the file name on.
fn message(outcome: Result<Connectome, DataError>) -> String {
    let text = outcome.expect_err("an error").to_string();
    text.rsplit_once('/').map_or(text.clone(), |(_, end)| end.to_owned())
}

fn rows(c: &Connectome) -> Vec<Vec<(u32, i32)>> {
    (0..c.neurons.len).map(|pre| c.synapses.connections(pre).collect()).collect()
}

#[test]
fn rows_are_sorted_and_repeated_pairs_added_up() {
    let c = edges_csv("pre,post,w\n2,1,5\n0,2,-3\n0,1,7\n2,1,-1\n1,0,4\n1,0,-4\n0,2,100000\r\n").expect("readable");
    assert_eq!(rows(&c), [vec![(1, 7), (2, 99_997)], vec![], vec![(1, 4)]]);
    assert_eq!(c.neurons.len, 3);
}

#[test]
fn other_columns_quotes_and_separators() {
    let c = edges_csv("\u{feff}\"post\";x;\"pre\";w\n1;\"a;b\";0;\" 3 \"\n\n0;;1;-2").expect("readable");
    assert_eq!(rows(&c), [vec![(1, 3)], vec![(0, -2)]]);
    let c =
        edges_csv("Presynaptic_Index\tPostsynaptic_Index\tConnectivity\tExcitatory\n0\t1\t9\t-1\n").expect("readable");
    assert_eq!(rows(&c), [vec![(1, -9)], vec![]]);
}

#[test]
fn counts_that_overflow_the_word_are_exact() {
    // 70,001 neurons: 17 bits of target leave room for counts up to 16,383.
    let text = "pre,post,w\n0,70000,2147483647\n0,1,-2147483648\n0,2,16383\n0,3,-16383\n0,4,16384\n3,0,1\n";
    let c = edges_csv(text).expect("readable");
    let want = vec![(1, i32::MIN), (2, 16_383), (3, -16_383), (4, 16_384), (70_000, i32::MAX)];
    assert_eq!(c.synapses.connections(0).collect::<Vec<_>>(), want);
    assert_eq!(c.synapses.overflow.len(), 3);
    assert_eq!(c.synapses.synapse_counts().n_synapses, 2_147_483_647 + 2_147_483_648 + 16_383 * 2 + 16_384 + 1);
}

#[test]
fn errors_name_the_line() {
    let cases = [
        ("", "edges.csv: the file is empty; a header line with pre, post, w expected"),
        (
            "Pre,post,w\n",
            "edges.csv:1: no column \"pre\" or \"Presynaptic_Index\" (there are: Pre, post, w); did you mean \"Pre\"?",
        ),
        ("pre,post,w\n0,1,2\n0,x,2\n", "edges.csv:3: column \"post\": \"x\" is not a whole number"),
        ("pre,post,w\n0,1,2\n\n0,1.0,2\n", "edges.csv:4: column \"post\": \"1.0\" is not a whole number"),
        ("pre,post,w\n-1,1,2\n", "edges.csv:2: column \"pre\": negative index -1"),
        ("pre,post,w\n0,1\n", "edges.csv:2: 2 of 3 columns"),
        ("pre,post,w\n0,1,3000000000\n", "edges.csv:2: synapse count 3000000000 does not fit 32 bits"),
        (
            "pre,post,w\n0,720575940660219265,1\n",
            "edges.csv:2: column \"post\": index 720,575,940,660,219,265 is beyond the limit of 16,777,216 neurons; edges \
             name rows of the neuron table (0, 1, 2, …), not root ids; Import connectivity… converts a list of root ids",
        ),
        (
            "pre,post,w\n0,1,2000000000\n0,1,2000000000\n",
            "edges.csv: the counts of connection 0 to 1 add up to 4000000000, beyond 32 bits",
        ),
        ("pre,post,w\n0,1,2\n0,\"1,2\n3,4,5\n", "edges.csv:3: a quote is not closed"),
        ("pre,post,w,x\n0,1,2,\"a\n3,4,5,\"\n", "edges.csv:2: a quote is not closed"),
        ("pre,\"post,w\n0,1,2\n", "edges.csv:1: a quote is not closed"),
        ("pre,post,w\n0,1,\"2", "edges.csv:2: a quote is not closed"),
        ("pre,post,w\n0,1,2\n0,1,2,7\n", "edges.csv:3: 4 columns where the header has 3"),
        ("x,pre,post,w,y\n,0,1,2,,\n", "edges.csv:2: 6 columns where the header has 5"),
        ("pre,post,w,pre\n0,1,2,3\n", "edges.csv:1: the column \"pre\" occurs twice; remove or rename one"),
        ("pre,post,w\n0,1,2\npre,post,w\n", "edges.csv:3: column \"pre\": \"pre\" is not a whole number"),
        ("pre,post,w\n", "edges.csv: no neurons: the edge list is empty and there is no neuron table"),
    ];
    for (text, want) in cases {
        assert_eq!(message(edges_csv(text)), want);
    }
}

const EDGES: (&str, &[u8]) = ("edges.csv", b"pre,post,w\n0,1,2\n");

#[test]
fn the_neuron_table_gives_the_number_of_neurons() {
    let nodes = b"idx,root_id,name,cell_class,top_nt,x,y,z\n2,12,c,k,GABA,7,8,9\n\
        0,720575940660219265,a,k,ACH,1,2,3\n1,11,b,m,ACH,4,5,\n";
    let c = Folder::with(&[EDGES, ("nodes.csv", nodes)]).read().expect("readable");
    assert_eq!((c.neurons.len, c.synapses.n()), (3, 3));
    assert_eq!(c.neurons.ids, [720_575_940_660_219_265, 11, 12]);
    assert_eq!(c.neurons.names, ["a", "b", "c"]);
    assert_eq!((c.neurons.positions[0], c.neurons.positions[2]), ([1.0, 2.0, 3.0], [7.0, 8.0, 9.0]));
    let categories: Vec<_> = c.neurons.categories.iter().map(|c| (c.name.as_str(), c.texts.join(" "))).collect();
    assert_eq!(categories, [("class", "k m k".to_owned()), ("nt", "ACH ACH GABA".to_owned())]);
}

/// `root_id,name,class` and two rows, as gzip packs them.
const PACKED: &[u8] = &[
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0x2b, 0xca, 0xcf, 0x2f, 0x89, 0xcf, 0x4c, 0xd1, 0xc9,
    0x4b, 0xcc, 0x4d, 0xd5, 0x49, 0xce, 0x49, 0x2c, 0x2e, 0xe6, 0x32, 0x37, 0x32, 0x30, 0x35, 0x37, 0xb5, 0x34, 0x31,
    0x30, 0x33, 0x33, 0x30, 0x32, 0xb4, 0x34, 0x32, 0x33, 0xd5, 0x49, 0xd4, 0xc9, 0xe6, 0x32, 0x34, 0xd4, 0x49, 0xd2,
    0xc9, 0xe5, 0x02, 0x00, 0x34, 0xbd, 0x94, 0xe4, 0x31, 0x00, 0x00, 0x00,
];

#[test]
fn a_gzipped_neuron_table_is_read() {
    let c = Folder::with(&[EDGES, ("neurons.csv.gz", PACKED)]).read().expect("readable");
    assert_eq!(c.neurons.ids, [720_575_940_660_219_265, 11]);
    assert_eq!((c.neurons.names.join(" "), c.neurons.categories[0].texts.join(" ")), ("a b".into(), "k m".into()));
    let torn = message(Folder::with(&[EDGES, ("neurons.csv.gz", &PACKED[..PACKED.len() - 9])]).read());
    assert!(torn.contains("neurons.csv.gz") && torn.contains("the compressed text is damaged"), "{torn}");
}

#[test]
fn errors_of_neuron_tables_name_the_line() {
    let wrong = |nodes: &str| message(Folder::with(&[EDGES, ("nodes.csv", nodes.as_bytes())]).read());
    let beyond = "edges.csv:2: column \"post\": index 1 is beyond the 1 neurons of the table (0 to 0)";
    assert_eq!(wrong("name\na\n"), beyond);
    assert_eq!(
        wrong("root_id\n7.20575940660219e17\n1\n"),
        "nodes.csv:2: column \"root_id\": \"7.20575940660219e17\" is not a whole number; ids and indices must be written \
         with all their digits"
    );
    assert_eq!(wrong("root_id\n1\n1\n"), "nodes.csv:3: column \"root_id\": 1 occurs twice");
    assert_eq!(wrong("idx,name\n0,a\n2,b\n"), "nodes.csv:3: column \"idx\": index 2 is beyond the 2 rows of the table");
    assert_eq!(wrong("idx,name\n0,a\n0\n"), "nodes.csv:3: 1 column where the header has 2");
}

#[test]
fn annotations_are_joined_by_root_id() {
    let folder = Folder::with(&[("Completeness_783.csv", b",Completed\n720575940596125868,True\n5,True\n6,True\n")]);
    assert!(message(folder.read()).contains("no edges.parquet"));
    let annotations = "root_id\tpos_x\tpos_y\tpos_z\tsoma_x\tsoma_y\tsoma_z\tsuper_class\tcell_class\ttop_nt\n\
        6\t1000\t2000\t100\t\t\t\tcentral\tCX\tgaba\n720575940596125868\t1\t1\t1\t500\t250\t25\toptic\t\tach\n";
    let files = [
        ("edges.csv", EDGES.1),
        ("nodes.csv", b"root_id\n720575940596125868\n5\n6\n"),
        ("a.tsv", annotations.as_bytes()),
    ];
    let folder = Folder::with(&files);
    let c = data::read(&folder.0, Tables { annotations: Some(&folder.0.join("a.tsv")), ..Tables::default() }, &quiet)
        .expect("readable");
    assert_eq!(c.neurons.positions[0], [-2.0, -1.0, -1.0]);
    assert_eq!(c.neurons.positions[2], [-4.0, -8.0, -4.0]);
    assert!(c.neurons.positions[1][0].is_nan());
    assert_eq!(c.neurons.categories[0].texts, ["optic", "", "central"]);
}

#[test]
fn lists_of_indices() {
    let files: [(&str, &[u8]); 3] =
        [("k.csv", b"step,note,idx\n5,a,7\n6,b,8\n"), ("w.csv", b"index\n1\n"), ("n.csv", b"idx\n1\n-2\n")];
    let folder = Folder::with(&files);
    let file = |name: &str| folder.0.join(name);
    assert_eq!(data::columns::read_columns_u32(&file("k.csv"), &["idx", "step"]).expect("readable"), [[7, 8], [5, 6]]);
    let wrong = |name: &str| data::columns::read_columns_u32(&file(name), &["idx"]).expect_err("wrong").to_string();
    assert!(
        wrong("w.csv")
            .ends_with("w.csv: no column \"idx\" (its first line names no known column); did you mean \"index\"?")
    );
    assert!(wrong("n.csv").ends_with("n.csv:3: column \"idx\": negative number -2"));
}

#[test]
fn reading_can_be_cancelled() {
    let folder = Folder::with(&[EDGES]);
    assert!(matches!(data::read(&folder.0, Tables::default(), &|_, _| false), Err(DataError::Cancelled)));
    assert!(matches!(data::generate::fly_stand_in(1, &|_, part| part < 0.3), Err(DataError::Cancelled)));
}

fn read(path: &Path) -> Connectome {
    data::read(path, Tables::default(), &quiet).expect("readable")
}

#[test]
fn the_synthetic_fly_data_set() {
    let Some(path) = shared("data/fly_standin") else { return };
    let c = read(&path);
    let counts = c.synapses.synapse_counts();
    assert_eq!(c.neurons.len, 138_639);
    assert_eq!((c.synapses.len(), counts.n_synapses), (15_091_983, 54_492_922));
    assert_eq!((counts.n_excitatory, counts.n_inhibitory), (9_059_302, 6_032_681));
    assert_eq!(c.neurons.ids[0], 720_575_940_596_125_868);
}

#[test]
fn the_p9_subnetwork() {
    let Some(path) = shared("data/flywire630/p9_subnet") else { return };
    let c = read(&path);
    assert_eq!((c.neurons.len, c.synapses.len(), c.synapses.synapse_counts().n_synapses), (196, 4715, 95_215));
    assert_eq!(c.neurons.names[1], "DNa02_l");
}
