//! Whole generations of small models: batches, losses of all members, shaping, updates.

use super::golden_files::{near, same};
use neuropil::{
    kinds::evolution::{
        choices::{Form, Generator, Shaping},
        cpu::{LayerValues, Member, Members, Noise, Observation, loss, mean_nats},
        model::{Sizes, Vector, Weights},
        network::{Attention, Network, Scales},
        noise::{Perturbation, mix, pair_seed, starts},
        schedule::Schedule,
        strategy::{MeanSquare, Step, accumulate, as_f32, fixed, shape},
    },
    nn::delta_rule::{Method, cpu::StateFormat},
};
use neuropil_test_support::golden::{self, Golden};

/// Tolerance of a mean loss, nats.
const NATS: f64 = 2e-6;

struct Case<'a> {
    golden: &'a Golden,
    sizes: Sizes,
    scales: Scales,
    sequences: usize,
    pairs: u64,
    generations: u64,
    seed: u64,
}

/// Batch and step of a generation.
struct Generation<'a> {
    number: u64,
    tokens: Vec<u16>,
    targets: Vec<u16>,
    shift: u32,
    case: &'a Case<'a>,
}

pub fn check(golden: &Golden) {
    let case = Case::of(golden);
    let mut weights = Weights::initial(&case.sizes);
    for (matrix, values) in case.sizes.matrices().iter().zip(&weights.matrices) {
        same(golden, &format!("init_{}", matrix.name()), values.iter().map(|w| i64::from(*w)));
    }
    let positions = &weights.vectors[Vector::Positions as usize];
    near(golden, "init_pos", positions.iter().map(|p| f64::from(*p)), 1e-7);
    let mut shadows: Vec<Vec<f32>> =
        weights.matrices.iter().map(|m| m.iter().map(|w| f32::from(*w)).collect()).collect();
    let mut squares = vec![MeanSquare::default(); shadows.len() + Vector::ALL.len()];
    for number in 0..case.generations {
        let generation = Generation::of(&case, number);
        if number == 0 {
            generation.check_traces(&weights);
        }
        generation.check_losses(&weights);
        generation.check_update(&mut weights, &mut shadows, &mut squares);
    }
    for (matrix, shadow) in case.sizes.matrices().iter().zip(&shadows) {
        let name = format!("g{}_shadow_{}", case.generations - 1, matrix.name());
        near(golden, &name, shadow.iter().map(|s| f64::from(*s)), 1e-5);
    }
}

impl<'a> Case<'a> {
    fn of(golden: &'a Golden) -> Self {
        let number = |key: &str| golden.one(&format!("cfg_{key}"));
        let count = |key: &str| number(key) as usize;
        let sizes = Sizes {
            vocabulary: count("V"),
            width: count("H"),
            layers: count("L"),
            mlp_multiple: count("mlp_mult"),
            steps: count("T"),
        };
        let scales = Scales {
            activation: number("act_scale") as f32,
            mlp_activation: number("mlp_act_scale") as f32,
            norm: number("ln_scale") as f32,
            residual: number("residual_scale") as f32,
            mlp_residual: number("mlp_residual_scale") as f32,
            is_live: false,
        };
        assert_eq!((count("clt_k"), number("adaptive_beta"), number("adaptive_eps")), (4, 0.95, 1e-3));
        let (pairs, generations) = (count("pop") as u64 / 2, count("gens") as u64);
        Self { golden, sizes, scales, sequences: count("B"), pairs, generations, seed: number("seed") as u64 }
    }

    fn network(&self, state: Option<StateFormat>) -> Network {
        Network { sizes: self.sizes, scales: self.scales, attention: Attention { method: Method::Efla, state } }
    }
}

impl<'a> Generation<'a> {
    /// Reads the batch, and compares it and the schedules with those of the definition.
    fn of(case: &'a Case<'a>, number: u64) -> Self {
        let (golden, g) = (case.golden, format!("g{number}_"));
        let words = |name: &str| golden.whole(&format!("{g}{name}")).iter().map(|t| *t as u16).collect::<Vec<u16>>();
        let (tokens, targets) = (words("tokens"), words("targets"));
        let text = golden::all("evolution", "rng")[0].whole("sample_text");
        let drawn = starts(mix(golden.one("data_seed") as u64, number), case.sequences, case.sizes.steps, text.len());
        same(golden, &format!("{g}starts"), drawn.iter().map(|start| *start as i64));
        let of_text = |shift: usize| {
            drawn
                .iter()
                .flat_map(|start| text[start + shift..][..case.sizes.steps].to_vec())
                .map(|t| t as u16)
                .collect::<Vec<u16>>()
        };
        assert_eq!((of_text(0), of_text(1)), (tokens.clone(), targets.clone()));
        let course = |name: &str| {
            let ends = golden.get(name);
            Schedule { form: Form::Exponential, first: ends[0], last: ends[1] }
        };
        golden.get("sched_kind"); // exponential, all three
        let n = case.generations;
        near(golden, &format!("{g}lr"), [course("sched_lr").at(number, n)], 1e-7);
        let threshold = course("sched_th").at(number, n) * (case.pairs as f64).sqrt();
        near(golden, &format!("{g}thresh"), [threshold], 1e-12);
        let shift = course("sched_sig").whole_at(number, n);
        same(golden, &format!("{g}sigma_shift"), [i64::from(shift)]);
        Self { number, tokens, targets, shift, case }
    }

    fn name(&self, what: &str) -> String {
        format!("g{}_{what}", self.number)
    }

    fn perturbation(&self, pair: u64) -> Perturbation {
        Perturbation::draw(&self.case.sizes, Generator::SumOfFour, pair_seed(self.case.seed, self.number, pair))
    }

    /// Returns the mean loss of a member; without a perturbation, of the model.
    fn loss(&self, network: &Network, weights: &Weights, noise: Option<(&Perturbation, i8)>) -> f64 {
        let list = [noise.map_or(Member::UNPERTURBED, |(noise, sign)| Member { noise: Noise::FullRank(noise), sign })];
        let members = Members { weights, shift: self.shift, list: &list };
        mean_nats(&network.losses(members, &self.tokens, &self.targets))
    }

    /// Compares all values of the first member at the recorded steps.
    fn check_traces(&self, weights: &Weights) {
        let (golden, perturbation) = (self.case.golden, self.perturbation(0));
        for (matrix, elements) in self.case.sizes.matrices().iter().zip(&perturbation.matrices) {
            same(golden, &format!("g0_E_p0_{}", matrix.name()), elements.iter().map(|e| i64::from(*e)));
        }
        let list = [Member { noise: Noise::FullRank(&perturbation), sign: 1 }];
        let members = Members { weights, shift: self.shift, list: &list };
        self.case.network(None).logits(members, &self.tokens, &mut |values| match values {
            Observation::Layer(values) => self.check_layer(&values),
            Observation::Head { x, y, logits } => {
                let layer = self.case.sizes.layers;
                self.trace_i8(layer, "x", x);
                self.trace_i8(layer, "y", y);
                self.trace_f32(layer, "logits", logits);
                let losses =
                    logits.chunks_exact(self.case.sizes.vocabulary).zip(&self.targets).map(|(z, t)| loss(z, *t));
                let mean = mean_nats(&losses.collect::<Vec<_>>());
                assert!((mean - golden.get("g0_loss_pm_f64")[0]).abs() < NATS);
            }
        });
    }

    fn check_layer(&self, values: &LayerValues<'_>) {
        let layer = values.layer;
        self.trace_i8(layer, "x", values.x);
        self.trace_i8(layer, "y", values.y);
        self.trace_f32(layer, "q", values.query);
        self.trace_f32(layer, "k", values.key);
        self.trace_f32(layer, "v", values.value);
        self.trace_f32(layer, "o", values.output);
        self.trace_f32(layer, "alpha", &values.steps.iter().map(|s| s.alpha).collect::<Vec<_>>());
        self.trace_f32(layer, "lam", &values.steps.iter().map(|s| s.lambda).collect::<Vec<_>>());
        self.trace_f32(layer, "beta", &values.steps.iter().map(|s| s.beta).collect::<Vec<_>>());
        self.trace_i8(layer, "y2", values.y_mlp);
        self.trace_i8(layer, "h", values.hidden);
        self.trace_f32(layer, "f", values.mlp_output);
    }

    fn trace_i8(&self, layer: usize, what: &str, values: &[i8]) {
        self.trace(
            layer,
            what,
            |name, rows| same(self.case.golden, name, rows.flat_map(|r| r.iter().map(|x| i64::from(*x)))),
            values,
        );
    }

    fn trace_f32(&self, layer: usize, what: &str, values: &[f32]) {
        let tolerance = 2e-5;
        self.trace(
            layer,
            what,
            |name, rows| near(self.case.golden, name, rows.flat_map(|r| r.iter().map(|x| f64::from(*x))), tolerance),
            values,
        );
    }

    /// Calls `compare` for each recorded step, with the rows of all sequences at this step.
    fn trace<T>(
        &self,
        layer: usize,
        what: &str,
        compare: impl Fn(&str, Box<dyn Iterator<Item = &[T]> + '_>),
        values: &[T],
    ) {
        let Case { sequences, sizes, golden, .. } = *self.case;
        let width = values.len() / (sequences * sizes.steps);
        for t in 0..sizes.steps {
            let name = format!("trace_t{t}_l{layer}_{what}");
            if golden.has(&name) {
                let row = move |b: usize| &values[(b * sizes.steps + t) * width..][..width];
                compare(&name, Box::new((0..sequences).map(row)));
            }
        }
    }

    /// Compares the losses of all members: chunk form, and recurrences with both formats of the state.
    fn check_losses(&self, weights: &Weights) {
        let golden = self.case.golden;
        let [chunk, full, half] =
            [None, Some(StateFormat::Full), Some(StateFormat::F16)].map(|state| self.case.network(state));
        let mut worst = [0.0_f64; 4];
        let names = ["loss_pm_f64", "loss_pm_f32_state32", "loss_pm_f32"].map(|name| golden.get(&self.name(name)));
        for pair in 0..self.case.pairs {
            let perturbation = self.perturbation(pair);
            for (member, sign) in [1, -1].into_iter().enumerate() {
                let at = 2 * pair as usize + member;
                let [chunk, full, half] =
                    [&chunk, &full, &half].map(|network| self.loss(network, weights, Some((&perturbation, sign))));
                let off = [chunk - names[0][at], full - names[0][at], full - names[1][at], half - names[2][at]];
                worst.iter_mut().zip(off).for_each(|(worst, off)| *worst = worst.max(off.abs()));
            }
        }
        // With a 16-bit state, roundings flip: a property of the model.
        let tolerances = [NATS, NATS, NATS, 0.025];
        for ((worst, tolerance), what) in worst.iter().zip(tolerances).zip(["chunk", "f64", "f32", "f16 state"]) {
            assert!(*worst <= tolerance, "{} generation {}, {what}: {worst:.1e}", golden.name, self.number);
        }
        let before = self.loss(&chunk, weights, None);
        let want = golden.one(&self.name("loss_before"));
        assert!((before - want).abs() <= 0.025, "{} generation {}: {before} {want} before", golden.name, self.number);
    }

    /// Updates from the stored weights of the pairs.
    fn check_update(&self, weights: &mut Weights, shadows: &mut [Vec<f32>], squares: &mut [MeanSquare]) {
        let (golden, sizes) = (self.case.golden, &self.case.sizes);
        let losses = golden.get(&self.name("loss_pm_f64")).to_vec();
        let fitness: Vec<f64> = losses.chunks_exact(2).map(|pm| -(pm[0] - pm[1])).collect();
        near(golden, &self.name("raw_fitness"), fitness.iter().copied(), 1e-12);
        let stored = golden.get(&self.name("raw_fitness"));
        near(golden, &self.name("shaped"), shape(stored, Shaping::CentredRank, golden.one("cfg_fitness_clip")), 1e-9);
        let pairs: Vec<(Perturbation, i64)> = golden
            .get(&self.name("shaped"))
            .iter()
            .enumerate()
            .map(|(pair, weight)| (self.perturbation(pair as u64), fixed(*weight)))
            .collect();
        let step = Step {
            rate: golden.one(&self.name("lr")) as f32,
            threshold: golden.one(&self.name("thresh")) as f32,
            shadow_limit: f32::INFINITY,
            ..Step::default()
        };
        for (at, matrix) in sizes.matrices().iter().enumerate() {
            let mut z = vec![0; matrix.rows * matrix.columns];
            pairs.iter().for_each(|(p, weight)| accumulate(&mut z, &p.matrices[at], *weight));
            let name = self.name(&format!("Z_{}", matrix.name()));
            assert!(
                z.iter().zip(golden.get(&name)).all(|(z, want)| (f64::from(as_f32(*z)) - want).abs() < 1e-4),
                "{name}"
            );
            let root = squares[at].update(&z);
            near(golden, &self.name(&format!("rms_{}", matrix.name())), squares[at].0.map(f64::from), 1e-5);
            step.update_matrix(&z, root, [&mut [], &mut []], &mut shadows[at], &mut weights.matrices[at]);
            same(
                golden,
                &self.name(&format!("W_{}", matrix.name())),
                weights.matrices[at].iter().map(|w| i64::from(*w)),
            );
        }
        let trains_positions = golden.one("cfg_train_pos") != 0.0;
        for (at, vector) in Vector::ALL.into_iter().enumerate() {
            let mut z = vec![0; sizes.len(vector)];
            pairs.iter().for_each(|(p, weight)| accumulate(&mut z, &p.vectors[at], *weight));
            let root = squares[shadows.len() + at].update(&z);
            if vector != Vector::Positions || trains_positions {
                step.update_vector(&z, root, [&mut [], &mut []], &mut weights.vectors[at]);
            }
            // The program behind the data guards the root of the mean square of vectors by `sqrt(m) + 1e-3`, that of matrices
            // by `sqrt(m + 1e-3)`; here both have the second form.
            let name = self.name(vector.name());
            near(golden, &name, weights.vectors[at].iter().map(|v| f64::from(*v)), 5e-4);
            weights.vectors[at] = golden.get(&name).iter().map(|v| *v as f32).collect();
        }
        let network = self.case.network(None);
        let after = self.loss(&network, weights, None);
        assert!((after - golden.one(&self.name("loss_after"))).abs() <= 0.025);
        golden.get("cfg_state_fp16"); // both formats are compared
    }
}
