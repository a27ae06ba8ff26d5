//! Kernel declarations of fitness, entropy, and their statistics.

use super::layout::{DeviceStats, PopulationCounts, TaskEquations};
use super::{kernel_params::MAX_LEARNING, memory::TABLE};
use crate::{
    device_constants,
    gpu::{
        Compile,
        kernel::{In, InOut, Size},
        layout::Constant,
    },
    kernels,
};

const LEARNING: &[Constant] = device_constants![MAX_LEARNING];

kernels! {
    /// Fitness, entropy and temperature.
    pub struct FitnessKernels in "nuclei/fitness.cu" using [PopulationCounts, DeviceStats, TaskEquations] with [TABLE, LEARNING] {
        /// Mean squared errors, 32 nuclei per block: for small populations. Items: nuclei.
        #[block(256)]
        fn evaluate_fitness_32 as EvaluateFitness32(population: In<PopulationCounts>, of: In<TaskEquations>, idx: In<u32>, x: In<f32>, y: In<f32>, w: In<f32>, fields: InOut<f32>);

        /// Mean squared errors, 64 nuclei per block. Items: nuclei.
        #[block(256)]
        fn evaluate_fitness_64 as EvaluateFitness64(population: In<PopulationCounts>, of: In<TaskEquations>, idx: In<u32>, x: In<f32>, y: In<f32>, w: In<f32>, fields: InOut<f32>);

        /// Mean squared errors, 128 nuclei per block; bounded by one fused multiply-add per weight and row, or by
        /// reading the weights. Items: nuclei.
        #[block(256)]
        fn evaluate_fitness_128 as EvaluateFitness128(population: In<PopulationCounts>, of: In<TaskEquations>, idx: In<u32>, x: In<f32>, y: In<f32>, w: In<f32>, fields: InOut<f32>);

        /// One gradient step, one warp per nucleus. Items: nuclei.
        #[block(256)]
        fn step_gradient as StepGradient(population: In<PopulationCounts>, of: In<TaskEquations>, idx: In<u32>, x: In<f32>, y: In<f32>, w: InOut<f32>);

        /// Zeroes fitness and entropy when there is no task. Items: nuclei.
        #[block(256)]
        fn zero_fitness as ZeroFitness(population: In<PopulationCounts>, n_slots: Size<u32>, idx: In<u32>, fields: InOut<f32>);

        /// Entropies of the softmax of the weights, eight lanes per nucleus; bounded by reading the weights. Items:
        /// nuclei.
        #[block(256)]
        fn evaluate_entropy as EvaluateEntropy(population: In<PopulationCounts>, of: In<TaskEquations>, idx: In<u32>, w: In<f32>, fields: InOut<f32>);

        /// Mean and spread of fitness, 1024 nuclei per block. Items: nuclei.
        #[block(256)]
        fn sum_stats as SumStats(population: In<PopulationCounts>, n_slots: Size<u32>, idx: In<u32>, fields: In<f32>, parts: InOut<f64>, least: InOut<u64>);

        /// One block: temperature and fittest nucleus.
        #[block(256)]
        fn reduce_stats as ReduceStats(population: In<PopulationCounts>, n_slots: Size<u32>, fields: In<f32>, parts: In<f64>, least: In<u64>, stats: InOut<DeviceStats>);
    }
}

kernels! {
    /// Fitness on tensor cores, for weights stored in 16 bits.
    pub struct FitnessMmaKernels in "nuclei/fitness_mma.cu" compiled (Compile::EXACT.on(Compile::PER_GENERATION)) using [PopulationCounts, TaskEquations] with [TABLE] {
        /// Mean squared errors of nuclei of up to 32 weights, 16 nuclei per warp. Items: nuclei.
        #[block(256)]
        fn evaluate_fitness_mma_32 as EvaluateFitnessMma32(population: In<PopulationCounts>, of: In<TaskEquations>, idx: In<u32>, x: In<u16>, y: In<f32>, w: In<f32>, fields: InOut<f32>);

        /// Mean squared errors of nuclei of up to 64 weights, 16 nuclei per warp. Items: nuclei.
        #[block(256)]
        fn evaluate_fitness_mma_64 as EvaluateFitnessMma64(population: In<PopulationCounts>, of: In<TaskEquations>, idx: In<u32>, x: In<u16>, y: In<f32>, w: In<f32>, fields: InOut<f32>);

        /// Mean squared errors of nuclei of up to 128 weights, 16 nuclei per warp; bounded by reading the split inputs
        /// from shared memory, or by reading the weights. Items: nuclei.
        #[block(256)]
        fn evaluate_fitness_mma_128 as EvaluateFitnessMma128(population: In<PopulationCounts>, of: In<TaskEquations>, idx: In<u32>, x: In<u16>, y: In<f32>, w: In<f32>, fields: InOut<f32>);
    }
}
