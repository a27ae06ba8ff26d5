//! Device and kernel choices of a simulation.

use std::fmt::Write as _;

/// Conditions that a replay needs for equal bits in addition to project and command log.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Execution {
    /// Backend, `cpu` or `cuda`; empty if unknown.
    pub backend: String,
    /// Name of the device: the GPU as its driver reports it, or the architecture of the CPU.
    pub device: String,
    /// Compute capability of a GPU, e.g. `9.0`.
    pub compute_capability: String,
    /// Driver of a GPU, e.g. `CUDA 13.0`.
    pub driver: String,
    /// Implementations that were chosen.
    pub kernels: KernelChoices,
}

impl Execution {
    /// Describes the CPU backend.
    pub fn cpu() -> Self {
        Self { backend: "cpu".into(), device: std::env::consts::ARCH.into(), ..Self::default() }
    }

    /// Describes a GPU.
    pub fn cuda(gpu: &crate::gpu::Gpu) -> Self {
        let (capability, driver) = (gpu.capability, gpu.driver);
        Self {
            backend: "cuda".into(),
            device: gpu.name.clone(),
            compute_capability: format!("{}.{}", capability / 10, capability % 10),
            driver: format!("CUDA {}.{}", driver / 1000, driver % 1000 / 10),
            kernels: KernelChoices::default(),
        }
    }

    /// Replaces the kernel choices by pairs (name, implementation).
    #[must_use]
    pub fn with<'a>(mut self, choices: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        self.kernels = choices.into_iter().collect();
        self
    }

    /// Formats for display: `cuda, compute capability 9.0, CUDA 13.0 driver; coupling fast`.
    pub fn words(&self) -> String {
        let mut out = self.backend.clone();
        if self.backend != "cuda" && !self.device.is_empty() {
            let _ = write!(out, ", {}", self.device);
        }
        if !self.compute_capability.is_empty() {
            let _ = write!(out, ", compute capability {}, {} driver", self.compute_capability, self.driver);
        }
        for (i, (name, value)) in self.kernels.0.iter().enumerate() {
            let _ = write!(out, "{} {name} {value}", if i == 0 { ";" } else { "," });
        }
        out
    }
}

/// Implementations that a simulation chose among several, by name: `coupling` is `fast`. Implementations may round
/// differently, so a replay chooses those of the recording if possible.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct KernelChoices(pub Vec<(String, String)>);

impl<'a> FromIterator<(&'a str, &'a str)> for KernelChoices {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(choices: I) -> Self {
        Self(choices.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}

impl KernelChoices {
    /// Returns the implementation that was chosen under the name `name`; `None` if there is no such choice.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Describes the first recorded choice that differs here: `coupling is tiled here and was fast`. Returns `None` if no
    /// recorded choice differs.
    pub fn difference_from(&self, recorded: &Self) -> Option<String> {
        let differs = |(name, then): &&(String, String)| self.get(name) != Some(then);
        recorded.0.iter().find(differs).map(|(name, then)| match self.get(name) {
            Some(now) => format!("{name} is {now} here and was {then}"),
            None => format!("{name} was {then}, which does not exist here"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_compared_by_name() {
        let then: KernelChoices = [("coupling", "fast"), ("fitness", "tensor_cores")].into_iter().collect();
        let now: KernelChoices =
            [("fitness", "tensor_cores"), ("coupling", "fast"), ("new", "x")].into_iter().collect();
        assert_eq!(now.difference_from(&then), None);
        assert_eq!(now.difference_from(&KernelChoices::default()), None, "an older run recorded none");
        let other: KernelChoices = [("coupling", "tiled")].into_iter().collect();
        assert_eq!(other.difference_from(&then).unwrap(), "coupling is tiled here and was fast");
        assert_eq!(now.get("coupling"), Some("fast"));
        assert!(KernelChoices::default().difference_from(&then).unwrap().contains("does not exist here"));
        assert_eq!(
            Execution { backend: "cpu".into(), kernels: other, ..Execution::default() }.words(),
            "cpu; coupling tiled"
        );
    }
}
