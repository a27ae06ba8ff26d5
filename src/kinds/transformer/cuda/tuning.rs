//! Selection of GEMM implementations: measured before the first step, or taken from a recorded run.

use super::{
    network::{Drops, Network},
    pass,
};
use crate::{
    gpu::Pass,
    kinds::language::{
        cuda::{CudaBackend, format::ModelFormat},
        plan::BatchShape,
    },
    sim::{BuildContext, SimError},
};
use std::path::PathBuf;

/// File of the measured choices in the program's cache folder.
const FILE: &str = "gemm.txt";

/// Method by which GEMM implementations are selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tuning {
    /// Heuristics select implementations from sizes and device.
    Default,
    /// The choices of the recorded run are used, given as names and implementations.
    Repeated(Vec<(String, String)>),
    /// Measured times select implementations. The choices are cached in a file, if one is given.
    Measured(Option<PathBuf>),
}

impl Tuning {
    /// Returns the method for measured choices. The recorded choices of a run have precedence over timing.
    pub fn measured(context: &BuildContext) -> Self {
        match &context.kernels.0[..] {
            [] => Self::Measured(context.cache.as_ref().map(|folder| folder.join(FILE))),
            recorded => Self::Repeated(recorded.to_vec()),
        }
    }
}

impl<T: ModelFormat> CudaBackend<Network<T>> {
    /// Selects implementations and records them for the manifest. Timing covers the multiplications in the gradients of a
    /// full batch of `sequences` sequences, computed once. Other multiplications and batch sizes use the default. Fails if
    /// the device fails.
    pub fn tune(&mut self, tuning: Tuning, sequences: usize, drops: Drops) -> Result<(), SimError> {
        let gemm = &self.network.ops.gemm;
        match tuning {
            Tuning::Default => {}
            Tuning::Repeated(choices) => {
                gemm.set_choices(choices.iter().map(|(name, by)| (name.as_str(), by.as_str())));
                self.choices.extend(gemm.choices());
            }
            Tuning::Measured(file) => {
                let file =
                    file.filter(|file| file.parent().is_none_or(|folder| std::fs::create_dir_all(folder).is_ok()));
                if gemm.tune_automatically(file).is_err() {
                    gemm.tune_automatically(None).map_err(|why| SimError::Input(why.to_string()))?;
                }
                let shape = BatchShape::full(sequences, self.network.config.context);
                // The pass runs with zero weights and tokens, and the first step clears its results.
                let (network, b) = self.parts_mut();
                pass::accumulate(network, b, shape, drops, &mut Pass::default())?;
                self.gpu.synchronize()?;
                let gemm = &self.network.ops.gemm;
                gemm.stop_tuning();
                self.choices.extend(gemm.used_choices());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repetition_times_nothing() {
        let first = BuildContext { cache: Some("cache".into()), ..BuildContext::default() };
        assert_eq!(Tuning::measured(&first), Tuning::Measured(Some("cache/gemm.txt".into())));
        assert_eq!(Tuning::measured(&BuildContext::default()), Tuning::Measured(None));
        let kernels = [("gemm", "measured"), ("gemm 8x8x8", "simt")].into_iter().collect();
        let again = BuildContext { kernels, ..first };
        let Tuning::Repeated(choices) = Tuning::measured(&again) else { panic!("{again:?}") };
        assert_eq!(choices[1], ("gemm 8x8x8".to_owned(), "simt".to_owned()));
    }
}
