//! A prepared model of any kind: its setup exists, and simulations can be started from it.

use super::{
    edit,
    scheduled::{self, ScheduledSim},
    trials::TrialSet,
};
use crate::{
    gpu::{Memory, Place},
    params::{Change, Params as _},
    sim::{
        BuildContext, Device, DeviceKind, EdgeList, ElementSet, HostMemory, Kind, MemoryReport, Progress, SimError,
        Simulation, Snapshot, StartRequest, Tap,
    },
};
use std::sync::Arc;

/// A model whose setup was read or generated, and which can be started repeatedly: per trial, per device.
pub trait Prepared: Send + Sync {
    /// Starts a simulation. `seed` is the seed of its random draws; a generated network keeps the seed of the project. Fails if
    /// the memory does not suffice, an intervention sets an invalid value or `progress` cancels.
    fn start_with(&self, seed: u64, on: &Device, progress: &Progress) -> Result<Box<dyn Simulation>, SimError>;
    /// Starts a simulation without progress, as [`Prepared::start_with`].
    fn start(&self, seed: u64, on: &Device) -> Result<Box<dyn Simulation>, SimError> {
        self.start_with(seed, on, &Progress::default())
    }
    /// Starts trials that are stepped together, each with the seed of its draws and with changes of the parameters that need no
    /// rebuild, such as interventions. As many of them run at a time as [`Prepared::concurrent_trials`] returns. Fails as
    /// [`Prepared::start_with`] does, if a change needs a rebuild and if there is no trial.
    fn start_trials(
        &self,
        trials: &[(u64, &[Change])],
        on: &Device,
        progress: &Progress,
    ) -> Result<Box<dyn Simulation>, SimError>;
    /// Returns how many of `n` trials run at a time on a device, at least 1: on the CPU one per thread, on a GPU those whose
    /// predicted memory fits, at most 16, or one if it occupies the whole GPU. Fails if the device is lost.
    fn concurrent_trials(&self, n: usize, on: &Device) -> Result<usize, SimError>;
    /// Performs the checks of starting a simulation and tapping these probes, without allocating the simulation. Fails if
    /// starting or tapping would fail.
    fn check(&self, on: DeviceKind, taps: &[Tap]) -> Result<(), SimError>;
    /// Returns the predicted memory on a device, by owner; empty if unknown.
    fn predict(&self, on: DeviceKind) -> MemoryReport;
    /// Returns the predicted memory of `n` trials on a device, which share the setup.
    fn predict_trials(&self, on: DeviceKind, n: u32) -> MemoryReport;
    /// Starts trials with the seeds `seed`, `seed` + 1, …; one trial as [`Prepared::start_with`] does. Fails as that does, and if the
    /// memory of the trials exceeds the available host memory.
    fn start_series(
        &self,
        seed: u64,
        n: u32,
        on: &Device,
        progress: &Progress,
    ) -> Result<Box<dyn Simulation>, SimError>;
    /// Returns the number of trainable parameters; `None` if the kind trains none.
    fn n_parameters(&self) -> Option<u64>;
    /// Makes edge list `i` of [`Model::edge_lists`](crate::kinds::Model::edge_lists) without starting a simulation, with the learned
    /// weights of a saved state. Fails as the kind does.
    fn edge_list(&self, i: usize, state: Option<&Snapshot>, progress: &Progress) -> Result<EdgeList, SimError>;
    /// Returns the elements of the first set, as the kind does; `None` for kinds with elements that have only ids and names.
    fn elements(&self) -> Option<Arc<ElementSet>>;
    /// Returns notices about the input, one sentence each.
    fn notices(&self) -> Vec<String>;
    /// Returns the setup of the kind ([`Kind::Setup`]), for [`InputData`](crate::sim::InputData).
    fn setup(&self) -> Arc<dyn std::any::Any + Send + Sync>;
}

/// Implementation of [`Prepared`] for one kind.
pub(in crate::kinds) struct PreparedKind<K: Kind> {
    params: K::Params,
    context: BuildContext,
    setup: Arc<K::Setup>,
}

impl<K: Kind<Params: Send + Sync, Setup: 'static> + 'static> PreparedKind<K> {
    /// Reads or generates the setup. Fails if the predicted memory exceeds the free memory, or the input is invalid.
    pub fn prepare(
        params: &K::Params,
        context: &BuildContext,
        progress: &Progress,
    ) -> Result<Box<dyn Prepared>, SimError> {
        if !context.ignores_memory {
            let mut predicted = K::predict(params, None, DeviceKind::Cpu { threads: 1 });
            predicted += K::scratch(params);
            HostMemory::now().map_or(Ok(()), |memory| memory.check(&predicted))?;
        }
        let setup = Arc::new(K::prepare(params, context, progress)?);
        Ok(Box::new(Self { params: params.clone(), context: context.clone(), setup }))
    }

    /// Starts one trial with other parameters, for which the setup holds.
    fn start_trial(
        &self,
        params: &K::Params,
        seed: u64,
        on: &Device,
        progress: &Progress,
    ) -> Result<Box<dyn Simulation>, SimError> {
        let context = BuildContext { seed, ..self.context.clone() };
        let (settings, accepts) = (settings::<K>(params)?, self.accepts(&context, on.kind()));
        scheduled::check(params, &settings, &accepts)?;
        let sim = K::start(StartRequest::new(params, &context, self.setup.clone(), on, progress))?;
        let notices = self.notices();
        Ok(Box::new(ScheduledSim::new(sim, params.clone(), settings, Box::new(accepts), notices)?))
    }

    /// Returns the parameters after changes. Fails if a value is invalid or a change needs a rebuild.
    fn changed(&self, changes: &[Change]) -> Result<K::Params, SimError> {
        let mut params = self.params.clone();
        for change in changes {
            match edit::check_change(&params, change)? {
                edit::Edit::Same => {}
                edit::Edit::Live(new) => params = *new,
                edit::Edit::Rebuild => {
                    let path = params.path(change.id);
                    return Err(SimError::Input(format!("{path}: trials with another value need another build")));
                }
            }
        }
        Ok(params)
    }

    /// Checks that the predicted memory of several trials fits on the device, and announces the modules that they load. Fails if
    /// the memory does not fit.
    fn prepare_device(&self, n_trials: u64, on: &Device) -> Result<(), SimError> {
        let Device::Cuda(gpu) = on else { return Ok(()) };
        fits(&self.predict_trials(DeviceKind::Cuda, n_trials as u32), gpu.memory()?)?;
        gpu.expect_modules(&K::loaded_modules(&self.params, gpu));
        Ok(())
    }

    /// Checks that the states of several trials fit into the available host memory. The setup, which they share, exists.
    fn check_host(&self, n: u32, on: DeviceKind) -> Result<(), SimError> {
        let memory = HostMemory::now().filter(|_| !self.context.ignores_memory);
        let states = self.predict(on).of_another_trial(K::SHARED_MEMORY).on_host().of_trials(n, &[]);
        memory.map_or(Ok(()), |memory| memory.check(&states))
    }

    /// Returns a function that checks whether the kind accepts other parameters with this setup.
    fn accepts(
        &self,
        context: &BuildContext,
        on: DeviceKind,
    ) -> impl Fn(&K::Params) -> Result<(), SimError> + Send + use<K> {
        let (context, setup) = (context.clone(), self.setup.clone());
        move |params| K::check(params, &context, &setup, on, &[])
    }
}

impl<K: Kind<Params: Send + Sync> + 'static> Prepared for PreparedKind<K> {
    fn setup(&self) -> Arc<dyn std::any::Any + Send + Sync> {
        self.setup.clone()
    }

    fn start_with(&self, seed: u64, on: &Device, progress: &Progress) -> Result<Box<dyn Simulation>, SimError> {
        self.prepare_device(1, on)?;
        self.start_trial(&self.params, seed, on, progress)
    }

    fn start_trials(
        &self,
        trials: &[(u64, &[Change])],
        on: &Device,
        progress: &Progress,
    ) -> Result<Box<dyn Simulation>, SimError> {
        if trials.is_empty() {
            return Err(SimError::Input("there is no trial to start".into()));
        }
        let at_once = self.concurrent_trials(trials.len(), on)?;
        self.prepare_device(trials.len() as u64, on)?;
        let start = |(seed, changes): &(u64, &[Change])| {
            if progress.is_cancelled() {
                return Err(SimError::Cancelled);
            }
            let own = match on {
                Device::Cpu { threads } => Device::Cpu { threads: (threads / trials.len()).max(1) },
                Device::Cuda(_) if trials.len() > 1 => on.with_own_streams(at_once)?,
                Device::Cuda(_) => on.clone(), // alone, or shared by the caller
            };
            self.start_trial(&self.changed(changes)?, *seed, &own, progress)
        };
        let sims = trials.iter().map(start).collect::<Result<Vec<_>, _>>()?;
        Ok(Box::new(TrialSet::new(sims, K::SHARED_MEMORY, at_once)))
    }

    fn concurrent_trials(&self, n: usize, on: &Device) -> Result<usize, SimError> {
        let most = match on {
            Device::Cpu { threads } => n.min(*threads),
            Device::Cuda(gpu) => {
                let (memory, most) = (gpu.memory()?, K::trials_at_a_time(&self.params, &self.setup, &self.context));
                let does_fit = |n: &usize| fits(&self.predict_trials(DeviceKind::Cuda, *n as u32), memory).is_ok();
                (1..=n.min(most)).rev().find(does_fit).unwrap_or(1)
            }
        };
        Ok(most.max(1))
    }

    fn check(&self, on: DeviceKind, taps: &[Tap]) -> Result<(), SimError> {
        scheduled::check(&self.params, &settings::<K>(&self.params)?, self.accepts(&self.context, on))?;
        K::check(&self.params, &self.context, &self.setup, on, taps)
    }

    fn predict(&self, on: DeviceKind) -> MemoryReport {
        K::predict(&self.params, Some(&self.setup), on)
    }

    fn predict_trials(&self, on: DeviceKind, n: u32) -> MemoryReport {
        K::predict_trials(&self.params, Some(&self.setup), on, n)
    }

    fn start_series(
        &self,
        seed: u64,
        n: u32,
        on: &Device,
        progress: &Progress,
    ) -> Result<Box<dyn Simulation>, SimError> {
        if n <= 1 {
            return self.start_with(seed, on, progress);
        }
        let fewer = |error: SimError| match error {
            SimError::Input(why) => SimError::Input(format!("{n} trials: {why}. Fewer trials need less: run.trials")),
            SimError::NoDevice(why) => {
                SimError::NoDevice(format!("{n} trials: {why}. Fewer trials need less: run.trials"))
            }
            other => other,
        };
        self.check_host(n, on.kind()).map_err(fewer)?;
        if let Device::Cuda(gpu) = on {
            fits(&self.predict_trials(DeviceKind::Cuda, n), gpu.memory()?).map_err(fewer)?;
        }
        let trials: Vec<(u64, &[Change])> =
            (0..u64::from(n)).map(|k| (seed.wrapping_add(k), &[] as &[Change])).collect();
        self.start_trials(&trials, on, progress)
    }

    fn n_parameters(&self) -> Option<u64> {
        K::n_parameters(&self.params, Some(&self.setup))
    }

    fn elements(&self) -> Option<Arc<ElementSet>> {
        K::elements(&self.setup)
    }

    fn edge_list(&self, i: usize, state: Option<&Snapshot>, progress: &Progress) -> Result<EdgeList, SimError> {
        K::edge_list(&self.params, &self.setup, i, state, progress)
    }

    fn notices(&self) -> Vec<String> {
        K::notices(&self.setup)
    }
}

/// Returns the interventions that set a parameter. Fails if an intervention sets an invalid value.
fn settings<K: Kind>(params: &K::Params) -> Result<Vec<scheduled::Setting>, SimError> {
    scheduled::settings(params, K::time_base(params))
}

/// Checks that the predicted memory fits on a GPU.
fn fits(predicted: &MemoryReport, memory: Memory) -> Result<(), SimError> {
    let predicted = predicted.required();
    let needed = predicted.on(Place::Device);
    if needed <= memory.free {
        return Ok(());
    }
    let mb = |bytes: u64| format!("{:.0} MB", bytes as f64 * 1e-6);
    Err(SimError::NoDevice(format!(
        "needs about {} on the GPU, most of it for {}; of its {} it has {} free: make the model smaller, close other programs that use the GPU, or run on the CPU",
        mb(needed),
        predicted.of_device().largest(),
        mb(memory.total),
        mb(memory.free)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicted_memory_beyond_the_gpu_is_refused() {
        let mut predicted = MemoryReport::default();
        predicted.add("connectivity", "words", Place::Device, 6_000_000_000);
        predicted.add("neurons", "states", Place::Device, 40_000_000);
        predicted.host("names", 7_000_000_000);
        let memory = |free| Memory { free, total: 8_000_000_000 };
        assert!(fits(&predicted, memory(6_040_000_000)).is_ok());
        assert!(fits(&MemoryReport::default(), memory(0)).is_ok(), "unknown memory is not refused");
        predicted.add_optional("connectivity by block", "heads", Place::Device, 90_000_000_000);
        assert!(fits(&predicted, memory(6_040_000_000)).is_ok(), "the simulation runs without it");
        let Err(SimError::NoDevice(why)) = fits(&predicted, memory(1_500_000_000)) else { panic!("it fitted") };
        assert!(why.starts_with(
            "needs about 6040 MB on the GPU, most of it for connectivity; of its 8000 MB it has 1500 MB free"
        ));
        assert!(why.contains("CPU"));
    }
}
