//! Files of a run that its manifest does not list, because its process ended between their creation and the next manifest. The
//! lock file names the files before they are created, so that continuing or replacing the run removes them; otherwise they
//! would be mistaken for foreign files.

use super::{
    Manifest,
    append_file::AppendFile,
    atomic_file, checkpoint_file, lock,
    manifest::EXTENSIONS,
    parent::{PARENT_PART, PARENT_STATE},
    run::{MANIFEST, PROJECT, at},
    run_file,
    sets::TABLE,
    writer::{RunWriter, save_manifest},
};
use crate::sim::ProbeSpec;
use std::{fs, io, path::Path};

impl RunWriter {
    /// Creates a file that the manifest does not list yet, with the content `head`. Fails if a file of this name exists.
    pub(super) fn create_file(&mut self, name: &str, head: &[u8]) -> io::Result<AppendFile> {
        // The lock file must name files of this run only.
        run_file::is_free(&run_file::inside(&self.folder, name)?)?;
        self.lock.announce(name)?;
        AppendFile::create(&self.folder, name, head)
    }

    /// Writes a manifest that lists the created files. Fails if the manifest cannot be written.
    pub(super) fn list_files(&mut self) -> io::Result<()> {
        save_manifest(&self.folder, &self.manifest)?;
        self.lock.all_are_listed();
        Ok(())
    }
}

/// Removes unlisted files of the process that wrote a run, except `kept` files. The caller holds the lock. Fails if a file
/// cannot be removed.
pub(super) fn remove_unlisted(
    folder: &Path,
    manifest: &Manifest,
    probes: &[ProbeSpec],
    kept: impl Fn(&str) -> bool,
) -> io::Result<()> {
    let Some(progress) = lock::read(folder).filter(|lock| !lock.id.is_empty() && lock.id == manifest.id) else {
        return Ok(());
    };
    let announced = progress.files.into_iter().map(|(name, _)| name).filter(|name| is_of_writer(name, probes));
    let temporary = [MANIFEST, PROJECT].map(|name| atomic_file::temporary_name(name, progress.process));
    let entries = fs::read_dir(folder).map_err(|e| at(folder, &e))?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let checkpoints = names.filter(|name| checkpoint_file::is_file_name(name.strip_suffix(".part").unwrap_or(name)));
    let mut unlisted = announced.chain(temporary).chain(checkpoints).filter(|name| !kept(name));
    unlisted.try_for_each(|name| remove(folder, &name))
}

/// Removes a regular file if the folder contains it. Fails if a file cannot be removed.
pub(super) fn remove(folder: &Path, name: &str) -> io::Result<()> {
    let path = run_file::inside(folder, name)?;
    match run_file::size_of(&path) {
        Some(_) => fs::remove_file(&path).map_err(|e| at(&path, &e)),
        None => Ok(()),
    }
}

/// Whether the writer uses file names of this form: `rate-2.f32`, `map@head=3.f32` for probes, `experts-2.u64` and
/// `experts-2.elements.ron` for sets, `parent.state` for a branch.
fn is_of_writer(name: &str, probes: &[ProbeSpec]) -> bool {
    let is_of_set = [".u64", TABLE].iter().filter_map(|end| name.strip_suffix(end)).any(|stem| {
        stem.rsplit_once('-').is_some_and(|(set, number)| !set.is_empty() && number.parse::<u32>().is_ok())
    });
    let is_of_probe = |probe: &ProbeSpec| {
        let rest = name.strip_prefix(probe.name).and_then(|rest| rest.rsplit_once('.'));
        rest.is_some_and(|(mark, extension)| {
            (mark.is_empty() || mark.starts_with(['-', '@'])) && EXTENSIONS.iter().any(|(_, known)| *known == extension)
        })
    };
    let is_of_parent = [PARENT_STATE, PARENT_PART].contains(&name);
    is_of_set || is_of_parent || probes.iter().any(is_of_probe)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        engine::{Checkpoint, CheckpointPlan, RecordingEnd, RecordingStart, Sink as _},
        kinds::Model,
        project::{LockedRun, Project, RunFolder, RunStart, append_file::stop},
        sim::{Clock, ElementSet, Progress, Shape, Snapshot, Tap},
    };
    use neuropil_test_support::temp::TempFolder;
    use std::{collections::BTreeSet, sync::Arc};

    /// Returns a project of a kind with fields over a set, three taps of fields, and the name of the set.
    fn project() -> (Project, Vec<Tap>, &'static str) {
        let project = Project { model: Model::by_name("nuclei").unwrap(), ..Project::default() };
        let fields = project.model.probes().iter().enumerate().filter_map(|(i, probe)| match probe.shape {
            Shape::Field { over, .. } => Some((Tap::of(i as u16), over)),
            _ => None,
        });
        let (taps, over): (Vec<_>, Vec<_>) = fields.take(3).unzip();
        (project, taps, over[0])
    }

    /// Returns a set with ids, and with positions, which are written to a separate file.
    fn set(name: &'static str, len: u32) -> Vec<Arc<ElementSet>> {
        let ids = (0..u64::from(len)).collect();
        vec![Arc::new(ElementSet { name, len, ids, positions: vec![[0.0; 3]; len as usize], ..ElementSet::default() })]
    }

    fn at_step(step: u64) -> Clock {
        Clock { step, ..Clock::default() }
    }

    pub fn create(folder: &Path) -> io::Result<RunWriter> {
        let (mut project, taps, over) = project();
        project.run.checkpoint_steps = 1;
        let sets = set(over, 2);
        let (base, device, command) = (Path::new("."), "CPU".to_owned(), String::new());
        let (project, sets, threads, trial, trials) = (&project, &sets[..], 1, None, 0);
        let start = RunStart { project, base, taps, sets, device, threads, command, trial, trials };
        let mut writer = RunWriter::create(folder, start)?;
        assert_ne!(writer.checkpoints.plan, CheckpointPlan::default());
        writer.begin(&RecordingStart { clock: at_step(0), ..RecordingStart::default() })?;
        Ok(writer)
    }

    /// Changes the set twice. The first change precedes the checkpoint.
    pub fn first_part(writer: &mut RunWriter) -> io::Result<()> {
        writer.sets_changed(5, &set(project().2, 3))?;
        let snapshot = Arc::new(Snapshot { model: "nuclei".into(), sections: vec![] });
        writer.checkpoint(Checkpoint { snapshot, clock: at_step(10), ..Checkpoint::default() })?;
        writer.collect_checkpoint(true)
    }

    pub fn second_part(mut writer: RunWriter) -> io::Result<()> {
        writer.sets_changed(15, &set(project().2, 4))?;
        Box::new(writer).finish(&RecordingEnd { clock: at_step(20), ..RecordingEnd::default() })
    }

    fn files(folder: &Path) -> BTreeSet<String> {
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    pub fn resume(folder: &Path) -> io::Result<RunWriter> {
        let verified = LockedRun::open(folder)?.verify(&Progress::default()).map_err(io::Error::other)?;
        let (now, sets) = (verified.from.now.clone(), &set(self::project().2, 3)[..]);
        let project = &now;
        let (base, taps, device, command) = (Path::new("."), vec![], "CPU".to_owned(), String::new());
        let start = RunStart { project, base, taps, sets, device, threads: 1, command, trial: None, trials: 0 };
        let mut writer = RunWriter::resume(verified, &start)?;
        writer.begin(&RecordingStart { clock: at_step(10), ..RecordingStart::default() })?;
        Ok(writer)
    }

    /// A run that is killed after any file creation can be continued and replaced.
    #[test]
    fn a_run_killed_between_a_file_and_its_manifest_is_continued_and_replaced() {
        let folder = TempFolder::new("unlisted");
        let whole = folder.join("whole");
        let mut writer = create(&whole).unwrap();
        first_part(&mut writer).unwrap();
        second_part(writer).unwrap();
        let expected = files(&whole);
        let is_table = |name: &&String| name.ends_with(TABLE);
        assert_eq!(expected.iter().filter(is_table).count(), 2, "{expected:?}");

        let mut n_kills = 0;
        for n_files in 0.. {
            let killed = folder.join(format!("killed-{n_files}"));
            stop::after(Some(n_files));
            let ended = create(&killed).and_then(|mut writer| {
                first_part(&mut writer)?;
                stop::after(Some(n_files)); // Kills the writer in the second part.
                second_part(writer)
            });
            stop::after(None);
            if ended.is_ok() {
                break;
            }
            n_kills += 1;
            fs::write(killed.join("thesis.f32"), "years of work").unwrap();
            if RunFolder::open(&killed).unwrap().manifest.checkpoints.is_empty() {
                let mut writer = create(&killed).unwrap();
                first_part(&mut writer).unwrap();
                second_part(writer).unwrap();
            } else {
                second_part(resume(&killed).unwrap()).unwrap();
            }
            assert_eq!(fs::read_to_string(killed.join("thesis.f32")).unwrap(), "years of work");
            fs::remove_file(killed.join("thesis.f32")).unwrap();
            assert_eq!(files(&killed), expected, "killed behind file {n_files}");
        }
        assert!(n_kills > 8, "{n_kills}");
    }

    /// A run that was killed while it wrote its first manifest leaves a lock file and a temporary file.
    #[test]
    fn a_run_killed_before_its_first_manifest_is_replaced() {
        let temp = TempFolder::new("first");
        let folder = temp.join("run");
        drop(create(&folder).unwrap());
        let part = atomic_file::temporary_name(MANIFEST, std::process::id());
        for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap()) {
            if entry.file_name() == MANIFEST {
                fs::rename(entry.path(), folder.join(&part)).unwrap();
            } else if entry.file_name() != super::super::run::LOCK {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        drop(create(&folder).unwrap());
        assert!(!files(&folder).contains(&part));
    }

    #[test]
    fn only_names_of_the_writer_are_removed() {
        let probes = Model::by_name("nuclei").unwrap().probes();
        let name = probes[0].name;
        for suffix in [".f32", "-2.f32", "@head=3.u32", "@head=3@2.jsonl", ".txt"] {
            assert!(is_of_writer(&format!("{name}{suffix}"), probes), "{name}{suffix}");
        }
        assert!(
            is_of_writer(PARENT_STATE, &[]) && is_of_writer(PARENT_PART, &[]) && !is_of_writer("parent.state.txt", &[])
        );
        assert!(is_of_writer("experts-2.u64", &[]) && is_of_writer("experts-12.elements.ron", &[]));
        for other in ["thesis.tex", "notes.txt", "run.ron", "experts.u64", "-2.u64", "experts-x.u64", "2026-11.ron"] {
            assert!(!is_of_writer(other, probes), "{other}");
        }
        assert!(!is_of_writer(&format!("{name}.tex"), probes) && !is_of_writer(&format!("{name}s.f32"), probes));
    }
}
