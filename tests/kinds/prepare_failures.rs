//! Every file that a kind reads before its first step, damaged in every way: a build gives an error with the place or a
//! simulation, never a panic; and the good file is read afterwards.

use crate::settings;
use neuropil::{
    data::npz::NpzWriter,
    data::tensors::{self, Dtype, TensorBytes},
    kinds::{
        Model,
        transformer::{self, model::Config, model::Layout},
    },
    num::rng::{Draw, Purpose},
    params::ValueType,
    sim::{BuildContext, Device, Progress, SimError},
};
use neuropil_test_support::temp::TempFolder;
use npyz::WriterBuilder as _;
use std::{
    fs,
    path::{Path, PathBuf},
};
use zip::write::SimpleFileOptions;

/// A parameter that names a file. A kind that reads one more is to be entered here.
struct FileCase {
    kind: &'static str,
    /// Path of the parameter, without the item of a list.
    parameter: &'static str,
    /// Assignments that make it used; `FILE` is the file, `FOLDER` its folder.
    set: &'static [&'static str],
    name: &'static str,
    good: fn() -> Vec<u8>,
    /// Damage that leaves a valid file.
    forgives: &'static [Damage],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    Missing,
    /// A part of the path is a file.
    BelowFile,
    Empty,
    /// The first half.
    Cut,
    /// A folder in its place.
    Folder,
    /// Random bytes.
    Noise,
    /// A file of another type.
    OtherType,
    Unreadable,
}

impl Damage {
    const ALL: [Self; 8] = [
        Self::Missing,
        Self::BelowFile,
        Self::Empty,
        Self::Cut,
        Self::Folder,
        Self::Noise,
        Self::OtherType,
        Self::Unreadable,
    ];

    /// Does it to a good file; `false` where the system does not let it happen.
    fn apply(self, file: &Path) -> bool {
        let write = |bytes: &[u8]| fs::write(file, bytes).expect("written");
        match self {
            Self::Missing => fs::remove_file(file).expect("removed"),
            Self::BelowFile => unreachable!("the path is another one"),
            Self::Empty => write(&[]),
            Self::Cut => {
                let bytes = fs::read(file).expect("read");
                write(&bytes[..bytes.len() / 2]);
            }
            Self::Folder => {
                fs::remove_file(file).expect("removed");
                fs::create_dir(file).expect("a folder");
            }
            Self::Noise => {
                let words = |lane| Draw { seed: 5, purpose: Purpose::Choice, step: 0, lane }.words();
                write(&(0..1024).flat_map(words).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
            }
            Self::OtherType => write(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0"),
            Self::Unreadable => {
                let mut permissions = fs::metadata(file).expect("a file").permissions();
                std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0);
                fs::set_permissions(file, permissions).expect("set");
                return fs::File::open(file).is_err(); // the administrator reads everything
            }
        }
        true
    }
}

fn edges() -> Vec<u8> {
    let lines = (0..60).map(|i| format!("{},{},{}\n", i % 20, (i * 7 + 1) % 20, 1 + i % 9));
    std::iter::once("pre,post,w\n".to_owned()).chain(lines).collect::<String>().into_bytes()
}

fn neurons() -> Vec<u8> {
    let lines = (0..20).map(|i| format!("{},name{i},left,{i},2,3\n", 1000 + i));
    std::iter::once("root_id,name,side,x,y,z\n".to_owned()).chain(lines).collect::<String>().into_bytes()
}

fn annotations() -> Vec<u8> {
    let lines = (0..20).map(|i| format!("{}\t1\t2\t3\tleft\n", 1000 + i));
    std::iter::once("root_id\tpos_x\tpos_y\tpos_z\tside\n".to_owned()).chain(lines).collect::<String>().into_bytes()
}

fn samples() -> Vec<u8> {
    let lines = (0..40).map(|i| format!("{},{},{}\n", i % 7, (i * i) % 11, i % 5));
    std::iter::once("a,b,y\n".to_owned()).chain(lines).collect::<String>().into_bytes()
}

fn images() -> Vec<u8> {
    let lines = (0..40).map(|i| format!("{},{},{},0,255\n", i % 3, i % 7, i % 5));
    std::iter::once("label,p0,p1,p2,p3\n".to_owned()).chain(lines).collect::<String>().into_bytes()
}

fn coupling() -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(vec![]);
    let mut npz = NpzWriter::new(&mut bytes);
    let array = npz.array("J", SimpleFileOptions::default()).expect("an array");
    let mut array = array.default_dtype().shape(&[40, 40]).begin_nd().expect("a header");
    array.extend((0..1600).map(|i| f64::from(i % 5) / 4.0)).expect("numbers");
    array.finish().expect("whole");
    drop(npz);
    bytes.into_inner()
}

fn text() -> Vec<u8> {
    "the cat sat on the mat and the dog lay by the fire\n".repeat(400).into_bytes()
}

fn tokenizer() -> Vec<u8> {
    br#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
    "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
    "post_processor":null,"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
    "model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,
    "fuse_unk":false,"byte_fallback":false,"ignore_merges":false,
    "vocab":{"a":0,"t":1,"\u0120":2,"at":3,"\u0120at":4,"h":5},"merges":["a t","\u0120 at"]}}"#
        .to_vec()
}

pub const SMALL_MODEL: [&str; 6] = [
    "model.layers=1",
    "model.heads=1",
    "model.width=16",
    "model.context=16",
    "data.grammar_bytes=10000",
    "training.batch=1",
];

fn weights() -> Vec<u8> {
    let Model::Transformer(params) = model("transformer", &SMALL_MODEL, Path::new(".")) else {
        panic!("a transformer")
    };
    let params: transformer::Params = *params;
    let layout = Layout::new(&Config::new(&params, 256).expect("a model")).expect("a layout");
    let values = vec![0_u8; 4 * layout.map.count()];
    let tensor = |view: &neuropil::nn::parameters::View| TensorBytes {
        name: view.name.clone().leak(),
        dtype: Dtype::F32,
        shape: view.shape.to_vec(),
        bytes: &values[..4 * view.len()],
    };
    let tensors: Vec<TensorBytes> = layout.map.views().map(tensor).collect();
    let mut bytes = vec![];
    tensors::write(&mut bytes, &tensors, &[]).expect("memory");
    bytes
}

const NETWORK: &str = "network.source=Files";
pub const SMALL_NETWORK: [&str; 3] = ["network.source=Balanced", "network.n_neurons=40", "network.in_degree=3"];

const CASES: &[FileCase] = &[
    FileCase {
        kind: "spiking",
        parameter: "network.path",
        set: &[NETWORK, "network.path=FILE"],
        name: "edges.csv",
        good: edges,
        forgives: &[Damage::Cut],
    },
    FileCase {
        kind: "spiking",
        parameter: "network.neurons",
        set: &[NETWORK, "network.path=FOLDER/good_edges.csv", "network.neurons=FILE"],
        name: "table.csv",
        good: neurons,
        forgives: &[],
    },
    FileCase {
        kind: "spiking",
        parameter: "network.annotations",
        set: &[
            NETWORK,
            "network.path=FOLDER/good_edges.csv",
            "network.neurons=FOLDER/good_neurons.csv",
            "network.annotations=FILE",
        ],
        name: "annotations.tsv",
        good: annotations,
        forgives: &[Damage::Cut],
    },
    FileCase {
        kind: "spiking",
        parameter: "stimulus.kicks",
        set: &[SMALL_NETWORK[0], SMALL_NETWORK[1], SMALL_NETWORK[2], "stimulus.kicks=FILE"],
        name: "kicks.csv",
        good: || b"idx,step\n7,5\n8,6\n9,12\n10,30\n".to_vec(),
        forgives: &[Damage::Cut],
    },
    FileCase {
        kind: "spiking",
        parameter: "stimulus.poisson",
        set: &[SMALL_NETWORK[0], SMALL_NETWORK[1], SMALL_NETWORK[2], "stimulus.poisson=FILE"],
        name: "poisson.csv",
        good: || b"idx\n7\n8\n9\n10\n".to_vec(),
        forgives: &[Damage::Cut],
    },
    FileCase {
        kind: "spiking",
        parameter: "interventions.file",
        set: &[
            SMALL_NETWORK[0],
            SMALL_NETWORK[1],
            SMALL_NETWORK[2],
            "interventions+",
            "interventions.0.target=all",
            "interventions.0.effect=Kicks",
            "interventions.0.file=FILE",
        ],
        name: "pulses.csv",
        good: || b"idx,step\n7,5\n8,6\n9,12\n10,30\n".to_vec(),
        forgives: &[Damage::Cut],
    },
    FileCase {
        kind: "spiking",
        parameter: "projections.path",
        set: &[
            "network.source=Rules",
            "populations+",
            "populations.0.name=all",
            "populations.0.size=20",
            "projections+",
            "projections.0.from=all",
            "projections.0.to=all",
            "projections.0.rule=FromFile",
            "projections.0.rule.path=FILE",
        ],
        name: "rule_edges.csv",
        good: edges,
        forgives: &[Damage::Cut],
    },
    FileCase {
        kind: "spiking",
        parameter: "external_inputs.path",
        set: &[
            "network.source=Rules",
            "populations+",
            "populations.0.name=input",
            "populations.0.size=4",
            "external_inputs+",
            "external_inputs.0.population=input",
            "external_inputs.0.source=Patterns",
            "external_inputs.0.source.images=File",
            "external_inputs.0.source.images.path=FILE",
            "external_inputs.0.source.held_out=3",
        ],
        name: "images.csv",
        good: images,
        forgives: &[Damage::Cut],
    },
    FileCase {
        kind: "nuclei",
        parameter: "task.path",
        set: &["population.capacity=40", "population.n_start=20", "task.source=File", "task.path=FILE"],
        name: "samples.csv",
        good: samples,
        forgives: &[Damage::Cut],
    },
    FileCase {
        kind: "nuclei",
        parameter: "coupling.matrix",
        set: &["population.capacity=40", "population.n_start=20", "coupling.method=Dense", "coupling.matrix=FILE"],
        name: "coupling.npz",
        good: coupling,
        forgives: &[],
    },
    FileCase {
        kind: "transformer",
        parameter: "data.text",
        set: &["data.text=FILE"],
        name: "text.txt",
        good: text,
        forgives: &[Damage::Cut],
    },
    FileCase {
        kind: "transformer",
        parameter: "data.tokenizer_file",
        set: &["data.tokenizer=Bpe", "data.tokenizer_file=FILE"],
        name: "tokenizer.json",
        good: tokenizer,
        forgives: &[],
    },
    FileCase {
        kind: "transformer",
        parameter: "data.weights",
        set: &["data.weights=FILE"],
        name: "model.safetensors",
        good: weights,
        forgives: &[],
    },
    FileCase {
        kind: "demo",
        parameter: "source.text",
        set: &["source.text=FILE"],
        name: "letters.txt",
        good: text,
        forgives: &[Damage::Cut],
    },
];

/// A model with these assignments; `list+` appends an item.
pub fn model(kind: &str, set: &[&str], file: &Path) -> Model {
    let mut model = Model::by_name(kind).expect(kind);
    let params = model.params_mut();
    for text in set {
        if let Some(list) = text.strip_suffix('+') {
            let group = params.groups().iter().position(|g| g.name == list).expect(list);
            assert!(params.push(group as u8));
            continue;
        }
        // Below a file there is no other.
        let folder = file.ancestors().skip(1).find(|at| !at.is_file()).expect("a folder").display().to_string();
        let text = text.replace("FILE", &file.display().to_string()).replace("FOLDER", &folder);
        settings::set(params, &[&text]);
    }
    model
}

/// Reads what the model names, and starts it.
pub fn build(model: &Model, progress: &Progress) -> Result<(), SimError> {
    let context = BuildContext { seed: 1, ..BuildContext::default() };
    model.build(&context, &Device::Cpu { threads: 1 }, progress).map(drop)
}

/// A folder with whole tables.
fn tables(name: &str) -> TempFolder {
    let folder = TempFolder::new(name);
    fs::write(folder.join("good_edges.csv"), edges()).expect("written");
    fs::write(folder.join("good_neurons.csv"), neurons()).expect("written");
    folder
}

/// A good file, whatever was in its place.
fn good(folder: &Path, case: &FileCase) -> PathBuf {
    let file = folder.join(case.name);
    if file.is_dir() {
        fs::remove_dir(&file).expect("removed");
    } else {
        fs::remove_file(&file).ok();
    }
    fs::write(&file, (case.good)()).expect("written");
    file
}

fn with_small(case: &FileCase, file: &Path) -> Model {
    let small: &[&str] = if case.kind == "transformer" { &SMALL_MODEL } else { &[] };
    model(case.kind, &[small, case.set].concat(), file)
}

/// A parameter of a list is named without its item.
fn declared(model: &Model) -> Vec<String> {
    let groups = model.params().groups().iter();
    let files = |params: &'static [neuropil::params::ParamSpec]| params.iter().filter(|p| p.kind == ValueType::Path);
    groups.flat_map(|g| files(g.params).map(|p| format!("{}.{}", g.name, p.name))).collect()
}

#[test]
fn every_parameter_that_names_a_file_is_tested() {
    for model in Model::all() {
        for parameter in declared(&model) {
            let is_known = CASES.iter().any(|case| case.parameter == parameter);
            assert!(is_known, "{}: enter `{parameter}` in CASES of tests/kinds/prepare_failures.rs", model.name());
        }
    }
    for case in CASES.iter().filter(|case| Model::by_name(case.kind).is_some()) {
        let model = Model::by_name(case.kind).expect("a kind");
        assert!(declared(&model).iter().any(|p| p == case.parameter), "{} has no {}", case.kind, case.parameter);
    }
}

#[test]
fn damaged_files_give_an_error_with_the_place_and_are_read_when_mended() {
    let mut wrong = vec![];
    for case in CASES.iter().filter(|case| Model::by_name(case.kind).is_some()) {
        let temp = tables(&case.parameter.replace('.', "-"));
        let file = good(&temp, case);
        build(&with_small(case, &file), &Progress::default()).unwrap_or_else(|e| panic!("{}: {e}", case.parameter));
        for damage in Damage::ALL {
            let mut file = good(&temp, case);
            if damage == Damage::BelowFile {
                file = file.join("inner.csv");
            } else if !damage.apply(&file) {
                continue;
            }
            let result = build(&with_small(case, &file), &Progress::default());
            let place = file.file_name().expect("a name").to_string_lossy().into_owned();
            let is_place = |why: &str| why.contains(&place) || why.contains("good_");
            match result {
                Err(SimError::Input(why)) => {
                    let is_clear =
                        is_place(&why) && !why.contains("os error") && !why.contains("stream did") && why.len() < 700;
                    if !is_clear {
                        wrong.push(format!("{} {damage:?}: {why}", case.parameter));
                    }
                }
                Err(other) => wrong.push(format!("{} {damage:?}: {other:?}", case.parameter)),
                Ok(()) if case.forgives.contains(&damage) => {}
                Ok(()) => wrong.push(format!("{} {damage:?}: it was built", case.parameter)),
            }
        }
        let file = good(&temp, case);
        build(&with_small(case, &file), &Progress::default()).expect("mended");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reading_stops_where_it_is_cancelled() {
    for case in CASES.iter().filter(|case| Model::by_name(case.kind).is_some()) {
        let temp = tables(&format!("cancel-{}", case.parameter.replace('.', "-")));
        let model = with_small(case, &good(&temp, case));
        let mut n = 1;
        loop {
            let progress = Progress::cancelled_at(n);
            match build(&model, &progress) {
                Err(SimError::Cancelled) => assert_eq!(progress.reports(), n, "{}: it continued", case.parameter),
                Ok(()) => break,
                Err(why) => panic!("{}: {why}", case.parameter),
            }
            n += 1;
        }
        build(&model, &Progress::default()).expect("it is read when it is not cancelled");
    }
}
