use super::*;
use crate::nn::activation::Activation;
use crate::nn::gemm::{Layout, Order};
use crate::num::elements::{Bf16, Element as _, F16};

/// Returns `len` values in [-1, 1) from a linear congruential generator.
pub(super) fn numbers(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

/// Computes the reference by the definition, one element at a time, with sums over blocks of `K_BLOCK`.
fn plain<E: Element>(
    g: &Gemm<E::Sum>,
    a: &[E],
    b: &[E],
    c: &mut [E::Sum],
    epilogue: Epilogue<&[E::Sum], &mut [E::Sum]>,
) {
    let at = |layout: &Layout, z: usize, i: usize, j: usize| {
        let (down, across) = layout.steps();
        z / g.batch * layout.outer + z % g.batch * layout.stride + i * down + j * across
    };
    let Parts { bias, other, mut aux, f, is_gradient } = epilogue.parts();
    for (z, i, j) in (0..g.outer * g.batch * g.m * g.n).map(|x| (x / (g.m * g.n), x / g.n % g.m, x % g.n)) {
        let mut total = E::Sum::ZERO;
        for block in (0..g.k).step_by(K_BLOCK) {
            let product = |k: usize| (a[at(&g.a, z, i, k)].widen(), b[at(&g.b, z, k, j)].widen());
            let ks = block..g.k.min(block + K_BLOCK);
            let sum = ks.map(product).fold(E::Sum::ZERO, |sum, (a, b)| E::Sum::fma(a, b, sum));
            total = if block == 0 { sum } else { total.plus(sum) };
        }
        let place = &mut c[at(&g.c, z, i, j)];
        let x = g.alpha.times(total);
        let x = if g.beta == E::Sum::ZERO { x } else { E::Sum::fma(g.beta, *place, x) };
        let place_at = at(&g.c, z, i, j);
        let mut x = [bias.map_or(x, |bias| x.plus(bias[j]))];
        if let Some(aux) = &mut aux {
            aux[place_at] = x[0];
        }
        match (f, other) {
            (Some(f), Some(z)) if is_gradient => E::Sum::times_gradient(f, &z[place_at..=place_at], &mut x),
            (Some(f), _) => E::Sum::activate(f, &mut x),
            (None, Some(residual)) => x[0] = x[0].plus(residual[place_at]),
            (None, None) => {}
        }
        *place = x[0];
    }
}

/// Ragged sizes (m, n, k) around the edges of microkernels and blocks.
const SIZES: [(usize, usize, usize); 13] = [
    (1, 1, 1),
    (1, 33, 7),
    (3, 5, 7),
    (14, 32, 256),
    (15, 31, 257),
    (17, 33, 65),
    (37, 70, 129),
    (64, 128, 64),
    (113, 65, 300),
    (5, 1100, 40),
    (30, 1100, 9),
    (29, 40, 260),
    (2, 3, 600),
];

/// Returns products with every combination of storage orders, and with gaps between rows and between matrices.
fn layouts((m, n, k): (usize, usize, usize)) -> Vec<Gemm<f32>> {
    let layout = |order: Order, rows: usize, columns: usize| {
        let (ld, lines) = if order == Order::RowMajor { (columns + 3, rows) } else { (rows + 3, columns) };
        Layout { order, ld, stride: ld * lines + 5, outer: 2 * (ld * lines + 5) + 3 }
    };
    let order = |bit: u32| if bit == 0 { Order::RowMajor } else { Order::ColMajor };
    let with = |bits: u32| Gemm {
        batch: 2,
        outer: 1 + bits as usize % 2,
        a: layout(order(bits & 1), m, k),
        b: layout(order(bits & 2), k, n),
        c: layout(order(bits & 4), m, n),
        ..Gemm::new(m, n, k)
    };
    (0..8).map(with).collect()
}

pub(super) fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn every_instruction_set_returns_the_bits_of_the_definition() {
    for size in SIZES {
        for mut g in layouts(size) {
            if size.0 * size.1 * size.2 > 200_000 && g.a.order != g.b.order {
                continue; // unoptimised tests are slow, and the large sizes test blocks, not orders
            }
            let len = |l: &Layout| 2 * l.outer;
            let (a, b, c) = (numbers(len(&g.a), 1), numbers(len(&g.b), 2), numbers(len(&g.c), 3));
            let (bias, residual) = (numbers(g.n, 4), numbers(len(&g.c), 5));
            let which = size.1 % 4;
            (g.alpha, g.beta) = [(1.0, 0.0), (0.7, 1.0), (1.0, -0.3), (-2.0, 0.5)][which];
            for variant in 0..2 {
                let run = |isa: Option<Isa>| {
                    let (mut c, mut aux) = (c.clone(), c.clone());
                    let bias = &bias[..];
                    let epilogue = match which + 4 * variant {
                        0 => Epilogue::None,
                        1 => Epilogue::Bias(bias),
                        2 => Epilogue::bias_gelu(bias),
                        3 => Epilogue::Residual(&residual[..]),
                        4 => Epilogue::Activation { f: Activation::Relu, bias: None, aux: Some(&mut aux[..]) },
                        5 => Epilogue::Gradient { f: Activation::GeluErf, aux: &residual[..] },
                        6 => Epilogue::BiasResidual(bias, &residual[..]),
                        _ => Epilogue::Activation {
                            f: Activation::ReluSquared,
                            bias: Some(bias),
                            aux: Some(&mut aux[..]),
                        },
                    };
                    match isa {
                        None => plain(&g, &a, &b, &mut c, epilogue),
                        Some(isa) => gemm_with(isa, &g, &a, &b, &mut c, epilogue).expect("it fits"),
                    }
                    (bits(&c), bits(&aux))
                };
                let want = run(None);
                for isa in Isa::available() {
                    assert_eq!(run(Some(isa)), want, "{isa:?}, {g:?}");
                }
            }
        }
    }
}

/// Returns sizes m, n and k around every edge for an instruction set: the tile, the rows that count as few, the block of k.
fn edges(isa: Isa) -> [Vec<usize>; 3] {
    let micro = f32::micro(isa);
    let beside = |edges: &[usize]| -> Vec<usize> {
        let mut sizes: Vec<usize> = edges.iter().flat_map(|edge| [edge.saturating_sub(1), *edge, edge + 1]).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    let rows = [0, 1, micro.mr(), FEW_PANELS * micro.mr()];
    [beside(&rows), beside(&[0, micro.nr, 2 * micro.nr]), beside(&[0, 8, 16, K_BLOCK])]
}

#[test]
fn products_of_every_size_beside_an_edge_are_those_of_the_definition() {
    for isa in Isa::available() {
        let [rows, columns, depths] = edges(isa);
        let sizes = rows.iter().flat_map(|m| columns.iter().map(move |n| (*m, *n)));
        for (i, (m, n)) in sizes.enumerate() {
            // Each size is tested with depth 0 and one other depth, so that the test stays quick.
            for k in [0, depths[i % depths.len()]] {
                let g = Gemm::<f32>::new(m, n, k);
                let g = [g, g.transposed_b(), g.transposed_a()][i % 3];
                let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
                let bytes = |len: usize, by: usize| -> Vec<i8> { (0..len).map(|x| (x * by) as u8 as i8).collect() };
                let (a8, b8) = (bytes(m * k, 77), bytes(k * n, 131));
                let (mut want, mut got) = (vec![1.0; m * n], vec![1.0; m * n]);
                plain(&g, &a, &b, &mut want, Epilogue::None);
                gemm_with(isa, &g, &a, &b, &mut got, Epilogue::None).expect("it fits");
                assert_eq!(bits(&got), bits(&want), "{isa:?}, {g:?}");
                let g = g.with_scales(1, 0);
                let (mut want, mut got) = (vec![1; m * n], vec![1; m * n]);
                plain(&g, &a8, &b8, &mut want, Epilogue::None);
                gemm_with(isa, &g, &a8, &b8, &mut got, Epilogue::None).expect("it fits");
                assert_eq!(got, want, "{isa:?}, {g:?}");
            }
        }
    }
}

#[test]
fn empty_sums_are_0_then_take_beta_and_epilogue() {
    for isa in Isa::available() {
        let (m, n, batch) = (3, 2 * MAX_COLUMNS + 3, 2);
        // The operands have gaps between matrices: the second matrix begins beyond the end of both buffers.
        let g =
            Gemm { a: Layout::rows(4).stride(40), b: Layout::rows(n).stride(50), ..Gemm::new(m, n, 0).batch(batch) };
        for g in [g, g.scaled(0.5, 2.0)] {
            let (bias, old) = (numbers(n, 1), numbers(batch * m * n, 2));
            let (mut got, mut want) = (old.clone(), old.clone());
            gemm_with(isa, &g, &[0.0_f32; 0], &[], &mut got, Epilogue::Bias(&bias[..])).expect("it fits");
            plain(&g, &[0.0_f32; 0], &[], &mut want, Epilogue::Bias(&bias[..]));
            assert_eq!(bits(&got), bits(&want), "{isa:?}, {g:?}");
        }
    }
}

#[test]
fn every_number_of_threads_returns_the_same_bits() {
    let g = Gemm::new(150, 90, 270).transposed_b().batch(3);
    let (a, b) = (numbers(3 * 150 * 270, 1), numbers(3 * 90 * 270, 2));
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let mut c = vec![f32::NAN; 3 * 150 * 90];
        pool.install(|| gemm(&g, &a, &b, &mut c, Epilogue::None)).expect("it fits");
        bits(&c)
    };
    let one = with(1);
    assert!([2, 3, 8].into_iter().all(|threads| with(threads) == one));
}

#[test]
fn elements_of_16_bits_are_widened() {
    fn check<E: Element<Sum = f32>>(from: impl Fn(f32) -> E) {
        for (m, n, k) in [(31, 35, 43), (3, 40, 300)] {
            for g in [Gemm::new(m, n, k), Gemm::new(m, n, k).transposed_b()] {
                let [a, b] =
                    [numbers(m * k, 1), numbers(k * n, 2)].map(|x| x.into_iter().map(&from).collect::<Vec<_>>());
                let mut want = vec![0.0; m * n];
                plain(&g, &a, &b, &mut want, Epilogue::None);
                for isa in Isa::available() {
                    let mut got = vec![0.0; m * n];
                    gemm_with(isa, &g, &a, &b, &mut got, Epilogue::None).expect("it fits");
                    assert_eq!(bits(&got), bits(&want), "{isa:?}, {g:?}");
                }
            }
        }
    }
    check(Bf16::from_f32);
    check(F16::from_f32);
}

#[test]
fn transposes_agree() {
    let (m, n, k) = (19, 21, 23);
    let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
    let flip = |x: &[f32], rows: usize, columns: usize| -> Vec<f32> {
        (0..rows * columns).map(|i| x[i % rows * columns + i / rows]).collect()
    };
    let (at, bt) = (flip(&a, m, k), flip(&b, k, n));
    let run = |g: Gemm, a: &[f32], b: &[f32]| {
        let mut c = vec![0.0; m * n];
        gemm(&g, a, b, &mut c, Epilogue::None).expect("it fits");
        bits(&c)
    };
    let g = Gemm::new(m, n, k);
    let want = run(g, &a, &b);
    assert_eq!(run(g.transposed_a(), &at, &b), want);
    assert_eq!(run(g.transposed_b(), &a, &bt), want);
    assert_eq!(run(g.transposed_a().transposed_b(), &at, &bt), want);
}

#[test]
fn f64_is_exact_on_small_integers_and_f32_is_near_it() {
    let (m, n, k) = (20, 30, 700);
    let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
    let wide = |x: &[f32]| -> Vec<f64> { x.iter().map(|x| f64::from(*x)).collect() };
    let (mut c, mut reference) = (vec![0.0_f32; m * n], vec![0.0_f64; m * n]);
    gemm(&Gemm::new(m, n, k), &a, &b, &mut c, Epilogue::None).expect("it fits");
    gemm(&Gemm::new(m, n, k), &wide(&a), &wide(&b), &mut reference, Epilogue::None).expect("it fits");
    let square = |x: f64| x * x;
    let error: f64 = c.iter().zip(&reference).map(|(c, r)| square(f64::from(*c) - r)).sum();
    let size: f64 = reference.iter().map(|r| square(*r)).sum();
    assert!((error / size).sqrt() < 1e-6, "{}", (error / size).sqrt());
    let whole: Vec<f64> = (0..m * k).map(|i| (i % 17) as f64 - 8.0).collect();
    let mut plainly = reference.clone();
    plain(&Gemm::new(m, n, k), &whole, &whole.repeat(2), &mut plainly, Epilogue::None);
    for isa in Isa::available() {
        gemm_with(isa, &Gemm::new(m, n, k), &whole, &whole.repeat(2), &mut reference, Epilogue::None).expect("it fits");
        assert_eq!(reference, plainly);
    }
}

#[test]
fn bytes_are_summed_exactly() {
    let bytes = |len: usize, by: usize| -> Vec<i8> { (0..len).map(|i| (i * by % 256) as u8 as i8).collect() };
    for (m, n, k) in [(15, 33, 301), (40, 17, 7), (1, 2, 1)] {
        let g = Gemm::<i32>::new(m, n, k).scaled(3, -2);
        for g in [g, g.transposed_b(), g.transposed_a()] {
            let (a, b) = (bytes(m * k, 77), bytes(k * n, 131));
            let c: Vec<i32> = (0..m * n).map(|i| i as i32).collect();
            let mut want = c.clone();
            plain(&g, &a, &b, &mut want, Epilogue::None);
            for isa in Isa::available() {
                let mut got = c.clone();
                gemm_with(isa, &g, &a, &b, &mut got, Epilogue::None).expect("it fits");
                assert_eq!(got, want, "{isa:?}, {g:?}");
            }
        }
    }
    let mut c = [0];
    let refused = gemm(&Gemm::new(1, 1, 1), &[1_i8], &[1], &mut c, Epilogue::bias_gelu(&[0]));
    assert_eq!(refused, Err(GemmError::IntegerActivation));
}

#[test]
fn with_beta_0_the_old_values_are_not_read() {
    let mut c = vec![f32::NAN; 4];
    gemm::<f32>(&Gemm::new(2, 2, 0), &[], &[], &mut c, Epilogue::Bias(&[1.0, 2.0])).expect("an empty sum is 0");
    assert_eq!(c, [1.0, 2.0, 1.0, 2.0]);
    gemm(&Gemm::new(2, 0, 3), &[0.0_f32; 6], &[], &mut [], Epilogue::None).expect("nothing to do");
    // The strides broadcast one matrix to the whole batch.
    let g = Gemm { b: Layout::rows(1), ..Gemm::new(1, 1, 1).batch(3) };
    gemm(&g, &[1.0_f32, 2.0, 3.0], &[10.0], &mut c[..3], Epilogue::None).expect("it fits");
    assert_eq!(c[..3], [10.0, 20.0, 30.0]);
}

/// Returns the bits of an m × n product, computed element by element from the operands `a` and `b`.
fn sums(m: usize, n: usize, k: usize, a: impl Fn(usize, usize) -> f32, b: impl Fn(usize, usize) -> f32) -> Vec<u32> {
    let sum = |i: usize, j: usize| (0..k).fold(0.0_f32, |sum, k| Sum::fma(a(i, k), b(k, j), sum));
    (0..m * n).map(|x| sum(x / n, x % n).to_bits()).collect()
}

#[test]
fn heads_of_attention_are_a_strided_batch() {
    let (tokens, heads, size) = (19, 3, 8);
    let (width, token) = (heads * size, 3 * heads * size);
    let head = Layout::rows(token).stride(size);
    let qkv = numbers(tokens * token, 1);
    let at = |part: usize, h: usize, t: usize, i: usize| qkv[t * token + part * width + h * size + i];
    let scores = Gemm {
        batch: heads,
        a: head,
        b: head.transposed(),
        c: Layout::rows(tokens).stride(tokens * tokens),
        ..Gemm::new(tokens, tokens, size)
    };
    let mut s = vec![0.0; heads * tokens * tokens];
    gemm(&scores, &qkv, &qkv[width..], &mut s, Epilogue::None).expect("it fits");
    // The sums of values are written to adjacent heads of a token's output.
    let values = Gemm {
        batch: heads,
        a: scores.c,
        b: head,
        c: Layout::rows(width).stride(size),
        ..Gemm::new(tokens, size, tokens)
    };
    let mut out = vec![f32::NAN; tokens * width];
    gemm(&values, &s, &qkv[2 * width..], &mut out, Epilogue::None).expect("heads do not overlap");
    // The gradient of the keys, with the scores in place of the scores' gradient, is written to the middle part of the gradient of
    // qkv.
    let keys = Gemm { a: scores.c.transposed(), b: head, c: head, ..values };
    let mut gradient = vec![7.0; tokens * token];
    gemm(&keys, &s, &qkv, &mut gradient[width..], Epilogue::None).expect("heads do not overlap");
    for h in 0..heads {
        let score = |i: usize, j: usize| s[(h * tokens + i) * tokens + j];
        let got = bits(&s[h * tokens * tokens..][..tokens * tokens]);
        assert_eq!(got, sums(tokens, tokens, size, |i, k| at(0, h, i, k), |k, j| at(1, h, j, k)));
        let part = |from: &[f32], width: usize, first: usize| -> Vec<u32> {
            (0..tokens * size).map(|x| from[x / size * width + first + h * size + x % size].to_bits()).collect()
        };
        assert_eq!(part(&out, width, 0), sums(tokens, size, tokens, score, |k, j| at(2, h, k, j)));
        assert_eq!(
            part(&gradient, token, width),
            sums(tokens, size, tokens, |i, k| score(k, i), |k, j| at(0, h, k, j))
        );
        assert_eq!(part(&gradient, token, 0), vec![7.0_f32.to_bits(); tokens * size], "queries are not written");
    }
    let overlapping = Gemm { c: Layout::rows(width).stride(size - 1), ..values };
    let why = gemm(&overlapping, &s, &qkv, &mut out, Epilogue::None).expect_err("heads overlap");
    assert!(matches!(why, GemmError::Overlap { .. }), "{why}");
}

#[test]
fn gradients_of_weights_accumulate() {
    let (tokens, outputs, inputs) = (40, 35, 33);
    let (dy, x) = (numbers(tokens * outputs, 1), numbers(tokens * inputs, 2));
    let once = Gemm::new(outputs, inputs, tokens).transposed_a();
    let (mut first, mut all) = (vec![0.0; outputs * inputs], numbers(outputs * inputs, 3));
    gemm(&once, &dy, &x, &mut first, Epilogue::None).expect("it fits");
    let want: Vec<f32> = all.iter().zip(&first).map(|(a, f)| a + f).collect();
    gemm(&once.scaled(1.0, 1.0), &dy, &x, &mut all, Epilogue::None).expect("it fits");
    assert_eq!(bits(&all), bits(&want));
    assert_eq!(bits(&first), sums(outputs, inputs, tokens, |i, k| dy[k * outputs + i], |k, j| x[k * inputs + j]));
}

#[test]
fn what_does_not_fit_is_refused() {
    let g = Gemm::<f32>::new(2, 3, 4);
    let run = |g: &Gemm, a: usize, c: usize, epilogue: Epilogue<&[f32], &mut [f32]>| {
        gemm(g, &vec![0.0_f32; a], &[0.0; 12], &mut vec![0.0; c], epilogue).expect_err("it does not fit").to_string()
    };
    assert_eq!(run(&g, 7, 6, Epilogue::None), "matrix A needs 8 elements, and its buffer has 7");
    assert!(run(&g, 8, 5, Epilogue::None).starts_with("matrix C needs 6"));
    let narrow = Gemm { a: Layout::rows(3), ..g };
    assert!(run(&narrow, 8, 6, Epilogue::None).contains("leading dimension 3, and at least 4"));
    assert!(run(&g, 8, 6, Epilogue::Bias(&[0.0; 2])).contains("the bias needs 3"));
    let overlapping = Gemm { batch: 2, c: Layout::rows(3).stride(5), ..g };
    assert!(run(&overlapping, 8, 11, Epilogue::None).contains("overlap"));
    let huge = Gemm { batch: usize::MAX, a: Layout::rows(4).stride(usize::MAX), ..g };
    assert!(run(&huge, 8, 6, Epilogue::None).starts_with("matrix A needs"));
}
