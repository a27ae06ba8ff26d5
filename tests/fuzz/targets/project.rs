#![no_main]

use neuropil_fuzz::project;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Errors are fine; panics, hangs and boundless memory are not.
    if let Ok((document, _)) = project::read_bytes(bytes) {
        // What was accepted is written in a form that is accepted without a word and stays the same.
        let text = project::write(&document).expect("every project can be written");
        let (again, warnings) = project::read(&text).expect("what was written can be read");
        assert!(warnings.is_empty(), "{warnings:?}\n{text}");
        assert_eq!(project::write(&again).expect("again"), text);
    }
    // The other texts of a run folder: its manifest, and a line of its command log.
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = project::from_ron::<project::Manifest>(text);
        for format in [1, project::run::FORMAT] {
            let _ = project::command_log::read_line("spiking", format, text);
        }
    }
});
