//! Products of 8-bit integers as 8-bit integers: every backend has the bits of the CPU.

use super::cuda_gemm::{BACKENDS, numbers};
use crate::device::gpu;
use neuropil::{
    gpu::{Buf, Pass},
    nn::gemm::{
        Gemm, Layout, Order, Quantise, cpu,
        cuda::{Backend, CudaGemm, CudaGemmError, Options},
    },
};

/// Ragged and round sizes, and a batch with gaps between rows of C.
fn declarations() -> Vec<Gemm<i32>> {
    let mut all: Vec<Gemm<i32>> = [(1, 1, 1), (3, 5, 7), (129, 260, 48), (256, 512, 128), (37, 70, 300)]
        .into_iter()
        .flat_map(|(m, n, k)| {
            [Gemm::new(m, n, k), Gemm::new(m, n, k).transposed_b(), Gemm::new(m, n, k).transposed_a()]
        })
        .collect();
    let mut apart = Gemm::<i32>::new(65, 96, 64).transposed_b().batch(3);
    apart.c = Layout { ld: 100, stride: 65 * 100 + 4, ..apart.c };
    let columns = Layout { order: Order::ColMajor, ld: 65, ..apart.c };
    all.extend([apart, Gemm { c: Layout { stride: 65 * 96, ..columns }, ..apart }]);
    all
}

#[test]
fn bytes_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let gemm = CudaGemm::new(&gpu);
    let bytes = |len: usize, seed: u64| -> Vec<i8> { numbers(len, seed).iter().map(|x| (x * 128.0) as i8).collect() };
    let mut n_computed = 0;
    for op in declarations() {
        let (a, b) = (bytes(op.batch * op.m * op.k, 1), bytes(op.batch * op.k * op.n, 2));
        let old = bytes(op.batch * (op.m + 1) * (op.n + 8), 3);
        for (has_gelu, before) in [(true, 1e-3), (true, 4e-5), (false, 2e-3)] {
            let of = Quantise { before, has_gelu, after: 3.0 };
            let mut want = old.clone();
            cpu::quantised(&op, of, (&a, &b), &mut want).expect("it fits");
            let on_device = |data: &[i8]| Buf::from_slice(&gpu, "bytes", data).expect("memory");
            let (a, b) = (on_device(&a), on_device(&b));
            let backends = BACKENDS.map(Options::only).into_iter().chain([Options::default()]);
            for options in backends {
                let mut c = on_device(&old);
                match gemm.run_quantised(&mut Pass::default(), &op, of, (&a, &b), &mut c, options) {
                    Ok(_) => n_computed += 1,
                    Err(CudaGemmError::Unable { .. } | CudaGemmError::Library(_)) if options.is_required => continue,
                    Err(why) => panic!("{op:?}: {why}"),
                }
                assert!(c.read().expect("bytes") == want, "{op:?}, {of:?}, {:?}", options.backend);
            }
        }
    }
    assert!(n_computed > 3 * 17 * 2, "{n_computed} of the backends computed bytes");
    let library = Options::only(Backend::CublasLt);
    let (one, mut to) =
        (Buf::from_slice(&gpu, "one", &[1_i8]).expect("memory"), Buf::zeros(&gpu, "c", 1).expect("memory"));
    let of = Quantise { before: 1.0, has_gelu: false, after: 1.0 };
    let refused = gemm.run_quantised(&mut Pass::default(), &Gemm::new(1, 1, 1), of, (&one, &one), &mut to, library);
    assert!(refused.is_err(), "the library has no such epilogue");
}
