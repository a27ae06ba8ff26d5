use super::*;
use crate::nn::{
    attention::{AttentionDropout, BiasLayout, Lengths},
    dropout::{self, Dropout},
};

/// Returns values in (-1, 1) from a linear congruential generator.
fn numbers(len: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 23) - 1.0
    };
    (0..len).map(|_| next()).collect()
}

/// Packed projections with the inputs and outputs of a call.
struct Case {
    op: Attention,
    qkv: Vec<f64>,
    lengths: Option<Vec<i32>>,
    bias: Option<Vec<f64>>,
}

struct Result {
    o: Vec<f64>,
    lse: Vec<f64>,
    dqkv: Vec<f64>,
    dbias: Vec<f64>,
}

impl Case {
    fn new(op: Attention, lengths: Option<Vec<i32>>) -> Self {
        let qkv = numbers(op.batch * op.q.batch, 1);
        let bias = op.bias.map(|_| numbers(op.batch * op.heads * op.q_len * op.k_len, 2));
        Self { op, qkv, lengths, bias }
    }

    fn inputs(&self) -> HostInputs<'_, f64> {
        let lengths = self.lengths.as_deref();
        HostInputs { bias: self.bias.as_deref(), ..Inputs::packed(&self.qkv[..]).lengths(lengths, lengths) }
    }

    fn forward(&self) -> (Vec<f64>, Vec<f64>) {
        let mut o = vec![f64::NAN; self.op.batch * self.op.o.batch];
        let mut lse = vec![f64::NAN; self.op.lse_len()];
        forward(&self.op, &self.inputs(), &mut o, &mut lse).expect("it fits");
        (o, lse)
    }

    /// Runs both passes with `d_o` as the gradient of the result.
    fn run(&self, d_o: &[f64]) -> Result {
        let (o, lse) = self.forward();
        let mut dqkv = vec![f64::NAN; self.qkv.len()];
        let mut dbias = vec![0.0; self.bias.as_ref().map_or(0, Vec::len)];
        let with_bias = self.bias.as_ref().map(|_| &mut dbias[..]);
        let gradients = Gradients::Packed(&mut dqkv[..]);
        backward(&self.op, &self.inputs(), (&o, &lse), d_o, gradients, with_bias).expect("it fits");
        Result { o, lse, dqkv, dbias }
    }
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let op = Attention::packed_qkv(2, 7, 4, 2, 3);
    let cases = [
        Case::new(op, None),
        Case::new(op.causal().window(3), None),
        Case::new(op.window(2).lengths(Lengths::Padded), Some(vec![7, 4])),
        Case::new(op.causal().bias(BiasLayout::dense(4, 7, 7)), None),
        Case::new(op.bias(BiasLayout { head: 49, query: 7, key: 1, batch: 0 }), None),
        Case::new(dropping(op, 7, 0), None),
        Case::new(dropping(op.causal().window(5).lengths(Lengths::Padded), 7, 0), Some(vec![7, 4])),
        Case::new(dropping(op.causal().bias(BiasLayout::dense(4, 7, 7)), 7, 0), None),
    ];
    for mut case in cases {
        let weights = numbers(case.op.batch * case.op.o.batch, 5);
        let dead: Vec<bool> = case.forward().0.iter().map(|x| *x == 0.0).collect();
        let Result { dqkv, dbias, .. } = case.run(&weights);
        let loss = |case: &Case| -> f64 {
            let o = case.forward().0;
            o.iter().zip(&weights).zip(&dead).filter(|(_, dead)| !**dead).map(|((o, w), _)| o * w).sum()
        };
        let check = |case: &mut Case, of: fn(&mut Case) -> &mut Vec<f64>, gradient: &[f64]| {
            for i in (0..gradient.len()).step_by(5) {
                let (x, h) = (of(case)[i], 1e-5);
                let mut at = |x: f64| {
                    of(case)[i] = x;
                    loss(case)
                };
                let want = (at(x + h) - at(x - h)) / (2.0 * h);
                at(x);
                assert!((want - gradient[i]).abs() < 1e-9, "{:?}, {i}: {want} and {}", case.op, gradient[i]);
            }
        };
        check(&mut case, |case| &mut case.qkv, &dqkv);
        if case.bias.is_some() {
            check(&mut case, |case| case.bias.as_mut().expect("a bias"), &dbias);
        }
    }
}

#[test]
fn what_is_beyond_a_length_is_not_read_and_gradients_there_are_0() {
    let op = Attention::packed_qkv(3, 70, 2, 1, 4).causal().lengths(Lengths::Padded);
    let lengths = vec![70, 65, 0];
    let (mut case, width) = (Case::new(op, Some(lengths.clone())), op.q.token);
    let mut d_o = numbers(3 * op.o.batch, 3);
    let clean = case.run(&d_o);
    for (b, len) in lengths.iter().enumerate() {
        case.qkv[b * op.q.batch..][..op.q.batch][*len as usize * width..].fill(f64::NAN);
        d_o[b * op.o.batch..][..op.o.batch][*len as usize * op.o.token..].fill(f64::NAN);
    }
    let dirty = case.run(&d_o);
    assert_eq!((&clean.o, &clean.lse, &clean.dqkv), (&dirty.o, &dirty.lse, &dirty.dqkv));
    assert!(
        clean.o[op.o.batch + 65 * op.o.token..].iter().chain(&clean.dqkv[op.q.batch + 65 * width..]).all(|x| *x == 0.0)
    );
    assert!(clean.lse[op.lse_len() / 3 * 2..].iter().all(|x| *x == f64::NEG_INFINITY));
}

#[test]
fn packed_sequences_equal_padded_ones() {
    let op = Attention::packed_qkv(3, 70, 2, 2, 4).causal().lengths(Lengths::Padded);
    let lengths = [70, 3, 66];
    let padded = Case::new(op, Some(lengths.to_vec()));
    let starts = vec![0, 70, 73, 139];
    let rows = |x: &[f64], width: usize| -> Vec<f64> {
        let sequence = |b: usize| x[b * 70 * width..][..lengths[b] as usize * width].to_vec();
        (0..3).flat_map(sequence).collect()
    };
    let packed =
        Case { op: op.lengths(Lengths::Packed), qkv: rows(&padded.qkv, op.q.token), lengths: Some(starts), bias: None };
    let d_o = numbers(3 * op.o.batch, 3);
    let want = padded.run(&d_o);
    let (mut o, mut lse) = (vec![f64::NAN; 139 * op.o.token], vec![f64::NAN; op.lse_len()]);
    let inputs = Inputs::packed(&packed.qkv[..]).lengths(packed.lengths.as_deref(), None);
    forward(&packed.op, &inputs, &mut o, &mut lse).expect("it fits");
    assert_eq!((&o, &lse), (&rows(&want.o, op.o.token), &want.lse));
    let (mut dqkv, d_o) = (vec![f64::NAN; packed.qkv.len()], rows(&d_o, op.o.token));
    backward(&packed.op, &inputs, (&o, &lse), &d_o, Gradients::Packed(&mut dqkv), None).expect("it fits");
    assert_eq!(dqkv, rows(&want.dqkv, op.q.token));
    let short = forward(&packed.op, &inputs, &mut o[1..], &mut lse).expect_err("one row is missing");
    assert_eq!(short, AttentionError::Length { what: "o", needed: 139 * 8, given: 139 * 8 - 1 });
}

#[test]
fn later_tokens_change_no_earlier_result() {
    let op = Attention::packed_qkv(1, 300, 1, 1, 4).causal();
    let mut case = Case::new(op, None);
    let before = case.forward();
    case.qkv[280 * op.q.token..].fill(3.0);
    let after = case.forward();
    assert_eq!((&before.0[..280 * 4], &before.1[..280]), (&after.0[..280 * 4], &after.1[..280]));
    assert_ne!(before.0[280 * 4..], after.0[280 * 4..]);
}

#[test]
fn decoding_from_a_cache_is_the_whole_computation() {
    let (len, heads, kv, dim) = (70, 4, 2, 8);
    let op = Attention::packed_qkv(1, len, heads, kv, dim).causal();
    let case = Case::new(op, None);
    let (want, _) = case.forward();
    let width = op.q.token;
    let part = |first: usize| -> Vec<f64> {
        let row = |t: usize| case.qkv[t * width + first..][..kv * dim].to_vec();
        (0..len).flat_map(row).chain(vec![f64::NAN; 30 * kv * dim]).collect()
    };
    let (k, v) = (part(heads * dim), part((heads + kv) * dim));
    let cached = Attention::cached(1, 1, 100, heads, kv, dim);
    for t in [0, 1, 30, 69] {
        let (mut o, mut lse) = (vec![0.0; heads * dim], vec![0.0; heads]);
        let valid = [t as i32 + 1];
        let inputs = Inputs::new(&case.qkv[t * width..][..width], &k[..], &v[..]).lengths(None, Some(&valid[..]));
        forward(&cached, &inputs, &mut o, &mut lse).expect("it fits");
        for (got, want) in o.iter().zip(&want[t * heads * dim..]) {
            assert!((got - want).abs() < 1e-14, "{t}: {got} {want}");
        }
    }
}

#[test]
fn a_map_has_rows_that_sum_to_1_over_visible_keys() {
    let op = Attention::packed_qkv(2, 5, 2, 1, 4).causal().window(3).lengths(Lengths::Padded);
    let case = Case::new(op, Some(vec![5, 2]));
    let (_, lse) = case.forward();
    let mut p = vec![f64::NAN; 25];
    for (b, len) in [(0, 5), (1, 2)] {
        map(&op, &case.inputs(), (b, 1), &lse, &mut p).expect("it fits");
        for (i, row) in p.chunks(5).enumerate() {
            let sum: f64 = row.iter().sum();
            assert!((sum - if i < len { 1.0 } else { 0.0 }).abs() < 1e-14, "{i}: {row:?}");
            assert!(
                row.iter().enumerate().all(|(j, p)| (*p > 0.0) == (i < len && j <= i && j + 3 > i)),
                "{i}: {row:?}"
            );
        }
    }
    let bad = map(&op, &case.inputs(), (2, 0), &lse, &mut p);
    assert_eq!(bad, Err(AttentionError::Index { what: "sequence", index: 2, count: 2 }));
}

#[test]
fn declarations_that_do_not_fit_are_refused() {
    let op = Attention::packed_qkv(2, 5, 4, 2, 8);
    let case = Case::new(op, None);
    let (mut o, mut lse) = (vec![0.0; 2 * op.o.batch], vec![0.0; op.lse_len()]);
    let mut run = |op: Attention, inputs: &HostInputs<'_, f64>| forward(&op, inputs, &mut o, &mut lse);
    let inputs = case.inputs();
    assert_eq!(run(op, &inputs), Ok(()));
    assert!(matches!(run(Attention { kv_heads: 3, ..op }, &inputs), Err(AttentionError::Heads { .. })));
    assert!(matches!(run(op.window(0), &inputs), Err(AttentionError::Empty { what: "window" })));
    assert!(matches!(run(op, &Inputs::packed(&case.qkv[1..])), Err(AttentionError::Length { what: "v", .. })));
    assert!(matches!(run(op, &inputs.lengths(Some(&[5, 5]), None)), Err(AttentionError::Unused { .. })));
    let padded = op.lengths(Lengths::Padded);
    assert!(matches!(run(padded, &inputs.lengths(Some(&[5]), None)), Err(AttentionError::Length { .. })));
    assert!(matches!(run(padded, &inputs.lengths(None, Some(&[5, 6]))), Err(AttentionError::Value { index: 1, .. })));
    let packed = op.lengths(Lengths::Packed);
    assert!(matches!(run(packed, &inputs), Err(AttentionError::Missing { what: "q_lengths" })));
    assert!(matches!(
        run(packed, &inputs.lengths(Some(&[0, 5, 4]), None)),
        Err(AttentionError::Value { index: 2, .. })
    ));
    assert!(matches!(run(op.bias(BiasLayout::default()), &inputs), Err(AttentionError::Missing { what: "bias" })));
}

/// Adds dropout of a third of the probabilities.
fn dropping(op: Attention, keys: usize, first_token: u64) -> Attention {
    let drop = Dropout { p: 1.0 / 3.0, seed: 0x9abc_def0_1234_5678, layer_site: 5, offset: 0 };
    Attention { dropout: Some(AttentionDropout { drop, step: 11, first_token, keys }), ..op }
}

#[test]
fn dropped_probabilities_are_those_of_their_address() {
    let (len, heads, dim) = (300, 4, 3);
    let op = dropping(Attention::packed_qkv(2, len, heads, 2, dim).causal(), 310, 40);
    let case = Case::new(op, None);
    let (o, lse) = case.forward();
    let plain = Case::new(Attention { dropout: None, ..op }, None);
    let (whole, plain_lse) = plain.forward();
    assert_eq!(lse, plain_lse, "statistics are those before dropout");
    assert!(o.iter().zip(&whole).filter(|(a, b)| a != b).count() > o.len() / 2);
    let (mut p, mut n_dropped) = (vec![0.0; len * len], 0);
    for (b, h) in [(0, 0), (0, 3), (1, 2)] {
        map(&op, &case.inputs(), (b, h), &lse, &mut p).expect("it fits");
        for i in [0, 1, 63, 64, 255, 256, 299] {
            let mut mask = vec![1.0; len];
            let row = ((40 + b * len + i) * heads + h) * 312;
            let dropout = Dropout { offset: row as u64, ..op.dropout.expect("dropout").drop };
            dropout::forward(&dropout, 11, &mut mask);
            n_dropped += mask[..=i].iter().filter(|m| **m == 0.0).count();
            for d in 0..dim {
                let value = |j: usize| case.qkv[(b * len + j) * op.q.token + (heads + 2 + h / 2) * dim + d];
                let want: f64 = (0..=i).map(|j| mask[j] * p[i * len + j] * value(j)).sum();
                let got = o[(b * len + i) * op.o.token + h * dim + d];
                assert!((got - want).abs() < 1e-13, "{b} {h} {i}: {got} {want}");
            }
        }
    }
    assert!((700..1150).contains(&n_dropped), "{n_dropped} of about 2,820 are a third");
}

#[test]
fn parts_of_a_batch_and_packed_sequences_drop_the_same() {
    let (len, heads) = (70, 2);
    let op = dropping(Attention::packed_qkv(2, len, heads, 2, 4).causal(), 128, 0);
    let case = Case::new(op, None);
    let d_o = numbers(2 * op.o.batch, 3);
    let want = case.run(&d_o);
    let second = Case {
        op: dropping(Attention::packed_qkv(1, len, heads, 2, 4).causal(), 128, len as u64),
        qkv: case.qkv[op.q.batch..].to_vec(),
        lengths: None,
        bias: None,
    };
    let part = second.run(&d_o[op.o.batch..]);
    assert_eq!((&part.o[..], &part.dqkv[..]), (&want.o[op.o.batch..], &want.dqkv[op.q.batch..]));
    let starts = [0, len as i32, 2 * len as i32];
    let inputs = Inputs::packed(&case.qkv[..]).lengths(Some(&starts[..]), None);
    let (mut o, mut lse) = (vec![0.0; want.o.len()], vec![0.0; want.lse.len()]);
    forward(&op.lengths(Lengths::Packed), &inputs, &mut o, &mut lse).expect("it fits");
    assert_eq!(o, want.o);
    let short = forward(&dropping(op, 69, 0), &case.inputs(), &mut o, &mut lse).expect_err("a row is longer");
    assert!(matches!(short, AttentionError::Length { needed: 70, given: 69, .. }), "{short}");
}
