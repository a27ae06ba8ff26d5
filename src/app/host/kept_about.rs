//! Subject and session that are proposed for the next NWB export. They are kept with the preferences and not with a project,
//! because an export belongs to a finished run, which often is not a run of the open project.

use super::store;
use crate::{export::About, project};
use std::path::{Path, PathBuf};

/// Maximum size of the file, bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Values of the last export, and their file.
#[derive(Default)]
pub struct KeptAbout {
    pub about: About,
    file: Option<PathBuf>,
}

impl KeptAbout {
    /// Reads the values, one small file. A missing or damaged file, or a value that is not accepted, is ignored.
    pub fn load(config_dir: Option<&Path>) -> Self {
        let file = config_dir.map(|folder| folder.join("nwb.ron"));
        let read = |file: &Path| crate::data::read_text_at_most(file, MAX_BYTES, &|_, _| true).ok();
        let texts: Vec<String> =
            file.as_deref().and_then(read).and_then(|t| project::from_ron(&t).ok()).unwrap_or_default();
        let mut about = About::default();
        texts.iter().for_each(|text| drop(about.set(text)));
        Self { about, file }
    }

    /// Keeps the values of an export, without those of one run, and saves them.
    pub fn keep(&mut self, of_export: &About) {
        let texts = of_export.kept_texts();
        let mut about = About::default();
        texts.iter().for_each(|text| drop(about.set(text)));
        if about != self.about {
            self.about = about;
            store::write(self.file.clone(), project::to_ron(&texts).ok());
        }
    }
}
