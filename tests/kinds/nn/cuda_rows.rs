//! Norms, softmax, activations, dropout and operations on buffers on a GPU, against their definitions in f64.

use super::cuda_every_operation::{Case, Number, Placed, by_format, wide};
use neuropil::{
    gpu::{Arena, Buf, Pass, Slice},
    nn::{
        activation::{self, Activation, cuda::CudaActivation},
        dropout::{
            self, Dropout,
            cuda::{CudaDropout, DropoutStep},
        },
        elementwise::{self, LogBins, cuda::CudaElementwise},
        norm::{self, Norm, NormKind, cuda::CudaNorm},
        softmax::{self, Bias, Mask, Softmax, cuda::CudaSoftmax},
    },
};

const WIDTHS: [usize; 14] = [1, 5, 8, 31, 32, 33, 64, 96, 384, 513, 768, 1000, 1024, 4099];

fn pass() -> Pass {
    Pass::default()
}

pub fn compare_norm<T: Number>(case: &mut Case) {
    let (rows, columns) = (case.whole(1, 90), case.one_of(&WIDTHS));
    let (kind, eps) = (case.one_of(&[NormKind::Layer, NormKind::Rms]), case.one_of(&[1e-5, 1e-3]));
    let (has_bias, has_residual) = (case.whole(0, 1) == 1, case.whole(0, 1) == 1);
    let op = Norm { rows, columns, eps, kind };
    case.text += &format!(": {op:?}, bias {has_bias}, residual {has_residual}");
    let n = rows * columns;
    let [x, residual, dy, before] = std::array::from_fn(|_| case.numbers::<T>(n));
    let [g, b] = std::array::from_fn(|_| case.numbers::<T>(columns));
    let ops = case.loaded(CudaNorm::new);
    let (dev_x, dev_residual) = (case.upload::<T>(&x), case.upload::<T>(&residual));
    let [dev_g, dev_b] = [&g, &b].map(|x| case.upload::<T>(x));
    let (mut y, mut sum) = (case.upload::<T>(&vec![0.0; n]), case.upload::<T>(&vec![0.0; n]));
    let mut stats = case.copy(&vec![0.0_f32; 2 * rows]);
    let bias_view = dev_b.view();
    let bias = has_bias.then_some(&*bias_view);
    let x = if has_residual {
        let both = (&*dev_x.view(), &*dev_residual.view());
        ops.add_forward(
            &mut pass(),
            &op,
            both,
            &dev_g.view(),
            bias,
            &mut sum.view_mut(),
            &mut y.view_mut(),
            &mut stats,
        )
        .expect("it runs");
        let want: Vec<f32> = x.iter().zip(&residual).map(|(x, r)| T::round(x + r).widen()).collect();
        case.agrees("sum", &sum.values().expect("a copy"), &wide(&want), 0.0);
        want
    } else {
        ops.forward(&mut pass(), &op, &dev_x.view(), &dev_g.view(), bias, &mut y.view_mut(), &mut stats)
            .expect("it runs");
        x
    };
    let (x64, g64, b64) = (wide(&x), wide(&g), wide(&b));
    let (mut want, mut want_stats) = (vec![0.0; n], vec![0.0; 2 * rows]);
    norm::forward(&op, &x64, &g64, has_bias.then_some(&b64[..]), &mut want, &mut want_stats).expect("it fits");
    case.agrees("y", &y.values().expect("a copy"), &want, by_format::<T>(1e-6, 1e-3, 8e-3));
    let stats_read = stats.read().expect("a copy");
    case.agrees("statistics", &stats_read, &want_stats, 1e-6);

    let used = if has_residual { &sum } else { &dev_x };
    let (dev_dy, mut dx) = (case.upload::<T>(&dy), case.upload::<T>(&before));
    let [start_g, start_b] = std::array::from_fn(|_| case.numbers::<f32>(columns));
    let (mut dg, mut db) = (case.copy(&start_g), case.copy(&start_b));
    let mut arena = Arena::new(&case.gpu, "test", Arena::bytes_of(&CudaNorm::temporaries(&op))).expect("memory");
    let dbias = has_bias.then_some(&mut *db);
    let frame = arena.frame();
    ops.backward(
        &mut pass(),
        &op,
        &dev_dy.view(),
        &used.view(),
        &dev_g.view(),
        &stats,
        &mut dx.view_mut(),
        &mut dg,
        dbias,
        &frame,
    )
    .expect("it runs");
    let (mut want_dx, mut want_g, mut want_b) = (wide(&before), wide(&start_g), wide(&start_b));
    let want_bias = has_bias.then_some(&mut want_b[..]);
    norm::backward(&op, &wide(&dy), &x64, &g64, &want_stats, &mut want_dx, &mut want_g, want_bias).expect("it fits");
    case.agrees("dx", &dx.values().expect("a copy"), &want_dx, by_format::<T>(5e-6, 1e-3, 8e-3));
    case.agrees("dweight", &dg.read().expect("a copy"), &want_g, 5e-6);
    case.agrees("dbias", &db.read().expect("a copy"), &want_b, 5e-6);
}

pub fn compare_softmax<T: Number>(case: &mut Case) {
    let (batch, heads, q_len) = (case.whole(1, 3), case.whole(1, 3), case.whole(1, 20));
    let (k_len, causal) = (case.one_of(&WIDTHS), case.whole(0, 1) == 1);
    let scale = case.one_of(&[1.0, 0.125, 3.0]);
    let op = Softmax { batch, heads, q_len, k_len, scale, causal };
    let (has_lens, has_bias) = (case.whole(0, 1) == 1, case.whole(0, 1) == 1);
    case.text += &format!(": {op:?}, lengths {has_lens}, bias {has_bias}");
    let n = op.n_rows() * k_len;
    let (x, dy) = (case.numbers::<T>(n), case.numbers::<T>(n));
    let q_lens: Vec<i32> = (0..batch).map(|_| case.whole(0, q_len) as i32).collect();
    let k_lens: Vec<i32> = (0..batch).map(|_| case.whole(0, k_len + 1) as i32).collect();
    let strides = case.one_of(&[[0, q_len * k_len, k_len, 1], [0, 0, 0, 1], [0, 1, 0, 0]]);
    let mut bias = case.numbers::<f32>(heads * q_len * k_len);
    bias.iter_mut().step_by(7).for_each(|b| *b = f32::NEG_INFINITY);

    let ops = case.loaded(CudaSoftmax::new);
    let (dev_q, dev_k, dev_bias) = (case.copy(&q_lens), case.copy(&k_lens), case.copy(&bias));
    let mask = Mask {
        q_lens: has_lens.then_some(&*dev_q),
        k_lens: has_lens.then_some(&*dev_k),
        bias: has_bias.then_some(Bias { values: &*dev_bias, strides }),
    };
    let (dev_x, mut y) = (case.upload::<T>(&x), case.upload::<T>(&vec![0.0; n]));
    let mut lse = case.copy(&vec![0.0_f32; op.n_rows()]);
    ops.forward(&mut pass(), &op, &dev_x.view(), mask, &mut y.view_mut(), &mut lse).expect("it runs");

    let bias64 = wide(&bias);
    let mask = Mask {
        q_lens: has_lens.then_some(&q_lens[..]),
        k_lens: has_lens.then_some(&k_lens[..]),
        bias: has_bias.then_some(Bias { values: &bias64[..], strides }),
    };
    let (mut want, mut want_lse) = (vec![0.0; n], vec![0.0; op.n_rows()]);
    softmax::forward(&op, &wide(&x), mask, &mut want, &mut want_lse).expect("it fits");
    case.agrees("y", &y.values().expect("a copy"), &want, by_format::<T>(1e-6, 1e-3, 8e-3));
    let lse: Vec<f32> = lse.read().expect("a copy").iter().map(|x| if x.is_infinite() { 1e3 } else { *x }).collect();
    let want_lse: Vec<f64> = want_lse.iter().map(|x| if x.is_infinite() { 1e3 } else { *x }).collect();
    case.agrees("lse", &lse, &want_lse, 1e-6);

    let rounded: Vec<f32> = want.iter().map(|x| T::round(*x as f32).widen()).collect();
    let (dev_y, dev_dy, mut dx) = (case.upload::<T>(&rounded), case.upload::<T>(&dy), case.upload::<T>(&vec![1.0; n]));
    ops.backward(&mut pass(), &op, &dev_y.view(), &dev_dy.view(), &mut dx.view_mut()).expect("it runs");
    let mut want_dx = vec![0.0; n];
    softmax::backward(&op, &wide(&rounded), &wide(&dy), &mut want_dx).expect("it fits");
    case.agrees("dx", &dx.values().expect("a copy"), &want_dx, by_format::<T>(5e-6, 2e-3, 8e-3));
}

pub fn compare_activation<T: Number>(case: &mut Case) {
    let act = case.one_of(&Activation::ALL);
    let (rows, columns) = (case.whole(1, 40), case.whole(1, 300));
    case.text += &format!(": {act:?}, {rows} × {columns}");
    let n = rows * columns;
    let spread = case.one_of(&[1.0, 6.0, 40.0]);
    let x: Vec<f32> = case.numbers::<T>(n * act.inputs()).iter().map(|x| T::round(x * spread).widen()).collect();
    let dy = case.numbers::<T>(n);
    let ops = case.loaded(CudaActivation::new);
    let (dev_x, dev_dy) = (case.upload::<T>(&x), case.upload::<T>(&dy));
    let (mut y, mut dx) = (case.upload::<T>(&vec![0.0; n]), case.upload::<T>(&vec![0.0; x.len()]));
    ops.forward(&mut pass(), act, rows, columns, &dev_x.view(), &mut y.view_mut()).expect("it runs");
    ops.backward(&mut pass(), act, rows, columns, &dev_x.view(), &dev_dy.view(), &mut dx.view_mut()).expect("it runs");
    let (mut want, mut want_dx) = (vec![0.0; n], vec![0.0; x.len()]);
    activation::forward(act, rows, columns, &wide(&x), &mut want).expect("it fits");
    activation::backward(act, rows, columns, &wide(&x), &wide(&dy), &mut want_dx).expect("it fits");
    case.agrees("y", &y.values().expect("a copy"), &want, by_format::<T>(1e-6, 6e-4, 5e-3));
    case.agrees("dx", &dx.values().expect("a copy"), &want_dx, by_format::<T>(1e-6, 6e-4, 5e-3));
}

/// The mask is the same bits.
pub fn compare_dropout<T: Number>(case: &mut Case) {
    let op = Dropout {
        p: case.one_of(&[0.0, 0.1, 0.5, 1.0]),
        seed: case.whole(0, 1 << 40) as u64,
        layer_site: case.whole(0, 65_535) as u32,
        offset: case.one_of(&[0, 4, 1003, 1 << 36]),
    };
    let (n, step) = (case.whole(0, 5000), case.whole(0, 1 << 34) as u64);
    case.text += &format!(": {op:?}, {n} elements, step {step}");
    let mut x = case.numbers::<T>(n);
    let mut dev_x = case.upload::<T>(&x);
    let ops = case.loaded(CudaDropout::new);
    let dev_step = Buf::from_slice(&case.gpu, "test", &[DropoutStep::new(&op, step)]).expect("memory");
    ops.forward(&mut pass(), op.layer_site, &dev_step, &mut dev_x.view_mut()).expect("it runs");
    let (from, residual) = (case.upload::<T>(&x), case.numbers::<T>(n));
    let (dev_residual, mut dev_y) = (case.upload::<T>(&residual), case.upload::<T>(&residual));
    dropout::forward(&op, step, &mut x);
    let want: Vec<f32> = x.iter().map(|x| T::round(*x).widen()).collect();
    case.agrees("x", &dev_x.values().expect("a copy"), &wide(&want), 0.0);
    let add = |residual: Option<&Slice<T>>, y: &mut Placed<T>| {
        ops.add(&mut pass(), op.layer_site, &dev_step, (&from.view(), residual), &mut y.view_mut()).expect("it runs");
    };
    add(None, &mut dev_y);
    case.agrees("dropped copy", &dev_y.values().expect("a copy"), &wide(&want), 0.0);
    add(Some(&*dev_residual.view()), &mut dev_y);
    let want: Vec<f32> = want.iter().zip(&residual).map(|(x, y)| T::round(x + y).widen()).collect();
    case.agrees("residual + dropped", &dev_y.values().expect("a copy"), &wide(&want), 0.0);
}

pub fn compare_elementwise<T: Number>(case: &mut Case) {
    let (rows, columns) = (case.whole(1, 300), case.whole(1, 300));
    let n = rows * columns;
    case.text += &format!(": {rows} × {columns}");
    let (x, y) = (case.numbers::<T>(n), case.numbers::<T>(n));
    let ops = case.loaded(CudaElementwise::new);
    let (mut dev_x, dev_y) = (case.upload::<T>(&x), case.upload::<T>(&y));
    ops.add(&mut pass(), &mut dev_x.view_mut(), &dev_y.view()).expect("it runs");
    let want: Vec<f32> = x.iter().zip(&y).map(|(x, y)| T::round(x + y).widen()).collect();
    case.agrees("x + y", &dev_x.values().expect("a copy"), &wide(&want), 0.0);
    let factor = case.copy(&[0.3_f32]);
    ops.scale(&mut pass(), &mut dev_x.view_mut(), &factor).expect("it runs");
    let want: Vec<f32> = want.iter().map(|x| T::round(x * 0.3).widen()).collect();
    case.agrees("0.3 x", &dev_x.values().expect("a copy"), &wide(&want), 0.0);

    // f32 to T and back.
    let plain = case.numbers::<f32>(n);
    let (from, mut back) = (case.upload::<f32>(&plain), case.upload::<f32>(&plain));
    ops.round(&mut pass(), &from.view(), &mut dev_x.view_mut()).expect("it runs");
    ops.widen(&mut pass(), &dev_x.view(), &mut back.view_mut()).expect("it runs");
    let rounded: Vec<f32> = plain.iter().map(|x| T::round(*x).widen()).collect();
    case.agrees("rounded", &back.values().expect("a copy"), &wide(&rounded), 0.0);

    let start = case.numbers::<f32>(columns);
    let mut dbias = case.copy(&start);
    let sizes = [
        CudaElementwise::temporaries_of_bias_gradient(rows, columns),
        CudaElementwise::temporaries_of_sum_of_squares(n),
    ];
    let mut arena = Arena::new(&case.gpu, "test", Arena::bytes_of(sizes.as_flattened())).expect("memory");
    let frame = arena.frame();
    ops.bias_gradient(&mut pass(), rows, columns, &dev_y.view(), &mut dbias, &frame).expect("it runs");
    let mut want = wide(&start);
    elementwise::bias_gradient(rows, columns, &wide(&y), &mut want).expect("it fits");
    case.agrees("dbias", &dbias.read().expect("a copy"), &want, 2e-6);
    let mut squares = case.copy(&[0.0_f32]);
    ops.sum_of_squares(&mut pass(), &dev_y.view(), &mut squares, &frame).expect("it runs");
    case.agrees("squares", &squares.read().expect("a copy"), &[elementwise::sum_of_squares(&wide(&y))], 1e-6);

    let bins = LogBins { lowest: -12, octaves: 12 };
    let (mut counts, mut want) = (case.copy(&vec![0_u32; bins.n_counts()]), vec![0; bins.n_counts()]);
    ops.histogram(&mut pass(), bins, &dev_y.view(), &mut counts).expect("it runs");
    elementwise::histogram(bins, &y, &mut want).expect("it fits");
    assert_eq!(counts.read().expect("a copy"), want, "{}", case.text);

    let at = case.whole(0, n - 1);
    for value in [1.0, f32::NAN, f32::NEG_INFINITY] {
        let mut z = y.clone();
        z[at] = value;
        let (dev_z, mut flag) = (case.upload::<T>(&z), case.copy(&[0_u32]));
        ops.find_non_finite(&mut pass(), &dev_z.view(), &mut flag).expect("it runs");
        assert_eq!(flag.read().expect("a copy")[0], u32::from(!value.is_finite()), "{value} at {at}: {}", case.text);
    }
    ops.fill(&mut pass(), &mut dev_x.view_mut(), -2.5).expect("it runs");
    case.agrees("filled", &dev_x.values().expect("a copy"), &vec![-2.5; n], 0.0);
}
