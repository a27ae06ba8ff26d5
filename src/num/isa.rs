//! Instruction sets for which loops on the CPU are compiled. All sets give equal bits.

use std::sync::OnceLock;

/// Instruction sets with specialised code, slowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Target of the compiled program; slow, because it may lack a fused multiply-add instruction.
    Portable,
    /// AVX2 with FMA and f16 conversion.
    Avx2,
    /// AVX-512 with its instructions for 16-bit integers.
    Avx512,
    /// AVX-512 with dot products of integers.
    Avx512Vnni,
}

/// Environment variable with the name of the fastest instruction set that may be used, for tests.
pub const CAP_VARIABLE: &str = "NEUROPIL_ISA";

impl Isa {
    /// All instruction sets, slowest first.
    const ALL: [Self; 4] = [Self::Portable, Self::Avx2, Self::Avx512, Self::Avx512Vnni];

    /// Returns the instruction sets that the processor has and [`CAP_VARIABLE`] allows, slowest first.
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|isa| *isa <= Self::best()).collect()
    }

    /// Returns the fastest of the [`available`](Self::available) instruction sets; determined once.
    pub fn best() -> Self {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| {
            let cap = std::env::var(CAP_VARIABLE).map_or(Ok(None), |name| Self::named(&name).map(Some));
            let cap = cap.unwrap_or_else(|why| {
                tracing::warn!("{why}");
                None
            });
            Self::best_up_to(cap)
        })
    }

    /// Returns the fastest instruction set of this processor, at most `cap`. Each instruction set includes the slower ones.
    fn best_up_to(cap: Option<Self>) -> Self {
        let is_allowed = |isa: &Self| cap.is_none_or(|cap| *isa <= cap) && isa.is_here();
        Self::ALL.into_iter().rev().find(is_allowed).unwrap_or(Self::Portable)
    }

    /// Parses a name in the form of [`CAP_VARIABLE`]; an unknown name is an error.
    fn named(name: &str) -> Result<Self, String> {
        let names = Self::ALL.map(|isa| format!("{isa:?}").to_lowercase());
        let place = names.iter().position(|n| *n == name.trim().to_lowercase());
        place.map(|i| Self::ALL[i]).ok_or_else(|| {
            format!("{CAP_VARIABLE}: `{name}` is not an instruction set; expected one of {}", names.join(", "))
        })
    }

    /// Whether the processor has the instruction set. Functions compiled for an instruction set may enable exactly the features
    /// that this function checks.
    fn is_here(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                std::arch::is_x86_feature_detected!("avx2")
                    && std::arch::is_x86_feature_detected!("fma")
                    && std::arch::is_x86_feature_detected!("f16c")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_here()
                    && std::arch::is_x86_feature_detected!("avx512f")
                    && std::arch::is_x86_feature_detected!("avx512bw")
                    && std::arch::is_x86_feature_detected!("avx512vl")
                    && std::arch::is_x86_feature_detected!("avx512dq")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni => Self::Avx512.is_here() && std::arch::is_x86_feature_detected!("avx512vnni"),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 | Self::Avx512Vnni => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caps_limit_the_instruction_set() {
        for (name, cap) in [("portable", Isa::Portable), ("AVX2", Isa::Avx2), (" avx512 ", Isa::Avx512)] {
            assert_eq!(Isa::named(name), Ok(cap));
            assert!(Isa::best_up_to(Some(cap)) <= cap);
        }
        let why = Isa::named("sse").unwrap_err();
        assert!(why.contains("`sse`") && why.contains("portable, avx2, avx512, avx512vnni"), "{why}");
        assert_eq!(Isa::available().last(), Some(&Isa::best()));
        assert_eq!(Isa::available().first(), Some(&Isa::Portable));
    }
}
