//! Which implementations multiply: timed before the first step, or those of a run that is repeated.

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

/// File of the choices under the program's cache folder.
const FILE: &str = "gemm.txt";

/// How implementations of multiplications are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tuning {
    /// By sizes and device.
    Default,
    /// As in a run that is repeated: names and implementations.
    Repeated(Vec<(String, String)>),
    /// By time; the choices are kept in this file.
    Measured(Option<PathBuf>),
}

impl Tuning {
    /// Measured, but for the repetition of a run: its choices hold, and no time decides.
    pub fn measured(context: &BuildContext) -> Self {
        match &context.kernels.0[..] {
            [] => Self::Measured(context.cache.as_ref().map(|folder| folder.join(FILE))),
            recorded => Self::Repeated(recorded.to_vec()),
        }
    }
}

impl<T: ModelFormat> CudaBackend<Network<T>> {
    /// Chooses implementations, and remembers them for the manifest. Measured are the multiplications of the gradients of a
    /// full batch of that many sequences, by computing them once; others, and those of batches of other sizes, are chosen by default.
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
                // Of weights and tokens that are 0; what it leaves is cleared by the first step.
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
