//! Fitness, entropy, and what follows for the whole: declarations.

use super::layout::{Census, Climate, Equations};
use crate::{
    gpu::kernel::{In, InOut, Size},
    kernels,
};

kernels! {
    /// Fitness, entropy and temperature.
    pub struct Measure in "nuclei/fitness.cu" using [Census, Climate, Equations] {
        /// Mean squared errors, 32 nuclei per block: for few of them. Items: nuclei.
        #[block(256)]
        fn fitness_32(census: In<Census>, of: In<Equations>, idx: In<u32>, x: In<f32>, y: In<f32>, w: In<f32>, fields: InOut<f32>);

        /// Mean squared errors, 64 nuclei per block. Items: nuclei.
        #[block(256)]
        fn fitness_64(census: In<Census>, of: In<Equations>, idx: In<u32>, x: In<f32>, y: In<f32>, w: In<f32>, fields: InOut<f32>);

        /// Mean squared errors, 128 nuclei per block; bounded by one fused multiply-add per weight and row, or by
        /// reading the weights. Items: nuclei.
        #[block(256)]
        fn fitness_128(census: In<Census>, of: In<Equations>, idx: In<u32>, x: In<f32>, y: In<f32>, w: In<f32>, fields: InOut<f32>);

        /// One step down the gradient, one warp per nucleus. Items: nuclei.
        #[block(256)]
        fn learn(census: In<Census>, of: In<Equations>, idx: In<u32>, x: In<f32>, y: In<f32>, w: InOut<f32>);

        /// Without a task all are alike. Items: nuclei.
        #[block(256)]
        fn equal(census: In<Census>, places: Size<u32>, idx: In<u32>, fields: InOut<f32>);

        /// Entropies of the softmax of the weights, eight lanes per nucleus; bounded by reading the weights. Items:
        /// nuclei.
        #[block(256)]
        fn entropy(census: In<Census>, of: In<Equations>, idx: In<u32>, w: In<f32>, fields: InOut<f32>);

        /// Mean and spread of fitness, 1024 nuclei per block. Items: nuclei.
        #[block(256)]
        fn sum_climate(census: In<Census>, places: Size<u32>, idx: In<u32>, fields: In<f32>, parts: InOut<f64>, least: InOut<u64>);

        /// One block: temperature and the fittest.
        #[block(256)]
        fn find_climate(census: In<Census>, places: Size<u32>, fields: In<f32>, parts: In<f64>, least: In<u64>, climate: InOut<Climate>);
    }
}

kernels! {
    /// Fitness on tensor cores, for weights stored in 16 bits.
    pub struct Tensor in "nuclei/fitness_mma.cu" using [Census, Equations] {
        /// Mean squared errors of nuclei of up to 32 weights, 16 nuclei per warp. Items: nuclei.
        #[block(256)]
        fn fitness_mma_32(census: In<Census>, of: In<Equations>, idx: In<u32>, x: In<u16>, y: In<f32>, w: In<f32>, fields: InOut<f32>);

        /// Mean squared errors of nuclei of up to 64 weights, 16 nuclei per warp. Items: nuclei.
        #[block(256)]
        fn fitness_mma_64(census: In<Census>, of: In<Equations>, idx: In<u32>, x: In<u16>, y: In<f32>, w: In<f32>, fields: InOut<f32>);

        /// Mean squared errors of nuclei of up to 128 weights, 16 nuclei per warp; bounded by reading the split inputs
        /// from shared memory, or by reading the weights. Items: nuclei.
        #[block(256)]
        fn fitness_mma_128(census: In<Census>, of: In<Equations>, idx: In<u32>, x: In<u16>, y: In<f32>, w: In<f32>, fields: InOut<f32>);
    }
}
