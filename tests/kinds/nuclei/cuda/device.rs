//! Helpers of the nuclei tests on the GPU.

pub use crate::device::gpu;
use neuropil::{
    gpu::{Buf, Gpu},
    kinds::nuclei::cuda::layout::{DeviceStats, KernelParams, PopulationCounts},
};
use std::sync::Arc;

/// Prints an error with its tolerance, and checks it.
pub fn within(what: &str, error: f64, tolerance: f64) {
    assert!(error <= tolerance, "{what}: {error:e} exceeds {tolerance:e}");
}

/// A buffer with these values.
pub fn buf<T: neuropil::gpu::layout::CudaType>(gpu: &Arc<Gpu>, values: &[T]) -> Buf<T> {
    Buf::from_slice(gpu, "test", values).expect("it fits")
}

pub fn population(gpu: &Arc<Gpu>, n: usize) -> Buf<PopulationCounts> {
    buf(gpu, &[PopulationCounts { n: n as u32, ..PopulationCounts::default() }])
}

pub fn stats(gpu: &Arc<Gpu>, mean_f: f64, t: f64) -> Buf<DeviceStats> {
    buf(gpu, &[DeviceStats { mean_f, t, per_t: std::f64::consts::LOG2_E / t, ..DeviceStats::default() }])
}

pub fn kernel_params(gpu: &Arc<Gpu>, n_slots: usize) -> Buf<KernelParams> {
    let open = KernelParams {
        n_slots: n_slots as u32,
        prefactor: 1.0,
        hbar: 1.0,
        width: 1.0,
        mass: 1.0,
        ..KernelParams::default()
    };
    buf(gpu, &[open])
}

/// The larger value; NaN is largest.
pub fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// Pseudo-random numbers in [0, 1) from a counter.
pub struct Dice(pub u64);

impl Dice {
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn normal(&mut self) -> f64 {
        let r = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        r * (std::f64::consts::TAU * self.unit()).cos()
    }
}
