#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Errors are fine; panics, hangs and boundless memory are not.
    let _ = neuropil_fuzz::data::fuzz_entry::weighted_parquet(bytes);
});
