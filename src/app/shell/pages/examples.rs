//! The example projects, one card each on the home page.

use crate::project::{self, Project};

pub struct Example {
    /// File name without extension.
    pub name: &'static str,
    /// Title on its card.
    pub title: &'static str,
    pub about: &'static str,
    /// Size, device, start time.
    pub facts: [&'static str; 3],
    file: &'static str,
    /// Preview image, 432 × 243 pixels; empty for examples that need files.
    pub picture: &'static [u8],
    /// Whether it needs files that are not part of the program.
    pub needs_files: bool,
}

macro_rules! example {
    ($name:literal, $title:literal, $about:literal, $facts:expr) => {
        Example {
            picture: include_bytes!(concat!("../../../../assets/examples/", $name, ".png")),
            ..example!($name, $title, $about, $facts, without a picture)
        }
    };
    ($name:literal, $title:literal, $about:literal, $facts:expr, without a picture) => {
        Example {
            name: $name,
            title: $title,
            about: $about,
            facts: $facts,
            file: include_str!(concat!("../../../../projects/", $name, ".ron")),
            picture: &[],
            needs_files: false,
        }
    };
}

/// All examples, in the order of the home page.
pub static ALL: [Example; 14] = [
    example!(
        "fly",
        "Fly brain",
        "Taste neurons drive a network of the size and degrees of a fly’s brain",
        ["138,639 neurons", "CPU or GPU", "seconds to start"]
    ),
    example!(
        "balanced",
        "Balanced network",
        "Excitation and inhibition cancel, and neurons fire irregularly",
        ["4,000 neurons", "any CPU", "starts at once"]
    ),
    example!(
        "nano",
        "Language model",
        "A small transformer learns a grammar and writes while you watch",
        ["0.36 M parameters", "any CPU", "starts at once"]
    ),
    example!(
        "synaptic-nano",
        "Synaptic language model",
        "Keys run out of vesicles; experts with energy and genes split, merge and die",
        ["0.32 M parameters", "any CPU", "starts at once"]
    ),
    example!(
        "fastfly",
        "FastFly",
        "The noisy leaky model of FastFly on the same brain, to compare speed",
        ["138,639 neurons", "CPU or GPU", "seconds to start"]
    ),
    example!(
        "kuramoto",
        "Kuramoto oscillators",
        "Phases alone fall into step; turn the coupling and they drift apart",
        ["10,000 oscillators", "any CPU", "starts at once"]
    ),
    example!(
        "nuclei",
        "Nuclei",
        "Candidate solutions fall into step, decay and fuse until one fits",
        ["1,024 nuclei", "any CPU", "starts at once"]
    ),
    example!(
        "population",
        "Birth and death",
        "Decay against fusion: the population settles where theory says",
        ["up to 1,024 nuclei", "any CPU", "starts at once"]
    ),
    example!(
        "soda",
        "SODA-QD1102",
        "The population rules as they were found, to compare with Nuclei",
        ["1,024 nuclei", "any CPU", "starts at once"]
    ),
    example!(
        "fields",
        "Three fields",
        "Three phases on every nucleus: fields find their own order, then each other’s",
        ["128 to 1,024 nuclei", "any CPU", "starts at once"]
    ),
    example!(
        "nuclei-large",
        "A quarter of a million nuclei",
        "All coupled to all, exactly, in N log N steps",
        ["262,144 nuclei", "CPU or GPU", "seconds to start"]
    ),
    example!(
        "chars",
        "Character model",
        "The character model of nanoGPT, on a text of yours",
        ["10.7 M parameters", "GPU", "starts at once"]
    ),
    Example {
        needs_files: true,
        ..example!(
            "gpt2",
            "GPT-2",
            "Train GPT-2 from scratch, or continue from its weights",
            ["124 M parameters", "large GPU", "needs files"],
            without a picture
        )
    },
    Example {
        needs_files: true,
        ..example!(
            "shiu",
            "Shiu 2024",
            "The whole-brain model on the FlyWire connectome",
            ["138,639 neurons", "CPU or GPU", "needs files"],
            without a picture
        )
    },
];

impl Example {
    pub fn by_name(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|e| e.name == name)
    }

    pub fn project(&self) -> Option<Project> {
        project::read(self.file).ok().map(|(project, _)| project)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_opens_and_has_a_picture() {
        for example in &ALL {
            let project = example.project().expect(example.name);
            assert!(!project.name.is_empty());
            if example.needs_files {
                continue;
            }
            let picture = image::load_from_memory(example.picture).expect(example.name);
            assert_eq!((picture.width(), picture.height()), (432, 243), "{}", example.name);
        }
        assert!(Example::by_name("fly").is_some_and(|e| !e.needs_files));
    }
}
