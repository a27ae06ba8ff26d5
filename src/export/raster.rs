//! Draws an image of events: time to the right, the first element at the bottom, darker for more events.

use super::{
    output::Outputs,
    trial::{Trial, at},
};
use std::{
    io::{self, BufWriter, Write as _},
    path::Path,
};

/// Maximum number of pixels.
const MAX_PIXELS: f64 = 50e6;

/// Size of an image in pixels, and its resolution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PictureSize {
    pub width: u32,
    pub height: u32,
    /// Dots per inch, which the file states; `None`: the file states no resolution.
    pub dpi: Option<f64>,
}

impl Default for PictureSize {
    fn default() -> Self {
        Self { width: 1600, height: 900, dpi: None }
    }
}

impl PictureSize {
    /// Creates the size of a picture with a width on paper. Its height has the default ratio. Fails if the picture would have no
    /// pixels or too many.
    pub fn on_paper(width_mm: f64, dpi: f64) -> Result<Self, String> {
        let usual = Self::default();
        let width = (width_mm / 25.4 * dpi).round();
        let height = (width * f64::from(usual.height) / f64::from(usual.width)).round();
        if !(width >= 1.0 && height >= 1.0 && width * height <= MAX_PIXELS) {
            return Err(format!(
                "{width_mm} mm at {dpi} dpi is {width} × {height} pixels; at most 50 million are written"
            ));
        }
        Ok(Self { width: width as u32, height: height as u32, dpi: Some(dpi) })
    }
}

pub(super) fn write(trials: &[Trial], out: &Path, size: PictureSize, outputs: &mut Outputs) -> io::Result<()> {
    let shades = draw(trials, size)?;
    let mut file = BufWriter::new(outputs.create(out)?);
    encode(&mut file, &shades, size).map_err(|e| at(out)(io::Error::other(e)))?;
    file.flush().map_err(at(out))
}

/// Writes grey pixels as PNG with their resolution. Fails if the file cannot be written.
fn encode(file: &mut BufWriter<std::fs::File>, shades: &[u8], size: PictureSize) -> Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(file, size.width, size.height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let dots = size.dpi.map(|dpi| (dpi / 25.4 * 1e3).round() as u32);
    encoder.set_pixel_dims(dots.map(|n| png::PixelDimensions { xppu: n, yppu: n, unit: png::Unit::Meter }));
    let mut writer = encoder.write_header()?;
    writer.write_image_data(shades)?;
    writer.finish()
}

/// Draws the trials above each other, the first at the bottom. Darkness is logarithmic in the number of events per pixel.
/// Fails if a stream cannot be read.
fn draw(trials: &[Trial], size: PictureSize) -> io::Result<Vec<u8>> {
    let (width, height) = (u64::from(size.width), u64::from(size.height));
    let mut counts = vec![0_u32; (width * height) as usize];
    let lanes = trials.iter().map(|t| t.n_lanes(t.drawn_stream())).collect::<io::Result<Vec<u32>>>()?;
    let n_lanes = lanes.iter().map(|n| u64::from(*n)).sum::<u64>().max(1);
    let mut below = 0;
    for (trial, n) in trials.iter().zip(&lanes) {
        let m = trial.manifest();
        let steps = (m.last_step - m.first_step.min(m.last_step)).max(1);
        for spike in trial.events(trial.drawn_stream())? {
            let spike = spike?;
            let step = u64::from(spike.step).saturating_sub(m.first_step);
            let x = (step * width / steps).min(width - 1);
            let row = (below + u64::from(spike.lane)) * height / n_lanes;
            let y = height - 1 - row.min(height - 1);
            counts[(y * width + x) as usize] += 1;
        }
        below += u64::from(*n);
    }
    let most = f64::from(counts.iter().copied().max().unwrap_or(0).max(1));
    // A pixel with a single event is clearly visible, and the scale is logarithmic for more events.
    let shade = |n: u32| match n {
        0 => 255,
        n => (140.0 * (1.0 - f64::from(n).ln_1p() / most.ln_1p())) as u8,
    };
    Ok(counts.into_iter().map(shade).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_on_paper_gives_the_pixels() {
        let journal = PictureSize::on_paper(85.0, 300.0).unwrap();
        assert_eq!((journal.width, journal.height, journal.dpi), (1004, 565, Some(300.0)));
        for (width_mm, dpi) in [(0.0, 300.0), (f64::NAN, 300.0), (1e6, 600.0), (85.0, -1.0)] {
            assert!(PictureSize::on_paper(width_mm, dpi).is_err(), "{width_mm} mm at {dpi} dpi");
        }
    }
}
