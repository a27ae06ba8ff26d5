use super::{router::RouterWeights, *};
use crate::{
    gpu::StopFlag,
    nn::{
        real::Real,
        testing::{derivative_error, numbers},
    },
};

mod derivatives;
mod properties;

/// Layer with random weights and state.
pub struct Layer<R> {
    pub router: Router,
    pub mixture: Mixture,
    pub state: RouterState,
    pub weights: [Vec<R>; 7],
    pub x: Vec<R>,
}

/// Names of [`Layer::weights`], followed by `input`.
pub const NAMES: [&str; 8] = ["router", "probe", "genome", "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias", "input"];

impl<R: Real + Default> Layer<R> {
    pub fn new(tokens: usize, (experts, top_k): (usize, usize), (width, hidden): (usize, usize)) -> Self {
        let mut state = RouterState::new(experts, numbers(experts * FEATURES, 90));
        state.fatigue = numbers::<f32>(experts, 91).into_iter().map(f32::abs).collect();
        state.energy = numbers::<f32>(experts, 92).into_iter().map(f32::abs).collect();
        let sizes = [
            experts * width,
            FEATURES * width,
            experts * GENES,
            experts * hidden * width,
            experts * hidden,
            experts * width * hidden,
            experts * width,
        ];
        let mut seed = 0;
        let weights = sizes.map(|len| {
            seed += 1;
            numbers(len, seed)
        });
        Self {
            router: Router { align: 0.5, ..Router::new(experts, top_k, width) },
            mixture: Mixture { experts, top_k, width, hidden },
            state,
            weights,
            x: numbers(tokens * width, 99),
        }
    }

    pub fn router_weights(&self) -> RouterWeights<'_, R> {
        let [router, probe, genome, ..] = &self.weights;
        RouterWeights { router, probe, genome }
    }

    pub fn expert_weights(&self) -> ExpertWeights<'_, R> {
        let [_, _, _, fc1_weight, fc1_bias, fc2_weight, fc2_bias] = &self.weights;
        ExpertWeights { fc1_weight, fc1_bias, fc2_weight, fc2_bias }
    }

    pub fn route(&self) -> Routing<R> {
        let mut routing = Routing::default();
        forward(&self.router, &self.x, self.router_weights(), &self.state, &mut routing).expect("it fits");
        routing
    }

    /// Computes the output of the mixture, without a residual.
    pub fn output(&self, routing: &Routing<R>) -> (Vec<R>, MixtureWork<R>) {
        let (mut out, mut work) = (vec![R::zero(); self.x.len()], MixtureWork::default());
        self.mixture
            .forward(&self.x, routing, self.expert_weights(), &mut work, &mut out, &StopFlag::default())
            .expect("it fits");
        (out, work)
    }

    /// Computes the gradients of `Σ out · dout + aux_weight · aux` with respect to weights and input, and the gradients of
    /// the gates without the auxiliary loss.
    pub fn gradients(&self, dout: &[R], aux_weight: f64) -> ([Vec<R>; 8], Vec<R>) {
        let routing = self.route();
        let (_, mut work) = self.output(&routing);
        let mut d = [0, 1, 2, 3, 4, 5, 6].map(|i| vec![R::zero(); self.weights[i].len()]);
        let (mut dx, mut dgates) = (vec![R::zero(); self.x.len()], vec![R::zero(); routing.gates.len()]);
        let [router, probe, genome, fc1_weight, fc1_bias, fc2_weight, fc2_bias] = &mut d;
        let experts = ExpertGradients { fc1_weight, fc1_bias, fc2_weight, fc2_bias };
        let weights = self.expert_weights();
        self.mixture
            .backward(&routing, weights, &mut work, dout, &mut dx, experts, &mut dgates, &StopFlag::default())
            .expect("it fits");
        let gradients = RouterGradients { router, probe, genome: Some(genome) };
        let mut work = RouterWork::default();
        let of = (&dgates[..], aux_weight);
        backward(&self.router, &self.x, self.router_weights(), &routing, of, &mut work, &mut dx, gradients)
            .expect("it fits");
        let [a, b, c, d, e, f, g] = d;
        ([a, b, c, d, e, f, g, dx], dgates)
    }
}

pub fn bits<R: Real>(x: &[R]) -> Vec<u64> {
    x.iter().map(|x| x.f64().to_bits()).collect()
}
