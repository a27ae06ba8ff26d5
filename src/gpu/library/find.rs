//! Finds the file of a library by reading folders, without loading the library.

use super::{LibraryError, VARIABLE};
use std::{
    collections::BTreeSet,
    env, fmt,
    path::{Path, PathBuf},
};

/// Names under which a library is searched.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Display name, such as `cuBLASLt`.
    pub name: &'static str,
    /// File names, newest first.
    pub sonames: &'static [&'static str],
    /// Folder of the library's wheel under `site-packages/nvidia`, for CUDA 12; newer wheels share `cu13`.
    pub wheel: &'static str,
}

/// Library file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Path of the file, or its name if the loader resolves it.
    pub path: PathBuf,
    /// Version such as `13.1.0.3`, if the file name contains it.
    pub version: Option<String>,
}

/// Formats version and path: `13.1.0.3, /usr/local/cuda/lib64/libcublasLt.so.13`.
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Some(version) => write!(f, "{version}, {}", self.path.display()),
            None => write!(f, "{}", self.path.display()),
        }
    }
}

impl Wanted {
    /// Finds the first file in the search order that the [module](super) describes. Fails if there is none.
    pub fn find(&self) -> Result<Found, LibraryError> {
        let places = self.places(&|name| env::var_os(name).map(PathBuf::from));
        self.find_among(&places).ok_or(LibraryError::NotFound(self.name))
    }

    fn find_among(&self, places: &[PathBuf]) -> Option<Found> {
        let in_place = |place: &PathBuf| {
            let is_named = place.file_name().is_some_and(|f| f.to_string_lossy().contains(".so"));
            if is_named && place.is_file() {
                return Some(place.clone());
            }
            self.sonames.iter().map(|soname| place.join(soname)).find(|path| path.is_file())
        };
        places.iter().find_map(in_place).map(|path| Found { version: version_in_name(&path), path })
    }

    /// Returns the folders to search, in order; `variable` reads the environment.
    fn places(&self, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
        let list = |name: &str| variable(name).map_or(vec![], |value| env::split_paths(&value).collect());
        let mut places: Vec<PathBuf> = list(VARIABLE);
        let toolkits = ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(|name| variable(name));
        let toolkits = toolkits.chain(["/usr/local/cuda".into(), "/opt/cuda".into()]);
        places.extend(toolkits.flat_map(|root: PathBuf| [root.join("lib64"), root.join("lib")]));
        let mut environments: Vec<PathBuf> =
            ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| variable(name)).collect();
        // The python3 of a virtual environment is a link; the wheels are next to the link, not to the link's target.
        let pythons = list("PATH").into_iter().filter(|folder| folder.join("python3").exists());
        environments.extend(pythons.filter_map(|bin| bin.parent().map(Path::to_owned)));
        environments.extend(variable("HOME").map(|home| home.join(".local")));
        let mut seen = BTreeSet::new();
        environments.retain(|root| seen.insert(root.clone()));
        places.extend(environments.iter().flat_map(|root| self.wheels(root)));
        places.extend(list("LD_LIBRARY_PATH"));
        places.extend(
            ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"].map(Into::into),
        );
        places
    }

    /// Returns the wheel folders of a Python environment, newest Python first.
    fn wheels(&self, environment: &Path) -> Vec<PathBuf> {
        let entries = environment.join("lib").read_dir().into_iter().flatten().flatten();
        let mut pythons: Vec<PathBuf> = entries.map(|e| e.path()).collect();
        pythons.retain(|p| p.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")));
        pythons.sort();
        let packages = pythons.iter().rev().flat_map(|p| ["site-packages", "dist-packages"].map(|s| p.join(s)));
        packages.flat_map(|p| ["cu13", self.wheel].map(|w| p.join("nvidia").join(w).join("lib"))).collect()
    }
}

/// Returns the version after `.so.` in the file name, with links resolved; `None` without a version.
fn version_in_name(path: &Path) -> Option<String> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = target.file_name()?.to_string_lossy().into_owned();
    name.split_once(".so.").map(|(_, version)| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;
    use std::fs;

    const WANTED: Wanted =
        Wanted { name: "cuThing", sonames: &["libcuThing.so.13", "libcuThing.so.12"], wheel: "thing" };

    #[test]
    fn the_newest_of_a_wheel_is_found() {
        let root = TempFolder::new("find-wheel");
        let lib = root.join("lib/python3.12/site-packages/nvidia/thing/lib");
        fs::create_dir_all(&lib).expect("folders");
        fs::write(lib.join("libcuThing.so.12"), "").expect("a file");
        let environment = |name: &str| (name == "VIRTUAL_ENV").then(|| root.to_path_buf());
        let found = WANTED.find_among(&WANTED.places(&environment)).expect("it is there");
        assert_eq!((found.path, found.version.as_deref()), (lib.join("libcuThing.so.12"), Some("12")));
        // CUDA 13 has one folder for all wheels.
        let lib = root.join("lib/python3.12/site-packages/nvidia/cu13/lib");
        fs::create_dir_all(&lib).expect("folders");
        fs::write(lib.join("libcuThing.so.13"), "").expect("a file");
        let found = WANTED.find_among(&WANTED.places(&environment)).expect("it is there");
        assert_eq!(found.to_string(), format!("13, {}", lib.join("libcuThing.so.13").display()));
    }

    #[test]
    fn the_variable_comes_first_and_names_files_too() {
        let root = TempFolder::new("find-variable");
        let file = root.join("libcuThing.so.99.1");
        fs::write(&file, "").expect("a file");
        let environment = |name: &str| (name == VARIABLE).then(|| file.clone());
        let found = WANTED.find_among(&WANTED.places(&environment)).expect("it is there");
        assert_eq!(found.version.as_deref(), Some("99.1"));
    }

    #[test]
    fn absence_is_a_sentence_with_the_way_out() {
        let found = WANTED.find_among(&[]).ok_or(LibraryError::NotFound(WANTED.name));
        let text = found.expect_err("nowhere").to_string();
        assert!(text.starts_with("cuThing was not found") && text.contains(VARIABLE), "{text}");
    }
}
