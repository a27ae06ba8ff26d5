//! The project file. Stand-in with the agreed names, replaced when the module of the same name is merged.

use crate::{
    choices,
    kinds::Model,
    param_tree, params,
    sim::{Scene, Shape, Tap},
};
use std::{io, path::Path};

choices! {
    /// Where a project wants to be simulated.
    pub enum DeviceChoice {
        /// On a GPU when there is a usable one, else on the CPU.
        Auto,
        /// On the CPU: the reference.
        Cpu,
        /// On an NVIDIA GPU, and nowhere else.
        Cuda,
    }
}

params! {
    /// How a project is run.
    pub struct RunPlan {
        /// Simulated time of a run; 0 runs until it is stopped.
        #[param(unit = Ms, range = 0.0..=10_000.0, hard = 0.0..=1e12)]
        duration_ms: f64 = 1000.0,

        /// Simulated seconds per second of wall time at most; 0 is as fast as possible.
        #[param(range = 0.0..=10.0, hard = 0.0..=1e6)]
        speed: f64 = 0.0,

        /// CPU threads; 0 takes all cores.
        #[param(range = 0.0..=64.0, hard = 0.0..=1024.0)]
        threads: u32 = 0,

        /// Where it runs.
        #[param()]
        device: DeviceChoice = DeviceChoice::Auto,
    }
}

param_tree! {
    /// What of a project `--set` can reach besides the parameters of its kind.
    pub struct PlanTree {
        /// How the project is run.
        run: RunPlan,
    }
}

/// The document.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Project {
    /// Version of the file format.
    pub version: u32,
    /// Name: window title, and part of the names of run folders.
    pub name: String,
    /// Free text.
    pub notes: String,
    /// Seed of every random draw.
    pub seed: u64,
    /// Which kind, and its parameters.
    pub model: Model,
    /// How it is run.
    pub run: RunPlan,
    /// Names of the probes a run records.
    pub record: Vec<String>,
    /// The window's layout, in the app's own words.
    pub workspace: Option<String>,
}

impl Default for Project {
    fn default() -> Self {
        Self {
            version: 1,
            name: "Untitled".into(),
            notes: String::new(),
            seed: 1,
            model: Model::all().remove(0),
            run: RunPlan::default(),
            record: vec![],
            workspace: None,
        }
    }
}

/// Something in a file that was put right.
pub struct Warning {
    /// Line in the file, from 1.
    pub line: u32,
    /// What.
    pub what: String,
}

impl Project {
    /// What surrounds the model.
    pub fn scene(&self, base: &Path) -> Scene {
        Scene { base: base.to_owned(), seed: self.seed }
    }

    /// What a run records, and problems.
    pub fn taps(&self) -> (Vec<Tap>, Vec<String>) {
        let probes = self.model.probes().iter().enumerate();
        let wanted = |name: &str, shape: Shape| match self.record.is_empty() {
            true => matches!(shape, Shape::Spikes { .. }),
            false => self.record.iter().any(|r| r == name),
        };
        let taps = probes.filter(|(_, p)| wanted(p.name, p.shape));
        (taps.map(|(i, _)| Tap { probe: i as u16, elements: vec![] }).collect(), vec![])
    }
}

/// Opens a project file.
pub fn open(path: &Path) -> Result<(Project, Vec<Warning>), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    from_ron(&text).map(|p| (p, vec![]))
}

/// Writes a project file.
pub fn save(project: &Project, path: &Path) -> io::Result<()> {
    std::fs::write(path, to_ron(project).map_err(io::Error::other)?)
}

/// Any value as RON.
pub fn to_ron<T: serde::Serialize>(value: &T) -> Result<String, String> {
    ron::ser::to_string_pretty(value, ron::ser::PrettyConfig::new()).map_err(|e| e.to_string())
}

/// Any value from RON.
pub fn from_ron<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    ron::from_str(text).map_err(|e| e.to_string())
}
