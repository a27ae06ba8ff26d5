//! A finished run on show: read on a thread, slice by slice, into the same memory and the same views as a running one.

use super::live::Builder;
use crate::{
    engine::{Exhibit, Logged},
    project::{Project, RunFolder, slices::Slices},
    sim::{ElementSet, Frame, ProbeSpec, Shape},
};
use crossbeam_channel::{Receiver, bounded};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// Slices on their way to the window.
const AHEAD: usize = 2;
/// Taking them in may take this long per frame of the window.
const PATIENCE: Duration = Duration::from_millis(3);

/// A run folder that can be shown.
pub struct Opened {
    /// The folder.
    pub run: RunFolder,
    /// The project as it was at step 0.
    pub project: Project,
    /// Everything that was done to it.
    pub log: Vec<(u64, Logged)>,
    /// What can be shown.
    pub exhibit: Exhibit,
    /// What is missing, in words.
    pub notes: Vec<String>,
}

/// Reads what is known about a run. Its elements' places and categories come from its project, built anew.
pub fn open(folder: &Path, builder: &Builder) -> Result<Opened, String> {
    let run = RunFolder::open(folder).map_err(|e| e.to_string())?;
    let project = run.project().map_err(|e| e.to_string())?;
    let mut notes = run.notes.clone();
    let log = run.commands().unwrap_or_else(|e| {
        notes.push(format!("what was done to it is not known: {e}"));
        vec![]
    });
    let probes = project.model.probes();
    let base = if run.manifest.base.as_os_str().is_empty() { run.path.clone() } else { run.manifest.base.clone() };
    let mut on_cpu = project.clone();
    on_cpu.run.device = crate::project::DeviceChoice::Cpu;
    let built = builder(&on_cpu, &project.scene(&base), &crate::sim::Progress::default());
    let sets = match built {
        Ok(sim) => sim.sets().to_vec(),
        Err(why) => {
            notes.push(format!("places and categories are not known: {why}"));
            bare_sets(&run, probes)
        }
    };
    let lanes = probes.iter().map(|p| {
        let stream = run.manifest.streams.iter().find(|s| s.probe == p.name);
        stream.map(|s| s.lanes.clone()).unwrap_or_default()
    });
    let exhibit = Exhibit { lanes: lanes.collect(), probes, sets, ..Exhibit::default() };
    Ok(Opened { run, project, log, exhibit, notes })
}

/// The sets as the run folder knows them: their sizes and ids.
fn bare_sets(run: &RunFolder, probes: &'static [ProbeSpec]) -> Vec<Arc<ElementSet>> {
    let name_of = |p: &'static ProbeSpec| match p.shape {
        Shape::Spikes { over } | Shape::Lineage { over } | Shape::Field { over, .. } | Shape::Series { of: over } => {
            over
        }
        _ => "",
    };
    let mut sets: Vec<Arc<ElementSet>> = vec![];
    for name in probes.iter().map(name_of).filter(|name| !name.is_empty()) {
        if let (Some(info), true) = (run.manifest.set(name), sets.iter().all(|s| s.name != name)) {
            let ids = run.ids(name).unwrap_or_default();
            sets.push(Arc::new(ElementSet { name, len: info.len, ids, ..ElementSet::default() }));
        }
    }
    sets
}

/// What the reading thread says.
enum Told {
    Frame(Frame, f32),
    Failed(String),
}

/// A run on show.
pub struct Recorded {
    /// Its folder.
    pub folder: PathBuf,
    /// First and last step.
    pub first: u64,
    /// Last step.
    pub last: u64,
    /// How much has been read, 0 to 1.
    pub fraction: f32,
    /// Why it could not be read to its end.
    pub error: Option<String>,
    slices: Receiver<Told>,
}

impl Recorded {
    /// Starts to read. `wake` is called with every slice.
    pub fn read(opened: &Opened, wake: impl Fn() + Send + 'static) -> Result<Self, String> {
        let mut slices = Slices::open(&opened.run, opened.exhibit.probes).map_err(|e| e.to_string())?;
        let (sender, receiver) = bounded(AHEAD);
        let read = move || {
            loop {
                let told = match slices.next_frame() {
                    Ok(Some(frame)) => Told::Frame(frame, slices.fraction()),
                    Ok(None) => break,
                    Err(e) => Told::Failed(e.to_string()),
                };
                let is_end = matches!(told, Told::Failed(_));
                // Nobody listens any more when another document was opened.
                if sender.send(told).is_err() || is_end {
                    break;
                }
                wake();
            }
        };
        std::thread::Builder::new()
            .name("recording".into())
            .spawn(read)
            .map_err(|e| format!("recording thread: {e}"))?;
        let manifest = &opened.run.manifest;
        Ok(Self {
            folder: opened.run.path.clone(),
            first: manifest.first_step,
            last: manifest.last_step,
            fraction: 0.0,
            error: None,
            slices: receiver,
        })
    }

    /// The name of its folder.
    pub fn name(&self) -> String {
        self.folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// What has been read since the last call, a few milliseconds' worth.
    pub fn take(&mut self) -> Vec<Frame> {
        let (since, mut frames) = (Instant::now(), vec![]);
        while since.elapsed() < PATIENCE && frames.len() < AHEAD {
            match self.slices.try_recv() {
                Ok(Told::Frame(frame, fraction)) => {
                    self.fraction = fraction;
                    frames.push(frame);
                }
                Ok(Told::Failed(error)) => self.error = Some(error),
                Err(_) => break,
            }
        }
        frames
    }
}
