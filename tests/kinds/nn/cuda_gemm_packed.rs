//! Products with packed weights: every backend has the bits of the CPU, in any size and layout of A.

use super::{cuda_gemm::BACKENDS, cuda_gemm::numbers};
use crate::device::gpu;
use neuropil::{
    gpu::{Buf, Pass},
    nn::gemm::{
        Codes, Epilogue, Gemm, Layout, Quantise, cpu,
        cuda::{Backend, CudaGemm, CudaGemmError, Implementation, Options},
    },
};

/// Sizes (m, n, k): columns and k that no group, word, vector or tile divides, and round ones; then a batch, one with shared
/// weights, gaps between rows of C, and transposed A.
fn declarations() -> Vec<Gemm<i32>> {
    let sizes = [
        (1, 1, 1),
        (3, 5, 7),
        (17, 33, 65),
        (64, 64, 128),
        (129, 260, 48),
        (256, 512, 272),
        (37, 70, 300),
        (130, 257, 1000),
    ];
    let mut all: Vec<Gemm<i32>> = sizes.into_iter().map(|(m, n, k)| Gemm::new(m, n, k).packed_b()).collect();
    all.extend(all.clone().iter().map(|op| op.transposed_a()));
    let mut apart = Gemm::<i32>::new(65, 96, 50).batch(3).packed_b();
    apart.c = Layout { ld: 100, stride: 65 * 100 + 4, ..apart.c };
    let shared = Gemm { b: Layout { stride: 0, ..apart.b }, ..apart };
    let padded = Gemm { b: Layout { ld: 96, stride: 96 * 97, ..apart.b }, ..apart };
    all.extend([apart, shared, padded]);
    all
}

#[test]
fn packed_weights_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let gemm = CudaGemm::new(&gpu);
    let bytes = |len: usize, seed: u64| -> Vec<i8> { numbers(len, seed).iter().map(|x| (x * 128.0) as i8).collect() };
    let on_device = |data: &[i8]| Buf::from_slice(&gpu, "bytes", data).expect("memory");
    let (of, mut n_computed) = (Quantise { before: 1e-3, has_gelu: true, after: 3.0 }, 0);
    for (op, codes) in declarations().iter().flat_map(|op| Codes::ALL.map(|codes| (op, codes))) {
        // Words of random bits: every code occurs, in the padding too.
        let n_words = op.batch * op.n.max(97) * op.b.ld / codes.per_word() + 16;
        let words: Vec<u32> = numbers(2 * n_words, 2).chunks(2).map(|x| x[0].to_bits() << 9 ^ x[1].to_bits()).collect();
        let (a, old) = (bytes(op.batch * op.m * op.k, 1), bytes(op.batch * (op.m + 1) * (op.n + 8), 3));
        let sums: Vec<i32> = old.iter().map(|x| i32::from(*x)).collect();
        let (mut want, mut want_bytes, scaled) = (sums.clone(), old.clone(), op.scaled(3, -2));
        cpu::packed(&scaled, codes, (&a, &words), &mut want, Epilogue::None).expect("it fits");
        cpu::packed_quantised(op, codes, of, (&a, &words), &mut want_bytes).expect("it fits");
        let (a, words) = (on_device(&a), Buf::from_slice(&gpu, "words", &words).expect("memory"));
        for options in BACKENDS.map(Options::only).into_iter().chain([Options::default()]) {
            let mut c = Buf::from_slice(&gpu, "sums", &sums).expect("memory");
            let pass = &mut Pass::default();
            match gemm.run_packed(pass, &scaled, codes, (&a, &words), &mut c, Epilogue::None, options) {
                Ok(_) => n_computed += 1,
                Err(CudaGemmError::Unable { .. } | CudaGemmError::Library(_)) if options.is_required => continue,
                Err(why) => panic!("{op:?}, {codes:?}: {why}"),
            }
            assert!(c.read().expect("sums") == want, "{op:?}, {codes:?}, {:?}", options.backend);
            let mut c = on_device(&old);
            let by = gemm.run_packed_quantised(pass, op, codes, of, (&a, &words), &mut c, options);
            assert!(by.is_ok(), "{op:?}, {codes:?}: {by:?}");
            assert!(c.read().expect("bytes") == want_bytes, "{op:?}, {codes:?}, {:?} as bytes", options.backend);
        }
    }
    // Without tensor cores, one kernel and the default.
    assert!(n_computed >= 2 * 3 * declarations().len(), "{n_computed}");
}

#[test]
fn every_implementation_for_packed_weights_has_the_same_bits() {
    let Some(gpu) = gpu() else { return };
    let (m, n, k) = (300, 520, 208);
    let a: Vec<i8> = numbers(m * k, 1).iter().map(|x| (x * 128.0) as i8).collect();
    let a_on_device = Buf::from_slice(&gpu, "A", &a).expect("memory");
    for codes in Codes::ALL {
        let op = Gemm::new(m, n, k).packed_b();
        let words: Vec<u32> = numbers(n * codes.words_per_row(k), 2).iter().map(|x| x.to_bits() << 9).collect();
        let b = Buf::from_slice(&gpu, "B", &words).expect("memory");
        let mut want = vec![0; m * n];
        cpu::packed(&op, codes, (&a, &words), &mut want, Epilogue::None).expect("it fits");
        let tuned = CudaGemm::new(&gpu);
        let chosen = tuned.tune_packed(&op, codes, Options::default()).expect("it is timed");
        let name = tuned.choices().first().map(|(name, _)| name.clone()).expect("a choice");
        assert!(format!("{chosen}").starts_with("packed_"), "{chosen}");
        let all = [Implementation::PackedLarge, Implementation::PackedSmall, Implementation::PackedDp4a];
        for by in all.map(|by| by.to_string()) {
            let gemm = CudaGemm::new(&gpu);
            gemm.set_choices([(name.as_str(), by.as_str())]);
            let mut c = Buf::zeros(&gpu, "C", m * n).expect("memory");
            let pass = &mut Pass::default();
            gemm.run_packed(pass, &op, codes, (&a_on_device, &b), &mut c, Epilogue::None, Options::default())
                .expect("it is computed");
            assert!(c.read().expect("sums") == want, "{codes:?} by {by}");
        }
        let library = Options::only(Backend::CublasLt);
        let mut c = Buf::zeros(&gpu, "C", m * n).expect("memory");
        let refused =
            tuned.run_packed(&mut Pass::default(), &op, codes, (&a_on_device, &b), &mut c, Epilogue::None, library);
        assert!(refused.is_err(), "the library decodes no codes");
    }
}
