//! Images of the user, with pixels in levels of the rate.

use super::schedule::LEVELS;
use crate::{
    data::{DataError, images},
    sim::{Progress, SimError},
};
use std::path::Path;

/// Images of a file, with pixels in levels of the rate.
#[derive(Debug, Default)]
pub struct ImageSet {
    /// Class of each image: index in [`ImageSet::classes`].
    pub labels: Vec<u32>,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Number of pixels of an image.
    pub pixels: usize,
    /// Levels of the pixels, image by image; the largest value of the file has the level [`LEVELS`].
    pub levels: Vec<u8>,
}

/// Reads the images of a table. Fails if the file is invalid, or `progress` cancels.
pub fn read(path: &Path, progress: &Progress) -> Result<ImageSet, SimError> {
    let watch = |stage: &str, fraction: f32| progress.report(stage, fraction).is_ok();
    let images = images::read(path, &watch).map_err(|error| match error {
        DataError::Cancelled => SimError::Cancelled,
        other => SimError::Input(other.to_string()),
    })?;
    let largest = images.values.iter().copied().fold(0.0, f64::max);
    let level = |value: &f64| if largest > 0.0 { (value / largest * f64::from(LEVELS)).round() as u8 } else { 0 };
    let levels = images.values.iter().map(level).collect();
    Ok(ImageSet { labels: images.labels, classes: images.classes, pixels: images.pixels, levels })
}
