//! SONATA: files of other programs are read, and damaged ones refused with their place.

use neuropil::{
    data::{self, Tables, fuzz_entry},
    num::rng::{Draw, Purpose},
};
use neuropil_test_support::temp::TempFolder;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/sonata").join(name)
}

#[test]
fn edges_of_h5py_are_read() {
    let edges = fuzz_entry::weighted_sonata(&fs::read(golden("packed.h5")).expect("a file")).expect("read");
    let edges = edges.expect("weights");
    assert_eq!(edges.words.len(), 30);
    assert_eq!(edges.delays, Some((10, 16)), "1 to 2.5 ms in steps of 0.1 ms");
    let sum: f64 = (0..30).map(|i| edges.weight(i)).sum();
    assert!((sum - 9.0).abs() < 1e-6, "{sum}, expected 9");

    let indexed = fuzz_entry::weighted_sonata(&fs::read(golden("indexed.h5")).expect("a file")).expect("read");
    let words = indexed.map(|of| of.words);
    assert!(words.as_ref() == Some(&edges.words), "index groups of bmtk are not read");

    let network = data::read(&golden("counts.h5"), Tables::default(), &|_, _| true).expect("read");
    let counts = network.synapses.synapse_counts();
    assert_eq!((network.neurons.len, counts.n_synapses), (8, 90));
    let why = data::read(&golden("packed.h5"), Tables::default(), &|_, _| true).expect_err("weights").to_string();
    assert!(why.contains("edges/E_to_I/0/syn_weight: whole numbers of synapses expected"), "{why}");
}

/// 200 files with a changed, removed or repeated part are read, or refused with a sentence that names the file. No process panics or takes
/// more than 1.5 GB of addresses.
#[test]
fn damaged_sonata_files_are_refused_with_their_place() {
    let temp = TempFolder::new("damaged-sonata");
    let intact = fs::read(golden("packed.h5")).expect("a file");
    let (project, file) = (temp.join("p.ron"), temp.join("edges.h5"));
    let text = r#"(version: 2, name: "net", model: Spiking((network: (source: Rules),
        populations: [(name: "E", size: 8), (name: "I", size: 5)],
        projections: [(from: "E", to: "I", rule: FromFile(path: "edges.h5"), weight: 1)])))"#;
    fs::write(&project, text).expect("a project");
    let (mut n_refused, program) = (0, env!("CARGO_BIN_EXE_neuropil"));
    for variant in 0..200 {
        fs::write(&file, damaged(&intact, variant)).expect("written");
        let check = format!("ulimit -v 1500000; exec {program} validate {}", project.display());
        let done = Command::new("bash").args(["-c", &check]).output().expect("it runs");
        let said = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        let code = done.status.code();
        assert!(matches!(code, Some(0..=2)), "variant {variant} ends with {code:?}: {said}");
        if code != Some(0) {
            n_refused += 1;
            assert!(said.contains("edges.h5: "), "variant {variant}: {said}");
        }
    }
    assert!(n_refused > 40, "{n_refused} of 200 are refused");
}

/// Returns a damaged copy: changed bytes, a removed end, a span of zeros or a repeated span.
pub fn damaged(intact: &[u8], variant: u32) -> Vec<u8> {
    let mut next = 0;
    let mut draw = |below: usize| {
        next += 1;
        let draw = Draw { seed: 71, purpose: Purpose::Choice, step: u64::from(variant), lane: next };
        draw.words()[0] as usize % below
    };
    let (mut bytes, n) = (intact.to_vec(), intact.len());
    let (from, length) = (draw(n), 1 + draw(64));
    let to = (from + length).min(n);
    match variant % 4 {
        0 => (0..1 + draw(8)).for_each(|_| bytes[draw(n)] = draw(256) as u8),
        1 => bytes.truncate(from),
        2 => bytes[from..to].fill(if draw(2) == 0 { 0 } else { 0xff }),
        _ => {
            let part = bytes[from..to].to_vec();
            let at = draw(n - part.len());
            bytes[at..at + part.len()].copy_from_slice(&part);
        }
    }
    bytes
}
