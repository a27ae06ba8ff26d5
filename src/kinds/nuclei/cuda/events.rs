//! Selection, turnover and the movement of phases: declarations.

use super::layout::{Census, Choice, Climate, Entry, Equations, Log, Rules, Verdict};
use crate::{
    gpu::kernel::{In, InOut, Size},
    kernels,
};

kernels! {
    /// The largest of many keys, ties to the lower slot.
    pub struct Select in "nuclei/select.cu" using [Census, Climate, Rules, Choice, Equations] {
        /// Keys of those who may fuse. Items: nuclei.
        #[block(256)]
        fn key_fusion(census: In<Census>, climate: In<Climate>, rules: In<Rules>, idx: In<u32>, fields: In<f32>, keys: InOut<u32>, tags: InOut<u32>, choices: InOut<Choice>);

        /// Keys of those who may decay: all others. Items: nuclei.
        #[block(256)]
        fn key_decay(census: In<Census>, rules: In<Rules>, idx: In<u32>, fields: In<f32>, tags: In<u32>, keys: InOut<u32>, choices: InOut<Choice>);

        /// Keys for the median fitness. Items: nuclei.
        #[block(256)]
        fn key_fitness(census: In<Census>, places: Size<u32>, idx: In<u32>, fields: In<f32>, keys: InOut<u32>);

        /// Counts 11 bits of the keys that agree with the threshold so far, 2048 keys per block; the last block finds
        /// the next bits. Items: nuclei.
        #[block(256)]
        fn count_digits(census: In<Census>, which: Size<u32>, digit: Size<u32>, keys: In<u32>, histogram: InOut<u32>, choices: InOut<Choice>);

        /// Lists what lies above the threshold, and counts ties. Items: nuclei.
        #[block(256)]
        fn collect_above(census: In<Census>, places: Size<u32>, which: Size<u32>, idx: In<u32>, keys: In<u32>, tags: InOut<u32>, chosen: InOut<u64>, ties: InOut<u32>, choices: InOut<Choice>);

        /// Lists the lowest of the ties. Items: nuclei.
        #[block(256)]
        fn collect_ties(census: In<Census>, places: Size<u32>, which: Size<u32>, idx: In<u32>, keys: In<u32>, tags: InOut<u32>, chosen: InOut<u64>, ties: In<u32>, choices: In<Choice>);

        /// One thread: the median is a key that was found.
        #[block(1)]
        fn take_median(census: In<Census>, choices: In<Choice>, climate: InOut<Climate>);

        /// Keys of the fittest, of whom so many answer together. Items: nuclei.
        #[block(256)]
        fn key_fittest(census: In<Census>, places: Size<u32>, most: Size<u32>, idx: In<u32>, fields: In<f32>, keys: InOut<u32>, choices: InOut<Choice>);

        /// One block: error of the mean answer of the fittest.
        #[block(256)]
        fn answer_together(of: In<Equations>, choices: In<Choice>, chosen: In<u64>, x: In<f32>, y: In<f32>, w: In<f32>, order: InOut<u32>, climate: InOut<Climate>);
    }
}

kernels! {
    /// Who fuses, decays and dies, in launch order.
    pub struct Turnover in "nuclei/turnover.cu" using [Census, Climate, Rules, Choice, Verdict, Log, Entry] {
        /// One block: sorts the chosen and draws what happens.
        #[block(1024)]
        fn decide(
            census: In<Census>, climate: In<Climate>, rules: In<Rules>, choices: In<Choice>, fields: In<f32>, chosen: In<u64>,
            order: InOut<u32>, shares: InOut<f64>, verdict: InOut<Verdict>, log: In<Log>, words_out: InOut<u32>
        );

        /// Weights of what the chosen become, one thread per weight.
        #[block(128)]
        fn blend(rules: In<Rules>, verdict: In<Verdict>, order: In<u32>, shares: In<f64>, w: In<f32>, fused: InOut<f32>);

        /// One block per nucleus to fuse: the host takes the weights, the others are wiped.
        #[block(128)]
        fn fuse(census: In<Census>, rules: In<Rules>, verdict: In<Verdict>, order: In<u32>, fused: In<f32>, w: InOut<f32>, fields: InOut<f32>, tags: InOut<u32>);

        /// Where the phases of the chosen point in further fields of phases, one thread per field.
        #[block(32)]
        fn blend_fields(rules: In<Rules>, verdict: In<Verdict>, order: In<u32>, shares: In<f64>, fields: In<f32>, phases: InOut<f32>);

        /// The host of a fusion takes them.
        #[block(32)]
        fn host_fields(rules: In<Rules>, verdict: In<Verdict>, phases: In<f32>, fields: InOut<f32>);

        /// The order of further fields of phases, one block per field. Items: nuclei.
        #[block(256)]
        fn order_fields(census: In<Census>, rules: In<Rules>, log: In<Log>, idx: In<u32>, fields: In<f32>, orders: InOut<f64>);

        /// What children vary, as the fusion left it.
        #[block(128)]
        fn take_base(climate: In<Climate>, rules: In<Rules>, fused: In<f32>, w: In<f32>, base: InOut<f32>);

        /// Counts the living, 1024 places per block. Items: places.
        #[block(256)]
        fn count_alive(rules: In<Rules>, tags: In<u32>, counts: InOut<u32>);

        /// Lists the living and the free, ascending. Items: places.
        #[block(256)]
        fn list_alive(rules: In<Rules>, tags: In<u32>, counts: In<u32>, idx: InOut<u32>, free: InOut<u32>, census: InOut<Census>);

        /// One block per decay: the nucleus itself and the next free places.
        #[block(128)]
        fn decay(
            census: In<Census>, rules: In<Rules>, verdict: In<Verdict>, order: In<u32>, free: In<u32>, base: In<f32>, w: InOut<f32>,
            fields: InOut<f32>, tags: InOut<u32>, log: In<Log>, words_out: InOut<u32>
        );

        /// Draws who dies, 1024 nuclei per block. Items: nuclei.
        #[block(256)]
        fn count_deaths(census: In<Census>, rules: In<Rules>, idx: In<u32>, tags: In<u32>, doomed: InOut<u32>, counts: InOut<u32>);

        /// They die, by ascending slot, while enough are left. Items: nuclei.
        #[block(256)]
        fn die(
            census: In<Census>, rules: In<Rules>, idx: In<u32>, doomed: In<u32>, counts: In<u32>, w: InOut<f32>,
            fields: InOut<f32>, tags: InOut<u32>, verdict: InOut<Verdict>, log: In<Log>, words_out: InOut<u32>
        );

        /// One thread: totals, and one entry of the log.
        #[block(1)]
        fn close_books(rules: In<Rules>, climate: In<Climate>, verdict: In<Verdict>, census: InOut<Census>, log: InOut<Log>, entries: InOut<Entry>);
    }
}

kernels! {
    /// How phases move.
    pub struct Phases in "nuclei/phases.cu" using [Census, Rules] {
        /// One stage of an integrator, one thread per nucleus. Items: nuclei.
        #[block(256)]
        fn step_phases(
            census: In<Census>, rules: In<Rules>, stage: Size<u32>, substep: Size<u32>, field: Size<u32>, idx: In<u32>,
            sums: In<f32>, tags: In<u32>, fields: InOut<f32>, starts: InOut<f32>, totals: InOut<f32>, sites: InOut<f32>
        );

        /// Spike counts of the quantum-Kuramoto maps. Items: nuclei.
        #[block(256)]
        fn spike(census: In<Census>, rules: In<Rules>, idx: In<u32>, fields: InOut<f32>);

        /// Their maximum and the sum of amplitudes, 1024 nuclei per block. Items: nuclei.
        #[block(256)]
        fn sum_waves(census: In<Census>, rules: In<Rules>, idx: In<u32>, fields: In<f32>, parts: InOut<f64>);

        /// One application of a map. Items: nuclei.
        #[block(256)]
        fn apply_map(
            census: In<Census>, rules: In<Rules>, idx: In<u32>, sites: In<f32>, sums: In<f32>, tags: In<u32>, parts: In<f64>,
            fields: InOut<f32>, norms: InOut<f64>
        );

        /// Amplitudes back to a total of 1. Items: nuclei.
        #[block(256)]
        fn scale_waves(census: In<Census>, rules: In<Rules>, idx: In<u32>, norms: In<f64>, fields: InOut<f32>, sites: InOut<f32>);
    }
}
