//! Tasks and coupling matrices from files: values are read exactly, errors name file and position, and damaged files cause no
//! panic.

use neuropil::{
    data::{
        npz::NpzWriter,
        samples::{self, Samples},
    },
    gpu::Pass,
    kinds::nuclei::{CouplingMethod, Params, TaskSource, cpu::CpuSim, task},
    sim::{BuildContext, Progress, SimError, Simulation},
};
use neuropil_test_support::temp::TempFolder;
use npyz::WriterBuilder;
use std::{path::PathBuf, sync::Arc};
use zip::{CompressionMethod, write::SimpleFileOptions};

/// A scratch file, removed in the end with its folder.
struct Scratch(PathBuf, #[expect(dead_code, reason = "removes the folder")] TempFolder);

impl Scratch {
    fn new(ending: &str, content: &[u8]) -> Self {
        let folder = TempFolder::new("nuclei");
        let path = folder.join("data").with_extension(ending);
        std::fs::write(&path, content).expect("a scratch file");
        Self(path, folder)
    }

    fn npz(arrays: &[(&str, &[u64], &[f64])]) -> Self {
        Self::npz_with(arrays, SimpleFileOptions::default())
    }

    fn npz_with(arrays: &[(&str, &[u64], &[f64])], options: SimpleFileOptions) -> Self {
        let scratch = Self::new("npz", b"");
        let mut file = NpzWriter::create(&scratch.0).expect("an archive");
        for (name, shape, values) in arrays {
            let writer = file.array(name, options).expect("an array").default_dtype().shape(shape);
            let mut writer = writer.begin_nd().expect("a header");
            writer.extend(values.iter().copied()).expect("numbers");
            writer.finish().expect("an end");
        }
        drop(file);
        scratch
    }

    fn read(&self) -> Result<Samples, String> {
        samples::read(&self.0, "y", &|_, _| true).map_err(|e| e.to_string())
    }
}

const X: &[f64] = &[1.0, 0.5, -2.0, 3.25, 0.0, 1e-3, 4.0, -4.0];
const Y: &[f64] = &[0.5, -1.0, 2.0, 8.0];

#[test]
fn the_same_samples_from_every_format() {
    let csv = Scratch::new("csv", b"a,y,b\n1,0.5,0.5\n-2,-1,3.25\n0,2,1e-3\n4,8,-4\n");
    let tsv = Scratch::new("tsv", b"a\ty\tb\n1\t0.5\t0.5\n-2\t-1\t3.25\n0\t2\t1e-3\n4\t8\t-4\n");
    let npz = Scratch::npz(&[("X", &[4, 2], X), ("y", &[4], Y)]);
    for file in [&csv, &tsv, &npz] {
        let read = file.read().expect("it reads");
        assert_eq!((read.inputs, &read.x[..], &read.y[..]), (2, X, Y), "{}", file.0.display());
        assert!(read.provenance.contains("4 samples of 2 inputs"), "{}", read.provenance);
    }
}

#[test]
fn errors_name_file_and_cause() {
    let cases = [
        (Scratch::new("csv", b"a,b\n1,2\n"), "no column \"y\""),
        (Scratch::new("csv", b"a,y\n1,2\nx,3\n"), "\"x\" is not a number"),
        (Scratch::new("csv", b"a,y\n1,2\n,3\n"), "every sample needs every number"),
        (Scratch::new("csv", b"y\n1\n"), "at least one each"),
        (Scratch::new("csv", b"a,y\n"), "at least one each"),
        (Scratch::new("png", b"a,y\n1,2\n"), "not a table"),
        (Scratch::new("npz", b"no archive"), ""),
        (Scratch::npz(&[("x", &[4, 2], X), ("y", &[4], Y)]), "did you mean \"x\"?"),
        (Scratch::npz(&[("X", &[2, 4], X), ("y", &[4], Y)]), "B × D and B expected"),
        (Scratch::npz(&[("X", &[4, 2], X), ("y", &[4], &[1.0, f64::NAN, 2.0, 3.0])]), "y[1] is not finite"),
        (Scratch::npz(&[("X", &[8], X), ("y", &[4], Y)]), "B × D and B expected"),
    ];
    for (file, part) in cases {
        let Err(why) = file.read() else { panic!("{part}: it was read") };
        assert!(why.contains(part) && why.contains(&*file.0.file_name().expect("a name").to_string_lossy()), "{why}");
    }
    let folder = TempFolder::new("nuclei");
    assert!(samples::read(&folder.join("not there.npz"), "y", &|_, _| true).is_err());
}

/// NumPy archives are read to their checksums.
#[test]
fn a_flipped_bit_in_the_numbers_of_an_archive_is_an_error() {
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let file = Scratch::npz_with(&[("X", &[4, 2], X), ("y", &[4], Y)], stored);
    let mut bytes = std::fs::read(&file.0).expect("it is there");
    let at = bytes.windows(8).position(|w| w == 3.25_f64.to_le_bytes()).expect("stored numbers");
    bytes[at] ^= 1; // the lowest bit of the mantissa
    let Err(why) = Scratch::new("npz", &bytes).read() else { panic!("the change was not noticed") };
    assert!(why.contains("X: ") && why.to_lowercase().contains("checksum"), "{why}");
}

/// A read inside the decompression can be cancelled.
#[test]
fn decompression_is_cancelled_and_limited() {
    let zeros = vec![0.0; 1 << 19];
    let file = Scratch::npz(&[("X", &[1 << 18, 2], &zeros), ("y", &[1 << 18], &zeros[..1 << 18])]);
    let watch = |_: &str, part: f32| part < 0.5;
    let cancelled = samples::read(&file.0, "y", &watch);
    assert!(matches!(cancelled, Err(neuropil::data::DataError::Cancelled)));
}

/// Cut off or with flipped bits: an error or other numbers, never a panic.
#[test]
fn damaged_archives_cause_no_panic() {
    let whole = std::fs::read(&Scratch::npz(&[("X", &[4, 2], X), ("y", &[4], Y)]).0).expect("it is there");
    for at in 0..whole.len() {
        let _ = Scratch::new("npz", &whole[..at]).read();
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        let _ = Scratch::new("npz", &flipped).read();
    }
}

fn start(params: &Params) -> Result<CpuSim<f64>, SimError> {
    let scene = BuildContext { seed: 2, ..BuildContext::default() };
    CpuSim::new(params, &scene, Arc::new(task::prepare(params, &scene, &Progress::default())?), 2)
}

#[test]
fn a_task_from_a_file_is_solved() {
    let mut rows = String::from("a,b,c,y\n");
    for i in 0..60 {
        let [a, b, c] = [0.1, 0.37, 0.73].map(|s| (f64::from(i) * s).sin());
        rows += &format!("{a},{b},{c},{}\n", 0.5 * a - 0.25 * b + 0.75 * c);
    }
    let file = Scratch::new("csv", rows.as_bytes());
    let mut params = Params::default();
    (params.task.source, params.task.path) = (TaskSource::File, file.0.display().to_string().into());
    let mut sim = start(&params).expect("it starts");
    sim.advance(200, &mut Pass::default()).expect("it runs");
    assert!(sim.host().stats.f_best < 0.005, "{}", sim.host().stats.f_best);
    params.task.path = "".into();
    assert!(matches!(start(&params), Err(SimError::Input(why)) if why.contains("task.path")));
}

#[test]
fn a_coupling_from_a_file() {
    let n = 64_usize;
    let mut params = Params::kuramoto(n as u32);
    params.coupling.method = CouplingMethod::Dense;
    let run = |params: &Params| {
        let mut sim = start(params).expect("it starts");
        sim.advance(30, &mut Pass::default()).expect("it runs");
        sim.state().clone()
    };
    let ones = vec![1.0; n * n];
    let file = Scratch::npz(&[("J", &[64, 64], &ones)]);
    let formula = run(&params);
    params.coupling.matrix = file.0.display().to_string().into();
    assert_eq!(run(&params).phi, formula.phi, "all alike, given or computed");

    // A directed pair: only the first nucleus is coupled.
    let mut pair = vec![0.0; n * n];
    pair[1] = 1.0;
    let file = Scratch::npz(&[("J", &[64, 64], &pair)]);
    params.coupling.matrix = file.0.display().to_string().into();
    params.phases.omega_scale = 0.0;
    let (before, after) = (start(&params).expect("it starts").state().clone(), run(&params));
    assert_ne!(before.phi[0], after.phi[0]);
    assert!((1..n).all(|i| (before.phi[i] - after.phi[i]).sin().abs() < 1e-12));

    pair[70] = -1.0;
    for (arrays, part) in [
        (Scratch::npz(&[("J", &[64, 64], &pair)]), "J[1, 6] is negative"),
        (Scratch::npz(&[("J", &[32, 128], &ones)]), "[64, 64] expected"),
        (Scratch::npz(&[("K", &[64, 64], &ones)]), "no column \"J\""),
    ] {
        params.coupling.matrix = arrays.0.display().to_string().into();
        let why = start(&params).err().expect("refused").to_string();
        assert!(why.contains(part), "{why}");
    }
}
