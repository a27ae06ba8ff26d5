//! A mixture of experts of two [`SynapticLinear`] layers with calcium 1 and the energy of the expert:
//!
//! ```text
//! out = Σ gate_e fc2(relu(fc1(x))²),   then metabolism and embeddings are updated, in every call
//! ```

use super::{
    linear::{Gradients, Pass, Signals, SynapticLinear},
    router,
};
use neuropil::{
    kinds::synaptic::experts::{
        ExpertsError, LoadStatistics, Router, RouterGradients, RouterState, RouterWork, Routing, backward,
        router::RouterWeights,
    },
    nn::real::Real,
};

/// Weights and state.
#[derive(Clone, Debug)]
pub struct ReferenceMixture<R> {
    /// Sizes.
    pub op: Router,
    /// Weight of the router, `[E, C]`.
    pub router: Vec<R>,
    /// Weight of the probe, `[24, C]`.
    pub probe: Vec<R>,
    /// Genomes, `[E, 4]`.
    pub genome: Vec<R>,
    /// State of the router.
    pub state: RouterState,
    /// The two layers of every expert.
    pub experts: Vec<[SynapticLinear<R>; 2]>,
}

/// What a forward pass leaves.
#[derive(Clone, Debug, Default)]
pub struct MixturePass<R> {
    /// Routing of the tokens.
    pub routing: Routing<R>,
    /// Output, `[N, C]`.
    pub out: Vec<R>,
    /// Of every expert: its input, and the passes of its layers.
    experts: Vec<(Vec<R>, Pass<R>, Pass<R>)>,
}

/// Gradients of a mixture.
#[derive(Clone, Debug, Default)]
pub struct MixtureGradients<R> {
    /// Of the input, `[N, C]`.
    pub x: Vec<R>,
    /// Of the weight of the router.
    pub router: Vec<R>,
    /// Of the weight of the probe.
    pub probe: Vec<R>,
    /// Of the genomes.
    pub genome: Vec<R>,
    /// Of the two layers of every expert.
    pub experts: Vec<[Gradients<R>; 2]>,
}

impl<R: Real + Default> ReferenceMixture<R> {
    fn weights(&self) -> RouterWeights<'_, R> {
        RouterWeights { router: &self.router, probe: &self.probe, genome: &self.genome }
    }

    /// Computes the output of tokens `[N, C]` with the present state.
    pub fn forward(&self, x: &[R]) -> Result<MixturePass<R>, ExpertsError> {
        let (width, k) = (self.op.width, self.op.top_k);
        let mut pass = MixturePass { out: vec![R::zero(); x.len()], ..MixturePass::default() };
        router::forward(&self.op, x, self.weights(), &self.state, &mut pass.routing)?;
        for (e, [fc1, fc2]) in self.experts.iter().enumerate() {
            let token = |assignment: &u32| *assignment as usize / k;
            let group = pass.routing.group(e);
            let input: Vec<R> = group.iter().flat_map(|a| &x[token(a) * width..][..width]).copied().collect();
            let energy = [R::of(self.state.energy[e].into())];
            let signals = Signals { calcium: &[R::one()], energy: &energy };
            let first = fc1.forward(&input, signals)?;
            let hidden: Vec<R> = first.y.iter().map(|y| y.max(R::zero()).powi(2)).collect();
            let second = fc2.forward(&hidden, signals)?;
            for (a, y) in group.iter().zip(second.y.chunks(width)) {
                let gate = pass.routing.gates[*a as usize];
                let out = &mut pass.out[token(a) * width..][..width];
                out.iter_mut().zip(y).for_each(|(out, y)| *out += gate * *y);
            }
            pass.experts.push((input, first, second));
        }
        Ok(pass)
    }

    /// Gradients for that of the output, and for the auxiliary loss with that weight.
    pub fn backward(
        &self,
        x: &[R],
        pass: &MixturePass<R>,
        dout: &[R],
        aux_weight: f64,
    ) -> Result<MixtureGradients<R>, ExpertsError> {
        let (width, k) = (self.op.width, self.op.top_k);
        let zeros = |of: &[R]| vec![R::zero(); of.len()];
        let mut gradients = MixtureGradients {
            x: zeros(x),
            router: zeros(&self.router),
            probe: zeros(&self.probe),
            genome: zeros(&self.genome),
            experts: Vec::new(),
        };
        let mut dgates = zeros(&pass.routing.gates);
        for (e, ([fc1, fc2], (input, first, second))) in self.experts.iter().zip(&pass.experts).enumerate() {
            let group = pass.routing.group(e);
            let mut dy = Vec::with_capacity(second.y.len());
            for (a, y) in group.iter().zip(second.y.chunks(width)) {
                let d = &dout[*a as usize / k * width..][..width];
                dgates[*a as usize] = d.iter().zip(y).map(|(d, y)| *d * *y).sum();
                dy.extend(d.iter().map(|d| *d * pass.routing.gates[*a as usize]));
            }
            let d2 = fc2.backward(&second.x, second, &dy)?;
            let slope = |y: &R| R::of(2.0) * y.max(R::zero());
            let dhidden: Vec<R> = d2.x.iter().zip(&first.y).map(|(d, y)| *d * slope(y)).collect();
            let d1 = fc1.backward(input, first, &dhidden)?;
            for (a, d) in group.iter().zip(d1.x.chunks(width)) {
                let dx = &mut gradients.x[*a as usize / k * width..][..width];
                dx.iter_mut().zip(d).for_each(|(dx, d)| *dx += *d);
            }
            gradients.experts.push([d1, d2]);
        }
        let MixtureGradients { x: dx, router, probe, genome, .. } = &mut gradients;
        let to = RouterGradients { router, probe, genome: Some(genome) };
        let of = (&dgates[..], aux_weight);
        backward(&self.op, x, self.weights(), &pass.routing, of, &mut RouterWork::default(), dx, to)?;
        Ok(gradients)
    }

    /// Updates metabolism and embeddings, as after every call.
    pub fn update(&mut self, pass: &MixturePass<R>) {
        let statistics = LoadStatistics::of(&self.op, &pass.routing);
        router::update(&self.op, &statistics, &self.genome, &mut self.state);
    }
}
