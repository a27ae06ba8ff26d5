//! Kernel declarations of selection, population turnover, and phase dynamics.

use super::layout::{
    DeviceStats, EventDecision, EventLog, KernelParams, LogEntry, PopulationCounts, TaskEquations, TopK,
};
use super::memory::TABLE;
use crate::{
    gpu::kernel::{In, InOut, Size},
    kernels,
};

kernels! {
    /// Selection of the largest keys, ties to the lower slot.
    pub struct SelectKernels in "nuclei/select.cu" using [PopulationCounts, DeviceStats, KernelParams, TopK, TaskEquations] with [TABLE] {
        /// Fusion keys of all nuclei. Items: nuclei.
        #[block(256)]
        fn make_fusion_keys as MakeFusionKeys(population: In<PopulationCounts>, stats: In<DeviceStats>, params: In<KernelParams>, idx: In<u32>, fields: In<f32>, keys: InOut<u32>, tags: InOut<u32>, top_k: InOut<TopK>);

        /// Decay keys of all nuclei not selected for fusion. Items: nuclei.
        #[block(256)]
        fn make_decay_keys as MakeDecayKeys(population: In<PopulationCounts>, params: In<KernelParams>, idx: In<u32>, fields: In<f32>, tags: In<u32>, keys: InOut<u32>, top_k: InOut<TopK>);

        /// Keys for the median fitness. Items: nuclei.
        #[block(256)]
        fn make_fitness_keys as MakeFitnessKeys(population: In<PopulationCounts>, n_slots: Size<u32>, idx: In<u32>, fields: In<f32>, keys: InOut<u32>);

        /// Histogram of 11 bits of the keys that match the threshold so far, 2048 keys per block; the last block determines
        /// the next bits of the threshold. Items: nuclei.
        #[block(256)]
        fn count_digits as CountDigits(population: In<PopulationCounts>, which: Size<u32>, digit: Size<u32>, keys: In<u32>, histogram: InOut<u32>, top_k: InOut<TopK>);

        /// Lists keys above the threshold, and counts ties. Items: nuclei.
        #[block(256)]
        fn collect_above as CollectAbove(population: In<PopulationCounts>, n_slots: Size<u32>, which: Size<u32>, idx: In<u32>, keys: In<u32>, tags: InOut<u32>, chosen: InOut<u64>, ties: InOut<u32>, top_k: InOut<TopK>);

        /// Lists the ties of lowest slot. Items: nuclei.
        #[block(256)]
        fn collect_ties as CollectTies(population: In<PopulationCounts>, n_slots: Size<u32>, which: Size<u32>, idx: In<u32>, keys: In<u32>, tags: InOut<u32>, chosen: InOut<u64>, ties: In<u32>, top_k: In<TopK>);

        /// One thread: stores the selected key as the median.
        #[block(1)]
        fn store_median as StoreMedian(population: In<PopulationCounts>, top_k: In<TopK>, stats: InOut<DeviceStats>);

        /// Keys of the fittest nuclei, for the ensemble. Items: nuclei.
        #[block(256)]
        fn make_fittest_keys as MakeFittestKeys(population: In<PopulationCounts>, n_slots: Size<u32>, most: Size<u32>, idx: In<u32>, fields: In<f32>, keys: InOut<u32>, top_k: InOut<TopK>);

        /// One block: error of the mean output of the ensemble.
        #[block(256)]
        fn evaluate_ensemble as EvaluateEnsemble(of: In<TaskEquations>, top_k: In<TopK>, chosen: In<u64>, x: In<f32>, y: In<f32>, w: In<f32>, order: InOut<u32>, stats: InOut<DeviceStats>);
    }
}

kernels! {
    /// Fusion, decay and death, in launch order.
    pub struct TurnoverKernels in "nuclei/turnover.cu" using [PopulationCounts, DeviceStats, KernelParams, TopK, EventDecision, EventLog, LogEntry] with [TABLE] {
        /// One block: sorts the selected nuclei and draws the events.
        #[block(1024)]
        fn decide_events as DecideEvents(
            population: In<PopulationCounts>, stats: In<DeviceStats>, params: In<KernelParams>, top_k: In<TopK>, fields: In<f32>, chosen: In<u64>,
            order: InOut<u32>, shares: InOut<f64>, decision: InOut<EventDecision>, log: In<EventLog>, words_out: InOut<u32>,
            errors_out: InOut<f32>
        );

        /// Weights of the fusion product, one thread per weight.
        #[block(128)]
        fn blend_weights as BlendWeights(params: In<KernelParams>, decision: In<EventDecision>, order: In<u32>, shares: In<f64>, w: In<f32>, fused: InOut<f32>);

        /// One block per fusing nucleus: writes the fusion product to the host slot and clears the others.
        #[block(128)]
        fn fuse_nuclei as FuseNuclei(population: In<PopulationCounts>, params: In<KernelParams>, decision: In<EventDecision>, order: In<u32>, fused: In<f32>, w: InOut<f32>, fields: InOut<f32>, tags: InOut<u32>);

        /// Mean phases of the fusing nuclei in phase fields 2 to F, one thread per field.
        #[block(32)]
        fn blend_phase_fields as BlendPhaseFields(params: In<KernelParams>, decision: In<EventDecision>, order: In<u32>, shares: In<f64>, fields: In<f32>, phases: InOut<f32>);

        /// Stores them in the host slot of the fusion.
        #[block(32)]
        fn store_host_phases as StoreHostPhases(params: In<KernelParams>, decision: In<EventDecision>, phases: In<f32>, fields: InOut<f32>);

        /// Order parameters of phase fields 2 to F, one block per field. Items: nuclei.
        #[block(256)]
        fn order_phase_fields as OrderPhaseFields(population: In<PopulationCounts>, params: In<KernelParams>, log: In<EventLog>, idx: In<u32>, fields: In<f32>, orders: InOut<f64>);

        /// Copies the weights that offspring are mutated from, after the fusion.
        #[block(128)]
        fn copy_base_weights as CopyBaseWeights(stats: In<DeviceStats>, params: In<KernelParams>, fused: In<f32>, w: In<f32>, base: InOut<f32>);

        /// Counts occupied slots, 1024 slots per block. Items: slots.
        #[block(256)]
        fn count_alive as CountAlive(params: In<KernelParams>, tags: In<u32>, block_counts: InOut<u32>);

        /// Lists occupied and free slots, ascending. Items: slots.
        #[block(256)]
        fn list_alive as ListAlive(params: In<KernelParams>, tags: In<u32>, block_counts: In<u32>, idx: InOut<u32>, free: InOut<u32>, population: InOut<PopulationCounts>);

        /// One block per decay: writes offspring to the nucleus' own slot and the next free slots.
        #[block(128)]
        fn decay_nuclei as DecayNuclei(
            population: In<PopulationCounts>, params: In<KernelParams>, decision: In<EventDecision>, order: In<u32>, free: In<u32>, base: In<f32>, w: InOut<f32>,
            fields: InOut<f32>, tags: InOut<u32>, log: In<EventLog>, words_out: InOut<u32>
        );

        /// Draws deaths, 1024 nuclei per block. Items: nuclei.
        #[block(256)]
        fn count_deaths as CountDeaths(population: In<PopulationCounts>, params: In<KernelParams>, idx: In<u32>, tags: In<u32>, dying: InOut<u32>, block_counts: InOut<u32>);

        /// Clears the slots of dying nuclei, ascending, down to the minimum population. Items: nuclei.
        #[block(256)]
        fn remove_dead as RemoveDead(
            population: In<PopulationCounts>, params: In<KernelParams>, idx: In<u32>, dying: In<u32>, block_counts: In<u32>, w: InOut<f32>,
            fields: InOut<f32>, tags: InOut<u32>, decision: InOut<EventDecision>, log: In<EventLog>, words_out: InOut<u32>,
            errors_out: InOut<f32>
        );

        /// One thread: updates the totals and appends a log entry.
        #[block(1)]
        fn finish_ledger as FinishLedger(params: In<KernelParams>, stats: In<DeviceStats>, decision: In<EventDecision>, population: InOut<PopulationCounts>, log: InOut<EventLog>, entries: InOut<LogEntry>);
    }
}

kernels! {
    /// Phase dynamics: stages of the integrators and quantum-Kuramoto maps.
    pub struct PhaseKernels in "nuclei/phases.cu" using [PopulationCounts, KernelParams] with [TABLE] {
        /// One stage of an integrator, one thread per nucleus. Items: nuclei.
        #[block(256)]
        fn update_phases as UpdatePhases(
            population: In<PopulationCounts>, params: In<KernelParams>, stage: Size<u32>, substep: Size<u32>, field: Size<u32>, idx: In<u32>,
            sums: In<f32>, tags: In<u32>, fields: InOut<f32>, starts: InOut<f32>, totals: InOut<f32>, sites: InOut<f32>
        );

        /// Spike counts of the quantum-Kuramoto maps. Items: nuclei.
        #[block(256)]
        fn draw_spikes as DrawSpikes(population: In<PopulationCounts>, params: In<KernelParams>, idx: In<u32>, fields: InOut<f32>);

        /// Maximum spike count and sum of amplitudes, 1024 nuclei per block. Items: nuclei.
        #[block(256)]
        fn sum_amplitudes as SumAmplitudes(population: In<PopulationCounts>, params: In<KernelParams>, idx: In<u32>, fields: In<f32>, parts: InOut<f64>);

        /// Applies a map once. Items: nuclei.
        #[block(256)]
        fn apply_map as ApplyMap(
            population: In<PopulationCounts>, params: In<KernelParams>, idx: In<u32>, sites: In<f32>, sums: In<f32>, tags: In<u32>, parts: In<f64>,
            fields: InOut<f32>, norms: InOut<f64>
        );

        /// Normalises the amplitudes to a total of 1. Items: nuclei.
        #[block(256)]
        fn normalise_amplitudes as NormaliseAmplitudes(population: In<PopulationCounts>, params: In<KernelParams>, idx: In<u32>, norms: In<f64>, fields: InOut<f32>, sites: InOut<f32>);
    }
}
