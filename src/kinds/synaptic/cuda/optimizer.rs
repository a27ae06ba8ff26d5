//! Constants of the optimiser, and which parameter is updated how.

use super::{
    backend::{Captured, CudaBackend},
    pass::UpdatePlan,
};
use crate::{
    gpu::Buf,
    kinds::{
        language::backend::{Hyper, MatrixUpdate},
        synaptic::{
            backend::StepInput,
            model::{Layout, Role},
        },
    },
    nn::{
        optimizer::{
            LossScaler, ParameterGroups, Rule,
            cuda::{self, OptimizerSettings},
        },
        parameters::View,
    },
    sim::SimError,
};

impl CudaBackend {
    /// Constants of the optimiser, learning rate, and which parameter is updated how.
    pub(super) fn set_optimizer(&mut self, input: &StepInput<'_>) -> Result<(), SimError> {
        let layout = &self.network.layout;
        let groups = groups(layout, input.hyper, input.frozen)?;
        let hyper = input.hyper;
        let scaler = LossScaler::fixed(1.0);
        let settings = OptimizerSettings {
            learning_rate: hyper.learning_rate.into(),
            beta1: hyper.beta1.into(),
            beta2: hyper.beta2.into(),
            seed: self.network.seed,
            eps: hyper.eps,
            clip: hyper.clip,
            momentum: 0.0,
            growth: scaler.growth as f32,
            backoff: scaler.backoff as f32,
            interval: scaler.interval,
            is_nesterov: 0,
            is_stochastic: 0,
        };
        let b = self.buffers.get_mut();
        if b.settings.value() != settings {
            b.settings.set(settings)?;
        }
        if b.known.as_ref() != Some(&groups) {
            b.rules.write_at(0, &cuda::rules(&groups))?;
            b.groups.write(&groups.table(&layout.map))?;
            let is_frozen = |l| u32::from(input.frozen.get(1 + l).copied().unwrap_or(false));
            b.frozen.write(&(0..self.sizes.layers).map(is_frozen).collect::<Vec<_>>())?;
            b.known = Some(groups);
        }
        let (experts, n) = (self.network.config.experts, input.frozen_experts.len());
        let frozen = (0..n).filter(|i| input.frozen_experts[*i]);
        let ranges = frozen.filter_map(|i| Some((layout.blocks.get(i / experts)?, i % experts)));
        let kept = ranges.flat_map(|(block, e)| block.of_experts().map(|view| layout.expert_range(view, e))).collect();
        let update = UpdatePlan { kept, measures: input.measures };
        if input.measures && b.before.is_none() {
            b.before = Some(Buf::zeros(&self.gpu, "weights before a step", self.sizes.n)?);
        }
        if self.update != update {
            self.gpu.synchronize()?;
            self.graphs.remove(&Captured::Update);
            let needed = 3 * update.n_kept();
            if b.kept.as_ref().map_or(0, |kept| kept.len()) < needed {
                b.kept = Some(Buf::zeros(&self.gpu, "frozen experts", needed)?);
            }
            self.update = update;
        }
        Ok(())
    }
}

/// Rules of parameters; genomes are not trained.
fn groups(layout: &Layout, hyper: &Hyper, frozen: &[bool]) -> Result<ParameterGroups, SimError> {
    if matches!(hyper.matrices, MatrixUpdate::Muon { .. }) {
        return Err(SimError::Input("Muon of the synaptic model runs on the CPU only: use AdamW".to_owned()));
    }
    let rule = |view: &View| {
        let id = layout.map.find(&view.name).unwrap_or(layout.wte);
        let role = layout.role(id);
        let is_frozen = frozen.get(layout.layer(id).index(layout.blocks.len())).copied().unwrap_or(false);
        let decay = if role.decays() { f64::from(hyper.weight_decay) } else { 0.0 };
        Rule { decay, is_frozen: is_frozen || role == Role::Genome, ..Rule::default() }
    };
    ParameterGroups::new(&layout.map, rule).map_err(|why| SimError::Input(why.to_string()))
}
