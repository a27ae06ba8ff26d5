//! Reads the time courses of recorded trials, on the pool.

use crate::{
    app::{document::run_groups::RunGroups, kit, views::rate},
    experiment::time_course::{Binning, TimeCourse, rates, samples},
    kinds::Model,
    project::{Manifest, RunFolder, Stream},
    sim::{Progress, Shape, TimeBase},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Quantity over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Quantity {
    /// Rate of all elements with events.
    #[default]
    All,
    /// Rate of the selected elements.
    Selected,
    /// Rate of a named group.
    Group(String),
    /// Recorded series: its file, and one of its lanes or the mean of all.
    Series(String, Option<usize>),
}

impl Quantity {
    /// Formats the quantity for the choices of a view: `all`, `group MN9`, `series rate.bin 0`.
    pub fn to_text(&self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::Selected => "selected".to_owned(),
            Self::Group(name) => format!("group {name}"),
            Self::Series(file, None) => format!("mean {file}"),
            Self::Series(file, Some(lane)) => format!("lane {lane} {file}"),
        }
    }

    /// Parses a quantity; all elements for an unknown text.
    pub fn from_text(text: &str) -> Self {
        let lane = |(lane, file): (&str, &str)| Some(Self::Series(file.to_owned(), Some(lane.parse().ok()?)));
        match text.split_once(' ') {
            None if text == "selected" => Self::Selected,
            Some(("group", name)) => Self::Group(name.to_owned()),
            Some(("mean", file)) => Self::Series(file.to_owned(), None),
            Some(("lane", rest)) => rest.split_once(' ').and_then(lane).unwrap_or_default(),
            _ => Self::All,
        }
    }
}

/// Inputs of the reading job.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub quantity: Quantity,
    /// Set of the selected elements and the elements, for [`Quantity::Selected`]; empty otherwise.
    pub selected: (&'static str, Arc<Vec<u32>>),
    /// Conditions with the folders of their recorded trials.
    pub conditions: Vec<(usize, Arc<Vec<PathBuf>>)>,
    /// Time to which the bins are aligned and width of a bin, ms, or steps where steps have no duration.
    pub align: f64,
    pub bin: f64,
    /// Generation of the named groups.
    pub groups: u64,
}

/// Time courses of the conditions.
#[derive(Clone, Debug, Default)]
pub struct Courses {
    pub base: TimeBase,
    pub bins: Option<Binning>,
    /// Title of the quantity with its unit.
    pub title: String,
    /// Quantities that the trials recorded, with their labels.
    pub offered: Vec<(Quantity, String)>,
    /// Time courses by condition.
    pub list: Vec<(usize, TimeCourse)>,
    /// Reason for which there are no courses; empty if there are.
    pub problem: String,
}

/// Reads the time courses of a request; `None` if `progress` cancels.
pub fn read(request: &Request, groups: &RunGroups, progress: &Progress) -> Option<Courses> {
    let mut courses = Courses::default();
    let n: usize = request.conditions.iter().map(|(_, trials)| trials.len()).sum();
    let mut n_read = 0;
    for (condition, folders) in &request.conditions {
        let mut trials = vec![];
        for folder in folders.iter() {
            progress.report("trials", n_read as f32 / n.max(1) as f32).ok()?;
            n_read += 1;
            match trial(folder, request, groups, &mut courses) {
                Ok(values) => trials.push(values),
                Err(why) => {
                    courses.problem = why;
                    return Some(courses);
                }
            }
        }
        courses.list.push((*condition, TimeCourse::of(trials)));
    }
    Some(courses)
}

/// Reads one trial. The first one determines the bins and the title. Fails with a sentence if the trial cannot be read.
fn trial(folder: &Path, request: &Request, groups: &RunGroups, courses: &mut Courses) -> Result<Vec<f64>, String> {
    let run = RunFolder::open(folder).map_err(|e| e.to_string())?;
    let manifest = &run.manifest;
    let events = events_of(manifest);
    let bins = match courses.bins {
        Some(bins) => bins,
        None => {
            courses.base = manifest.time_base();
            courses.offered = offered(&run, groups);
            let [align, bin] = [request.align, request.bin].map(|x| steps_of(x, courses.base));
            let bins = Binning::new((manifest.first_step, manifest.last_step), align, bin)?;
            courses.title = title(&run, &request.quantity, &courses.offered);
            courses.bins = Some(bins);
            bins
        }
    };
    let failed = |e: std::io::Error| e.to_string();
    if let Quantity::Series(file, lane) = &request.quantity {
        let stream = manifest.streams.iter().find(|stream| stream.file == *file);
        let stream = stream.ok_or_else(|| format!("{} has no {file}", folder.display()))?;
        return samples(&run, stream, *lane, &bins).map_err(failed);
    }
    let (stream, set) = events.ok_or_else(|| "The trials recorded no spikes".to_owned())?;
    let len = manifest.set(set).map_or(0, |set| set.len) as usize;
    let is_in = match &request.quantity {
        Quantity::Group(group) => groups.members(&run, set, group)?.is_in,
        Quantity::Selected => {
            let (of, elements) = &request.selected;
            if *of != set || elements.is_empty() {
                return Err(format!("Select {} to see their rate", kit::spaced(set)));
            }
            let mut is_in = vec![false; len];
            elements.iter().filter_map(|i| Some(*i as usize).filter(|i| *i < len)).for_each(|i| is_in[i] = true);
            is_in
        }
        Quantity::All | Quantity::Series(..) => vec![true; len],
    };
    rates(&run, stream, &is_in, &bins).map_err(failed)
}

/// Converts a time in ms, or a number of steps, to steps.
fn steps_of(x: f64, base: TimeBase) -> u64 {
    match base {
        TimeBase::Seconds { per_step } => (x * 1e-3 / per_step).round() as u64,
        TimeBase::Count { .. } => x.round() as u64,
    }
}

/// Returns the first recorded stream of events, with the name of its set as the model declares it.
fn events_of(manifest: &Manifest) -> Option<(&Stream, &'static str)> {
    let model = Model::by_name(&manifest.kind)?;
    manifest.streams.iter().find_map(|stream| {
        let probe = model.probes().iter().find(|probe| probe.name == stream.probe)?;
        if let Shape::Spikes { over } = probe.shape { Some((stream, over)) } else { None }
    })
}

/// Returns the quantities that a trial recorded.
fn offered(run: &RunFolder, groups: &RunGroups) -> Vec<(Quantity, String)> {
    let mut all = vec![];
    if let Some((_, set)) = events_of(&run.manifest) {
        all.push((Quantity::All, format!("all {}", kit::spaced(set))));
        all.push((Quantity::Selected, "selection".to_owned()));
        all.extend(groups.names_over(run, set).into_iter().map(|name| (Quantity::Group(name.clone()), name)));
    }
    let is_series = |stream: &&Stream| stream.shape == "series" && stream.from_step == 0;
    for stream in run.manifest.streams.iter().filter(is_series) {
        let name =
            if stream.args.is_empty() { stream.probe.clone() } else { format!("{}, {}", stream.probe, stream.args) };
        let of = |lane| Quantity::Series(stream.file.clone(), lane);
        match (stream.elements.len(), stream.lanes.len()) {
            (0, 0) => all.push((of(Some(0)), name)),
            (0, _) => all.extend((0..).zip(&stream.lanes).map(|(i, lane)| (of(Some(i)), format!("{name}, {lane}")))),
            (n, _) => all.push((of(None), format!("{name}, mean of {n}"))),
        }
    }
    all
}

/// Returns the title of a quantity with its unit.
fn title(run: &RunFolder, quantity: &Quantity, offered: &[(Quantity, String)]) -> String {
    let manifest = &run.manifest;
    let label = offered.iter().find(|(known, _)| known == quantity).map_or("", |(_, label)| label.as_str());
    let unit = match quantity {
        Quantity::Series(file, _) => {
            manifest.streams.iter().find(|stream| stream.file == *file).map_or("", |stream| &stream.unit).to_owned()
        }
        _ => events_of(manifest).map_or_else(String::new, |(_, set)| rate::unit_over(set, manifest.time_base())),
    };
    let label = if matches!(quantity, Quantity::Series(..)) { label.to_owned() } else { format!("Rate of {label}") };
    if unit.is_empty() { label } else { format!("{label} ({unit})") }
}
