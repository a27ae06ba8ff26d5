//! Asks for consent to files outside the folder of a project or run.

use crate::{
    app::{
        host::consent::{Received, ReceivedPurpose},
        kit::level::Level,
        shell::{App, dialogs::Dialog},
    },
    project::{self, Project, Warning},
};
use std::path::{Path, PathBuf};

impl App {
    /// A project was read: it is opened, or first asks whether it may read files outside its folder.
    pub(crate) fn receive(&mut self, path: PathBuf, project: Box<Project>, warnings: Vec<Warning>) {
        let base = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let outside = project::outside_paths(&project, base);
        if self.host.consent.allows(&path, &outside) {
            return self.open_project(path, *project, &warnings);
        }
        let purpose = ReceivedPurpose::OpenProject(project, warnings);
        self.overlays.open_dialog(Dialog::OutsideFiles(Received { path, outside, purpose }));
    }

    /// The user allowed a project or run to read its files.
    pub(crate) fn allow_outside(&mut self, received: Received) {
        let Received { path, outside, purpose } = received;
        self.host.consent.allow(&path, &outside);
        match purpose {
            ReceivedPurpose::OpenProject(project, warnings) => self.open_project(path, *project, &warnings),
            ReceivedPurpose::OpenRun => self.open_run(path),
            ReceivedPurpose::ReplayRun => self.replay(&path),
        }
    }

    /// The user did not allow it: nothing is read.
    pub(crate) fn deny_outside(&mut self, received: &Received) {
        let name = received.path.display();
        match received.purpose {
            ReceivedPurpose::ReplayRun => {
                self.messages
                    .notify(Level::Info, format!("{name} was not replayed: it reads files outside its folder"));
            }
            _ => self.open_failed(format!("{name} was not opened: it reads files outside its folder")),
        }
    }

    /// The user's own project may read the files it names when it is saved.
    pub(crate) fn allow_own(&mut self, path: &Path, project: &Project) {
        let base = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.host.consent.allow(path, &project::outside_paths(project, base));
    }
}
