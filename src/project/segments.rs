//! Manages the files of a probe's data. A further segment begins where the lanes, the elements or the shape of the data change.

use super::{
    manifest,
    run_file::Hash,
    writer::{RunWriter, StreamFile},
};
use crate::sim::{Clock, Reading, Tap};
use std::io;

/// Ends of the streams of a run before a block, and the last recorded step.
pub(super) struct Ends {
    /// Stream, length in bytes and hash of each file.
    files: Vec<(usize, u64, Hash)>,
    last_step: u64,
}

impl RunWriter {
    /// Returns the present ends of the streams.
    pub(super) fn ends(&self) -> Ends {
        let files = self.files.iter().map(|f| (f.stream, f.file.n_bytes, f.file.hash.clone())).collect();
        Ends { files, last_step: self.manifest.last_step }
    }

    /// Removes the data after earlier ends.
    pub(super) fn cut_to(&mut self, ends: &Ends) {
        for (stream, n_bytes, hash) in &ends.files {
            let mut files = self.files.iter_mut().chain(&mut self.segments);
            let Some(target) = files.find(|f| f.stream == *stream) else { continue };
            target.file.cut(*n_bytes);
            (target.file.n_bytes, target.file.hash) = (*n_bytes, hash.clone());
        }
        self.manifest.last_step = ends.last_step;
    }

    /// Adds a stream, or a further segment of a probe's data from step `from_step` on. Fails if a file cannot be created.
    pub(super) fn add_stream(&mut self, tap: &Tap, lanes: &[String], from_step: u64) -> io::Result<()> {
        let Some(probe) = self.probes.get(usize::from(tap.probe)) else { return Ok(()) };
        let mut sets = self.manifest.sets.clone();
        sets.reverse(); // the newest version of each set is found first
        let mut stream = manifest::stream_of(probe, tap, lanes, &sets, self.manifest.secs_per_step);
        if let Some(set) = self.sets.iter().find(|set| set.name == stream.over && !set.ids.is_empty()) {
            let id = |e: &u32| set.ids.get(*e as usize).copied();
            stream.element_ids = stream.elements.iter().map(id).collect::<Option<_>>().unwrap_or_default();
        }
        let segment = 1 + self.manifest.streams.iter().filter(|s| s.is_of_tap(&stream)).count();
        if segment > 1 {
            stream.from_step = from_step.max(1); // 0 marks the first segment
            if let Some((stem, extension)) = stream.file.rsplit_once('.') {
                let mark = if stream.args.is_empty() { '-' } else { '@' }; // an argument value may end in -2
                stream.file = format!("{stem}{mark}{segment}.{extension}");
            }
        }
        let file = self.create_file(&stream.file, b"")?;
        let stream_index = self.manifest.streams.len();
        self.files.push(StreamFile { tap: tap.clone(), stream: stream_index, file, last_step: None });
        self.manifest.streams.push(stream);
        Ok(())
    }

    /// Ends the streams of taps for which `is_changed` holds; each stream continues in a further file. Fails if a file
    /// cannot be created.
    pub(super) fn begin_segments(
        &mut self,
        step: u64,
        lanes: &[String],
        is_changed: impl Fn(&Self, &StreamFile) -> bool,
    ) -> io::Result<()> {
        self.begin_segments_of(step, lanes, is_changed, Clone::clone)
    }

    /// Ends streams as [`Self::begin_segments`] does; `next` maps an ended tap to the tap of its further file. Fails if a
    /// file cannot be created.
    pub(super) fn begin_segments_of(
        &mut self,
        step: u64,
        lanes: &[String],
        is_changed: impl Fn(&Self, &StreamFile) -> bool,
        next: impl Fn(&Tap) -> Tap,
    ) -> io::Result<()> {
        let (ended, kept) = std::mem::take(&mut self.files).into_iter().partition(|f| is_changed(self, f));
        self.files = kept;
        let ended: Vec<StreamFile> = ended;
        let taps: Vec<Tap> = ended.iter().map(|f| next(&f.tap)).collect();
        self.segments.extend(ended);
        taps.iter().try_for_each(|tap| self.add_stream(tap, lanes, step))?;
        self.list_files()?;
        self.write_progress(step)
    }

    /// Describes the shape of a matrix or histogram at its first reading, and begins a further segment if the shape
    /// changes. Returns the index of the file for the reading. Fails if a file cannot be created.
    pub(super) fn follow_shape(&mut self, which: usize, reading: &Reading, clock: Clock) -> io::Result<usize> {
        let stream = &self.manifest.streams[self.files[which].stream];
        let (is_empty, is_same) = match reading {
            Reading::Matrix(matrix) => (matrix.values.is_empty(), stream.is_of_matrix(matrix)),
            Reading::Histogram(new) => (new.steps.is_empty(), stream.edges == *new.edges),
            _ => return Ok(which),
        };
        if is_same || is_empty {
            return Ok(which);
        }
        let (tap, mut which) = (self.files[which].tap.clone(), which);
        if stream.width > 0 {
            let first = if let Reading::Histogram(new) = reading { new.steps[0] } else { clock.step };
            self.begin_segments(first.saturating_sub(1), &[], |_, f| f.tap == tap)?;
            which = self.files.len() - 1;
        }
        let stream = &mut self.manifest.streams[self.files[which].stream];
        match reading {
            Reading::Matrix(matrix) => stream.describe_matrix(matrix),
            Reading::Histogram(new) => stream.describe_bins(&new.edges),
            _ => {}
        }
        self.list_files()?;
        Ok(which)
    }
}
