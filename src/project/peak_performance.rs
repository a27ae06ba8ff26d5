//! Stores the measured peak performance of devices (the ceilings of the roofline): one small file per device in the user's
//! cache folder.

use super::{atomic_file, from_ron, run::now_utc, to_ron};
use crate::{data::io_reason, gpu::ceilings::Ceilings};
use std::path::{Path, PathBuf};

/// Returns the path of a device's measurements in a cache folder.
pub fn path(cache: &Path, device: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = device.chars().map(plain).collect();
    let parts: Vec<&str> = name.split('-').filter(|p| !p.is_empty()).collect();
    cache.join("ceilings").join(parts.join("-")).with_extension("ron")
}

/// Loads the measurements of a device; `None` if there are none or the file is invalid.
pub fn load(cache: &Path, device: &str) -> Option<Ceilings> {
    let text = std::fs::read_to_string(path(cache, device)).ok()?;
    from_ron::<Ceilings>(&text).ok().filter(|c| c.device == device)
}

/// Adds the date, saves the measurements and returns the path of the file. Fails if the file cannot be written.
pub fn save(cache: &Path, ceilings: &mut Ceilings) -> Result<PathBuf, String> {
    ceilings.measured = now_utc();
    let path = path(cache, &ceilings.device);
    let failed = |e: std::io::Error| format!("{}: {}", path.display(), io_reason(&e));
    std::fs::create_dir_all(path.parent().unwrap_or(cache)).map_err(failed)?;
    let text = to_ron(ceilings).map_err(|e| e.to_string())?;
    atomic_file::write_atomic(&path, text.as_bytes(), false).map_err(failed)?;
    Ok(path)
}

/// Returns the cache folder of the program; `None` if the user has no home folder.
pub fn cache_folder() -> Option<PathBuf> {
    use etcetera::BaseStrategy as _;
    etcetera::choose_base_strategy().ok().map(|d| d.cache_dir().join("neuropil"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::ceilings::{Ceiling, Limit};
    use neuropil_test_support::temp::TempFolder;

    #[test]
    fn measurements_are_loaded_by_device() {
        let temp = TempFolder::new("ceilings");
        let cache = temp.join("cache");
        let copy = Ceiling { name: "copy".into(), how: "so".into(), limit: Limit::Bytes, value: 4e12 };
        let mut measured =
            Ceilings { device: "NVIDIA H200 (x)".into(), list: vec![copy.clone()], ..Ceilings::default() };
        let file = save(&cache, &mut measured).unwrap();
        assert!(file.ends_with("ceilings/nvidia-h200-x.ron"), "{}", file.display());
        assert_eq!(load(&cache, "NVIDIA H200 (x)"), Some(measured.clone()));
        assert!(measured.measured.ends_with('Z') && measured.best(Limit::Bytes) == Some(&copy));
        assert_eq!(load(&cache, "NVIDIA H200 x"), None, "another device of the same file name");
        assert_eq!(load(&cache, "other"), None);
    }
}
