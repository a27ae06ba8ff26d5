//! Compares gradients with finite differences in f64. The derivative of release is truncated: states before a step are
//! treated as constants. With [`Mode::Scan`] and [`Mode::TsodyksMarkram`], the gradient is therefore that of a network
//! whose states remain those of the unchanged weights: see `linearised`.

use super::{Mode, batch, dynamics, tiny, tokens, trainer};
use crate::{
    gpu::Pass,
    gpu::StopFlag,
    kinds::{
        language::backend::Batch,
        synaptic::{
            cpu::{Network, Trainer, activations::Activations, network::Extent},
            experts,
            model::{Config, Role},
            presynaptic::{self, KeyState},
        },
    },
    nn::parameters::ViewId,
};

/// Computes the loss including the auxiliary losses.
fn loss(network: &Network<f64>, batch: &Batch<'_>, acts: &mut Activations<f64>) -> f64 {
    let extent = Extent { sequences: batch.sequences, seq_len: batch.seq_len };
    network.forward(batch.tokens, extent, None, acts, &mut Pass::default()).expect("it fits");
    network.losses(batch.targets, acts, &StopFlag::default()).expect("it fits");
    let n = batch.n_tokens();
    let aux: f64 = acts.blocks.iter().map(|block| experts::aux_loss(&block.routing)).sum();
    acts.head.losses[..n].iter().sum::<f64>() / n as f64 + f64::from(network.dynamics.aux_weight) * aux
}

fn gradient(trainer: &mut Trainer<f64>, batch: &Batch<'_>) -> f64 {
    let loss = trainer.gradients(std::slice::from_ref(batch), 0, &mut Pass::default()).expect("it fits");
    let loss = loss.expect("not stopped");
    let aux: f64 = loss.experts.iter().map(|step| step.aux).sum();
    loss.mean + f64::from(trainer.network.dynamics.aux_weight) * aux
}

/// Returns the elements of each parameter that are checked.
fn checked(trainer: &Trainer<f64>) -> Vec<(String, usize)> {
    let layout = &trainer.network.layout;
    let views = (0..layout.map.views().len()).map(ViewId).filter(|view| layout.role(*view) != Role::Genome);
    let of_view = |view: ViewId| {
        let view = layout.map.view(view);
        let places = (0..2).map(|i| (i * 7919 + 3) % view.len());
        places.map(|i| (format!("{}[{i}]", view.name), view.start + i)).collect::<Vec<_>>()
    };
    views.flat_map(of_view).collect()
}

fn check(config: &Config, mode: Mode) {
    let mut trainer = trainer::<f64>(config, &dynamics(config, mode));
    let (tokens, targets) = tokens(config, 2, config.context, 8);
    let batch = batch(2, &tokens, &targets);
    let (mut acts, at) = (Activations::default(), gradient(&mut trainer, &batch));
    assert!((at - loss(&trainer.network, &batch, &mut acts)).abs() < 1e-12);
    let gradient = trainer.state.gradient.clone();
    for (name, i) in checked(&trainer) {
        let mut at = |h: f64| {
            let before = trainer.network.weights[i];
            trainer.network.weights[i] = before + h;
            let loss = loss(&trainer.network, &batch, &mut acts);
            trainer.network.weights[i] = before;
            loss
        };
        let want = (at(1e-5) - at(-1e-5)) / 2e-5;
        let error = (gradient[i] - want).abs();
        assert!(error < 1e-7 + 1e-5 * want.abs(), "{mode:?} {name}: {} {want}", gradient[i]);
    }
}

#[test]
fn without_release_gradients_are_finite_differences() {
    check(&tiny(), Mode::Off);
}

#[test]
fn with_a_temperature_gradients_are_finite_differences() {
    check(&Config { temperature: true, ..tiny() }, Mode::Off);
}

#[test]
fn with_static_release_gradients_are_finite_differences() {
    check(&tiny(), Mode::Static);
}

/// A sequence of one token has no state before its only step.
#[test]
fn with_states_gradients_are_finite_differences_where_no_state_matters() {
    for mode in [Mode::Scan, Mode::TsodyksMarkram] {
        check(&Config { context: 1, ..tiny() }, mode);
    }
}

/// The factor of each edge is the derivative of its bias with the states before the step held constant.
#[test]
fn factors_are_derivatives_with_constant_states() {
    let config = tiny();
    for mode in [Mode::Static, Mode::Scan, Mode::TsodyksMarkram] {
        let trainer = trainer::<f64>(&config, &dynamics(&config, mode));
        let (tokens, _) = tokens(&config, 1, config.context, 8);
        let (network, n) = (&trainer.network, config.context);
        let acts = network.activations(&tokens).expect("it fits");
        let (head, op) = (3, network.presynaptic(None));
        let site = crate::kinds::synaptic::backend::Site::Drive { layer: 1, head };
        let dots = network.inspect(&tokens, site).expect("it fits");
        let mut state = KeyState::fresh(&op, n);
        for t in 0..n {
            let (row, len) = (&dots[t * n..t * n + t + 1], t + 1);
            let bias = |row: &[f64]| {
                let (mut state, mut logits) = (state.clone(), vec![0.0; len]);
                presynaptic::forward(&op, t, 1, row, &mut logits, None, &mut state, None);
                (logits.iter().zip(row).map(|(l, d)| l - d).collect::<Vec<_>>(), state)
            };
            let factor = &acts.blocks[1].factor[(head * n + t) * n..][..len];
            for j in 0..len {
                let moved = |h: f64| {
                    let mut row = row.to_vec();
                    row[j] += h;
                    bias(&row).0[j]
                };
                let want = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((factor[j] - want).abs() < 1e-7 * (1.0 + want.abs()), "{mode:?} {t} {j}: {} {want}", factor[j]);
            }
            state = bias(row).1;
        }
    }
}

/// Checks the whole gradient with states against the loss of a network in which the bias of each edge is linearised: the
/// value of the bias plus the factor times the change of the dot product. The truncated derivative is the derivative of
/// this loss.
#[test]
fn with_states_the_gradient_is_that_of_the_linearised_bias() {
    let config = tiny();
    for mode in [Mode::Scan, Mode::TsodyksMarkram] {
        let mut trainer = trainer::<f64>(&config, &dynamics(&config, mode));
        let (tokens, targets) = tokens(&config, 2, config.context, 8);
        let batch = batch(2, &tokens, &targets);
        gradient(&mut trainer, &batch);
        let gradient = trainer.state.gradient.clone();
        let mut acts = Activations::default();
        loss(&trainer.network, &batch, &mut acts);
        let base = linearised::Base::of(&trainer.network, &acts, 2, config.context);
        for (name, i) in checked(&trainer) {
            let mut at = |h: f64| {
                let before = trainer.network.weights[i];
                trainer.network.weights[i] = before + h;
                let loss = linearised::loss(&trainer.network, &base, &batch);
                trainer.network.weights[i] = before;
                loss
            };
            let want = (at(1e-5) - at(-1e-5)) / 2e-5;
            let error = (gradient[i] - want).abs();
            assert!(error < 1e-7 + 1e-5 * want.abs(), "{mode:?} {name}: {} {want}", gradient[i]);
        }
    }
}

/// Second forward pass in plain loops, with the linearised bias.
mod linearised {
    use super::{Activations, Batch, Network, StopFlag, experts};
    use crate::kinds::synaptic::{cpu::network::HEAD_EPS, experts::Routing};

    /// Dot products, logits and factors of every block, sequence and head, `[T, T]` each.
    pub struct Base {
        dots: Vec<Vec<f64>>,
        logits: Vec<Vec<f64>>,
        factors: Vec<Vec<f64>>,
    }

    impl Base {
        pub fn of(network: &Network<f64>, acts: &Activations<f64>, sequences: usize, t: usize) -> Self {
            let c = &network.config;
            let mut all = Self { dots: vec![], logits: vec![], factors: vec![] };
            for block in 0..c.layers {
                for b in 0..sequences {
                    for head in 0..c.heads {
                        let i = b * c.heads + head;
                        let a = &acts.blocks[block];
                        let dots = dots(network, (block, b, head), (&a.q, &a.k), t);
                        let op = network.presynaptic(None);
                        let mut logits = vec![0.0; t * t];
                        let mut state = super::KeyState::fresh(&op, t);
                        super::presynaptic::forward(&op, 0, t, &dots, &mut logits, None, &mut state, None);
                        all.dots.push(dots);
                        all.logits.push(logits);
                        all.factors.push(a.factor[i * t * t..(i + 1) * t * t].to_vec());
                    }
                }
            }
            all
        }
    }

    fn dots(
        network: &Network<f64>,
        (block, b, head): (usize, usize, usize),
        (q, k): (&[f64], &[f64]),
        t: usize,
    ) -> Vec<f64> {
        let c = &network.config;
        let d = c.head_dim();
        let scale = network.head_scale(block, head);
        let mut dots = vec![0.0; t * t];
        for query in 0..t {
            for key in 0..t {
                let q = &q[((b * t + query) * c.heads + head) * d..][..d];
                let k = &k[((b * t + key) * c.kv_heads + head / c.group()) * d..][..d];
                dots[query * t + key] = scale * q.iter().zip(k).map(|(q, k)| q * k).sum::<f64>();
            }
        }
        dots
    }

    fn heads(network: &Network<f64>, x: &[f64], weight: crate::nn::parameters::ViewId, t: usize) -> Vec<f64> {
        let outputs = network.layout.map.view(weight).shape[0];
        let mut y = vec![0.0; x.len() / network.config.width * outputs];
        network.linear(weight, x, &mut y, None).expect("it fits");
        network.rotate((t, 0), outputs / network.config.head_dim(), &mut y, false).expect("it fits");
        for head in y.chunks_exact_mut(network.config.head_dim()) {
            let mean = head.iter().map(|x| x * x).sum::<f64>() / head.len() as f64;
            head.iter_mut().for_each(|x| *x /= (mean + HEAD_EPS).sqrt());
        }
        y
    }

    pub fn loss(network: &Network<f64>, base: &Base, batch: &Batch<'_>) -> f64 {
        let (c, n, t) = (&network.config, batch.n_tokens(), batch.seq_len);
        let (width, d) = (c.width, c.head_dim());
        let mut x = vec![0.0; n * width];
        network.embed(batch.tokens, &mut x).expect("it fits");
        let (mut norm, mut stats, mut aux) = (vec![0.0; n * width], vec![0.0; 2 * n], 0.0);
        for (b, block) in network.layout.blocks.iter().enumerate() {
            network.norm(block.ln_1, &x, &mut norm, &mut stats).expect("it fits");
            let (q, k) = (heads(network, &norm, block.q, t), heads(network, &norm, block.k, t));
            let mut v = vec![0.0; n * c.kv_width()];
            network.linear(block.v, &norm, &mut v, None).expect("it fits");
            let mut y = vec![0.0; n * width];
            for sequence in 0..batch.sequences {
                for head in 0..c.heads {
                    let i = (b * batch.sequences + sequence) * c.heads + head;
                    let dots = dots(network, (b, sequence, head), (&q, &k), t);
                    for query in 0..t {
                        let logits: Vec<f64> = (0..=query)
                            .map(|key| {
                                let e = query * t + key;
                                base.logits[i][e] + (1.0 + base.factors[i][e]) * (dots[e] - base.dots[i][e])
                            })
                            .collect();
                        let sum: f64 = logits.iter().map(|l| l.exp()).sum();
                        for (key, logit) in logits.iter().enumerate() {
                            let v = &v[((sequence * t + key) * c.kv_heads + head / c.group()) * d..][..d];
                            let y = &mut y[((sequence * t + query) * c.heads + head) * d..][..d];
                            y.iter_mut().zip(v).for_each(|(y, v)| *y += logit.exp() / sum * v);
                        }
                    }
                }
            }
            let mut mid = vec![0.0; n * width];
            network.linear(block.o, &y, &mut mid, Some(&x)).expect("it fits");
            network.norm(block.ln_2, &mid, &mut norm, &mut stats).expect("it fits");
            let mut routing = Routing::default();
            let (router, state) = (&network.dynamics.router, &network.routers[b]);
            experts::forward(router, &norm, network.router_weights(b), state, &mut routing).expect("it fits");
            aux += experts::aux_loss(&routing);
            x.copy_from_slice(&mid);
            let (weights, mut work) = (network.expert_weights(b), Default::default());
            network
                .mixture()
                .forward(&norm, &routing, weights, &mut work, &mut x, &StopFlag::default())
                .expect("it fits");
        }
        network.norm(network.layout.ln_f, &x, &mut norm, &mut stats).expect("it fits");
        let padded = c.padded_vocab();
        let mut logits = vec![0.0; n * padded];
        network.logits(&norm, &mut logits).expect("it fits");
        let of = |(row, target): (&[f64], &i32)| {
            row[..c.vocab].iter().map(|l| l.exp()).sum::<f64>().ln() - row[*target as usize]
        };
        let mean = logits.chunks_exact(padded).zip(batch.targets).map(of).sum::<f64>() / n as f64;
        mean + f64::from(network.dynamics.aux_weight) * aux
    }
}
