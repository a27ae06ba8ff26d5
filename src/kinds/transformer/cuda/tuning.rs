//! Selection of GEMM implementations: timed before the first step, or repeated from a recorded run.

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

/// How GEMM implementations are selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tuning {
    /// By heuristics from sizes and device.
    Default,
    /// As in the run that is repeated: names and implementations.
    Repeated(Vec<(String, String)>),
    /// By timing; the choices are cached in this file.
    Measured(Option<PathBuf>),
}

impl Tuning {
    /// Selects by timing, or repeats the recorded choices of a run without timing.
    pub fn measured(context: &BuildContext) -> Self {
        match &context.kernels.0[..] {
            [] => Self::Measured(context.cache.as_ref().map(|folder| folder.join(FILE))),
            recorded => Self::Repeated(recorded.to_vec()),
        }
    }
}

impl<T: ModelFormat> CudaBackend<Network<T>> {
    /// Selects implementations and records them for the manifest. Timing covers the multiplications in the gradients of a
    /// full batch of `sequences` sequences, computed once; others, and those of other batch sizes, use the default.
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
                // With zero weights and tokens; the first step clears the results.
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
